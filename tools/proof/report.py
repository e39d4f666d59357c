"""What people read about a verdict."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from proof.platforms import Platform
from proof.results import Outcome, Result
from proof.verdict import Row, Verdict

_STYLES = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "red",
    Outcome.SKIPPED: "dim",
}
# What broke a run off is told also where it was to be expected.
_BROKE_OFF = (Outcome.HUNG, Outcome.DIED)


@dataclass(frozen=True, slots=True)
class Report:
    """What one platform showed.

    Attributes:
        platform: The platform.
        verdict: The answers of both trees.
        seconds: How long the runs took, on the unmodified tree and on the fork.
    """

    platform: Platform
    verdict: Verdict
    seconds: tuple[float, float]


def print_report(console: Console, report: Report) -> None:
    """Prints a platform's table and what is not as it should be."""
    verdict = report.verdict
    console.print(Text(report.platform.title, style="bold"))
    console.print(_table(verdict))
    for row in verdict.rows:
        for text in _explanations(row):
            console.print(text, soft_wrap=True)
    for fault in verdict.faults:
        console.print(Text(fault, style="red"), soft_wrap=True)
    console.print()


def _table(verdict: Verdict) -> Table:
    table = Table("test", "unmodified", "fork", "", box=None, pad_edge=False)
    table.columns[0].overflow = "fold"
    file = ""
    for row in verdict.rows:
        if row.skipped:
            continue
        path, _, name = row.test.partition("::")
        if path != file:
            table.add_row(Text(path, style="bold"))
            file = path
        table.add_row(
            Padding(Text(name), (0, 0, 0, 2)),  # a long name goes on below itself
            _cell(row.unmodified.outcome),
            _cell(row.fork.outcome),
            _note(row),
        )
    return table


def _note(row: Row) -> Text:
    if row.problem:
        return Text("wrong", style="bold red")
    return Text("control" if row.control else "", style="dim")


def _cell(outcome: Outcome) -> Text:
    return Text(outcome, style=_STYLES.get(outcome, "bold red"))


def _explanations(row: Row) -> Iterator[Text]:
    """Why a test is not as it should be, on the tree that matters, and where one broke off."""
    wrong = "fork" if row.fork.outcome is not Outcome.PASSED else "unmodified"
    for tree, result in (("unmodified", row.unmodified), ("fork", row.fork)):
        if row.problem and tree == wrong:
            yield _explanation(f"{row.test}: {row.problem}", result)
        elif result.outcome in _BROKE_OFF:
            yield _explanation(f"{row.test}: {result.outcome} on the {tree} tree", result)


def _explanation(heading: str, result: Result) -> Text:
    lines = "".join(f"\n  {line}" for line in result.detail.splitlines())
    return Text.assemble((f"\n{heading}", "bold red"), lines)


def print_summary(console: Console, reports: Sequence[Report]) -> bool:
    """Prints what all platforms showed together; returns whether the change works."""
    table = Table(
        "", "shown", "control", "skipped", "wrong", "unmodified", "fork", box=None, pad_edge=False
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for report in reports:
        verdict = report.verdict
        ran = [row for row in verdict.rows if not row.skipped]
        table.add_row(
            report.platform.title,
            str(verdict.shown),
            str(sum(row.control for row in ran)),
            str(len(verdict.rows) - len(ran)),
            str(len(verdict.problems) + len(verdict.faults)),
            *(f"{seconds:.0f} s" for seconds in report.seconds),
        )
    console.print(table)
    console.print(
        "shown: fails on the unmodified tree and passes on the fork; control: passes on both;\n"
        "skipped: on both, not in the tables; wrong: not as it should be, or a fault of the run.",
        style="dim",
    )
    nowhere = frozenset.intersection(
        *(frozenset(row.test for row in r.verdict.rows if row.skipped) for r in reports)
    )
    if nowhere:
        console.print(f"Tests that ran on none of these platforms: {len(nowhere)}.")
    proven = all(report.verdict.proven for report in reports)
    console.print(
        Text("The change works.", style="bold green")
        if proven
        else Text("Not proven.", style="bold red")
    )
    return proven
