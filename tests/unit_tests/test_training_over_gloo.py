# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Collectives of several tensors at once, which Megatron-FSDP uses, on ranks of any kind."""

import pytest
import torch
import torch.distributed as dist

from tests.unit_tests.expert_checkpoint import on_real_ranks
from tests.unit_tests.own_expert_layout import Layouts

RANKS = [Layouts(2, 1, 1), Layouts(4, 1, 1)]


def numbers(*values):
    return torch.tensor(values, dtype=torch.bfloat16, device='cuda')


@pytest.mark.parametrize('async_ops', [False, True])
@pytest.mark.parametrize('layouts', RANKS, ids=str)
def test_gather(layouts, async_ops):
    size = layouts.world_size

    def body():
        rank = dist.get_rank()
        results = [numbers(*[0] * size), numbers(*[0] * 2 * size)]
        with dist._coalescing_manager(async_ops=async_ops) as works:
            dist.all_gather_into_tensor(results[0], numbers(rank))
            dist.all_gather_into_tensor(results[1], numbers(10 + rank, 20 + rank))
        if async_ops:
            works.wait()
        return [result.tolist() for result in results]

    ranks = range(size)
    expected = [list(ranks), [start + rank for rank in ranks for start in (10, 20)]]
    assert on_real_ranks(body, layouts) == dict.fromkeys(ranks, expected)


@pytest.mark.parametrize('layouts', RANKS, ids=str)
def test_reduce_scatter(layouts):
    size = layouts.world_size

    def body():
        results = [numbers(0), numbers(0, 0)]
        with dist._coalescing_manager():
            dist.reduce_scatter_tensor(results[0], numbers(*range(size)))
            dist.reduce_scatter_tensor(results[1], numbers(*range(2 * size)))
        return [result.tolist() for result in results]

    expected = {
        rank: [[size * rank], [size * 2 * rank, size * (2 * rank + 1)]] for rank in range(size)
    }
    assert on_real_ranks(body, layouts) == expected
