"""Applies the edits of one file, layer by layer, all or nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from carry.edits.layers import forms_of, plan_layer
from carry.edits.model import AddParameters, EditFile, EditStatement, InsertAtStart, Layer
from carry.edits.names import Shift
from carry.edits.planning import EditResult, Text
from carry.edits.source import Source, SourceError, check_compiles, decode
from carry.edits.statements import Known, inserted_statements
from stack.errors import Refusal

# What may bind a name in a function, or unbind one.
_BINDS = AddParameters | EditStatement | InsertAtStart


@dataclass(frozen=True, slots=True)
class Applied:
    """A file with edits applied.

    Attributes:
        text: The whole file.
        results: What became of each edit, in the order of the layers.
    """

    text: bytes
    results: tuple[EditResult, ...]


class EditMismatch(Refusal):
    """Edits that do not land on a text.

    Args:
        path: The file.
        failing: The edits that do not land.

    Attributes:
        lines: For people, a line an edit: its place, how often it was found, what comes nearest.
        failing: As given.
    """

    def __init__(self, path: str, failing: Sequence[EditResult]) -> None:
        self.lines = tuple(
            f"{result.edit.place}: found {result.found}, wanted {result.wanted}"
            + (f"; {result.detail}" if result.detail else "")
            for result in failing
        )
        super().__init__(not_landing(f"{path} is as it was", self.lines))
        self.failing = tuple(failing)


def not_landing(what: str, lines: Sequence[str]) -> str:
    """The message on edits that do not land, and what to do about them.

    Args:
        what: What did not happen for their sake.
        lines: A line an edit, or a file of edits.
    """
    listed = "\n".join(f"  {line}" for line in lines)
    return (
        f"{what}, since these edits do not land:\n{listed}\n"
        "Correct them there, or take a tree that has what they name (carry check tells of each, "
        "carry report of each release)."
    )


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
        current = Text(Source(text))
        results: list[EditResult] = []
        forms = forms_of(edit_file.edits, layers)
        for position, layer in enumerate(layers):
            edits = [edit for edit in edit_file.edits if edit.layer == layer]
            coming = set(layers[position:])
            own = [edit for edit in edit_file.edits if edit.layer in coming]
            known = Known(inserted_statements(own, current, forms), forms)
            outcomes, changes = plan_layer(edits, current, known)
            if changes:
                before = current.source
                current = Text(Source(before.spliced(changes)))
                check_compiles(current.source.tree)
                known = Known(inserted_statements(own, current, forms), forms)
                again, _ = plan_layer(edits, current, known)
                outcomes = [
                    _recognised(one, other) for one, other in zip(outcomes, again, strict=True)
                ]
                if any(isinstance(one.edit.operation, _BINDS) for one in outcomes):
                    for shift in before.names.shifts(current.source.names):
                        _refuse_shift(outcomes, shift)
            results += outcomes
        return Applied(current.source.text.encode(encoding), tuple(results))
    except SourceError as error:
        raise Refusal(f"{path}: {error}") from error
    except UnicodeEncodeError as error:
        raise Refusal(f"{path}: an edit brings a character its encoding lacks: {error}") from error


def _recognised(first: EditResult, again: EditResult) -> EditResult:
    """The first result, refused where the same edit would not find its own work done.

    Applying twice would otherwise change the text twice, or fail.
    """
    operation = first.edit.operation
    is_removal = isinstance(operation, EditStatement) and operation.action == "remove"
    if first.failed or again.state == "already applied" or (is_removal and not again.found):
        return first
    unrecognised = "once applied, it would not be recognised as applied"
    detail = again.detail if again.state == "refused" else unrecognised
    return EditResult(first.edit, first.found, first.wanted, "refused", detail)


def _refuse_shift(outcomes: list[EditResult], shift: Shift) -> None:
    """Refuses the edit by which a name means something else to the code around it."""

    def is_likely(index: int) -> tuple[bool, bool, bool]:
        edit = outcomes[index].edit
        near = f"{edit.scope}.".startswith(f"{shift.scope}.") or not edit.scope
        around = f"{shift.scope}.".startswith(f"{edit.scope}.")
        takes = isinstance(edit.operation, EditStatement) and edit.operation.action == "remove"
        return near or around, shift.name in re.findall(r"\w+", repr(edit.operation)), takes

    landing = [index for index, one in enumerate(outcomes) if one.state == "applies"]
    if landing:
        likely = max(landing, key=is_likely)
        one = outcomes[likely]
        where = f"{shift.scope}: " if shift.scope else ""
        detail = f"{where}{shift.reason}"
        outcomes[likely] = EditResult(one.edit, one.found, one.wanted, "refused", detail)
