"""What the site says of each PR, read off the branches' own history."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series.inspect import BranchStatus
from merge_series.records import SettledFile
from merge_series.review.alone import Alone, alone
from merge_series.review.commits import Commit, read_commits
from merge_series.review.description import Description, describe
from merge_series.review.foundation import lay
from merge_series.review.since import Since, Step, since, step
from merge_series.review.standing import Standing, stand
from merge_series.review.synced import told
from stack.merging import merge_trees
from stack.repository import Repository

if TYPE_CHECKING:
    from stack.git_answers import Sha

# A page for each pair of heads is about the square of this; the oldest is always among them.
MOST_HEADS = 16


@dataclass(frozen=True, slots=True)
class Sync:
    """A merge on a PR's own line, by which a sync brought something in.

    Attributes:
        step: The merge, and what it did beyond git's own.
        subjects: First line of the message of each commit that it merged.
        settled: Files that git left in conflict, each with how it was settled.
    """

    step: Step
    subjects: tuple[str, ...]
    settled: tuple[SettledFile, ...]


@dataclass(frozen=True, slots=True)
class Clash:
    """What git alone could not merge if a branch took in now what it lacks.

    Attributes:
        name: What it lacks: ``main``, or a PR.
        behind: How many commits of it.
        paths: Files that would be in conflict.
    """

    name: str
    behind: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """A PR's branch.

    Attributes:
        alone: The PR alone.
        syncs: Its syncs, newest first.
        heads: Where it has stood, oldest first; at most ``MOST_HEADS``.
        left_out: How many of its heads are not among these.
        clashes: What it lacks, and what would conflict.
    """

    alone: Alone
    syncs: tuple[Sync, ...]
    heads: tuple[Commit, ...]
    left_out: int
    clashes: tuple[Clash, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """What the site says of a PR.

    Attributes:
        description: Its text and facts.
        status: Where its branch stands.
        branch: The branch; None if the PR is no longer open and its branch is gone.
    """

    description: Description
    status: BranchStatus
    branch: Branch | None


class Reader:
    """Reads what the site says.

    Args:
        repository: The fork, opened with a temporary object folder.
        carrier: The series.
        main_name: The revision that is main.
        part_of: The issue that the series is part of.
    """

    def __init__(
        self, repository: Repository, carrier: Carrier, main_name: str, part_of: str | None
    ) -> None:
        self._repository = repository
        self._carrier = carrier
        self._scanner = ReadScanner(repository)
        self._main_name = main_name
        self._part_of = part_of
        self._steps: dict[Sha, Step] = {}

    def page(self, status: BranchStatus) -> Page:
        """Read what there is to say of one PR.

        Raises:
            Refusal: An open PR has no branch, or its history cannot be read.
        """
        pull_request = status.pull_request
        description = describe(
            self._repository, self._carrier, self._scanner,
            self._main_name, pull_request, self._part_of,
        )  # fmt: skip
        if description.synced is None:
            return Page(description, status, None)
        standing = stand(self._repository, self._carrier, self._main_name, pull_request)
        return Page(description, status, self._branch(standing, is_synced=status.is_synced))

    def between(self, branch: Branch) -> Iterator[tuple[Commit, Commit, Since]]:
        """What there is to read between any two of a branch's heads, the older named first."""
        for old, new in combinations(branch.heads, 2):
            standing = replace(branch.alone.standing, head=new.sha)
            yield old, new, since(self._repository, standing, old.sha, self._steps)

    def _branch(self, standing: Standing, *, is_synced: bool) -> Branch:
        foundation = lay(self._repository, self._carrier, self._scanner, standing)
        line = read_commits(self._repository, "--first-parent", standing.head, *standing.others)
        every = heads_of(line)
        heads = most_of(every)
        return Branch(
            alone(self._repository, standing, foundation),
            tuple(self._sync(standing, merge) for merge in reversed(line) if merge.is_merge),
            heads,
            len(every) - len(heads),
            self._clashes(standing) if is_synced else (),
        )

    def _sync(self, standing: Standing, merge: Commit) -> Sync:
        if merge.sha not in self._steps:
            self._steps[merge.sha] = step(self._repository, standing, merge)
        known = self._steps[merge.sha]
        subjects = (self._repository.message(sha).partition("\n")[0] for _, sha in known.merged)
        return Sync(known, tuple(subjects), told(merge, known.conflicts))

    def _clashes(self, standing: Standing) -> tuple[Clash, ...]:
        return tuple(
            Clash(
                part.name,
                part.behind,
                tuple(
                    dict.fromkeys(
                        conflict.path
                        for conflict in merge_trees(
                            self._repository, standing.head, part.newest
                        ).conflicts
                    )
                ),
            )
            for part in standing.parts
            if part.behind
        )


def heads_of(line: tuple[Commit, ...]) -> tuple[Commit, ...]:
    """The commits that a branch has stood at: where a merge began, each merge, and its head.

    Args:
        line: The PR's own commits along first parents, parents first.
    """
    return tuple(
        commit
        for place, commit in enumerate(line)
        if commit.is_merge or all(later.is_merge for later in line[place + 1 : place + 2])
    )


def most_of(heads: tuple[Commit, ...]) -> tuple[Commit, ...]:
    """The first and the newest of a branch's heads, ``MOST_HEADS`` in all."""
    return heads if len(heads) <= MOST_HEADS else (heads[0], *heads[1 - MOST_HEADS :])
