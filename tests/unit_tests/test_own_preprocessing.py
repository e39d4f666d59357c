# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Save and load by trainers that prepare the state dict themselves, not by the training loop."""

from unittest import mock

import pytest
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

from megatron.core import parallel_state
from megatron.core.distributed.fsdp.src.megatron_fsdp import uneven_dtensor
from megatron.core.optimizer import distrib_optimizer
from megatron.core.transformer import fsdp_dtensor_checkpoint as checkpoint
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
    together,
    true_content,
)
from tests.unit_tests.new_module import NewModule
from tests.unit_tests.own_expert_layout import NUM_EXPERTS, Layouts

agreement = NewModule('transformer.state_dict_agreement')
state_dicts = NewModule('transformer.fsdp_dtensor_state_dict')

OWN = [layouts for layouts in LAYOUTS if layouts.global_ep != layouts.model_ep]
STANDARD = [layouts for layouts in LAYOUTS if layouts.global_ep == layouts.model_ep]
NO_WARNING = pytest.mark.filterwarnings('ignore:.* reads the global process groups')


class OwnPreprocessing(Training):
    """Prepares the state dict as Megatron-Bridge and verl do."""

    def layout(self):
        """What is passed to the helper that renames the model's experts."""
        return {}

    def preprocess(self, state_dict):
        state_dict = dict(state_dict)
        checkpoint.handle_fp8_extra_state_case(state_dict['model'])
        state_dict['model'], state_dict['optimizer'] = checkpoint.handle_swiglu_in_state_dict(
            self.inner, state_dict['model'], state_dict['optimizer']
        )
        state_dict['model'] = together(
            lambda: checkpoint.handle_experts_in_state_dict(
                state_dict['model'], self.num_experts, **self.layout()
            )
        )
        uneven_dtensor.preprocess_state_dict_for_uneven_dtensor(state_dict)
        return state_dict


class PassedLayout(OwnPreprocessing):
    """The same with the model's layout."""

    def layout(self):
        ep_rank, ep_size = checkpoint.get_model_ep_rank_and_size(self.inner)
        return {'ep_rank': ep_rank, 'ep_size': ep_size}


class GlobalLayout(OwnPreprocessing):
    """The same with the layout of the global grid, whatever the model's is."""

    def layout(self):
        return {
            'ep_rank': parallel_state.get_expert_model_parallel_rank(),
            'ep_size': parallel_state.get_expert_model_parallel_world_size(),
        }


class Prepared(Training):
    """Has the state dict prepared by the one call for it."""

    def preprocess(self, state_dict):
        return state_dicts.prepare_state_dict(state_dict, self.fsdp)


class Plain(Training):
    """Leaves the optimizer's states as Adam makes them."""

    def _fill_missing_states(self):
        pass

    def all_parameters(self):
        """The optimizer's names of all parameters, in its own order."""
        groups = self.optimizer.optimizer.param_groups
        return [self.optimizer._param_name(param) for group in groups for param in group['params']]


def assert_equal(found, expected):
    assert found == expected


def round_trip(training):
    """What a checkpoint stores wrongly, and what it does not bring back."""
    truth = training.tensors()
    with shared_folder() as folder:
        training.save(folder)
        wrongly_stored = differences(stored(folder), true_content(truth))
        training.wipe()
        training.load(folder)
    return wrongly_stored, differences(flat(training.tensors()), flat(truth))


def refusal(body):
    """What a body is refused with on this rank."""
    try:
        body()
    except ValueError as error:
        return str(error)
    return 'nothing was refused'


@NO_WARNING
@pytest.mark.parametrize('layouts', OWN, ids=str)
def test_no_layout(layouts):
    """Half of the names would be right: the optimizer's."""

    def body():
        training = OwnPreprocessing(layouts.model_ep)
        return refusal(lambda: training.preprocess(training.state_dict()))

    for answer in on_real_ranks(body, layouts).values():
        assert 'was not given ep_rank and ep_size' in answer
        assert 'pass the model\'s ep_rank and ep_size' in answer


