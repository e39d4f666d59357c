"""What the names of one file are bound to, scope by scope.

A name that is bound several times in one scope (an import under ``try`` with a plain ``None`` in
the handler, say) keeps all its bindings: the code may mean any of them.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
ScopeNode = Definition | ast.Lambda | Comprehension | ast.Module


class Import(NamedTuple):
    """A name bound by an import.

    Attributes:
        target: Dotted name of the module or of the thing in it.
    """

    target: str


class Value(NamedTuple):
    """A name bound by a plain assignment of one value."""

    node: ast.expr


class Other(NamedTuple):
    """A name bound in any other way.

    Attributes:
        node: The definition that binds it, if one does.
    """

    node: Definition | None


Binding = Import | Value | Other


class Names:
    """The names that one scope binds.

    Args:
        node: The module, definition, lambda or comprehension whose scope this is.
        package: Dotted name of the package that relative imports start from.
        inner: Look into nested definitions too, for what they bind here through ``global`` and
            ``nonlocal``; it costs a walk over all of them.
    """

    def __init__(self, node: ScopeNode, package: str, *, inner: bool) -> None:
        self.bound: dict[str, list[Binding]] = {}
        self.stars: list[str] = []
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.parameters: set[str] = set()
        self.definitions: dict[str, list[Definition]] = {}
        self._package = package
        if isinstance(node, Function | ast.Lambda):
            self.parameters = {argument.arg for argument in parameters_of(node.args)}
            for name in self.parameters:
                self._bind(name, Other(None))
        if isinstance(node, Comprehension):
            for generator in node.generators:
                self._bind_targets(generator.target)
        elif isinstance(node, ast.Lambda):
            self._collect([node.body])
        else:
            self._collect(node.body)
        # What `global` and `nonlocal` hand to a scope further out.
        self.module_wide = self._hand_out(self.globals)
        self.outer = self._hand_out(self.nonlocals)
        if inner:
            self._take_in(node)

    def _hand_out(self, names: set[str]) -> dict[str, list[Binding]]:
        self.parameters -= names
        return {name: self.bound.pop(name) for name in sorted(names) if name in self.bound}

    def _take_in(self, node: ScopeNode) -> None:
        for definitions in self.definitions.values():
            for definition in definitions:
                names = Names(definition, self._package, inner=True)
                for name, bindings in names.module_wide.items():
                    wide = self.bound if isinstance(node, ast.Module) else self.module_wide
                    wide.setdefault(name, []).extend(bindings)
                for name, bindings in names.outer.items():
                    here = isinstance(node, Function) and name in self.bound
                    outer = self.bound if here else self.outer
                    outer.setdefault(name, []).extend(bindings)

    def _bind(self, name: str, binding: Binding) -> None:
        self.bound.setdefault(name, []).append(binding)

    def _bind_targets(self, target: ast.AST) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._bind(node.id, Other(None))

    def _collect(self, body: Iterable[ast.AST]) -> None:
        pending = list(body)[::-1]
        while pending:
            node = pending.pop()
            pending.extend(reversed(self._collect_one(node)))

    def _collect_one(self, node: ast.AST) -> list[ast.AST]:
        """Note what ``node`` binds and return the parts of it that belong to the same scope."""
        if isinstance(node, Definition):
            self._bind(node.name, Other(node))
            self.definitions.setdefault(node.name, []).append(node)
            return list(outside_of(node))
        if isinstance(node, ast.Lambda):
            return list(outside_of(node))
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".", maxsplit=1)[0]
                self._bind(alias.asname or top, Import(alias.name if alias.asname else top))
        elif isinstance(node, ast.ImportFrom):
            self._bind_from_import(node)
        elif isinstance(node, ast.Global):
            self.globals.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            self.nonlocals.update(node.names)
        elif isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._bind(target.id, Value(node.value))
            return [node.value]
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name):
            if node.value is None:
                return []
            self._bind(node.target.id, Value(node.value))
            return [node.value]
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                self._bind(node.id, Other(None))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            if node.name is not None:
                self._bind(node.name, Other(None))
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            self._bind(node.rest, Other(None))
        elif isinstance(node, ast.comprehension):
            # Its targets are the comprehension's own; only a walrus inside binds out here.
            return [node.iter, *node.ifs]
        return list(ast.iter_child_nodes(node))

    def _bind_from_import(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            base = self._package.split(".")
            base = base[: len(base) - (node.level - 1)]
            module = ".".join([*base, module] if module else base)
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(module)
            else:
                self._bind(alias.asname or alias.name, Import(f"{module}.{alias.name}"))


def parameters_of(arguments: ast.arguments) -> list[ast.arg]:
    """Return every parameter of a definition or lambda."""
    extra = [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def outside_of(node: Definition | ast.Lambda) -> Iterator[ast.expr]:
    """Yield the parts of a definition that run in the scope around it."""
    if isinstance(node, Definition):
        yield from node.decorator_list
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        yield from (keyword.value for keyword in node.keywords)
        return
    yield from node.args.defaults
    yield from (default for default in node.args.kw_defaults if default is not None)
    if isinstance(node, Function):
        annotations = [argument.annotation for argument in parameters_of(node.args)]
        yield from (item for item in [*annotations, node.returns] if item is not None)
