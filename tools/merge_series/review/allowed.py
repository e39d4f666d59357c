"""What a PR does to the allowlist of global process-group reads."""

from collections import Counter
from dataclasses import dataclass

from carry.generated import Reads, ReadScanner
from merge_series.review.foundation import Foundation
from process_groups import ratchet
from process_groups.allowlist import ALLOWLIST_PATH
from process_groups.reads import Read
from stack.git_answers import Sha
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class ReadsChange:
    """How a PR's allowlist differs from that of what the PR stands on.

    Attributes:
        before: Reads of each kind below; None where there is no list below.
        after: Reads of each kind on the branch.
        removed: Entries that the PR takes out, with their counts.
        added: Entries that it puts in.
        changed: Entries whose kind it changes: the old and the new one.
    """

    before: dict[str, int] | None
    after: dict[str, int]
    removed: dict[Read, int]
    added: dict[Read, int]
    changed: dict[tuple[Read, Read], int]


def reads_change(
    repository: Repository, scanner: ReadScanner, foundation: Foundation, head: Sha
) -> ReadsChange | None:
    """Compare the allowlist on a branch with that of what it stands on.

    Returns:
        None if the branch has no allowlist.

    Raises:
        Refusal: An allowlist cannot be read.
    """
    if repository.entry(head, ALLOWLIST_PATH) is None:
        return None
    after = scanner.allowed(head)
    if repository.entry(foundation.tree, ALLOWLIST_PATH) is None:
        return ReadsChange(None, ratchet.total_by_kind(after), {}, {}, {})
    return compare(scanner.allowed(foundation.tree), after)


def compare(before: Reads, after: Reads) -> ReadsChange:
    """Compare two allowlists."""
    removed, added = before - after, after - before
    changed: Counter[tuple[Read, Read]] = Counter()
    for old in sorted(removed):
        for new in sorted(added):
            pairs = min(removed[old], added[new])
            if pairs and old[:3] == new[:3]:
                changed[old, new] += pairs
                removed[old] -= pairs
                added[new] -= pairs
    return ReadsChange(
        ratchet.total_by_kind(before),
        ratchet.total_by_kind(after),
        dict(sorted((+removed).items())),
        dict(sorted((+added).items())),
        dict(sorted(changed.items())),
    )
