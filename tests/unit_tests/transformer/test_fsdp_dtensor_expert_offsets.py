# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Expert names of the FSDP-DTensor checkpoint helpers, for models with their own EP layout."""

from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from torch.distributed.tensor import DeviceMesh, DTensor, Replicate

from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.transformer import fsdp_dtensor_checkpoint as checkpoint
from tests.unit_tests.own_expert_layout import (
    NUM_EXPERTS,
    OWN_LAYOUTS,
    Chunk,
    Group,
    Wrapper,
    experts,
    gpt_model,
    layout,
    on_each_rank,
    own_grid,
    standard_grid,
    true_name,
    true_names,
)

FC1, FC2 = 'decoder.layers.0.mlp.experts.linear_fc1', 'decoder.layers.0.mlp.experts.linear_fc2'
SEQUENTIAL = 'decoder.layers.0.mlp.experts.local_experts'
DENSE = [
    'embedding.word_embeddings.weight',
    'decoder.layers.0.mlp.linear_fc1.weight',
    'decoder.layers.0.mlp.shared_experts.linear_fc1.weight',
    'decoder.layers.0.mlp.router.weight',
]

# Every form of an expert's key; `{}` is the index.
FORMS = [
    FC1 + '.weight{}',
    FC2 + '.weight{}',
    FC1 + '.weight{}_w',
    FC1 + '.weight{}_v',
    SEQUENTIAL + '.{}.linear_fc1.weight',
    SEQUENTIAL + '.{}.linear_fc2.weight',
    SEQUENTIAL + '.{}.linear_fc1.weight_w',
    'module.module.' + SEQUENTIAL + '.{}.linear_fc2.weight',
]

# With 24 experts, one-digit indices of a rank turn into two-digit ones and back.
BLOCKS = [(8, 4, rank) for rank in range(4)] + [(8, 1, 0), (8, 8, 7), (24, 2, 1), (24, 3, 2)]


def block(num_experts, ep_size, ep_rank):
    """Global indices of the experts that a rank holds."""
    size = num_experts // ep_size
    return range(ep_rank * size, (ep_rank + 1) * size)


def keys(indices, first=0):
    """A state dict of experts in every form, with keys counted from ``first``.

    The value says which expert of which form it is.
    """
    return {form.format(index - first): (form, index) for form in FORMS for index in indices}


HELPERS = {
    'get_ep_layer_offset': checkpoint.get_ep_layer_offset,
    'handle_experts_in_state_dict': lambda num_experts, **ep: (
        checkpoint.handle_experts_in_state_dict(keys(range(4)), num_experts, **ep)
    ),
    'expert_param_local_key': lambda num_experts, **ep: checkpoint.expert_param_local_key(
        FC1 + '.weight0', num_experts, **ep
    ),
    'get_global_unique_param_name': lambda num_experts, **ep: _name_of_only_parameter(
        Chunk(experts(0, [0]), num_experts=num_experts), **ep
    ),
}


def _name_of_only_parameter(chunk, **ep):
    (param,) = chunk.parameters()
    return checkpoint.get_global_unique_param_name([chunk], param, **ep)


@pytest.mark.parametrize(
    'name',
    [
        'get_ep_layer_offset',
        'handle_experts_in_state_dict',
        'expert_param_local_key',
        'get_global_unique_param_name',
        'handle_swiglu_in_state_dict',
    ],
)
def test_former_names_stay_importable(name):
    assert callable(getattr(checkpoint, name))


@pytest.mark.parametrize('name', ['get_ep_rank_and_size', 'get_model_ep_rank_and_size'])
def test_new_names_are_importable(name):
    assert callable(getattr(checkpoint, name))


