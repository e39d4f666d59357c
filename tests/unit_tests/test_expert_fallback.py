# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Experts that are named without a layout, where the global grid does not account for them."""

import re

import pytest

from megatron.core.transformer import fsdp_dtensor_checkpoint as checkpoint
from tests.unit_tests.fallback_warnings import heard
from tests.unit_tests.own_expert_layout import (
    NUM_EXPERTS,
    OWN_LAYOUTS,
    gpt_model,
    on_each_rank,
    own_grid,
    standard_grid,
)

MLP = 'module.decoder.layers.{}.mlp.'
FORMS = [
    'experts.local_experts.{}.linear_fc1.weight',
    'experts.local_experts.{}.linear_fc2.weight',
    'experts.linear_fc1.weight{}',
    'experts.linear_fc1.weight{}_w',
    'experts.linear_fc2.weight{}',
]


def state_dict(experts_of_layer):
    """A rank's keys, with so many experts in each layer."""
    keys = ['module.embedding.word_embeddings.weight']
    for layer, number in enumerate(experts_of_layer):
        keys += [MLP.format(layer) + 'router.weight', MLP.format(layer) + 'shared_experts.weight']
        keys += [MLP.format(layer) + form.format(i) for form in FORMS for i in range(number)]
    return dict.fromkeys(keys)


def answer(state):
    """What the helper says of a state dict without a layout."""
    try:
        checkpoint.handle_experts_in_state_dict(state, NUM_EXPERTS)
    except ValueError as error:
        return str(error)


def refusal(here, expected, layer):
    return (
        f'handle_experts_in_state_dict was not given ep_rank and ep_size, and the {here} of 8 '
        f'experts in decoder.layers.{layer}.mlp.experts are not as many as the {expected} that a '
        "rank of the global expert-parallel group holds; pass the model's ep_rank and ep_size, "
        'which get_model_ep_rank_and_size(model) of '
        'megatron.core.transformer.fsdp_dtensor_checkpoint finds'
    )


@pytest.mark.filterwarnings('ignore:.* reads the global process groups')
class TestRefused:
    @pytest.mark.parametrize('layouts', OWN_LAYOUTS, ids=str)
    def test_a_model_with_its_own_layout(self, layouts):
        def body():
            model = gpt_model(own_grid(layouts.model_ep), layouts.model_ep)
            return answer(dict(model.named_parameters()))

        answers = on_each_rank(body, world_size=layouts.world_size, global_ep=layouts.global_ep)
        expected = refusal(NUM_EXPERTS // layouts.model_ep, NUM_EXPERTS // layouts.global_ep, 0)
        assert answers == dict.fromkeys(range(layouts.world_size), expected)

    @pytest.mark.parametrize(('numbers', 'layer'), [((4, 3), 1), ((5, 4), 0), ((0, 8), 1)], ids=str)
    def test_one_layer_is_enough(self, numbers, layer):
        answers = on_each_rank(lambda: answer(state_dict(numbers)), world_size=2, global_ep=2)
        assert answers == dict.fromkeys(range(2), refusal(numbers[layer], 4, layer))

    @pytest.mark.parametrize('form', FORMS)
    def test_every_form_of_a_key(self, form):
        state = dict.fromkeys(MLP.format(0) + form.format(index) for index in range(8))
        answers = on_each_rank(lambda: answer(state), world_size=2, global_ep=2)
        assert answers == dict.fromkeys(range(2), refusal(8, 4, 0))


class TestAccountedFor:
    """These are named by the global grid, as they always were, and the warning says so."""

    @pytest.mark.parametrize('numbers', [(4, 4), (4, 0), (0, 0), ()], ids=str)
    def test_experts_of_the_global_grid_or_none_at_all(self, numbers):
        def body():
            said = heard(lambda: answers.append(answer(state_dict(numbers))))
            return answers.pop(), [text.split()[0] for text, _, _ in said]

        answers = []
        found = on_each_rank(body, world_size=2, global_ep=2)
        assert found == dict.fromkeys(range(2), (None, ['get_ep_layer_offset']))

    @pytest.mark.parametrize('ep_size', [1, 2, 4])
    def test_a_model_on_the_standard_grid(self, ep_size):
        def body():
            state = dict(gpt_model(standard_grid(), ep_size).named_parameters())
            said = heard(lambda: answers.append(answer(state)))
            return answers.pop(), [text.split()[0] for text, _, _ in said]

        answers = []
        found = on_each_rank(body, world_size=4, global_ep=ep_size)
        assert found == dict.fromkeys(range(4), (None, ['get_ep_layer_offset']))

    def test_indices_that_are_global_already(self):
        """They stay, so that a state dict can be named twice."""
        state = {MLP.format(0) + FORMS[0].format(index): index for index in range(4, 8)}

        def body():
            again = []
            said = heard(
                lambda: again.append(checkpoint.handle_experts_in_state_dict(state, NUM_EXPERTS))
            )
            return again[0] == state, len(said)

        assert on_each_rank(body, world_size=2, global_ep=2)[1] == (True, 1)


def test_a_stated_layout_counts_for_any_keys():
    """One key of many, as where a single name is looked up."""
    key = MLP.format(0) + FORMS[0]

    def body():
        named = []
        said = heard(
            lambda: named.append(
                checkpoint.handle_experts_in_state_dict(
                    {key.format(1): 0}, NUM_EXPERTS, ep_rank=1, ep_size=2
                )
            )
        )
        return [re.search(r'local_experts\.(\d)', name)[1] for name in named[0]], said

    assert on_each_rank(body, world_size=2, global_ep=1) == dict.fromkeys(range(2), (['5'], []))
