# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What a test sees of an error that its body raises on some of the ranks."""

import os

import pytest
import torch.distributed as dist

from tests.unit_tests.own_expert_layout import on_each_rank


class ToldByError(Exception):
    """Read by pickle, it has another text."""

    def __init__(self, who):
        super().__init__(f'told by {who}')


class NoCopyError(Exception):
    """Pickle can't read it."""

    def __init__(self, who, **_):
        super().__init__(who, 'told')


def whose(failing):
    """The rank whose error this process sees; the fake backend stops at the first."""
    rank = int(os.environ.get('RANK', failing[0]))
    return rank if rank in failing else failing[0]


def on_some_ranks(raise_error, world_size, failing):
    def body():
        rank = dist.get_rank()
        if rank in failing:
            raise_error(rank)
        return rank

    return on_each_rank(body, world_size=world_size, global_ep=1)


@pytest.mark.parametrize(
    ('world_size', 'failing'),
    [(1, (0,)), (2, (0, 1)), (2, (0,)), (2, (1,)), (4, (0, 1, 2, 3)), (4, (1, 3))],
    ids=str,
)
class TestErrors:
    def test_an_error_is_itself(self, world_size, failing):
        def raise_error(rank):
            raise KeyError(rank, 'no such expert')

        with pytest.raises(KeyError) as caught:
            on_some_ranks(raise_error, world_size, failing)
        assert caught.value.args == (whose(failing), 'no such expert')

    def test_where_it_was_raised_is_told(self, world_size, failing):
        def raise_error(_):
            raise KeyError('no such expert')

        with pytest.raises(KeyError) as caught:
            on_some_ranks(raise_error, world_size, failing)
        frames = [entry.name for entry in caught.traceback]
        assert ('raise_error' in frames) != ('in raise_error' in str(caught.value.__cause__))

    @pytest.mark.parametrize('error', [ToldByError, NoCopyError, pytest.fail.Exception])
    def test_one_that_cannot_be_sent_is_told(self, world_size, failing, error):
        def raise_error(rank):
            raise error(f'rank {rank}')

        with pytest.raises((error, RuntimeError), match=f'rank {whose(failing)}') as caught:
            on_some_ranks(raise_error, world_size, failing)
        rank = int(os.environ.get('RANK', failing[0]))
        assert caught.type is (error if rank in failing else RuntimeError)

    def test_the_next_job_is_a_good_one(self, world_size, failing):
        def raise_error(_):
            raise KeyError('no such expert')

        with pytest.raises(KeyError):
            on_some_ranks(raise_error, world_size, failing)
        ranks = on_some_ranks(raise_error, world_size, failing=())
        assert ranks == {rank: rank for rank in range(world_size)}
