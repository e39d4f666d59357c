# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What Megatron-FSDP and its checkpoints need of a model, said where it is missing."""

from collections.abc import Iterable

import torch

from megatron.core.distributed.distributed_data_parallel_config import DistributedDataParallelConfig
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.transformer.transformer_config import TransformerConfig


def require_mesh_groups(
    pg_collection: ProcessGroupCollection | None,
    config: TransformerConfig,
    ddp_config: DistributedDataParallelConfig,
) -> None:
    """Refuses a collection that lacks a group of which Megatron-FSDP builds its meshes.

    Args:
        pg_collection: The model's process groups; without any, the global ones are taken.
        config: The model's configuration.
        ddp_config: The configuration of Megatron-FSDP.

    Raises:
        ValueError: A group is unset or None.
    """
    if pg_collection is None:
        return
    has_instances = ddp_config.num_distributed_optimizer_instances > 1
    fields = ['dp_cp']
    if has_instances:
        fields += ['intra_dp_cp', 'inter_dist_opt']
    if getattr(config, 'num_moe_experts', None):
        fields += ['ep', 'intra_expt_dp' if has_instances else 'expt_dp']
    missing = [name for name in fields if getattr(pg_collection, name, None) is None]
    if missing:
        raise ValueError(
            f"FullyShardedDataParallel needs the process groups {', '.join(fields)} and gets no "
            f"{', '.join(missing)}: its pg_collection leaves it unset or None; where there is no "
            "such parallelism, set a group of this rank alone"
        )


def require_float16_module(model: torch.nn.Module, model_keys: Iterable[str]) -> None:
    """Refuses a model whose keys lack the level that Float16Module adds to parameters' names.

    Args:
        model: The MegatronFSDP module.
        model_keys: The keys of its state dict.

    Raises:
        ValueError: The keys are the parameters' names themselves.
    """
    names = {name for name, _ in model.named_parameters()}
    keys = list(model_keys)
    if any(f'module.{key}' in names for key in keys):
        return
    for key in keys:
        if key in names:
            raise ValueError(
                f"handle_swiglu_in_state_dict finds the parameter of {key} only where a "
                "Float16Module stands between FullyShardedDataParallel and the model; wrap "
                "Float16Module(config, model), with bf16 or fp16 set in its config"
            )
