"""What the branches hold beyond main, read once: every commit, and which branches hold it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter

from stack.git_answers import Sha, decode
from stack.repository import Repository

# The trailers: each names a head whose commits main has in another form, or a commit of main and
# the PR that it reverts and the branch keeps, or lets go, or a commit of main whose revert is kept
# out of the branch, or the older form of a PR that a merge of it replaces.
ABSORBS = "Absorbs"
OVERRULES = "Overrules"
FOLLOWS = "Follows"
KEEPS = "Keeps"
REPLACES = "Replaces"

# What subjects say: a merge that brings a PR into another, a host's merge of one into main, and the
# merge by which a branch has one as it landed.
BROUGHT = re.compile(r"^Merge .* from #([1-9][0-9]*)$")
MERGED_BY_HOST = re.compile(r"^Merge pull request #([1-9][0-9]*) from ")
_TAKEN_AS_LANDED = re.compile(
    r"^(?:Record that|Merge) (#[1-9][0-9]*(?: and #[1-9][0-9]*)*) "
    r"(?:as (?:it|they) )?landed in main$"
)

_FORMAT = "%H%x00%P%x00%an <%ae> %at%x00%s" + "".join(
    f"%x00%(trailers:key={key},valueonly,separator=%x20)" for key in (ABSORBS, OVERRULES, FOLLOWS)
)
_FIELDS = 7
_REVERTED = re.compile(r"([0-9a-f]{40,64}) #([1-9][0-9]*)")


def taken_as_landed(subject: str, absorbs: Iterable[Sha]) -> dict[int, Sha]:
    """The PRs that a merge takes as they landed, by number, each with its head."""
    said = _TAKEN_AS_LANDED.match(subject)
    numbers = [] if said is None else [int(name[1:]) for name in said[1].split(" and ")]
    return dict(zip(numbers, absorbs, strict=False))


type Reverted = tuple[Sha, int]


def _reverted(trailers: str) -> frozenset[Reverted]:
    return frozenset((Sha(sha), int(number)) for sha, number in _REVERTED.findall(trailers))


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit.

    Attributes:
        sha: Its id.
        parents: Its parents' ids.
        author: Who wrote it and when, which a rebase keeps.
        subject: First paragraph of its message.
        absorbs: Heads that it says main has in another form.
        overrules: Reverts on main, each with the number of the PR that the branch keeps.
        follows: Reverts on main, each with the number of the PR that the branch lets go.
    """

    sha: Sha
    parents: tuple[Sha, ...]
    author: str
    subject: str
    absorbs: tuple[Sha, ...]
    overrules: frozenset[Reverted]
    follows: frozenset[Reverted]

    @property
    def is_merge(self) -> bool:
        """Whether it has several parents."""
        return len(self.parents) > 1


@dataclass(frozen=True)
class History:
    """The commits that branches hold beyond main.

    Attributes:
        heads: Heads by PR number.
        commits: The commits by id, children before parents.
        held: For each commit, the PRs whose branches hold it, as bits in the order of ``heads``.
    """

    heads: dict[int, Sha]
    commits: dict[Sha, Commit]
    held: dict[Sha, int]

    @classmethod
    def read(cls, repository: Repository, heads: Mapping[int, Sha], main: Sha) -> "History":
        """Read what the heads hold that ``main`` does not."""
        if not heads:
            return cls({}, {}, {})
        answer = repository.run(
            "log", "--topo-order", "-z", f"--format={_FORMAT}", *heads.values(), f"^{main}", "--"
        )
        fields = decode(answer.stdout).split("\0")
        commits = {}
        for at in range(0, len(fields) - 1, _FIELDS):
            sha, parents, author, subject, absorbs, *reverts = fields[at : at + _FIELDS]
            commits[Sha(sha)] = Commit(
                Sha(sha),
                tuple(map(Sha, parents.split())),
                author,
                subject,
                tuple(map(Sha, absorbs.split())),
                *map(_reverted, reverts),
            )
        held = dict.fromkeys(commits, 0)
        for bit, head in enumerate(heads.values()):
            if head in held:
                held[head] |= 1 << bit
        for sha, commit in commits.items():
            for parent in commit.parents:
                if parent in held:
                    held[parent] |= held[sha]
        return cls(dict(heads), commits, held)

    def holders(self, commit: Sha) -> frozenset[int]:
        """The PRs whose branches hold a commit."""
        return frozenset(n for n, bit in self._bits.items() if self.held[commit] & bit)

    def mask(self, numbers: Iterable[int]) -> int:
        """PRs as the bits that ``held`` has; those without a branch have none."""
        return sum(self._bits.get(number, 0) for number in set(numbers))

    @cached_property
    def _bits(self) -> dict[int, int]:
        return {number: 1 << place for place, number in enumerate(self.heads)}

    @cached_property
    def _by_holders(self) -> dict[int, list[tuple[int, Commit]]]:
        """The commits that are no merges, each with its place, by their holders as bits."""
        grouped: dict[int, list[tuple[int, Commit]]] = {}
        for place, (sha, commit) in enumerate(reversed(self.commits.items())):
            if not commit.is_merge:
                grouped.setdefault(self.held[sha], []).append((place, commit))
        return grouped

    def own(self, number: int, below: Iterable[int]) -> tuple[Commit, ...]:
        """The commits of a PR that no PR in ``below`` holds, merges left out, oldest first."""
        mine = self.mask([number])
        asked = self.mask(below) | mine
        groups = (group for held, group in self._by_holders.items() if held & asked == mine)
        return tuple(commit for _, commit in sorted(chain.from_iterable(groups), key=itemgetter(0)))

    def first_parents(self, tip: Sha) -> set[Sha]:
        """The commits here on the first-parent history of one of them."""
        line = set()
        while tip in self.commits:
            line.add(tip)
            tip = self.commits[tip].parents[0]
        return line

    def reached(self, starts: Iterable[Sha]) -> set[Sha]:
        """The commits here that ``starts`` contain."""
        reached: set[Sha] = set()
        pending = [start for start in starts if start in self.commits]
        while pending:
            sha = pending.pop()
            if sha not in reached:
                reached.add(sha)
                pending.extend(p for p in self.commits[sha].parents if p in self.commits)
        return reached
