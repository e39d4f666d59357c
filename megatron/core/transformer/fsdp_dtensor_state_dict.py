# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""The state dict of a model in Megatron-FSDP as it goes to and comes from a checkpoint.

For trainers that do not use Megatron-LM's training loop::

    state_dict = {'model': inner.state_dict_for_save_checkpoint()}
    state_dict['optimizer'] = optimizer.sharded_state_dict(state_dict, metadata=...)
    torch.distributed.checkpoint.save(prepare_state_dict(state_dict, model), checkpoint_id=folder)

where ``inner`` is ``unwrap_model([model])[0]``.
"""

import warnings
from collections.abc import Iterable, Mapping
from os import PathLike

import torch
from torch.distributed.checkpoint import FileSystemReader

from megatron.core.process_group_fallback import global_rank_and_size
from megatron.core.transformer.expert_layout import get_model_ep_rank_and_size
from megatron.core.transformer.expert_layout_mark import (
    expert_layout_mark,
    find_expert_layout_marks,
)
from megatron.core.transformer.expert_names import expert_indices
from megatron.core.transformer.fsdp_dtensor_checkpoint import (
    handle_experts_in_state_dict,
    handle_fp8_extra_state_case,
    handle_swiglu_in_state_dict,
)
from megatron.core.transformer.transformer_layer import TransformerLayer
from megatron.core.utils import get_attr_wrapped_model, unwrap_model


def prepare_state_dict(
    state_dict: Mapping, model: torch.nn.Module, *, load_from: str | PathLike | None = None
) -> dict:
    """A state dict with its final names, by the model's own expert-parallel layout.

    A collective over the ranks that share tensors.

    Args:
        state_dict: The model's state dict as ``'model'``, that of the optimizer as ``'optimizer'``
            if there is one, and whatever else is stored. It is not changed.
        model: The model in Megatron-FSDP.
        load_from: The checkpoint, where the state dict is to be loaded and not saved.

    Returns:
        The state dict to save, or to load into.

    Raises:
        ValueError: The model's parts do not agree about experts, or the checkpoint lacks experts.
    """
    # It needs Megatron-FSDP, which this module can be imported without.
    from megatron.core.distributed.fsdp.src.megatron_fsdp.uneven_dtensor import (  # noqa: PLC0415
        preprocess_state_dict_for_uneven_dtensor,
    )

    inner = unwrap_model([model])[0]
    prepared = {**state_dict, 'model': dict(state_dict['model'])}
    handle_fp8_extra_state_case(prepared['model'])
    if any(
        isinstance(layer, TransformerLayer) and layer.config.gated_linear_unit
        for layer in inner.modules()
    ):
        prepared['model'], optimizer_state_dict = handle_swiglu_in_state_dict(
            inner, prepared['model'], prepared.get('optimizer')
        )
        if 'optimizer' in prepared:
            prepared['optimizer'] = optimizer_state_dict
    num_experts = _num_experts(inner)
    if num_experts:
        ep_rank, ep_size = get_model_ep_rank_and_size(inner)
        prepared['model'] = handle_experts_in_state_dict(
            prepared['model'], num_experts, ep_rank=ep_rank, ep_size=ep_size
        )
    preprocess_state_dict_for_uneven_dtensor(prepared)
    if load_from is not None:
        keys = FileSystemReader(load_from).read_metadata().state_dict_metadata
        require_experts(keys, prepared, inner)
    elif 'optimizer' not in prepared:
        prepared |= expert_layout_mark([inner])
    return prepared


def require_experts(
    keys: Iterable[str], state_dict: Mapping, model: torch.nn.Module, *, strict: bool = True
) -> None:
    """Refuses to load experts that a checkpoint lacks, and says why it may lack them.

    Args:
        keys: The keys of the checkpoint's metadata.
        state_dict: What is to be loaded, with its final names.
        model: The model, within any number of wrappers.
        strict: Raise; otherwise, warn.

    Raises:
        ValueError: A layer that is to be loaded has not all its experts in the checkpoint.
    """
    keys = list(keys)
    num_experts = _num_experts(model)
    marks = find_expert_layout_marks(keys)
    stored = expert_indices(key.removeprefix('model.') for key in keys if key.startswith('model.'))
    # Every rank looks for all experts, not for its own, so that all ranks raise.
    for layer in expert_indices(state_dict.get('model', ())):
        missing = set(range(num_experts or 0)) - stored.get(layer, set(range(num_experts or 0)))
        if missing:
            _refuse(_lack(layer, stored[layer], missing, marks), strict=strict)
            return
    if not marks and stored and get_model_ep_rank_and_size(model) != global_rank_and_size('ep'):
        warnings.warn(
            "this checkpoint does not state the expert-parallel layout that its experts are named "
            "by, and this model's is not that of the global grid; a Megatron-LM that names experts "
            "by the global grid may have stored each under another one's name",
            UserWarning,
            stacklevel=2,
        )


def _lack(layer: str, stored: set[int], missing: set[int], marks: list) -> str:
    text = (
        f"the checkpoint lacks {len(missing)} of {len(stored | missing)} experts of {layer} "
        f"({', '.join(map(str, sorted(missing)))})"
    )
    if marks:
        return f"{text}; by what it states, it is of a model with {marks[0].num_experts} experts"
    return (
        f"{text} and does not state the expert-parallel layout that they are named by: it is of a "
        "model with fewer experts, or was saved by a Megatron-LM that names experts by the global "
        "grid, for a model with a layout of its own; then several experts were stored under one "
        "name, and those that are there may be mixed up: load another checkpoint"
    )


def _refuse(text: str, *, strict: bool) -> None:
    if strict:
        raise ValueError(text)
    warnings.warn(text, UserWarning, stacklevel=3)


def _num_experts(model: torch.nn.Module) -> int | None:
    return getattr(get_attr_wrapped_model(model, 'config'), 'num_moe_experts', None)
