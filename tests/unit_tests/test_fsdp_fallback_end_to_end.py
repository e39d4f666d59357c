# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""A whole run in Megatron-FSDP with every fallback on the global process groups as an error.

A model is built, wrapped and trained for a step; its checkpoint is written and read.
"""

import warnings
from unittest import mock

import pytest

from megatron.core import process_groups_config
from tests.unit_tests import expert_checkpoint
from tests.unit_tests.expert_checkpoint import (
    LAYOUTS,
    Training,
    differences,
    flat,
    on_real_ranks,
    shared_folder,
)
from tests.unit_tests.own_expert_layout import Layouts, standard_grid


def run(ep_size):
    """What a checkpoint does not bring back; raises where anything falls back."""
    with warnings.catch_warnings():
        warnings.simplefilter('error', process_groups_config.ProcessGroupFallbackWarning)
        training = Training(ep_size)
        truth = training.tensors()
        with shared_folder() as folder:
            training.save(folder)
            training.wipe()
            training.load(folder)
    return differences(flat(training.tensors()), flat(truth))


@pytest.mark.parametrize('layouts', LAYOUTS, ids=str)
def test_own_grid(layouts):
    found = on_real_ranks(lambda: run(layouts.model_ep), layouts)
    assert found == {rank: {} for rank in range(layouts.world_size)}


@pytest.mark.parametrize('layouts', [Layouts(2, 2, 2), Layouts(4, 2, 2)], ids=str)
def test_standard_grid_that_is_passed(layouts):
    def body():
        with mock.patch.object(expert_checkpoint, 'own_grid', return_value=standard_grid()):
            return run(layouts.model_ep)

    assert on_real_ranks(body, layouts) == {rank: {} for rank in range(layouts.world_size)}
