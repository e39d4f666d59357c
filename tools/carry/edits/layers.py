"""Applies the edits of one layer to one text."""

import difflib
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from carry.edits.arguments import plan_arguments, plan_parameters
from carry.edits.brackets import add_elements
from carry.edits.calls import calls
from carry.edits.docstrings import plan_documentation
from carry.edits.fragments import parse_statements
from carry.edits.imports import add_imports, plan_import
from carry.edits.model import (
    AddArguments,
    AddImport,
    AddParameters,
    DocumentArguments,
    Edit,
    EditStatement,
    InsertAtStart,
    Layer,
)
from carry.edits.planning import Change, EditResult, Plan, State, Text
from carry.edits.scopes import dotted
from carry.edits.source import Source, Splice
from carry.edits.statements import (
    Forms,
    Known,
    names_near,
    plan_at_start,
    plan_statement,
)

if TYPE_CHECKING:
    import ast


def plan_layer(
    edits: Sequence[Edit], text: Text, known: Known
) -> tuple[list[EditResult], list[Splice]]:
    """What becomes of the edits of one layer.

    Args:
        edits: The layer's edits.
        text: The text they act on.
        known: What edits of this layer or a later one inserted.

    Returns:
        A result an edit, and the splices of those that apply, sorted and without overlaps.
    """
    plans = [(edit, plan_edit(edit, text, known)) for edit in edits]
    _refuse_overlaps(plans)
    results = [_judge(edit, plan, text) for edit, plan in plans]
    results = [_forgive_removal(result, results) for result in results]
    landing = [
        plan for result, (_, plan) in zip(results, plans, strict=True) if result.state == "applies"
    ]
    changes = [change for plan in landing for change in plan.changes]
    changes += add_elements(text.source, [one for plan in landing for one in plan.additions])
    changes += add_imports(text.source, [one for plan in landing for one in plan.imports])
    return results, _ordered(changes)


def _refuse_overlaps(plans: Sequence[tuple[Edit, Plan]]) -> None:
    """Notes a reason in both plans where one touches what the other replaces."""
    for (edit, plan), (other_edit, other) in itertools.permutations(plans, 2):
        overlap = any(
            start < end and ((first < end and start < last) or start < first < end)
            for start, end in plan.claims
            for first, last in other.touches
        )
        if overlap:
            plan.reasons.append(f"overlaps with {other_edit.place}")
            if not other.claims:
                other.reasons.append(f"overlaps with {edit.place}")


def plan_edit(edit: Edit, text: Text, known: Known) -> Plan:
    """What one edit finds and wants to do.

    Args:
        edit: The edit.
        text: The text it acts on.
        known: What edits of its layer or a later one inserted.

    Returns:
        The plan.
    """
    match edit.operation:
        case AddParameters() as operation:
            return plan_parameters(edit, operation, text)
        case AddArguments() as operation:
            return plan_arguments(edit, operation, text, known.inserted)
        case EditStatement() as operation:
            return plan_statement(edit, operation, text, known)
        case InsertAtStart() as operation:
            return plan_at_start(edit, operation, text, known)
        case AddImport() as operation:
            return plan_import(operation, text)
        case DocumentArguments() as operation:
            return plan_documentation(edit, operation, text)


def forms_of(edits: Iterable[Edit], layers: Sequence[Layer]) -> Forms:
    """The statements that each edit inserts, as it brings them and as later layers leave them.

    A later commit may edit what an earlier one inserted, which then stands in another form.

    Args:
        edits: All edits of a file.
        layers: The layers to apply, in order.

    Returns:
        Lists of statements by the edit's id; none for an edit that inserts none.
    """
    by_layer: dict[Layer, list[Edit]] = {layer: [] for layer in layers}
    for edit in edits:
        if edit.layer in by_layer:
            by_layer[edit.layer].append(edit)
    forms: dict[int, list[list[ast.stmt]]] = {}
    for position, layer in enumerate(layers):
        for edit in by_layer[layer]:
            text = getattr(edit.operation, "text", "")
            found = forms[id(edit)] = [parse_statements(text)] if text else []
            for later in layers[position + 1 :] if text else ():
                changed = _fragment_after(edit, text, by_layer[later])
                if changed != text:
                    text = changed
                    found.append(parse_statements(text))
    return forms


