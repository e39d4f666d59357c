"""One merge: git's own, then the resolvers, then the generated files, then the commit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from carry.carried import Carrier
from carry.generated import Reads, ReadScanner, render
from merge_series import messages
from merge_series.records import AllowlistChange, MergeRecord, SettledFile
from merge_series.resolve import Settled, Side, Unsettled, main_below, settle
from process_groups import ratchet
from stack.errors import Refusal
from stack.merging import Conflict, Merge, merge_trees
from stack.model import PullRequest
from stack.repository import Entry, Repository, Sha

REFRESH_SUBJECT = "Refresh the process-group allowlist"
REGENERATED = "regenerated from the merged tree"


@dataclass(frozen=True, slots=True)
class Planned:
    """A merge that is to be made.

    Attributes:
        pull_request: The PR on whose branch it is.
        source: What is merged; None is main.
        ours: Head of the branch.
        theirs: The commit merged in.
    """

    pull_request: PullRequest
    source: PullRequest | None
    ours: Sha
    theirs: Sha

    @property
    def source_name(self) -> str:
        """``main``, or the PR's name."""
        return "main" if self.source is None else self.source.name


@dataclass(frozen=True, slots=True)
class Stopped:
    """A merge that waits for a person.

    Attributes:
        planned: The merge.
        settled: Conflicts that are settled, with the files' new bytes.
        unsettled: Conflicts that are not.
        merge: What git made of it.
    """

    planned: Planned
    settled: tuple[Settled, ...]
    unsettled: tuple[Unsettled, ...]
    merge: Merge


