"""The merges of all branches of a stack, as objects alone: no ref moves and nobody is asked."""

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.forecast import Forecast
from merge_series.in_order import in_order
from merge_series.merger import Merger
from merge_series.operations import Pending
from merge_series.plan import sources, synced_pull_requests
from merge_series.planned import Planned, Stopped
from merge_series.records import MergeRecord
from merge_series.stopped import describe
from merge_series.unfolded import left_behind
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest
from stack.repository import Repository
from stack.words import counted

Heads = dict[str, Sha]
Merged = tuple[MergeRecord, ...]
Result = MergeRecord | Stopped | Refusal
Steps = Callable[[PullRequest, Heads, Sha], Iterator[Planned]]


@dataclass(frozen=True, slots=True)
class Merges:
    """The merges of a sync.

    Attributes:
        made: Those that were made, in order.
        stopped: Those that need a person, the one that is asked for first.
        refused: By branch, why one of its merges is refused; only where another needs a person.
        waits: By branch, the branches of ``stopped`` and ``refused`` that it stands on.
        is_whole: Whether no other merge is left to be made.
    """

    made: Merged
    stopped: tuple[Stopped, ...]
    refused: dict[str, str]
    waits: dict[str, tuple[str, ...]]
    is_whole: bool

    @property
    def pending(self) -> Pending | None:
        """The merge that waits for a person."""
        return describe(self.stopped[0]) if self.stopped else None

    @property
    def ahead(self) -> Forecast:
        """What is ahead beside the merge that waits."""
        stops = tuple(map(describe, self.stopped[1:]))
        return Forecast(stops, self.refused, self.waits, self.is_whole)


