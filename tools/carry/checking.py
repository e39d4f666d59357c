"""How often each edit of the series matches on a base, and how often it should."""

from dataclasses import asdict, dataclass
from typing import Any

from carry.bases import Base
from carry.carried import Carrier, layers_of
from carry.edits import Edit, EditFile, EditResult, probe_layers
from carry.edits.model import describe

NO_FILE = "no file"
ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class EditReport:
    """One edit on one base.

    Attributes:
        path: The file it edits.
        edit: The edit, as a person finds it: commit, place and operation.
        state: ``applies``, ``already applied``, ``mismatch``, ``refused``, ``no file``, or
            ``absent`` where the edit file says that the base may lack the file.
        found: How often it matches.
        wanted: How often it should.
        detail: What is wrong and what comes nearest, or what it means that the file is absent;
            empty if there is nothing to say.
    """

    path: str
    edit: str
    state: str
    found: int
    wanted: int
    detail: str

    @property
    def holds(self) -> bool:
        """Whether the edit does what it should on this base."""
        return self.state in {"applies", "already applied", ABSENT}

    @property
    def summary(self) -> str:
        """``found/wanted`` for an edit that applies, else its state in a word."""
        if self.state in {"applies", "mismatch"}:
            return f"{self.found}/{self.wanted}"
        return "applied" if self.state == "already applied" else self.state

    def to_json(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        return asdict(self)


def check(carrier: Carrier, base: Base) -> tuple[EditReport, ...]:
    """Look at every edit of the series on a base, file by file, in the order of the edit files."""
    return tuple(
        report
        for edit_file in carrier.edit_files.values()
        for report in _check_file(carrier, base, edit_file)
    )


def _check_file(carrier: Carrier, base: Base, edit_file: EditFile) -> list[EditReport]:
    path = str(edit_file.path)
    source = carrier.source(base, path)
    if source is not None:
        layers = layers_of(carrier.series)
        return [_report(path, result) for result in probe_layers(edit_file, source, layers)]
    allowed = edit_file.absent_with
    absent = allowed is not None and not base.has_directory(str(allowed))
    state = ABSENT if absent else NO_FILE
    detail = edit_file.absent_means if absent else f"{base.name} has no {path}"
    return [EditReport(path, _name(edit), state, 0, edit.count, detail) for edit in edit_file.edits]


def _report(path: str, result: EditResult) -> EditReport:
    edit = result.edit
    return EditReport(path, _name(edit), result.state, result.found, result.wanted, result.detail)


def _name(edit: Edit) -> str:
    scope = f"{edit.scope}: " if edit.scope else ""
    return f"#{edit.pr}.{edit.commit} {scope}{describe(edit.operation)}"
