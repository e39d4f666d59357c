"""The ratchet: what a tree may read, given what it was allowed before.

Reads are compared as multisets. For one place (path, scope, function) four numbers count: the
reads of the worst kinds, these and the fallbacks, these and the warned ones, and all. A change that
raises none of the four is no new read, so a read may become milder (accessor or shim, then
fallback, then warned, then guarded) without asking; one that raises any of them is refused.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product
from typing import NamedTuple

from process_groups.reads import LEVELS, MODULE_SCOPE, SEVERITY, Read

_Place = tuple[str, str, str]
_Levels = tuple[int, ...]
_KINDS_OF_LEVEL = tuple(
    tuple(kind for kind, severity in SEVERITY.items() if severity == level)
    for level in range(LEVELS)
)


class Move(NamedTuple):
    """A read that stands elsewhere now."""

    before: Read
    now: Read


class Difference(NamedTuple):
    """How a tree's reads differ from a list, kinds told apart.

    Attributes:
        new: Reads in the tree that the list does not have.
        gone: Entries of the list that the tree no longer has.
        moved: Pairs of the two others, in neither of them: one function read in the same way in
            a definition that reads nothing any more, and in one that read nothing before and has
            its name, or stands in its file.
    """

    new: Counter[Read]
    gone: Counter[Read]
    moved: Counter[Move]


def compare(found: Counter[Read], allowed: Counter[Read]) -> Difference:
    """Return how ``found`` differs from ``allowed``; all parts are empty if it does not."""
    new, gone = found - allowed, allowed - found
    moved: Counter[Move] = Counter()
    here, there = ({(read.path, read.scope) for read in side} for side in (found, allowed))
    left = [read for read in sorted(gone) if (read.path, read.scope) not in here]
    come = [read for read in sorted(new) if (read.path, read.scope) not in there]
    # The closest pairs first: a whole file that went elsewhere, then a definition, then a name.
    for near in (_same_scope, _same_definition, _same_file):
        for before, now in product(left, come):
            pairs = min(gone[before], new[now])
            same_read = (before.function, before.kind) == (now.function, now.kind)
            if pairs and same_read and near(before, now):
                moved[Move(before, now)] += pairs
                gone[before] -= pairs
                new[now] -= pairs
    return Difference(+new, +gone, moved)


def _same_scope(before: Read, now: Read) -> bool:
    return before.scope == now.scope != MODULE_SCOPE


def _same_definition(before: Read, now: Read) -> bool:
    return _definition(before) == _definition(now) != MODULE_SCOPE


def _same_file(before: Read, now: Read) -> bool:
    return before.path == now.path


def _definition(read: Read) -> str:
    return read.scope.rpartition(".")[2].partition("#")[0]


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


def total_by_package(reads: Mapping[Read, int]) -> dict[str, dict[str, int]]:
    """Return the number of reads of each kind in each package right below ``megatron/core``.

    A module that stands in ``megatron/core`` itself counts there.
    """
    packages: dict[str, Counter[Read]] = {}
    for read, count in reads.items():
        package = "/".join(read.path.split("/")[:-1][:3])
        packages.setdefault(package, Counter())[read] += count
    return {package: total_by_kind(packages[package]) for package in sorted(packages)}


def _levels_by_place(reads: Counter[Read]) -> dict[_Place, _Levels]:
    levels: dict[_Place, list[int]] = {}
    for read, count in reads.items():
        place = levels.setdefault((read.path, read.scope, read.function), [0] * LEVELS)
        for level in _from(SEVERITY[read.kind]):
            place[level] += count
    return {place: tuple(counts) for place, counts in levels.items()}


def _from(level: int) -> Iterable[int]:
    return range(level, LEVELS)
