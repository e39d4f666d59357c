"""Lays out added text the way Megatron does: black at 100 columns with ``-S -C``."""

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from carry.edits.leaves import leaves_of
from carry.edits.wrapping import LIMIT, wrap


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """One logical line of a text, in lines from 0.

    Attributes:
        first: Its first physical line.
        last: Its last one.
        text: Its text, without indentation and without a comment at its end.
        tail: The comment at its end with the space before it; empty without one.
    """

    first: int
    last: int
    text: str
    tail: str


def lay_out_statements(text: str, indent: str, unit: str) -> str:
    r"""Indents and wraps statements.

    Args:
        text: Statements from column 0.
        indent: White space to put before them.
        unit: One level of indentation in the file they go to.

    Returns:
        The lines, joined by ``\\n``, without one at the end.
    """
    text = text.strip("\n")
    lines = text.split("\n")
    inside_strings = _string_lines(text)
    heads = {line.first: line for line in _logical_lines(text, lines)}
    out: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        head = heads.get(number)
        if head:
            level = _indentation(lines[number], indent, unit)
            laid_out = lay_out_line(head.text, level, unit, head.tail)
            if laid_out is not None:
                out.append(f"{level}{laid_out}{head.tail}")
                number = head.last + 1
                continue
        if number in inside_strings:
            out.append(line)
        else:
            out.append(f"{_indentation(line, indent, unit)}{line.strip()}" if line.strip() else "")
        number += 1
    return "\n".join(out)


def lay_out_line(text: str, indent: str, unit: str, tail: str = "") -> str | None:
    """Lays out one logical line: a simple statement, or a compound one up to its colon.

    Args:
        text: The logical line, its first line without indentation.
        indent: The indentation it gets.
        unit: One more level of indentation.
        tail: The comment behind it, which takes room on its last line.

    Returns:
        The lines, the first without its indentation and the last without the comment; None where
        the text holds what this cannot lay out: comments, strings over several lines, backslashes,
        several statements.
    """
    if text.startswith("from "):
        statement = ast.parse(text).body[0]
        if (
            isinstance(statement, ast.ImportFrom)
            and statement.names[0].name != "*"
            and "#" not in text
        ):
            module = "." * statement.level + (statement.module or "")
            return lay_out_import(module, names_of(statement), indent, unit)
    leaves = leaves_of(text)
    if leaves is None:
        return None
    leaves[-1].tail = tail
    # An unwritten parenthesis comes last; the comment stands behind whatever is written.
    lines = wrap(leaves, indent, unit)
    return "\n".join(lines)[len(indent) :].removesuffix(tail) if lines[-1].endswith(tail) else None


def lay_out_import(module: str, names: Sequence[str], indent: str, unit: str) -> str:
    """Lays out an import the way isort's black profile does.

    Args:
        module: The module; leading dots make it relative.
        names: The names, ``name as alias`` where wanted, in their order.
        indent: Indentation of the statement.
        unit: One level of indentation.

    Returns:
        The statement, its first line without indentation.
    """
    line = f"from {module} import {', '.join(names)}"
    if len(indent) + len(line) <= LIMIT:
        return line
    inner = "".join(f"{indent}{unit}{name},\n" for name in names)
    return f"from {module} import (\n{inner}{indent})"


def names_of(statement: ast.ImportFrom) -> list[str]:
    """The names an import names, with their aliases."""
    return [
        alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in statement.names
    ]


def _indentation(line: str, indent: str, unit: str) -> str:
    """A line's indentation in the file: its levels of four columns, and what is left over."""
    level, rest = divmod(len(line) - len(line.lstrip(" ")), 4)
    return f"{indent}{unit * level}{' ' * rest}"


def _logical_lines(text: str, lines: Sequence[str]) -> Iterator[LogicalLine]:
    start: tuple[int, int] | None = None
    end = (0, 0)
    tail = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        match token.type:
            case tokenize.NEWLINE:
                if start:
                    pieces = list(lines[start[0] - 1 : end[0]])
                    pieces[-1] = pieces[-1][: end[1]]
                    pieces[0] = pieces[0][start[1] :]
                    yield LogicalLine(start[0] - 1, end[0] - 1, "\n".join(pieces), tail)
                start, tail = None, ""
            case tokenize.COMMENT:
                # Inside brackets a comment stands before the end, and the text keeps it.
                tail = f"  {token.string}" if start else ""
            case tokenize.NL | tokenize.INDENT | tokenize.DEDENT | tokenize.ENDMARKER:
                pass
            case _:
                start = start or token.start
                end, tail = token.end, ""


def _string_lines(text: str) -> set[int]:
    """Lines that start inside a string, whose white space they are part of; no docstrings."""
    docstrings = {
        node.body[0].value.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if (
            token.type in (tokenize.STRING, tokenize.FSTRING_MIDDLE)
            and token.start[0] not in docstrings
        ):
            found.update(range(token.start[0], token.end[0]))
    return found
