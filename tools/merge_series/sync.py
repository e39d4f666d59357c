"""The sync: main and every dependency brought into every branch, by merge commits alone.

Invariants, kept here:
- a branch only gains commits: its old head is an ancestor of its new one, checked before refs move;
- until every merge is made, no ref, index, worktree or setting has changed;
- main is never moved.
"""

import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series import person
from merge_series.changes import refuse_changes
from merge_series.declared import Rewrite, with_states
from merge_series.in_order import in_order
from merge_series.landed import Landing, Landings, find_landings, record_landing
from merge_series.lost import refuse_lost
from merge_series.merger import Merger, Planned, Stopped
from merge_series.operations import Operations, Pending, StoppedSync
from merge_series.plan import (
    branch_heads,
    newer_mains,
    ready,
    refuse_shallow,
    resolve_main,
    sources,
    synced_pull_requests,
)
from merge_series.reachable import count_commits
from merge_series.records import Answer, MergeRecord, Said
from merge_series.stopped import (
    Handover,
    describe,
    refuse_stopped,
    refuse_undeclared,
    waiting_sync,
)
from merge_series.unfolded import left_behind
from stack.command_line import typed
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest
from stack.repository import Repository
from stack.words import counted

Heads = dict[str, Sha]
Merged = tuple[MergeRecord, ...]
NOTHING_SAID = Said()


@dataclass(frozen=True, slots=True)
class Synced:
    """How a sync ended.

    Attributes:
        main: The commit of main that was synced with.
        merged: The merges made, in order.
        pending: The merge that waits for a person, if any.
        commits_before: Commits that the branches had beyond main before.
        commits_lost: Those of them that their branches no longer reach; always 0.
        landed: PRs found landed that SERIES.md does not call so yet, each with the commit of main.
        reverted: PRs whose landing main reverts, each with what was answered: keep or let-go.
        series_diff: What becomes of SERIES.md, as ``diff -u`` writes it; empty if nothing.
    """

    main: Sha
    merged: Merged
    pending: Pending | None
    commits_before: int
    commits_lost: int
    landed: dict[int, Sha]
    reverted: dict[int, Answer]
    series_diff: str