class TestIntegers:
    """No process group exists in these tests, as in a tool that works on files."""

    @pytest.mark.parametrize(('num_experts', 'ep_size', 'ep_rank'), BLOCKS)
    def test_offset(self, num_experts, ep_size, ep_rank):
        offset = checkpoint.get_ep_layer_offset(num_experts, ep_rank=ep_rank, ep_size=ep_size)
        assert offset == ep_rank * num_experts / ep_size

    @pytest.mark.parametrize('num_experts', [None, 0])
    def test_offset_without_experts(self, num_experts):
        assert checkpoint.get_ep_layer_offset(num_experts, ep_rank=1, ep_size=2) == 0

    @pytest.mark.parametrize(('num_experts', 'ep_size', 'ep_rank'), BLOCKS)
    def test_state_dict_gets_global_indices(self, num_experts, ep_size, ep_rank):
        mine = block(num_experts, ep_size, ep_rank)
        before = {**keys(mine, first=mine[0]), **dict.fromkeys(DENSE, 'dense')}
        kept = dict(before)

        renamed = checkpoint.handle_experts_in_state_dict(
            before, num_experts, ep_rank=ep_rank, ep_size=ep_size
        )

        assert renamed == {**keys(mine), **dict.fromkeys(DENSE, 'dense')}
        assert before == kept

    @pytest.mark.parametrize(('num_experts', 'ep_size', 'ep_rank'), BLOCKS)
    def test_global_indices_stay(self, num_experts, ep_size, ep_rank):
        renamed = keys(block(num_experts, ep_size, ep_rank))
        again = checkpoint.handle_experts_in_state_dict(
            renamed, num_experts, ep_rank=ep_rank, ep_size=ep_size
        )
        assert again == renamed

    @pytest.mark.parametrize(('num_experts', 'ep_size', 'ep_rank'), BLOCKS)
    def test_local_key_of_each_expert(self, num_experts, ep_size, ep_rank):
        mine = block(num_experts, ep_size, ep_rank)
        local = [
            checkpoint.expert_param_local_key(key, num_experts, ep_rank=ep_rank, ep_size=ep_size)
            for key in keys(mine)
        ]
        assert local == list(keys(mine, first=mine[0]))

    @pytest.mark.parametrize('key', DENSE)
    def test_local_key_of_a_dense_parameter(self, key):
        assert checkpoint.expert_param_local_key(key, 8, ep_rank=1, ep_size=2) == key

    def test_unique_name(self):
        chunk = Chunk(experts(0, [0, 1]))
        names = [
            checkpoint.get_global_unique_param_name([chunk], param, ep_rank=2, ep_size=4)
            for param in chunk.parameters()
        ]
        assert names == experts(0, [4, 5])


@pytest.mark.parametrize('helper', HELPERS.values(), ids=HELPERS)
class TestBadIntegers:
    @pytest.mark.parametrize('given', ['ep_rank', 'ep_size'])
    def test_one_without_the_other(self, helper, given):
        with pytest.raises(ValueError, match='go together'):
            helper(8, **{given: 1})

    @pytest.mark.parametrize('ep_rank', [-1, 4, 5])
    def test_rank_outside_the_group(self, helper, ep_rank):
        with pytest.raises(ValueError, match=r'range\(4\)'):
            helper(8, ep_rank=ep_rank, ep_size=4)

    @pytest.mark.parametrize('ep_size', [0, -2])
    def test_size_below_one(self, helper, ep_size):
        with pytest.raises(ValueError, match='at least 1'):
            helper(8, ep_rank=0, ep_size=ep_size)

    def test_size_that_does_not_divide_the_experts(self, helper):
        with pytest.raises(ValueError, match='8 experts cannot be divided among 3'):
            helper(8, ep_rank=0, ep_size=3)


class TestGlobalFallback:
    """Without integers, the global grid counts, as it always did."""

    def test_offset(self):
        offsets = on_each_rank(
            lambda: checkpoint.get_ep_layer_offset(NUM_EXPERTS), world_size=4, global_ep=2
        )
        assert offsets == {0: 0, 1: 4, 2: 0, 3: 4}

    def test_offset_without_experts(self):
        offsets = on_each_rank(checkpoint.get_ep_layer_offset, world_size=2, global_ep=2)
        assert offsets == {0: 0, 1: 0}

    def test_state_dict_and_local_keys(self):
        def rename():
            local = keys(block(NUM_EXPERTS, 2, dist.get_rank()), first=4 * dist.get_rank())
            renamed = checkpoint.handle_experts_in_state_dict(local, NUM_EXPERTS)
            back = [checkpoint.expert_param_local_key(key, NUM_EXPERTS) for key in renamed]
            return renamed, back

        assert on_each_rank(rename, world_size=2, global_ep=2) == {
            rank: (keys(block(NUM_EXPERTS, 2, rank)), list(keys(range(4)))) for rank in range(2)
        }

    def test_names_of_a_model_on_the_standard_grid(self):
        def names():
            model = gpt_model(standard_grid(), ep_size=2)
            return {
                name: checkpoint.get_global_unique_param_name([model], param)
                for name, param in model.named_parameters()
            }

        answers = on_each_rank(names, world_size=4, global_ep=2)
        assert answers == true_names(answers, ep_size=2)


