# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What the wrapper around PyTorch's FSDP says where it takes the global data-parallel group."""

import warnings
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from torch.distributed.tensor import DeviceMesh

from megatron.core import process_groups_config
from megatron.core.distributed import DistributedDataParallelConfig, TorchFullyShardedDataParallel
from tests.unit_tests.fallback_warnings import heard, place_of, text
from tests.unit_tests.own_expert_layout import gpt_model, on_each_rank, own_grid, standard_grid

NAME = 'TorchFullyShardedDataParallel'


def wrap(groups, **kwargs):
    model = gpt_model(groups, ep_size=2)
    model.config.transformer_impl = 'local'  # Otherwise the output layer is wrapped twice.
    config = DistributedDataParallelConfig()
    return TorchFullyShardedDataParallel(model.config, config, model, **kwargs)


def on_both_ranks(body, global_ep=2):
    from_group = DeviceMesh.from_group

    def on_cpu():
        with mock.patch.object(DeviceMesh, 'from_group', lambda group, _: from_group(group, 'cpu')):
            return body()

    return on_each_rank(on_cpu, world_size=2, global_ep=global_ep)


def test_no_group():
    found = on_both_ranks(lambda: heard(lambda: wrap(standard_grid())))
    expected = [(text(NAME, 'dp_cp'), *place_of(wrap, f'return {NAME}('))]
    assert found == {0: expected, 1: expected}


def test_the_group_is_the_global_one_as_before():
    def body():
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', process_groups_config.ProcessGroupFallbackWarning)
            return wrap(standard_grid()).process_group is standard_grid().dp_cp

    assert on_both_ranks(body) == {0: True, 1: True}


def test_before_the_group_is_read():
    """There is no global grid here: whatever reads a group of it fails an assertion."""
    config = SimpleNamespace()
    with warnings.catch_warnings():
        warnings.simplefilter('error', process_groups_config.ProcessGroupFallbackWarning)
        with pytest.raises(process_groups_config.ProcessGroupFallbackWarning) as error:
            TorchFullyShardedDataParallel(config, config, torch.nn.Linear(2, 2))
    assert str(error.value) == text(NAME, 'dp_cp')


@pytest.mark.parametrize('global_ep', [1, 2])
def test_own_group(global_ep):
    def body():
        groups = own_grid(2)
        return heard(lambda: wrap(groups, process_group=groups.dp_cp))

    assert on_both_ranks(body, global_ep) == {0: [], 1: []}


def test_standard_group_that_is_passed():
    def body():
        groups = standard_grid()
        return heard(lambda: wrap(groups, process_group=groups.dp_cp))

    assert on_both_ranks(body) == {0: [], 1: []}