class Syncer:
    """Syncs the branches of one repository.

    Args:
        repository: The fork; a caller that moves refs holds its lock.
        carrier: The series and its edits.
        operations: What is kept in the repository.
        told: Called with a sentence a merge.
    """

    def __init__(
        self,
        repository: Repository,
        carrier: Carrier,
        operations: Operations,
        told: Callable[[str], None],
    ) -> None:
        self._repository = repository
        self._carrier = carrier
        self._operations = operations
        self._told = told
        # One for all merges: what it has scanned for one costs the next nothing.
        self._scanner = ReadScanner(repository)
        self._landings: Landings

    def sync(self, main_name: str, said: Said = NOTHING_SAID) -> Synced:
        """Sync every branch of the series with main.

        Args:
            main_name: The revision that is main.
            said: What a person says of PRs that landed.

        Raises:
            Refusal: Nothing was changed.
        """
        return self._end(main_name, *self._begin(main_name, said))

    def rehearse(self, main_name: str, said: Said = NOTHING_SAID) -> Synced:
        """Make every merge of a sync as objects alone: no ref moves and no person is asked.

        Args:
            main_name: As for ``sync``.
            said: As for ``sync``.

        Raises:
            Refusal: As for ``sync``.
        """
        main, old, merged, stopped = self._begin(main_name, said)
        return self._synced(main, old, merged, None if stopped is None else describe(stopped))

    def continue_sync(self) -> Synced:
        """Go on with a stopped sync from what the person made of the merge.

        Raises:
            Refusal: The merge is still open, or a branch moved or main or SERIES.md lost something
                since the sync stopped.
        """
        waiting = waiting_sync(self._operations)
        self._operations.update_worktrees |= waiting.update_worktrees
        if waiting.state == "preparing":
            self._handover(waiting.main).offer_again(waiting, "was not made to its end")
        if not self._operations.worktree.is_dir():
            self._handover(waiting.main).offer_again(waiting, "was gone")
        result = person.take(self._repository, self._operations.worktree, waiting.pending)
        self._find_landings(waiting.main, waiting.said)
        # First, so that how it was settled is kept also where the sync cannot go on.
        record = self._handover(waiting.main).adopt(waiting, result)
        now = branch_heads(self._repository, synced_pull_requests(self._carrier))
        if now != waiting.heads:
            moved = next(b for b in {**now, **waiting.heads} if now.get(b) != waiting.heads.get(b))
            raise Refusal(
                f"branch {moved} moved or changed in SERIES.md since the sync stopped; "
                f"drop that sync with {typed(person.ABORT)} and sync again"
            )
        main = resolve_main(self._repository, self._carrier, waiting.main_name)
        if not self._repository.is_ancestor(waiting.main, main):
            raise Refusal(
                f"{waiting.main_name} is at {main[:12]} and no longer holds {waiting.main[:12]}, "
                "with which the sync began; put it back, or drop that sync with "
                f"{typed(person.ABORT)} and sync again"
            )
        # SERIES.md may say otherwise by now.
        refuse_undeclared(self._carrier, (*waiting.merged, record))
        refuse_changes(
            self._repository, self._carrier, self._operations, waiting.main_name, waiting.main
        )
        self._told(f"{record.branch}: merged {record.source} as a person settled it")
        tips = _new_heads(waiting.heads, (*waiting.merged, record))
        self._repository.read_ancestry(waiting.main, tips.values())
        merged, stopped = self._merge_all(waiting.main, waiting.heads, (*waiting.merged, record))
        return self._end(waiting.main_name, waiting.main, waiting.heads, merged, stopped)

    def _begin(self, main_name: str, said: Said) -> tuple[Sha, Heads, Merged, Stopped | None]:
        """Check what can be checked, then make the merges.

        Returns:
            Main, the heads before, the merges made, and the one that waits for a person, if any.
        """
        refuse_stopped(self._operations)
        main = resolve_main(self._repository, self._carrier, main_name)
        refuse_shallow(self._repository)
        refuse_lost(self._repository, self._carrier, self._operations, main_name, main)
        self._find_landings(main, said)
        taken = refuse_changes(self._repository, self._carrier, self._operations, main_name, main)
        follows = self._operations.update_worktrees
        old = ready(self._repository, self._carrier, main, update_worktrees=follows)
        for sentence in taken:
            self._told(sentence)
        merged, stopped = self._merge_all(main, old, ())
        if not merged and stopped is None:
            for sentence in newer_mains(self._repository, main_name, main):
                self._told(sentence)
        return main, old, merged, stopped

    def _find_landings(self, main: Sha, said: Said) -> None:
        """Take the PRs that landed out of the branches that are synced."""
        self._landings = find_landings(self._repository, self._carrier, main, said)
        self._carrier = self._landings.mark(self._carrier)
        for number, commit in self._landings.renumbered.items():
            move = typed(f"merge_series renumber {number} {commit.number}")
            self._told(
                f"#{number} landed as {commit}, under another number; to move its row: {move}"
            )

    def _merger(self, main: Sha) -> Merger:
        return Merger(self._repository, self._carrier, self._scanner, main, self._told)

    def _handover(self, main: Sha) -> Handover:
        return Handover(self._repository, self._carrier, self._operations, self._merger(main))

    def _merge_all(self, main: Sha, old: Heads, made: Merged) -> tuple[Merged, Stopped | None]:
        """Make the merges that are missing after ``made``: dependencies first, then main."""
        with self._repository.held_objects():
            return self._merge_each(main, old, made)

    def _merge_each(self, main: Sha, old: Heads, made: Merged) -> tuple[Merged, Stopped | None]:
        merger = self._merger(main)
        tips = _new_heads(old, made)
        merged = list(made)
        pull_requests = synced_pull_requests(self._carrier)
        below = {pr.number: sources(self._carrier, pr) for pr in pull_requests}
        merger.foresee(pull_requests, tips)

        def merge(pull_request: PullRequest) -> list[MergeRecord | Stopped]:
            return self._merge_branch(merger, pull_request, tips, main)

        # Where a merge stops or is refused, those after it that were made already are forgotten.
        with closing(in_order(pull_requests, below, merge, merger.threads)) as branches:
            for pull_request, results in branches:
                for result in results:
                    branch = pull_request.branch
                    if isinstance(result, Stopped):
                        source = result.planned.source_name
                        brings = f"; it brings {result.brought}" if result.brought else ""
                        self._told(f"{branch}: merging {source} needs a person{brings}")
                        return tuple(merged), result
                    brought = f", with {result.brought}" if result.brought else ""
                    self._told(f"{branch}: merged {result.source}{brought}{_conflicts(result)}")
                    merged.append(result)
        self._tell_emptied({record.branch for record in merged}, tips, main)
        for sentence in left_behind(self._repository, self._carrier, main).values():
            self._told(sentence)
        return tuple(merged), None

    def _merge_branch(
        self, merger: Merger, pull_request: PullRequest, tips: Heads, main: Sha
    ) -> list[MergeRecord | Stopped]:
        """Make the merges of one branch, up to one that needs a person; the tips it is on stand."""
        results: list[MergeRecord | Stopped] = []
        for step in self._steps(pull_request, tips, main):
            if isinstance(step, Landing):
                tip = tips[pull_request.branch]
                result: MergeRecord | Stopped = record_landing(
                    self._repository, pull_request, step, tip
                )
            else:
                result = merger.merge(step)
            results.append(result)
            if isinstance(result, Stopped):
                break
            tips[pull_request.branch] = result.commit
        return results

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

    def _steps(
        self, pull_request: PullRequest, tips: Heads, main: Sha
    ) -> Iterator[Planned | Landing]:
        """The merges a branch needs, one at a time: dependencies, what landed, then main.

        What landed comes first where a dependency brings it in main's form.

        Who takes one puts its commit into ``tips`` before taking the next.
        """
        branch = pull_request.branch
        for source in sources(self._carrier, pull_request):
            theirs = tips[source.branch]
            if not self._repository.is_ancestor(theirs, tips[branch]):
                if self._landings.come_with(self._repository, tips[branch], theirs):
                    yield from self._absorbing(pull_request, tips)
                yield from self._keeping(pull_request, tips, theirs)
                yield self._planned(pull_request, source, tips[branch], theirs)
        yield from self._absorbing(pull_request, tips)
        yield from self._keeping(pull_request, tips, main)
        if not self._repository.is_ancestor(main, tips[branch]):
            yield self._planned(pull_request, None, tips[branch], main)

    def _planned(
        self, pull_request: PullRequest, source: PullRequest | None, ours: Sha, theirs: Sha
    ) -> Planned:
        trailers = self._landings.reverted.trailers(pull_request, ours, theirs)
        return Planned(pull_request, source, ours, theirs, trailers=trailers)

    def _keeping(self, pull_request: PullRequest, tips: Heads, merged: Sha) -> Iterator[Planned]:
        """The merges by which a branch keeps what ``merged`` would revert."""
        reverted = self._landings.reverted
        while (step := reverted.step(pull_request, tips[pull_request.branch], merged)) is not None:
            yield step

    def _absorbing(self, pull_request: PullRequest, tips: Heads) -> Iterator[Planned | Landing]:
        """The merges by which a branch absorbs what landed, one at a time as for ``_steps``."""
        branch = pull_request.branch
        while (step := self._landings.next_step(self._repository, tips[branch])) is not None:
            if step.records is not None:
                yield step.records
                continue
            if step.source is None:
                yield from self._keeping(pull_request, tips, step.commit)
            if not self._repository.is_ancestor(step.commit, tips[branch]):
                yield self._planned(pull_request, step.source, tips[branch], step.commit)

    def _end(
        self,
        main_name: str,
        main: Sha,
        old: Heads,
        merged: Merged,
        stopped: Stopped | None,
    ) -> Synced:
        if stopped is not None:
            pending = describe(stopped)
            follows = self._operations.update_worktrees
            waiting = StoppedSync(
                main_name=main_name,
                main=main,
                heads=old,
                merged=merged,
                pending=pending,
                state="preparing",
                said=self._landings.reverted.said,
                update_worktrees=follows,
            )
            self._handover(main).offer(waiting, stopped)
            return self._synced(main, old, merged, pending)
        synced = self._synced(main, old, merged, None)
        if synced.commits_lost:
            raise Refusal(
                f"{synced.commits_lost} commits would no longer be reachable; nothing was moved; "
                "this is a fault of merge_series: report it with what sync --dry-run says"
            )
        rewrite = self._rewrite()
        if merged:
            new = {record.branch: record.commit for record in merged}
            files = () if rewrite is None else (rewrite.change,)
            self._operations.move("sync", main, {b: old[b] for b in new}, new, merged, files)
        elif rewrite is not None:
            rewrite.write()
        self._operations.forget_stopped()
        return synced

    def _synced(self, main: Sha, old: Heads, merged: Merged, pending: Pending | None) -> Synced:
        before, lost = count_commits(self._repository, main, old, _new_heads(old, merged))
        landed = {
            landing.pull_request.number: landing.commit
            for landing in self._landings.found
            if landing.pull_request.number in self._landings.newly
        }
        rewrite = self._rewrite() if pending is None else None
        diff = "" if rewrite is None else rewrite.diff
        reverted = dict(self._landings.reverted.said.reverted)
        return Synced(main, merged, pending, before, lost, landed, reverted, diff)

    def _rewrite(self) -> Rewrite | None:
        states = self._landings.states
        return with_states(self._carrier.path, states) if states else None


def dry_run(  # noqa: PLR0913 - what a sync is given
    path: Path,
    carrier: Carrier,
    main_name: str,
    told: Callable[[str], None],
    said: Said = NOTHING_SAID,
    *,
    update_worktrees: bool = False,
) -> Synced:
    """Make every merge of a sync in a temporary object folder; the repository stays as it was.

    Args:
        path: The fork.
        carrier: The series and its edits.
        main_name: The revision that is main.
        told: Called with a sentence a merge.
        said: As for ``Syncer.sync``.
        update_worktrees: Whether a branch may move that is checked out.
    """
    with tempfile.TemporaryDirectory() as folder, Repository.open(path, Path(folder)) as repository:
        operations = Operations(repository, update_worktrees=update_worktrees)
        return Syncer(repository, carrier, operations, told).rehearse(main_name, said)


def _new_heads(old: Heads, merged: Merged) -> Heads:
    return {**old, **{record.branch: record.commit for record in merged}}


def _conflicts(record: MergeRecord) -> str:
    count = len(record.conflicts)
    return f", {counted(count, 'conflict')} settled" if count else ""
