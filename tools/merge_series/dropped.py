"""Merges that dropped what one side brought, as ``git merge -s ours`` does without a word.

A merge may keep a file as one side has it although git would have merged the other side's change
cleanly; who means that says so in the message, by the file's name. Merges of this program name such
files. Of what a branch has in another form, git's merge is that of ``review.recordings``.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.checks import Check
from merge_series.history import BROUGHT
from merge_series.messages import BY_PERSON
from merge_series.operations import Operations
from merge_series.plan import heads_by_number
from merge_series.review.commits import read_commits
from merge_series.review.recordings import find_recordings, words_of_people
from stack.git_answers import Sha, decode
from stack.merging import TreeMerger
from stack.model import PullRequest
from stack.repository import Repository
from stack.words import counted

_LISTED = 5  # files; a merge that dropped a move of main dropped hundreds
_FIELDS = 3


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit that a branch holds beyond main."""

    parents: tuple[Sha, ...]
    message: str

    @property
    def body(self) -> str:
        """What the message says below its subject, in which git writes the names of branches."""
        return words_of_people(self.message.partition("\n")[2])


class DroppedChanges:
    """Looks for merges that dropped something, each on the first branch that holds it.

    Args:
        repository: The fork.
        carrier: The series.
        operations: What is kept of earlier operations: their merges were checked when made.
        main: The commit of main.
        generated: Files that are made again after a merge, whatever the sides had.
    """

    def __init__(
        self,
        repository: Repository,
        carrier: Carrier,
        operations: Operations,
        main: Sha,
        generated: Collection[str],
    ) -> None:
        self._repository = repository
        self._carrier = carrier
        self._main = main
        self._generated = frozenset(generated)
        self._trees = TreeMerger(repository)
        self._heads = heads_by_number(repository, carrier)
        self._commits = _read(repository, self._heads, main)
        merges = read_commits(repository, "--merges", *self._heads.values(), f"^{main}")
        found = find_recordings(repository, merges, generated) if self._heads else ()
        self._recordings = {recording.commit.sha: recording for recording in found}
        self._checked = {
            record.commit
            for done in operations.journal.records()
            for record in done.merged
            if not any(BY_PERSON in file.how for file in record.settled)
        }
        # What somebody wrote about a merge later ends the matter; a merge only quotes others.
        self._later = "\n".join(
            commit.message for commit in self._commits.values() if len(commit.parents) == 1
        )

    def check(self, pull_request: PullRequest) -> Check:
        """Check the merges on one branch; those checked by then are left out."""
        found = []
        for merge in self._reached([self._heads[pull_request.number]]):
            commit = self._commits[merge]
            if len(commit.parents) > 1 and merge not in self._checked:
                self._checked.add(merge)
                recording = self._recordings.get(merge)
                is_record = recording is not None and recording.only_records
                if not is_record and merge[:12] not in self._later:
                    found += list(self._dropped(pull_request, merge, commit))
        return Check(pull_request.branch, "merges keep both sides", "; ".join(found))

    def _dropped(self, pull_request: PullRequest, merge: Sha, commit: _Commit) -> Iterator[str]:
        ours, *others = commit.parents
        if len(others) == 1 and ours not in self._commits:
            # Made on main, as a pull request's merge is: what the branch may lack is main's.
            ours, others = others[0], [ours]
        below = [
            (pr.name, self._heads[pr.number])
            for pr in self._carrier.series.closure(pull_request)
            if pr != pull_request and pr.number in self._heads
        ]
        for theirs in others:
            for name, side in self._sides(commit, ours, theirs, below):
                if not self._repository.merge_bases(ours, side):
                    continue  # grafted on: there is nothing that git would do by itself
                merged, in_conflict = self._merged(merge, ours, side)
                differs = self._changed(merged, merge) - self._generated - in_conflict
                differs = {path for path in differs if not _names(commit.body, path)}
                if not differs:
                    continue
                taken = self._changed(ours, merge)
                yield from self._told(merge, name, differs - taken)
                if side == theirs and len(others) == 1:
                    theirs_kept = differs - self._changed(theirs, merge)
                    yield from self._told(merge, pull_request.branch, theirs_kept)

    def _merged(self, merge: Sha, ours: Sha, side: Sha) -> tuple[Sha, set[str]]:
        """The tree that the merge of a side makes by itself, and what it leaves in conflict."""
        recording = self._recordings.get(merge)
        if recording is not None and side == recording.by:
            return recording.merged.tree, set(recording.merged.in_conflict)
        merged = self._trees.merge(ours, side)
        return merged.tree, {conflict.path for conflict in merged.conflicts}

    def _sides(
        self, merge: _Commit, ours: Sha, theirs: Sha, below: Iterable[tuple[str, Sha]]
    ) -> Iterator[tuple[str, Sha]]:
        """What a merge brings of main and of dependencies, each with its name.

        A branch's own commits in another form are not to be kept twice, but what they stand on is.
        """
        if theirs not in self._commits:
            yield "main", theirs
            return
        replaced = [
            (pr.name, self._heads[pr.number])
            for pr in self._carrier.series
            if pr.state == "superseded" and pr.number in self._heads
        ]
        names = {name: set(self._reached([head])) for name, head in (*below, *replaced)}
        for name, held in names.items():
            if theirs in held:
                yield name, theirs
                return
        said = BROUGHT.match(merge.message.partition("\n")[0])
        if said is not None:  # of a PR whose branch is gone
            yield f"#{said[1]}", theirs
            return
        for name, head in (("main", self._main), *below):
            for base in self._repository.merge_bases(theirs, head):
                if not self._repository.is_ancestor(base, ours):
                    yield name, base

    def _told(self, merge: Sha, name: str, paths: set[str]) -> Iterator[str]:
        if paths:
            listed = sorted(paths)
            more = len(listed) - _LISTED
            files = ", ".join(listed[:_LISTED]) + (f" and {more} more" if more > 0 else "")
            yield (
                f"merge {merge[:12]} drops what {name} has in {counted(len(paths), 'file')}: "
                f"{files}; bring it back, or leave it, in a commit whose message names "
                f"{merge[:12]}"
            )

    def _changed(self, before: Sha, after: Sha) -> set[str]:
        names = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", before, after)
        return {decode(path) for path in self._repository.run(*names).stdout.split(b"\0") if path}

    def _reached(self, starts: Iterable[Sha]) -> Iterator[Sha]:
        """The commits beyond main that some contain."""
        seen: set[Sha] = set()
        pending = list(starts)
        while pending:
            sha = pending.pop()
            if sha in self._commits and sha not in seen:
                seen.add(sha)
                yield sha
                pending.extend(self._commits[sha].parents)


def _read(repository: Repository, heads: Mapping[int, Sha], main: Sha) -> dict[Sha, _Commit]:
    if not heads:
        return {}
    tips = (*heads.values(), f"^{main}")
    answer = repository.run("log", "-z", "--format=%H%x00%P%x00%B", *tips, "--")
    fields = decode(answer.stdout).split("\0")
    return {
        Sha(sha): _Commit(tuple(map(Sha, parents.split())), message)
        for sha, parents, message in zip(*[iter(fields)] * _FIELDS, strict=False)
    }


def _names(text: str, path: str) -> bool:
    """Whether a text names a file, by its whole path."""
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-]|\.\w)", text) is not None
