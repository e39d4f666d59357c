"""The merges that a branch needs, one at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.landed import Landings
from merge_series.older_forms import OlderForms
from merge_series.plan import sources
from merge_series.planned import Planned
from merge_series.stack_merges import Heads
from stack.git_answers import Sha
from stack.model import PullRequest
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class Steps:
    """Says which merges the branches of a stack need.

    Attributes:
        repository: The fork.
        carrier: The series, without what landed.
        landings: What landed.
        older: What branches hold of older forms of what they are on.
    """

    repository: Repository
    carrier: Carrier
    landings: Landings
    older: OlderForms

    def needed(self, pull_request: PullRequest, tips: Heads, main: Sha) -> Iterator[Planned]:
        """The merges a branch needs: dependencies, what landed, then main.

        What landed comes first where a dependency brings it in main's form.

        Args:
            pull_request: The PR of the branch.
            tips: The heads of all branches. Who takes a merge puts its commit here before taking
                the next.
            main: The commit of main.
        """
        branch = pull_request.branch
        yield from self._renewing(pull_request, tips)
        for source in sources(self.carrier, pull_request):
            theirs = tips[source.branch]
            if not self.repository.is_ancestor(theirs, tips[branch]):
                if self.landings.come_with(self.repository, tips[branch], theirs):
                    yield from self._absorbing(pull_request, tips)
                yield from self._keeping(pull_request, tips, theirs)
                yield self._planned(pull_request, source, tips[branch], theirs)
        yield from self._absorbing(pull_request, tips)
        yield from self._keeping(pull_request, tips, main)
        if not self.repository.is_ancestor(main, tips[branch]):
            yield self._planned(pull_request, None, tips[branch], main)

    def _planned(
        self, pull_request: PullRequest, source: PullRequest | None, ours: Sha, theirs: Sha
    ) -> Planned:
        trailers = self.landings.reverted.trailers(pull_request, ours, theirs)
        return self.older.planned(Planned(pull_request, source, ours, theirs, trailers=trailers))

    def _renewing(self, pull_request: PullRequest, tips: Heads) -> Iterator[Planned]:
        """The merges of PRs as they landed of which the branch holds an older form alone."""
        branch = pull_request.branch
        for landing in self.landings.found:
            landed = landing.pull_request
            if (
                landing.below is not None
                and self.older.holds(pull_request, landed)
                and not self.repository.is_ancestor(landing.head, tips[branch])
            ):
                yield from self._keeping(pull_request, tips, landing.head)
                yield self._planned(pull_request, landed, tips[branch], landing.head)

    def _keeping(self, pull_request: PullRequest, tips: Heads, merged: Sha) -> Iterator[Planned]:
        """The merges by which a branch keeps what ``merged`` would revert."""
        reverted = self.landings.reverted
        while (step := reverted.step(pull_request, tips[pull_request.branch], merged)) is not None:
            yield step

    def _absorbing(self, pull_request: PullRequest, tips: Heads) -> Iterator[Planned]:
        """The merges by which a branch absorbs what landed, one at a time as for ``needed``."""
        branch = pull_request.branch
        while (step := self.landings.next_step(self.repository, tips[branch])) is not None:
            if step.beyond is not None:
                yield Planned(pull_request, None, tips[branch], step.commit, step.beyond)
                continue
            if step.source is None:
                yield from self._keeping(pull_request, tips, step.commit)
            if not self.repository.is_ancestor(step.commit, tips[branch]):
                yield self._planned(pull_request, step.source, tips[branch], step.commit)
