# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What code does that gets no process groups from its caller: says so, or refuses.

The groups of the global grid are the wrong ones for a model that brings its own, and reading them
raises nothing. A place that still falls back on them calls one of these functions first.

:class:`ProcessGroupFallbackWarning` is a category of its own::

    python -W error::megatron.core.process_group_fallback.ProcessGroupFallbackWarning ...

turns every fallback into an error, and ``-W ignore::...`` silences them.
"""

import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # process_groups_config imports this module
    from torch.distributed import ProcessGroup

    from megatron.core.process_groups_config import ProcessGroupCollection

_CORE = 'megatron.core'

# The places that have warned, by file, line and text, with the filters in force then: the list that
# was installed and what it held.
_shown: dict[tuple[str, int, str], tuple[list, tuple]] = {}


class ProcessGroupFallbackWarning(UserWarning):
    """Code read the global process groups because its caller gave it none."""


def resolve_process_groups(
    pg_collection: 'ProcessGroupCollection | None', required: Sequence[str], *, caller: str
) -> 'ProcessGroupCollection':
    """The caller's process groups, or else, with a warning, those of the global grid.

    Args:
        pg_collection: What the caller was given.
        required: The fields it reads. Each must be set, be it to None.
        caller: The function that was given the collection, for messages.

    Returns:
        ``pg_collection`` itself, or a collection of just the required fields of the global grid.

    Raises:
        ValueError: The collection lacks a required field.
    """
    if pg_collection is not None:
        return require_process_groups(pg_collection, required, caller=caller)
    warn_process_group_fallback(required, caller=caller)
    return _global_groups(required)


def require_process_groups(
    pg_collection: 'ProcessGroupCollection | None', required: Sequence[str], *, caller: str
) -> 'ProcessGroupCollection':
    """The caller's process groups; there is no fallback.

    Args:
        pg_collection: What the caller was given.
        required: The fields it reads. Each must be set, be it to None.
        caller: The function that was given the collection, for messages.

    Returns:
        ``pg_collection`` itself.

    Raises:
        ValueError: There is no collection, or it lacks a required field.
    """
    if pg_collection is None:
        raise ValueError(f"{caller} needs a pg_collection with {', '.join(required)}, got None")
    # Reading an unset field answers None, the same as a field set to None, hence vars().
    missing = [name for name in required if name not in vars(pg_collection)]
    if missing:
        raise ValueError(
            f"{caller} needs {', '.join(missing)}, which its pg_collection does not set; "
            "set a field to None to say that there is no such group"
        )
    return pg_collection


def warn_process_group_fallback(
    fields: Sequence[str],
    *,
    caller: str,
    instead: str = "the model's",
    only_if: Literal['parallel', 'exists'] | None = None,
) -> None:
    """Says that a function reads the global process groups for want of its own.

    The warning points at the first frame outside ``megatron/core`` and comes once for each such
    place and function, however often the function falls back there. Filters count as they do
    everywhere: ``error`` raises each time, ``always`` shows each.

    Args:
        fields: The collection's fields that the function reads instead.
        caller: The function.
        instead: What to pass.
        only_if: ``'parallel'`` says nothing where the global groups of the fields do not exist or
            have one rank: what is read of them is then right for any layout without that
            parallelism. ``'exists'`` says nothing where they do not exist, as in an offline tool.
    """
    if only_if is not None:
        sizes = [group.size() for group in map(_global_group, fields) if group is not None]
        if max(sizes, default=0) < (2 if only_if == 'parallel' else 1):
            return
    text = (
        f"{caller} was not given {', '.join(fields)} and reads the global process groups, "
        f"which are wrong for a model with its own; pass {instead}"
    )
    frame = _first_frame_outside()
    place = (frame.f_code.co_filename, frame.f_lineno, text)
    # Python itself forgets what it has shown whenever any code enters or leaves catch_warnings(),
    # so a loop over parameters could warn for each. What was shown counts until the filters differ:
    # inside catch_warnings() another list is installed, behind it the former one again.
    filters = (warnings.filters, tuple(warnings.filters))
    shown = _shown.get(place)
    if shown is not None and shown[0] is filters[0] and shown[1] == filters[1]:
        return
    registry = {}
    warnings.warn_explicit(
        text,
        ProcessGroupFallbackWarning,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get('__name__'),
        registry=registry,
    )
    # The registry says whether the filter in force wants the warning once or every time.
    if (text, ProcessGroupFallbackWarning, frame.f_lineno) in registry:
        _shown[place] = filters


def global_rank_and_size(field: str) -> tuple[int, int] | tuple[None, None]:
    """This rank and the size of a group of the global grid, to tell a model's own from it.

    Nothing is to be built or named by the answer; that would be a fallback.

    Args:
        field: The collection's field.

    Returns:
        Both, or ``(None, None)`` where there is no such group.
    """
    group = _global_group(field)
    return (None, None) if group is None else (group.rank(), group.size())


def _global_group(field: str) -> 'ProcessGroup | None':
    return getattr(_global_groups([field]), field)


def _global_groups(fields: Sequence[str]) -> 'ProcessGroupCollection':
    # It imports this module.
    from megatron.core.process_groups_config import ProcessGroupCollection  # noqa: PLC0415

    return ProcessGroupCollection.use_mpu_process_groups(list(fields))


def _first_frame_outside() -> FrameType:
    """The innermost frame that does not run code of megatron/core, else the outermost of all."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_core(frame.f_globals.get('__name__', '')):
        frame = frame.f_back
    return frame


def _is_core(module: str) -> bool:
    return module == _CORE or module.startswith(f'{_CORE}.')
