"""One merge: git's own, then the resolvers, then the generated files, then the commit."""

import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series import messages
from merge_series.command_files import Merging
from merge_series.conflicts import groups
from merge_series.either import merge_beyond
from merge_series.foreseen import foreseen
from merge_series.generated_files import FILE_MODES, REGENERATED, GeneratedFiles, MadeAgain
from merge_series.messages import BY_PERSON
from merge_series.origins import Origins
from merge_series.plan import sources
from merge_series.planned import Planned, Stopped
from merge_series.recorded import Recorded
from merge_series.records import AllowlistChange, MergeRecord, SettledFile
from merge_series.resolve import Settled, Side, Sources, Unsettled, entries, is_left, settle
from stack.errors import Refusal
from stack.git_answers import Entry, Sha, decode
from stack.merging import BASE, OURS, THEIRS, Conflict, Merge, TreeMerger
from stack.model import PullRequest
from stack.repository import Repository

REFRESH_SUBJECT = "Refresh the process-group allowlist"
REFRESH_FILES_SUBJECT = "Make generated files again"


class Merger:
    """Merges commits into branches of one repository, without touching refs or worktrees.

    Args:
        repository: The fork.
        carrier: The series and its edits.
        scanner: Scanner of the repository.
        main: The commit of main that is synced with.
        told: Called with a sentence for each of the user's commands that has run.
        makes_again: Whether generated files are made again.
    """

    def __init__(  # noqa: PLR0913 - what merges are made from
        self,
        repository: Repository,
        carrier: Carrier,
        scanner: ReadScanner,
        main: Sha,
        told: Callable[[str], None] = lambda _: None,
        *,
        makes_again: bool = True,
    ) -> None:
        self._makes_again = makes_again
        self._repository = repository
        self._trees = TreeMerger(repository)
        self._carrier = carrier
        self._generated = GeneratedFiles(repository, carrier, scanner, told)
        self._main = main
        self._recorded = Recorded(repository)
        self._origins = Origins(repository, carrier, main)
        # Git's own merges, which take the time, may be made at once; the rest is one at a time.
        self._lock = threading.Lock()

    @property
    def threads(self) -> int:
        """How many merges may be under way at once.

        Where files are made again it is one: a scan takes all cores for itself, and the user's
        commands expect to run alone.
        """
        return 1 if self._generated.paths else os.cpu_count() or 1

    def foresee(self, pull_requests: Iterable[PullRequest], tips: Mapping[str, Sha]) -> None:
        """Have the files merged at once that the merges of a sync will likely have to merge.

        Args:
            pull_requests: The PRs that are synced.
            tips: The head of every branch, also as the sync goes on.
        """
        below = {
            pr.branch: [source.branch for source in sources(self._carrier, pr)]
            for pr in pull_requests
        }
        likely = foreseen(self._repository, below, tips, self._main)
        self._origins.tips = tips
        self._trees.foresee(likely, (self._main, *tips.values()))

    def merge(self, planned: Planned) -> MergeRecord | Stopped:
        """Make a merge, or say what in it needs a person.

        Raises:
            Refusal: The merged tree reads the global process groups where neither side may, or a
                generated file could not be made again.
        """
        merged = self._merged(planned)
        with self._lock:
            return self._finish(planned, merged)

    def _merged(self, planned: Planned) -> Merge:
        """Git's own merge."""
        ours, theirs, beyond = planned.ours, planned.theirs, planned.beyond
        if beyond is None:
            return self._trees.merge(ours, theirs)
        return merge_beyond(self._repository, self._trees, ours, theirs, beyond.base, beyond.kept)

    def _finish(self, planned: Planned, merged: Merge) -> MergeRecord | Stopped:
        """Settle what git left in conflict and commit the merge."""
        ends = self._settle(planned, merged)
        settled = tuple(end for end in ends if isinstance(end, Settled))
        unsettled = tuple(end for end in ends if isinstance(end, Unsettled))
        if unsettled:
            told = tuple(self._origins.told(planned, merged, unsettled))
            return Stopped(planned, settled, told, merged, self._origins.brought(planned))
        tree = self._repository.change_tree(merged.tree, entries(self._repository, settled))
        files = [SettledFile(s.path, s.how, conflicted=True) for s in settled]
        return self._commit(planned, merged, tree, files)

    def offered(self, stopped: Stopped) -> dict[str, Entry | None]:
        """Store what a person is offered of a stopped merge: files settled wholly or in part.

        Returns:
            What ``change_tree`` takes.
        """
        return entries(self._repository, [*stopped.settled, *stopped.parts])

    def as_left(
        self, planned: Planned, tree: Sha, offered: Iterable[SettledFile]
    ) -> tuple[SettledFile, ...]:
        """How the files in conflict came about, once a person had the merge.

        Args:
            planned: The merge.
            tree: What the person made of it.
            offered: The files, each with how it came about if what was settled of it still stands.
        """
        merged = self._merged(planned)
        by_path = {conflict.path: conflict for conflict in merged.conflicts}
        gone = {
            end.path
            for end in self._settle(planned, merged)
            if not self._is_left(by_path[end.path], end, self._repository.entry(tree, end.path))
        }
        return tuple(replace(f, how=BY_PERSON) if f.path in gone else f for f in offered)

    def _is_left(self, conflict: Conflict, end: Settled | Unsettled, result: Entry | None) -> bool:
        if conflict.path in self._generated.paths and result is not None:
            return True  # made again from whatever a person has there
        return is_left(self._repository, conflict, end, result)

    def commit(
        self,
        planned: Planned,
        tree: Sha,
        settled: Sequence[SettledFile],
        by_person: Collection[str],
    ) -> MergeRecord:
        """Commit a merge that a person staged.

        Args:
            planned: The merge.
            tree: What they staged; its generated files may be stale.
            settled: The files that were in conflict.
            by_person: Those of them that were left to the person.
        """
        merged = self._merged(planned)
        more = self._beyond(merged, tree, settled)
        record = self._commit(planned, merged, tree, [*settled, *more])
        self._remember(merged, tree, record.commit, record.settled, by_person)
        return record

    def adopt(
        self,
        planned: Planned,
        commit: Sha,
        settled: Sequence[SettledFile],
        by_person: Collection[str],
    ) -> MergeRecord:
        """Take a merge that a person committed as it is; generated files are refreshed on top.

        Args:
            planned: The merge.
            commit: What they committed.
            settled: The files that were in conflict.
            by_person: Those of them that were left to the person.
        """
        before = self._repository.tree_of(commit)
        merged = self._merged(planned)
        more = self._beyond(merged, before, settled)
        again = self._make_again(planned, merged, before)
        head = commit
        if again.tree != before:
            others = _stale((), again)
            if all(file.how == REGENERATED for file in others):
                message = messages.refreshed(REFRESH_SUBJECT, (), again.allowlist)
            else:
                message = messages.refreshed(REFRESH_FILES_SUBJECT, others, again.allowlist)
            self._check_named(before, again.tree, others)
            head = self._repository.commit_tree(again.tree, [commit], message)
        files = self._with_stale(planned, [*settled, *more], again)
        record = self._record(planned, head, files, again.allowlist)
        self._remember(merged, before, commit, record.settled, by_person)
        return record

    def _commit(
        self, planned: Planned, merged: Merge, tree: Sha, settled: Sequence[SettledFile]
    ) -> MergeRecord:
        """Commit a merged tree whose only open files are generated ones."""
        again = self._make_again(planned, merged, tree)
        files = self._with_stale(planned, settled, again)
        self._check_named(merged.tree, again.tree, files)
        message = messages.whole(
            planned.subject,
            self._origins.brought(planned),
            files,
            again.allowlist,
            planned.beyond,
            planned.trailers,
        )
        commit = self._repository.commit_tree(again.tree, [planned.ours, planned.theirs], message)
        return self._record(planned, commit, files, again.allowlist)

    def _with_stale(
        self, planned: Planned, settled: Sequence[SettledFile], again: MadeAgain
    ) -> tuple[SettledFile, ...]:
        """Files in conflict, each with how it was made if it was, and those that were stale."""
        known = []
        for file in settled:
            how = again.how.get(file.path, file.how)
            if how == self._generated.will(file.path, planned.source_name):
                how = BY_PERSON  # who put there what is not made again, such as a link
            known.append(replace(file, how=how))
        return (*known, *_stale({file.path for file in settled}, again))

    def _check_named(self, before: Sha, after: Sha, files: Iterable[SettledFile]) -> None:
        """See that a tree differs from git's own merge only in files that the message names.

        Raises:
            Refusal: It does not: a fault of this program, by which nothing may come to be.
        """
        unnamed = self._changed(before, after) - {file.path for file in files}
        if unnamed:
            raise Refusal(
                f"{', '.join(sorted(unnamed))}: the merged tree has other bytes than git's merge, "
                "and nothing says why; this is a fault of merge_series, and nothing was changed"
            )

    def _changed(self, before: Sha, after: Sha) -> set[str]:
        if before == after:
            return set()
        names = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", before, after)
        return {decode(path) for path in self._repository.run(*names).stdout.split(b"\0") if path}

    def _beyond(
        self, merged: Merge, tree: Sha, settled: Iterable[SettledFile]
    ) -> list[SettledFile]:
        """The files that a person changed although git had merged them."""
        known = {file.path for file in settled} | self._generated.paths
        more = sorted(self._changed(merged.tree, tree) - known)
        return [SettledFile(path, BY_PERSON, conflicted=False) for path in more]

    def _remember(
        self,
        merged: Merge,
        tree: Sha,
        commit: Sha,
        files: Iterable[SettledFile],
        by_person: Collection[str],
    ) -> None:
        """Keep how a person settled conflicts, where the settling lies in their paths alone."""
        if any(file.how == BY_PERSON and file.path not in by_person for file in files):
            return
        found = groups(merged.conflicts).values()
        kept = [group for group in found if group[0].path in by_person and group[0].stages]
        # A generated file, which changes with every main, takes nothing that another gave up.
        together = [group for group in kept if group[0].path not in self._generated.paths]
        for group in kept:
            result = self._repository.entry(tree, group[0].path)
            self._recorded.keep(group, result, commit, together)

    def _record(
        self,
        planned: Planned,
        commit: Sha,
        files: tuple[SettledFile, ...],
        change: AllowlistChange | None,
    ) -> MergeRecord:
        return MergeRecord(
            branch=planned.pull_request.branch,
            source=planned.source_name,
            ours=planned.ours,
            theirs=planned.theirs,
            commit=commit,
            subject=planned.subject,
            settled=files,
            allowlist=change,
            brought=self._origins.brought(planned),
        )

    def _settle(self, planned: Planned, merged: Merge) -> list[Settled | Unsettled]:
        generated = self._generated
        sources = None
        ends: list[Settled | Unsettled] = []
        among = tuple(groups(merged.conflicts).values())
        for group in among:
            conflict = group[0]
            if conflict.path in generated.paths and _is_kept(conflict):
                # What it is made again from, once the whole tree is known.
                content = self._repository.read_blob(conflict.stages[THEIRS].oid)
                how = generated.will(conflict.path, planned.source_name)
                ends.append(Settled(conflict.path, _mode(conflict), content, how))
                continue
            sources = sources or self._sources(planned, merged)
            ends.append(settle(sources, group, among))
        return ends

    def _sources(self, planned: Planned, merged: Merge) -> Sources:
        closure = self._carrier.series.closure
        held = () if planned.source is None else closure(planned.source)
        return Sources(
            repository=self._repository,
            carrier=self._carrier,
            recorded=self._recorded,
            ours=Side(planned.ours, closure(planned.pull_request), self._main),
            theirs=Side(planned.theirs, held, self._main),
            merge=merged,
        )

    def _make_again(self, planned: Planned, merged: Merge, tree: Sha) -> MadeAgain:
        if not self._makes_again:
            return MadeAgain(tree, None, {}, ())
        if planned.beyond is not None and tree == self._repository.tree_of(planned.ours):
            # Nothing is merged, so what is generated is as true as before.
            return MadeAgain(tree, None, {}, ())
        branch, source = planned.pull_request.branch, planned.source_name
        ours, theirs, beyond = planned.ours, planned.theirs, planned.beyond
        bases = self._repository.merge_bases(ours, theirs) if beyond is None else (beyond.base,)
        merging = Merging(branch, source, ours, theirs, bases, merged)
        return self._generated.make_again(tree, merging)


def _is_kept(conflict: Conflict) -> bool:
    """Whether both sides still have a file there."""
    return all(
        stage in conflict.stages and conflict.stages[stage].mode in FILE_MODES
        for stage in (OURS, THEIRS)
    )


def _mode(conflict: Conflict) -> str:
    """The mode of a file that both sides have: that of the side that changed it, else ours."""
    base, ours = conflict.stages.get(BASE), conflict.stages[OURS]
    is_theirs = base is not None and base.mode == ours.mode
    return (conflict.stages[THEIRS] if is_theirs else ours).mode


def _stale(known: Collection[str], again: MadeAgain) -> list[SettledFile]:
    paths = [path for path in again.stale if path not in known]
    return [SettledFile(path, again.how[path], conflicted=False) for path in paths]
