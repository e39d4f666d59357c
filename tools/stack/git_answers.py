"""What git takes and answers, as the tools hold it.

Paths inside a repository are ``str`` in which bytes that are not UTF-8 stand as surrogate escapes,
so every path that git can hold goes in and out unchanged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NewType

from stack.errors import Refusal

Sha = NewType("Sha", str)


@dataclass(frozen=True, slots=True)
class Entry:
    """What a tree holds at one path: a mode such as ``100644`` and an object id."""

    mode: str
    oid: Sha


@dataclass(frozen=True, slots=True)
class Answer:
    """What a git command answered."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        """Standard output as text, without the line end."""
        return decode(self.stdout).rstrip("\n")


class GitFailure(Refusal):
    """A git command failed where no failure was expected.

    Args:
        command: Arguments of the command, without ``git``.
        answer: Its exit status and output.
    """

    def __init__(self, command: Sequence[str], answer: Answer) -> None:
        what = " ".join(answer.stderr.split()) or decode(answer.stdout).strip() or "no message"
        super().__init__(f"git {_name(command)} failed with status {answer.status}: {what}")
        self.command = tuple(command)
        self.answer = answer


def _name(command: Sequence[str]) -> str:
    """The command itself, behind options of git such as ``-c name=value``."""
    left = list(command)
    while left[0].startswith("-"):
        del left[: 2 if left[0] in {"-c", "-C"} else 1]
    return left[0]


def decode(data: bytes) -> str:
    """Bytes from git as text; ``encode`` gives the same bytes back."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Text as the bytes git gave or expects."""
    return text.encode("utf-8", "surrogateescape")


def shown(path: str) -> str:
    """A path as people read it: quoted as git does where it holds what cannot be printed."""
    if path.isprintable():
        return path
    special = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
    parts = [special.get(char) or (char if char.isprintable() else _octal(char)) for char in path]
    return f'"{"".join(parts)}"'


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in encode(char))
