# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Megatron-FSDP on ranks that gloo connects: on the CPU, or on a GPU that they share."""

import contextlib
from collections.abc import Iterator
from unittest import mock

import torch.distributed as dist


class _Works:
    """Several collectives that are waited for as one."""

    def __init__(self, works):
        self._works = works

    def wait(self):
        for work in self._works:
            work.wait()


@contextlib.contextmanager
def over_gloo() -> Iterator[None]:
    """Gathers tensors one by one where Megatron-FSDP gathers several at once.

    With PyTorch 2.11, gloo copies the tensors of a GPU to the host for every other collective that
    is needed here. For this one it reads and writes their memory as if it were the host's.
    """

    def one_by_one(group, outputs, inputs):
        pairs = zip(outputs, inputs, strict=True)
        return _Works([group._allgather_base(output, tensor) for output, tensor in pairs])

    with mock.patch.object(dist.ProcessGroup, 'allgather_into_tensor_coalesced', one_by_one):
        yield