class Merger:
    """Merges commits into branches of one repository, without touching refs or worktrees.

    Args:
        repository: The fork.
        carrier: The series and its edits.
        scanner: Scanner of the repository.
        main: The commit of main that is synced with.
    """

    def __init__(
        self, repository: Repository, carrier: Carrier, scanner: ReadScanner, main: Sha
    ) -> None:
        self._repository = repository
        self._carrier = carrier
        self._scanner = scanner
        self._main = main

    def merge(self, planned: Planned) -> MergeRecord | Stopped:
        """Make a merge, or say what in it needs a person.

        Raises:
            Refusal: The merged tree reads the global process groups where neither side may.
        """
        merged = merge_trees(self._repository, planned.ours, planned.theirs)
        ends = self._settle(planned, merged.conflicts)
        settled = tuple(end for end in ends if isinstance(end, Settled))
        unsettled = tuple(end for end in ends if isinstance(end, Unsettled))
        if unsettled:
            return Stopped(planned, settled, unsettled, merged)
        tree = self._repository.change_tree(merged.tree, self.write(settled))
        files = [SettledFile(s.path, s.how, conflicted=True) for s in settled]
        return self.commit(planned, tree, files)

    def write(self, settled: Sequence[Settled]) -> dict[str, Entry | None]:
        """Store the bytes of settled files; the result is what ``change_tree`` takes."""
        oids = self._repository.write_blobs([s.content for s in settled])
        return {s.path: Entry(s.mode, oid) for s, oid in zip(settled, oids, strict=True)}

    def commit(self, planned: Planned, tree: Sha, settled: Sequence[SettledFile]) -> MergeRecord:
        """Commit a merged tree whose only open files are generated ones.

        Args:
            planned: The merge.
            tree: The merged tree; its generated files may be stale or hold conflict markers.
            settled: The files that were in conflict.
        """
        tree, change, stale = self._regenerate(planned, tree)
        files = _with_stale(settled, stale)
        subject = messages.subject(planned.pull_request, planned.source)
        message = f"{subject}\n\n{messages.body(files, change)}"
        commit = self._repository.commit_tree(tree, [planned.ours, planned.theirs], message)
        return self._record(planned, commit, files, change)

    def adopt(self, planned: Planned, commit: Sha, settled: Sequence[SettledFile]) -> MergeRecord:
        """Take a merge that a person committed as it is; generated files are refreshed on top."""
        before = self._repository.tree_of(commit)
        tree, change, stale = self._regenerate(planned, before)
        files = _with_stale(settled, stale)
        if tree != before:
            message = f"{REFRESH_SUBJECT}\n\n{messages.body((), change)}"
            commit = self._repository.commit_tree(tree, [commit], message)
        return self._record(planned, commit, files, change)

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
            subject=messages.subject(planned.pull_request, planned.source),
            settled=files,
            allowlist=change,
        )

    def _settle(self, planned: Planned, conflicts: Sequence[Conflict]) -> list[Settled | Unsettled]:
        generated = self._carrier.series.generated
        sides = None
        ends: list[Settled | Unsettled] = []
        for conflict in conflicts:
            if conflict.path in generated:
                # Any side serves for now: the file is made again once the whole tree is known.
                entry = next(iter(conflict.stages.values()))
                content = self._repository.read_blob(entry.oid)
                ends.append(Settled(conflict.path, entry.mode, content, REGENERATED))
                continue
            sides = sides or self._sides(planned)
            ends.append(settle(self._repository, self._carrier, conflict, *sides))
        return ends

    def _sides(self, planned: Planned) -> tuple[Side, Side]:
        closure = self._carrier.series.closure
        held = () if planned.source is None else closure(planned.source)
        return (
            self._side(planned.ours, closure(planned.pull_request)),
            self._side(planned.theirs, held),
        )

    def _side(self, commit: Sha, holds: tuple[PullRequest, ...]) -> Side:
        return Side(commit, holds, main_below(self._repository, commit, self._main))

    def _regenerate(
        self, planned: Planned, tree: Sha
    ) -> tuple[Sha, AllowlistChange | None, list[str]]:
        """Make the allowlist again, also where git merged it cleanly.

        Returns:
            The tree, what became of the allowlist, and the files in it that were not true.

        Raises:
            Refusal: A read that neither side's allowlist allows.
        """
        sides = (planned.ours, planned.theirs)
        listed = [p for p in self._carrier.series.generated if self._holds(p, sides)]
        if not listed:
            return tree, None, []
        found = self._scanner.scan(tree)
        before = self._scanner.allowed(planned.ours)
        refused = ratchet.refused(found, before + self._brought(planned))
        if refused:
            reads = "; ".join(_describe(_places(refused)))
            raise Refusal(
                f"{planned.pull_request.branch}: merging {planned.source_name} gives reads of the "
                f"global process groups that neither side allows: {reads}; pass the collection "
                "there, or accept them on the branch (process_groups refresh --accept FILE:SCOPE) "
                "and commit, then sync again"
            )
        change = AllowlistChange(
            before.total(),
            found.total(),
            tuple(_describe(_places(found) - _places(before))),
            (_places(before) - _places(found)).total(),
        )
        content = render(found)
        stale = [p for p in listed if self._repository.read_file(tree, p) != content]
        files = self._repository.write_files(dict.fromkeys(stale, content))
        return self._repository.change_tree(tree, files), change, stale

    def _holds(self, path: str, commits: Sequence[Sha]) -> bool:
        return any(self._repository.entry(commit, path) is not None for commit in commits)

    def _brought(self, planned: Planned) -> Reads:
        """The reads that the merged side allows beyond all common ancestors: what it added."""
        known: Reads = self._scanner.allowed(planned.theirs)
        for base in self._repository.merge_bases(planned.ours, planned.theirs):
            known = ratchet.added(known, self._scanner.allowed(base))
        return known


def _places(reads: Reads) -> Counter[tuple[str, str, str]]:
    """The reads without their kinds: one that only became milder is neither new nor gone."""
    places: Counter[tuple[str, str, str]] = Counter()
    for read, count in reads.items():
        places[read.path, read.scope, read.function] += count
    return places


def _describe(places: Counter[tuple[str, str, str]]) -> list[str]:
    """Each read as a person reads it: ``path: scope: function``, with a count above one."""
    return [
        ": ".join(place) + (f" (x{count})" if count > 1 else "")
        for place, count in sorted(places.items())
    ]


def _with_stale(settled: Sequence[SettledFile], stale: Sequence[str]) -> tuple[SettledFile, ...]:
    known = {file.path for file in settled}
    more = (SettledFile(p, REGENERATED, conflicted=False) for p in stale if p not in known)
    return (*settled, *more)
