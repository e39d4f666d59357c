"""Modules that are imported when they are first used: of what a run may need it needs little."""

from importlib import import_module
from typing import Any


class Lazy:
    """Stands for a module.

    Args:
        name: Its full name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:  # noqa: ANN401 - whatever the module has
        """What the module has under a name."""
        return getattr(import_module(self._name), attribute)
