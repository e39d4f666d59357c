"""Where a command works: the repository, the series and main, as the options name them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from carry.carried import Carrier
from stack.repository import Repository


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
    def read(self) -> Iterator[tuple[Repository, Carrier]]:
        """The same, with a temporary object folder: whatever is computed leaves no trace."""
        carrier = Carrier.open(self.series)
        with (
            tempfile.TemporaryDirectory() as folder,
            Repository.open(self.repo, Path(folder)) as repository,
        ):
            yield repository, carrier
