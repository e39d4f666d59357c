"""Which names a Python text loads that nothing in it binds."""

import ast
import builtins
import symtable
from collections import Counter
from collections.abc import Iterator

from merge_series.import_statements import Scope, blocks, encoding_of, parse_tree

_ALWAYS = frozenset(dir(builtins)) | {
    "__annotations__", "__builtins__", "__cached__", "__doc__", "__file__", "__loader__",
    "__name__", "__package__", "__path__", "__spec__", "__class__",
}  # fmt: skip


def unbound(text: bytes) -> frozenset[str]:
    """The names that a text loads from the module and that are bound nowhere in it.

    Names in annotations count, also in those that are strings, and so do names in ``__all__``.

    Raises:
        NotSettled: The text does not compile.
    """
    tree = parse_tree(text)
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


def loads(tree: ast.Module) -> Counter[str]:
    """How often each name is loaded."""
    return Counter(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )


def assigned(tree: ast.Module) -> set[tuple[Scope, str]]:
    """Names bound by other statements than imports, each with the definition it is bound in."""
    return set(_assigned(tree.body, ()))


def _assigned(body: list[ast.stmt], inside: Scope) -> Iterator[tuple[Scope, str]]:
    for statement in body:
        is_definition = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if is_definition:
            yield inside, getattr(statement, "name", "")
        for node in [statement, *ast.iter_child_nodes(statement)]:
            if not isinstance(node, ast.stmt):
                for part in ast.walk(node):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        yield inside, part.id
        for block, inner in blocks(statement):
            yield from _assigned(inner, (*inside, block) if is_definition else inside)


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
                inner = ast.parse(part.value.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                continue  # a text such as Literal["a b"]
            if not isinstance(inner, ast.Constant):
                yield from _in_annotation(inner)
        elif isinstance(part, ast.Name):
            yield part.id
