# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Save and load of models in Megatron-FSDP whose EP layout is not the global one."""

import pytest

from tests.unit_tests.expert_checkpoint import (
    LAYOUTS,
    Training,
    differences,
    flat,
    on_real_ranks,
    shared_folder,
    stored,
    true_content,
)


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
