# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""The optimizer's part of a state dict for FSDP-DTensor checkpoints."""

from collections.abc import Callable, Iterable, Mapping

import torch


def fill_missing_states(
    named_states: Mapping[str, dict],
    param_groups: Iterable[Mapping],
    name_of: Callable[[torch.nn.Parameter], str],
) -> dict[str, dict]:
    """The states of all parameters, in one order on every rank.

    Adam makes no state for a parameter of which a rank holds nothing. But preparing a state dict
    is a collective for each of its tensors, so all ranks must have the same keys.

    Args:
        named_states: The states that there are, by the parameters' names.
        param_groups: The optimizer's parameter groups.
        name_of: Finds the name of a parameter.

    Returns:
        The states of all parameters of the groups, in their order, then whatever else was named.
        A state that was missing has the kinds of tensors that the others have, all zero, but the
        number of steps of the others where this rank holds nothing of the parameter. Before the
        first step, when there are no states, none is missing.
    """
    params = {name_of(param): param for group in param_groups for param in group['params']}
    like = next((named_states[name] for name in params if named_states.get(name)), None)
    if like is None:
        return dict(named_states)
    filled = {name: named_states.get(name) or _state(param, like) for name, param in params.items()}
    return filled | {name: named_states[name] for name in named_states.keys() - params.keys()}


def _state(param: torch.nn.Parameter, like: Mapping[str, object]) -> dict[str, object]:
    local = param.to_local() if hasattr(param, 'to_local') else param
    state = {}
    for kind, value in like.items():
        if not torch.is_tensor(value):
            state[kind] = value
        elif value.dim() == 0:
            # The ranks that hold something of the parameter store the same key.
            state[kind] = torch.zeros_like(value) if local.numel() else value.clone()
        else:
            state[kind] = torch.zeros_like(param, dtype=value.dtype)
    return state
