"""What is kept between runs, below ``merge_series`` in the repository's git directory.

``stopped.json``  a sync that waits for a person; written before the worktree is made, removed last
``worktree``      where that person works
``done/N.json``   a sync that moved refs; written before it moves them, so that a kill is repairable
``lock``          held by the run under way; the operating system frees it when a process dies

Every file is JSON written to a temporary name and renamed, so a file is whole or absent.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import filelock

from merge_series.journal import FileChange
from merge_series.records import MergeRecord, SettledFile
from stack.errors import ExitCode, Refusal
from stack.refs import Update, branch_ref, heads, move, refuse_busy
from stack.repository import Repository, Sha


@dataclass(frozen=True, slots=True)
class Pending:
    """The merge that waits for a person.

    Attributes:
        branch: The branch it is on.
        source: ``main`` or the PR merged, such as ``#6258``.
        ours: First parent.
        theirs: Second parent.
        settled: Conflicts that the program settled.
        unsettled: Paths left to the person, each with the reason.
    """

    branch: str
    source: str
    ours: Sha
    theirs: Sha
    settled: tuple[SettledFile, ...]
    unsettled: dict[str, str]


@dataclass(frozen=True, slots=True)
class StoppedSync:
    """A sync that stopped at a conflict.

    Attributes:
        main_name: The revision given as main.
        main: The commit it named when the sync began.
        heads: Heads of the branches then.
        merged: Merges made so far.
        pending: The merge that waits.
        state: ``preparing`` until the merge stands in the worktree.
        landed: Which commit of main ends a PR's landing, where a person said it.
    """

    main_name: str
    main: Sha
    heads: dict[str, Sha]
    merged: tuple[MergeRecord, ...]
    pending: Pending
    state: Literal["preparing", "waiting"]
    landed: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DoneSync:
    """A sync that moved refs.

    Attributes:
        number: Its number in this repository, from 1.
        main: The commit of main that was synced with.
        state: ``moving`` until all refs have moved.
        old: Heads before; a branch that was created has none.
        new: Heads after.
        merged: Its merges.
    """

    number: int
    main: Sha
    state: Literal["moving", "done"]
    old: dict[str, Sha]
    new: dict[str, Sha]
    merged: tuple[MergeRecord, ...]


class Operations:
    """The state kept in one repository.

    Args:
        repository: The fork.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.folder = repository.common_directory / "merge_series"

    @property
    def worktree(self) -> Path:
        """Where a person settles a conflict."""
        return self.folder / "worktree"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the repository for one run.

        Raises:
            Refusal: Another run holds it.
        """
        self.folder.mkdir(exist_ok=True)
        lock = filelock.FileLock(self.folder / "lock", timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout as error:
            raise Refusal(
                f"{self.folder / 'lock'}: another merge_series is at work in this repository; "
                "wait for it to end",
                ExitCode.BUSY,
            ) from error
        try:
            yield
        finally:
            lock.release()

    def stopped(self) -> StoppedSync | None:
        """The sync that waits for a person, if any."""
        return _read(self.folder / "stopped.json", _stopped)

    def stop(self, stopped: StoppedSync) -> None:
        """Keep a sync that waits for a person."""
        _write(self.folder / "stopped.json", asdict(stopped))

    def remove_worktree(self) -> None:
        """Remove the worktree in which a person worked, also where only a part of it is left.

        Not by ``git worktree prune``: that would forget every worktree of the user's that stands on
        a disk which is not there at the moment.
        """
        remove = ("worktree", "remove", "--force", "--force", str(self.worktree))
        if self._repository.run(*remove, accept=(0, 128)).status:
            # git removes none that is broken, but forgets one whose folder is gone.
            shutil.rmtree(self.worktree, ignore_errors=True)
            self._repository.run(*remove, accept=(0, 128))

    def forget_stopped(self) -> None:
        """Remove what is kept of a stopped sync: its worktree first, its record last."""
        self.remove_worktree()
        (self.folder / "stopped.json").unlink(missing_ok=True)

    def done(self) -> tuple[DoneSync, ...]:
        """The syncs that moved refs, oldest first."""
        folder = self.folder / "done"
        files = [file for file in folder.glob("*.json") if file.stem.isdecimal()]
        found = (_read(file, _done) for file in sorted(files, key=lambda file: int(file.stem)))
        return tuple(done for done in found if done is not None)

    def move(  # noqa: PLR0913, PLR0917 - what a record is made of
        self,
        operation: str,  # noqa: ARG002 - interim
        main: Sha,
        old: Mapping[str, Sha | None],
        new: Mapping[str, Sha],
        merged: tuple[MergeRecord, ...] = (),
        files: tuple[FileChange, ...] = (),
    ) -> None:
        """Move or make branches in one transaction."""
        made = {branch: new[branch] for branch, head in old.items() if head is None}
        before = {branch: head for branch, head in old.items() if head is not None}
        self.finish(main, before, merged, made)
        for file in files:
            Path(file.path).write_bytes(file.after.encode("utf-8", "surrogateescape"))

    def finish(
        self,
        main: Sha,
        old: Mapping[str, Sha],
        merged: tuple[MergeRecord, ...],
        created: Mapping[str, Sha] = MappingProxyType({}),
    ) -> DoneSync:
        """Move every branch to its new head in one transaction, and keep a record of it.

        Args:
            main: The commit of main that was synced with.
            old: Heads before.
            merged: The merges, in the order they were made.
            created: Heads of branches that do not exist yet.

        Raises:
            Refusal: A ref has moved meanwhile, a branch was checked out, or a hook refused; then
                none has moved.
        """
        new = {**{record.branch: record.commit for record in merged}, **created}
        number = max((done.number for done in self.done()), default=0) + 1
        before = {branch: old[branch] for branch in new if branch not in created}
        done = DoneSync(number, main, "moving", before, new, merged)
        self._keep(done)
        try:
            self._move(done)
        except Refusal:
            self._file(number).unlink()
            raise
        finished = replace(done, state="done")
        self._keep(finished)
        return finished

    def repair(self) -> str | None:
        """Finish or drop a transaction in whose middle an earlier run was killed.

        Returns:
            A sentence on what was found and done, or None.

        Raises:
            Refusal: A ref stands where neither the old nor the new head is, or one that is to be
                moved is checked out.
        """
        found = self._repair_moves()
        if self._is_settled():
            self.forget_stopped()
            return found or "an earlier sync was killed after it had moved every branch"
        return found

    def _is_settled(self) -> bool:
        """Whether the merge that waits is part of a sync that moved refs already."""
        waiting = self.stopped()
        if waiting is None:
            return False
        pending = waiting.pending
        made = {
            done.new[pending.branch]
            for done in self.done()
            for record in done.merged
            if (record.branch, record.ours, record.theirs)
            == (pending.branch, pending.ours, pending.theirs)
        }
        return heads(self._repository, [pending.branch]).get(pending.branch) in made

    def _repair_moves(self) -> str | None:
        for done in self.done():
            if done.state == "done":
                continue
            now = heads(self._repository, list(done.new))
            if now == done.old:
                self._file(done.number).unlink()
                return "an earlier sync was killed before it moved any branch; it left nothing"
            for branch, head in done.new.items():
                if now.get(branch) not in {head, done.old.get(branch)}:
                    raise Refusal(
                        f"{self._file(done.number)}: an earlier sync was killed while it moved "
                        f"branches, and {branch} stands at {now.get(branch, 'nothing')} now; set "
                        f"it to {done.old.get(branch, 'nothing')} or {head} (git update-ref), then "
                        "run again"
                    )
            left = {b: head for b, head in done.new.items() if now.get(b) != head}
            self._move(replace(done, new=left))
            self._keep(replace(done, state="done"))
            return f"an earlier sync was killed while it moved branches; moved {len(left)} more"
        return None

    def _move(self, done: DoneSync) -> None:
        # Looked at again: a person may have checked a branch out since the sync began.
        refuse_busy(self._repository, done.new)
        updates = [Update(branch_ref(b), done.old.get(b), new) for b, new in done.new.items()]
        move(self._repository, updates, f"merge_series: sync with main {done.main[:12]}")

    def _file(self, number: int) -> Path:
        return self.folder / "done" / f"{number}.json"

    def _keep(self, done: DoneSync) -> None:
        _write(self._file(done.number), asdict(done))


def _stopped(data: dict[str, Any]) -> StoppedSync:
    merged = tuple(MergeRecord.from_json(record) for record in data["merged"])
    settled = tuple(SettledFile(**file) for file in data["pending"]["settled"])
    pending = Pending(**{**data["pending"], "settled": settled})
    landed = {int(number): sha for number, sha in data.get("landed", {}).items()}
    return StoppedSync(**{**data, "merged": merged, "pending": pending, "landed": landed})


def _done(data: dict[str, Any]) -> DoneSync:
    merged = tuple(MergeRecord.from_json(record) for record in data["merged"])
    return DoneSync(**{**data, "merged": merged})


def _read[T](file: Path, build: Callable[[dict[str, Any]], T]) -> T | None:
    try:
        return build(json.loads(file.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{file}: not JSON ({error}); it was not written by this program") from error
    except (KeyError, TypeError) as error:
        raise Refusal(
            f"{file}: not a record of this version of the program ({error!r}); move it away"
        ) from error


def _write(file: Path, data: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(".new")
    with temporary.open("w", encoding="utf-8") as stream:
        json.dump(data, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)
