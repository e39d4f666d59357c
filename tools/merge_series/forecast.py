"""What is ahead of a sync that stops, as far as that can be known before a person settles it."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from merge_series.operations import Pending


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a sync cannot do by itself, beyond the merge that waits for a person, if one does.

    Attributes:
        stops: Merges that need a person.
        refused: By branch, why a merge of it is refused.
        waits: By branch, the branches of those that it stands on.
        is_whole: Whether nothing more can come once these are settled.
    """

    stops: tuple[Pending, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    waits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    is_whole: bool = True

    def told(self, first: Pending | None, heard: Collection[str] = ()) -> Iterator[str]:
        """It as lines.

        Args:
            first: The merge that waits, which was told already.
            heard: What ``parts`` gave at the last stop, which is not told again.
        """
        for part in self.parts(also=first is not None):
            if part not in heard:
                yield from part.splitlines()
        by_what: dict[tuple[str, ...], list[str]] = {}
        for branch, on in self.waits.items():
            by_what.setdefault(on, []).append(branch)
        for on, branches in by_what.items():
            waits = "waits" if len(branches) == 1 else "wait"
            yield f"{_listed(branches)} {waits} for {_listed(on)}."
        if not self.is_whole:
            yield "Whether more merges need a person then is known only once these are settled."

    def parts(self, *, also: bool) -> Iterator[str]:
        """What is told of each merge that is not made, lines in one."""
        for stop in self.stops:
            yield "\n".join(needs_a_person(stop, also=also))
        for branch, why in self.refused.items():
            yield f"{branch}: refused as it stands: {why}"


def needs_a_person(stop: Pending, *, also: bool = False) -> Iterator[str]:
    """A merge that needs a person, as lines."""
    as_well = " as well" if also else ""
    yield f"{stop.branch}: merging {stop.source} needs a person{as_well} for:"
    for path, why in stop.unsettled.items():
        yield f"  {path}: {why}"


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
