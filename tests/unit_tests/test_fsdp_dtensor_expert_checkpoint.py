# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Save and load of models in Megatron-FSDP whose EP layout is not the global one."""

import re

import pytest
import torch
import torch.distributed as dist

from megatron.core.transformer.fsdp_dtensor_checkpoint import flatten_state_dict
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
    stored_group_names,
    true_content,
)
from tests.unit_tests.own_expert_layout import Layouts

# A tensor that has the size of one of SwiGLU's two halves.
HALF = re.compile(r'_[wv](\.exp_avg(_sq)?)?$')


@pytest.mark.parametrize('layouts', LAYOUTS, ids=str)
def test_every_tensor_of_every_expert_comes_back(layouts):
    def body():
        training = Training(layouts.model_ep)
        truth = training.tensors()
        with shared_folder() as folder:
            training.save(folder)
            wrongly_stored = differences(stored(folder), true_content(truth))
            wrongly_grouped = stored_group_names(folder) ^ truth['param'].keys()
            training.wipe()
            wiped = differences(flat(training.tensors()), flat(truth))
            training.load(folder)
        wrongly_loaded = differences(flat(training.tensors()), flat(truth))
        not_wiped = flat(truth).keys() - wiped.keys()
        return alike(truth), wrongly_stored, wrongly_grouped, not_wiped, wrongly_loaded

    answers = on_real_ranks(body, layouts)
    assert answers == {rank: ([], {}, set(), set(), {}) for rank in range(layouts.world_size)}


def alike(tensors):
    """Equal tensors of different experts: one in the place of the other would not be noticed."""
    return [
        (kind, name, other)
        for kind, named in tensors.items()
        for name in named
        for other in named
        if kind != 'step' and '.experts.' in name and name < other
        if torch.equal(named[name], named[other])
    ]


def save(training):
    """Saves as a training run does after its first iteration."""
    scheduler = get_optimizer_param_scheduler(training.optimizer)
    scheduler.step(1)
    checkpointing.save_checkpoint(1, [training.fsdp], training.optimizer, scheduler, 0)


def load(training):
    """Loads as a training run does when it starts; the iteration it goes on from."""
    scheduler = get_optimizer_param_scheduler(training.optimizer)
    return checkpointing.load_checkpoint([training.fsdp], training.optimizer, scheduler)[0]


@pytest.mark.parametrize('layouts', LAYOUTS, ids=str)
def test_checkpoints_of_a_training_run(layouts):
    def body():
        training = Training(layouts.model_ep)
        truth = training.tensors()
        with shared_folder() as folder, command_line(layouts, folder):
            save(training)
            wrongly_stored = differences(stored(folder / 'iter_0000001'), true_content(truth))
            training.wipe()
            iteration = load(training)
        return wrongly_stored, differences(flat(training.tensors()), flat(truth)), iteration

    answers = on_real_ranks(body, layouts)
    assert answers == {rank: ({}, {}, 1) for rank in range(layouts.world_size)}


@pytest.mark.parametrize(
    ('layouts', 'next_ep'),
    [
        (Layouts(2, 1, 2), 1),
        (Layouts(2, 2, 1), 2),
        (Layouts(4, 2, 4), 2),
        (Layouts(4, 2, 4), 1),
        (Layouts(4, 4, 2), 4),
        (Layouts(4, 4, 1), 4),
    ],
    ids=str,
)
def test_a_run_goes_on_with_another_ep_size(layouts, next_ep):
    def body():
        training = Training(layouts.model_ep)
        truth = training.tensors()
        next_training = Training(next_ep, seed=1)
        with shared_folder() as folder, command_line(layouts, folder):
            save(training)
            iteration = load(next_training)
        return differences(flat(next_training.tensors()), flat(truth)), iteration

    answers = on_real_ranks(body, layouts)
    assert answers == {rank: ({}, 1) for rank in range(layouts.world_size)}


@pytest.mark.parametrize(
    ('layouts', 'others'), [(Layouts(2, 2, 1), (2,)), (Layouts(4, 2, 4), (1, 2))], ids=str
)
def test_models_with_different_grids_in_one_job(layouts, others):
    def body():
        trainings = [
            Training(ep_size, seed) for seed, ep_size in enumerate([layouts.model_ep, *others])
        ]
        truths = [training.tensors() for training in trainings]
        with shared_folder() as folder:
            for training in trainings:
                training.save(folder / str(training.seed))
            for training in trainings:
                training.wipe()
            for training in reversed(trainings):
                training.load(folder / str(training.seed))
        return [
            differences(flat(training.tensors()), flat(truth))
            for training, truth in zip(trainings, truths, strict=True)
        ]

    answers = on_real_ranks(body, layouts)
    assert answers == {rank: [{}, *({} for _ in others)] for rank in range(layouts.world_size)}


@pytest.mark.parametrize(
    ('layouts', 'num_experts'),
    [(Layouts(2, 1, 1), 7), (Layouts(2, 2, 1), 7), (Layouts(4, 2, 2), 6), (Layouts(4, 4, 2), 6)],
    ids=str,
)
def test_experts_that_two_ranks_share_unevenly(layouts, num_experts):
    """Two ranks share an odd number of experts, so one weight is cut within a SwiGLU half.

    Of the other weights, one of the two holds nothing.
    """

    def body():
        training = Training(layouts.model_ep, num_experts=num_experts)
        truth = training.tensors()
        true_halves = {key: t for key, t in true_content(truth).items() if HALF.search(key)}
        state_dict = flatten_state_dict(training.preprocess(training.state_dict()))
        halves = {key: t.to_local().cpu() for key, t in state_dict.items() if HALF.search(key)}
        by_rank = [None] * layouts.world_size
        dist.all_gather_object(by_rank, halves)
        joined = {
            key: torch.cat([mine[key] for mine in by_rank if key in mine])
            for key in set().union(*by_rank)
        }
        wrongly_split = differences(joined, true_halves)
        rows = {len(half) for half in halves.values()}
        with shared_folder() as folder:
            training.save(folder)
            training.wipe()
            training.load(folder)
        return rows, wrongly_split, differences(flat(training.tensors()), flat(truth))

    answers = on_real_ranks(body, layouts)
    assert answers == {rank: ({0, 8, 16}, {}, {}) for rank in range(layouts.world_size)}
