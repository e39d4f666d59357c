# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Expert names that the training loop saves and loads, for models with their own EP layout."""

from types import SimpleNamespace

import pytest

from megatron.training import checkpointing
from tests.unit_tests.own_expert_layout import (
    NUM_EXPERTS,
    OWN_LAYOUTS,
    Chunk,
    Wrapper,
    experts,
    gpt_model,
    on_each_rank,
    own_grid,
    standard_grid,
    true_names,
)


def preprocess(model, names, num_experts=NUM_EXPERTS):
    """What the loop makes of a model dict with these keys: the new key of each."""
    args = SimpleNamespace(swiglu=False, num_experts=num_experts)
    state_dict = {'model': {name: name for name in names}, 'iteration': 7}
    processed = checkpointing.preprocess_fsdp_dtensor_state_dict(args, state_dict, model)
    assert processed.keys() == {'model', 'iteration'}
    return {name: key for key, name in processed['model'].items()}


def local_names(model):
    return [name for name, _ in model.named_parameters()]


@pytest.mark.parametrize('wrappers', [0, 2])
@pytest.mark.parametrize('layouts', OWN_LAYOUTS, ids=str)
def test_own_grid(layouts, wrappers):
    def body():
        model = gpt_model(own_grid(layouts.model_ep), layouts.model_ep)
        names = local_names(model)
        for _ in range(wrappers):
            model = Wrapper(model)
        return preprocess(model, names)

    answers = on_each_rank(body, world_size=layouts.world_size, global_ep=layouts.global_ep)
    assert answers == true_names(answers, layouts.model_ep)


def test_no_key_is_lost():
    """Where the model's EP is smaller than the global one, wrong names run into right ones."""

    def body():
        model = gpt_model(own_grid(1), ep_size=1)
        return len(local_names(model)), len(preprocess(model, local_names(model)))

    for before, after in on_each_rank(body, world_size=2, global_ep=2).values():
        assert before == after


@pytest.mark.parametrize('ep_size', [1, 2, 4])
def test_standard_grid(ep_size):
    def body():
        model = gpt_model(standard_grid(), ep_size)
        return preprocess(model, local_names(model))

    answers = on_each_rank(body, world_size=4, global_ep=ep_size)
    assert answers == true_names(answers, ep_size)


def test_dense_model():
    names = ['embedding.word_embeddings.weight', 'decoder.layers.0.mlp.linear_fc1.weight']
    model = Chunk(names, num_experts=None)
    assert preprocess(model, names, num_experts=None) == {name: name for name in names}


def test_moe_model_without_collection():
    names = experts(0, range(NUM_EXPERTS))

    def body():
        with pytest.raises(ValueError, match='has experts but no pg_collection'):
            preprocess(Chunk(names), names)

    on_each_rank(body, world_size=1, global_ep=1)