class TestCollection:
    @pytest.mark.parametrize('layouts', OWN_LAYOUTS, ids=str)
    def test_own_grid(self, layouts):
        found = on_each_rank(
            lambda: checkpoint.get_ep_rank_and_size(own_grid(layouts.model_ep)),
            world_size=layouts.world_size,
            global_ep=layouts.global_ep,
        )
        assert found == {
            rank: (rank % layouts.model_ep, layouts.model_ep) for rank in range(layouts.world_size)
        }

    def test_the_layers_agree(self):
        """The MoE layer takes its experts from the same group; the other tests rely on it."""

        def indices():
            model = gpt_model(own_grid(4), ep_size=4)
            return [layer.mlp.local_expert_indices for layer in model.decoder.layers]

        assert on_each_rank(indices, world_size=4, global_ep=2) == {
            rank: [[2 * rank, 2 * rank + 1]] * 2 for rank in range(4)
        }

    def test_no_collection(self):
        assert checkpoint.get_ep_rank_and_size(None) == (None, None)

    def test_ep_unset(self):
        assert checkpoint.get_ep_rank_and_size(ProcessGroupCollection()) == (None, None)

    def test_ep_none(self):
        assert checkpoint.get_ep_rank_and_size(ProcessGroupCollection(ep=None)) == (0, 1)

    def test_no_member_of_the_group(self):
        def found():
            pg_collection = ProcessGroupCollection(ep=dist.new_group([1]))
            try:
                return checkpoint.get_ep_rank_and_size(pg_collection)
            except ValueError as error:
                return str(error)

        assert on_each_rank(found, world_size=2, global_ep=1) == {
            0: 'this rank is no member of the expert-parallel group of pg_collection',
            1: (0, 1),
        }

    def test_group_that_answers_a_negative_rank(self):
        with pytest.raises(ValueError, match='no member of the expert-parallel group'):
            checkpoint.get_ep_rank_and_size(layout(-1, 2))


class TestModel:
    @pytest.mark.parametrize('wrappers', range(4))
    @pytest.mark.parametrize('layouts', OWN_LAYOUTS, ids=str)
    def test_own_grid(self, layouts, wrappers):
        def found():
            model = gpt_model(own_grid(layouts.model_ep), layouts.model_ep)
            for _ in range(wrappers):
                model = Wrapper(model)
            return checkpoint.get_model_ep_rank_and_size(model)

        assert on_each_rank(found, world_size=layouts.world_size, global_ep=layouts.global_ep) == {
            rank: (rank % layouts.model_ep, layouts.model_ep) for rank in range(layouts.world_size)
        }

    @pytest.mark.parametrize('level', range(4))
    def test_collection_at_any_level(self, level):
        levels = [Chunk(experts(0, [0]))]
        for _ in range(3):
            levels.append(Wrapper(levels[-1]))
        levels[level].pg_collection = layout(2, 4)
        assert checkpoint.get_model_ep_rank_and_size(levels[-1]) == (2, 4)

    def test_a_wrapper_without_one_hides_nothing(self):
        model = Wrapper(Chunk(experts(0, [0]), pg_collection=layout(2, 4)))
        model.pg_collection = None
        assert checkpoint.get_model_ep_rank_and_size(model) == (2, 4)

    def test_the_collection_that_built_the_experts_counts(self):
        model = Wrapper(Chunk(experts(0, [0]), pg_collection=layout(2, 4)))
        model.pg_collection = ProcessGroupCollection(tp=Group(0, 1))
        assert checkpoint.get_model_ep_rank_and_size(model) == (2, 4)

    @pytest.mark.parametrize('wrappers', range(4))
    def test_moe_model_without_collection(self, wrappers):
        model = Chunk(experts(0, [0]))
        for _ in range(wrappers):
            model = Wrapper(model)
        with pytest.raises(ValueError, match='has experts but no pg_collection'):
            checkpoint.get_model_ep_rank_and_size(model)

    @pytest.mark.parametrize('wrappers', range(4))
    def test_dense_model_without_collection(self, wrappers):
        model = Chunk(DENSE, num_experts=None)
        for _ in range(wrappers):
            model = Wrapper(model)
        assert checkpoint.get_model_ep_rank_and_size(model) == (None, None)

    def test_ep_unset_keeps_the_fallback(self):
        def names():
            pg_collection = own_grid(2)
            del pg_collection.ep
            chunk = Chunk(experts(0, range(4)), pg_collection=pg_collection)
            ep_rank, ep_size = checkpoint.get_model_ep_rank_and_size(chunk)
            state_dict = dict.fromkeys(experts(0, range(4)))
            return list(
                checkpoint.handle_experts_in_state_dict(
                    state_dict, NUM_EXPERTS, ep_rank=ep_rank, ep_size=ep_size
                )
            )

        assert on_each_rank(names, world_size=2, global_ep=2) == {
            0: experts(0, range(4)),
            1: experts(0, range(4, 8)),
        }

    def test_ep_none_turns_expert_parallelism_off(self):
        def names():
            pg_collection = own_grid(1)
            pg_collection.ep = None
            model = gpt_model(pg_collection, ep_size=1)
            ep_rank, ep_size = checkpoint.get_model_ep_rank_and_size(model)
            state_dict = dict.fromkeys(experts(0, range(NUM_EXPERTS)))
            return list(
                checkpoint.handle_experts_in_state_dict(
                    state_dict, NUM_EXPERTS, ep_rank=ep_rank, ep_size=ep_size
                )
            )

        assert on_each_rank(names, world_size=2, global_ep=2) == dict.fromkeys(
            range(2), experts(0, range(NUM_EXPERTS))
        )


