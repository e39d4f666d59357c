# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Parameter names in the param-group dump, for models with their own EP layout."""

from unittest import mock

import pytest
import torch

from megatron.core import optimizer
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.transformer import fsdp_dtensor_checkpoint as checkpoint
from tests.unit_tests.own_expert_layout import (
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
)


def dump(*chunks, pg_collection):
    """The dump as it goes to the checkpoint writer: group number by parameter name."""
    chunks = [Wrapper(chunk, use_megatron_fsdp=False) for chunk in chunks]
    with mock.patch.object(torch.distributed.checkpoint, 'save') as save:
        get_megatron_optimizer(
            OptimizerConfig(optimizer='adam', lr=1e-3, use_distributed_optimizer=False),
            chunks,
            use_gloo_process_groups=False,
            pg_collection=pg_collection,
            dump_param_to_param_group_map='unused',
        )
    save.assert_called_once_with(state_dict=mock.ANY, checkpoint_id='unused')
    return save.call_args.kwargs['state_dict']


def local_names(model):
    return [f'module.{name}' for name, _ in model.named_parameters()]


def true_dump(answers, ep_size):
    """The names that should be dumped, sorted, for answers ``{rank: (local names, dump)}``."""
    return {
        rank: sorted(true_name(name, rank, ep_size) for name in local)
        for rank, (local, _) in answers.items()
    }


def dumped(answers):
    return {rank: sorted(groups) for rank, (_, groups) in answers.items()}


@pytest.mark.parametrize('layouts', OWN_LAYOUTS, ids=str)
def test_own_grid(layouts):
    def body():
        pg_collection = own_grid(layouts.model_ep)
        model = gpt_model(pg_collection, layouts.model_ep)
        return local_names(model), dump(model, pg_collection=pg_collection)

    answers = on_each_rank(body, world_size=layouts.world_size, global_ep=layouts.global_ep)
    assert dumped(answers) == true_dump(answers, layouts.model_ep)


@pytest.mark.parametrize('ep_size', [1, 2, 4])
def test_standard_grid(ep_size):
    def body():
        model = gpt_model(standard_grid(), ep_size)
        return local_names(model), dump(model, pg_collection=standard_grid())

    answers = on_each_rank(body, world_size=4, global_ep=ep_size)
    assert dumped(answers) == true_dump(answers, ep_size)


def test_dense_model():
    def body():
        model = gpt_model(standard_grid(), ep_size=1, num_experts=None)
        return local_names(model), dump(model, pg_collection=standard_grid())

    answers = on_each_rank(body, world_size=2, global_ep=2)
    assert dumped(answers) == {rank: sorted(answers[rank][0]) for rank in range(2)}


def test_experts_keep_their_group():
    """Expert parameters are in other groups than the rest, whatever they are called."""

    def body():
        pg_collection = own_grid(4)
        groups = dump(gpt_model(pg_collection, ep_size=4), pg_collection=pg_collection)
        return {
            group: {'.experts.' in name for name in groups if groups[name] == group}
            for group in groups.values()
        }

    for groups in on_each_rank(body, world_size=4, global_ep=4).values():
        assert all(len(kinds) == 1 for kinds in groups.values())
        assert {True, False} == set().union(*groups.values())


def dump_of(*chunks):
    answers = on_each_rank(
        lambda: dump(*chunks, pg_collection=own_grid(1)), world_size=1, global_ep=1
    )
    return sorted(answers[0])


def test_each_chunk_by_its_own_layout():
    first = Chunk(experts(0, range(2)), pg_collection=layout(1, 4))
    second = Chunk(experts(1, range(4)), pg_collection=layout(1, 2))
    names = experts(0, [2, 3]) + experts(1, [4, 5, 6, 7])
    assert dump_of(first, second) == [f'module.{name}' for name in names]


def test_the_layout_is_looked_up_once_for_a_chunk():
    """Not once for each parameter, of which there are many."""

    class CountingGroup(Group):
        asked = 0

        def size(self):
            self.asked += 1
            return super().size()

    def times_asked(number):
        group = CountingGroup(0, 2)
        dump_of(Chunk(experts(0, range(number)), pg_collection=ProcessGroupCollection(ep=group)))
        return group.asked

    assert times_asked(1) == times_asked(4) == 1


def test_chunk_with_experts_without_collection():
    with pytest.raises(ValueError, match='has experts but no pg_collection'):
        dump_of(Chunk(experts(0, range(8))))


def test_ep_none_turns_expert_parallelism_off():
    def body():
        pg_collection = own_grid(1)
        pg_collection.ep = None
        model = gpt_model(pg_collection, ep_size=1)
        return local_names(model), dump(model, pg_collection=pg_collection)

    answers = on_each_rank(body, world_size=2, global_ep=2)
    assert dumped(answers) == true_dump(answers, ep_size=1)


def test_the_model_is_walked_once():
    """Not once for each parameter, of which there are many."""

    class CountingChunk(Chunk):
        walks = 0

        def named_parameters(self, *args, **kwargs):
            self.walks += 1
            return super().named_parameters(*args, **kwargs)

    def times_walked(number):
        chunk = CountingChunk(experts(0, range(number)), pg_collection=layout(0, 1))
        optimizer.get_global_unique_param_names([chunk])
        return chunk.walks

    assert times_walked(1) == times_walked(4)


