"""Three texts merged by git, with what is left in conflict as data, not as marker lines."""

import io
import tempfile
from dataclasses import dataclass
from pathlib import Path

import git

_MARKS = b"<|=>"
_SHORTEST = 61  # longer than any line that people draw with these characters
_BINARY = 255


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that both sides changed, each with its line end.

    Attributes:
        base: What stood there.
        ours: What the first side made of it.
        theirs: What the second side made of it.
    """

    base: tuple[bytes, ...]
    ours: tuple[bytes, ...]
    theirs: tuple[bytes, ...]


Piece = bytes | Hunk  # a line that is merged, or a conflict


def merge_lines(base: bytes, ours: bytes, theirs: bytes) -> list[Piece] | None:
    """Merge three texts, each of which is empty or ends with a line end.

    Returns:
        The merged lines with the conflicts between them; None for texts that git calls binary.
    """
    size = _SHORTEST
    while any(bytes([mark]) * size in text for text in (base, ours, theirs) for mark in _MARKS):
        size *= 2
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
            (Path(folder) / name).write_bytes(text)
        status, out, _ = git.Git(Path(folder)).execute(
            ["git", "merge-file", "-p", "--quiet", "--zdiff3", f"--marker-size={size}",
             "ours", "base", "theirs"],
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
        )  # fmt: skip
    return None if status == _BINARY else _pieces(lines_of(bytes(out)), size)


def one_sided[T](base: T, ours: T, theirs: T) -> T | None:
    """What became of a thing that one side changed, or both in the same way; None of any other."""
    if ours in (base, theirs):
        return theirs
    return ours if theirs == base else None


def lines_of(text: bytes) -> list[bytes]:
    """The lines of a text with their ends; as for git, a line ends at LF alone."""
    return io.BytesIO(text).readlines()


def _pieces(lines: list[bytes], size: int) -> list[Piece]:
    # No text holds a run of so many of these characters, so such a line is git's own.
    openings = [bytes([mark]) * size for mark in _MARKS]
    pieces: list[Piece] = []
    parts: list[list[bytes]] = []
    for line in lines:
        kind = next((n for n, opening in enumerate(openings) if line.startswith(opening)), None)
        if kind is None:
            if parts:
                parts[-1].append(line)
            else:
                pieces.append(line)
        elif kind < len(openings) - 1:
            parts.append([])
        else:
            ours, base, theirs = map(tuple, parts)
            pieces.append(Hunk(base, ours, theirs))
            parts = []
    return pieces