@NO_WARNING
@pytest.mark.parametrize('layouts', STANDARD, ids=str)
def test_no_layout_on_the_standard_grid(layouts):
    answers = on_real_ranks(lambda: round_trip(OwnPreprocessing(layouts.model_ep)), layouts)
    assert answers == dict.fromkeys(range(layouts.world_size), ({}, {}))


@pytest.mark.parametrize('trainer', [PassedLayout, Prepared])
@pytest.mark.parametrize('layouts', OWN, ids=str)
def test_the_model_s_layout(layouts, trainer):
    answers = on_real_ranks(lambda: round_trip(trainer(layouts.model_ep)), layouts)
    assert answers == dict.fromkeys(range(layouts.world_size), ({}, {}))


@pytest.mark.parametrize('layouts', OWN, ids=str)
def test_another_layout(layouts):
    """Each half is a layout, so only both together show what is wrong; all ranks must know."""

    def body():
        training = GlobalLayout(layouts.model_ep)
        return refusal(lambda: training.preprocess(training.state_dict()))

    for answer in on_real_ranks(body, layouts).values():
        assert 'for the optimizer and' in answer
        assert 'get_model_ep_rank_and_size(model)' in answer


class AnotherRanksLayout(PassedLayout):
    """The same with the layout of another rank, on some of the ranks."""

    def layout(self):
        ep_rank, ep_size = super().layout().values()
        if dist.get_rank() in (1, 2):
            ep_rank = (ep_rank + 1) % ep_size
        return {'ep_rank': ep_rank, 'ep_size': ep_size}


@pytest.mark.parametrize('layouts', [Layouts(2, 1, 2), Layouts(4, 2, 4)], ids=str)
def test_what_only_some_ranks_can_see(layouts):
    """The others would go on to the next collective and wait there."""

    def body():
        training = AnotherRanksLayout(layouts.model_ep)
        return refusal(lambda: training.preprocess(training.state_dict()))

    answers = on_real_ranks(body, layouts)
    for rank, answer in answers.items():
        assert 'for the optimizer and' in answer
        assert (' on rank 1, ' in answer) == (rank not in (1, 2))


@pytest.mark.parametrize('layouts', [Layouts(2, 1, 2), Layouts(4, 2, 4)], ids=str)
def test_renamed_before_the_optimizer_is_asked(layouts):
    def body():
        training = Training(layouts.model_ep)
        model = training.inner.state_dict_for_save_checkpoint()
        layout = {'ep_rank': (dist.get_rank() + 1) % layouts.model_ep, 'ep_size': layouts.model_ep}
        model = checkpoint.handle_experts_in_state_dict(model, NUM_EXPERTS, **layout)
        return refusal(
            lambda: training.optimizer.sharded_state_dict(
                {'model': model}, metadata={'distrib_optim_sharding_type': 'fsdp_dtensor'}
            )
        )

    for answer in on_real_ranks(body, layouts).values():
        assert 'sharded_state_dict of the optimizer: the experts of' in answer


@pytest.mark.parametrize('layouts', [Layouts(2, 1, 2), Layouts(4, 2, 2)], ids=str)
def test_states_that_adam_has_not_made(layouts):
    """Ranks would have different keys, and wait for each other."""

    def body():
        training = Plain(layouts.model_ep)
        adam = training.optimizer.optimizer
        here = sum(not adam.state.get(param) for _, param in training._named_parameters())
        names = training.state_dict()['optimizer']['state'].keys()
        missing, stated = [None] * dist.get_world_size(), training.all_parameters()
        dist.all_gather_object(missing, here)
        together(lambda: assert_equal(list(names), stated))  # Otherwise the save would hang.
        return max(missing) > 0, round_trip(training)

    answers = on_real_ranks(body, layouts)
    assert answers == dict.fromkeys(range(layouts.world_size), (True, ({}, {})))


