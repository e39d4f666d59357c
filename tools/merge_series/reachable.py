"""Whether the commits that branches had are in the same branches now, as git has stored them."""

from collections.abc import Mapping

from stack.git_answers import Sha
from stack.repository import Repository


def count_commits(
    repository: Repository, main: Sha, old: Mapping[str, Sha], new: Mapping[str, Sha]
) -> tuple[int, int]:
    """Commits that branches had beyond main, and how many of them the same branches lost.

    Args:
        repository: The fork.
        main: A commit of main.
        old: Heads before.
        new: Heads now, of at least the same branches.
    """
    before = repository.commits(*old.values(), f"^{main}") if old else ()
    moved = {(head, new[branch]) for branch, head in old.items() if new[branch] != head}
    # Read anew, as git has stored it: what was known while the merges were made proves nothing.
    repository.read_ancestry(main, {commit for pair in moved for commit in pair})
    lost = {
        commit
        for head, now in moved
        if not repository.is_ancestor(head, now)
        for commit in repository.commits(head, f"^{now}")
    }
    return len(before), len(lost)
