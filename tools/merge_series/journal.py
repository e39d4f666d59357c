"""What an operation writes outside the repository."""

from dataclasses import dataclass


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
