"""What a PR is read against: the merge of its dependencies and main, as its branch holds them.

The merge is made among objects alone, and by the rules of a sync: a conflict that a rule settles is
settled, the allowlist is made again from the merged tree, and what no rule settles stays in the
tree as git left it, with conflict markers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from carry.carried import Carrier
from carry.generated import ReadScanner, render
from carry.scanned import SCANNED
from merge_series.resolve import Settled, Side, main_below, settle
from merge_series.review.standing import Standing
from process_groups.allowlist import ALLOWLIST_PATH
from stack.merging import Conflict, merge_trees
from stack.model import PullRequest
from stack.repository import Entry, Repository, Sha

# Commits that only stand for a merge; they are dropped with the temporary object folder.
_NOBODY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "none"), ("EMAIL", "none"), ("DATE", "2000-01-01T00:00:00Z"))
}


@dataclass(frozen=True, slots=True)
class Foundation:
    """What a PR is read against.

    Attributes:
        tree: The merged tree.
        in_conflict: Files of it that no rule settled; they hold conflict markers.
    """

    tree: Sha
    in_conflict: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Merged:
    """Some parts, merged: a commit, the PRs it holds, and the files still in conflict."""

    commit: Sha
    holds: tuple[PullRequest, ...]
    in_conflict: tuple[str, ...]


def lay(
    repository: Repository, carrier: Carrier, scanner: ReadScanner, standing: Standing
) -> Foundation:
    """Merge what a PR's branch was put on.

    Args:
        repository: The fork, opened with a temporary object folder.
        carrier: The series and its edits.
        scanner: Scanner of the repository.
        standing: Where the branch stands.

    Raises:
        Refusal: Two parts share no history, or a file cannot be scanned.
    """
    holds = {commit: part.holds for part in standing.parts for commit in part.commits}
    first, *others = _independent(repository, tuple(holds))
    merged = _Merged(first, holds[first], ())
    for other in others:
        merged = _merge(repository, carrier, standing, merged, _Merged(other, holds[other], ()))
    tree = repository.tree_of(merged.commit)
    unsettled = [path for path in merged.in_conflict if path != ALLOWLIST_PATH]
    listed = repository.entry(tree, ALLOWLIST_PATH) is not None
    if not others or not listed:
        return Foundation(tree, merged.in_conflict)
    if any(path.startswith(f"{SCANNED}/") for path in unsettled):
        # A file with conflict markers is no Python, so nobody can say what it reads.
        return Foundation(tree, merged.in_conflict)
    tree = repository.change_files(tree, {ALLOWLIST_PATH: render(scanner.scan(tree))})
    return Foundation(tree, tuple(unsettled))


def clean_merge(repository: Repository, parents: Sequence[Sha]) -> Foundation:
    """Git's own merge of some commits, with no rule of ours."""
    first, *others = parents
    tree, conflicts = repository.tree_of(first), []
    for number, other in enumerate(others):
        if number:
            first = stand_in(repository, tree, parents[: number + 1])
        merge = merge_trees(repository, first, other)
        tree = merge.tree
        conflicts += [conflict.path for conflict in merge.conflicts]
    return Foundation(tree, tuple(dict.fromkeys(conflicts)))


def stand_in(repository: Repository, tree: Sha, parents: Sequence[Sha]) -> Sha:
    """Store a commit that nobody will see, so that it can be merged with another."""
    arguments = [part for parent in parents for part in ("-p", parent)]
    return Sha(repository.run("commit-tree", *arguments, tree, environment=_NOBODY).text)


def _independent(repository: Repository, commits: tuple[Sha, ...]) -> tuple[Sha, ...]:
    """The commits that no other of them contains, in the order given."""
    left = set(repository.run("merge-base", "--independent", *commits).text.split())
    return tuple(commit for commit in commits if commit in left)


def _merge(
    repository: Repository, carrier: Carrier, standing: Standing, ours: _Merged, theirs: _Merged
) -> _Merged:
    merge = merge_trees(repository, ours.commit, theirs.commit)
    changes: dict[str, Entry | None] = {}
    in_conflict = list(ours.in_conflict)
    for conflict in merge.conflicts:
        content = _settle(repository, carrier, standing, conflict, ours, theirs)
        if content is None or conflict.path in ours.in_conflict:
            in_conflict.append(conflict.path)
        else:
            changes[conflict.path] = Entry(content.mode, *repository.write_blobs([content.content]))
    tree = repository.change_tree(merge.tree, changes)
    return _Merged(
        stand_in(repository, tree, (ours.commit, theirs.commit)),
        carrier.series.closure(*ours.holds, *theirs.holds),
        tuple(dict.fromkeys(in_conflict)),
    )


def _settle(  # noqa: PLR0913, PLR0917 - a conflict and what it lies between
    repository: Repository,
    carrier: Carrier,
    standing: Standing,
    conflict: Conflict,
    ours: _Merged,
    theirs: _Merged,
) -> Settled | None:
    if conflict.path in carrier.series.generated:
        return None
    sides = [
        Side(side.commit, side.holds, main_below(repository, side.commit, standing.main))
        for side in (ours, theirs)
    ]
    end = settle(repository, carrier, conflict, *sides)
    return end if isinstance(end, Settled) else None
