"""What ``carry check`` found, for people: a table of edits and trees, and a line a fault."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from carry.checking import NO_FILE, EditReport
from stack.folding import Folded, aligned, labels
from stack.words import counted

# What stands in a column, and so a tree's name if it is no longer; else its number does.
_WIDTH = 7


def check_table(reports: Mapping[str, Sequence[EditReport]]) -> Group:
    """Every edit with what became of it on each tree; a file stands on a line of its own."""
    short, legend = labels((name.removeprefix("megatron-core ") for name in reports), _WIDTH)
    heads = [Text(name, style="bold") for name in short]
    lines: list[RenderableType] = [*legend]
    rows = [*zip(*reports.values(), strict=True)]
    longest = max((len(row[0].edit) for row in rows), default=0)
    widths = [longest + 2, *(_WIDTH for _ in heads)]
    lines.append(aligned(Folded("Edit", "bold"), heads, widths, "right"))
    for path, edits in groupby(rows, key=lambda row: row[0].path):
        lines.append(Folded(path, "bold", indent=1))
        for row in edits:
            cells = [Text(one.summary, style="green" if one.holds else "bold red") for one in row]
            lines.append(aligned(Folded(row[0].edit, indent=2), cells, widths, "right"))
    return Group(*lines)


def faults(
    reports: Mapping[str, Sequence[EditReport]], too_old: Mapping[str, str]
) -> Iterator[str]:
    """A line for each edit that does not do what it should, or for each file that is not there.

    Args:
        reports: The edits by tree.
        too_old: What stands for all of them, for a tree that is older than the series is for.
    """
    for name, found in reports.items():
        failing = [report for report in found if not report.holds]
        if failing and name in too_old:
            yield too_old[name]
            continue
        for (path, state), edits in groupby(
            failing, key=lambda report: (report.path, report.state)
        ):
            if state == NO_FILE:
                yield f"{name}: {path}: not there, for {counted(len([*edits]), 'edit')}"
            else:
                yield from (f"{name}: {path}: {one.edit}: {_why(one)}" for one in edits)


def _why(report: EditReport) -> str:
    return report.detail or f"found {report.found}, and nothing like it"
