# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Save and load of models in Megatron-FSDP whose EP layout is not the global one."""

import pytest

from megatron.training import checkpointing
from megatron.training.training import get_optimizer_param_scheduler
from tests.unit_tests.expert_checkpoint import (
    LAYOUTS,
    Training,
    command_line,
    differences,
    flat,
    on_real_ranks,
    shared_folder,
    stored,
    true_content,
)
from tests.unit_tests.own_expert_layout import Layouts


@pytest.mark.parametrize('layouts', LAYOUTS, ids=str)
def test_every_tensor_of_every_expert_comes_back(layouts):
    def body():
        training = Training(layouts.model_ep)
        truth = training.tensors()
        with shared_folder() as folder:
            training.save(folder)
            wrongly_stored = differences(stored(folder), true_content(truth))
            training.wipe()
            wiped = differences(flat(training.tensors()), flat(truth))
            training.load(folder)
        wrongly_loaded = differences(flat(training.tensors()), flat(truth))
        return wrongly_stored, wiped.keys() == flat(truth).keys(), wrongly_loaded

    answers = on_real_ranks(body, layouts)
    assert answers == {rank: ({}, True, {}) for rank in range(layouts.world_size)}


@pytest.mark.parametrize('layouts', LAYOUTS, ids=str)
def test_checkpoints_of_a_training_run(layouts):
    """The same through the functions that Megatron's training loop calls."""

    def body():
        training = Training(layouts.model_ep)
        truth = training.tensors()
        with shared_folder() as folder, command_line(layouts, folder):
            scheduler = get_optimizer_param_scheduler(training.optimizer)
            scheduler.step(1)
            checkpointing.save_checkpoint(1, [training.fsdp], training.optimizer, scheduler, 0)
            wrongly_stored = differences(stored(folder / 'iter_0000001'), true_content(truth))
            training.wipe()
            found = checkpointing.load_checkpoint([training.fsdp], training.optimizer, scheduler)
        return wrongly_stored, differences(flat(training.tensors()), flat(truth)), found

    answers = on_real_ranks(body, layouts)
    assert answers == {rank: ({}, {}, 1) for rank in range(layouts.world_size)}