class TestOneByOne:
    """All names together are those that are found one by one."""

    @staticmethod
    def both(*chunks):
        params = [param for chunk in chunks for param in chunk.parameters()]
        names = optimizer.get_global_unique_param_names(chunks)
        return (
            [names[param] for param in params],
            [checkpoint.get_global_unique_param_name(chunks, param) for param in params],
        )

    @pytest.mark.parametrize('layouts', OWN_LAYOUTS, ids=str)
    def test_model(self, layouts):
        """The model's layers are the last two of a pipeline."""

        def body():
            model = gpt_model(own_grid(layouts.model_ep), layouts.model_ep)
            for layer in model.decoder.layers:
                layer.layer_number += 2
            return self.both(Wrapper(model))

        answers = on_each_rank(body, world_size=layouts.world_size, global_ep=layouts.global_ep)
        for together, one_by_one in answers.values():
            assert together == one_by_one
            assert {name.split('.layers.')[1][0] for name in together if '.layers.' in name} == {
                '2',
                '3',
            }

    def test_several_chunks_of_a_pipeline(self):
        def body():
            models = [gpt_model(own_grid(2), ep_size=2) for _ in range(2)]
            for model in models:
                for layer in model.decoder.layers:
                    layer.layer_number += 2
            return self.both(*models)

        for together, one_by_one in on_each_rank(body, world_size=2, global_ep=1).values():
            assert together == one_by_one

    def test_a_parameter_of_two_chunks(self):
        first = Chunk(experts(0, range(2)), pg_collection=layout(1, 4))
        second = Chunk([], pg_collection=layout(3, 4))
        second.add_module('decoder', first.decoder)
        together, one_by_one = self.both(first, second)
        assert together == one_by_one == 2 * experts(0, [6, 7])

    @pytest.mark.parametrize(
        'name',
        [
            'mtp.layers.0.transformer_layer.mlp.experts.local_experts.1.linear_fc1.weight',
            'decoder.layers.1.mlp.experts.linear_fc1.weight3',
            'decoder.layers.1.mlp.shared_experts.linear_fc1.weight',
            'decoder.layers.1.mlp.experts.linear_fc2.weight10_w',
        ],
    )
    def test_other_forms(self, name):
        chunk = Chunk([name], num_experts=24, pg_collection=layout(1, 2))
        together, one_by_one = self.both(chunk)
        assert together == one_by_one

    def test_no_layout_keeps_the_fallback(self):
        def body():
            return self.both(Chunk(experts(0, range(4)), pg_collection=ProcessGroupCollection()))

        assert on_each_rank(body, world_size=2, global_ep=2) == {
            0: 2 * (experts(0, range(4)),),
            1: 2 * (experts(0, range(4, 8)),),
        }


class TestOwningChunk:
    """What one name by itself is, where the caller passes no layout."""

    @pytest.mark.parametrize('place', [0, 1, 2])
    def test_layout(self, place):
        layouts = [layout(3, 4), layout(1, 2), layout(0, 1)]
        chunks = [
            Wrapper(Chunk(experts(number, range(2)), pg_collection=pg_collection))
            for number, pg_collection in enumerate(layouts)
        ]
        names = [
            checkpoint.get_global_unique_param_name(chunks, param)
            for param in chunks[place].parameters()
        ]
        first = [6, 4, 0][place]
        assert names == [f'module.{name}' for name in experts(place, [first, first + 1])]

    def test_number_of_experts(self):
        chunks = [
            Chunk(experts(0, range(2)), num_experts=8, pg_collection=layout(1, 4)),
            Chunk(experts(1, range(4)), num_experts=16, pg_collection=layout(1, 4)),
        ]
        names = [
            [checkpoint.get_global_unique_param_name(chunks, param) for param in chunk.parameters()]
            for chunk in chunks
        ]
        assert names == [experts(0, [2, 3]), experts(1, [4, 5, 6, 7])]

    def test_an_empty_chunk_owns_nothing(self):
        chunks = [
            Chunk(experts(0, range(2)), pg_collection=layout(1, 4)),
            Chunk([], pg_collection=layout(3, 4)),
        ]
        names = [
            checkpoint.get_global_unique_param_name(chunks, param)
            for param in chunks[0].parameters()
        ]
        assert names == experts(0, [2, 3])

    def test_integers_of_the_caller_come_first(self):
        chunk = Chunk(experts(0, range(2)), pg_collection=layout(1, 4))
        names = [
            checkpoint.get_global_unique_param_name([chunk], param, ep_rank=2, ep_size=4)
            for param in chunk.parameters()
        ]
        assert names == experts(0, [4, 5])

    @pytest.mark.parametrize(
        'pg_collection', [None, ProcessGroupCollection()], ids=['none', 'unset']
    )
    def test_no_layout_keeps_the_fallback(self, pg_collection):
        def names():
            chunk = Chunk(experts(0, range(4)), pg_collection=pg_collection)
            return [
                checkpoint.get_global_unique_param_name([chunk], param)
                for param in chunk.parameters()
            ]

        assert on_each_rank(names, world_size=2, global_ep=2) == {
            0: experts(0, range(4)),
            1: experts(0, range(4, 8)),
        }

    def test_foreign_parameter(self):
        chunk = Chunk(experts(0, [0]), pg_collection=layout(0, 1))
        with pytest.raises(ValueError, match='not found in model chunks'):
            checkpoint.get_global_unique_param_name([chunk], torch.nn.Parameter(torch.zeros(1)))
