"""What the names of one file are bound to, scope by scope.

A name that is bound several times in one scope (an import under ``try`` with a plain ``None`` in
the handler, say) keeps all its bindings: the code may mean any of them.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, NamedTuple

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


class Uses(NamedTuple):
    """What a file uses that makes its names costlier to collect.

    Attributes:
        outward: ``global`` or ``nonlocal``; then nested definitions may bind names further out.
        walrus: ``:=``; then any expression may bind a name.
    """

    outward: bool
    walrus: bool


class Names:
    """The names that one scope binds.

    Args:
        node: The module, definition, lambda or comprehension whose scope this is.
        package: Dotted name of the package that relative imports start from.
        uses: What the file uses.
    """

    def __init__(self, node: ScopeNode, package: str, uses: Uses) -> None:
        self.bound: dict[str, list[Binding]] = {}
        self.stars: list[str] = []
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.parameters: set[str] = set()
        self.definitions: dict[str, list[Definition]] = {}
        self._package = package
        self._uses = uses
        if isinstance(node, Function | ast.Lambda):
            self.parameters = {argument.arg for argument in parameters_of(node.args)}
            for name in self.parameters:
                self._bind(name, Other(None))
        if isinstance(node, Comprehension):
            self._collect(generator.target for generator in node.generators)
        elif isinstance(node, ast.Lambda):
            self._collect([node.body])
        else:
            self._collect(node.body)
        # What `global` and `nonlocal` hand to a scope further out.
        self.module_wide = self._hand_out(self.globals)
        self.outer = self._hand_out(self.nonlocals)
        if uses.outward:
            self._take_in(node)

    def _hand_out(self, names: set[str]) -> dict[str, list[Binding]]:
        self.parameters -= names
        return {name: self.bound.pop(name) for name in sorted(names) if name in self.bound}

    def _take_in(self, node: ScopeNode) -> None:
        for definitions in self.definitions.values():
            for definition in definitions:
                names = Names(definition, self._package, self._uses)
                for name, bindings in names.module_wide.items():
                    wide = self.bound if isinstance(node, ast.Module) else self.module_wide
                    wide.setdefault(name, []).extend(bindings)
                for name, bindings in names.outer.items():
                    here = isinstance(node, Function) and name in self.bound
                    outer = self.bound if here else self.outer
                    outer.setdefault(name, []).extend(bindings)

    def _bind(self, name: str, binding: Binding) -> None:
        self.bound.setdefault(name, []).append(binding)

    def _collect(self, body: Iterable[ast.AST]) -> None:
        pending = list(body)[::-1]
        while pending:
            node = pending.pop()
            note = self._NOTES.get(type(node))
            if note is not None:
                note(self, node)
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and _plain_targets(
                node
            ):
                # Its targets are noted with their value.
                if self._uses.walrus and node.value is not None:
                    pending.append(node.value)
                continue
            pending.extend(reversed(_same_scope(node, walrus=self._uses.walrus)))

    def _definition(self, node: Definition) -> None:
        self._bind(node.name, Other(node))
        self.definitions.setdefault(node.name, []).append(node)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.split(".", maxsplit=1)[0]
            self._bind(alias.asname or top, Import(alias.name if alias.asname else top))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            parts = self._package.split(".")
            module = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [module])])
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(module)
            else:
                self._bind(alias.asname or alias.name, Import(f"{module}.{alias.name}"))

    def _assignment(self, node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> None:
        for target in _plain_targets(node):
            if node.value is not None:
                self._bind(target, Value(node.value))

    def _stored(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id, Other(None))

    def _captured(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        if node.name is not None:
            self._bind(node.name, Other(None))

    def _rest(self, node: ast.MatchMapping) -> None:
        if node.rest is not None:
            self._bind(node.rest, Other(None))

    def _global(self, node: ast.Global) -> None:
        self.globals.update(node.names)

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        self.nonlocals.update(node.names)

    # How each node that binds a name is noted.
    _NOTES: ClassVar[dict[type, Callable[..., None]]] = {
        ast.FunctionDef: _definition,
        ast.AsyncFunctionDef: _definition,
        ast.ClassDef: _definition,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.Assign: _assignment,
        ast.AnnAssign: _assignment,
        ast.NamedExpr: _assignment,
        ast.Name: _stored,
        ast.ExceptHandler: _captured,
        ast.MatchAs: _captured,
        ast.MatchStar: _captured,
        ast.MatchMapping: _rest,
        ast.Global: _global,
        ast.Nonlocal: _nonlocal,
    }


def _same_scope(node: ast.AST, *, walrus: bool) -> list[ast.AST]:
    """Return the parts of ``node`` that may bind further names in the scope it stands in."""
    if not walrus:
        # Of all expressions, only targets bind.
        if isinstance(node, Definition):
            return []
        return [
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.expr)
            or isinstance(getattr(child, "ctx", None), ast.Store | ast.Del)
        ]
    if isinstance(node, Definition | ast.Lambda):
        return list(outside_of(node))
    if isinstance(node, ast.comprehension):
        # Its targets are the comprehension's own; only a walrus inside binds out here.
        return [node.iter, *node.ifs]
    return list(ast.iter_child_nodes(node))


def _plain_targets(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> list[str]:
    """Return the names that get the whole value, if nothing else gets a part of it."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return names if len(names) == len(targets) else []


def statements_of(body: Iterable[ast.stmt], *, into_definitions: bool) -> Iterator[ast.stmt]:
    """Yield every statement of ``body`` and of the blocks in it."""
    for statement in body:
        yield statement
        if isinstance(statement, Definition) and not into_definitions:
            continue
        for part in (
            statement,
            *getattr(statement, "handlers", ()),
            *getattr(statement, "cases", ()),
        ):
            for block in ("body", "orelse", "finalbody"):
                yield from statements_of(
                    getattr(part, block, ()), into_definitions=into_definitions
                )


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
