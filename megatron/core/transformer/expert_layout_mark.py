# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What a checkpoint says of the layout that its experts are named by.

A checkpoint's metadata has all keys and no values that are not tensors, so the statement stands in
a key::

    optimizer.expert_layout.num_experts_8.ep_rank_1_of_2.global_ep_rank_0_of_1

Each rank states its own layout, and that of the global grid there; equal keys of several ranks are
stored once. Where the two differ on any rank, the model has a layout of its own, and a Megatron-LM
that names experts by the global grid reads other experts for some of them. A checkpoint without
such a key was saved by one that may have named experts so.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from megatron.core.process_group_fallback import global_rank_and_size
from megatron.core.transformer.expert_layout import EPLayout, get_model_ep_rank_and_size
from megatron.core.utils import get_attr_wrapped_model

_FORM = 1
_KEY = re.compile(
    r'(?:^|\.)expert_layout\.num_experts_(?P<num_experts>\d+)'
    r'\.ep_rank_(?P<ep_rank>\d+)_of_(?P<ep_size>\d+)'
    r'\.(?:global_ep_rank_(?P<global_rank>\d+)_of_(?P<global_size>\d+)|no_global_grid)$'
)


@dataclass(frozen=True)
class ExpertLayoutMark:
    """What one key states.

    Attributes:
        num_experts: Number of experts over all EP ranks.
        layout: The layout that a rank's experts are named by.
        global_layout: That of the global grid on the rank; ``(None, None)`` where there is none.
    """

    num_experts: int
    layout: EPLayout
    global_layout: EPLayout

    @property
    def key(self) -> str:
        """The key, without what it stands below in the state dict."""
        grid = 'no_global_grid'
        if self.global_layout[0] is not None:
            grid = 'global_ep_rank_{}_of_{}'.format(*self.global_layout)
        place = 'ep_rank_{}_of_{}'.format(*self.layout)
        return f'expert_layout.num_experts_{self.num_experts}.{place}.{grid}'


def expert_layout_mark(model_chunks: Sequence[torch.nn.Module]) -> dict[str, int]:
    """The part of a state dict that states the layouts of a model's chunks on this rank.

    Args:
        model_chunks: The chunks, each within any number of wrappers.

    Returns:
        The keys, with the number of their form as value. Empty for a dense model.
    """
    global_layout = global_rank_and_size('ep')
    keys = {}
    for chunk in model_chunks:
        num_experts = getattr(get_attr_wrapped_model(chunk, 'config'), 'num_moe_experts', None)
        if not num_experts:
            continue
        layout = get_model_ep_rank_and_size(chunk)
        if layout[0] is None:
            layout = global_layout
        keys[ExpertLayoutMark(num_experts, layout, global_layout).key] = _FORM
    return keys


def find_expert_layout_marks(keys: Iterable[str]) -> list[ExpertLayoutMark]:
    """What the keys of a checkpoint state.

    Args:
        keys: The keys of its metadata's ``state_dict_metadata``.

    Returns:
        The statements, sorted; none where the checkpoint does not state its layout.
    """
    marks = []
    for found in filter(None, map(_KEY.search, keys)):
        global_layout = (None, None)
        if found['global_rank'] is not None:
            global_layout = (int(found['global_rank']), int(found['global_size']))
        layout = (int(found['ep_rank']), int(found['ep_size']))
        marks.append(ExpertLayoutMark(int(found['num_experts']), layout, global_layout))
    return sorted(marks, key=lambda mark: mark.key)
