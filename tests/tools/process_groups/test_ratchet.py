"""What may be read, given what was allowed before."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from process_groups.ratchet import (
    Difference,
    Move,
    added,
    compare,
    refused,
    total_by_kind,
    widest,
)
from process_groups.reads import SEVERITY, Read

# How long an example takes depends on what else the machine does.
unhurried = settings(deadline=None)

KINDS = {"a": "accessor", "s": "shim", "f": "fallback", "w": "warned", "g": "guarded"}


def reads(kinds: str, scope: str = "f") -> Counter[Read]:
    """Reads of one function in one scope, a letter a read."""
    return Counter(Read("a.py", scope, "get", KINDS[letter]) for letter in kinds)


_kinds = st.text("afwg", max_size=5)
_counters = st.builds(lambda one, two: reads(one) + reads(two, "g"), _kinds, _kinds)

# Found, allowed, and what of the found is refused.
CASES = [
    ("", "", ""),
    ("a", "a", ""),
    ("a", "", "a"),
    ("aa", "a", "a"),
    ("f", "a", ""),
    ("g", "a", ""),
    ("g", "f", ""),
    ("g", "s", ""),
    ("w", "a", ""),
    ("w", "f", ""),
    ("g", "w", ""),
    ("f", "w", "f"),
    ("w", "g", "w"),
    ("fw", "ff", ""),
    ("fw", "ww", "f"),
    ("fwg", "fww", ""),
    ("a", "f", "a"),
    ("a", "g", "a"),
    ("f", "g", "f"),
    ("s", "f", "s"),
    ("ff", "a", "f"),
    ("af", "aa", ""),
    ("af", "ag", "f"),
    ("afg", "aff", ""),
    ("afg", "fff", "a"),
    ("gg", "a", "g"),
    ("aag", "af", "a"),
    ("aff", "gg", "aff"),
]


@pytest.mark.parametrize(("found", "allowed", "expected"), CASES)
def test_refused(found: str, allowed: str, expected: str) -> None:
    assert refused(reads(found), reads(allowed)) == reads(expected)


def test_a_read_in_another_scope_is_another_read() -> None:
    assert refused(reads("a", "g"), reads("a", "f")) == reads("a", "g")


def within(found: Counter[Read], allowed: Counter[Read]) -> bool:
    """The rule, written down a second time: no number at or above a severity grows."""
    places = {read[:3] for read in found | allowed}

    def count(side: Counter[Read], place: tuple[str, ...], level: int) -> int:
        return sum(n for r, n in side.items() if r[:3] == place and SEVERITY[r.kind] <= level)

    return all(
        count(found, place, level) <= count(allowed, place, level)
        for place, level in product(places, range(4))
    )


@unhurried
@given(_counters, _counters)
def test_refused_is_the_least_that_must_go(found: Counter[Read], allowed: Counter[Read]) -> None:
    result = refused(found, allowed)
    assert result <= found
    assert (not result) == within(found, allowed)
    assert within(found - result, allowed)
    assert all(not within(found - (result - Counter([read])), allowed) for read in result)


@unhurried
@given(_counters, _counters)
def test_added_is_just_enough(theirs: Counter[Read], base: Counter[Read]) -> None:
    assert not refused(theirs, base + added(theirs, base))
    assert added(base, base) == Counter()


def test_a_read_made_milder_is_not_added() -> None:
    assert added(reads("f"), reads("a")) == Counter()
    assert added(reads("af"), reads("a")) == reads("f")
    assert added(reads("a"), reads("gg")) == reads("a")


@unhurried
@given(_counters, _counters, _counters)
def test_widest_allows_what_either_allows(
    first: Counter[Read], second: Counter[Read], found: Counter[Read]
) -> None:
    both = widest(first, second)
    assert not refused(first, both)
    assert not refused(second, both)
    if refused(found, both):
        assert refused(found, first)
        assert refused(found, second)


@unhurried
@given(_counters, _counters)
def test_compare_is_exact(found: Counter[Read], allowed: Counter[Read]) -> None:
    difference = compare(found, allowed)
    before, now = Counter[Read](), Counter[Read]()
    for move, count in difference.moved.items():
        before[move.before] += count
        now[move.now] += count
    assert found + difference.gone + before == allowed + difference.new + now
    assert (difference == Difference(Counter(), Counter(), Counter())) == (found == allowed)
    assert not (difference.new + now) & (difference.gone + before)


def test_a_milder_read_is_a_difference() -> None:
    assert compare(reads("f"), reads("a")) == Difference(reads("f"), reads("a"), Counter())


def at(path: str, scope: str, kind: str = "accessor", function: str = "get") -> Read:
    return Read(path, scope, function, kind)


# What was listed, what is read, and whether that is a move.
MOVES = {
    "to another file": (at("a.py", "C.f"), at("b.py", "C.f"), True),
    "to another class": (at("a.py", "C.f"), at("a.py", "D.f"), True),
    "to another class of another file": (at("a.py", "C.f"), at("b.py", "D.E.f"), True),
    "to another name": (at("a.py", "C.f"), at("a.py", "C.g"), True),
    "to the second of one name": (at("a.py", "f"), at("b.py", "f#2"), True),
    "another definition of another file": (at("a.py", "f"), at("b.py", "g"), False),
    "outside of definitions": (at("a.py", "<module>"), at("b.py", "<module>"), False),
    "another function": (at("a.py", "f"), at("b.py", "f", function="other"), False),
    "another kind": (at("a.py", "f"), at("b.py", "f", "fallback"), False),
}


@pytest.mark.parametrize("case", MOVES)
def test_moves(case: str) -> None:
    before, now, moved = MOVES[case]
    expected = (
        Difference(Counter(), Counter(), Counter([Move(before, now)]))
        if moved
        else Difference(Counter([now]), Counter([before]), Counter())
    )
    assert compare(Counter([now]), Counter([before])) == expected


def test_a_definition_that_reads_on_did_not_move() -> None:
    stays = Counter([at("a.py", "f", function="other")])
    listed, found = stays + Counter([at("a.py", "f")]), stays + Counter([at("b.py", "f")])
    gone, new = Counter([at("a.py", "f")]), Counter([at("b.py", "f")])
    assert compare(found, listed) == Difference(new, gone, Counter())
    assert compare(listed, found) == Difference(gone, new, Counter())


def test_the_closest_move_is_taken_and_the_rest_is_new_or_gone() -> None:
    listed = Counter({at("a.py", "C.f"): 2, at("a.py", "g"): 1})
    found = Counter({at("b.py", "C.f"): 1, at("c.py", "f"): 2})
    assert compare(found, listed) == Difference(
        Counter([at("c.py", "f")]),
        Counter([at("a.py", "g")]),
        Counter(
            [
                Move(at("a.py", "C.f"), at("b.py", "C.f")),
                Move(at("a.py", "C.f"), at("c.py", "f")),
            ]
        ),
    )


def test_totals_name_every_kind() -> None:
    assert total_by_kind(reads("aaswwwg")) == {
        "accessor": 2,
        "shim": 1,
        "unresolved": 0,
        "fallback": 0,
        "warned": 3,
        "guarded": 1,
    }
