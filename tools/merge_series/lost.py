"""What an earlier operation left and is no longer there: a branch's head, or main's commit.

Branches only gain commits, and main does. One that was rebased, amended or reset has lost some, and
a sync would go on from there as if they had never been.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.checks import Check
from merge_series.left import Left, left_heads, left_main
from merge_series.operations import Operations
from merge_series.plan import sources, synced_pull_requests
from stack.ancestry import Ancestry
from stack.command_line import typed
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest
from stack.refs import heads
from stack.repository import Repository


def refuse_lost(
    repository: Repository, carrier: Carrier, operations: Operations, main_name: str, main: Sha
) -> None:
    """Refuse where main or a branch lost commits.

    Raises:
        Refusal: The first of what ``lost`` says, with what to do.
    """
    for sentence in lost(repository, carrier, operations, main_name, main):
        raise Refusal(sentence)


def lost(
    repository: Repository, carrier: Carrier, operations: Operations, main_name: str, main: Sha
) -> tuple[str, ...]:
    """A sentence on main, if it lost commits, and one on each branch that did, each with advice.

    Args:
        repository: The fork.
        carrier: The series.
        operations: What is kept of earlier operations.
        main_name: The revision that is main.
        main: The commit of main.
    """
    finder = _Finder.read(repository, carrier, operations, main_name, main)
    return (*finder.main_lost(), *finder.rewritten())


def check_main(
    repository: Repository, carrier: Carrier, operations: Operations, main_name: str, main: Sha
) -> Check:
    """What ``verify`` says of main: the sentence that ``lost`` has, if any."""
    finder = _Finder.read(repository, carrier, operations, main_name, main)
    note = "" if finder.old_main else "nothing was synced yet"
    return Check(main_name, "holds what was synced", "".join(finder.main_lost()), note)


@dataclass(frozen=True, slots=True)
class _Finder:
    repository: Repository
    carrier: Carrier
    main_name: str
    main: Sha
    tips: dict[str, Sha]
    left: dict[str, Left]
    old_main: Left | None
    beyond: Ancestry

    @classmethod
    def read(
        cls,
        repository: Repository,
        carrier: Carrier,
        operations: Operations,
        main_name: str,
        main: Sha,
    ) -> "_Finder":
        """Read at once what the branches, and what was left of them, hold beyond main."""
        records = operations.journal.records()
        tips = heads(repository, [pull_request.branch for pull_request in carrier.series])
        left = {b: last for b, last in left_heads(records, carrier.series).items() if b in tips}
        left = {b: last for b, last in left.items() if last.head != tips[b]}
        old_main = left_main(records)
        lines = [last.head for last in left.values()]
        if old_main is not None and old_main.head != main:
            lines.append(old_main.head)
        listed = ""
        if lines:
            lines += [*tips.values(), Sha(f"^{main}"), Sha("")]
            # What git has dropped since is asked for where it matters.
            options = ("--ignore-missing", "--topo-order", "--parents", "--stdin")
            listed = repository.run("rev-list", *options, stdin="\n".join(lines).encode()).text
        beyond = Ancestry(main, listed)
        return cls(repository, carrier, main_name, main, tips, left, old_main, beyond)

    def main_lost(self) -> Iterator[str]:
        """Say it where main lacks the commit of main that the last sync brought."""
        old = self.old_main
        if old is None or self._holds(self.main, old.head):
            return
        name, new = self.main_name, self.main[:12]
        lacks = f"and no longer holds {old.head[:12]}, which {old.when} merged"
        back = f"put {name} back, or take {old.when} back ({typed('merge_series undo')})"
        if self.beyond.contains(old.head, self.main):
            meant = self._holding(old.head)
            if meant:
                yield (
                    f"{name} is at {new} {lacks} and {meant} holds; if {meant} is main, say --main "
                    f"{meant}, else {back}"
                )
                return
            yield (f"{name} went back to {new} {lacks}; {back}, or name another branch with --main")
            return
        alone = [
            pr.branch
            for pr in synced_pull_requests(self.carrier)
            if pr.branch in self.tips and not sources(self.carrier, pr)
        ]
        left = [b for b in alone if not self.beyond.contains(self.tips[b], self.main)]
        if left:
            yield (
                f"{name} was rewritten: it is at {new} {lacks}; {back}, or merge {name} by hand "
                f"into {', '.join(left)}, where what it no longer has is to be settled, then sync "
                "again"
            )

    def _holding(self, head: Sha) -> str:
        """A remote's branch that holds a commit of main and is named like main, if any."""
        listed = self.repository.run(
            "for-each-ref", "--contains", head, "--format=%(refname:lstrip=2)",
            f"refs/remotes/*/{self.main_name}",
        )  # fmt: skip
        return listed.text.partition("\n")[0]

    def rewritten(self) -> Iterator[str]:
        """Say it of each branch that lost commits."""
        for pull_request in synced_pull_requests(self.carrier):
            last = self.left.get(pull_request.branch)
            if last is not None and not self._is_kept(pull_request, last.head):
                yield self._advised(pull_request, last)

    def _is_kept(self, pull_request: PullRequest, head: Sha) -> bool:
        """Whether a head is in the branch, or in one that is not on it: its row was renamed."""
        closure = self.carrier.series.closure
        return any(
            self._holds(self.tips[other.branch], head)
            for other in self.carrier.series
            if other.branch in self.tips
            and (other == pull_request or pull_request not in closure(other))
        )

    def _holds(self, tip: Sha, head: Sha) -> bool:
        """Whether a commit, or main, contains another."""
        if head == self.main:
            return True
        if self.beyond.knows(head):
            is_beyond = tip != self.main and self.beyond.knows(tip)
            return is_beyond and self.beyond.contains(tip, head)
        return self.repository.resolve(head) is not None  # in main

    def _advised(self, pull_request: PullRequest, last: Left) -> str:
        branch, head = pull_request.branch, last.head[:12]
        what = (
            f"branch {branch} was rewritten: it no longer holds {head}, its head {last.when}; "
            "review links into what was pushed of it broke; "
        )
        if self.repository.resolve(last.head) is None:
            return (
                f"{what}this repository does not have that commit any more: fetch it and sync "
                f"again, or go on under another name (git branch -m {branch} NEW, and its row)"
            )
        merges = [f"git merge {commit[:12]}" for commit in self._lacked(pull_request, last.head)]
        keep = " && ".join([*merges, f"git merge -s ours {head}"])
        return (
            f"{what}put it back (git branch -f {branch} {head}) or keep both (on it: {keep}), then "
            "sync again"
        )

    def _lacked(self, pull_request: PullRequest, head: Sha) -> list[Sha]:
        """What a lost head has of main and of dependencies that the branch has not.

        A merge that keeps the branch's files would drop it for good.
        """
        tip, repository = self.tips[pull_request.branch], self.repository
        below = [self.tips.get(source.branch) for source in sources(self.carrier, pull_request)]
        shared = [
            base
            for other in (*below, self.main)
            if other is not None
            for base in repository.merge_bases(head, other)
        ]
        lacked = [sha for sha in dict.fromkeys(shared) if not repository.is_ancestor(sha, tip)]
        return [
            sha
            for sha in lacked
            if not any(sha != other and repository.is_ancestor(sha, other) for other in lacked)
        ]
