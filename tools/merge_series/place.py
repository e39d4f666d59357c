"""Where a command works: the repository, the series and main."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from carry.carried import Carrier
from merge_series.operations import Operations
from merge_series.plan import refuse_shallow, resolve_main
from merge_series.sync import refuse_stopped
from stack.console import people
from stack.repository import Repository, Sha


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command works."""

    repo: Path
    series: Path
    main: str

    @contextmanager
    def open(self) -> Iterator[tuple[Repository, Carrier]]:
        """The repository and the series."""
        carrier = Carrier.open(self.series)
        with Repository.open(self.repo) as repository:
            yield repository, carrier

    @contextmanager
    def begin(self, *, is_kept: bool) -> Iterator[tuple[Repository, Carrier, Operations, Sha]]:
        """What an operation on the branches needs; if not kept, what it writes is dropped.

        Raises:
            Refusal: Another run holds the repository, or a sync waits for a person.
        """
        carrier = Carrier.open(self.series)
        with tempfile.TemporaryDirectory() as folder:
            objects = None if is_kept else Path(folder)
            with Repository.open(self.repo, objects) as repository:
                operations = Operations(repository)
                with operations.lock() if is_kept else nullcontext():
                    found = operations.repair() if is_kept else None
                    if found:
                        people.print(f"Repaired: {found}.")
                    refuse_stopped(operations)
                    refuse_shallow(repository)
                    yield (
                        repository,
                        carrier,
                        operations,
                        resolve_main(repository, carrier, self.main),
                    )
