# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""A MoE model in Megatron-FSDP on its own grid, trained for a step, and what a checkpoint holds.

What is true about the model is collected here without the code that names experts: each parameter
is filled from the name it has by the *true* global index of its expert, and shards go from rank to
rank as plain objects.
"""

import contextlib
import os
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.tensor.debug import _clear_sharding_prop_cache

from megatron.core.distributed import DistributedDataParallelConfig
from megatron.core.distributed.fsdp.mcore_fsdp_adapter import FullyShardedDataParallel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.tensor_parallel.random import (
    get_cuda_rng_tracker,
    model_parallel_cuda_manual_seed,
)
from megatron.core.transformer.module import Float16Module
from megatron.core.utils import unwrap_model
from megatron.training import checkpointing
from megatron.training.arguments import parse_args, validate_args
from megatron.training.global_vars import set_global_variables, unset_global_variables
from tests.unit_tests.own_expert_layout import (
    JOB_TIMEOUT,
    NUM_EXPERTS,
    Answer,
    Layouts,
    gpt_model,
    on_each_rank,
    own_grid,
    together,
    true_name,
)
from tests.unit_tests.training_over_gloo import over_gloo
from tests.unit_tests.training_without_gpu import without_gpu

Tensors = dict[str, torch.Tensor]

# With (2, 2, 2) and (4, 2, 2) the global grid happens to be right; in the last, two ranks share
# each expert.
LAYOUTS = [
    Layouts(2, 1, 2),
    Layouts(2, 2, 1),
    Layouts(2, 2, 2),
    Layouts(4, 2, 4),
    Layouts(4, 4, 2),
    Layouts(4, 2, 2),
]

MOMENTS = ('exp_avg', 'exp_avg_sq')
SEQUENCE = 8
BATCH = 16

# A rank that waits for another one in a group of the model fails after this time. The ranks tell
# each other about it through the job's own group, which waits longer.
GROUP_TIMEOUT = JOB_TIMEOUT / 2


def on_real_ranks(body: Callable[[], Answer], layouts: Layouts) -> dict[int, Answer]:
    """As :func:`on_each_rank`, for a body that moves data and therefore needs real ranks.

    They are on NCCL where each has a GPU; else on gloo, on the GPUs that there are or on the CPU.
    ``CUDA_VISIBLE_DEVICES=`` hides the GPUs.
    """
    if 'RANK' not in os.environ or 'WORLD_SIZE' not in os.environ:
        pytest.skip(f'moves data between ranks: torchrun --nproc-per-node {layouts.world_size}')

    def on_device():
        # New groups do not take over the job's timeout.
        default = mock.Mock(return_value=GROUP_TIMEOUT)
        with (
            mock.patch.object(dist.distributed_c10d, '_get_default_timeout', default),
            over_gloo() if dist.get_backend() == 'gloo' else contextlib.nullcontext(),
            contextlib.nullcontext() if torch.cuda.is_available() else without_gpu(),
        ):
            try:
                return body()
            finally:
                # It gives new tensors equal meshes of earlier ones, whose groups end with the body.
                _clear_sharding_prop_cache()

    return on_each_rank(on_device, world_size=layouts.world_size, global_ep=layouts.global_ep)


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """An empty folder, the same one on all ranks of this host."""
    with contextlib.ExitStack() as stack:
        names = [None]
        if dist.get_rank() == 0:
            names = [stack.enter_context(tempfile.TemporaryDirectory(prefix='experts-'))]
        dist.broadcast_object_list(names, src=0)
        yield Path(names[0])
        dist.barrier()  # Nobody reads any more.


class Training:
    """A model with its own EP size in Megatron-FSDP, and its optimizer, after one step.

    Args:
        ep_size: EP size of the model.
        seed: Models with different seeds have no tensor in common.
        num_experts: Number of experts over all EP ranks.
    """

    def __init__(self, ep_size: int, seed: int = 0, num_experts: int = NUM_EXPERTS):
        self.ep_size = ep_size
        self.seed = seed
        self.num_experts = num_experts
        groups = own_grid(ep_size)
        _seed(groups)
        model = gpt_model(groups, ep_size, num_experts)
        model.config.bf16 = True
        with torch.no_grad():
            for name, param in model.named_parameters():
                param.copy_(_random(f'{seed} {self.true_name(name)}', param.shape))
        self.fsdp = FullyShardedDataParallel(
            model.config,
            DistributedDataParallelConfig(
                use_megatron_fsdp=True,
                use_distributed_optimizer=True,
                data_parallel_sharding_strategy='optim_grads_params',
            ),
            # The SwiGLU split counts on a wrapper between Megatron-FSDP and the model.
            Float16Module(model.config, model),
            device=_device(),
            pg_collection=groups,
        )
        self.optimizer = get_megatron_optimizer(
            OptimizerConfig(
                optimizer='adam',
                lr=1e-2,
                min_lr=0.0,
                bf16=True,
                use_distributed_optimizer=True,
                clip_grad=0.0,  # Clipping takes gradients on a GPU only.
            ),
            [self.fsdp],
            use_gloo_process_groups=False,
            pg_collection=groups,
        )
        self.inner = unwrap_model([self.fsdp])[0]
        # Where it fails on one rank only, the others must not go on to the next collective.
        sharded_state_dict = self.optimizer.sharded_state_dict
        self.optimizer.sharded_state_dict = lambda *args, **kwargs: together(
            lambda: sharded_state_dict(*args, **kwargs)
        )
        self._step()
        self._fill_missing_states()

    def true_name(self, name: str) -> str:
        """Name of one of this rank's parameters with its expert's true global index."""
        return true_name(name, dist.get_rank(), self.ep_size, self.num_experts)

    def _step(self) -> None:
        shape = (BATCH, SEQUENCE)
        tokens = (_random(f'tokens {self.seed} {dist.get_rank()}', shape) * 1000).long() % 32
        tokens = tokens.to(_device())
        places = torch.arange(SEQUENCE, device=_device()).expand(*shape)
        later = torch.ones(SEQUENCE, SEQUENCE, dtype=torch.bool, device=_device()).triu(1)
        self.fsdp.zero_grad_buffer()
        self.fsdp(tokens, places, later[None, None], labels=tokens).mean().backward()
        self.fsdp.finish_grad_sync()
        successful, _, _ = self.optimizer.step()
        assert successful

    def _fill_missing_states(self) -> None:
        """Gives Adam state to parameters of which this rank holds nothing, in one order.

        Adam makes none for them. But to prepare a state dict is a collective for each of its
        tensors, so all ranks must hold the same keys in the same order.
        """
        adam = self.optimizer.optimizer
        step = next(iter(adam.state.values()))['step']
        states = {}
        for group in adam.param_groups:
            for param in group['params']:
                states[param] = adam.state.get(param) or {
                    'step': step.clone(),
                    **{moment: torch.zeros_like(param) for moment in MOMENTS},
                }
        adam.state.clear()
        adam.state.update(states)

    def _named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """The parameters that Adam updates, by the names they have in the model."""
        for name, param in self.fsdp.param_and_grad_buffer.optimizer_named_parameters:
            yield name.removeprefix('module.'), param

    def _local_tensors(self) -> Iterator[tuple[str, str, torch.Tensor]]:
        """Parameter name, kind and this rank's part of every tensor that a checkpoint restores."""
        buffer = self.fsdp.param_and_grad_buffer
        for name, param in self._named_parameters():
            weights = buffer.parameter_groups[
                buffer.param_to_param_group[param.orig_param]
            ].model_weight_buffer
            place = weights.param_idx[param.orig_param]
            yield name, 'weight', weights.get_item(place, only_shard=True)
            yield name, 'param', param.to_local()
            state = self.optimizer.optimizer.state.get(param)
            if not state:
                continue  # Adam makes none where a rank holds nothing.
            yield name, 'step', state['step']
            for moment in MOMENTS:
                yield name, moment, state[moment].to_local()

    def tensors(self) -> dict[str, Tensors]:
        """Every tensor of the whole model by kind and by parameter name, on the CPU.

        The kinds are the weight that computes, the parameter that Adam updates, and its state.
        Names hold true global indices.
        """
        shapes = {name: param.shape for name, param in self._named_parameters()}
        mine = [
            (self.true_name(name), kind, shapes[name], local.detach().cpu())
            for name, kind, local in self._local_tensors()
        ]
        parts = [None] * dist.get_world_size()
        dist.all_gather_object(parts, mine)
        shards = {}
        # Neighbouring ranks of a data-parallel group hold neighbouring shards.
        for name, kind, shape, local in (tensor for part in parts for tensor in part):
            shards.setdefault((kind, name, shape), []).append(local.flatten())
        whole = {}
        for (kind, name, shape), locals_ in shards.items():
            if kind == 'step':
                assert len({step.item() for step in locals_}) == 1
                tensor = locals_[0].reshape(())
            else:
                tensor = torch.cat(locals_).reshape(shape)
            whole.setdefault(kind, {})[name] = tensor
        return whole

    def wipe(self) -> None:
        """Overwrites everything that :meth:`tensors` reads."""
        with torch.no_grad():
            for _, _, local in self._local_tensors():
                local.fill_(7)

    def state_dict(self, *, is_loading: bool = False) -> dict:
        """The state dict as the training loop makes it, before the loop's preprocessing."""
        state_dict = {'model': self.inner.state_dict_for_save_checkpoint()}
        state_dict['optimizer'] = self.optimizer.sharded_state_dict(
            state_dict,
            is_loading=is_loading,
            metadata={'distrib_optim_sharding_type': 'fsdp_dtensor'},
        )
        return state_dict

    def preprocess(self, state_dict: dict) -> dict:
        """The state dict as it goes to the checkpoint."""
        args = SimpleNamespace(swiglu=True, num_experts=self.num_experts)
        return checkpointing.preprocess_fsdp_dtensor_state_dict(args, state_dict, self.inner)

    def save(self, folder: Path) -> None:
        """Writes a checkpoint."""
        dcp.save(self.preprocess(self.state_dict()), checkpoint_id=folder)

    def load(self, folder: Path) -> None:
        """Reads a checkpoint."""
        state_dict = self.state_dict(is_loading=True)
        dcp.load(self.preprocess(state_dict), checkpoint_id=folder)
        self.fsdp.load_state_dict(state_dict['model'])
        self.optimizer.load_state_dict(state_dict['optimizer'])


