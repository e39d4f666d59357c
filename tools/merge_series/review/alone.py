"""One PR alone: what its branch adds to the merge of its dependencies and main."""

from dataclasses import dataclass

from merge_series.review.commits import Commit
from merge_series.review.foundation import Foundation
from merge_series.review.patches import Patch, difference
from merge_series.review.standing import Standing, own_commits
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class Alone:
    """One PR alone.

    Attributes:
        standing: Where its branch stands.
        foundation: What it is read against.
        commits: Its own commits, parents first; merges are among them.
        patch: What it changes.
    """

    standing: Standing
    foundation: Foundation
    commits: tuple[Commit, ...]
    patch: Patch


def alone(repository: Repository, standing: Standing, foundation: Foundation) -> Alone:
    """Show a PR alone.

    Raises:
        Refusal: The difference that would be shown is not the whole one.
    """
    head = repository.tree_of(standing.head)
    return Alone(
        standing,
        foundation,
        own_commits(repository, standing),
        difference(repository, foundation.tree, head),
    )
