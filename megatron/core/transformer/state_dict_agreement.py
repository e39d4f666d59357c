# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Whether a state dict can be saved or loaded: what all ranks know before the first collective.

To prepare a state dict for unevenly sharded tensors is a collective for each of them. A rank that
refuses its part, or that has other tensors, would let the others wait.
"""

import hashlib
from collections.abc import Iterator, Mapping

import torch.distributed as dist
from torch.distributed.tensor import DTensor, Replicate

from megatron.core.transformer.expert_agreement import disagreement, keys_within

_SHOWN = 3


def require_agreement(state_dict: Mapping) -> None:
    """Refuses, on all ranks that share tensors, a state dict that one of them cannot save or load.

    Args:
        state_dict: The whole state dict, with its final names. One without an optimizer is not
            looked at.

    Raises:
        ValueError: The model and the optimizer name experts differently on a rank, or ranks have
            different parts of the tensors that they share.
    """
    if 'optimizer' not in state_dict:
        return
    model = {key: part for key, part in state_dict.items() if key.startswith('model')}
    found = disagreement(keys_within(model), keys_within(state_dict['optimizer']))
    # The order of groups is the same on all ranks, so that none waits for another in a circle.
    for _, (group, paths) in sorted(_shared_tensors(state_dict).items()):
        found = _agree(group, found, sorted(paths))
    if found is not None:
        raise ValueError(f"this state dict cannot be saved or loaded: {found}")


def _shared_tensors(
    state_dict: Mapping,
) -> dict[tuple[int, ...], tuple[dist.ProcessGroup, list[str]]]:
    """The groups of ranks that hold parts of one tensor, with the tensors, by their ranks."""
    shared = {}
    for path, tensor in _tensors(state_dict, ''):
        for dim, placement in enumerate(tensor.placements):
            group = tensor.device_mesh.get_group(dim)
            if not isinstance(placement, Replicate) and group.size() > 1:
                ranks = tuple(dist.get_process_group_ranks(group))
                shared.setdefault(ranks, (group, []))[1].append(path)
    return shared


def _tensors(part: Mapping, above: str) -> Iterator[tuple[str, DTensor]]:
    for key, value in part.items():
        path = f'{above}{key}'
        if isinstance(value, Mapping):
            yield from _tensors(value, f'{path}.')
        elif isinstance(value, DTensor):
            yield path, value


def _agree(group: dist.ProcessGroup, found: str | None, paths: list[str]) -> str | None:
    """What is wrong on this rank, or else on another of the group."""
    digest = hashlib.sha256('\n'.join(paths).encode()).hexdigest()
    answers = [None] * group.size()
    dist.all_gather_object(answers, (dist.get_rank(), found, digest), group=group)
    if found is not None:
        return found
    for rank, text, _ in answers:
        if text is not None:
            return text if text.startswith('on rank ') else f'on rank {rank}, {text}'
    if len({digest for _, _, digest in answers}) == 1:
        return None
    all_paths = [None] * group.size()
    dist.all_gather_object(all_paths, paths, group=group)
    everywhere = set(all_paths[0]).intersection(*all_paths)
    others = sorted(set().union(*all_paths) - everywhere)
    return (
        f"not all of the ranks {dist.get_process_group_ranks(group)} have the same tensors: "
        f"{len(others)} are missing on some, {', '.join(others[:_SHOWN])} for one; an optimizer "
        "makes no state for a parameter of which a rank holds nothing, so take its state from "
        "DistributedOptimizer.sharded_state_dict, which has it for all"
    )
