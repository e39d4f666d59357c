"""Inserts, replaces and removes whole statements."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from carry.edits.layout import lay_out_statements
from carry.edits.model import Edit, EditStatement, InsertAtStart
from carry.edits.planning import Change, Order, Plan, Text
from carry.edits.scopes import (
    Definition,
    Site,
    assigned,
    calls,
    docstring_of,
    dotted,
    is_named,
    same,
)
from carry.edits.source import Source, Splice

Forms = Mapping[int, Sequence[Sequence[ast.stmt]]]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the statements that edits insert.

    Attributes:
        inserted: Ids of the statements in a text that edits of its layer or a later one put there.
        forms: The statements that each edit inserts, by the edit's id: as it brings them, and as
            each later layer leaves them.
    """

    inserted: frozenset[int]
    forms: Forms


def plan_statement(edit: Edit, operation: EditStatement, text: Text, known: Known) -> Plan:
    """Plans an insertion before or after, a replacement or a removal.

    Args:
        edit: The edit.
        operation: Its operation.
        text: The text it acts on.
        known: What edits of this commit or a later one inserted, which is no candidate.

    Returns:
        The plan.
    """
    plan = Plan()
    forms = known.forms[id(edit)]
    inserted = known.inserted
    scope = text.sites(edit.scope)
    if operation.action == "replace":
        plan.standing = sum(any(_starts_run(site, form) for form in forms) for site in scope)
    for site, reason in _candidates(operation, scope):
        if id(site.statement) in inserted:
            continue
        beside = operation.action in ("before", "after")
        if beside and any(_run_beside(site, form, operation, inserted) for form in forms):
            plan.standing += 1
            continue
        plan.pend(site.statement)
        refusal = reason or _why_not(text.source, site, operation)
        if refusal:
            plan.reasons.append(f"{text.where(site.statement)}: {refusal}")
        else:
            wanted = forms[0] if forms else []
            plan.changes.append(_change(text.source, site, operation, wanted))
    return plan


def plan_at_start(edit: Edit, operation: InsertAtStart, text: Text, known: Known) -> Plan:
    """Plans an insertion at the start of a body, after its docstring.

    Args:
        edit: The edit.
        operation: Its operation.
        text: The text it acts on.
        known: What edits of this commit or a later one inserted.

    Returns:
        The plan.
    """
    plan = Plan()
    forms = known.forms[id(edit)]
    wanted = forms[0]
    source = text.source
    for node in text.definitions.get(edit.scope, []):
        skipped = 1 if docstring_of(node) else 0
        if any(_stands_at_start(node.body, skipped, form, known.inserted) for form in forms):
            plan.standing += 1
            continue
        plan.pend(node)
        site = Site(node.body[0], node.body, 0, node)
        refusal = shared_line(source, site, only_start=not skipped)
        if refusal:
            plan.reasons.append(f"{text.where(node)}: {refusal}")
            continue
        indent = source.indentation(node.body[0].lineno - 1)
        laid_out = lay_out_statements(operation.text, indent, source.indent_unit)
        if skipped:
            change = _insert_after(source, site, laid_out, wanted, Order.START)
        else:
            change = _insert_first(source, site, laid_out, wanted)
        plan.changes.append(change)
    return plan


def inserted_statements(edits: Sequence[Edit], text: Text, forms: Forms) -> frozenset[int]:
    """Ids of the statements in a text that edits put there.

    Args:
        edits: Edits of any kind.
        text: The text.
        forms: The statements that each edit inserts.

    Returns:
        Ids of statement nodes, with those of the statements inside them. A statement that only
        looks like an inserted one, away from where the edit inserts, is none.
    """
    runs = [(edit, run) for edit in edits for run in _runs(edit, text, forms)]
    loose = frozenset(number for _, run in runs for number in _ids(run))
    return frozenset(
        number for edit, run in runs if _is_in_place(edit, run, text, loose) for number in _ids(run)
    )


def _runs(edit: Edit, text: Text, forms: Forms) -> list[list[ast.stmt]]:
    return [
        site.block[site.index : site.index + len(form)]
        for form in forms[id(edit)]
        for site in text.sites(edit.scope)
        if _starts_run(site, form)
    ]


def _is_in_place(edit: Edit, run: Sequence[ast.stmt], text: Text, loose: frozenset[int]) -> bool:
    operation = edit.operation
    if isinstance(operation, InsertAtStart):
        return any(
            statement is run[0] for node in text.definitions[edit.scope] for statement in node.body
        )
    assert isinstance(operation, EditStatement)  # noqa: S101 - only these have forms
    return operation.action == "replace" or any(
        _run_beside(site, list(run), operation, loose) is run[0]
        for site, _ in _candidates(operation, text.sites(edit.scope))
        if id(site.statement) not in _ids(run)
    )


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


