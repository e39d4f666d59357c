"""What ``verify`` says of reverts on main that branches have merged: whether somebody meant that.

A sync asks before it merges such a revert, and records the answer. A merge by hand takes what the
PR brought out of the branch, and git says nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.checks import Check
from merge_series.generated_files import generated_paths
from merge_series.history import History
from merge_series.mainline import MainLine
from merge_series.plan import heads_by_number, synced_pull_requests
from merge_series.reverted_tree import undone
from merge_series.reverts import Revert, holders
from merge_series.taken_out import known_rounds
from stack.git_answers import Sha
from stack.merging import TreeMerger
from stack.model import PullRequest
from stack.repository import Repository


def check_reverts(repository: Repository, carrier: Carrier, main: Sha) -> tuple[Check, ...]:
    """A check for each revert that is in effect in a branch which held what it takes back."""
    known = heads_by_number(repository, carrier)
    history = History.read(repository, known, main)
    below = {sha for commit in history.commits.values() for sha in commit.parents}
    feet = below - history.commits.keys()
    if not feet:
        return ()
    line = MainLine.read(repository, main, dict(enumerate(feet)))
    rounds = known_rounds(line, carrier.series, history, {})
    # What a step took counts with the revert that it is a part of.
    reverts = [r for mine in rounds.values() for one in mine for r in one.reverts if not r.part_of]
    finder = _Finder(repository, history, generated_paths(repository, carrier))
    held = {r.number: holders(history, carrier.series, r.number) for r in reverts}
    return tuple(
        check
        for pull_request in synced_pull_requests(carrier)
        if pull_request.number in known
        for revert in reverts
        if pull_request.number in held[revert.number]
        for check in finder.check(pull_request, revert)
    )


@dataclass(frozen=True, slots=True)
class _Finder:
    repository: Repository
    history: History
    generated: frozenset[str]

    def check(self, pull_request: PullRequest, revert: Revert) -> Iterator[Check]:
        """The check of one branch, where it has merged the revert."""
        head, contains = self.history.heads[pull_request.number], self.repository.is_ancestor
        is_over = revert.ended_by is not None and contains(revert.ended_by, head)
        if is_over or not contains(revert.commit.sha, head):
            return
        mine = [self.history.commits[sha] for sha in self.history.reached([head])]
        is_meant = self._is_named(revert, head) or any(
            revert.key in commit.overrules | commit.follows for commit in mine
        )
        found = "" if is_meant else self._lost(revert, head)
        yield Check(pull_request.branch, f"revert of #{revert.number} is meant", found)

    def _is_named(self, revert: Revert, head: Sha) -> bool:
        """Whether a commit that is no merge says something of it."""
        options = ("-1", "--no-merges", "--fixed-strings", f"--grep={revert.commit.sha[:12]}")
        return bool(self.repository.commits(*options, head, f"^{revert.commit.sha}"))

    def _lost(self, revert: Revert, head: Sha) -> str:
        before = self._before(revert, head)
        if before is None or not revert.undone:
            return ""
        above, (base, _) = revert.commit.parents[0], undone(self.repository, [revert])
        paths = sorted(
            self._touched(before, above, base) - self._touched(head, above, base) - self.generated
        )
        commit = revert.commit.sha[:12]
        if not paths:
            return ""
        mainline = "-m 1 " if len(revert.commit.parents) > 1 else ""
        return (
            f"merged {commit}, which reverts #{revert.number} on main, and lost by that what "
            f"#{revert.number} brought to {', '.join(paths)}; bring it back (git revert {mainline}"
            f"{commit}), or leave it, in a commit whose message names {commit}"
        )

    def _before(self, revert: Revert, head: Sha) -> Sha | None:
        """The last commit of a branch before it merged the revert; None if it began after it."""
        first = ("--first-parent", head, f"^{revert.commit.sha}")
        line = self.repository.commits(*first)
        contains = self.repository.is_ancestor
        return next((sha for sha in line if not contains(revert.commit.sha, sha)), None)

    def _touched(self, commit: Sha, above: Sha, base: Sha) -> set[str]:
        """The files that the revert would change in a commit."""
        merge = TreeMerger(self.repository).merge(commit, base, above)
        names = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", commit, merge.tree)
        changed = {path for path in self.repository.run(*names).text.split("\0") if path}
        return changed | {conflict.path for conflict in merge.conflicts}
