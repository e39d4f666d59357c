"""What ``verify`` says of reverts on main that branches have merged: whether somebody meant that.

A sync asks before it merges such a revert, and records the answer. A merge by hand takes what the
PR brought out of the branch, and git says nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.checks import Check
from merge_series.generated_files import generated_paths
from merge_series.history import History
from merge_series.mainline import MainLine
from merge_series.plan import heads_by_number, synced_pull_requests
from merge_series.reverted_tree import changed_files, undone
from merge_series.reverts import Revert, holders, recorded_heads
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
    finder = _Finder(repository, history, reverts, generated_paths(repository, carrier))
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
    reverts: Sequence[Revert]
    generated: frozenset[str]

    def check(self, pull_request: PullRequest, revert: Revert) -> Iterator[Check]:
        """The check of one branch, where it has merged the revert."""
        head, contains = self.history.heads[pull_request.number], self.repository.is_ancestor
        is_over = revert.ended_by is not None and contains(revert.ended_by, head)
        if is_over or not contains(revert.commit.sha, head):
            return
        line = self._line(revert, head)
        if not line:
            return
        mine = [self.history.commits[sha] for sha in self.history.reached([head])]
        is_meant = (
            self._is_named(revert, head)
            or any(revert.key in commit.follows for commit in mine)
            # What another branch keeps is that one's.
            or any(revert.key in commit.overrules for commit in mine if commit.sha == line[-1])
        )
        found = "" if is_meant else self._lost(revert, line)
        yield Check(pull_request.branch, f"revert of #{revert.number} is meant", found)

    def _is_named(self, revert: Revert, head: Sha) -> bool:
        """Whether a commit that is no merge says something of it."""
        options = ("-1", "--no-merges", "--fixed-strings", f"--grep={revert.commit.sha[:12]}")
        return bool(self.repository.commits(*options, head, f"^{revert.commit.sha}"))

    def _lost(self, revert: Revert, line: Sequence[Sha]) -> str:
        head, merge = line[0], line[-1]
        (before,) = self.repository.commits("--no-walk", f"{merge}^1")
        if not revert.undone or before not in self.history.commits:
            return ""
        above, (base, _) = revert.commit.parents[0], undone(self.repository, [revert])
        gone = {
            path
            for sha in revert.undone
            for path in changed_files(self.repository, Sha(f"{sha}^1"), sha, "--diff-filter=A")
            if self.repository.entry(before, path) is None
        }
        # With what main did before the revert, by which a file may have another name.
        taken = TreeMerger(self.repository).merge(before, above)
        before = before if taken.conflicts else self.repository.commit_nowhere(taken.tree, ())
        had, has, kept = (self._changed(one, base, above) for one in (before, head, merge))
        paths = sorted(had - has - kept - gone - self._of_others(revert) - self.generated)
        commit = revert.commit.sha[:12]
        if not paths:
            return ""
        mainline = "-m 1 " if len(revert.commit.parents) > 1 else ""
        return (
            f"merged {commit}, which reverts #{revert.number} on main, and lost by that what "
            f"#{revert.number} brought to {', '.join(paths)}; bring it back (git revert {mainline}"
            f"{commit}), or leave it, in a commit whose message names {commit}"
        )

    def _of_others(self, revert: Revert) -> set[str]:
        """The files that only other PRs brought which landed by the same commit."""
        heads = recorded_heads(self.history)
        files = {
            one.number: self._changed(Sha(f"{revert.undone[-1]}^1"), heads[one.number])
            for one in self.reverts
            if one.commit == revert.commit
            and one.number in heads
            and not set(one.undone).isdisjoint(revert.undone)
        }
        return set().union(*files.values()) - files.get(revert.number, set())

    def _line(self, revert: Revert, head: Sha) -> tuple[Sha, ...]:
        """A branch's own commits down to that by which it has a revert."""
        line = self.repository.commits("--first-parent", head, f"^{revert.commit.sha}")
        contains = self.repository.is_ancestor
        return tuple(sha for sha in line if contains(revert.commit.sha, sha))

    def _changed(self, ours: Sha, theirs: Sha, base: Sha | None = None) -> set[str]:
        """The files that a merge would change in a commit."""
        merge = TreeMerger(self.repository).merge(ours, theirs, base)
        changed = changed_files(self.repository, ours, merge.tree)
        return changed.union(conflict.path for conflict in merge.conflicts)
