"""Which names a Python text loads that nothing in it binds."""

import ast
import builtins
import re
import symtable
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from merge_series.import_statements import (
    Scope,
    blocks,
    encoding_of,
    imports_of,
    namespace,
    parse_tree,
)

_ALWAYS = frozenset(dir(builtins)) | {
    "__annotations__", "__builtins__", "__cached__", "__doc__", "__file__", "__loader__",
    "__name__", "__package__", "__path__", "__spec__", "__class__",
}  # fmt: skip


ASSIGNED = ("", "")  # the source of a name that is not imported


class Meaning(NamedTuple):
    """What a name is bound to at one place.

    Attributes:
        scope: The blocks around an import; of anything else the definition alone.
        source: What is imported; ``ASSIGNED`` of anything else.
    """

    scope: Scope
    source: tuple[str, str]


@lru_cache(maxsize=32)
def unbound(text: bytes) -> frozenset[str]:
    """The names that a text loads from the module and that are bound nowhere in it.

    Names in annotations count, also in those that are strings, and so do names in ``__all__``.

    Raises:
        NotSettled: The text does not compile.
    """
    tree = parse_tree(text)
    with warnings.catch_warnings(action="ignore"):
        tables = list(_tables(symtable.symtable(text.decode(encoding_of(text)), "file", "exec")))
    bound = {s.get_name() for s in tables[0].get_symbols() if s.is_assigned() or s.is_imported()}
    loaded = {s.get_name() for s in tables[0].get_symbols() if s.is_referenced()}
    for table in tables[1:]:
        for symbol in table.get_symbols():
            if symbol.is_global() and symbol.is_assigned():
                bound.add(symbol.get_name())
            if symbol.is_global() and symbol.is_referenced():
                loaded.add(symbol.get_name())
    return frozenset((loaded | set(_told(tree))) - bound - _ALWAYS)


@lru_cache(maxsize=32)
def loads(tree: ast.Module) -> Counter[tuple[str, Scope, bool]]:
    """How often each name is loaded, by the definition it is in and whether by an annotation."""
    return Counter(_loads(tree, (), is_told=False))


@lru_cache(maxsize=32)
def chains(tree: ast.Module) -> set[str]:
    """Dotted names that are loaded, each with all that it starts with: ``a``, ``a.b``."""
    return {ast.unparse(node) for node in ast.walk(tree) if _is_chain(node)}


@lru_cache(maxsize=32)
def mentioned(text: bytes) -> frozenset[str]:
    """Names that other programs look up: type checkers in strings and comments, pytest.

    They stand in strings that are an expression, such as ``cast("A", x)``, in type comments, and as
    the parameters of tests and fixtures.
    """
    found: set[str] = set()
    for node in ast.walk(parse_tree(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(_in_annotation(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
            node.name.startswith("test")
            or any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)
        ):
            found.update(part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg))
    for comment in re.findall(rb"#[ \t]*type:[ \t]*(.*)", text):
        found.update(re.findall(r"[^\W\d]\w*", comment.decode("utf-8", "replace")))
    return frozenset(found)


@lru_cache(maxsize=32)
def uses(text: bytes) -> frozenset[str]:
    """The names that a text loads, lists in ``__all__`` or mentions."""
    tree = parse_tree(text)
    return frozenset({name for name, _, _ in loads(tree)} | set(_told(tree))) | mentioned(text)


@lru_cache(maxsize=32)
def used_before(tree: ast.Module) -> set[str]:
    """Names that the module itself loads above its first import of them."""
    first: dict[str, tuple[int, int]] = {}
    used: dict[str, tuple[int, int]] = {}
    for node in _at_once(tree):
        where = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                first[name] = min(where, first.get(name, where))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used[node.id] = min(where, used.get(node.id, where))
    return {name for name, where in first.items() if used.get(name, where) < where}


@lru_cache(maxsize=32)
def meanings(tree: ast.Module) -> dict[tuple[Scope, str], tuple[Meaning, ...]]:
    """What each name is bound to, one after the other, by the definition it is bound in.

    What is the same as the one before, in the same block, is left out.
    """
    imported = [
        (statement.lineno, (namespace(name.scope), name.bound), Meaning(name.scope, name.source))
        for statement, names in imports_of(tree)
        for name in names
    ]
    others = [(n, place, Meaning(place[0], ASSIGNED)) for n, place in _assigned(tree.body, ())]
    found: dict[tuple[Scope, str], list[Meaning]] = {}
    for _, place, meaning in sorted([*imported, *others], key=itemgetter(0)):
        found.setdefault(place, []).append(meaning)
    return {place: tuple(one for one, _ in groupby(all_)) for place, all_ in found.items()}


def _assigned(body: list[ast.stmt], inside: Scope) -> Iterator[tuple[int, tuple[Scope, str]]]:
    for statement in body:
        is_definition = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if is_definition:
            yield statement.lineno, (inside, getattr(statement, "name", ""))
        for node in ast.iter_child_nodes(statement):
            if not isinstance(node, ast.stmt):
                for part in ast.walk(node):
                    for name in _bound_by(part):
                        yield getattr(part, "lineno", statement.lineno), (inside, name)
        if isinstance(statement, ast.Global):
            # Said where the name is bound anew, if only by an import.
            for name in statement.names:
                yield statement.lineno, ((), name)
        for block, inner in blocks(statement):
            yield from _assigned(inner, (*inside, block) if is_definition else inside)


def _bound_by(part: ast.AST) -> Iterator[str]:
    """The names that a node binds or, at the end of a handler or by ``del``, unbinds."""
    match part:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case (
            ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            yield name
        case _:
            pass


def _loads(node: ast.AST, scope: Scope, *, is_told: bool) -> Iterator[tuple[str, Scope, bool]]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id, scope, is_told
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = (*scope, node.name)
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                told = is_told or field in {"annotation", "returns"}
                yield from _loads(child, scope, is_told=told)


def _is_chain(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _at_once(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when the module is loaded: no bodies of functions, and no annotations."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns"}:
            continue
        is_later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if is_later and field == "body":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from _at_once(child)


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _told(tree: ast.Module) -> Iterator[str]:
    """Names in annotations, which are not always run, and in ``__all__``."""
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.expr):
                yield from _in_annotation(annotation)
        if isinstance(node, ast.Assign | ast.AugAssign) and "__all__" in {
            target.id
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }:
            for part in ast.walk(node.value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def _in_annotation(annotation: ast.expr) -> Iterator[str]:
    for part in ast.walk(annotation):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            try:
                with warnings.catch_warnings(action="ignore"):
                    inner = ast.parse(part.value.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                continue  # a text such as Literal["a b"]
            if not isinstance(inner, ast.Constant):
                yield from _in_annotation(inner)
        elif isinstance(part, ast.Name):
            yield part.id
