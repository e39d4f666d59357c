# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Whether a model's state dict and its optimizer's name experts alike."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import torch

from megatron.core.transformer.expert_names import LAYOUT_OF_MODEL, expert_indices


def refuse_other_expert_names(
    state_dict: Mapping, optimizer_state_dict: Mapping, model_chunks: Sequence[torch.nn.Module]
) -> None:
    """Refuses a state dict whose model names experts otherwise than its optimizer does.

    Args:
        state_dict: What there is of the state dict when the optimizer's part is made. The model's
            experts may have their local names, or have been renamed already.
        optimizer_state_dict: The optimizer's part.
        model_chunks: The optimizer's model chunks.

    Raises:
        ValueError: The model's names are neither the local ones nor the optimizer's.
    """
    found = disagreement(
        keys_within({key: part for key, part in state_dict.items() if key != 'optimizer'}),
        keys_within(optimizer_state_dict),
        [name for chunk in model_chunks for name, _ in chunk.named_parameters()],
    )
    if found is not None:
        raise ValueError(f"sharded_state_dict of the optimizer: {found}")


def disagreement(
    model_keys: Iterable[str], optimizer_keys: Iterable[str], local_keys: Iterable[str] = ()
) -> str | None:
    """How a model's keys and its optimizer's disagree about experts, as a sentence.

    Args:
        model_keys: Keys of the model's state dict on this rank.
        optimizer_keys: Keys of the optimizer's state dict on this rank.
        local_keys: Names of the model's parameters on this rank. A layer whose experts have still
            these names in the model's state dict is yet to be renamed.

    Returns:
        The sentence with what to pass, None where the optimizer names no expert of a layer of the
        model that the model does not.
    """
    in_model, local = expert_indices(model_keys), expert_indices(local_keys)
    for layer, indices in expert_indices(optimizer_keys).items():
        named = in_model.get(layer)
        if named is None or indices <= named or (layer in local and local[layer] <= named):
            continue
        return (
            f"the experts of {layer} on this rank are {_listed(indices)} for the optimizer and "
            f"{_listed(named)} in the model's state dict, so a checkpoint would mix them up; the "
            "optimizer's names are by the model's own expert-parallel layout, so name the model's "
            f"by handle_experts_in_state_dict with {LAYOUT_OF_MODEL}"
        )
    return None


def keys_within(state_dict: Mapping) -> Iterator[str]:
    """The keys of a state dict and of all dicts within it that are texts."""
    for key, value in state_dict.items():
        if isinstance(key, str):
            yield key
        if isinstance(value, Mapping):
            yield from keys_within(value)


def _listed(indices: Iterable[int]) -> str:
    return ', '.join(map(str, sorted(indices)))
