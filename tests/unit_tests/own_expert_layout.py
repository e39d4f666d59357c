# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Models with an expert-parallel (EP) layout of their own, on any number of ranks.

A test states what it wants from every rank and compares the answers of all ranks at once::

    names = on_each_rank(body, world_size=4, global_ep=2)
    assert names == {rank: ... for rank in range(4)}

Under torchrun (``RANK`` and ``WORLD_SIZE`` are set) the ranks are real ones: on NCCL where each has
a GPU, else on gloo.
Otherwise they are played one after the other in this process by PyTorch's fake backend, which
forms groups but moves no data.
"""

import contextlib
import gc
import os
import pickle
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.pool import ExceptionWithTraceback
from types import SimpleNamespace
from typing import TypeVar
from unittest import mock

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.testing._internal.distributed.fake_pg import FakeStore

from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallelConfig
from megatron.core.hyper_comm_grid import HyperCommGrid
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.transformer.transformer_config import TransformerConfig

Answer = TypeVar('Answer')

NUM_EXPERTS = 8

# A rank that waits longer for another one fails.
JOB_TIMEOUT = timedelta(seconds=60)


@dataclass(frozen=True)
class Layouts:
    """A job whose model has its own EP size."""

    world_size: int
    global_ep: int
    model_ep: int

    def __str__(self):
        return f'{self.world_size}ranks-global{self.global_ep}-model{self.model_ep}'


# On each of these, at least one rank holds experts other than the global grid says.
OWN_LAYOUTS = [Layouts(4, 2, 4), Layouts(4, 4, 2), Layouts(2, 1, 2), Layouts(2, 2, 1)]


def on_each_rank(
    body: Callable[[], Answer], *, world_size: int, global_ep: int
) -> dict[int, Answer]:
    """Runs ``body`` on every rank of a job with the global grid initialised.

    Args:
        body: Called on each rank; what it returns must be picklable.
        world_size: Number of ranks. Under torchrun, a job of another size skips the test.
        global_ep: EP size of the global grid; all other sizes are 1.

    Returns:
        What the body returned, by rank, the same on every rank.

    Raises:
        Exception: What the body raised, on this rank or on another one.
    """
    if 'RANK' not in os.environ or 'WORLD_SIZE' not in os.environ:
        results = {}
        for rank in range(world_size):
            dist.init_process_group('fake', store=FakeStore(), rank=rank, world_size=world_size)
            try:
                with _global_grid(global_ep):
                    results[rank] = body()
            finally:
                dist.destroy_process_group()
        return results
    if int(os.environ['WORLD_SIZE']) != world_size:
        pytest.skip(f'needs {world_size} ranks')
    _join_job()
    return _gather(body, global_ep)


def _join_job() -> None:
    """Makes this process a rank of the job that torchrun started."""
    gpus = torch.cuda.device_count()
    if gpus:
        torch.cuda.set_device(int(os.environ['LOCAL_RANK']) % gpus)
    if not dist.is_initialized():
        # NCCL connects no ranks that share a GPU.
        a_gpu_each = gpus >= int(os.environ['LOCAL_WORLD_SIZE'])
        backend = 'cpu:gloo,cuda:nccl' if a_gpu_each else 'gloo'
        dist.init_process_group(backend, timeout=JOB_TIMEOUT)
        # What is there by now stays; _destroy_groups need not look through it after every test.
        gc.freeze()


def _gather(body: Callable[[], Answer], global_ep: int) -> dict[int, Answer]:
    """What a body returns on each rank. A failure on one rank fails on all, so that none waits."""

    def on_grid():
        try:
            with _global_grid(global_ep):
                return body()
        finally:
            _destroy_groups()

    answer = together(on_grid)
    answers = [None] * dist.get_world_size()
    dist.all_gather_object(answers, answer)
    return dict(enumerate(answers))


def together(step: Callable[[], Answer]) -> Answer:
    """What a step returns; raises on all ranks if it raises on one.

    Otherwise the others would go on to the next collective and wait there for ever. A rank raises
    its own error, and one without an error that of the first rank that has one, so that an error
    that a test expects reaches it as itself, however many ranks there are.
    """
    answer = failure = None
    try:
        answer = step()
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001
        failure = error  # Whatever it is, the other ranks need to know.
    failures = [None] * dist.get_world_size()
    dist.all_gather_object(failures, None if failure is None else _portable(failure))
    for error in (failure, *failures):
        if error is not None:
            raise error
    return answer


def _portable(error: BaseException) -> object:
    """What another rank reads as the same error, with the traceback of this rank as its cause.

    Where pickle does not give the same error back, it is one that holds its text.
    """
    portable = ExceptionWithTraceback(error, error.__traceback__)
    with contextlib.suppress(Exception):  # Some errors can't be pickled, some not be read again.
        copy = pickle.loads(pickle.dumps(portable))  # noqa: S301 - as all_gather_object does
        if (type(copy), str(copy)) == (type(error), str(error)):
            return portable
    return RuntimeError(''.join(traceback.format_exception(None, error, error.__traceback__)))


def _destroy_groups() -> None:
    """Ends every group but the job's own.

    A group keeps threads on gloo and memory on NCCL for as long as it lives. A grid has a dozen
    groups a rank, and nothing ends those of a finished test by itself.
    """
    for group in list(dist.distributed_c10d._world.pg_map):
        if group is not dist.group.WORLD:
            dist.destroy_process_group(group)
    # Models and their hooks refer to each other, and to the groups.
    gc.collect()


@contextlib.contextmanager
def _global_grid(global_ep: int) -> Iterator[None]:
    parallel_state.initialize_model_parallel(
        expert_model_parallel_size=global_ep, create_gloo_process_groups=False
    )
    try:
        with _cuda_tensors_on_cpu():
            yield
    finally:
        parallel_state.destroy_model_parallel()


@contextlib.contextmanager
def _cuda_tensors_on_cpu() -> Iterator[None]:
    """Without a GPU, lets the optimizers make their flags on the CPU."""
    if torch.cuda.is_available():
        yield
        return
    tensor = torch.tensor

    def on_cpu(*args, **kwargs):
        return tensor(*args, **{**kwargs, 'device': 'cpu'})

    with mock.patch.object(torch, 'tensor', on_cpu):
        yield


def own_grid(ep_size: int) -> ProcessGroupCollection:
    """Process groups of a model with this EP size on all ranks of the job; other sizes are 1."""
    world = dist.get_world_size()
    dense = HyperCommGrid([1, 1, world, 1], ['tp', 'cp', 'dp', 'pp'])
    expert = HyperCommGrid([1, ep_size, world // ep_size, 1], ['tp', 'ep', 'dp', 'pp'])
    groups = ProcessGroupCollection()
    groups.tp, groups.cp, groups.pp, groups.dp = map(dense.create_pg, ('tp', 'cp', 'pp', 'dp'))
    groups.mp = dense.create_pg(['tp', 'pp'])
    groups.dp_cp = dense.create_pg(['cp', 'dp'])
    groups.tp_cp = dense.create_pg(['tp', 'cp'])
    groups.tp_dp_cp = dense.create_pg(['tp', 'cp', 'dp'])
    groups.ep, groups.expt_tp, groups.expt_dp = map(expert.create_pg, ('ep', 'tp', 'dp'))
    groups.tp_ep = expert.create_pg(['tp', 'ep'])
    groups.tp_ep_pp = expert.create_pg(['tp', 'ep', 'pp'])
    groups.intra_dp_cp = groups.intra_dist_opt = groups.dp_cp
    groups.intra_expt_dp = groups.expt_dp
    groups.embd = groups.pos_embd = groups.pp
    groups.hcp = None
    return groups


def standard_grid() -> ProcessGroupCollection:
    """The process groups of the global grid."""
    return ProcessGroupCollection.use_mpu_process_groups()


def gpt_model(
    pg_collection: ProcessGroupCollection | None,
    ep_size: int,
    num_experts: int | None = NUM_EXPERTS,
    **kwargs,
) -> GPTModel:
    """A GPT model of two layers on the CPU, dense where ``num_experts`` is None."""
    moe = {
        'num_moe_experts': num_experts,
        'moe_router_topk': 2,
        'moe_ffn_hidden_size': 16,
        'moe_router_load_balancing_type': 'none',
        'moe_token_dispatcher_type': 'allgather',
        'expert_model_parallel_size': ep_size,
    }
    config = TransformerConfig(
        num_layers=2,
        hidden_size=16,
        num_attention_heads=2,
        ffn_hidden_size=16,
        normalization='RMSNorm',
        activation_func=F.silu,
        gated_linear_unit=True,
        add_bias_linear=False,
        use_cpu_initialization=True,
        bias_activation_fusion=False,
        bias_dropout_fusion=False,
        masked_softmax_fusion=False,
        gradient_accumulation_fusion=False,
        **(moe if num_experts else {}),
    )
    spec = get_gpt_layer_local_spec(
        num_experts=num_experts, moe_grouped_gemm=False, normalization='RMSNorm'
    )
    return GPTModel(
        config, spec, vocab_size=32, max_sequence_length=8, pg_collection=pg_collection, **kwargs
    )


class Wrapper(torch.nn.Module):
    """Stands for a wrapper such as Float16Module or an FSDP adapter, which needs a GPU."""

    def __init__(self, module: torch.nn.Module, *, use_megatron_fsdp: bool = True):
        super().__init__()
        self.module = module
        self.config = module.config
        self.ddp_config = DistributedDataParallelConfig(
            use_megatron_fsdp=use_megatron_fsdp, use_distributed_optimizer=use_megatron_fsdp
        )


class Group:
    """Stands for a process group where only rank and size count."""

    def __init__(self, rank: int, size: int):
        self._rank, self._size = rank, size

    def rank(self):
        return self._rank

    def size(self):
        return self._size


class Chunk(torch.nn.Module):
    """A model chunk that consists of just these parameters."""

    def __init__(self, names, *, num_experts: int | None = NUM_EXPERTS, **fields):
        super().__init__()
        self.config = SimpleNamespace(num_moe_experts=num_experts)
        for name, value in fields.items():
            setattr(self, name, value)
        for name in names:
            *path, last = name.split('.')
            owner = self
            for part in path:
                if not hasattr(owner, part):
                    owner.add_module(part, torch.nn.Module())
                owner = getattr(owner, part)
            owner.register_parameter(last, torch.nn.Parameter(torch.zeros(1)))


def experts(layer: int, indices) -> list[str]:
    """Parameter names of some experts of a layer, in the form SequentialMLP has."""
    prefix = f'decoder.layers.{layer}.mlp.experts.local_experts'
    return [f'{prefix}.{index}.linear_fc1.weight' for index in indices]


def layout(ep_rank: int, ep_size: int) -> ProcessGroupCollection:
    """A collection that states just an EP layout."""
    return ProcessGroupCollection(ep=Group(ep_rank, ep_size))


def true_name(name: str, rank: int, ep_size: int, num_experts: int = NUM_EXPERTS) -> str:
    """Name of a local parameter with the global index of its expert.

    Both grids here give neighbouring ranks neighbouring places in the EP group, so rank ``r`` holds
    block ``r % ep_size`` of the experts.
    """
    first = rank % ep_size * (num_experts // ep_size)
    return re.sub(r'(?<=\.local_experts\.)\d+', lambda found: str(int(found.group()) + first), name)


def true_names(
    answers: Mapping[int, Mapping[str, str]], ep_size: int, num_experts: int = NUM_EXPERTS
) -> dict[int, dict[str, str]]:
    """What answers of the form ``{rank: {local name: name}}`` should be."""
    assert all(any('.local_experts.' in name for name in names) for names in answers.values())
    return {
        rank: {name: true_name(name, rank, ep_size, num_experts) for name in names}
        for rank, names in answers.items()
    }
