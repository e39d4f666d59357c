"""Merges that a sync makes of what main, or a successor, has in another form than a branch.

Git alone would merge changes that the branch has already, and call some of them conflicts, so its
own merge is no measure for what a reviewer has to read, or for what a merge dropped. What the sync
merges by itself is made again here, from what the merge's message says, and only where that proves
true; any other merge is one like git's.

- A merge that only records keeps the branch's files: what is merged brings nothing but what is
  absorbed. That is proved by the same comparison that the sync made.
- One of a PR as it landed in main has the merged PR as base, in which main differs in the files
  that the message lists.
- One that replaces an older form of a PR has that form as base too.
- One that keeps a PR which main reverts has main with the revert alone as base.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from merge_series.either import merge_beyond
from merge_series.history import BROUGHT
from merge_series.landed_form import DIFFERS, LEFT_OUT, landed_form, merge_of
from merge_series.older_forms import NO_FORM, make_again
from merge_series.reverted_tree import BY_HAND, without
from merge_series.review.commits import Commit
from merge_series.review.merging import Merged, clean_merge, independent, stand_in
from stack.git_answers import Sha
from stack.merging import TreeMerger, merge_trees
from stack.repository import Repository

_RECORD = re.compile(
    r"Record that (?:#\d+(?: and #\d+)* (?P<landed>landed in main)|#\d+ supersedes .+)"
)
_LANDED = re.compile(r"Merge (#\d+(?: and #\d+)*) as (?:it|they) landed in main")
_KEEP = re.compile(r"Keep (#\d+(?: and #\d+)*), which main reverts")
_NAME = re.compile(r"#\d+")
_LISTED = r"\n(?P<files>(?:- .*(?:\n|\Z))+)"
_DIFFERING = re.compile(re.escape(DIFFERS) + _LISTED)
_LEFT_OUT = _NAME.pattern.join(map(re.escape, LEFT_OUT.split("{name}")))
_LISTS = re.compile(f"(?:{re.escape(DIFFERS)}|{_LEFT_OUT}|{re.escape(BY_HAND)}){_LISTED}")


@dataclass(frozen=True, slots=True)
class Recording:
    """A merge of what a branch has in another form.

    Attributes:
        commit: The merge.
        absorbed: The heads that it absorbs, by the names of their PRs.
        below: The newest commit of what is merged that the branch contained before.
        base: A commit whose tree is the base of it; None if it only records something, and so
            changes nothing.
        merged: What the sync merges there by itself.
    """

    commit: Commit
    absorbed: dict[str, Sha]
    below: Sha
    base: Sha | None
    merged: Merged

    @property
    def by(self) -> Sha:
        """The commit that has the absorbed ones in another form."""
        return self.commit.parents[1]

    @property
    def only_records(self) -> bool:
        """Whether it changes nothing."""
        return self.base is None

    @property
    def measure(self) -> str:
        """What is shown of it is beyond this."""
        landed = _LANDED.fullmatch(self.commit.subject)
        if landed is not None:
            return f"the merge of what main has otherwise than {landed[1]} merged into it"
        if self.commit.replaces:
            return "the merge of what the PR did since its older form"
        return "the merge of main without the revert"

    def told(self, length: int) -> str:
        """What it records, with ids of this length: ``#1 landed in main as 1a2b3c4``."""
        by = self.by[:length]
        landed = _LANDED.fullmatch(self.commit.subject)
        if landed is not None:
            return f"{landed[1]} landed in main in another form as {by}"
        kept = _KEEP.fullmatch(self.commit.subject)
        if kept is not None:
            return f"{kept[1]} stays, which main reverts by {by}"
        if self.commit.replaces:
            name = _NAME.findall(self.commit.subject)[-1]
            return f"{name} as {by} replaces what it was at {self.commit.replaces[0][:length]}"
        what = self.commit.subject.removeprefix("Record that ")
        found = _RECORD.fullmatch(self.commit.subject)
        return f"{what} as {by}" if found and found["landed"] else what


def find_recordings(
    repository: Repository, merges: Iterable[Commit], generated: Collection[str]
) -> tuple[Recording, ...]:
    """Those among some merges that are of what a branch has in another form, each proved.

    Args:
        repository: The fork; objects are written to it.
        merges: The merges, parents first.
        generated: Files that every sync makes again, whatever is merged.
    """
    found: list[Recording] = []
    for commit in merges:
        recording = _read(repository, commit, found, generated)
        if recording is not None:
            found.append(recording)
    return tuple(found)


def words_of_people(message: str) -> str:
    """A merge's message without the files that main has otherwise, which are no word on the merge.

    What is settled of them, or changed by a person, stands there once more.
    """
    return _LISTS.sub("", message)


