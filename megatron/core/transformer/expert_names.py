# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""The experts that the keys of a state dict name."""

import re
from collections.abc import Iterable

# What a caller passes that has stated no layout.
LAYOUT_OF_MODEL = (
    "the model's ep_rank and ep_size, which get_model_ep_rank_and_size(model) of "
    "megatron.core.transformer.fsdp_dtensor_checkpoint finds"
)

# SequentialMLP has the index in the middle, grouped GEMM at the end of a weight's name; SwiGLU's
# halves and the kind of Adam state follow. Wrappers stand in front.
_EXPERT = re.compile(
    r'^(?:module\.)*(?P<layer>(?:.*\.)?mlp\.experts)\.'
    r'(?:local_experts\.(?P<sequential>\d+)\.|linear_fc[12]\.weight(?P<grouped>\d+)(?:[._]|$))'
)


def expert_indices(keys: Iterable[str]) -> dict[str, set[int]]:
    """Indices of the experts in keys, by layer.

    Args:
        keys: Keys of a state dict or names of parameters, within any number of wrappers.

    Returns:
        The indices by the layer's name up to ``mlp.experts``, without wrappers; layers without
        experts are left out.
    """
    indices = {}
    for key in keys:
        found = _EXPERT.match(key)
        if found:
            index = int(found['sequential'] or found['grouped'])
            indices.setdefault(found['layer'], set()).add(index)
    return indices
