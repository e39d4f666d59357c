"""The ratchet: what a tree may read, given what it was allowed before.

Reads are compared as multisets. For one place (path, scope, function) four numbers count: the
reads of the worst kinds, these and the fallbacks, these and the warned ones, and all. A change that
raises none of the four is no new read, so a read may become milder (accessor or shim, then
fallback, then warned, then guarded) without asking; one that raises any of them is refused.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from process_groups.reads import LEVELS, SEVERITY, Read

_Place = tuple[str, str, str]
_Levels = tuple[int, ...]
_KINDS_OF_LEVEL = tuple(
    tuple(kind for kind, severity in SEVERITY.items() if severity == level)
    for level in range(LEVELS)
)


class Difference(NamedTuple):
    """How a tree's reads differ from a list, kinds told apart.

    Attributes:
        new: Reads in the tree that the list does not have.
        gone: Entries of the list that the tree no longer has.
    """

    new: Counter[Read]
    gone: Counter[Read]


def compare(found: Counter[Read], allowed: Counter[Read]) -> Difference:
    """Return how ``found`` differs from ``allowed``; both parts are empty if it does not."""
    return Difference(found - allowed, allowed - found)


def added(theirs: Counter[Read], base: Counter[Read]) -> Counter[Read]:
    """Return the reads by which ``theirs`` is worse than ``base``.

    A read that only became milder is none, so ``ours + added(theirs, base)`` allows one read there
    and not two.
    """
    return refused(theirs, base)


def refused(found: Counter[Read], allowed: Counter[Read]) -> Counter[Read]:
    """Return the fewest reads of ``found`` without which it would keep to ``allowed``."""
    result: Counter[Read] = Counter()
    limits = _levels_by_place(allowed)
    for place, levels in _levels_by_place(found).items():
        taken = 0
        for level, (count, limit) in enumerate(
            zip(levels, limits.get(place, (0,) * LEVELS), strict=True)
        ):
            excess = max(0, count - limit - taken)
            taken += excess
            for kind in _KINDS_OF_LEVEL[level]:
                read = Read(*place, kind)
                part = min(excess, found[read])
                excess -= part
                if part:
                    result[read] = part
    return result


def widest(first: Counter[Read], second: Counter[Read]) -> Counter[Read]:
    """Return the reads allowed where each place may follow ``first`` or ``second``."""
    return first + refused(second, first)


def total_by_kind(reads: Mapping[Read, int]) -> dict[str, int]:
    """Return the number of reads of each kind, all kinds named."""
    return {
        kind: sum(count for read, count in reads.items() if read.kind == kind) for kind in SEVERITY
    }


def _levels_by_place(reads: Counter[Read]) -> dict[_Place, _Levels]:
    levels: dict[_Place, list[int]] = {}
    for read, count in reads.items():
        place = levels.setdefault((read.path, read.scope, read.function), [0] * LEVELS)
        for level in _from(SEVERITY[read.kind]):
            place[level] += count
    return {place: tuple(counts) for place, counts in levels.items()}


def _from(level: int) -> Iterable[int]:
    return range(level, LEVELS)