@contextlib.contextmanager
def command_line(layouts: Layouts, folder: Path) -> Iterator[None]:
    """The arguments of a training run that keeps checkpoints of such a model in a folder."""
    options = {
        '--num-layers': 2,
        '--hidden-size': 16,
        '--num-attention-heads': 2,
        '--ffn-hidden-size': 16,
        '--moe-ffn-hidden-size': 16,
        '--num-experts': NUM_EXPERTS,
        '--expert-model-parallel-size': layouts.global_ep,
        '--seq-length': SEQUENCE,
        '--max-position-embeddings': SEQUENCE,
        '--vocab-size': 32,
        '--tokenizer-type': 'NullTokenizer',
        '--transformer-impl': 'local',
        '--micro-batch-size': BATCH,
        '--global-batch-size': 4 * BATCH,
        '--train-iters': 2,
        '--lr': 0.01,
        '--data-parallel-sharding-strategy': 'optim_grads_params',
        '--ckpt-format': 'fsdp_dtensor',
        '--save': folder,
        '--save-interval': 1,
        '--load': folder,
    }
    flags = [
        '--bf16',
        '--swiglu',
        '--disable-bias-linear',
        '--use-distributed-optimizer',
        '--use-megatron-fsdp',
        '--no-gradient-accumulation-fusion',
        '--mock-data',
        '--exit-on-missing-checkpoint',
    ]
    words = [str(word) for option in options.items() for word in option]
    with mock.patch.object(sys, 'argv', ['train', *words, *flags]):
        args = parse_args()
    validate_args(args)
    set_global_variables(args, build_tokenizer=False)
    try:
        yield
    finally:
        unset_global_variables()


