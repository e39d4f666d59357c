"""Branches that a sync leaves with nothing of their own: what they depend on took their change."""

from collections.abc import Iterable, Mapping

from carry.carried import Carrier
from merge_series.plan import sources, synced_pull_requests
from stack.repository import Repository, Sha


def emptied(
    repository: Repository,
    carrier: Carrier,
    main: Sha,
    old: Mapping[str, Sha],
    new: Mapping[str, Sha],
) -> tuple[str, ...]:
    """A sentence for each branch that moved, has commits of its own, and yet changes no file.

    A branch on several dependencies is compared with each of them: it is told where the others
    bring nothing either.

    Args:
        repository: The fork.
        carrier: The series.
        main: The commit of main synced with.
        old: Heads before.
        new: Heads after.
    """
    moved = [pr for pr in synced_pull_requests(carrier) if old[pr.branch] != new[pr.branch]]
    below = [[new[source.branch] for source in sources(carrier, pr)] or [main] for pr in moved]
    heads = {new[pr.branch] for pr in moved}
    trees = _trees(repository, heads.union(*below))
    told = []
    for pull_request, commits in zip(moved, below, strict=True):
        head = new[pull_request.branch]
        if trees[head] not in {trees[commit] for commit in commits}:
            continue
        if repository.commits("--no-merges", "-1", head, *(f"^{c}" for c in (*commits, main))):
            names = [source.name for source in sources(carrier, pull_request)] or ["main"]
            told.append(
                f"{pull_request.branch}: changes nothing beyond {', '.join(names)} any more; "
                f"look whether {pull_request.name} is still needed"
            )
    return tuple(told)


def _trees(repository: Repository, commits: Iterable[Sha]) -> dict[Sha, str]:
    """The trees of commits, asked for at once."""
    ordered = sorted(commits)
    if not ordered:
        return {}
    answer = repository.run("rev-parse", *(f"{commit}^{{tree}}" for commit in ordered))
    return dict(zip(ordered, answer.text.split("\n"), strict=True))
