"""Inserts, replaces and removes whole statements."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from carry.edits.calls import calls
from carry.edits.layout import lay_out_statements
from carry.edits.model import Edit, EditStatement, InsertAtStart
from carry.edits.placing import insert_after, insert_before, insert_first, shared_line
from carry.edits.planning import Change, Order, Plan, Text
from carry.edits.scopes import (
    Site,
    assigned,
    docstring_of,
    dotted,
    is_named,
    same,
    targets_of,
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
        for site in scope:
            if any(_starts_run(site, form) for form in forms):
                plan.stand(site.statement, text.paths.never_runs(site.statement))
    for site, apart in _candidates(operation, scope):
        if id(site.statement) in inserted:
            continue
        beside = operation.action in ("before", "after")
        runs = [_run_beside(site, form, operation, inserted) for form in forms] if beside else []
        run = next(filter(None, runs), None)
        if run:
            plan.stand(run, apart or text.paths.never_runs(run))
            continue
        plan.pend(site.statement)
        wanted = forms[0] if forms else []
        refusal = apart or _why_not(text, site, operation, wanted)
        if refusal:
            plan.reasons.append(f"{text.where(site.statement)}: {refusal}")
        else:
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
        runs = [_run_at_start(node.body, skipped, form, known.inserted) for form in forms]
        run = next(filter(None, runs), None)
        if run:
            plan.stand(run, text.paths.never_runs(run))
            continue
        plan.pend(node)
        site = Site(node.body[0], node.body, 0, node)
        refusal = text.paths.never_runs(node) or shared_line(source, site, only_start=not skipped)
        if refusal:
            plan.reasons.append(f"{text.where(node)}: {refusal}")
            continue
        indent = source.indentation(node.body[0].lineno - 1)
        laid_out = lay_out_statements(operation.text, indent, source.indent_unit)
        if skipped:
            change = insert_after(source, site, laid_out, wanted, Order.START)
        else:
            change = insert_first(source, site, laid_out, wanted)
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


def _candidates(operation: EditStatement, scope: Iterable[Site]) -> Iterable[tuple[Site, str]]:
    """The statements an operation names, each with why it does not go by its anchor, if so.

    A call goes by its statement where it is made once each time the statement runs.
    """
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
                    yield site, next((call.apart for call in found if call.apart), "")


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


def _run_at_start(
    body: Sequence[ast.stmt], index: int, wanted: Sequence[ast.stmt], inserted: frozenset[int]
) -> ast.stmt | None:
    """First of the wanted statements where a body starts with them, inserted ones before aside."""
    while index + len(wanted) <= len(body):
        if _run_at(body, index, wanted):
            return body[index]
        if id(body[index]) not in inserted:
            break
        index += 1
    return None


def _why_not(text: Text, site: Site, operation: EditStatement, wanted: Sequence[ast.stmt]) -> str:
    """Why a statement is no place for an operation; empty where it is one."""
    paths = text.paths
    after = operation.action == "after"
    never = paths.nothing_after(site) if after else paths.never_runs(site.statement)
    refusal = never or shared_line(text.source, site, only_start=operation.action == "before")
    if refusal or operation.action in ("before", "after"):
        return refusal
    if hasattr(site.statement, "body"):
        return "it is a compound statement; its whole body would go with it"
    if operation.action == "remove" and len(site.block) == 1:
        return "it is the only statement of its block"
    if operation.anchor == "assign":
        return _lost_targets(site.statement, operation.name, wanted)
    return ""


def _lost_targets(statement: ast.stmt, name: str, wanted: Sequence[ast.stmt]) -> str:
    """Why an assignment cannot go for the sake of one target: others that would go with it."""
    walrus = [node.target for node in ast.walk(statement) if isinstance(node, ast.NamedExpr)]
    assigns = [*targets_of(statement), *walrus]
    kept = {name, *(ast.unparse(target) for new in wanted for target in targets_of(new))}
    lost = {text: None for text in map(ast.unparse, assigns) if text not in kept}
    return f"it assigns {', '.join(lost)} as well, which would go with it" if lost else ""


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
            return insert_after(source, site, laid_out, wanted, Order.AFTER)
        case _:
            return insert_before(source, site, laid_out, wanted)


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
