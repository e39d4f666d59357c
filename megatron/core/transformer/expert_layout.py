# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Which experts of a model a rank holds.

A layout is a pair ``(ep_rank, ep_size)``: the rank within the model's expert-parallel (EP) group
and that group's size. Experts are laid out in blocks: rank ``r`` of ``n`` holds the experts from
``r * num_experts // n`` up to, not including, ``(r + 1) * num_experts // n``.

``(None, None)`` says that the model does not state its layout. Nothing here looks at the global
process groups; the caller decides what to fall back on.
"""

from collections.abc import Iterator

import torch

from megatron.core.process_groups_config import ProcessGroupCollection

EPLayout = tuple[int, int] | tuple[None, None]


def get_expert_offset(num_experts: int | None, ep_rank: int | None, ep_size: int | None) -> int:
    """Global index of the first expert that a rank holds.

    Args:
        num_experts: Number of experts over all EP ranks. None or 0 for a model without experts.
        ep_rank: Rank within the EP group.
        ep_size: Number of ranks in the EP group.

    Returns:
        The index, 0 for a model without experts.

    Raises:
        ValueError: One of ``ep_rank`` and ``ep_size`` is missing, or they are no layout of
            ``num_experts`` experts.
    """
    if ep_rank is None or ep_size is None:
        raise ValueError(f"ep_rank and ep_size go together, got {ep_rank=} and {ep_size=}")
    if ep_size < 1:
        raise ValueError(f"ep_size must be at least 1, got {ep_size}")
    if ep_rank not in range(ep_size):
        raise ValueError(f"ep_rank must lie in range({ep_size}), the EP size, got {ep_rank}")
    if not num_experts:
        return 0
    if num_experts % ep_size:
        raise ValueError(f"{num_experts} experts cannot be divided among {ep_size} EP ranks")
    return ep_rank * (num_experts // ep_size)


def get_ep_rank_and_size(pg_collection: ProcessGroupCollection | None) -> EPLayout:
    """Layout that a collection of process groups states.

    Args:
        pg_collection: The model's process groups, None where it has no collection.

    Returns:
        Rank and size of the collection's EP group. ``(0, 1)`` where ``ep`` is None, which turns
        expert parallelism off, and ``(None, None)`` where there is no collection or nobody set
        its ``ep``.

    Raises:
        ValueError: This rank is no member of the collection's EP group.
    """
    # Reading an unset field answers None, the same as a field set to None, hence vars().
    if pg_collection is None or 'ep' not in vars(pg_collection):
        return None, None
    group = pg_collection.ep
    if group is None:
        return 0, 1
    if group == torch.distributed.GroupMember.NON_GROUP_MEMBER or group.rank() < 0:
        raise ValueError("this rank is no member of the expert-parallel group of pg_collection")
    return group.rank(), group.size()


def get_model_ep_rank_and_size(model: torch.nn.Module) -> EPLayout:
    """Layout of a model, from its collection of process groups.

    Args:
        model: A model or model chunk, within any number of wrappers.

    Returns:
        As :func:`get_ep_rank_and_size`; ``(None, None)`` also for a dense model that has no
        collection.

    Raises:
        ValueError: The model has experts but no collection, or this rank is no member of the
            collection's EP group.
    """
    pg_collection = find_pg_collection(model)
    if pg_collection is None and _has_experts(model):
        raise ValueError(
            f"{type(model).__name__} has experts but no pg_collection at any wrapper level, so "
            "their global indices are unknown; set pg_collection on the model"
        )
    return get_ep_rank_and_size(pg_collection)


def find_pg_collection(model: torch.nn.Module) -> ProcessGroupCollection | None:
    """The innermost collection of process groups: the one that the experts were built with.

    Args:
        model: A model or model chunk, within any number of wrappers.

    Returns:
        The collection, None if there is none at any level.
    """
    found = None
    for level in _wrapper_levels(model):
        pg_collection = getattr(level, 'pg_collection', None)
        if pg_collection is not None:
            found = pg_collection
    return found


def _has_experts(model: torch.nn.Module) -> bool:
    configs = (getattr(level, 'config', None) for level in _wrapper_levels(model))
    return any(getattr(config, 'num_moe_experts', None) for config in configs)


def _wrapper_levels(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """The model, what it wraps, what that wraps, and so on."""
    while model is not None:
        yield model
        model = getattr(model, 'module', None)