class TestSwiGLU:
    """The split finds each optimizer state's parameter by undoing the optimizer's names."""

    def test_own_grid(self, monkeypatch):
        self._check(monkeypatch, own_grid, world_size=4, global_ep=2, model_ep=4)

    def test_standard_grid(self, monkeypatch):
        self._check(monkeypatch, lambda _: standard_grid(), world_size=2, global_ep=2, model_ep=2)

    def _check(self, monkeypatch, grid, *, world_size, global_ep, model_ep):
        # The local tensor stands for the DTensor; the meta parameter has nothing to add here.
        monkeypatch.setattr(
            checkpoint,
            'make_fsdp_dtensor',
            lambda local, _, dist_index, **__: (dist_index.owner, local.flatten().tolist()),
        )

        def split():
            pg_collection = grid(model_ep)
            model = gpt_model(pg_collection, ep_size=model_ep)
            mesh = DeviceMesh.from_group(pg_collection.tp, 'cpu')
            state = {}
            for name, param in model.named_parameters():
                if '.experts.' not in name or 'linear_fc1' not in name:
                    continue
                param.megatron_fsdp_slice = slice(0, param.numel())
                param.megatron_fsdp_dist_index = SimpleNamespace(
                    owner=name,
                    tp_dim='tp',
                    get_submesh=lambda *_, **__: SimpleNamespace(mesh=torch.zeros(1)),
                )
                halves = torch.arange(2.0).repeat_interleave(param.numel() // 2).view_as(param)
                moment = DTensor.from_local(halves, mesh, [Replicate()], run_check=False)
                state['module.' + true_name(name, dist.get_rank(), model_ep)] = {
                    'step': 1,
                    'exp_avg': moment,
                    'exp_avg_sq': moment,
                }
            _, optimizer = checkpoint.handle_swiglu_in_state_dict(
                model, {}, {'state': state, 'param_groups': []}
            )
            return {
                key: (value['step'], *value['exp_avg'], value['exp_avg'] == value['exp_avg_sq'])
                for key, value in optimizer['state'].items()
            }

        def expected(rank):
            local = [
                f'decoder.layers.{layer}.mlp.experts.local_experts.{place}.linear_fc1.weight'
                for layer in range(2)
                for place in range(NUM_EXPERTS // model_ep)
            ]
            return {
                f'module.{true_name(name, rank, model_ep)}_{half}': (
                    1,
                    name,
                    [value] * (16 * 16),
                    True,
                )
                for name in local
                for half, value in (('w', 0.0), ('v', 1.0))
            }

        assert on_each_rank(split, world_size=world_size, global_ep=global_ep) == {
            rank: expected(rank) for rank in range(world_size)
        }
