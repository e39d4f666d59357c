# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What happens where experts are to be named and the caller states no expert-parallel layout.

The layout of the global grid counts then, with a warning. It is refused for experts that it does
not account for: those are a model's with a layout of its own.
"""

from collections.abc import Iterable

from megatron.core import parallel_state
from megatron.core.process_groups_config import warn_process_group_fallback
from megatron.core.transformer.expert_layout import EPLayout
from megatron.core.transformer.expert_names import expert_indices

LAYOUT_OF_MODEL = (
    "the model's ep_rank and ep_size, which get_model_ep_rank_and_size(model) of "
    "megatron.core.transformer.fsdp_dtensor_checkpoint finds"
)


def layout_or_global(
    num_experts: int | None, *, ep_rank: int | None, ep_size: int | None, caller: str
) -> EPLayout:
    """The layout as given, else that of the global grid, with a warning.

    Args:
        num_experts: Number of experts over all EP ranks. Without any, there is nothing to name.
        ep_rank: Rank within the EP group, if stated.
        ep_size: Size of that group, if stated.
        caller: The function that takes the two, for the warning.

    Returns:
        ``(ep_rank, ep_size)``.
    """
    if ep_rank is not None or ep_size is not None:
        return ep_rank, ep_size
    if not num_experts:
        return None, None
    warn_process_group_fallback(['ep'], caller=caller, instead=LAYOUT_OF_MODEL, only_if='exists')
    return (
        parallel_state.get_expert_model_parallel_rank(),
        parallel_state.get_expert_model_parallel_world_size(),
    )


def layout_of_experts(
    keys: Iterable[str], num_experts: int | None, *, ep_rank: int | None, ep_size: int | None
) -> EPLayout:
    """As :func:`layout_or_global`, for the keys of a rank's whole state dict.

    Args:
        keys: The keys. A layer may have no experts here, as on a pipeline stage without MoE layers.
        num_experts: Number of experts over all EP ranks.
        ep_rank: Rank within the EP group, if stated.
        ep_size: Size of that group, if stated.

    Returns:
        ``(ep_rank, ep_size)``.

    Raises:
        ValueError: No layout is given, and a layer has another number of experts here than a rank
            of the global grid holds.
    """
    is_given = ep_rank is not None or ep_size is not None
    ep_rank, ep_size = layout_or_global(
        num_experts, ep_rank=ep_rank, ep_size=ep_size, caller='handle_experts_in_state_dict'
    )
    if is_given or not ep_size:
        return ep_rank, ep_size
    expected = num_experts // ep_size
    for layer, indices in expert_indices(keys).items():
        if len(indices) != expected:
            raise ValueError(
                f"handle_experts_in_state_dict was not given ep_rank and ep_size, and the "
                f"{len(indices)} of {num_experts} experts in {layer} are not as many as the "
                f"{expected} that a rank of the global expert-parallel size {ep_size} holds; pass "
                f"{LAYOUT_OF_MODEL}"
            )
    return ep_rank, ep_size