def _candidates(operation: EditStatement, scope: Iterable[Site]) -> Iterable[tuple[Site, str]]:
    """The statements an operation names, each with the reason why it cannot be edited, if any."""
    for site in scope:
        match operation.anchor:
            case "return":
                if isinstance(site.statement, ast.Return):
                    yield site, ""
            case "assign":
                if operation.name in assigned(site.statement):
                    yield site, ""
            case "call":
                found = [call for call in calls(site) if is_named(call.call.func, operation.name)]
                if found:
                    inner = all(
                        isinstance(call.part, (ast.ExceptHandler, ast.match_case)) for call in found
                    )
                    yield site, "the call stands in an `except` or `case` line" if inner else ""


def _run_at(block: Sequence[ast.stmt], index: int, wanted: Sequence[ast.stmt]) -> bool:
    run = block[index : index + len(wanted)]
    return len(run) == len(wanted) and all(
        same(one, other) for one, other in zip(run, wanted, strict=True)
    )


def _starts_run(site: Site, wanted: Sequence[ast.stmt]) -> bool:
    return _run_at(site.block, site.index, wanted)


def _run_beside(
    site: Site, wanted: Sequence[ast.stmt], operation: EditStatement, inserted: frozenset[int]
) -> ast.stmt | None:
    """First of the wanted statements where they stand at a site, inserted ones between aside."""
    size = len(wanted)
    if operation.action == "before":
        for index in range(site.index - size, -1, -1):
            if _run_at(site.block, index, wanted):
                return site.block[index]
            if id(site.block[index + size - 1]) not in inserted:
                break
    else:
        for index in range(site.index + 1, len(site.block) - size + 1):
            if _run_at(site.block, index, wanted):
                return site.block[index]
            if id(site.block[index]) not in inserted:
                break
    return None


def _stands_at_start(
    body: Sequence[ast.stmt], index: int, wanted: Sequence[ast.stmt], inserted: frozenset[int]
) -> bool:
    while index + len(wanted) <= len(body):
        if _run_at(body, index, wanted):
            return True
        if id(body[index]) not in inserted:
            return False
        index += 1
    return False


def _why_not(source: Source, site: Site, operation: EditStatement) -> str:
    shared = shared_line(source, site, only_start=operation.action == "before")
    if shared or operation.action in ("before", "after"):
        return shared
    if hasattr(site.statement, "body"):
        return "it is a compound statement; its whole body would go with it"
    if operation.action == "remove" and len(site.block) == 1:
        return "it is the only statement of its block"
    return ""


def _change(
    source: Source, site: Site, operation: EditStatement, wanted: Sequence[ast.stmt]
) -> Change:
    start, end = source.span(site.statement)
    line, last = source.line_of(start), source.line_of(end - 1)
    indent = source.indentation(line)
    if operation.action == "remove":
        # The comment on the statement's line goes with it.
        return Change(Splice(source.line_start(line), source.line_start(last + 1), ""))
    laid_out = lay_out_statements(operation.text, indent, source.indent_unit)
    match operation.action:
        case "replace":
            return Change(Splice(start, end, laid_out[len(indent) :]))
        case "after":
            return _insert_after(source, site, laid_out, wanted, Order.AFTER)
        case _:
            return _insert_before(source, site, laid_out, wanted)


def _insert_first(source: Source, site: Site, laid_out: str, wanted: Sequence[ast.stmt]) -> Change:
    line = source.line_of(source.span(site.statement)[0])
    indent = source.indentation(line)
    while _is_comment_or_blank(source, line - 1):
        line -= 1
    at = source.line_start(line)
    below = max(0, _gap(wanted[-1], site.statement, site) - _blank_lines(source, line))
    return Change(Splice(at, at, laid_out + "\n" * (1 + below)), Order.START, len(indent))


def _insert_before(source: Source, site: Site, laid_out: str, wanted: Sequence[ast.stmt]) -> Change:
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


def _insert_after(
    source: Source, site: Site, laid_out: str, wanted: Sequence[ast.stmt], order: Order
) -> Change:
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


def _ids(statements: Iterable[ast.stmt]) -> set[int]:
    return {
        id(node)
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.stmt)
    }


def names_near(operation: EditStatement, scope: Iterable[Site]) -> list[str]:
    """What an operation might have meant: the calls or assigned names in scope."""
    names: dict[str, None] = {}
    for site in scope:
        if operation.anchor == "assign":
            names |= dict.fromkeys(assigned(site.statement))
        elif operation.anchor == "call":
            names |= {dotted(call.call.func): None for call in calls(site)}
    return list(names)
