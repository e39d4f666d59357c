"""What is kept between runs, below ``merge_series`` in the repository's git directory.

``stopped.json``  a sync that waits for a person; written before the worktree is made, removed last
``worktree``      where that person works
``done/N.json``   an operation that moved refs; see ``journal``
``lock``          held by the run under way; the operating system frees it when a process dies
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from merge_series.journal import DoneSync, FileChange, Journal
from merge_series.kept import read_json, remove_unfinished, write_json
from merge_series.records import Beyond, BroughtMain, MergeRecord, Said, SettledFile
from merge_series.transaction import carry_out, repair
from merge_series.worktrees import followers
from stack.errors import ExitCode, Refusal
from stack.git_answers import Sha
from stack.lock import lock_repository, state_folder
from stack.refs import heads
from stack.repository import Repository


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
        beyond: Beyond what it is merged; None if beyond the merge base.
        trailers: What the end of its message records, a line each.
        brought: What a dependency brings of main.
    """

    branch: str
    source: str
    ours: Sha
    theirs: Sha
    settled: tuple[SettledFile, ...]
    unsettled: dict[str, str]
    beyond: Beyond | None = None
    trailers: tuple[str, ...] = ()
    brought: BroughtMain | None = None


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
        said: What a person said of PRs that landed.
        update_worktrees: Whether branches follow where they are checked out.
        told: What was told of merges ahead, a text each.
    """

    main_name: str
    main: Sha
    heads: dict[str, Sha]
    merged: tuple[MergeRecord, ...]
    pending: Pending
    state: Literal["preparing", "waiting"]
    said: Said = field(default_factory=Said)
    update_worktrees: bool = False
    told: tuple[str, ...] = ()


class Operations:
    """The state kept in one repository.

    Args:
        repository: The fork.
        update_worktrees: Whether worktrees that have a moving branch checked out follow it.

    Attributes:
        folder: Where the state is kept.
        journal: The operations that moved refs.
        update_worktrees: As given.
    """

    def __init__(self, repository: Repository, *, update_worktrees: bool = False) -> None:
        self._repository = repository
        self._lock: tuple[int, ...] = ()
        self.folder = state_folder(repository)
        self.journal = Journal(self.folder / "done")
        self.update_worktrees = update_worktrees

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
        with lock_repository(self._repository) as descriptor:
            self._lock = (descriptor,)
            try:
                yield
            finally:
                self._lock = ()

    def stopped(self) -> StoppedSync | None:
        """The sync that waits for a person, if any."""
        return read_json(self.folder / "stopped.json", _stopped)

    def stop(self, stopped: StoppedSync) -> None:
        """Keep a sync that waits for a person."""
        write_json(self.folder / "stopped.json", asdict(stopped))

    def refuse_inside(self) -> None:
        """Refuse to go on where git, or this process, would stand in a folder that is removed.

        Raises:
            Refusal: The current folder or the repository's is the worktree or lies in it.
        """
        here = (Path.cwd(), self._repository.directory.resolve())
        if any(folder.is_relative_to(self.worktree) for folder in here):
            common = self._repository.common_directory
            raise Refusal(
                f"{self.worktree}: this worktree is removed before the sync goes on or ends, so "
                "neither run this in it nor name it with --repo; go to "
                f"{common.parent if common.name == '.git' else common}",
                ExitCode.WAITING,
            )

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
        """Remove what is kept of a stopped sync, if any: its worktree first, its record last."""
        record = self.folder / "stopped.json"
        if record.exists():
            self.remove_worktree()
            record.unlink()

    def done(self) -> tuple[DoneSync, ...]:
        """The operations that moved refs, oldest first."""
        return self.journal.done()

    def move(  # noqa: PLR0913, PLR0917 - what a record is made of
        self,
        operation: str,
        main: Sha,
        old: Mapping[str, Sha | None],
        new: Mapping[str, Sha],
        merged: tuple[MergeRecord, ...] = (),
        files: tuple[FileChange, ...] = (),
    ) -> DoneSync:
        """Move or make branches in one transaction, and keep a record that ``undo`` goes by.

        Args:
            operation: Its name, such as ``fold``.
            main: The commit of main it worked with.
            old: Heads before, by branch; None makes the branch.
            new: Heads after, of the same branches.
            merged: Its merges, if any.
            files: Files outside the repository, written when the branches have moved.

        Raises:
            Refusal: As for ``carry_out``.
        """
        number = self.journal.next_number()
        worktrees = followers(self._repository, new) if self.update_worktrees else {}
        return self.carry_out(
            DoneSync(
                number, main, "moving", dict(old), dict(new), merged, operation, files, worktrees
            )
        )

    def carry_out(self, record: DoneSync) -> DoneSync:
        """Make the move that a record's state says is under way.

        Raises:
            Refusal: A ref has moved meanwhile, a branch was checked out, or a hook refused; then
                none has moved.
        """
        return carry_out(self._repository, self.journal, record, self._lock)

    def repair(self) -> str | None:
        """Finish or drop a transaction in whose middle an earlier run was killed.

        Returns:
            A sentence on what was found and done, or None.

        Raises:
            Refusal: A ref stands where neither the old nor the new head is, or one that is to be
                moved is checked out.
        """
        # Not in the worktree, where files of any name are the person's.
        remove_unfinished(self.folder, self.folder / "done", self.folder / "resolutions")
        found = repair(self._repository, self.journal, self._lock)
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


def _stopped(data: dict[str, Any]) -> StoppedSync:
    merged = tuple(MergeRecord.from_json(record) for record in data["merged"])
    settled = tuple(SettledFile(**file) for file in data["pending"]["settled"])
    beyond = data["pending"].get("beyond")
    beyond = None if beyond is None else Beyond.from_json(beyond)
    trailers = tuple(data["pending"].get("trailers", ()))
    brought = BroughtMain.from_json(data["pending"].get("brought"))
    told = tuple(data.get("told", ()))
    more = {"settled": settled, "beyond": beyond, "trailers": trailers, "brought": brought}
    pending = Pending(**{**data["pending"], **more})
    said = Said.from_json(data["said"])
    return StoppedSync(**{**data, "merged": merged, "pending": pending, "said": said, "told": told})
