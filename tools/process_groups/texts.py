"""What a text in a file may read: it is looked up as a name, or run."""

import ast
import re
from collections.abc import Iterator
from textwrap import dedent

Words = frozenset[str]

# They run a text, or look up the names in it on an object that cannot be told.
RUNNERS = frozenset({"eval", "exec", "compile"})
GETTERS = frozenset({"operator.attrgetter", "operator.methodcaller"})

_WORD = re.compile(r"\w+")
# What a sentence or a path may look like.
_CLAIMS = (
    ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.Name, ast.Attribute,
)  # fmt: skip
_NAME = re.compile(r"\w+([.:]\w+)*")


def mentions(node: ast.AST, words: Words) -> bool:
    """Tell whether a text inside ``node`` holds one of ``words``, in whatever it says."""
    return any(not words.isdisjoint(_WORD.findall(text)) for text in _texts(node))


def names(text: str, words: Words) -> bool:
    """Tell whether a text is a dotted name that starts with one of ``words``."""
    return _NAME.fullmatch(text) is not None and _WORD.findall(text)[0] in words


def uses(text: str, words: Words) -> bool:
    """Tell whether a text is Python that uses one of ``words``.

    A sentence about one (``"tp_group is not set"``) is none, even if it parses.
    """
    if words.isdisjoint(_WORD.findall(text)) or _NAME.fullmatch(text):
        return False
    return _is_code(text, words)


def _texts(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Constant) and isinstance(part.value, bytes):
            yield part.value.decode(errors="replace")


def _is_code(text: str, words: Words) -> bool:
    try:
        body = ast.parse(dedent(text).strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        _uses(node, words)
        for statement in body
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, _CLAIMS))
        for node in ast.walk(statement)
    )


def _uses(node: ast.AST, words: Words) -> bool:
    """Tell whether a node imports or is one of ``words``."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return any(not words.isdisjoint(alias.name.split(".")) for alias in node.names)
    if isinstance(node, ast.Attribute):
        return node.attr in words
    return isinstance(node, ast.Name) and node.id in words
