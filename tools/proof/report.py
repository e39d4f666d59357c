"""What people read about a verdict."""

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from proof.results import Outcome
from proof.verdict import Row, Verdict

_STYLES = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "red",
    Outcome.SKIPPED: "dim",
}
_DETAIL_LINES = 30


def print_verdict(console: Console, verdict: Verdict) -> None:
    """Prints the table, what is not as it should be, and the summary."""
    console.print(_table(verdict))
    for row in verdict.problems:
        console.print(_explanation(row))
    for fault in verdict.faults:
        console.print(Text(fault, style="red"))
    console.print(_summary(verdict))


def _table(verdict: Verdict) -> Table:
    table = Table("test", "unmodified", "fork", "", box=None, pad_edge=False)
    table.columns[0].overflow = "fold"
    file = ""
    for row in verdict.rows:
        path, _, name = row.test.partition("::")
        if path != file:
            table.add_row(Text(path, style="bold"))
            file = path
        table.add_row(
            Text(f"  {name}"),
            _cell(row.unmodified.outcome),
            _cell(row.fork.outcome),
            Text(row.problem, style="bold red") if row.problem else Text(_note(row), style="dim"),
        )
    return table


def _note(row: Row) -> str:
    return "control" if row.control else ""


def _cell(outcome: Outcome) -> Text:
    return Text(outcome, style=_STYLES.get(outcome, "bold red"))


def _explanation(row: Row) -> Group:
    """Why a test is not as it should be: the end of the traceback, on the tree that matters."""
    result = row.unmodified if row.fork.outcome is Outcome.PASSED else row.fork
    lines = result.detail.splitlines()[-_DETAIL_LINES:]
    return Group(
        Text(f"\n{row.test}: {row.problem}", style="bold red"),
        Text("\n".join(f"  {line}" for line in lines)),
    )


def _summary(verdict: Verdict) -> Text:
    controls = sum(row.control for row in verdict.rows)
    skipped = sum(row.fork.outcome is Outcome.SKIPPED for row in verdict.rows)
    counted = (
        f"tests that fail on the unmodified tree and pass on the fork: {verdict.shown}; "
        f"controls: {controls}; skipped: {skipped}; "
        f"not as it should be: {len(verdict.problems) + len(verdict.faults)}."
    )
    if verdict.proven:
        return Text(f"\nThe change works. {counted.capitalize()}", style="bold green")
    return Text(f"\nNot proven. {counted.capitalize()}", style="bold red")
