"""The scopes of one file, each with the scopes around it."""

import ast
from typing import Optional

from process_groups.bindings import Binding, Definition, Function, Names, ScopeNode, Uses


class Scope:
    """A module, definition, lambda or comprehension, in its place.

    Args:
        node: What makes the scope.
        parent: The scope around it; None for the module.
        key: Dotted names of the enclosing definitions, its own included.
        package: Dotted name of the package that relative imports start from.
        uses: What the file uses that its names depend on.
        names: What the scope binds, where that is known already.
    """

    def __init__(  # noqa: PLR0913 - made for the module, and by `inside`; nowhere else
        self,
        node: ScopeNode,
        *,
        parent: Optional["Scope"],
        key: str,
        package: str,
        uses: Uses,
        names: Names | None = None,
    ) -> None:
        self.node = node
        self.parent = parent
        self.key = key
        self._package = package
        self._uses = uses
        self._names = names

    @property
    def names(self) -> Names:
        """What the scope binds, collected on first use: most scopes are never asked."""
        if self._names is None:
            self._names = Names(self.node, self._package, self._uses)
        return self._names

    def inside(self, node: ScopeNode) -> "Scope":
        """Return the scope that ``node`` opens in this one."""
        key = self.key
        if isinstance(node, Definition):
            # Definitions of one name are told apart by their order among each other, so that
            # nothing else in the file moves them.
            twins = self.names.definitions[node.name]
            number = next(i for i, twin in enumerate(twins, start=1) if twin is node)
            name = node.name if number == 1 else f"{node.name}#{number}"
            key = f"{key}.{name}" if key else name
        return Scope(node, parent=self, key=key, package=self._package, uses=self._uses)

    def find(self, name: str) -> Optional["Scope"]:
        """Return the scope whose ``name`` is meant here; None for a builtin or a star import."""
        scope: Scope | None = self
        while scope is not None:
            # The names of a class are seen in its own body only.
            if scope is self or not isinstance(scope.node, ast.ClassDef):
                if name in scope.names.globals:
                    return scope.module()
                if name in scope.names.bound:
                    return scope
            scope = scope.parent
        return None

    def bindings(self, name: str) -> list[Binding]:
        """Return what ``name`` is bound to where it is found, or nothing."""
        place = self.find(name)
        return place.names.bound.get(name, []) if place is not None else []

    def is_object(self, name: str) -> bool:
        """Tell whether ``name`` is the first parameter of a method: the object, or its class."""
        if not isinstance(self.node, Function) or self.parent is None:
            return False
        first = [*self.node.args.posonlyargs, *self.node.args.args][:1]
        return isinstance(self.parent.node, ast.ClassDef) and name in {arg.arg for arg in first}

    def module(self) -> "Scope":
        """Return the file's outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope
