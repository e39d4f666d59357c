"""What a PR is read against: the merge of its dependencies and main, as its branch holds them.

The merge is made among objects alone: a conflict that a rule of the sync settles is settled, the
allowlist is merged read by read, and what no rule settles stays in the tree as git left it, with
conflict markers. The list is not scanned again here: the scanner may have learned since the
branches' lists were made, and what it learned is no change of this PR's.
"""

from collections import Counter
from dataclasses import dataclass, replace

from carry.carried import Carrier
from carry.generated import Reads, ReadScanner, render
from merge_series.conflicts import groups
from merge_series.resolve import Settled, Side, Sources, entries, settle
from merge_series.review.merging import independent, stand_in
from merge_series.review.standing import Standing
from process_groups.allowlist import ALLOWLIST_PATH
from stack.git_answers import Entry, Sha
from stack.merging import Merge, merge_trees
from stack.model import PullRequest
from stack.repository import Repository


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
    first, *others = independent(repository, tuple(holds))
    merged = _Merged(first, holds[first], ())
    for other in others:
        theirs = _Merged(other, holds[other], ())
        merged = _merge(repository, carrier, scanner, standing, merged, theirs)
    return Foundation(repository.tree_of(merged.commit), merged.in_conflict)


def _merge(  # noqa: PLR0913, PLR0917 - two sides and what settles their conflicts
    repository: Repository,
    carrier: Carrier,
    scanner: ReadScanner,
    standing: Standing,
    ours: _Merged,
    theirs: _Merged,
) -> _Merged:
    merge = merge_trees(repository, ours.commit, theirs.commit)
    changes = _allowlist(repository, scanner, ours.commit, theirs.commit)
    left = tuple(conflict for conflict in merge.conflicts if conflict.path not in changes)
    settled = [
        end
        for end in _settled(
            repository, carrier, standing, replace(merge, conflicts=left), ours, theirs
        )
        if end.path not in {*ours.in_conflict, *carrier.series.generated}
    ]
    changes |= entries(repository, settled)
    in_conflict = *ours.in_conflict, *(c.path for c in left if c.path not in changes)
    tree = repository.change_tree(merge.tree, changes)
    return _Merged(
        stand_in(repository, tree, (ours.commit, theirs.commit)),
        carrier.series.closure(*ours.holds, *theirs.holds),
        tuple(dict.fromkeys(in_conflict)),
    )


def _allowlist(
    repository: Repository, scanner: ReadScanner, ours: Sha, theirs: Sha
) -> dict[str, Entry | None]:
    """The allowlist of two merged commits, where either has one."""
    if not any(repository.entry(side, ALLOWLIST_PATH) for side in (ours, theirs)):
        return {}
    base: Reads = Counter()
    for commit in repository.merge_bases(ours, theirs):
        base |= scanner.allowed(commit)
    merged = merge_reads(base, scanner.allowed(ours), scanner.allowed(theirs))
    return repository.write_files({ALLOWLIST_PATH: render(merged)})


def merge_reads(base: Reads, ours: Reads, theirs: Reads) -> Reads:
    """Merge two allowlists, count by count, as git merges two texts."""
    merged: Reads = Counter()
    for read in {*base, *ours, *theirs}:
        was, mine, other = base[read], ours[read], theirs[read]
        merged[read] = mine if mine == other else mine + other - was
    return +merged


def _settled(  # noqa: PLR0913, PLR0917 - two sides and what settles their conflicts
    repository: Repository,
    carrier: Carrier,
    standing: Standing,
    merge: Merge,
    ours: _Merged,
    theirs: _Merged,
) -> tuple[Settled, ...]:
    """What the rules of the sync settle; not what a person settled on this machine."""
    sources = Sources(
        repository=repository,
        carrier=carrier,
        recorded=None,
        ours=Side(ours.commit, ours.holds, standing.main),
        theirs=Side(theirs.commit, theirs.holds, standing.main),
        merge=merge,
    )
    among = tuple(groups(merge.conflicts).values())
    ends = (settle(sources, group, among) for group in among)
    return tuple(end for end in ends if isinstance(end, Settled))