class StackMerger:
    """Merges what each branch of a stack lacks.

    Args:
        repository: The fork.
        carrier: The series, without what landed.
        merger: Makes the merges.
        steps: The merges that a branch needs, one at a time, with all tips and main; who takes one
            puts its commit into the tips before taking the next.
        told: Called with a sentence a merge.
    """

    def __init__(
        self,
        repository: Repository,
        carrier: Carrier,
        merger: Merger,
        steps: Steps,
        told: Callable[[str], None],
    ) -> None:
        self._repository = repository
        self._carrier = carrier
        self._merger = merger
        self._steps = steps
        self._told = told

    def merge(self, main: Sha, old: Heads, made: Merged) -> Merges:
        """Make the merges that are missing after ``made``: dependencies first, then main.

        Where one needs a person, those of branches that do not stand on it are made all the same:
        so it is known what else needs one.

        Raises:
            Refusal: A merge is refused, and none before it needs a person.
        """
        with self._repository.held_objects():
            return self._merge_each(main, old, made)

    def _merge_each(self, main: Sha, old: Heads, made: Merged) -> Merges:
        tips = new_heads(old, made)
        merged = list(made)
        pull_requests = synced_pull_requests(self._carrier)
        self._merger.foresee(pull_requests, tips)
        stopped: list[Stopped] = []
        refused: dict[str, str] = {}
        stuck: dict[str, tuple[str, ...]] = {}  # by branch: those that keep it from being merged
        # Where a merge is refused, those after it that were made already are forgotten.
        with closing(self._results(pull_requests, tips, main, stuck)) as branches:
            for pull_request, results in branches:
                for result in results:
                    if isinstance(result, Refusal):
                        if not stopped:
                            raise result
                        refused[pull_request.branch] = str(result)
                        continue
                    self._tell(pull_request.branch, result)
                    if isinstance(result, Stopped):
                        stopped.append(result)
                    else:
                        merged.append(result)
        if stopped:
            waits = {
                pr.branch: stuck[pr.branch]
                for pr in pull_requests
                if pr.branch in stuck and stuck[pr.branch] != (pr.branch,)
            }
            last = all(self._is_last(stop.planned, tips, main) for stop in stopped)
            is_whole = last and not refused and not waits
            return Merges(tuple(merged), tuple(stopped), refused, waits, is_whole)
        # Those after a stop were made before the one that a person settled.
        places = {pull_request.branch: at for at, pull_request in enumerate(pull_requests)}
        merged.sort(key=lambda record: places.get(record.branch, -1))
        self._tell_emptied({record.branch for record in merged}, tips, main)
        for sentence in left_behind(self._repository, self._carrier, main).values():
            self._told(sentence)
        return Merges(tuple(merged), (), {}, {}, is_whole=True)

    def _is_last(self, planned: Planned, tips: Heads, main: Sha) -> bool:
        """Whether a branch has all it lacks once a merge is made."""
        on = (tips[source.branch] for source in sources(self._carrier, planned.pull_request))
        return all(
            any(self._repository.is_ancestor(one, side) for side in (planned.ours, planned.theirs))
            for one in (*on, main)
        )

    def _results(
        self,
        pull_requests: Sequence[PullRequest],
        tips: Heads,
        main: Sha,
        stuck: dict[str, tuple[str, ...]],
    ) -> Generator[tuple[PullRequest, Sequence[Result]]]:
        """What comes of the merges of each branch; none where it stands on one that is stuck."""
        below = {pr.number: sources(self._carrier, pr) for pr in pull_requests}

        def merge(pull_request: PullRequest) -> list[Result]:
            branch = pull_request.branch
            on = [name for pr in below[pull_request.number] for name in stuck.get(pr.branch, ())]
            if on:
                stuck[branch] = tuple(dict.fromkeys(on))
                return []
            results = self._merge_branch(pull_request, tips, main)
            if results and not isinstance(results[-1], MergeRecord):
                stuck[branch] = (branch,)
            return results

        return in_order(pull_requests, below, merge, self._merger.threads)

    def _merge_branch(self, pull_request: PullRequest, tips: Heads, main: Sha) -> list[Result]:
        """Make the merges of one branch, up to one that is not made; the tips it is on stand."""
        results: list[Result] = []
        try:
            for step in self._steps(pull_request, tips, main):
                result = self._merger.merge(step)
                results.append(result)
                if isinstance(result, Stopped):
                    break
                tips[pull_request.branch] = result.commit
        except Refusal as refusal:
            results.append(refusal)
        return results

    def _tell(self, branch: str, result: MergeRecord | Stopped) -> None:
        """Say of a merge that it was made, or that it needs a person, and what it brings."""
        if isinstance(result, Stopped):
            brings = f"; it brings {result.brought}" if result.brought else ""
            source = result.planned.source_name
            self._told(f"{branch}: merging {source} needs a person{brings}")
        else:
            brings = f", with {result.brought}" if result.brought else ""
            self._told(f"{branch}: merged {result.source}{brings}{_conflicts(result)}")

    def _tell_emptied(self, moved: Collection[str], tips: Heads, main: Sha) -> None:
        """Say which branches hold nothing any more that what they are on does not hold."""
        below = {}
        for pull_request in synced_pull_requests(self._carrier):
            on = sources(self._carrier, pull_request)
            if pull_request.branch in moved and len(on) <= 1:
                below[pull_request.branch] = (
                    (on[0].name, tips[on[0].branch]) if on else ("main", main)
                )
        pairs = [(tips[branch], commit) for branch, (_, commit) in below.items()]
        trees = self._repository.trees_of([commit for pair in pairs for commit in pair])
        for branch, mine, theirs in zip(below, trees[::2], trees[1::2], strict=True):
            if mine == theirs:
                self._told(
                    f"{branch}: holds nothing that {below[branch][0]} does not; "
                    "if nothing is to come, its PR can be closed"
                )


def new_heads(old: Heads, merged: Merged) -> Heads:
    """The heads of all branches once some merges are made."""
    return {**old, **{record.branch: record.commit for record in merged}}


def _conflicts(record: MergeRecord) -> str:
    count = len(record.conflicts)
    return f", {counted(count, 'conflict')} settled" if count else ""
