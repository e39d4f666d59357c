"""A sync that stopped: what a person is offered of its merge, and what is taken back from them."""

import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import NoReturn

from carry.carried import Carrier
from merge_series import messages, person
from merge_series.history import FOLLOWS, OVERRULES
from merge_series.merger import Merger
from merge_series.messages import BY_PERSON
from merge_series.operations import Operations, Pending, StoppedSync
from merge_series.planned import Planned, Stopped
from merge_series.records import MergeRecord, SettledFile
from stack.command_line import typed
from stack.errors import ExitCode, Refusal
from stack.git_answers import GitFailure
from stack.repository import Repository


class Handover:
    """Hands the merge of a stopped sync to a person and takes it back.

    Args:
        repository: The fork.
        carrier: The series and its edits.
        operations: What is kept in the repository.
        merger: Makes the merges of that sync.
    """

    def __init__(
        self, repository: Repository, carrier: Carrier, operations: Operations, merger: Merger
    ) -> None:
        self._repository = repository
        self._carrier = carrier
        self._operations = operations
        self._merger = merger

    def offer(self, waiting: StoppedSync, stopped: Stopped) -> None:
        """Put a stopped merge into the worktree in which a person settles it.

        A kill on the way leaves a sync that says it is not made to its end.

        Raises:
            Refusal: git cannot check it out there, as where a filter fails. A sync that stops for
                the first time is dropped then; one that a person had to do with is kept.
        """
        is_first = self._operations.stopped() is None
        self._operations.stop(replace(waiting, state="preparing"))
        self._operations.remove_worktree()
        planned = stopped.planned
        files = self._merger.offered(stopped)
        settled = _files(waiting.pending)
        message = messages.whole(
            planned.subject, stopped.brought, settled, None, planned.beyond, planned.trailers
        )
        kept = [record.commit for record in waiting.merged]
        kept += (
            []
            if planned.beyond is None
            else list(filter(None, (planned.beyond.base, planned.beyond.kept)))
        )
        offer = person.Offer(stopped, waiting.main_name, message, files, tuple(kept))
        try:
            person.prepare(self._repository, self._operations.worktree, offer)
        except GitFailure as failure:
            self._operations.remove_worktree()
            if is_first:
                self._operations.forget_stopped()
            go_on = "merge_series sync" if is_first else person.CONTINUE
            raise Refusal(
                f"{planned.pull_request.branch}: merging {planned.source_name} needs a person, and "
                f"git cannot check it out in {self._operations.worktree}: "
                f"{failure}; no branch has moved; correct what it names, then run "
                f"{typed(go_on)}"
            ) from failure
        self._operations.stop(replace(waiting, state="waiting"))

    def offer_again(self, waiting: StoppedSync, why: str) -> NoReturn:
        """Make the worktree again.

        Raises:
            Refusal: Always: the merge is to be settled there first.
        """
        planned = self._planned(waiting.pending)
        stopped = self._merger.merge(planned)
        if not isinstance(stopped, Stopped):
            raise Refusal(
                f"{waiting.pending.branch}: the merge of {planned.source_name} no longer needs a "
                f"person; drop the stopped sync with {typed(person.ABORT)} and sync again"
            )
        self.offer(waiting, stopped)
        raise Refusal(
            f"{self._operations.worktree}: the worktree {why}; it is there now with the merge "
            f"of {planned.source_name} into {waiting.pending.branch}: settle it, git add, then "
            f"back in this folder run {typed(person.CONTINUE)}",
            ExitCode.WAITING,
        )

    def adopt(self, waiting: StoppedSync, result: person.Staged | person.Committed) -> MergeRecord:
        """The record of a merge that a person staged or committed.

        Raises:
            Refusal: The message of their commit says of a file what is no longer so.
        """
        pending = waiting.pending
        offered = _files(pending)
        planned = self._planned(pending)
        if isinstance(result, person.Staged):
            files = self._merger.as_left(planned, result.tree, offered)
            return self._merger.commit(planned, result.tree, files, pending.unsettled)
        tree = self._repository.tree_of(result.commit)
        files = self._merger.as_left(planned, tree, offered)
        said = self._repository.message(result.commit).splitlines()
        for file, before in zip(files, offered, strict=True):
            if file != before and messages.settled_line(before) in said:
                raise Refusal(
                    f"{self._operations.worktree}: {file.path} is not as it was offered, and the "
                    f"commit's message still says '{messages.settled_line(before)}'; write "
                    f"'{messages.settled_line(file)}' there (git commit --amend), then run "
                    f"{typed(person.CONTINUE)}",
                    ExitCode.WAITING,
                )
        for trailer in planned.trailers:
            is_answer = trailer.startswith((f"{OVERRULES}: ", f"{FOLLOWS}: "))
            if is_answer and trailer not in said:
                amend = f"git commit --amend --no-edit --trailer {shlex.quote(trailer)}"
                raise Refusal(
                    f"{self._operations.worktree}: the commit's message no longer records "
                    f"'{trailer}', by which nobody is asked again; add it there ({amend}), then "
                    f"run {typed(person.CONTINUE)}",
                    ExitCode.WAITING,
                )
        return self._merger.adopt(planned, result.commit, files, pending.unsettled)

    def _planned(self, pending: Pending) -> Planned:
        by_branch = {pull_request.branch: pull_request for pull_request in self._carrier.series}
        by_name = {pull_request.name: pull_request for pull_request in self._carrier.series}
        if pending.branch not in by_branch:
            raise Refusal(
                f"{self._carrier.path} has no branch {pending.branch}; name the SERIES.md with "
                "which the sync began, put the row back, or drop the sync with "
                f"{typed(person.ABORT)}"
            )
        if pending.beyond is None and pending.source not in {"main", *by_name}:
            raise Refusal(
                f"SERIES.md no longer has {pending.source}; drop the sync with "
                f"{typed(person.ABORT)}"
            )
        source = by_name.get(pending.source)
        pull_request = by_branch[pending.branch]
        return Planned(
            pull_request, source, pending.ours, pending.theirs, pending.beyond, pending.trailers
        )


