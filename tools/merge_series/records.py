"""What a sync did, in a form that is printed, kept and read again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from stack.git_answers import Sha
from stack.words import counted


@dataclass(frozen=True, slots=True)
class SettledFile:
    """A file that conflicted, or a generated one that was made again.

    Attributes:
        path: Path in the tree.
        how: How it was settled, as a phrase: ``the edits of #8045 applied to main's text``.
        conflicted: Whether git left a conflict; a generated file may also be stale without.
    """

    path: str
    how: str
    conflicted: bool


class Answer(StrEnum):
    """What a person wants of the lines of a PR that landed and that main reverts."""

    KEEP = "keep"
    LET_GO = "let-go"


@dataclass(frozen=True, slots=True)
class Said:
    """What a person says of PRs that landed, for one sync.

    Attributes:
        landed: The commit of main that ends a PR's landing, by its number.
        reverted: What becomes of a PR whose landing main reverts.
    """

    landed: Mapping[int, str] = field(default_factory=dict)
    reverted: Mapping[int, Answer] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """What JSON holds of it."""
        return cls(
            {int(number): sha for number, sha in data["landed"].items()},
            {int(number): Answer(answer) for number, answer in data["reverted"].items()},
        )


@dataclass(frozen=True, slots=True)
class Beyond:
    """What a merge is of, where it is of what a commit has beyond another than the merge base.

    Attributes:
        base: A commit whose tree is the base; it need be on no branch.
        source: What is merged, as people name it: ``#6258 as landed``.
        subject: First line of the merge's message.
        body: What the message says of it further, without trailers.
        absorbs: Heads whose commits the branch has in another form by this merge.
        kept: A commit whose tree is another base, by which the branch keeps more of what it has.
            What that makes a difference to is for a person. None if there is nothing to ask.
    """

    base: Sha
    source: str
    subject: str
    body: str
    absorbs: tuple[Sha, ...] = ()
    kept: Sha | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """What JSON holds of it."""
        return cls(**{**data, "absorbs": tuple(data["absorbs"])})


@dataclass(frozen=True, slots=True)
class AllowlistChange:
    """What a merge did to the allowlist.

    Attributes:
        before: Reads the branch allowed before.
        after: Reads it allows now.
        added: New reads that the merged side brought, one text each.
        gone: How many reads there are no more.
    """

    before: int
    after: int
    added: tuple[str, ...]
    gone: int


@dataclass(frozen=True, slots=True)
class BroughtMain:
    """What the merge of a dependency brings of main.

    Attributes:
        count: How many commits.
        commit: The newest of them.
    """

    count: int
    commit: Sha

    def __str__(self) -> str:
        """It as a phrase."""
        return f"{counted(self.count, 'commit')} of main up to {self.commit[:12]}"

    @classmethod
    def from_json(cls, data: dict[str, Any] | None) -> Self | None:
        """It as JSON holds it; None if nothing."""
        return None if data is None else cls(**data)


@dataclass(frozen=True, slots=True)
class MergeRecord:
    """One merge commit of a sync.

    Attributes:
        branch: The branch it is on.
        source: ``main``, or the PR merged, such as ``#6258``.
        ours: Head of the branch before.
        theirs: The commit merged in.
        commit: The merge commit; the branch's new head.
        subject: First line of its message.
        settled: Files that git alone did not settle.
        allowlist: What became of the allowlist; None where the branch has none.
        brought: What a dependency brought of main.
    """

    branch: str
    source: str
    ours: Sha
    theirs: Sha
    commit: Sha
    subject: str
    settled: tuple[SettledFile, ...] = field(default=())
    allowlist: AllowlistChange | None = None
    brought: BroughtMain | None = None

    def to_json(self) -> dict[str, Any]:
        """The record as JSON holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The record that ``to_json`` wrote."""
        listed = data["allowlist"]
        change = None
        if listed is not None:
            change = AllowlistChange(**{**listed, "added": tuple(listed["added"])})
        settled = tuple(SettledFile(**file) for file in data["settled"])
        brought = BroughtMain.from_json(data.get("brought"))
        return cls(**{**data, "settled": settled, "allowlist": change, "brought": brought})

    @property
    def conflicts(self) -> tuple[SettledFile, ...]:
        """The files that git left in conflict."""
        return tuple(file for file in self.settled if file.conflicted)
