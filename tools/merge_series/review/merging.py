"""Git's own merges, made among objects that are dropped again."""

from collections.abc import Sequence
from dataclasses import dataclass

from stack.git_answers import Sha
from stack.merging import merge_trees
from stack.repository import Repository

# Commits that only stand for a merge; they are dropped with the temporary object folder.
_NOBODY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "none"), ("EMAIL", "none"), ("DATE", "2000-01-01T00:00:00Z"))
}


@dataclass(frozen=True, slots=True)
class Merged:
    """Git's own merge of some commits, with no rule of ours.

    Attributes:
        tree: The merged tree.
        in_conflict: Files of it that hold conflict markers, or that git could not merge otherwise.
    """

    tree: Sha
    in_conflict: tuple[str, ...]


def clean_merge(repository: Repository, commits: Sequence[Sha]) -> Merged:
    """Merge commits, each into the merge of those before it.

    Args:
        repository: The fork, opened with a temporary object folder.
        commits: The commits.
    """
    first, *others = commits
    tree, conflicts = repository.tree_of(first), []
    for number, other in enumerate(others):
        if number:
            first = stand_in(repository, tree, commits[: number + 1])
        merge = merge_trees(repository, first, other)
        tree = merge.tree
        conflicts += [conflict.path for conflict in merge.conflicts]
    return Merged(tree, tuple(dict.fromkeys(conflicts)))


def stand_in(repository: Repository, tree: Sha, parents: Sequence[Sha]) -> Sha:
    """Store a commit that nobody will see, so that it can be merged with another."""
    arguments = [part for parent in parents for part in ("-p", parent)]
    return Sha(repository.run("commit-tree", *arguments, tree, environment=_NOBODY).text)


def independent(repository: Repository, commits: Sequence[Sha]) -> tuple[Sha, ...]:
    """The commits that no other of them contains, in the order given."""
    left = set(repository.run("merge-base", "--independent", *commits).text.split())
    return tuple(commit for commit in commits if commit in left)
