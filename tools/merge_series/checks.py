"""What one check of ``verify`` found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that ``verify`` looked at on a branch or on main.

    Attributes:
        branch: The branch.
        name: What was checked.
        found: What is wrong; empty if nothing is.
        note: Why it was not checked, where it does not apply; else empty.
    """

    branch: str
    name: str
    found: str
    note: str = ""
