"""Finds definitions and statements in a syntax tree."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Site:
    """One statement and where it stands.

    Attributes:
        statement: The statement.
        block: The list of statements it belongs to.
        index: Its position in that list.
        parent: The node that holds the list.
        outer: The site of the statement around it; None for the outermost of a scope.
    """

    statement: ast.stmt
    block: list[ast.stmt]
    index: int
    parent: ast.AST
    outer: "Site | None" = None

    @property
    def is_elif(self) -> bool:
        """Whether the statement may be written as ``elif``, the one statement of an ``else``."""
        return (
            isinstance(self.statement, ast.If)
            and isinstance(self.parent, ast.If)
            and self.block is self.parent.orelse
        )


def definitions(tree: ast.Module) -> dict[str, list[Definition]]:
    """Every def and class of a file.

    Args:
        tree: The file's tree.

    Returns:
        Definitions by qualified name, ``Class.method`` or ``outer.inner``, in the file's order.
    """
    found: dict[str, list[Definition]] = {}
    _define(tree, "", found)
    return found


def _define(node: ast.AST, prefix: str, found: dict[str, list[Definition]]) -> None:
    for _, block in blocks(node):
        for statement in block:
            if isinstance(statement, Definition):
                name = f"{prefix}{statement.name}"
                found.setdefault(name, []).append(statement)
                _define(statement, f"{name}.", found)
            else:
                _define(statement, prefix, found)


def blocks(node: ast.AST) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """The lists of statements directly inside a node, each with the node that holds it."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        value = getattr(node, name, None)
        if not isinstance(value, list):
            continue
        if name in ("handlers", "cases"):
            for part in value:
                yield part, part.body
        elif value:
            yield node, value


def sites(node: ast.AST, *, inside_definitions: bool, outer: Site | None = None) -> Iterator[Site]:
    """The statements inside a node, in the order of the file.

    Args:
        node: A definition or a module.
        inside_definitions: Whether to go into definitions as well; without, they count as
            statements and what they hold does not.
        outer: The node's own site, where it has one.

    Yields:
        One site a statement.
    """
    for parent, block in blocks(node):
        for index, statement in enumerate(block):
            site = Site(statement, block, index, parent, outer)
            yield site
            if inside_definitions or not isinstance(statement, Definition):
                yield from sites(statement, inside_definitions=inside_definitions, outer=site)


def dotted(node: ast.expr) -> str:
    """Dotted name of an expression; what is no name in it is ``()``.

    Args:
        node: Any expression.

    Returns:
        ``a.b.c``; ``().c`` for an attribute of something that is no name.
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "()")
    return ".".join(reversed(parts))


def is_named(node: ast.expr, name: str) -> bool:
    """Whether a callee has a dotted name, or that name as its last part."""
    full = dotted(node)
    return full == name or full.rpartition(".")[2] == name


def assigned(statement: ast.stmt) -> list[str]:
    """Dotted names of what a statement assigns; subscripts are left out."""
    named = (ast.Name, ast.Attribute)
    return [dotted(target) for target in targets_of(statement) if isinstance(target, named)]


def targets_of(statement: ast.stmt) -> list[ast.expr]:
    """What a statement assigns: names, attributes and subscripts, in order."""
    match statement:
        case ast.Assign(targets=targets):
            pass
        case ast.AnnAssign(value=None):
            return []  # an annotation alone assigns nothing
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            targets = [target]
        case _:
            return []
    return [inner for target in targets for inner in _targets(target)]


def _targets(target: ast.expr) -> Iterator[ast.expr]:
    match target:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _targets(element)
        case ast.Starred(value=value):
            yield from _targets(value)
        case _:
            yield target


def bindings_of(statement: ast.stmt) -> set[str]:
    """The names that a statement binds or unbinds, statements inside it aside."""
    if isinstance(statement, Definition):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    parts = [node for node in ast.iter_child_nodes(statement) if not isinstance(node, ast.stmt)]
    found: set[str] = set()
    own: set[int] = set()
    while parts:
        node = parts.pop()
        match node:
            case ast.comprehension(target=target):
                own.update(map(id, ast.walk(target)))
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if id(node) not in own:
                found.add(name)
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                found.add(name)
            case _:
                pass
        parts += [inner for inner in ast.iter_child_nodes(node) if not isinstance(inner, ast.stmt)]
    return found


def same(one: object, other: object) -> bool:
    """Whether two trees say the same, layout and the indentation of docstrings aside."""
    if isinstance(one, list):
        return (
            isinstance(other, list)
            and len(one) == len(other)
            and all(same(a, b) for a, b in zip(one, other, strict=True))
        )
    if not isinstance(one, ast.AST):
        return type(one) is type(other) and one == other
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
        mine, theirs = one.value.value, getattr(getattr(other, "value", None), "value", None)
        if isinstance(mine, str) and isinstance(theirs, str):
            return _words(mine) == _words(theirs)
    return all(same(getattr(one, name, None), getattr(other, name, None)) for name in one._fields)


def _words(text: str) -> list[str]:
    return text.split()


def docstring_of(node: Definition) -> ast.Constant | None:
    """The docstring's node, if the definition has one."""
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first.value if isinstance(first.value.value, str) else None
    return None
