# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Parameter names of the distributed optimizer, for models with their own EP layout."""

import pytest

from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.process_groups_config import ProcessGroupCollection
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
    true_names,
)


def distributed_optimizer(chunks, pg_collection):
    """The optimizer that Megatron-FSDP gets; it keeps weights and gradients to itself."""
    return get_megatron_optimizer(
        OptimizerConfig(optimizer='adam', lr=1e-3, use_distributed_optimizer=True),
        chunks,
        use_gloo_process_groups=False,
        pg_collection=pg_collection,
    )


def names_of(*chunks, pg_collection):
    """The optimizer's name of each parameter, by the parameter's own name."""
    chunks = [Wrapper(chunk) for chunk in chunks]
    optimizer = distributed_optimizer(chunks, pg_collection)
    return {
        name: optimizer._param_name(param)
        for chunk in chunks
        for name, param in chunk.named_parameters()
    }


def names_by_chunk(*chunks):
    """As :func:`names_of`, a list for each chunk, for chunks that share names."""

    def body():
        wrapped = [Wrapper(chunk) for chunk in chunks]
        optimizer = distributed_optimizer(wrapped, own_grid(1))
        return [[optimizer._param_name(param) for param in chunk.parameters()] for chunk in wrapped]

    return on_each_rank(body, world_size=1, global_ep=1)[0]


def wrapped(names):
    return [f'module.{name}' for name in names]


@pytest.mark.parametrize('layouts', OWN_LAYOUTS, ids=str)
def test_own_grid(layouts):
    def names():
        pg_collection = own_grid(layouts.model_ep)
        return names_of(gpt_model(pg_collection, layouts.model_ep), pg_collection=pg_collection)

    answers = on_each_rank(names, world_size=layouts.world_size, global_ep=layouts.global_ep)
    assert answers == true_names(answers, layouts.model_ep)


@pytest.mark.parametrize('ep_size', [1, 2, 4])
def test_standard_grid(ep_size):
    def names():
        return names_of(gpt_model(standard_grid(), ep_size), pg_collection=standard_grid())

    answers = on_each_rank(names, world_size=4, global_ep=ep_size)
    assert answers == true_names(answers, ep_size)


def test_dense_model():
    def names():
        model = gpt_model(standard_grid(), ep_size=1, num_experts=None)
        return names_of(model, pg_collection=standard_grid())

    answers = on_each_rank(names, world_size=2, global_ep=2)
    assert answers == {rank: {name: name for name in answers[0]} for rank in range(2)}


def test_dense_chunk_without_collection():
    chunk = Chunk(['decoder.layers.0.mlp.linear_fc1.weight'], num_experts=None)
    assert names_by_chunk(chunk) == [['module.decoder.layers.0.mlp.linear_fc1.weight']]


def test_each_chunk_by_its_own_layout():
    first = Chunk(experts(0, range(2)), pg_collection=layout(1, 4))
    second = Chunk(experts(1, range(4)), pg_collection=layout(1, 2))
    assert names_by_chunk(first, second) == [
        wrapped(experts(0, [2, 3])),
        wrapped(experts(1, [4, 5, 6, 7])),
    ]


def test_each_chunk_by_its_own_number_of_experts():
    first = Chunk(experts(0, range(2)), num_experts=8, pg_collection=layout(1, 4))
    second = Chunk(experts(1, range(4)), num_experts=16, pg_collection=layout(1, 4))
    assert names_by_chunk(first, second) == [
        wrapped(experts(0, [2, 3])),
        wrapped(experts(1, [4, 5, 6, 7])),
    ]


def test_a_dense_chunk_before_a_chunk_with_experts():
    first = Chunk(['embedding.word_embeddings.weight'], num_experts=None)
    second = Chunk(experts(1, range(2)), pg_collection=layout(3, 4))
    assert names_by_chunk(first, second) == [
        ['module.embedding.word_embeddings.weight'],
        wrapped(experts(1, [6, 7])),
    ]


def test_one_local_name_for_different_experts_is_no_conflict():
    first = Chunk(experts(0, range(4)), pg_collection=layout(0, 2))
    second = Chunk(experts(0, range(4)), pg_collection=layout(1, 2))
    assert names_by_chunk(first, second) == [
        wrapped(experts(0, [0, 1, 2, 3])),
        wrapped(experts(0, [4, 5, 6, 7])),
    ]


def test_one_global_name_for_different_parameters_is_a_conflict():
    first = Chunk(experts(0, range(2)), pg_collection=layout(1, 4))
    second = Chunk(experts(0, [2, 3]), pg_collection=layout(0, 1))
    with pytest.raises(ValueError, match=r'conflict between model chunks.*local_experts\.[23]'):
        names_by_chunk(first, second)


def test_one_name_in_two_chunks_is_a_conflict():
    chunks = [
        Chunk(['decoder.layers.0.mlp.router.weight'], pg_collection=layout(0, 1)) for _ in range(2)
    ]
    with pytest.raises(ValueError, match=r'conflict between model chunks.*router'):
        names_by_chunk(*chunks)


def test_chunk_with_experts_without_collection():
    with pytest.raises(ValueError, match='has experts but no pg_collection'):
        names_by_chunk(Chunk(experts(0, range(8))))


def test_ep_none_turns_expert_parallelism_off():
    def names():
        pg_collection = own_grid(1)
        pg_collection.ep = None
        return names_of(gpt_model(pg_collection, ep_size=1), pg_collection=pg_collection)

    answers = on_each_rank(names, world_size=2, global_ep=2)
    assert answers == true_names(answers, ep_size=1)


def test_ep_unset_keeps_the_fallback():
    def names():
        chunk = Chunk(experts(0, range(4)), pg_collection=ProcessGroupCollection())
        return names_of(chunk, pg_collection=standard_grid())

    answers = on_each_rank(names, world_size=2, global_ep=2)
    assert answers == true_names(answers, ep_size=2)