def _random(seed: str, shape) -> torch.Tensor:
    generator = torch.Generator().manual_seed(zlib.crc32(seed.encode()))
    return torch.randn(shape, generator=generator)


def stored(folder: Path) -> Tensors:
    """Every model and optimizer tensor of a checkpoint, read without a model."""
    metadata = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    tensors = {
        key: torch.full(entry.size, float('nan'), dtype=entry.properties.dtype)
        for key, entry in metadata.items()
        if isinstance(entry, TensorStorageMetadata) and key.startswith(('model.', 'optimizer.'))
    }
    with warnings.catch_warnings():
        warnings.filterwarnings('ignore', 'torch.distributed is disabled', UserWarning)
        dcp.load(tensors, checkpoint_id=folder, no_dist=True)
    return tensors


def stored_group_names(folder: Path) -> set[str]:
    """Names of the parameters whose parameter group a checkpoint states."""
    metadata = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    start, end = 'optimizer.param_to_group_meta.module.module.module.', '.lr'
    return {
        key.removeprefix(start).removesuffix(end)
        for key in metadata
        if key.startswith(start) and key.endswith(end)
    }


def true_content(tensors: Mapping[str, Tensors]) -> Tensors:
    """What :func:`stored` should find for the tensors of a model."""
    content = {}
    for name in tensors['param']:
        # SwiGLU keeps gate and value in one weight; they are stored apart.
        halves = ('_w', '_v') if name.endswith('.linear_fc1.weight') else ('',)
        for place, half in enumerate(halves):
            keys = {'param': f'model.module.{name}{half}'}
            for kind in ('step', *MOMENTS):
                keys[kind] = f'optimizer.state.module.module.module.{name}{half}.{kind}'
            for kind, key in keys.items():
                tensor = tensors[kind][name]
                split = len(halves) > 1 and kind != 'step'
                content[key] = tensor.chunk(2)[place] if split else tensor
    return content


def differences(found: Mapping[str, torch.Tensor], true: Mapping[str, torch.Tensor]) -> dict:
    """What is wrong with the tensors found, by name; empty where they are the true ones."""
    wrong = dict.fromkeys(true.keys() - found.keys(), 'missing')
    wrong |= dict.fromkeys(found.keys() - true.keys(), 'unknown')
    for name in true.keys() & found.keys():
        if not torch.equal(found[name], true[name]):
            wrong[name] = 'differs'
    return dict(sorted(wrong.items()))


def flat(tensors: Mapping[str, Tensors]) -> Tensors:
    """The tensors of all kinds in one dict."""
    return {f'{kind} of {name}': t for kind, named in tensors.items() for name, t in named.items()}


def _device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device('cuda', torch.cuda.current_device())
    return torch.device('cpu')


def _seed(groups: ProcessGroupCollection) -> None:
    if torch.cuda.is_available():
        model_parallel_cuda_manual_seed(1, tp_rank=0, ep_rank=groups.ep.rank(), etp_rank=0)
    else:
        # A training run saves and restores the tracker's states, and will not have it empty.
        get_cuda_rng_tracker().set_states({'model-parallel-rng': torch.get_rng_state()})