def _read(
    repository: Repository,
    commit: Commit,
    earlier: Sequence[Recording],
    generated: Collection[str],
) -> Recording | None:
    read = next(
        (
            read
            for form, read in ((_RECORD, _recorded), (_LANDED, _landed), (_KEEP, _kept))
            if form.fullmatch(commit.subject)
        ),
        None,
    )
    if len(commit.parents) != 2:  # noqa: PLR2004 - the branch and what is merged
        return None
    if BROUGHT.fullmatch(commit.subject) and commit.replaces:
        return _replaced(repository, commit)
    if read is None:
        return None
    below = repository.merge_bases(*commit.parents)
    return read(repository, commit, below[0], earlier, generated) if len(below) == 1 else None


def _recorded(
    repository: Repository,
    commit: Commit,
    below: Sha,
    earlier: Sequence[Recording],
    generated: Collection[str],
) -> Recording | None:
    """What a merge says that it records, if it keeps the branch's files."""
    ours, theirs = commit.parents
    absorbed = _absorbed(repository, commit)
    kept, tree = repository.trees_of((ours, commit.sha))
    if absorbed is None or kept != tree:
        return None
    heads = tuple(absorbed.values())
    after = tuple(_absorbing(repository, head, earlier, generated) for head in heads)
    if not any(
        _is_merge_of(repository, theirs, (below, *some), generated)
        for some in dict.fromkeys((after, heads))
    ):
        return None
    return Recording(commit, absorbed, below, None, Merged(tree, ()))


def _absorbed(repository: Repository, commit: Commit) -> dict[str, Sha] | None:
    """The heads that a merge absorbs, by name; None unless the branch held each."""
    names = _NAME.findall(commit.subject)[-len(commit.absorbs) :]
    if not commit.absorbs or len(names) != len(commit.absorbs):
        return None
    is_held = all(
        repository.resolve(head) is not None and repository.is_ancestor(head, commit.parents[0])
        for head in commit.absorbs
    )
    return dict(zip(names, commit.absorbs, strict=True)) if is_held else None


def _landed(
    repository: Repository,
    commit: Commit,
    below: Sha,
    earlier: Sequence[Recording],
    generated: Collection[str],
) -> Recording | None:
    """A PR as it landed in main, if main differs from it in the files that the message lists."""
    absorbed = _absorbed(repository, commit)
    said = _DIFFERING.search(commit.words)
    if absorbed is None or said is None:
        return None
    ours, theirs = commit.parents
    heads = tuple(absorbed.values())
    after = tuple(_absorbing(repository, head, earlier, generated) for head in heads)
    listed = {line.removeprefix("- ") for line in said["files"].splitlines()}
    for some in dict.fromkeys((after, heads)):
        form = landed_form(repository, below, merge_of(repository, some), theirs, generated)
        if listed == set(form.differing):
            trees = TreeMerger(repository)
            merge = merge_beyond(repository, trees, ours, theirs, form.merged, form.kept)
            paths = tuple(conflict.path for conflict in merge.conflicts)
            return Recording(commit, absorbed, below, form.merged, Merged(merge.tree, paths))
    return None


def _kept(
    repository: Repository,
    commit: Commit,
    below: Sha,
    _earlier: Sequence[Recording],
    _generated: Collection[str],
) -> Recording | None:
    """A PR that the branch keeps and main reverts, if main had what the merge says it keeps."""
    ours, theirs = commit.parents
    for sha in commit.keeps:
        if repository.resolve(sha) is None or not repository.is_ancestor(sha, theirs):
            return None
    base, _ = without(repository, theirs, commit.keeps)
    merge = merge_trees(repository, ours, theirs, base)
    paths = tuple(conflict.path for conflict in merge.conflicts)
    return Recording(commit, {}, below, base, Merged(merge.tree, paths))


def _replaced(repository: Repository, commit: Commit) -> Recording | None:
    """A PR of which the branch held an older form."""
    ours, theirs = commit.parents
    shas = [form for form in commit.replaces if form != NO_FORM]
    for sha in shas:
        if repository.resolve(sha) is None or not repository.is_ancestor(Sha(sha), ours):
            return None
    bases = repository.merge_bases(ours, theirs)
    if not bases:
        return None
    base, kept = make_again(repository, ours, theirs, commit.replaces)
    merge = merge_beyond(repository, TreeMerger(repository), ours, theirs, base, kept)
    paths = tuple(conflict.path for conflict in merge.conflicts)
    return Recording(commit, {}, bases[0], base, Merged(merge.tree, paths))


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
        if held and all(repository.is_ancestor(other, tip) for other in held):
            merged = clean_merge(repository, independent(repository, (tip, recording.below)))
            conflicts, above = set(merged.in_conflict), (tip, recording.below, recording.by)
            tree = merged.tree
            if recording.base is not None:
                tip = stand_in(repository, tree, (tip, recording.below))
                merge = merge_trees(repository, tip, recording.by, recording.base)
                tree = merge.tree
                conflicts.update(conflict.path for conflict in merge.conflicts)
            if not conflicts.issubset(generated):
                return head
            tip = stand_in(repository, tree, above)
    return tip
