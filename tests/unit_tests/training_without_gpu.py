# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Megatron-FSDP on a machine without a GPU.

As a program, it runs a script so::

    torchrun --nproc-per-node=2 training_without_gpu.py SCRIPT [ARGUMENTS]
"""

import contextlib
import runpy
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from unittest import mock

import torch
from torch.distributed.tensor import DeviceMesh
from torch.overrides import TorchFunctionMode

from megatron.core.tensor_parallel.random import CudaRNGStatesTracker


class _Nothing:
    """Stands for a CUDA stream or event: every method does nothing."""

    def __getattr__(self, name):
        return lambda *_, **__: _Nothing()


class _CurrentDevice(str):
    """The CPU where a tensor is made, and GPU 0 where a device's name is put together."""

    __slots__ = ()

    def __format__(self, _):
        return '0'


class _OnCPU(TorchFunctionMode):
    """Sends every tensor that is asked for on a GPU to the CPU."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0]
        if 'cuda' in str(kwargs.get('device')):
            kwargs['device'] = 'cpu'
        return func(*args, **kwargs)


@contextlib.contextmanager
def without_gpu() -> Iterator[None]:
    """Lets Megatron-FSDP, which is written for GPUs, train on the CPU."""
    from_group = DeviceMesh.from_group

    def on_cpu(group, **kwargs):
        return from_group(group, **{**kwargs, 'device_type': 'cpu'})

    def nothing(*_, **__):
        return _Nothing()

    cuda = {
        'Stream': nothing,
        'Event': nothing,
        'current_stream': nothing,
        'synchronize': nothing,
        'stream': contextlib.nullcontext,
        'set_device': lambda _: None,
        'current_device': lambda: _CurrentDevice('cpu'),
        'get_device_properties': lambda *_: SimpleNamespace(major=9, minor=0),
        'get_rng_state': torch.get_rng_state,
        'set_rng_state': torch.set_rng_state,
    }
    # The tracker would switch between random states of a GPU.
    no_fork = mock.Mock(side_effect=lambda *_: contextlib.nullcontext())
    with (
        mock.patch.multiple(torch.cuda, **cuda),
        mock.patch.object(DeviceMesh, 'from_group', on_cpu),
        mock.patch.object(CudaRNGStatesTracker, 'fork', no_fork),
        _OnCPU(),
    ):
        yield


if __name__ == '__main__':
    del sys.argv[0]
    with without_gpu():
        runpy.run_path(sys.argv[0], run_name='__main__')
