"""The places of a file that two sides changed in different ways, by the lines of each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from merge_series.text_merge import Hunk
from stack.merging import BASE, OURS, THEIRS

Texts = Mapping[int, Sequence[bytes]]  # a file's lines, by stage
Change = tuple[range, range]  # lines of the merge base, and what a side has instead

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Lines in conflict.

    Attributes:
        at: Where they are, by stage, counted from 0; empty where there is nothing.
    """

    at: Mapping[int, range]

    def lines(self, texts: Texts, stage: int) -> Sequence[bytes]:
        """The lines themselves."""
        return texts[stage][self.at[stage].start : self.at[stage].stop]

    def holds(self, texts: Texts, hunk: Hunk) -> bool:
        """Whether a conflict that a merge left is one here."""
        sides = ((OURS, hunk.ours), (THEIRS, hunk.theirs))
        return all(_is_within(side, self.lines(texts, stage)) for stage, side in sides)


def find_places(texts: Texts, ours: Iterable[Change], theirs: Iterable[Change]) -> list[Place]:
    """The places where both sides changed the same lines, or lines that touch, differently."""
    changes = sorted(
        (before.start, before.stop, after.stop, stage)
        for stage, side in ((OURS, ours), (THEIRS, theirs))
        for before, after in side
    )
    places = []
    further = {OURS: 0, THEIRS: 0}  # by how much the lines of a side are further down
    at = 0
    while at < len(changes):
        start, stop, *_ = changes[at]
        first = {stage: start + by for stage, by in further.items()}
        seen = set()
        while at < len(changes) and changes[at][0] <= stop:
            _, end, last, stage = changes[at]
            stop = max(stop, end)
            further[stage] = last - end
            seen.add(stage)
            at += 1
        sides = {stage: range(first[stage], stop + by) for stage, by in further.items()}
        place = Place({BASE: range(start, stop), **sides})
        if len(seen) > 1 and place.lines(texts, OURS) != place.lines(texts, THEIRS):
            places.append(place)
    return places


def told(places: Sequence[Place]) -> str:
    """The places as people name them, by the lines that the branch has there."""
    listed = [_numbers(place.at[OURS]) for place in places[:_NAMED]]
    if not listed:
        return "the same lines"
    more = len(places) - _NAMED
    *others, last = [*listed, f"{more} more"] if more > 0 else listed
    numbers = f"{', '.join(others)} and {last}" if others else last
    return f"line{'' if numbers.isdecimal() else 's'} {numbers}"


def _numbers(lines: range) -> str:
    first, last = max(lines.start + bool(lines), 1), lines.stop
    return str(first) if last <= first else f"{first}-{last}"


def _is_within(part: Sequence[bytes], whole: Sequence[bytes]) -> bool:
    size = len(part)
    return any(tuple(whole[at : at + size]) == part for at in range(len(whole) - size + 1))
