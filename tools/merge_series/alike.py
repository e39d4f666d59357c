"""Commits that others are another form of: rebased, amended or picked."""

from collections.abc import Iterable, Sequence

from merge_series.history import Commit
from stack.git_answers import Sha
from stack.repository import Repository


def alike(
    repository: Repository, main: Sha, commits: Sequence[Commit], head: Sha, own: Iterable[Commit]
) -> frozenset[Sha]:
    """Those of some commits that a branch has in another form: what a rebase keeps is the same.

    Args:
        repository: The fork.
        main: The commit of main.
        commits: The commits.
        head: The head of the branch.
        own: The branch's commits that may be another form of them.
    """
    kept = {(commit.author, commit.subject) for commit in own}
    found = {commit.sha for commit in commits if (commit.author, commit.subject) in kept}
    for tip in tips(commits):
        marked = repository.run(
            "rev-list", "--cherry-mark", "--right-only", "--no-merges",
            f"{head}...{tip}", f"^{main}", "--",
        )  # fmt: skip
        found.update(Sha(line[1:]) for line in marked.text.split() if line.startswith("="))
    return frozenset(found.intersection(commit.sha for commit in commits))


def tips(commits: Iterable[Commit]) -> list[Sha]:
    """Those of some commits that stand below none of the others."""
    parents = {parent for commit in commits for parent in commit.parents}
    return [commit.sha for commit in commits if commit.sha not in parents]
