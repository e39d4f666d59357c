"""The tables a person reads."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from carry.carried import Carrier
from merge_series.checks import Check
from merge_series.inspect import BranchStatus
from merge_series.journal import DoneSync
from merge_series.records import MergeRecord
from stack.folding import Folded, aligned
from stack.model import PullRequest
from stack.words import counted

_MERGE_HEADS = ("Branch", "Merged", "Allowlist", "Open")


def status_table(statuses: Sequence[BranchStatus]) -> Table:
    """Where each branch stands; what is long goes on below, so that it fits 80 columns."""
    table = Table(box=None)
    for name in ("PR", "Branch", "State", "Head", "Ahead", "Against main and stack"):
        is_long = name in {"Branch", "Against main and stack"}
        table.add_column(name, overflow="fold", no_wrap=not is_long)
    for status in statuses:
        style = "green" if status.summary == "up to date" else "yellow"
        table.add_row(
            status.pull_request.name,
            status.pull_request.branch,
            status.pull_request.state,
            (status.head or "")[:9],
            str(status.ahead),
            Text(status.summary, style=style),
        )
    return table


def merge_table(merged: Sequence[MergeRecord], title: str | None = None) -> Group:
    """What was merged into each branch, what git left open and how each file was settled.

    A file stands on lines of its own, so that its name is whole in a narrow terminal as well.
    """
    rows = [
        (
            record.branch,
            f"{record.source} {record.theirs[:9]}",
            f"{listed.before} -> {listed.after}" if (listed := record.allowlist) else "",
            counted(len(record.settled), "file") if record.settled else "nothing",
        )
        for record in merged
    ]
    widths = [max(map(len, column)) for column in zip(_MERGE_HEADS, *rows, strict=True)]
    lines: list[RenderableType] = [] if title is None else [Folded(title, "bold")]
    lines.append(_merge_row(_MERGE_HEADS, widths, "bold"))
    last = ""
    for record, (branch, *others) in zip(merged, rows, strict=True):
        lines.append(_merge_row([branch if branch != last else "", *others], widths))
        for file in record.settled:
            what = "conflicted" if file.conflicted else "merged cleanly but stale"
            lines += [Folded(file.path, indent=3), Folded(f"{what}: {file.how}", indent=5)]
        last = branch
    return Group(*lines)


def _merge_row(cells: Sequence[str], widths: Sequence[int], style: str = "") -> Table:
    first, *others = cells
    return aligned(Folded(first, style), [Text(cell, style) for cell in others], widths)


def done_table(done: DoneSync, subject: str) -> Group | Text:
    """What an operation did: the merges of a sync, or what a new branch was made of.

    Args:
        done: The operation.
        subject: Of the commit of main that it worked with.
    """
    if done.operation == "sync":
        return merge_table(done.merged, f"main at {done.main[:9]} {subject}")
    made = ", ".join(f"{b} at {done.new[b][:9]}" for b, old in done.old.items() if old is None)
    title = f"{done.name}: new branch {made}, "
    if not done.merged:
        return Text(f"{title}the head of what it is on", style="bold")
    return merge_table(done.merged, f"{title}begun at {done.merged[0].ours[:9]}")


def check_table(checks: Sequence[Check]) -> Table:
    """What verify looked at."""
    table = Table(box=None)
    for name in ("Branch", "Check", "Result"):
        table.add_column(name, overflow="fold")
    last = ""
    for check in checks:
        if check.found:
            result = Text(check.found, style="bold red")
        elif check.note:
            result = Text(f"not checked: {check.note}", style="dim")
        else:
            result = Text("yes", style="green")
        table.add_row(check.branch if check.branch != last else "", check.name, result)
        last = check.branch
    return table


def stack_tree(carrier: Carrier, statuses: Sequence[BranchStatus], main_name: str) -> Tree:
    """The stack as a tree; a PR on several stands below the last and names the others."""
    known = {status.pull_request.number: status for status in statuses}
    root = Tree(main_name)
    nodes: dict[int, Tree] = {}
    order = {pr.number: place for place, pr in enumerate(carrier.series)}
    for pull_request in carrier.series:
        parents = sorted(pull_request.depends_on, key=order.__getitem__)
        parent = nodes[parents[-1]] if parents else root
        nodes[pull_request.number] = parent.add(
            _node(pull_request, known[pull_request.number], parents[:-1])
        )
    return root


def _node(pull_request: PullRequest, status: BranchStatus, others: Sequence[int]) -> Text:
    text = Text(f"{pull_request.name} ", style="bold")
    text.append(pull_request.branch, style="cyan")
    text.append(f"  {pull_request.title}", style="not bold")
    if others:
        text.append(f"  (also on {', '.join(f'#{number}' for number in others)})")
    if status.summary != "up to date":
        text.append(f"  [{status.summary}]", style="yellow")
    return text


def reachable(before: int, lost: int) -> str:
    """That no commit was lost, or how many were."""
    return (
        f"{before} commits stood on the branches before; {before - lost} of them are reachable now."
    )


def rewritten(path: Path, diff: str, *, is_kept: bool) -> str:
    """What became of SERIES.md, or would."""
    return f"{path} {'is changed' if is_kept else 'would change'}:\n{diff}"
