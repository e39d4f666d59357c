"""What the commands write: what was asked for to stdout, in lines or JSON; the rest to stderr."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from process_groups import allowlist, ratchet
from process_groups.ratchet import Difference
from process_groups.reads import SEVERITY, Lines, Read

GUIDE = "tools/process_groups/README.md"


def say(line: str) -> None:
    """Write a line for people."""
    sys.stderr.write(f"{line}\n")


def print_line(line: str) -> None:
    """Write a line of what was asked for, which other programs may read as well."""
    sys.stdout.write(f"{line}\n")


def print_json(data: object) -> None:
    """Write JSON for machines."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def summary(reads: Mapping[Read, int]) -> str:
    """Return how many reads there are, and of which kinds."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in ratchet.total_by_kind(reads).items())
    return f"{amount(sum(reads.values()))} ({kinds})"


def amount(count: int, thing: str = "read") -> str:
    """Return ``1 read``, ``2 reads``."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def lines_of(reads: Mapping[Read, int], places: Lines) -> list[str]:
    """Return a line a read: its place, what is read, how, how often, and where that stands now."""
    return [f"{place(read)}: {_what(read, count, places)}" for read, count in sorted(reads.items())]


def moves_of(difference: Difference, places: Lines) -> list[str]:
    """Return a line a read that moved."""
    return [
        f"{place(move.before)} -> {place(move.now)}: {_what(move.now, count, places)}"
        for move, count in sorted(difference.moved.items())
    ]


def place(read: Read) -> str:
    """Return the place of a read as ``--accept`` takes it."""
    return f"{read.path}:{read.scope}"


def _what(read: Read, count: int, places: Lines) -> str:
    times = f" x{count}" if count > 1 else ""
    lines = sorted(set(places.get(read, ())))
    where = f", line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}" if lines else ""
    return f"{read.function} ({read.kind}){times}{where}"


def table(reads: Counter[Read]) -> list[str]:
    """Return the number of reads by package and kind, as the lines of a table."""
    packages = ratchet.total_by_package(reads)
    rows = [["package", *SEVERITY, "total"]]
    for name, kinds in [*packages.items(), ("total", ratchet.total_by_kind(reads))]:
        rows.append([name, *map(str, kinds.values()), str(sum(kinds.values()))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]


def as_data(reads: Mapping[Read, int], places: Lines) -> list[dict[str, object]]:
    """Return reads as JSON holds them; ``lines`` is empty for a read that the tree has not."""
    return [
        {**read._asdict(), "count": count, "lines": list(places.get(read, ()))}
        for read, count in sorted(reads.items())
    ]


def difference_as_data(difference: Difference, places: Lines) -> dict[str, object]:
    """Return the difference between a tree and its list as JSON holds it."""
    return {
        "new": as_data(difference.new, places),
        "moved": [
            {"from": move.before._asdict(), "count": count, **as_data({move.now: count}, places)[0]}
            for move, count in sorted(difference.moved.items())
        ],
        "gone": as_data(difference.gone, places),
    }


def annotations(
    difference: Difference, allowed: Counter[Read], places: Lines, listed: str
) -> Iterator[str]:
    """Yield the commands with which GitHub marks lines of a pull request.

    Args:
        difference: Between the tree and its list.
        allowed: The reads of the list.
        places: The lines of the tree's reads.
        listed: The text of the list.
    """
    for read in sorted(difference.new):
        known = allowed[read]
        text = f"{read.scope}: {read.function} ({read.kind}) is not on the list"
        if known:
            text = f"{read.scope}: {read.function} ({read.kind}) is on the list x{known} only"
        for line in sorted(set(places[read])):
            yield _annotation(read.path, line, "New read of a global process group", text)
    for move in sorted(difference.moved):
        text = f"{place(move.before)} on the list is {place(move.now)} now"
        line = places[move.now][0]
        yield _annotation(move.now.path, line, "Read of a global process group moved", text)
    entries = [line.rpartition(" ")[0] for line in listed.split("\n")]
    for read in sorted(difference.gone):
        text = f"{place(read)}: {read.function} ({read.kind}) is no longer read; refresh the list"
        line = entries.index(" ".join(read)) + 1
        yield _annotation(allowlist.ALLOWLIST_PATH, line, "Entry of the list has gone", text)


def _annotation(path: str, line: int, title: str, text: str) -> str:
    return f"::error file={_escaped(path)},line={line},title={title}::{_plain(text)}; see {GUIDE}"


def _escaped(text: str) -> str:
    """Return a property's value so that GitHub reads it back."""
    return _plain(text).replace(":", "%3A").replace(",", "%2C")


def _plain(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
