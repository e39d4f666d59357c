"""Where what a merge brings, or what conflicts in it, comes from."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from carry.carried import Carrier
from merge_series.causes import BRANCH, Sides
from merge_series.conflicts import describe, groups
from merge_series.planned import Planned
from merge_series.records import BroughtMain
from merge_series.resolve import Unsettled
from stack.git_answers import Sha
from stack.merging import OURS, THEIRS, Merge
from stack.refs import heads
from stack.repository import Repository


class Origins:
    """Tells of the merges of one sync.

    Args:
        repository: The fork.
        carrier: The series and its edits.
        main: The commit of main that is synced with.

    Attributes:
        tips: The head of branches, also as the sync goes on; of others it is read.
    """

    def __init__(self, repository: Repository, carrier: Carrier, main: Sha) -> None:
        self._repository = repository
        self._carrier = carrier
        self._main = main
        self._counted: dict[tuple[tuple[Sha, ...], ...], BroughtMain | None] = {}
        self.tips: Mapping[str, Sha] = {}

    def brought(self, planned: Planned) -> BroughtMain | None:
        """What a dependency brings of main that the branch has not."""
        if planned.source is None:
            return None
        has, mine = (
            self._repository.merge_bases(commit, self._main)
            for commit in (planned.theirs, planned.ours)
        )
        if (has, mine) not in self._counted:
            # Once for all branches of a sync, which mostly stand on the same commits of main.
            count = len(self._repository.commits(*has, *(f"^{sha}" for sha in mine)))
            self._counted[has, mine] = BroughtMain(count, has[0]) if count else None
        return self._counted[has, mine]

    def told(
        self, planned: Planned, merged: Merge, unsettled: Iterable[Unsettled]
    ) -> Iterator[Unsettled]:
        """What is left to a person, each with what the sides did and by which commits."""
        sides = self._sides(planned)
        by_path = groups(merged.conflicts)
        for end in unsettled:
            cause = describe(by_path[end.path], sides, end.left)
            why = "; ".join(filter(None, (cause.told, end.why)))
            yield replace(end, why=why, by=cause.by)

    def _sides(self, planned: Planned) -> Sides:
        series, own = self._carrier.series, planned.pull_request
        held = (
            series.closure(own) if planned.source is None else series.closure(planned.source, own)
        )
        found = {**heads(self._repository, [pr.branch for pr in held]), **self.tips}
        return Sides(
            repository=self._repository,
            commits={OURS: planned.ours, THEIRS: planned.theirs},
            names={OURS: BRANCH, THEIRS: planned.source_name},
            main=self._main,
            heads={
                BRANCH if pr == own else pr.name: found[pr.branch]
                for pr in held
                if pr.branch in found
            },
        )
