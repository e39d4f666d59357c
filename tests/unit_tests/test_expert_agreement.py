# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What the parts of a state dict say about experts, and what a checkpoint states of its layout."""

import re

import pytest
import torch
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint import save as save_checkpoint

from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from tests.unit_tests.new_module import NewModule
from tests.unit_tests.own_expert_layout import (
    OWN_LAYOUTS,
    Chunk,
    Wrapper,
    experts,
    gpt_model,
    layout,
    on_each_rank,
    own_grid,
    standard_grid,
)

state = NewModule('optimizer.fsdp_dtensor_state')
agreement = NewModule('transformer.expert_agreement')
marks = NewModule('transformer.expert_layout_mark')
names = NewModule('transformer.expert_names')
state_dicts = NewModule('transformer.fsdp_dtensor_state_dict')
ranks = NewModule('transformer.state_dict_agreement')

GROUPED = 'decoder.layers.0.mlp.experts.linear_fc1.weight{}'


def in_wrappers(names, wrappers=3):
    return ['module.' * wrappers + name for name in names]


def grouped(indices):
    return [GROUPED.format(index) for index in indices]


class TestIndices:
    @pytest.mark.parametrize(
        'name',
        [
            'mlp.experts.local_experts.12.linear_fc1.weight',
            'mlp.experts.local_experts.12.linear_fc2.weight_v',
            'mlp.experts.linear_fc1.weight12',
            'mlp.experts.linear_fc2.weight12',
            'mlp.experts.linear_fc1.weight12_w',
            'mlp.experts.linear_fc1.weight12_w.exp_avg',
        ],
    )
    @pytest.mark.parametrize('above', ['', 'module.module.', 'module.decoder.layers.3.'])
    def test_forms(self, name, above):
        layer = 'decoder.layers.3.mlp.experts' if 'layers' in above else 'mlp.experts'
        assert names.expert_indices([above + name]) == {layer: {12}}

    def test_others(self):
        others = ['mlp.linear_fc1.weight1', 'mlp.shared_experts.linear_fc1.weight', 'mlp.router.w']
        assert names.expert_indices([*others, 'mlp.experts.linear_fc1.bias3']) == {}


class TestDisagreement:
    @pytest.mark.parametrize('form', [lambda indices: experts(0, indices), grouped])
    def test_other_experts(self, form):
        found = agreement.disagreement(form(range(4)), in_wrappers(form(range(4, 8))))
        assert found.startswith(
            'the experts of decoder.layers.0.mlp.experts on this rank are 4, 5, 6, 7 for the '
            "optimizer and 0, 1, 2, 3 in the model's state dict, so a checkpoint would mix them up"
        )

    @pytest.mark.parametrize(
        ('in_model', 'in_optimizer'),
        [
            (experts(0, range(4)), experts(0, range(4))),
            (experts(0, range(4)), experts(0, [1])),  # The others are frozen.
            (experts(0, range(4)), experts(1, range(4, 8))),  # Not the same layers.
            (experts(0, range(4)), []),
            ([], experts(0, range(4))),
        ],
    )
    def test_none(self, in_model, in_optimizer):
        assert agreement.disagreement(in_model, in_wrappers(in_optimizer)) is None

    @pytest.mark.parametrize(
        ('in_model', 'is_refused'),
        [(range(4, 8), False), (range(4), False), (range(2, 6), True), (range(8, 12), True)],
    )
    def test_beside_the_optimizer(self, in_model, is_refused):
        """The model's experts may still have their local names then."""
        chunk = Wrapper(Chunk(experts(0, range(4))))
        optimizer = {'state': {key: {} for key in in_wrappers(experts(0, range(4, 8)))}}
        state_dict = {'model': dict.fromkeys(experts(0, in_model)), 'optimizer': {'old': 0}}
        if is_refused:
            with pytest.raises(ValueError, match='sharded_state_dict of the optimizer: the expert'):
                agreement.refuse_other_expert_names(state_dict, optimizer, [chunk])
        else:
            agreement.refuse_other_expert_names(state_dict, optimizer, [chunk])

    @pytest.mark.parametrize('part', ['state', 'param_to_group_meta'])
    def test_final_names(self, part):
        model = dict.fromkeys(experts(0, range(4)))
        optimizer = {part: {key: {} for key in in_wrappers(experts(0, range(4, 8)))}}
        with pytest.raises(ValueError, match='cannot be saved or loaded: the experts of'):
            ranks.require_agreement({'model': model, 'optimizer': optimizer})
        ranks.require_agreement({'model': model})
        ranks.require_agreement(
            {'model': dict.fromkeys(experts(0, range(8))), 'optimizer': optimizer}
        )


