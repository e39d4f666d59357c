"""The declared stack: pull requests, their commits and what they depend on."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

State = Literal["open", "draft", "landed", "superseded"]


@dataclass(frozen=True, slots=True)
class SeriesCommit:
    """One commit of a PR as SERIES.md declares it.

    Attributes:
        number: Position within the PR, from 1; edits name it.
        subject: First line of the commit message.
        body: The rest of the message, without a trailing newline; may be empty.
        adds: Paths of new files the commit brings, as they stand in this repository.
        regenerates: Paths of generated files that the commit brings up to date.
        line: Line of SERIES.md the commit is declared on, from 1.
    """

    number: int
    subject: str
    body: str
    adds: tuple[str, ...]
    regenerates: tuple[str, ...]
    line: int

    @property
    def message(self) -> str:
        """The commit message, without trailers."""
        return f"{self.subject}\n\n{self.body}\n" if self.body else f"{self.subject}\n"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """One row of the table in SERIES.md with its section.

    Attributes:
        number: Megatron-LM's number of the PR.
        branch: Short branch name, such as ``expert-offsets``.
        depends_on: Numbers of the PRs it depends on, in declared order; empty when it depends on
            main alone.
        title: Title of the PR.
        state: ``open``, ``draft``, ``landed`` or ``superseded``.
        brings: What a merge of this PR into another says it brings; the title if not declared.
        texts: Section texts by heading: ``Why``, ``What``, ``Tests``, ``Compatibility``.
        commits: Declared commits in order; empty for a branch that people write by hand.
        line: Line of SERIES.md the row stands on, from 1.
    """

    number: int
    branch: str
    depends_on: tuple[int, ...]
    title: str
    state: State
    brings: str
    texts: dict[str, str]
    commits: tuple[SeriesCommit, ...]
    line: int

    @property
    def name(self) -> str:
        """The PR as people write it, such as ``#8045``."""
        return f"#{self.number}"


@dataclass(frozen=True)
class Series:
    """The whole stack.

    Attributes:
        pull_requests: The PRs by number, in topological order (dependencies first; otherwise as
            declared).
    """

    pull_requests: dict[int, PullRequest]

    def __iter__(self) -> Iterator[PullRequest]:
        """Iterate over the PRs, dependencies first."""
        return iter(self.pull_requests.values())

    def dependencies(self, pull_request: PullRequest) -> tuple[PullRequest, ...]:
        """The PRs that ``pull_request`` depends on directly, in declared order."""
        return tuple(self.pull_requests[number] for number in pull_request.depends_on)

    def closure(self, *pull_requests: PullRequest) -> tuple[PullRequest, ...]:
        """The given PRs with all they depend on, directly or not, in topological order."""
        wanted = {pull_request.number for pull_request in pull_requests}
        for pull_request in pull_requests:
            wanted.update(*(self.held[number] for number in pull_request.depends_on))
        return tuple(pr for number, pr in self.pull_requests.items() if number in wanted)

    @cached_property
    def held(self) -> dict[int, frozenset[int]]:
        """Each PR with all it depends on, directly or not, by number."""
        held: dict[int, frozenset[int]] = {}
        for number, pull_request in self.pull_requests.items():
            held[number] = frozenset([number]).union(*(held[n] for n in pull_request.depends_on))
        return held

    @property
    def generated(self) -> tuple[str, ...]:
        """Paths of the generated files of the series, in the order they are first named."""
        paths = (p for pr in self for commit in pr.commits for p in commit.regenerates)
        return tuple(dict.fromkeys(paths))
