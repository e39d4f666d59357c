"""Merges by which a branch records that main, or a successor, has commits of it in another form.

Such a merge keeps the branch's files. Git alone would merge changes that the branch has already,
and call some of them conflicts, so its own merge is no measure for what a reviewer has to read.
Nothing of it is to be read if what is merged brings nothing but what is absorbed. That is proved
here, by the same comparison that the sync made; a merge for which it fails is one like any other.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from merge_series.review.commits import Commit
from merge_series.review.merging import clean_merge, independent, stand_in
from stack.git_answers import Sha
from stack.repository import Repository

_SUBJECT = re.compile(r"Record that (?:#\d+ (?P<landed>landed in main)|#\d+ supersedes .+)")
_NAME = re.compile(r"#\d+")


@dataclass(frozen=True, slots=True)
class Recording:
    """A merge that records something, and changes nothing.

    Attributes:
        commit: The merge.
        absorbed: The heads that it absorbs, by the names of their PRs.
        below: The newest commit of what is merged that the branch contained before.
    """

    commit: Commit
    absorbed: dict[str, Sha]
    below: Sha

    @property
    def by(self) -> Sha:
        """The commit that has the absorbed ones in another form."""
        return self.commit.parents[1]

    def told(self, length: int) -> str:
        """What it records, with ids of this length: ``#1 landed in main as 1a2b3c4``."""
        what = self.commit.subject.removeprefix("Record that ")
        found = _SUBJECT.fullmatch(self.commit.subject)
        return f"{what} as {self.by[:length]}" if found and found["landed"] else what


def find_recordings(
    repository: Repository, merges: Iterable[Commit], generated: Collection[str]
) -> tuple[Recording, ...]:
    """The merges among those given that record something, each proved.

    Args:
        repository: The fork, opened with a temporary object folder.
        merges: The merges, parents first.
        generated: Files that every sync makes again, whatever is merged.
    """
    found: list[Recording] = []
    for commit in merges:
        recording = _read(repository, commit)
        if recording is not None and _is_proved(repository, recording, found, generated):
            found.append(recording)
    return tuple(found)


def _read(repository: Repository, commit: Commit) -> Recording | None:
    """What a merge says that it records, if it keeps the branch's files."""
    names = _NAME.findall(commit.subject)[-len(commit.absorbs) :]
    if (
        not commit.absorbs
        or len(names) != len(commit.absorbs)
        or len(commit.parents) != 2  # noqa: PLR2004 - the branch and what is merged
        or not _SUBJECT.fullmatch(commit.subject)
    ):
        return None
    ours, theirs = commit.parents
    below = repository.merge_bases(ours, theirs)
    kept, tree = repository.trees_of((ours, commit.sha))
    is_held = all(repository.resolve(head) is not None for head in commit.absorbs) and all(
        repository.is_ancestor(head, ours) for head in commit.absorbs
    )
    if kept != tree or len(below) != 1 or not is_held:
        return None
    return Recording(commit, dict(zip(names, commit.absorbs, strict=True)), below[0])


def _is_proved(
    repository: Repository,
    recording: Recording,
    earlier: Sequence[Recording],
    generated: Collection[str],
) -> bool:
    """Whether what is merged is what is absorbed, merged into the commit below."""
    heads = tuple(recording.absorbed.values())
    after = tuple(_absorbing(repository, head, earlier, generated) for head in heads)
    return any(
        _is_merge_of(repository, recording.by, (recording.below, *some), generated)
        for some in dict.fromkeys((after, heads))
    )


def _is_merge_of(
    repository: Repository, found: Sha, commits: Sequence[Sha], generated: Collection[str]
) -> bool:
    merged = clean_merge(repository, independent(repository, commits))
    names = repository.run("diff-tree", "-r", "-z", "--name-only", merged.tree, found).text
    differing = {*names.split("\0"), *merged.in_conflict} - {""}
    return differing.issubset(generated)


def _absorbing(
    repository: Repository, head: Sha, earlier: Sequence[Recording], generated: Collection[str]
) -> Sha:
    """A head with what was recorded before absorbed, as the sync compared it; or as it is."""
    tip = head
    for recording in earlier:
        held = recording.absorbed.values()
        if all(repository.is_ancestor(other, tip) for other in held):
            merged = clean_merge(repository, independent(repository, (tip, recording.below)))
            if not set(merged.in_conflict).issubset(generated):
                return head
            tip = stand_in(repository, merged.tree, (tip, recording.below, recording.by))
    return tip