class TestFill:
    def params(self):
        return {
            name: torch.nn.Parameter(torch.ones(number))
            for name, number in [('a', 2), ('nothing', 0), ('b', 3), ('unused', 1)]
        }

    def fill(self, states):
        params = self.params()
        name_of = {param: name for name, param in params.items()}
        groups = [
            {'params': [params['a'], params['nothing']]},
            {'params': [params['b'], params['unused']]},
        ]
        return state.fill_missing_states(states, groups, name_of.get)

    def test_what_adam_has_not_made(self):
        b = {'step': torch.tensor(5.0), 'exp_avg': torch.tensor([1.0, 2, 3]), 'kind': 'x'}
        filled = self.fill({'other': {}, 'b': b, 'nothing': {}})
        assert list(filled) == ['a', 'nothing', 'b', 'unused', 'other']
        assert filled['b'] is b
        found = {
            name: (state['step'].item(), state['exp_avg'].tolist(), state['kind'])
            for name, state in filled.items()
            if name not in ('b', 'other')
        }
        # A parameter of which this rank holds nothing has made the steps of the others.
        assert found == {'a': (0, [0, 0], 'x'), 'nothing': (5, [], 'x'), 'unused': (0, [0], 'x')}

    def test_before_the_first_step(self):
        assert self.fill({}) == {}


class TestMark:
    @pytest.mark.parametrize('layouts', OWN_LAYOUTS, ids=str)
    def test_what_each_rank_states(self, layouts):
        def body():
            model = Wrapper(gpt_model(own_grid(layouts.model_ep), layouts.model_ep))
            ((key, form),) = marks.expert_layout_mark([model]).items()
            (mark,) = marks.find_expert_layout_marks([f'optimizer.{key}', 'optimizer.state.a'])
            assert mark.key == key
            return form, mark.num_experts, mark.layout, mark.global_layout

        found = on_each_rank(body, world_size=layouts.world_size, global_ep=layouts.global_ep)
        assert found == {
            rank: (
                1,
                8,
                (rank % layouts.model_ep, layouts.model_ep),
                (rank % layouts.global_ep, layouts.global_ep),
            )
            for rank in range(layouts.world_size)
        }

    def test_no_global_grid(self):
        chunk = Chunk(experts(0, range(4)), pg_collection=layout(1, 2))
        key = 'expert_layout.num_experts_8.ep_rank_1_of_2.no_global_grid'
        assert marks.expert_layout_mark([chunk]) == {key: 1}
        assert marks.find_expert_layout_marks([key]) == [
            marks.ExpertLayoutMark(8, (1, 2), (None, None))
        ]

    def test_chunks(self):
        chunks = [
            Chunk(experts(0, range(4)), pg_collection=layout(1, 2)),
            Chunk(experts(1, range(8)), num_experts=16, pg_collection=layout(0, 2)),
            Chunk(['decoder.layers.0.mlp.linear_fc1.weight'], num_experts=None),
        ]
        assert list(marks.expert_layout_mark(chunks)) == [
            'expert_layout.num_experts_8.ep_rank_1_of_2.no_global_grid',
            'expert_layout.num_experts_16.ep_rank_0_of_2.no_global_grid',
        ]

    def test_it_stands_in_the_metadata(self, tmp_path):
        mark = marks.expert_layout_mark([Chunk(experts(0, [0]), pg_collection=layout(0, 8))])
        state_dict = {'optimizer': {'state': {'a': torch.zeros(1)}, **mark}}
        with pytest.warns(UserWarning, match='torch.distributed'):
            save_checkpoint(state_dict, checkpoint_id=tmp_path, no_dist=True)
        keys = FileSystemReader(tmp_path).read_metadata().state_dict_metadata
        assert marks.find_expert_layout_marks(keys) == [
            marks.ExpertLayoutMark(8, (0, 8), (None, None))
        ]


