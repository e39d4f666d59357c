"""The command line of ``merge_series``; ``help_texts`` has its examples and exit codes."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import click

from carry.carried import Carrier
from merge_series import help_texts as texts
from merge_series import report
from merge_series.change_commands import fold_command, show_rewrite, stack_command
from merge_series.changes import changes, landings_seen
from merge_series.inspect import BranchStatus, statuses, verify
from merge_series.journal import DoneSync
from merge_series.lost import lost
from merge_series.operations import Operations
from merge_series.place import Place
from merge_series.plan import resolve_main
from merge_series.push import plan_push, push
from merge_series.reachable import count_commits
from merge_series.recorded import Recorded
from merge_series.review import commands as review
from merge_series.site.command import site_command
from merge_series.sync import (
    Synced,
    Syncer,
    abort_sync,
    dry_run,
    refuse_stopped,
)
from merge_series.undo import to_redo, to_undo
from stack.command_line import Tool, typed
from stack.console import people, print_json, run
from stack.errors import ExitCode
from stack.refs import heads
from stack.repository import Repository, Sha
from stack.words import counted

_DRY_RUN = "Nothing was changed: this was a dry run."
_STATUS_WIDTH = 80  # also where more would fit: it is what people send each other


def _json_option[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    return click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output.")(
        command
    )


def _landed(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[int, str]:
    landed = {}
    for value in values:
        number, found, sha = value.partition("=")
        number = number.removeprefix("#")
        if not found or not sha or not number.isdecimal() or int(number) in landed:
            raise click.BadParameter(f"{value}: write each PR once, like 8045=1a2b3c4d")
        landed[int(number)] = sha
    return landed


@click.group(cls=Tool, epilog=texts.TOOL)
@click.option(
    "--repo",
    type=click.Path(path_type=Path),
    default=Path("build/fork"),
    show_default=True,
    help="The repository that holds the branches.",
)
@click.option(
    "--series",
    type=click.Path(path_type=Path),
    default=Path("SERIES.md"),
    show_default=True,
    help="The file that declares the stack.",
)
@click.option(
    "--main",
    default="main",
    show_default=True,
    help="The upstream branch; for a clone of Megatron-LM, say upstream/main.",
)
@click.pass_context
def merge_series(context: click.Context, repo: Path, series: Path, main: str) -> None:
    """Keep a stack of dependent pull requests in step with main, by merge commits alone.

    Every commit that a branch had before a sync it has after it, so review links stay valid.
    """
    context.obj = Place(repo, series, main)


@merge_series.command("sync", epilog=texts.SYNC)
@click.option(
    "--dry-run", "mode", flag_value="dry-run", help="Say what would be merged; change nothing."
)
@click.option(
    "--continue", "mode", flag_value="continue", help="Go on after a person settled a merge."
)
@click.option(
    "--abort", "mode", flag_value="abort", help="Drop a sync that waits; no branch has moved."
)
@click.option(
    "--landed",
    multiple=True,
    metavar="N=SHA",
    callback=_landed,
    help="The commit of main that ends the landing of PR N, where no subject there says so.",
)
@click.option(
    "--update-worktrees",
    is_flag=True,
    help="Fast-forward branches where they are checked out; a local change there stops it.",
)
@_json_option
@click.pass_obj
def sync_command(
    place: Place,
    mode: str | None,
    landed: dict[int, str],
    *,
    update_worktrees: bool,
    as_json: bool,
) -> ExitCode:
    """Bring main and every dependency into every branch."""
    carrier = Carrier.open(place.series)
    if landed and mode in {"continue", "abort"}:
        raise click.UsageError(f"--landed belongs to the sync that began; --{mode} knows it")
    if mode == "dry-run":
        result = dry_run(place.repo, carrier, place.main, people.print, landed)
        ended = _show(result, None, as_json=as_json)
        _show_landed(place, result, is_kept=False)
        return ended
    with place.at_work(update_worktrees=update_worktrees) as (repository, operations):
        if mode == "abort":
            dropped = abort_sync(operations)
            people.print(f"Dropped the sync that waited at {dropped.branch}; no branch moved.")
            return ExitCode.DONE
        syncer = Syncer(repository, carrier, operations, people.print)
        result = syncer.continue_sync() if mode == "continue" else syncer.sync(place.main, landed)
        ended = _show(result, operations.worktree, as_json=as_json)
        _show_landed(place, result, is_kept=True)
        return ended


@merge_series.command("status", epilog=texts.STATUS)
@_json_option
@click.pass_obj
def status_command(place: Place, *, as_json: bool) -> None:
    """Say where every branch stands."""
    with place.open() as (repository, carrier):
        main = resolve_main(repository, carrier, place.main)
        rows = statuses(repository, carrier, main)
        operations = Operations(repository)
        waiting = operations.stopped()
        said = [str(change) for change in changes(repository, carrier, operations, main)]
        said += landings_seen(repository, carrier, main)
        gone = lost(repository, carrier, operations, place.main, main)
        killed = [record for record in operations.journal.records() if record.is_under_way]
    if as_json:
        branches = [_status_json(row) for row in rows]
        waits = None if waiting is None else waiting.pending.branch
        data = {"main": main, "branches": branches, "changes": said, "lost": gone, "waits": waits}
        print_json(data)
        return
    said += gone
    if waiting is not None:
        said.append(f"A sync waits for a person at {waiting.pending.branch}.")
    said += [
        f"An earlier {record.action} was killed while it moved branches; the next command that "
        "moves any finishes or drops it first."
        for record in killed
    ]
    for part in (f"{place.main} is at {main[:12]}", report.status_table(rows), *said):
        people.print(part, width=_STATUS_WIDTH)


@merge_series.command("graph", epilog=texts.GRAPH)
@_json_option
@click.pass_obj
def graph_command(place: Place, *, as_json: bool) -> None:
    """Draw the stack."""
    with place.open() as (repository, carrier):
        rows = statuses(repository, carrier, resolve_main(repository, carrier, place.main))
    if as_json:
        edges = {pr.name: [f"#{n}" for n in pr.depends_on] or ["main"] for pr in carrier.series}
        print_json(edges)
        return
    people.print(report.stack_tree(carrier, rows, place.main))


@merge_series.command("verify", epilog=texts.VERIFY)
@_json_option
@click.pass_obj
def verify_command(place: Place, *, as_json: bool) -> ExitCode:
    """Check that nothing was lost and that every branch is what it says."""
    with place.open() as (repository, carrier):
        main = resolve_main(repository, carrier, place.main)
        checks = verify(repository, carrier, Operations(repository), place.main, main)
    faults = [check for check in checks if check.found]
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        people.print(report.check_table(checks))
        people.print(f"{len(checks)} checks, {len(faults)} found something.")
    return ExitCode.FOUND if faults else ExitCode.DONE


@merge_series.command("log", epilog=texts.LOG)
@_json_option
@click.pass_obj
def log_command(place: Place, *, as_json: bool) -> None:
    """Show every operation that moved branches: what was merged, how each file was settled."""
    with place.open() as (repository, carrier):
        done = Operations(repository).done()
        now = heads(repository, [pull_request.branch for pull_request in carrier.series])
        first = {b: old or sync.new[b] for sync in reversed(done) for b, old in sync.old.items()}
        gone = {b: head for b, head in first.items() if repository.resolve(head) is None}
        here = {b: head for b, head in first.items() if b in now and b not in gone}
        mains = {sync.main: repository.resolve(sync.main) for sync in done}
        subjects = {
            main: repository.message(main).partition("\n")[0] if there else ""
            for main, there in mains.items()
        }
        base = next((there for there in mains.values() if there), None)
        counts = (0, 0) if base is None else count_commits(repository, base, here, now)
    if as_json:
        print_json([asdict(sync) for sync in done])
        return
    for sync in done:
        people.print(report.done_table(sync, subjects[sync.main]))
    for branch, head in gone.items():
        people.print(f"{branch}: its head {head[:12]} is no longer in the repository.")
    _say_reachable(*counts)


@merge_series.command("undo", epilog=texts.UNDO)
@click.option("--dry-run", is_flag=True, help="Say what would be taken back; change nothing.")
@click.pass_obj
def undo_command(place: Place, *, dry_run: bool) -> None:
    """Take back the last operation that moved branches; run it twice to go two back."""
    record = _carry_out(place, to_undo, is_kept=not dry_run)
    if dry_run:
        people.print(f"Would take back {record.name}:")
    else:
        people.print(f"Took back {record.name}; redo brings it again.")
    _say_moved(record.new, record.old)


@merge_series.command("redo", epilog=texts.REDO)
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


@merge_series.command("push", epilog=texts.PUSH)
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


@merge_series.command("forget", epilog=texts.FORGET)
@click.argument("path")
@click.pass_obj
def forget_command(place: Place, path: str) -> None:
    """Drop how people settled conflicts in PATH, so that they are asked again."""
    with Repository.open(place.repo) as repository, Operations(repository).lock():
        count = Recorded(repository).forget(path)
    people.print(f"Dropped {counted(count, 'resolution')} of {path}.")


def _say_reachable(before: int, lost: int) -> None:
    people.print(
        f"{before} commits stood on the branches before; {before - lost} of them are reachable now."
    )


def _show(result: Synced, worktree: Path | None, *, as_json: bool) -> ExitCode:
    pending = result.pending
    if as_json:
        print_json(asdict(result))
    elif result.merged:
        people.print(report.merge_table(result.merged))
    if pending is None:
        if not result.merged:
            people.print("Every branch is up to date; nothing was changed.")
        _say_reachable(result.commits_before, result.commits_lost)
        if worktree is None:
            people.print(_DRY_RUN)
        return ExitCode.DONE
    people.print(f"{pending.branch}: merging {pending.source} needs a person for:")
    for path, why in pending.unsettled.items():
        people.print(f"  {path}: {why}")
    if pending.settled:
        people.print("Settled already:")
    for file in pending.settled:
        people.print(f"  {file.path}: {file.how}")
    if worktree is None:
        people.print(_DRY_RUN)
    else:
        people.print(
            f"The merge waits in {worktree}\nSettle it there, git add or commit, then run "
            f"{typed('merge_series sync --continue')} (or --abort). No branch has moved.",
            soft_wrap=True,
        )
    return ExitCode.WAITING


def _show_landed(place: Place, result: Synced, *, is_kept: bool) -> None:
    for number, commit in result.landed.items():
        people.print(f"#{number} landed in {place.main} as {commit[:12]}; its branch is kept.")
    if result.series_diff:
        show_rewrite(place.series, result.series_diff, is_kept=is_kept)


def _status_json(row: BranchStatus) -> dict[str, Any]:
    return {
        "pr": row.pull_request.number,
        "branch": row.pull_request.branch,
        "state": row.pull_request.state,
        "head": row.head,
        "ahead": row.ahead,
        "behind": row.behind,
        "lacks": [pull_request.number for pull_request in row.lacks],
        "summary": row.summary,
    }


merge_series.add_command(stack_command)
merge_series.add_command(fold_command)
for _command in review.COMMANDS:
    merge_series.add_command(_command)
merge_series.add_command(site_command)


def main() -> NoReturn:
    """Run the command line."""
    run(merge_series, prog_name="merge_series")
