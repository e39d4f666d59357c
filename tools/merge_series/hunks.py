"""The places where two texts differ, as git tells them."""

import re
from dataclasses import dataclass

from stack.git_answers import Sha
from stack.repository import Repository

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place where two texts differ: ``count`` lines from ``first``, old and new.

    With a count of 0 nothing stands there on that side, and ``first`` is the line before.
    """

    old_first: int
    old_count: int
    new_first: int
    new_count: int

    @property
    def offset(self) -> int:
        """By how much it moves what lies below it."""
        return self.new_count - self.old_count

    @property
    def old(self) -> slice:
        """Its lines in the list of the old text's."""
        return _lines(self.old_first, self.old_count)

    @property
    def new(self) -> slice:
        """Its lines in the list of the new text's."""
        return _lines(self.new_first, self.new_count)


def _lines(first: int, count: int) -> slice:
    start = first - 1 if count else first
    return slice(start, start + count)


def parse_hunks(diff: bytes) -> tuple[Hunk, ...]:
    """Read the hunks of a diff without context lines."""
    return tuple(
        Hunk(*(1 if number is None else int(number) for number in match.groups()))
        for match in _HUNK.finditer(diff)
    )


def hunks_between(repository: Repository, old: Sha, new: Sha) -> tuple[Hunk, ...]:
    """Where two blobs differ, whatever settings and attributes say."""
    return parse_hunks(
        repository.run(
            "diff", "--no-ext-diff", "--no-textconv", "--text", "--no-color", "--unified=0",
            "--inter-hunk-context=0", "--diff-algorithm=histogram", old, new,
        ).stdout
    )  # fmt: skip
