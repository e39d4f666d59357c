"""The report for people: which edit lands where, the nearest candidates, and one line a tree."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.console import Group
from rich.table import Table
from rich.text import Text

from carry.age import OLDEST
from carry.checking import ABSENT, NO_FILE, EditReport
from carry.report import NEW_FILE, YANKED, TreeReport
from stack.folding import Folded, labels
from stack.words import counted

# Edit, how often it matches, on which trees: 78 columns with the spaces between them.
_WIDTHS = (36, 9, 27)
# A tree with a longer name is numbered in the tables.
_LONGEST = 12


class _Row(NamedTuple):
    """One edit on all trees: what is reported of it by the tree's position."""

    path: str
    edit: str
    found: dict[int, EditReport]

    @property
    def is_new_file(self) -> bool:
        return self.edit.endswith(NEW_FILE)


def edit_tables(trees: Sequence[TreeReport]) -> Iterator[Folded | Table]:
    """Every edit with how often it matches on which trees, file by file.

    A new file is left out where its place is free on every tree.
    """
    names, legend = labels((tree.name for tree in trees), _LONGEST)
    yield from legend
    for path, rows in groupby(_rows(trees), key=lambda row: row.path):
        table = Table(box=None, show_header=False)
        for width in _WIDTHS:
            table.add_column(width=width)
        for row in rows:
            if all(report.state == "applies" for report in row.found.values()) and row.is_new_file:
                continue
            edit = row.edit
            for summary, style, where in _results(trees, names, row):
                table.add_row(Folded(edit), Text(summary, style=style), Folded(where))
                edit = ""
        if table.rows:
            yield Folded(path, "bold")
            yield table


def nearest_candidates(trees: Sequence[TreeReport], *, counts: bool) -> Iterator[str]:
    """A paragraph for each file with edits that do not land: what comes nearest on which tree.

    Args:
        trees: All trees.
        counts: Whether those that count are looked at, or the others.
    """
    names = [tree.name for tree in trees]
    for path, rows in groupby(_rows(trees), key=lambda row: row.path):
        lines: dict[str, None] = {}
        for row in rows:
            by_detail = defaultdict(list)
            for number, report in row.found.items():
                if not report.holds and trees[number].counts == counts:
                    by_detail[_reason(row, report)].append(number)
            for reason, numbers in by_detail.items():
                lines[f"  {_where(trees, names, numbers)}: {reason}"] = None
        if lines:
            yield "\n".join([path, *lines])


def tree_table(trees: Sequence[TreeReport]) -> Group:
    """Every tree with whether the series lands on it."""
    table = Table(box=None)
    for name in ("Tree", "Wheels for", "Here", "Lands", "Edits", "What does not"):
        table.add_column(name, overflow="fold")
    names, legend = labels((tree.name for tree in trees), _LONGEST)
    for tree, name in zip(trees, names, strict=True):
        table.add_row(
            Folded(name + (" (pre)" if tree.offer and tree.offer.is_prerelease else "")),
            _pythons(tree),
            "" if tree.offer is None else "yes" if tree.offer.is_for_here else "no",
            _answer(tree),
            f"{tree.number_landing}/{len(tree.reports)}" if tree.reports else "",
            Folded(tree.fault or _failing(tree)),
        )
    return Group(*legend, table)


def summary(trees: Sequence[TreeReport], left_out: Mapping[str, str]) -> Folded:
    """What a person has to know, in a few sentences.

    Args:
        trees: All trees.
        left_out: Why a release is none of them, by its version.
    """
    held = [tree for tree in trees if tree.counts]
    missed = [tree.name for tree in held if tree.is_drift]
    unseen = [tree.name for tree in held if tree.fault]
    text = (
        f"The series lands on {sum(tree.lands for tree in held)} of {len(held)} trees that "
        f"count (releases from {OLDEST} on, and trees that were named)."
    )
    strangers = sum(tree.offer is not None and not tree.offer.is_for_here for tree in trees)
    if strangers:
        python = f"CPython {sys.version_info.major}.{sys.version_info.minor}"
        text += (
            f" {counted(strangers, 'release')} without a wheel for {python} on this platform: "
            "another wheel was read."
        )
    if missed:
        text += f" It does not land on {', '.join(missed)}."
    if unseen:
        text += f" Could not look at {', '.join(unseen)}."
    return Folded(text + _left_out(left_out))


def _left_out(left_out: Mapping[str, str]) -> str:
    yanked = [version for version, why in left_out.items() if why == YANKED]
    others = len(left_out) - len(yanked)
    parts = [f"{', '.join(yanked)} ({YANKED})"] if yanked else []
    parts += [f"{counted(others, 'pre-release')} (not the newest of all)"] if others else []
    return f" Left out: {'; '.join(parts)}." if parts else ""


def _rows(trees: Sequence[TreeReport]) -> list[_Row]:
    """The edits, those of a file together, in the order they are first met."""
    rows: dict[tuple[str, str, int], _Row] = {}
    for number, tree in enumerate(trees):
        met: Counter[tuple[str, str]] = Counter()
        for report in tree.reports:
            name = (report.path, report.edit)
            met[name] += 1
            row = rows.setdefault((*name, met[name]), _Row(*name, {}))
            row.found[number] = report
    order = {path: place for place, path in enumerate(dict.fromkeys(r.path for r in rows.values()))}
    return sorted(rows.values(), key=lambda row: order[row.path])


def _results(
    trees: Sequence[TreeReport], names: Sequence[str], row: _Row
) -> Iterator[tuple[str, str, str]]:
    by_summary = defaultdict(list)
    for number, report in row.found.items():
        text = "not there" if report.state == NO_FILE else report.summary
        by_summary[text, "" if report.holds else "red"].append(number)
    for (text, style), numbers in by_summary.items():
        yield text, style, _where(trees, names, numbers)


def _reason(row: _Row, report: EditReport) -> str:
    if report.state == NO_FILE:
        return "not there"
    return f"{row.edit}: {report.summary}: {report.detail or 'nothing there is like it'}"


def _where(trees: Sequence[TreeReport], names: Sequence[str], numbers: Iterable[int]) -> str:
    """Trees by the names given; releases that follow one another are written as a range."""
    held = set(numbers)
    texts = []
    for is_held, group in groupby(range(len(trees)), key=lambda number: number in held):
        if not is_held:
            continue
        for is_release, run in groupby(group, key=lambda n: trees[n].offer is not None):
            there = [names[number] for number in run]
            if is_release and len(there) > 1:
                texts.append(f"{there[-1]} to {there[0]}")
            else:
                texts += there
    return ", ".join(texts)


def _pythons(tree: TreeReport) -> str:
    if tree.offer is None:
        return ""
    versions = tree.offer.pythons
    return " to ".join(dict.fromkeys([versions[0], versions[-1]])) if versions else "none"


def _answer(tree: TreeReport) -> Text:
    if tree.fault:
        return Text("unknown", style="yellow" if tree.counts else "dim")
    if tree.lands:
        return Text("in part", style="yellow") if tree.lacking else Text("yes", style="green")
    return Text("no", style="bold red") if tree.counts else Text("no (old)", style="dim")


def _failing(tree: TreeReport) -> str:
    states = Counter(
        "not there" if report.state == NO_FILE else report.state
        for report in tree.reports
        if not report.holds or report.state == ABSENT
    )
    return ", ".join(f"{number} {state}" for state, number in states.items())