def refuse_undeclared(carrier: Carrier, merged: Iterable[MergeRecord]) -> None:
    """Refuse to go on where SERIES.md lost a dependency that the stopped sync has merged.

    What landed is none by then, and is merged into whatever holds a part of it.

    Raises:
        Refusal: It names the first.
    """
    by_branch = {pull_request.branch: pull_request for pull_request in carrier.series}
    landed = {pr.name for pr in carrier.series if pr.state == "landed"}
    for record in merged:
        pull_request = by_branch[record.branch]
        name = record.source.partition(" ")[0]  # of "#1 as landed" as well
        held = {pr.name for pr in carrier.series.closure(pull_request)}
        if name not in {"main", *held, *landed}:
            raise Refusal(
                f"SERIES.md:{pull_request.line}: {pull_request.name} does not depend on {name} "
                f"now, which the stopped sync merged into {record.branch}; write the dependency "
                f"again, or drop that sync with {typed(person.ABORT)} and sync again"
            )


def abort_sync(operations: Operations) -> Pending:
    """Drop a stopped sync; no ref had moved.

    Returns:
        The merge that waited.

    Raises:
        Refusal: No sync is stopped.
    """
    waiting = waiting_sync(operations)
    operations.forget_stopped()
    return waiting.pending


def refuse_stopped(operations: Operations) -> None:
    """Refuse where a sync waits for a person.

    Raises:
        Refusal: It names the branch and the worktree.
    """
    waiting = operations.stopped()
    if waiting is not None:
        raise Refusal(how_it_waits(operations, waiting), ExitCode.BUSY)


def how_it_waits(operations: Operations, waiting: StoppedSync) -> str:
    """Where a sync waits for a person, and how it goes on, as a sentence without a capital."""
    return (
        f"a sync waits for a person at {waiting.pending.branch} in {operations.worktree}; "
        f"finish it with {typed(person.CONTINUE)} or drop it with {typed(person.ABORT)}"
    )


def describe(stopped: Stopped) -> Pending:
    """A stopped merge in the form that is kept and shown."""
    planned = stopped.planned
    settled = (*stopped.settled, *stopped.parts)
    return Pending(
        branch=planned.pull_request.branch,
        source=planned.source_name,
        ours=planned.ours,
        theirs=planned.theirs,
        settled=tuple(SettledFile(s.path, s.how, conflicted=True) for s in settled),
        unsettled={u.path: u.why for u in stopped.unsettled},
        beyond=planned.beyond,
        trailers=planned.trailers,
        brought=stopped.brought,
    )


def _files(pending: Pending) -> tuple[SettledFile, ...]:
    """The files in conflict as they will have been settled once the person is done."""
    how = {file.path: file.how for file in pending.settled}
    for path in pending.unsettled:
        how[path] = f"{how[path]}, the rest {BY_PERSON}" if path in how else BY_PERSON
    return tuple(SettledFile(path, text, conflicted=True) for path, text in how.items())


def waiting_sync(operations: Operations) -> StoppedSync:
    """The sync that waits for a person, to be gone on with or dropped.

    Raises:
        Refusal: None does, or this is run in its worktree.
    """
    waiting = operations.stopped()
    if waiting is None:
        raise Refusal(
            f"no sync waits for a person here; start one with {typed('merge_series sync')}"
        )
    operations.refuse_inside()
    return waiting