class TestCheckpoint:
    """What a load says of the keys of a checkpoint."""

    MODEL = Chunk(experts(0, range(4)), pg_collection=layout(1, 2))

    def stored(self, indices, *more):
        return [f'model.module.{name}' for name in experts(0, indices)] + list(more)

    def wanted(self):
        return {'model': dict.fromkeys(f'module.{name}' for name in experts(0, range(4, 8)))}

    def test_absent_experts(self):
        text = (
            'the checkpoint lacks 4 of 8 experts of decoder.layers.0.mlp.experts (4, 5, 6, 7) and '
            'does not state the expert-parallel layout that they are named by: '
        )
        with pytest.raises(ValueError, match=re.escape(text)):
            state_dicts.require_experts(self.stored(range(4)), self.wanted(), self.MODEL)
        with pytest.warns(UserWarning, match=re.escape(text)):
            state_dicts.require_experts(
                self.stored(range(4)), self.wanted(), self.MODEL, strict=False
            )

    def test_on_a_rank_that_would_find_its_own(self):
        """All ranks refuse, so that none waits for another."""
        model = Chunk(experts(0, range(4)), pg_collection=layout(0, 2))
        wanted = {'model': dict.fromkeys(f'module.{name}' for name in experts(0, range(4)))}
        with pytest.raises(ValueError, match='lacks 4 of 8 experts'):
            state_dicts.require_experts(self.stored(range(4)), wanted, model)

    def test_a_model_with_fewer_experts(self):
        mark = marks.ExpertLayoutMark(4, (0, 2), (0, 1)).key
        with pytest.raises(ValueError, match='it is of a model with 4 experts'):
            state_dicts.require_experts(
                self.stored(range(4), f'optimizer.{mark}'), self.wanted(), self.MODEL
            )

    def test_all_experts_under_names_of_no_stated_layout(self):
        with pytest.warns(UserWarning, match='does not state the expert-parallel layout'):
            state_dicts.require_experts(self.stored(range(8)), self.wanted(), self.MODEL)

    @pytest.mark.filterwarnings('error')
    def test_nothing_to_say(self):
        mark = marks.ExpertLayoutMark(8, (1, 2), (0, 1)).key
        state_dicts.require_experts(self.stored(range(8), mark), self.wanted(), self.MODEL)
        state_dicts.require_experts([], self.wanted(), self.MODEL)

    def test_the_standard_grid(self):
        def body():
            model = gpt_model(standard_grid(), ep_size=2)
            wanted = {'model': {f'module.{name}': 0 for name, _ in model.named_parameters()}}
            state_dicts.require_experts(self.stored(range(8)), wanted, model)

        on_each_rank(body, world_size=2, global_ep=2)


def test_the_optimizer_s_parts_are_used():
    """In the state of a distributed optimizer, as it goes to the checkpoint."""

    def body():
        groups = own_grid(2)
        model = Wrapper(gpt_model(groups, ep_size=2))
        optimizer = get_megatron_optimizer(
            OptimizerConfig(optimizer='adam', lr=1e-3, use_distributed_optimizer=True),
            [model],
            use_gloo_process_groups=False,
            pg_collection=groups,
        )
        first = next(model.parameters())
        adam = getattr(optimizer, 'chained_optimizers', [optimizer])[0]
        adam.optimizer.state[first] = {'step': torch.tensor(1.0), 'exp_avg': torch.ones(1)}
        state_dict = adam.sharded_param_state_fsdp_dtensor()
        stated = marks.find_expert_layout_marks(state_dict)
        return len(state_dict['state']) == len(list(model.parameters())), stated

    found = on_each_rank(body, world_size=2, global_ep=1)
    assert found == {
        rank: (True, [marks.ExpertLayoutMark(8, (rank, 2), (0, 1))]) for rank in range(2)
    }
