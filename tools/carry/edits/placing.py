"""Places whole statements between others, with the blank lines that black wants around them."""

import ast
from collections.abc import Sequence

from carry.edits.planning import Change, Order
from carry.edits.scopes import Definition, Site
from carry.edits.source import Source, Splice


def shared_line(source: Source, site: Site, *, only_start: bool = False) -> str:
    """Why nothing can be put before or after a statement; empty where something can.

    Args:
        source: The file.
        site: The statement.
        only_start: Whether something is to be put before it and what follows it does not matter.

    Returns:
        The reason.
    """
    start, end = source.span(site.statement)
    line = source.line_of(start)
    before = source.text[source.line_start(line) : start]
    if site.is_elif and source.text.startswith("elif", start):
        return "it is an elif; nothing can stand before or after it by itself"
    if before.strip(" \t\f"):
        return "it shares its line with another statement (a one-line compound statement or a `;`)"
    above = source.content(line - 1) if line else ""
    if above.endswith("\\") and "#" not in above:
        return "it goes on a line that a backslash continues"
    last = source.line_of(end - 1)
    rest = source.content(last)[end - source.line_start(last) :]
    if only_start:
        return ""
    if rest.strip() and not rest.lstrip().startswith("#"):
        return "it shares its line with another statement (a `;`)"
    return ""


def insert_first(source: Source, site: Site, laid_out: str, wanted: Sequence[ast.stmt]) -> Change:
    """Puts statements before the first of a body and the comments above it.

    Args:
        source: The file.
        site: That first statement.
        laid_out: The new statements as they are to stand.
        wanted: The same, parsed.

    Returns:
        The change.
    """
    line = source.line_of(source.span(site.statement)[0])
    indent = source.indentation(line)
    while _is_comment_or_blank(source, line - 1):
        line -= 1
    at = source.line_start(line)
    below = max(0, _gap(wanted[-1], site.statement, site) - _blank_lines(source, line))
    return Change(Splice(at, at, laid_out + "\n" * (1 + below)), Order.START, len(indent))


def insert_before(source: Source, site: Site, laid_out: str, wanted: Sequence[ast.stmt]) -> Change:
    """Puts statements before another and the comments right above it; else as `insert_first`."""
    line = source.line_of(source.span(site.statement)[0])
    indent = source.indentation(line)
    previous = site.block[site.index - 1] if site.index else None
    top = (previous.end_lineno or 0) if previous else 0
    # Comments right above a statement are about it and stay with it.
    while line > top and _is_comment_at(source, line - 1, indent):
        line -= 1
    blank = 0
    while line - blank > top and not source.content(line - blank - 1).strip():
        blank += 1
    needed = _gap(previous, wanted[0], site) if previous else _gap_at_start(wanted[0], site)
    above = max(0, needed - blank)
    below = _gap(wanted[-1], site.statement, site)
    at = source.line_start(line)
    text = "\n" * above + laid_out + "\n" * (1 + below)
    return Change(Splice(at, at, text), Order.BEFORE, len(indent))


def insert_after(
    source: Source, site: Site, laid_out: str, wanted: Sequence[ast.stmt], order: Order
) -> Change:
    """Puts statements behind another, in an order among what else goes there."""
    last = source.line_of(source.span(site.statement)[1] - 1)
    depth = len(source.indentation(site.statement.lineno - 1))
    at = source.line_start(last + 1)
    above = _gap(site.statement, wanted[0], site)
    if source.content(last) == source.lines[last]:
        # The file ends without a line ending, and keeps doing so.
        return Change(Splice(at, at, "\n" * (1 + above) + laid_out), order, depth)
    if site.index + 1 < len(site.block):
        needed = _gap(wanted[-1], site.block[site.index + 1], site)
    else:
        needed = _gap_at_end(source, last + 1, wanted[-1])
    below = max(0, needed - _blank_lines(source, last + 1))
    text = "\n" * above + laid_out + "\n" * (1 + below)
    return Change(Splice(at, at, text), order, depth)


def _gap(first: ast.stmt, second: ast.stmt, site: Site) -> int:
    """How many blank lines black wants between two statements at the least."""
    nested = not isinstance(site.parent, ast.Module)
    if isinstance(first, Definition) or isinstance(second, Definition):
        return 1 if nested else 2
    imports = (ast.Import, ast.ImportFrom)
    if isinstance(first, imports) and not isinstance(second, imports):
        return 1
    is_docstring = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
        and isinstance(site.parent, ast.ClassDef)
        and site.parent.body[0] is first
    )
    return 1 if is_docstring else 0


def _gap_at_start(first: ast.stmt, site: Site) -> int:
    """How many blank lines black wants before the first statement of a block."""
    plain_block = not isinstance(site.parent, (Definition, ast.Module))
    return 1 if plain_block and isinstance(first, Definition) else 0


def _gap_at_end(source: Source, line: int, last: ast.stmt) -> int:
    """How many blank lines black wants behind the last statement of a block."""
    if not isinstance(last, Definition) or line >= len(source.lines):
        return 0
    following = line + _blank_lines(source, line)
    if following >= len(source.lines):
        return 0
    keyword = source.content(following).strip().partition(" ")[0].rstrip(":")
    dependent = keyword in ("else", "elif", "except", "finally")
    return 1 if dependent or source.indentation(following) else 2


def _blank_lines(source: Source, line: int) -> int:
    """How many blank lines start at a line."""
    count = 0
    while line + count < len(source.lines) and not source.content(line + count).strip():
        count += 1
    return count


def _is_comment_at(source: Source, line: int, indent: str) -> bool:
    return source.indentation(line) == indent and source.content(line).lstrip().startswith("#")


def _is_comment_or_blank(source: Source, line: int) -> bool:
    content = source.content(line).strip()
    return not content or content.startswith("#")
