"""What a dotted name in a file means, from the scope where it stands to its place of definition."""

import ast
import re
from collections.abc import Iterator

from process_groups.bindings import Binding, Function, Import, Other, Value
from process_groups.grid import MODULE, Grid
from process_groups.modules import Resolver, dotted, module_name
from process_groups.scope import Scope
from process_groups.texts import GETTERS, RUNNERS

SHIM = "use_mpu_process_groups"
_SHIM_FUNCTION = f"ProcessGroupCollection.{SHIM}"
SHIM_TARGET = f"megatron.core.process_groups_config.{_SHIM_FUNCTION}"

FALLBACK_PATH = "megatron/core/process_group_fallback.py"
RESOLVE = "resolve_process_groups"
RESOLVE_TARGET = f"{module_name(FALLBACK_PATH)}.{RESOLVE}"
_WARNING = f"{module_name(FALLBACK_PATH)}.warn_process_group_fallback"

_ABSOLUTE_NAME = re.compile(r"megatron(\.\w+)+")
# What it starts from is not in the text, so the last name decides.
_RELATIVE_NAME = re.compile(rf"\.+(\w+\.)*{MODULE.rpartition('.')[2]}")


class Meanings:
    """Follows the names of one file.

    Args:
        module: Dotted name of the file's module.
        grid: The names of ``parallel_state.py``.
        resolver: Finds what dotted names stand for in the tree.
    """

    def __init__(self, module: str, grid: Grid, resolver: Resolver) -> None:
        self._module = module
        self._grid = grid
        self._resolver = resolver
        # What gives a read away wherever it is asked for.
        self.names = grid.accessors | grid.state | {SHIM, MODULE.rpartition(".")[2]}

    def of(self, node: ast.expr, scope: Scope) -> frozenset[str]:
        """Return the places of definition that an expression may mean, if it is a dotted name."""
        chain = dotted(node)
        return frozenset() if chain is None else self._follow(chain, scope, frozenset())

    def read_by(self, node: ast.expr, scope: Scope) -> str | None:
        """Return what an expression reads (see ``Read.function``), or None if it is no read."""
        meanings = self.of(node, scope)
        for meaning in sorted(meanings):
            if meaning == MODULE:
                return MODULE.rpartition(".")[2]
            if meaning == SHIM_TARGET:
                return _SHIM_FUNCTION
            if meaning == RESOLVE_TARGET:
                return RESOLVE
            module, _, name = meaning.rpartition(".")
            if module == MODULE and name in self._grid.accessors | self._grid.state:
                return name
        if isinstance(node, ast.Attribute) and node.attr == SHIM:
            return None if self._is_other_shim(node, meanings, scope) else _SHIM_FUNCTION
        return None

    def may_hide(self, node: ast.Attribute, scope: Scope) -> bool:
        """Tell whether an attribute may be the grid's for all one can tell.

        What is imported is followed elsewhere. A parameter that is asked for a function was given
        the module where that is a read itself; given the package, it is asked for the module. An
        object that asks itself, and a class, have what the class has, which is looked at there.
        """
        asked = node.value
        if node.attr not in self.names or isinstance(node.ctx, ast.Store | ast.Del):
            return False
        for_module = node.attr == MODULE.rpartition(".")[2]
        if isinstance(asked, ast.Name):
            place = scope.find(asked.id)
            itself = place is not None and place.is_object(asked.id)
            return (for_module and self._is_held(node, scope)) or any(
                self._is_open(binding.node, place or scope, frozenset({asked.id}))
                if isinstance(binding, Value)
                else isinstance(binding, Other) and not binding.node and for_module and not itself
                for binding in scope.bindings(asked.id)
            )
        return self._is_open(asked, scope, frozenset()) or (
            for_module and self._is_held(node, scope)
        )

    def _is_held(self, node: ast.Attribute, scope: Scope) -> bool:
        """Tell whether an attribute is one of an imported object, which may hold the package."""
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        return (
            isinstance(root, ast.Name)
            and any(isinstance(binding, Import) for binding in scope.bindings(root.id))
            and any(
                name.startswith("megatron.")
                and not self._resolver.is_module(name.rpartition(".")[0])
                for name in self.of(node, scope)
            )
        )

    def _is_open(self, node: ast.expr, scope: Scope, active: frozenset[str]) -> bool:
        """Tell whether a value may be anything."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return not (isinstance(root, ast.Call) and dotted(root.func) == "super")
        place = scope.find(root.id)
        if place is None or root.id in active:
            return False
        return any(
            self._is_open(binding.node, place, active | {root.id})
            if isinstance(binding, Value)
            else isinstance(binding, Other) and root is not node
            for binding in scope.bindings(root.id)
        )

    def runs_texts(self, node: ast.expr, scope: Scope) -> bool:
        """Tell whether what is called runs the texts it is given, or looks up the names in them."""
        if isinstance(node, ast.Name) and scope.find(node.id) is None:
            return node.id in RUNNERS
        return bool(self.of(node, scope) & (GETTERS | {f"builtins.{name}" for name in RUNNERS}))

    def are_named_by(self, text: str) -> bool:
        """Tell whether a text is the dotted name of ``parallel_state`` or of something in it."""
        text = text.replace(":", ".")  # as `pkgutil.resolve_name` takes it
        if text.startswith("core."):
            text = f"megatron.{text}"
        if _RELATIVE_NAME.fullmatch(text):
            return True
        return _ABSOLUTE_NAME.fullmatch(text) is not None and any(
            f"{meaning}.".startswith(f"{MODULE}.") for meaning in self._resolver.resolve(text)
        )

    def is_grid_test(self, node: ast.expr, scope: Scope) -> bool:
        """Tell whether an expression can only mean a grid test."""
        meanings = self.of(node, scope)
        return bool(meanings) and meanings <= {f"{MODULE}.{name}" for name in self._grid.tests}

    def is_warning(self, node: ast.expr, scope: Scope) -> bool:
        """Tell whether an expression can only mean the function that warns of a fallback."""
        return self.of(node, scope) == {_WARNING}

    def _follow(self, chain: str, scope: Scope, active: frozenset[str]) -> frozenset[str]:
        root, _, rest = chain.partition(".")
        found: set[str] = set()
        for target in self._targets(root, scope, active):
            found |= self._resolver.resolve(f"{target}.{rest}" if rest else target)
        return frozenset(found)

    def _targets(self, name: str, scope: Scope, active: frozenset[str]) -> Iterator[str]:
        place = scope.find(name)
        if place is None or place.parent is None:
            # The module's own names, and what its star imports bring.
            yield f"{self._module}.{name}"
            return
        for binding in place.names.bound[name]:
            if isinstance(binding, Import):
                yield binding.target
            elif isinstance(binding, Value) and name not in active:
                chain = dotted(binding.node)
                if chain is not None:
                    yield from self._follow(chain, place, active | {name}) - self._resolver.ends

    def _is_other_shim(self, node: ast.Attribute, meanings: frozenset[str], scope: Scope) -> bool:
        """Tell whether a method of the shim's name is known to be another class's.

        Where the class cannot be told (a parameter, ``cls``, ``type(x)``), it may be the shim.
        """
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        bindings = scope.bindings(root.id)
        foreign = not any(meaning.startswith("megatron.") for meaning in meanings)
        return bool(bindings) and all(
            foreign if isinstance(binding, Import) else _defines_shim(binding)
            for binding in bindings
        )


def _defines_shim(binding: Binding) -> bool:
    return (
        isinstance(binding, Other)
        and isinstance(binding.node, ast.ClassDef)
        and any(isinstance(item, Function) and item.name == SHIM for item in binding.node.body)
    )
