# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""The global names of all parameters of a model, in one pass over it."""

import re
from collections.abc import Sequence

import torch

from megatron.core.transformer.expert_layout import get_model_ep_rank_and_size
from megatron.core.transformer.fsdp_dtensor_checkpoint import handle_experts_in_state_dict
from megatron.core.transformer.transformer_layer import TransformerLayer


def get_global_unique_param_names(
    model_chunks: Sequence[torch.nn.Module],
) -> dict[torch.nn.Parameter, str]:
    """Name of every parameter of the model chunks.

    Each name is the one that ``get_global_unique_param_name`` finds, which searches the whole model
    for every parameter.

    Args:
        model_chunks: Model chunks, each within any number of wrappers.

    Returns:
        The names by parameter. A parameter of several chunks is named as one of the last of them.

    Raises:
        ValueError: As :func:`get_model_ep_rank_and_size`, for any chunk.
    """
    layer_numbers = _layer_numbers(model_chunks)
    names = {}
    for chunk in model_chunks:
        ep_rank, ep_size = get_model_ep_rank_and_size(chunk)
        for local_name, param in chunk.named_parameters():
            name = local_name
            if param in layer_numbers and 'mtp' not in name:
                name = re.sub(r'layers\.\d+', f'layers.{layer_numbers[param] - 1}', name)
            (names[param],) = handle_experts_in_state_dict(
                {name: None}, chunk.config.num_moe_experts, ep_rank=ep_rank, ep_size=ep_size
            )
    return names


def _layer_numbers(model_chunks: Sequence[torch.nn.Module]) -> dict[torch.nn.Parameter, int]:
    """Number of the transformer layer that holds a parameter, from 1 over all pipeline stages."""
    # Of several chunks only the last one's layers are numbered. That is a fault for the others, but
    # a name that has been written to a file must not become another one here.
    return {
        param: module.layer_number
        for chunk in model_chunks[-1:]
        for module in chunk.modules()
        if isinstance(module, TransformerLayer)
        for param in module.parameters()
    }
