# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What is said where code falls back on the global process groups."""

import inspect
import warnings
from collections.abc import Callable

from megatron.core import process_groups_config


def heard(body: Callable[[], object]) -> list[tuple[str, str, int]]:
    """Text, file and line of the fallback warnings that come, each place once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('ignore')
        warnings.simplefilter('default', process_groups_config.ProcessGroupFallbackWarning)
        body()
    return [(str(warning.message), warning.filename, warning.lineno) for warning in caught]


def text(caller: str, fields: str) -> str:
    """What the warning says."""
    return (
        f'{caller} was not given {fields} and reads the global process groups, '
        "which are wrong for a model with its own; pass the model's"
    )


def place_of(function: Callable, call: str) -> tuple[str, int]:
    """File and line of a call in a function, found by its text."""
    lines, first = inspect.getsourcelines(function)
    (number,) = [number for number, line in enumerate(lines) if call in line]
    return inspect.getsourcefile(function), first + number
