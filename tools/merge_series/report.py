"""What a person reads of an operation that moved branches."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from merge_series.journal import DoneSync
from merge_series.messages import BY_PERSON
from merge_series.records import MergeRecord, SettledFile
from stack.folding import Folded, aligned
from stack.words import counted

_MERGE_HEADS = ("Branch", "Merged", "Allowlist", "Conflicts")


def merge_table(merged: Sequence[MergeRecord], title: str | None = None) -> Group:
    """What was merged into each branch, what git left in conflict and how each file was settled.

    A file stands on lines of its own, so that its name is whole in a narrow terminal as well.
    """
    rows = [
        (
            record.branch,
            f"{record.source} {record.theirs[:9]}",
            f"{listed.before} -> {listed.after}" if (listed := record.allowlist) else "",
            counted(len(record.conflicts), "file") if record.conflicts else "none",
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
            lines += [Folded(file.path, indent=3), Folded(_how(file), indent=5)]
        last = branch
    return Group(*lines)


def _how(file: SettledFile) -> str:
    """How a file came about that git alone did not make."""
    if file.conflicted:
        return f"conflicted: {file.how}"
    if file.how == BY_PERSON:
        return f"merged cleanly, changed {file.how}"
    return f"merged cleanly but stale: {file.how}"


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


def reachable(before: int, lost: int) -> str:
    """That no commit was lost, or how many were."""
    now = before - lost
    verb = "is" if now == 1 else "are"
    return (
        f"{counted(before, 'commit')} stood on the branches before; {now} of them {verb} "
        "reachable now."
    )


def rewritten(path: Path, diff: str, *, is_kept: bool) -> str:
    """What became of SERIES.md, or would."""
    return f"{path} {'is changed' if is_kept else 'would change'}:\n{diff}"