def _fragment_after(edit: Edit, text: str, later: Sequence[Edit]) -> str:
    """Inserted statements as the edits of a later layer to the same scope leave them."""
    changes: list[Change] = []
    source = Source(text)
    for other in later:
        around = edit.scope == other.scope or (
            other.scope and edit.scope.startswith(f"{other.scope}.")
        )
        if around and isinstance(other.operation, (AddArguments, EditStatement)):
            brought = getattr(other.operation, "text", "")
            own = [parse_statements(brought)] if brought else []
            known = Known(frozenset(), {id(other): own})
            plan = plan_edit(other, Text(source, fragment_of=other.scope), known)
            if not plan.reasons:
                changes += [*plan.changes, *add_elements(source, plan.additions)]
    splices = _ordered(changes)
    overlap = any(one.end > two.start for one, two in itertools.pairwise(splices))
    return text if overlap else source.spliced(splices)


def _judge(edit: Edit, plan: Plan, text: Text) -> EditResult:
    found = plan.standing + plan.pending
    state: State
    detail = ""
    if found != edit.count:
        state, detail = "mismatch", _why(edit, plan, text)
    elif not plan.pending:
        state = "already applied"
    elif plan.standing:
        state, detail = "mismatch", f"stands at {plan.standing} of {found} places already"
    elif plan.reasons:
        state, detail = "refused", "; ".join(plan.reasons)
    else:
        state = "applies"
    return EditResult(edit, found, edit.count, state, detail)


def _forgive_removal(result: EditResult, siblings: Sequence[EditResult]) -> EditResult:
    """A removal leaves no trace: it is done where a sibling is done and nothing is left to do."""
    operation = result.edit.operation
    if (
        isinstance(operation, EditStatement)
        and operation.action == "remove"
        and not result.found
        and any(
            sibling.state == "already applied" and sibling.edit.scope == result.edit.scope
            for sibling in siblings
        )
    ):
        return EditResult(result.edit, 0, result.wanted, "already applied", "")
    return result


def _why(edit: Edit, plan: Plan, text: Text) -> str:
    """What to know about a wrong count: what else there is, or where the matches are."""
    if plan.reasons:
        return "; ".join(plan.reasons)
    if plan.standing + plan.pending < edit.count:
        return _nearest(edit, text)
    stands = f"; stands at {plan.standing} places already" if plan.standing else ""
    return f"at lines {', '.join(map(str, plan.lines))}{stands}" if plan.lines else stands[2:]


def _nearest(edit: Edit, text: Text) -> str:
    if edit.scope and edit.scope not in text.definitions:
        known = list(text.definitions)
        last = edit.scope.rpartition(".")[2]
        near = [name for name in known if name.rpartition(".")[2] == last]
        near += difflib.get_close_matches(edit.scope, known, n=3)
        return f"no def or class {edit.scope}{_listed(near)}"
    scope = text.sites(edit.scope)
    match edit.operation:
        case EditStatement(name=name) as operation if name:
            near = difflib.get_close_matches(name, names_near(operation, scope), n=3)
        case AddArguments(call=name):
            names = {dotted(call.call.func): None for site in scope for call in calls(site)}
            near = difflib.get_close_matches(name, list(names), n=3)
        case _:
            near = []
    return _listed(near).removeprefix("; ")


def _listed(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))[:3]
    return f"; nearest: {', '.join(unique)}" if unique else ""


def _ordered(changes: Sequence[Change]) -> list[Splice]:
    """Splices in the order of the text; insertions at one offset in the order they are to stand."""
    ranked = sorted(
        enumerate(changes),
        key=lambda item: (
            item[1].splice.start,
            item[1].splice.end > item[1].splice.start,
            item[1].order,
            -item[1].depth,
            item[0],
        ),
    )
    return [change.splice for _, change in ranked]
