"""Lays out added text the way Megatron does: black at 100 columns with ``-S -C``."""

import ast
import io
import tokenize

from carry.edits.leaves import leaves_of
from carry.edits.wrapping import LIMIT, wrap


def lay_out_statements(text: str, indent: str, unit: str) -> str:
    """Indents and wraps statements.

    Args:
        text: Statements from column 0.
        indent: White space to put before them.
        unit: One level of indentation in the file they go to.

    Returns:
        The lines, joined by ``\\n``, without one at the end.
    """
    text = "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))
    lines = text.split("\n")
    kept = _string_lines(text)
    out = []
    for number, line in enumerate(lines, 1):
        if number in kept or not line:
            out.append(line)
            continue
        body = line.lstrip(" ")
        level, rest = divmod(len(line) - len(body), 4)
        out.append(f"{indent}{unit * level}{' ' * rest}{body}")
    return "\n".join(out)


def _string_lines(text: str) -> set[int]:
    """Lines that start inside a string; their white space belongs to it. Docstrings are left out."""
    docstrings = {
        node.body[0].value.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.FSTRING_MIDDLE):
            if token.start[0] not in docstrings:
                found.update(range(token.start[0] + 1, token.end[0] + 1))
    return found


def lay_out_line(text: str, indent: str, unit: str) -> str | None:
    """Lays out one logical line: a simple statement, or a compound one up to its colon.

    Args:
        text: The logical line, its first line without indentation.
        indent: The indentation it gets.
        unit: One more level of indentation.

    Returns:
        The lines, the first without its indentation; None where the text holds what this cannot lay
        out: comments, strings over several lines, backslashes.
    """
    leaves = leaves_of(text)
    return None if leaves is None else "\n".join(wrap(leaves, indent, unit))[len(indent) :]
