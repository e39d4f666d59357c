"""The sync: main and every dependency brought into every branch, by merge commits alone.

Invariants, kept here:
- a branch only gains commits: its old head is an ancestor of its new one, checked before refs move;
- until every merge is made, no ref, index, worktree or setting has changed;
- main is never moved.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series import person
from merge_series.changes import older_forms, refuse_changes
from merge_series.declared import Rewrite, with_states
from merge_series.forecast import Forecast
from merge_series.landed import Landings, find_landings
from merge_series.lost import refuse_lost
from merge_series.merger import Merger
from merge_series.operations import Operations, Pending, StoppedSync
from merge_series.plan import (
    branch_heads,
    newer_mains,
    ready,
    refuse_shallow,
    resolve_main,
    synced_pull_requests,
)
from merge_series.reachable import count_commits
from merge_series.records import Answer, Said
from merge_series.stack_merges import Heads, Merged, Merges, StackMerger, new_heads
from merge_series.steps import Steps
from merge_series.stopped import (
    Handover,
    describe,
    refuse_stopped,
    refuse_undeclared,
    waiting_sync,
)
from stack.command_line import typed
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.repository import Repository

NOTHING_SAID = Said()


@dataclass(frozen=True, slots=True)
class Synced:
    """How a sync ended.

    Attributes:
        main: The commit of main that was synced with.
        merged: The merges made, in order.
        earlier: How many of them stood at the last stop already.
        pending: The merge that waits for a person, if any.
        ahead: What else a person is needed for, as far as it is known.
        heard: What of that the last stop told already.
        commits_before: Commits that the branches had beyond main before.
        commits_lost: Those of them that their branches no longer reach; always 0.
        landed: PRs found landed that SERIES.md does not call so yet, each with the commit of main.
        reverted: PRs whose landing main reverts, each with what was answered: keep or let-go.
        series_diff: What becomes of SERIES.md, as ``diff -u`` writes it; empty if nothing.
    """

    main: Sha
    merged: Merged
    earlier: int
    pending: Pending | None
    ahead: Forecast
    heard: tuple[str, ...]
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
        makes_again: Whether generated files are made again; not where only conflicts count.
    """

    def __init__(
        self,
        repository: Repository,
        carrier: Carrier,
        operations: Operations,
        told: Callable[[str], None],
        *,
        makes_again: bool = True,
    ) -> None:
        self._makes_again = makes_again
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
        return self._synced(*self._begin(main_name, said))

    def foresee(self, main_name: str) -> Forecast:
        """What the next sync, or that which waits, needs a person for.

        As objects alone; nothing else is checked.

        Raises:
            Refusal: A branch is missing, or what landed cannot be told.
        """
        waiting = self._operations.stopped()
        made: Merged = ()
        if waiting is None:
            main = resolve_main(self._repository, self._carrier, main_name)
            self._find_landings(main, NOTHING_SAID)
            old = branch_heads(self._repository, synced_pull_requests(self._carrier))
        else:
            main, old, made = waiting.main, waiting.heads, waiting.merged
            main_name = waiting.main_name
            self._find_landings(main, waiting.said)
        self._older = older_forms(
            self._repository, self._carrier, self._operations, main_name, main
        )
        self._repository.read_ancestry(main, new_heads(old, made).values())
        merges = self._merge_all(main, old, made)
        stops = tuple(map(describe, merges.stopped))
        return replace(merges.ahead, stops=stops)

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
        _, self._older = refuse_changes(
            self._repository, self._carrier, self._operations, waiting.main_name, waiting.main
        )
        self._told(f"{record.branch}: merged {record.source} as a person settled it")
        tips = new_heads(waiting.heads, (*waiting.merged, record))
        self._repository.read_ancestry(waiting.main, tips.values())
        merges = self._merge_all(waiting.main, waiting.heads, (*waiting.merged, record))
        return self._end(waiting.main_name, waiting.main, waiting.heads, merges, waiting)

    def _begin(self, main_name: str, said: Said) -> tuple[Sha, Heads, Merges]:
        """Check what can be checked, then make the merges.

        Returns:
            Main, the heads before, and the merges.
        """
        refuse_stopped(self._operations)
        main = resolve_main(self._repository, self._carrier, main_name)
        refuse_shallow(self._repository)
        refuse_lost(self._repository, self._carrier, self._operations, main_name, main)
        self._find_landings(main, said)
        taken, self._older = refuse_changes(
            self._repository, self._carrier, self._operations, main_name, main
        )
        follows = self._operations.update_worktrees
        old = ready(self._repository, self._carrier, main, update_worktrees=follows)
        for sentence in (*self._landings.told(self._carrier), *taken):
            self._told(sentence)
        merges = self._merge_all(main, old, ())
        if not merges.made and not merges.stopped:
            for sentence in newer_mains(self._repository, main_name, main):
                self._told(sentence)
        return main, old, merges

    def _find_landings(self, main: Sha, said: Said) -> None:
        """Take the PRs that landed out of the branches that are synced."""
        self._landings = find_landings(self._repository, self._carrier, main, said)
        self._carrier = self._landings.mark(self._carrier)
        for sentence in self._landings.reverted.gone(self._landings.newly).values():
            self._told(sentence)
        for number, commit in self._landings.renumbered.items():
            move = typed(f"merge_series renumber {number} {commit.number}")
            self._told(
                f"#{number} landed as {commit}, under another number; to move its row: {move}"
            )

    def _merger(self, main: Sha) -> Merger:
        return Merger(
            self._repository,
            self._carrier,
            self._scanner,
            main,
            self._told,
            makes_again=self._makes_again,
        )

    def _handover(self, main: Sha) -> Handover:
        return Handover(self._repository, self._carrier, self._operations, self._merger(main))

    def _merge_all(self, main: Sha, old: Heads, made: Merged) -> Merges:
        """Make the merges that are missing after ``made``."""
        steps = Steps(self._repository, self._carrier, self._landings, self._older)
        stack = StackMerger(
            self._repository, self._carrier, self._merger(main), steps.needed, self._told
        )
        return stack.merge(main, old, made)

    def _end(
        self,
        main_name: str,
        main: Sha,
        old: Heads,
        merges: Merges,
        before: StoppedSync | None = None,
    ) -> Synced:
        merged, pending = merges.made, merges.pending
        if pending is not None:
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
                told=tuple(merges.ahead.parts(also=True)),
            )
            self._handover(main).offer(waiting, merges.stopped[0])
            return self._synced(main, old, merges, before)
        synced = self._synced(main, old, merges, before)
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

    def _synced(
        self, main: Sha, old: Heads, merges: Merges, stopped: StoppedSync | None = None
    ) -> Synced:
        merged, pending = merges.made, merges.pending
        before, lost = count_commits(self._repository, main, old, new_heads(old, merged))
        landed = {
            landing.pull_request.number: landing.commit
            for landing in self._landings.found
            if landing.pull_request.number in self._landings.newly
        }
        rewrite = self._rewrite() if pending is None else None
        diff = "" if rewrite is None else rewrite.diff
        reverted = dict(self._landings.reverted.said.reverted)
        return Synced(
            main=main,
            merged=merged,
            earlier=0 if stopped is None else len(stopped.merged),
            pending=pending,
            ahead=merges.ahead,
            heard=() if stopped is None else stopped.told,
            commits_before=before,
            commits_lost=lost,
            landed=landed,
            reverted=reverted,
            series_diff=diff,
        )

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


def foresee(
    repository: Repository, carrier: Carrier, operations: Operations, main_name: str
) -> Forecast:
    """As ``Syncer.foresee``; nothing is told on the way, and no command of the user's is run."""
    syncer = Syncer(repository, carrier, operations, lambda _: None, makes_again=False)
    return syncer.foresee(main_name)
