"""Branches that ``git branch -m`` gave another name, as their reflogs tell."""

from collections.abc import Collection

from stack.git_answers import Sha
from stack.refs import branch_ref
from stack.repository import Repository


def new_name(repository: Repository, branch: str, head: Sha, known: Collection[str]) -> str | None:
    """The name that a branch which is gone seems to have now.

    Args:
        repository: The fork.
        branch: The name it had.
        head: Where it stood: without a reflog, a branch there counts as the renamed one.
        known: Branches that have names of their own.

    Returns:
        None where no branch, or more than one, may be it.
    """
    listed = repository.run(
        "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads"
    )
    there = dict(line.split(" ", 1)[::-1] for line in listed.text.split("\n") if line)
    others = {name: value for name, value in there.items() if name not in known}
    told = f"Branch: renamed {branch_ref(branch)} to "
    moved = [name for name in others if told in _reflog(repository, name)]
    found = moved or [name for name, value in others.items() if value == head]
    return found[0] if len(found) == 1 else None


def _reflog(repository: Repository, branch: str) -> str:
    return repository.run("log", "--walk-reflogs", "--format=%gs", branch_ref(branch), "--").text
