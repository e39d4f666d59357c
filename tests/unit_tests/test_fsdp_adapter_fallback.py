# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What Megatron-FSDP's adapter says where it takes the global process groups."""

import warnings
from types import SimpleNamespace

import pytest
import torch

from megatron.core import process_groups_config
from megatron.core.distributed import DistributedDataParallelConfig
from megatron.core.distributed.fsdp.mcore_fsdp_adapter import FullyShardedDataParallel
from tests.unit_tests.expert_checkpoint import without_gpu
from tests.unit_tests.fallback_warnings import heard, place_of, text
from tests.unit_tests.own_expert_layout import gpt_model, on_each_rank, own_grid, standard_grid

NAME = 'FullyShardedDataParallel'
FIELDS = 'tp, expt_tp, dp_cp, expt_dp, ep'


def wrap(model, **groups):
    # Without sharding no data moves, so that the fake backend is enough.
    config = DistributedDataParallelConfig(use_megatron_fsdp=True)
    return FullyShardedDataParallel(
        model.config, config, model, device=torch.device('cpu'), **groups
    )


def on_both_ranks(body):
    def without_gpus():
        with without_gpu():
            return body()

    return on_each_rank(without_gpus, world_size=2, global_ep=2)


def test_no_collection():
    found = on_both_ranks(lambda: heard(lambda: wrap(gpt_model(standard_grid(), ep_size=2))))
    expected = [(text(NAME, FIELDS), *place_of(wrap, f'return {NAME}('))]
    assert found == {0: expected, 1: expected}


def test_once_for_all_chunks():
    def body():
        for _ in range(3):
            wrap(gpt_model(standard_grid(), ep_size=2))

    found = on_both_ranks(lambda: len(heard(body)))
    assert found == {0: 1, 1: 1}


@pytest.mark.parametrize(
    ('instances', 'fields'),
    [(1, FIELDS), (2, f'{FIELDS}, intra_dp_cp, inter_dist_opt, intra_expt_dp')],
)
def test_before_any_group_is_read(instances, fields):
    """There is no global grid here: whatever reads a group of it fails an assertion."""
    adapter = SimpleNamespace(
        ddp_config=DistributedDataParallelConfig(num_distributed_optimizer_instances=instances),
        num_moe_experts=8,
    )
    with warnings.catch_warnings():
        warnings.simplefilter('error', process_groups_config.ProcessGroupFallbackWarning)
        with pytest.raises(process_groups_config.ProcessGroupFallbackWarning) as error:
            FullyShardedDataParallel._init_dist_index(adapter, None)
    assert str(error.value) == text(NAME, fields)


@pytest.mark.parametrize('global_ep', [1, 2])
def test_own_grid(global_ep):
    def body():
        groups = own_grid(2)
        with without_gpu():
            return heard(lambda: wrap(gpt_model(groups, ep_size=2), pg_collection=groups))

    assert on_each_rank(body, world_size=2, global_ep=global_ep) == {0: [], 1: []}


def test_standard_grid_that_is_passed():
    def body():
        groups = standard_grid()
        return heard(lambda: wrap(gpt_model(groups, ep_size=2), pg_collection=groups))

    assert on_both_ranks(body) == {0: [], 1: []}
