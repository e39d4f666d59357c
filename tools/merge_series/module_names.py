"""Which names a Python text binds for those who import from its module."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from merge_series.import_statements import NotSettled, Scope, blocks, imports_of, parse_tree
from merge_series.text_merge import one_sided

# Where a text has one of these, what its module binds cannot be read off it.
_DYNAMIC = re.compile(
    rb"(?<![.\w])(?:globals|exec|eval)\s*\(|\bsys\.modules\b|^(?:vars|locals)\(\)", re.MULTILINE
)
_FOR_CHECKERS = re.compile(r"if (?:\w+\.)*TYPE_CHECKING|else of not (?:\w+\.)*TYPE_CHECKING")
_WORD = re.compile(rb"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Bound:
    """What a text binds at its top level.

    Attributes:
        names: The names, in whatever block of it.
        for_checkers: Those that only type checkers find.
        stars: The modules of which it imports all, with the dots of a relative import.
        exported: The names that ``__all__`` lists; None without one.
        is_whole: Whether it lists no others.
        is_open: Whether it may bind names that cannot be read off it: any of its words.
        words: The words it holds, where that or a star import makes them matter.
    """

    names: frozenset[str] = frozenset()
    for_checkers: frozenset[str] = frozenset()
    stars: frozenset[str] = frozenset()
    exported: frozenset[str] | None = None
    is_whole: bool = True
    is_open: bool = False
    words: frozenset[str] = frozenset()


@lru_cache(maxsize=256)
def bound_in(text: bytes, *, is_stub: bool) -> Bound:
    """What a text binds at its top level.

    Args:
        text: The text; of one that does not compile nothing but its words is known.
        is_stub: Whether it declares what a compiled module binds, so that an annotation does.
    """
    try:
        tree = parse_tree(text)
    except NotSettled:
        return Bound(is_open=True, words=_words(text))
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for name, is_bound, for_checkers in _events(tree.body, (), is_stub=is_stub):
        (found[for_checkers].add if is_bound else found[for_checkers].discard)(name)
    imported = [name for _, names in imports_of(tree) for name in names]
    stars = frozenset(name.module for name in imported if name.name == "*")
    exported, is_whole = _exported(tree) if b"__all__" in text else (None, True)
    is_open = "__getattr__" in found[False] or _DYNAMIC.search(text) is not None
    return Bound(
        frozenset(found[False]),
        frozenset(found[True] - found[False]),
        stars,
        exported,
        is_whole,
        is_open,
        _words(text) if is_open or stars else frozenset(),
    )


def merged(base: Bound, ours: Bound, theirs: Bound) -> Bound:
    """What is bound where both sides changed a text: what one side dropped is gone."""

    def names(*sets: frozenset[str]) -> frozenset[str]:
        every = frozenset[str]().union(*sets)
        return frozenset(name for name in every if one_sided(*(name in one for one in sets)))

    stages = (base, ours, theirs)
    listed = [stage.exported for stage in stages if stage.exported is not None]
    return Bound(
        names(*(stage.names for stage in stages)),
        names(*(stage.for_checkers for stage in stages)),
        frozenset[str]().union(*(stage.stars for stage in stages)),
        names(*listed) if len(listed) == len(stages) else None,
        len(listed) in (0, len(stages)) and all(stage.is_whole for stage in stages),
        any(stage.is_open for stage in stages),
        names(*(stage.words for stage in stages)),
    )


def takes(bound: Bound, name: str) -> bool | None:
    """Whether a star import takes a name, if the module has it; None where that cannot be told."""
    if bound.exported is None and bound.is_whole:
        return not name.startswith("_")
    if name in (bound.exported or ()):
        return True
    return False if bound.is_whole else None


def is_for_checkers(scope: Scope) -> bool:
    """Whether only type checkers see what stands in a block."""
    return any(_FOR_CHECKERS.fullmatch(block) for block in scope)


def _events(
    body: list[ast.stmt], scope: Scope, *, is_stub: bool
) -> Iterator[tuple[str, bool, bool]]:
    """Each binding of a name of the module in its order, or unbinding, and if it is for checkers.

    A name that a function binds, as it says by ``global``, is bound.
    """
    is_inside = any(block.startswith(("def ", "class ")) for block in scope)
    for statement in body:
        if isinstance(statement, ast.Global):
            found = [(name, True) for name in statement.names]
        else:
            found = [] if is_inside else list(_bindings(statement, is_stub=is_stub))
        for name, is_bound in found:
            yield name, is_bound, is_for_checkers(scope)
        for block, inner in blocks(statement):
            yield from _events(inner, (*scope, block), is_stub=is_stub)


def _bindings(statement: ast.stmt, *, is_stub: bool) -> Iterator[tuple[str, bool]]:
    """The names that a statement binds (True) or unbinds, without the blocks inside it."""
    match statement:
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                if alias.name != "*":
                    yield alias.asname or alias.name.partition(".")[0], True
        case ast.AnnAssign(value=None) if not is_stub:
            pass  # it says what the name may hold, and binds none
        case _:
            parts = [part for part in ast.iter_child_nodes(statement) if not _is_block(part)]
            parts += [case.pattern for case in getattr(statement, "cases", [])]
            for part in parts:
                yield from _bindings_in(part)
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name, True


def _bindings_in(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """The names that an expression, a target or a pattern binds in the module."""
    match node:
        case ast.Lambda():
            return
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name, isinstance(node.ctx, ast.Store)
        case (
            ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            yield name, True
        case _:
            pass
    for part in ast.iter_child_nodes(node):
        if isinstance(node, ast.comprehension) and part is node.target:
            continue  # the target is the comprehension's own
        yield from _bindings_in(part)


def _is_block(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)


def _exported(tree: ast.Module) -> tuple[frozenset[str] | None, bool]:
    """The names that ``__all__`` lists, None without one, and whether they can be read off it."""
    found: set[str] | None = None
    is_whole = True
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
                | ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            ):
                parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [None]
                words = [part.value if isinstance(part, ast.Constant) else None for part in parts]
                found = (found or set()) | {word for word in words if isinstance(word, str)}
                is_whole = is_whole and all(isinstance(word, str) for word in words)
            case ast.Attribute(value=ast.Name(id="__all__")):
                is_whole = False
            case _:
                pass
    return (None if found is None else frozenset(found)), is_whole


def _words(text: bytes) -> frozenset[str]:
    return frozenset(word.decode("utf-8", "replace") for word in _WORD.findall(text))
