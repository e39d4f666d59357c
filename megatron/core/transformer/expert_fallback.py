# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Experts that are named by the global grid, because their caller states no layout."""

from collections.abc import Iterable

from megatron.core.transformer.expert_names import LAYOUT_OF_MODEL, expert_indices


def require_local_experts(
    keys: Iterable[str], num_experts: int | None, num_local_experts: int
) -> None:
    """Refuses experts that the global grid does not account for: a model with its own has them.

    Args:
        keys: All keys of a rank's state dict. A layer may have no experts here, as on a pipeline
            stage without MoE layers.
        num_experts: Number of experts over all expert-parallel ranks.
        num_local_experts: How many of them a rank of the global grid holds.

    Raises:
        ValueError: A layer has another number of experts here.
    """
    for layer, indices in expert_indices(keys).items() if num_experts else ():
        if len(indices) != num_local_experts:
            raise ValueError(
                "handle_experts_in_state_dict was not given ep_rank and ep_size, and the "
                f"{len(indices)} of {num_experts} experts in {layer} are not as many as the "
                f"{num_local_experts} that a rank of the global expert-parallel group holds; pass "
                f"{LAYOUT_OF_MODEL}"
            )
