"""How old a tree is: the version that it states, and whether the series was ever meant for it."""

import ast

from packaging.version import InvalidVersion, Version

from carry.bases import Base
from carry.releases import RELEASES

# The series was never meant for what came before the oldest release that is recorded.
OLDEST = min(RELEASES, key=Version)

_STATED_IN = "megatron/core/package_info.py"
_PARTS = ("MAJOR", "MINOR", "PATCH")
_PRE_RELEASE = "PRE_RELEASE"


def version_of(base: Base) -> Version | None:
    """The version of megatron-core that a tree states; None where it states none."""
    source = base.read(_STATED_IN)
    try:
        tree = ast.parse(source or b"")
        stated = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        numbers = ".".join(str(stated[part]) for part in _PARTS)
        return Version(numbers + str(stated.get(_PRE_RELEASE, "")))
    except (SyntaxError, ValueError, KeyError, InvalidVersion):
        return None


def too_old(base: Base) -> str | None:
    """Why no edit can be expected to land on a tree, in a line; None where they should."""
    version = version_of(base)
    if version is None or version >= Version(OLDEST):
        return None
    stated = "" if base.name.endswith(f" {version}") else f" (megatron-core {version})"
    return (
        f"{base.name}{stated}: predates the code that the series changes; {OLDEST} is the oldest "
        "release that it is for"
    )
