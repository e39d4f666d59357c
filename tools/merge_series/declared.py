"""A change to SERIES.md: shown, and written as a whole or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from carry.carried import Carrier
from merge_series.journal import FileChange
from merge_series.kept import write_whole
from merge_series.text_diff import unified_diff
from stack.errors import Refusal
from stack.git_answers import decode
from stack.model import State
from stack.series_edit import with_state
from stack.series_file import parse_series


@dataclass(frozen=True, slots=True)
class Rewrite:
    """SERIES.md before and after a change.

    Attributes:
        path: The file, as the user named it.
        before: Its bytes.
        after: Its new bytes.
    """

    path: Path
    before: bytes
    after: bytes

    @property
    def diff(self) -> str:
        """What changes, as ``diff -u`` writes it; empty where nothing does."""
        old, new = (data.decode("utf-8", "replace") for data in (self.before, self.after))
        return unified_diff(str(self.path), old, new)

    @property
    def change(self) -> FileChange:
        """The change as an operation on the branches carries it out and takes it back."""
        return FileChange(str(self.path.resolve()), decode(self.before), decode(self.after))

    def carrier(self, carrier: Carrier) -> Carrier:
        """The series as it is declared then."""
        series = parse_series(self.after.decode("utf-8-sig"), str(self.path))
        return replace(carrier, series=series)

    def write(self) -> None:
        """Replace the file, where no branch moves.

        Raises:
            Refusal: It is not what it was when it was read.
        """
        target = self.path.resolve()
        if target.read_bytes() != self.before:
            raise Refusal(f"{self.path}: the file was changed meanwhile; run again")
        write_whole(target, self.after)


def with_states(path: Path, states: Mapping[int, State]) -> Rewrite:
    """SERIES.md with other states of PRs, by number: only their State cells change."""
    before = path.read_bytes()
    after = before
    for state in dict.fromkeys(states.values()):
        numbers = [number for number, wanted in states.items() if wanted == state]
        after = with_state(after, str(path), numbers, state)
    return Rewrite(path, before, after)
