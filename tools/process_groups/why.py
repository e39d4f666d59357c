"""Says how a name of ``parallel_state.py`` came to be an accessor, or why it is none."""

import difflib

from process_groups.errors import ProcessGroupsError
from process_groups.grid import PATH, Derivation


def why(name: str, derivation: Derivation) -> list[str]:
    """Return the reasons for what a name is: a heading, then one line a step.

    The steps lead from the name to the call with which torch makes the group.

    Raises:
        ProcessGroupsError: ``parallel_state.py`` has no function or group variable of this name.
    """
    steps = derivation.makers | derivation.state | derivation.accessors
    if name in derivation.accessors:
        heading = f"{name} is an accessor:"
    elif name in derivation.state:
        heading = f"{name} is a variable of the grid:"
    elif name in derivation.makers:
        heading = f"{name} is no accessor, it makes process groups:"
    elif name in derivation.grid.tests:
        return [f"{name} is no accessor: it only tells whether the grid exists"]
    elif name in derivation.rest:
        return [f"{name} is no accessor: nothing it returns comes from a group of the grid"]
    else:
        near = difflib.get_close_matches(name, [*steps, *derivation.rest])
        hint = f"; near are {', '.join(near)}" if near else ""
        raise ProcessGroupsError(f"{PATH}: has no function or group variable {name!r}{hint}")
    lines = [heading]
    at: str | None = name
    while at is not None and at in steps:
        cause = steps[at]
        lines.append(f"  {PATH}:{cause.line}: {at} {cause.text}")
        at = cause.source
    return lines
