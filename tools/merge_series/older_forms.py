"""What a branch holds of a dependency as it was before it was rebased or amended.

To git the older form of a PR is the branch's own work, so its merge of the PR as it is now keeps
whatever the PR took back since. What the PR did since is its difference from that older form. So
this is the base of the merge, together with all that both sides have: as if the PR as it is now
stood on what it was.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from merge_series.alike import Forms
from merge_series.history import REPLACES, Commit, History
from merge_series.landed_form import merge_of
from merge_series.planned import Planned
from merge_series.records import Beyond
from stack.git_answers import Sha
from stack.model import PullRequest, Series
from stack.repository import Repository

NO_FORM = "none"


@dataclass(frozen=True, slots=True)
class Older:
    """An older form of a PR that a branch holds.

    Attributes:
        last: Its last commit.
        kept: Where some of the commits below ``last`` may be the branch's own: the last commit
            below which there are none of these; None if there is no such commit.
        is_sure: Whether there are none of these at all.
    """

    last: Sha
    kept: Sha | None
    is_sure: bool

    @property
    def trailer(self) -> str:
        """What the message of the merge records, by which it can be made again."""
        forms = (self.last,) if self.is_sure else (self.last, self.kept or NO_FORM)
        return f"{REPLACES}: {' '.join(forms)}"


@dataclass(frozen=True)
class OlderForms:
    """Tells which older forms of dependencies branches hold.

    Args:
        repository: The fork.
        series: The declared stack.
        history: What the branches hold beyond main.
        taken: By PR, the commits that are taken as an older form of it; for those who hold them
            and nothing of what came since.
    """

    repository: Repository
    series: Series
    history: History
    taken: Mapping[tuple[int, int], Collection[Sha]]
    _found: dict[tuple[int, int], Older | None] = field(default_factory=dict)

    @cached_property
    def _forms(self) -> Forms:
        return Forms(self.repository, self.history)

    def holds(self, pull_request: PullRequest, source: PullRequest) -> bool:
        """Whether a branch holds an older form of what it depends on, and nothing newer."""
        depends = source.number in self.series.held[pull_request.number]
        return depends and self._of(pull_request, source) is not None

    def planned(self, planned: Planned) -> Planned:
        """A merge as it is to be made where the branch holds an older form of what is merged."""
        source, ours, theirs = planned.source, planned.ours, planned.theirs
        older = None if source is None else self._of(planned.pull_request, source)
        if source is None or older is None or not self.repository.merge_bases(ours, theirs):
            return planned
        base = merge_base(self.repository, ours, theirs, older.last)
        kept = None if older.is_sure else merge_base(self.repository, ours, theirs, older.kept)
        name = source.name
        body = (
            f"This branch stood on {name} as it was at {older.last[:12]}. What {name} has beyond\n"
            "that is merged here: what it took back since goes from this branch as well."
        )
        beyond = Beyond(base, name, planned.subject, body, kept=kept)
        return replace(planned, beyond=beyond, trailers=(*planned.trailers, older.trailer))

    def _of(self, pull_request: PullRequest, source: PullRequest) -> Older | None:
        key = pull_request.number, source.number
        if key not in self._found:
            self._found[key] = self._find(*key)
        return self._found[key]

    def _find(self, child: int, source: int) -> Older | None:
        history = self.history
        head = history.heads.get(source)
        if child not in history.heads or head not in history.commits:
            return None
        mine, theirs = history.mask([child]), history.mask([source])
        if history.held[head] & mine:
            return None
        commits = [c for c in history.commits.values() if not c.is_merge]
        left, right, both = (
            [c for c in commits if history.held[c.sha] & (mine | theirs) == held]
            for held in (mine, theirs, mine | theirs)
        )
        if not left or not right:
            return None
        mine_alone = {commit.sha for commit in left}
        taken = mine_alone.intersection(self.taken.get((child, source), ()))
        fresh = self._forms.alike(left, right)
        roots = fresh | taken
        if not roots:
            return None
        # What several hold below a commit that was only rebased is as old as that; of other commits
        # a PR may have taken everything back, or never have had them.
        kept = {(commit.author, commit.subject) for commit in both}
        known = fresh | {c.sha for c in left if (c.author, c.subject) in kept}
        others = mine_alone - known - (taken & history.reached(known))
        walk = _Walk(history, roots, others)
        last = walk.latest(history.heads[child], is_sure=False)
        assert last is not None  # noqa: S101 - the branch holds the roots
        if not walk.holds_others(last):
            return Older(last, None, is_sure=True)
        return Older(last, walk.latest(last, is_sure=True), is_sure=False)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Looks for the newest older form in a branch.

    Attributes:
        history: What the branches hold beyond main.
        roots: The commits that are of an older form.
        others: The commits that may be the branch's own.
    """

    history: History
    roots: Collection[Sha]
    others: Collection[Sha]

    def holds_others(self, tip: Sha) -> bool:
        """Whether a commit contains some that may be the branch's own."""
        return not self.history.reached([tip]).isdisjoint(self.others)

    def latest(self, tip: Sha, *, is_sure: bool) -> Sha | None:
        """The last commit of the form that was merged last, or that the branch was begun on."""
        while tip in self.history.commits:
            commit = self.history.commits[tip]
            if self._is_form(commit) and not (is_sure and self.holds_others(tip)):
                return tip
            first, *merged = commit.parents
            before = self.history.reached([first])
            for parent in reversed(merged):
                if not self.history.reached([parent]).difference(before).isdisjoint(self.roots):
                    found = self.latest(parent, is_sure=is_sure)
                    if found is not None:
                        return found
            tip = first
        return None

    def _is_form(self, commit: Commit) -> bool:
        """Whether a commit is of an older form, or a merge of nothing but such."""
        if not commit.is_merge:
            return commit.sha in self.roots
        reached = self.history.reached([commit.sha])
        return not reached.isdisjoint(self.roots) and reached.isdisjoint(self.others)


def merge_base(repository: Repository, ours: Sha, theirs: Sha, older: Sha | None) -> Sha:
    """A commit whose tree is the base of two, as if one stood on its older form as well.

    Args:
        repository: The fork; objects are written to it.
        ours: The head of a branch.
        theirs: What is merged into it.
        older: The older form of that which the branch contains; None for what git would take.
    """
    if older is not None:
        theirs = repository.commit_nowhere(repository.tree_of(theirs), (theirs, older))
    return merge_of(repository, repository.merge_bases(ours, theirs))


def make_again(
    repository: Repository, ours: Sha, theirs: Sha, forms: Sequence[str]
) -> tuple[Sha, Sha | None]:
    """The bases of a merge that replaced an older form, from what its message records.

    Args:
        repository: The fork; objects are written to it.
        ours: The head of the branch before.
        theirs: What was merged.
        forms: The values of its trailer.

    Returns:
        As ``Beyond.base`` and ``Beyond.kept``.
    """
    last, *kept = forms
    base = merge_base(repository, ours, theirs, Sha(last))
    if not kept:
        return base, None
    sure = None if kept[0] == NO_FORM else Sha(kept[0])
    return base, merge_base(repository, ours, theirs, sure)
