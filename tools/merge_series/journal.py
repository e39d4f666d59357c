"""The operations that moved refs: ``done/N.json`` in the state folder, one file each.

A record is written before its refs move and says how far the move has come, so that a kill anywhere
is repairable; it stays as what ``undo``, ``log`` and ``verify`` go by.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from merge_series.kept import read_json, write_json
from merge_series.records import MergeRecord
from merge_series.text_diff import unified_diff
from stack.git_answers import Sha
from stack.refs import Update, branch_ref

# More operations than anybody takes back; each is a few kilobytes.
KEPT_OPERATIONS = 100

UNDONE_REFS = "refs/merge_series/undone/"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file outside the repository that an operation writes, such as SERIES.md.

    Attributes:
        path: Its absolute path.
        before: Its text before; bytes that are not UTF-8 stand as surrogate escapes.
        after: Its text after.
    """

    path: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        """What changes, as ``diff -u`` writes it."""
        return unified_diff(self.path, self.before, self.after)


@dataclass(frozen=True, slots=True)
class DoneSync:
    """An operation that moves refs, or has moved them.

    Attributes:
        number: Its number in this repository, from 1.
        main: The commit of main it worked with.
        state: ``moving`` until all refs have moved, then ``done``; ``undoing`` while ``undo`` takes
            it back, then ``undone``; ``redoing`` while ``redo`` brings it again.
        old: Heads before; None where it made the branch.
        new: Heads after.
        merged: Its merges.
        operation: Its name: ``sync``, ``fold``, ``stack``.
        files: What it wrote outside the repository.
        worktrees: Folders in which a branch is checked out and follows, by branch.
    """

    number: int
    main: Sha
    state: Literal["moving", "done", "undoing", "undone", "redoing"]
    old: dict[str, Sha | None]
    new: dict[str, Sha]
    merged: tuple[MergeRecord, ...]
    operation: str = "sync"
    files: tuple[FileChange, ...] = ()
    worktrees: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The operation as people name it."""
        return f"{self.operation} {self.number}"

    @property
    def action(self) -> str:
        """What is done where its state says that something is under way."""
        prefix = {"undoing": "undo of ", "redoing": "redo of "}.get(self.state, "")
        return prefix + (self.name if prefix else self.operation)

    @property
    def is_under_way(self) -> bool:
        """Whether refs may stand on either side."""
        return self.state not in {"done", "undone"}

    @property
    def goal(self) -> Literal["done", "undone"]:
        """The state it ends in."""
        return "undone" if self.state == "undoing" else "done"

    def updates(self) -> tuple[Update, ...]:
        """The moves of the transaction that its state says is under way.

        What an undone operation made is kept by refs of its own: of a branch that it had made,
        nothing else would.
        """
        moves = []
        for branch, new in self.new.items():
            kept = f"{UNDONE_REFS}{self.number}/{branch}"
            if self.state == "undoing":
                moves.append(Update(branch_ref(branch), new, self.old[branch]))
                moves.append(Update(kept, None, new))
            else:
                moves.append(Update(branch_ref(branch), self.old[branch], new))
                moves += [Update(kept, new, None)] if self.state == "redoing" else []
        return tuple(moves)

    @property
    def file_moves(self) -> Iterator[FileChange]:
        """The files to write, in the direction that its state says."""
        for file in self.files:
            back = FileChange(file.path, file.after, file.before)
            yield back if self.state == "undoing" else file


class Journal:
    """The records kept in a folder.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def records(self) -> tuple[DoneSync, ...]:
        """All records, oldest first."""
        files = [file for file in self._folder.glob("*.json") if file.stem.isdecimal()]
        ordered = sorted(files, key=lambda file: int(file.stem))
        found = (read_json(file, _record) for file in ordered)
        return tuple(record for record in found if record is not None)

    def done(self) -> tuple[DoneSync, ...]:
        """The operations whose refs have moved, oldest first."""
        return tuple(record for record in self.records() if record.state == "done")

    def undone(self) -> tuple[DoneSync, ...]:
        """The operations that ``redo`` can bring again, the next one first."""
        records = self.records()
        last = max((record.number for record in records if record.state == "done"), default=0)
        return tuple(r for r in records if r.state == "undone" and r.number > last)

    def dropped(self) -> tuple[DoneSync, ...]:
        """The undone operations after which a new one was made; ``redo`` no longer brings them."""
        kept = self.undone()
        return tuple(r for r in self.records() if r.state == "undone" and r not in kept)

    def next_number(self) -> int:
        """The number of the next operation."""
        return max((record.number for record in self.records()), default=0) + 1

    def file(self, number: int) -> Path:
        """Where a record stands."""
        return self._folder / f"{number}.json"

    def keep(self, record: DoneSync) -> None:
        """Write a record."""
        write_json(self.file(record.number), asdict(record))

    def drop(self, record: DoneSync) -> None:
        """Remove a record."""
        self.file(record.number).unlink(missing_ok=True)

    def drop_oldest(self) -> None:
        """Keep no more operations than anybody needs."""
        for record in self.done()[:-KEPT_OPERATIONS]:
            self.drop(record)


def _record(data: dict[str, Any]) -> DoneSync:
    merged = tuple(MergeRecord.from_json(record) for record in data["merged"])
    files = tuple(FileChange(**file) for file in data.get("files", ()))
    worktrees = {branch: tuple(there) for branch, there in data.get("worktrees", {}).items()}
    return DoneSync(**{**data, "merged": merged, "files": files, "worktrees": worktrees})
