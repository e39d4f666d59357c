"""The commands about what was done before: ``undo``, ``redo``, ``push`` and ``forget``."""

from collections.abc import Callable, Mapping
from pathlib import Path

import click

from carry.carried import Carrier
from merge_series import help_texts as texts
from merge_series import report
from merge_series.journal import DoneSync
from merge_series.made import Made
from merge_series.operations import Operations
from merge_series.place import Place
from merge_series.push import plan_push, push
from merge_series.recorded import Recorded
from merge_series.stopped import refuse_stopped
from merge_series.undo import to_redo, to_undo
from stack.command_line import typed
from stack.console import people
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.repository import Repository
from stack.words import counted


@click.command("undo", epilog=texts.UNDO)
@click.option("--dry-run", is_flag=True, help="Say what would be taken back; change nothing.")
@click.pass_obj
def undo_command(place: Place, *, dry_run: bool) -> None:
    """Take back the last operation that moved branches; run it twice to go two back."""
    record = _carry_out(place, to_undo, is_kept=not dry_run)
    if dry_run:
        people.print(f"Would take back {record.name}:")
    else:
        people.print(
            f"Took back {record.name}; {typed('merge_series redo')} brings it again.",
            soft_wrap=True,
        )
    _say_moved(record.new, record.old)
    _say_written(record, is_kept=not dry_run)


@click.command("redo", epilog=texts.REDO)
@click.option("--dry-run", is_flag=True, help="Say what would be brought again; change nothing.")
@click.pass_obj
def redo_command(place: Place, *, dry_run: bool) -> None:
    """Bring the operation again that the last undo took back."""
    record = _carry_out(place, to_redo, is_kept=not dry_run)
    if dry_run:
        people.print(f"Would bring {record.name} again:")
    else:
        people.print(f"Brought {record.name} again.")
    _say_moved(record.old, record.new)
    _say_written(record, is_kept=not dry_run)


def _carry_out(
    place: Place, choose: Callable[[Repository, Operations], DoneSync], *, is_kept: bool
) -> DoneSync:
    """Move the operation that is chosen back or forth; if not kept, only check that it can be."""
    with place.at_work(is_kept=is_kept) as (repository, operations):
        refuse_stopped(operations)
        record = choose(repository, operations)
        if is_kept:
            operations.carry_out(record)
        return record


def _say_moved(before: Mapping[str, Sha | None], after: Mapping[str, Sha | None]) -> None:
    for branch, head in after.items():
        now = "gone" if head is None else head[:9]
        people.print(f"  {branch}: {(before[branch] or 'new')[:9]} -> {now}", soft_wrap=True)


def _say_written(record: DoneSync, *, is_kept: bool) -> None:
    for file in record.file_moves:
        text = report.rewritten(Path(file.path), file.diff, is_kept=is_kept)
        people.print(text, soft_wrap=True)


@click.command("push", epilog=texts.PUSH)
@click.option("--remote", help="Where to push; git's own settings say, if this does not.")
@click.option("--dry-run", is_flag=True, help="Say what would be pushed; change nothing.")
@click.pass_obj
def push_command(place: Place, remote: str | None, *, dry_run: bool) -> None:
    """Push the branches of the series, all or none, by fast-forwards alone."""
    carrier = Carrier.open(place.series)
    if dry_run:
        with Repository.open(place.repo) as repository:
            planned = plan_push(repository, carrier, place.main, remote)
    else:
        with place.at_work() as (repository, _):
            planned = plan_push(repository, carrier, place.main, remote)
            push(repository, planned)
    for line in planned.told(dry_run=dry_run):
        people.print(line, soft_wrap=True)


@click.command("forget", epilog=texts.FORGET)
@click.argument("path")
@click.pass_obj
def forget_command(place: Place, path: str) -> None:
    """Drop how people settled conflicts in PATH, and what a command made of it.

    People are asked again, and the command runs again.
    """
    with Repository.open(place.repo) as repository, Operations(repository).lock():
        recorded = Recorded(repository)
        dropped = [
            counted(count, noun)
            for count, noun in (
                (recorded.forget(path), "resolution"),
                (Made(repository).forget(path), "cached result"),
            )
            if count
        ]
        if not dropped:
            others = ", ".join(recorded.paths())
            there = f"there are resolutions of {others}" if others else "none is kept here"
            raise Refusal(f"{path}: no resolution of this path is kept; {there}")
    people.print(f"Dropped {' and '.join(dropped)} of {path}.")