@pytest.mark.parametrize('layouts', [Layouts(2, 1, 2), Layouts(2, 2, 2)], ids=str)
def test_a_tensor_that_one_rank_lacks(layouts):
    """As where somebody else than the distributed optimizer made the states."""

    def body():
        training = Training(layouts.model_ep)
        state_dict = training.preprocess(training.state_dict())
        if dist.get_rank() == 1:
            del state_dict['optimizer']['state']['module.module.module.output_layer.weight']
        return refusal(lambda: agreement.require_agreement(state_dict))

    for answer in on_real_ranks(body, layouts).values():
        assert 'not all of the ranks [0, 1] have the same tensors: 2 are missing on some' in answer
        assert 'optimizer.state.module.module.module.output_layer.weight.exp_avg' in answer


class TestMark:
    """The layout that a checkpoint states in its keys."""

    @pytest.mark.parametrize('layouts', LAYOUTS, ids=str)
    def test_of_an_optimizer(self, layouts):
        def body():
            training = Training(layouts.model_ep)
            with shared_folder() as folder:
                training.save(folder)
                return marks(folder)

        expected = {f'optimizer.{key}' for key in stated(layouts)}
        assert on_real_ranks(body, layouts) == dict.fromkeys(range(layouts.world_size), expected)

    @pytest.mark.parametrize('layouts', [Layouts(2, 1, 2)], ids=str)
    def test_of_a_model_alone(self, layouts):
        def body():
            training = Training(layouts.model_ep)
            with shared_folder() as folder, command_line(layouts, folder):
                checkpointing.get_args().no_save_optim = True
                save(training)
                return marks(folder / 'iter_0000001')

        assert on_real_ranks(body, layouts) == dict.fromkeys(range(2), stated(layouts))


def marks(folder):
    keys = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    return {key for key in keys if 'expert_layout' in key}


def stated(layouts):
    """The keys for grids that give neighbouring ranks neighbouring places in the EP group."""
    return {
        f'expert_layout.num_experts_8.ep_rank_{rank % layouts.model_ep}_of_{layouts.model_ep}'
        f'.global_ep_rank_{rank % layouts.global_ep}_of_{layouts.global_ep}'
        for rank in range(layouts.world_size)
    }


def save(training):
    scheduler = get_optimizer_param_scheduler(training.optimizer)
    checkpointing.save_checkpoint(1, [training.fsdp], training.optimizer, scheduler, 0)


class TestCheckpointOfAnUnmodifiedRelease:
    """Saved with model and optimizer named by the global grid, and without a statement."""

    @staticmethod
    def save(training):
        by_global_grid = mock.Mock(
            side_effect=lambda *_: tuple(GlobalLayout.layout(training).values())
        )
        with (
            mock.patch.object(distrib_optimizer, 'get_model_ep_rank_and_size', by_global_grid),
            mock.patch.object(checkpointing, 'get_model_ep_rank_and_size', by_global_grid),
            mock.patch.object(checkpoint, 'get_model_ep_rank_and_size', by_global_grid),
            mock.patch.object(distrib_optimizer, 'expert_layout_mark', return_value={}),
        ):
            save(training)
        del training.optimizer.param_to_name  # Named by the other layout.

    @pytest.mark.parametrize('layouts', [Layouts(2, 1, 2), Layouts(4, 2, 4)], ids=str)
    def test_absent_experts(self, layouts):
        def body():
            training = Training(layouts.model_ep)
            with shared_folder() as folder, command_line(layouts, folder):
                self.save(training)
                scheduler = get_optimizer_param_scheduler(training.optimizer)
                return refusal(
                    lambda: checkpointing.load_checkpoint(
                        [training.fsdp], training.optimizer, scheduler
                    )
                )

        for answer in on_real_ranks(body, layouts).values():
            assert 'of 8 experts of decoder.layers.0.mlp.experts' in answer
            assert 'does not state the expert-parallel layout' in answer
