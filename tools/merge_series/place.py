"""Where a command works: the repository, the series and main, as the options name them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from carry.carried import Carrier
from merge_series.lost import refuse_lost
from merge_series.operations import Operations
from merge_series.plan import refuse_shallow, resolve_main
from merge_series.stopped import refuse_stopped
from stack.console import people
from stack.git_answers import Sha
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command works."""

    repo: Path
    series: Path
    main: str

    @contextmanager
    def open(self) -> Iterator[tuple[Repository, Carrier]]:
        """The repository and the series.

        Raises:
            Refusal: The clone is shallow, so nothing that is read off its history would be true.
        """
        carrier = Carrier.open(self.series)
        with Repository.open(self.repo) as repository:
            refuse_shallow(repository)
            yield repository, carrier

    @contextmanager
    def read(self) -> Iterator[tuple[Repository, Carrier]]:
        """The same, with a temporary object folder: whatever is computed leaves no trace.

        Raises:
            Refusal: As for ``open``.
        """
        carrier = Carrier.open(self.series)
        with self._traceless() as repository:
            refuse_shallow(repository)
            yield repository, carrier

    @contextmanager
    def at_work(
        self, *, is_kept: bool = True, update_worktrees: bool = False
    ) -> Iterator[tuple[Repository, Operations]]:
        """The repository, held by this run, with what a killed one left repaired.

        If nothing is kept, it is neither held nor repaired, and what is written is dropped.
        """
        if not is_kept:
            with self._traceless() as repository:
                yield repository, Operations(repository)
            return
        with Repository.open(self.repo) as repository:
            operations = Operations(repository, update_worktrees=update_worktrees)
            with operations.lock():
                found = operations.repair()
                if found:
                    people.print(f"Repaired: {found}.")
                yield repository, operations

    @contextmanager
    def begin(self, *, is_kept: bool) -> Iterator[tuple[Repository, Carrier, Operations, Sha]]:
        """What a new operation on the branches needs; if not kept, what it writes is dropped.

        Raises:
            Refusal: Another run holds the repository, a sync waits for a person, or main or a
                branch lost commits.
        """
        carrier = Carrier.open(self.series)
        with self.at_work(is_kept=is_kept) as (repository, operations):
            refuse_stopped(operations)
            refuse_shallow(repository)
            main = resolve_main(repository, carrier, self.main)
            refuse_lost(repository, carrier, operations, self.main, main)
            yield repository, carrier, operations, main

    @contextmanager
    def _traceless(self) -> Iterator[Repository]:
        with (
            tempfile.TemporaryDirectory() as folder,
            Repository.open(self.repo, Path(folder)) as repository,
        ):
            yield repository
