"""Two merges of the same commits, by different bases, between which a person decides."""

from dataclasses import replace

from merge_series.conflicts import LEFT_OUT
from stack.git_answers import Entry, Sha
from stack.merging import BASE, Conflict, Merge, TreeMerger
from stack.repository import Repository

_NEITHER = b"merge_series: a person decides between two forms of this file\n"


def merge_beyond(  # noqa: PLR0913, PLR0917 - what a merge is made of
    repository: Repository, trees: TreeMerger, ours: Sha, theirs: Sha, base: Sha, kept: Sha | None
) -> Merge:
    """Merge what a commit has beyond a base into a branch.

    Args:
        repository: The repository.
        trees: Merges commits of it.
        ours: Head of the branch.
        theirs: The commit.
        base: A commit whose tree is the base.
        kept: One whose tree is another base, by which the branch keeps more of what it has.
    """
    merge = trees.merge(ours, theirs, base)
    if kept is None:
        return merge
    return either(repository, trees, trees.merge(ours, theirs, kept), merge)


def either(repository: Repository, trees: TreeMerger, kept: Merge, gone: Merge) -> Merge:
    """Make a conflict of whatever two merges do differently.

    Args:
        repository: The repository.
        trees: Merges commits of it.
        kept: The merge by which the branch keeps what it has.
        gone: The one by which that goes.
    """
    ours, theirs = repository.entries(kept.tree), repository.entries(gone.tree)
    open_in_kept = {conflict.path for conflict in kept.conflicts}
    only_gone = [c for c in gone.conflicts if c.path not in open_in_kept]
    asked = {path for path, _ in ours.items() ^ theirs.items()}
    asked -= open_in_kept.union(conflict.path for conflict in only_gone)
    taken = {conflict.path: theirs.get(conflict.path) for conflict in only_gone if conflict.stages}
    tree = repository.change_tree(kept.tree, taken)
    if not asked:
        conflicts = _sorted(*kept.conflicts, *only_gone)
        return Merge(tree, conflicts, kept.sides + gone.sides)
    # A base that has neither form: git puts markers where they differ.
    neither = Entry("100644", repository.write_blobs([_NEITHER])[0])
    base, with_them = (
        repository.commit_nowhere(repository.change_tree(tree, changes), ())
        for changes in (dict.fromkeys(asked, neither), {path: theirs.get(path) for path in asked})
    )
    two = trees.merge(repository.commit_nowhere(tree, ()), with_them, base)
    about = (_left_out(conflict) for conflict in two.conflicts)
    return Merge(
        two.tree,
        _sorted(*kept.conflicts, *only_gone, *about),
        kept.sides + gone.sides + two.sides,
    )


def _left_out(conflict: Conflict) -> Conflict:
    stages = {stage: entry for stage, entry in conflict.stages.items() if stage != BASE}
    return replace(conflict, stages=stages, kinds=[(LEFT_OUT, (conflict.path,))])


def _sorted(*conflicts: Conflict) -> tuple[Conflict, ...]:
    return tuple(sorted(conflicts, key=lambda conflict: conflict.path))
