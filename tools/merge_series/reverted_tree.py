"""What a revert on main makes of the files there, and what else its commit does."""

from collections.abc import Collection, Sequence
from functools import cmp_to_key

from merge_series.reverts import Revert
from stack.git_answers import Sha
from stack.merging import TreeMerger
from stack.repository import Repository

# Heads the list of such files in a merge's message.
BY_HAND = "Reverted by hand there, and kept as they are here:"


def does_revert(repository: Repository, revert: Revert) -> bool:
    """Whether a commit that says so does take back a line."""
    if not revert.undone:
        return True
    above, (base, by_hand) = revert.commit.parents[0], undone(repository, [revert])
    taken = changed_files(repository, above, base) | set(by_hand)
    return not taken.isdisjoint(changed_files(repository, above, revert.commit.sha))


def changed_files(repository: Repository, before: Sha, after: Sha, *options: str) -> set[str]:
    """The files that differ between two commits or trees, or some of them by git's options."""
    names = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", *options, before, after)
    return {path for path in repository.run(*names).text.split("\0") if path}


def taken_back(reverts: Sequence[Revert]) -> frozenset[Sha]:
    """The commits of main that one commit takes back; none if it is not known of each PR."""
    if not all(revert.undone for revert in reverts):
        return frozenset()
    return frozenset(sha for revert in reverts for sha in revert.undone)


def undone(repository: Repository, reverts: Sequence[Revert]) -> tuple[Sha, tuple[str, ...]]:
    """As ``without``, of reverts of several PRs by one commit."""
    return without(repository, reverts[0].commit.sha, taken_back(reverts))


def without(
    repository: Repository, commit: Sha, taken: Collection[Sha]
) -> tuple[Sha, tuple[str, ...]]:
    """A commit of the files that main would have by a revert alone, and those it does not tell.

    Files that the commit leaves alone are as they were: it may take back a part. Of a file that was
    reverted by hand, because something else had changed it since, what belongs
    to the revert cannot be told; it is as the revert left it.

    Args:
        repository: The repository.
        commit: The commit that reverts.
        taken: The commits that it takes back; where none is known, all it does is the revert.
    """

    def order(one: Sha, other: Sha) -> int:
        return -1 if repository.is_ancestor(other, one) else 1

    if not taken:
        return commit, ()
    trees = TreeMerger(repository)
    (above,) = repository.commits("--no-walk", f"{commit}^1")
    made = above
    by_hand: set[str] = set()
    for sha in sorted(taken, key=cmp_to_key(order)):
        (before,) = repository.commits("--no-walk", f"{sha}^1")
        merge = trees.merge(made, before, sha)
        by_hand |= {conflict.path for conflict in merge.conflicts}
        made = repository.commit_nowhere(merge.tree, ())
    by_hand &= changed_files(repository, above, commit)
    theirs = repository.entries(commit, *by_hand) if by_hand else {}
    kept = changed_files(repository, above, made) - changed_files(repository, above, commit)
    there = repository.entries(above, *kept) if kept else {}
    tree = repository.change_tree(
        repository.tree_of(made),
        {path: there.get(path) for path in sorted(kept)}
        | {path: theirs.get(path) for path in sorted(by_hand)},
    )
    return repository.commit_nowhere(tree, ()), tuple(sorted(by_hand))
