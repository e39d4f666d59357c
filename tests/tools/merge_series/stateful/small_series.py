"""SERIES.md of a random stack, read and changed by its rows alone, and the edits beside it."""

import graphlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tokens import ALLOWLIST, EDITED

_HEAD = "# Series\n\n| PR | Branch | Depends on | Title | State |\n|---|---|---|---|---|\n"

_TEXTS = "### Why\nWhy.\n### What\nWhat.\n### Tests\nTests.\n### Compatibility\nNone.\n"

_ROW = re.compile(r"^\| #(\d+) \| `(.*)` \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """A PR as the table has it.

    Attributes:
        branch: Its branch.
        on: What it depends on.
        state: Its state.
    """

    branch: str
    on: tuple[int, ...]
    state: str = "open"

    def written(self, number: int) -> str:
        """The row as SERIES.md has it."""
        on = ", ".join(f"#{n}" for n in self.on) or "main"
        return f"| #{number} | `{self.branch}` | {on} | Do b{number} | {self.state} |"


@dataclass(frozen=True, slots=True)
class Carried:
    """What the series itself brings of a PR, in the commit that begins its branch.

    Attributes:
        path: The new file.
        text: Its bytes.
        slot: The function of the upstream file that the edit is in.
        argument: The argument that the edit adds there.
    """

    path: str
    text: bytes
    slot: int
    argument: str


class SmallSeries:
    """SERIES.md.

    Args:
        folder: An empty folder for it and what lies beside it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "SERIES.md"

    def write(self, rows: Mapping[int, Row], carried: Mapping[int, Carried]) -> None:
        """Write all of it: the first PR records the allowlist, and some PRs are carried."""
        sections = []
        for number in rows:
            commits = []
            if number == 1:
                commits.append(f"**Record the reads**\n\n   Regenerates: `{ALLOWLIST}`")
            if number in carried:
                commits.append(f"**Begin b{number}**\n\n   Adds: `{carried[number].path}`")
            listed = "\n".join(f"{n}. {text}" for n, text in enumerate(commits, 1))
            text = f"{_TEXTS}### Commits\n{listed}\n" if commits else ""
            sections.append(f"\n## #{number} Do b{number}\n\n{text}")
        table = "".join(f"{row.written(number)}\n" for number, row in rows.items())
        self.path.write_text(_HEAD + table + "".join(sections))
        edits = []
        for number, brought in carried.items():
            (self._folder / brought.path).write_bytes(brought.text)
            edits.append(
                f"- pr: {number}\n  commit: {2 if number == 1 else 1}\n"
                f"  in: part{brought.slot}\n  call: target\n"
                f'  add-args: ["{brought.argument}=1"]\n'
            )
        if edits:
            file = self._folder / EDITED.replace(".py", ".edits.yml")
            file.parent.mkdir(parents=True)
            file.write_text("edits:\n" + "".join(edits))

    @property
    def rows(self) -> dict[int, Row]:
        """The rows by PR, dependencies first."""
        return rows_of(self.path.read_bytes())

    def change(self, number: int, **cells: object) -> None:
        """Write other cells into a row."""
        row, text = self.rows[number], self.path.read_text()
        before, after = row.written(number), replace(row, **cells).written(number)
        assert text.count(before) == 1
        self.path.write_text(text.replace(before, after))


@cache
def rows_of(series: bytes) -> dict[int, Row]:
    """The rows of a SERIES.md by PR, dependencies first."""
    found = {}
    for number, branch, on, title, state in _ROW.findall(series.decode()):
        depends = () if on == "main" else tuple(int(n[1:]) for n in on.split(", "))
        assert title == f"Do b{number}"
        found[int(number)] = Row(branch, depends, state)
    order = graphlib.TopologicalSorter({n: row.on for n, row in found.items()})
    return {n: found[n] for n in order.static_order()}


def live(rows: Mapping[int, Row]) -> dict[int, Row]:
    """The rows of the PRs that a sync moves."""
    return {n: row for n, row in rows.items() if row.state == "open"}


def below(rows: Mapping[int, Row], number: int) -> Iterator[int]:
    """All that a PR depends on, directly or not; some of it more than once."""
    for on in rows[number].on:
        yield on
        yield from below(rows, on)
