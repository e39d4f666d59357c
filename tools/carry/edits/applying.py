"""Applies the edits of one file, layer by layer, all or nothing."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from carry.edits.arguments import plan_arguments, plan_parameters
from carry.edits.brackets import add_elements
from carry.edits.docstrings import plan_documentation
from carry.edits.imports import plan_import
from carry.edits.model import (
    AddArguments,
    AddImport,
    AddParameters,
    DocumentArguments,
    Edit,
    EditFile,
    EditStatement,
    InsertAtStart,
    Layer,
)
from carry.edits.planning import Change, EditResult, Plan, State, Text
from carry.edits.scopes import calls, dotted
from carry.edits.source import Source, SourceError, Splice, check_compiles, decode
from carry.edits.statements import (
    inserted_statements,
    names_near,
    plan_at_start,
    plan_statement,
)
from stack.errors import Refusal


@dataclass(frozen=True, slots=True)
class Applied:
    """A file with edits applied.

    Attributes:
        text: The whole file.
        results: What became of each edit, in the order of the layers.
    """

    text: bytes
    results: tuple[EditResult, ...]


class EditMismatch(Refusal):  # noqa: N818 - as its base class
    """Edits that do not land on a text.

    Args:
        path: The file.
        failing: The edits that do not land.
    """

    def __init__(self, path: str, failing: Sequence[EditResult]) -> None:
        lines = "; ".join(
            f"{result.edit.place}: found {result.found}, wanted {result.wanted}"
            + (f" ({result.detail})" if result.detail else "")
            for result in failing
        )
        super().__init__(f"{path}: {len(failing)} of its edits do not land: {lines}")
        self.failing = tuple(failing)


def apply_layers(edit_file: EditFile, source: bytes, layers: Sequence[Layer]) -> Applied:
    """Applies the edits of some series commits, in their order.

    Args:
        edit_file: The edits.
        source: The upstream file.
        layers: Pairs of PR and commit, in the order they apply.

    Returns:
        The new file and the results.

    Raises:
        EditMismatch: An edit does not match as often as it must, or cannot be made.
        Refusal: The file or what it becomes is no Python.
    """
    applied = _run(edit_file, source, layers)
    failing = [result for result in applied.results if result.failed]
    if failing:
        raise EditMismatch(str(edit_file.path), failing)
    return applied


def probe_layers(
    edit_file: EditFile, source: bytes, layers: Sequence[Layer]
) -> tuple[EditResult, ...]:
    """Says for every edit how often it matches, and how often it must.

    Edits that do not land are passed over, so that those behind them get an answer as well.

    Args:
        edit_file: The edits.
        source: The upstream file.
        layers: Pairs of PR and commit, in the order they apply.

    Returns:
        One result an edit, in the order of the layers.

    Raises:
        Refusal: The file or what it becomes is no Python.
    """
    return _run(edit_file, source, layers).results


def _run(edit_file: EditFile, source: bytes, layers: Sequence[Layer]) -> Applied:
    path = str(edit_file.path)
    try:
        text, encoding = decode(source)
        current = Source(text)
        results: list[EditResult] = []
        for position, layer in enumerate(layers):
            edits = [edit for edit in edit_file.edits if edit.layer == layer]
            if not edits:
                continue
            later = set(layers[position:])
            layer_text = Text(current)
            inserted = inserted_statements(
                [edit for edit in edit_file.edits if edit.layer in later], layer_text
            )
            outcomes, changes = _plan_layer(edits, layer_text, inserted)
            results += outcomes
            if changes:
                current = Source(current.spliced(changes))
                check_compiles(current.tree)
        return Applied(current.text.encode(encoding), tuple(results))
    except SourceError as error:
        raise Refusal(f"{path}: {error}") from error
    except UnicodeEncodeError as error:
        raise Refusal(f"{path}: an edit brings a character its encoding lacks: {error}") from error


def _plan_layer(
    edits: Sequence[Edit], text: Text, inserted: frozenset[int]
) -> tuple[list[EditResult], list[Splice]]:
    plans = [(edit, plan_edit(edit, text, inserted)) for edit in edits]
    results = [_judge(edit, plan, text) for edit, plan in plans]
    results = [_forgive_removal(result, results) for result in results]
    landing = [
        (result, plan)
        for result, (_, plan) in zip(results, plans, strict=True)
        if result.state == "applies"
    ]
    additions = [addition for _, plan in landing for addition in plan.additions]
    changes = [change for _, plan in landing for change in plan.changes]
    changes += add_elements(text.source, additions)
    return results, _ordered(changes)


def plan_edit(edit: Edit, text: Text, inserted: frozenset[int]) -> Plan:
    """What one edit finds and wants to do.

    Args:
        edit: The edit.
        text: The text it acts on.
        inserted: Ids of the statements that edits of this commit or a later one put there.

    Returns:
        The plan.
    """
    match edit.operation:
        case AddParameters() as operation:
            return plan_parameters(edit, operation, text)
        case AddArguments() as operation:
            return plan_arguments(edit, operation, text, inserted)
        case EditStatement() as operation:
            return plan_statement(edit, operation, text, inserted)
        case InsertAtStart() as operation:
            return plan_at_start(edit, operation, text, inserted)
        case AddImport() as operation:
            return plan_import(operation, text)
        case DocumentArguments() as operation:
            return plan_documentation(edit, operation, text)


def _judge(edit: Edit, plan: Plan, text: Text) -> EditResult:
    found = plan.standing + plan.pending
    state: State
    detail = ""
    if found != edit.count:
        state, detail = "mismatch", _nearest(edit, text)
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
    """A removal leaves no trace: it is done where a sibling is done and nothing is left to remove."""
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
