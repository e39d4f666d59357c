"""The commands that say how the branches stand: ``status``, ``graph``, ``verify`` and ``log``."""

from dataclasses import asdict
from typing import Any

import click

from merge_series import help_texts as texts
from merge_series import report, standing_tables
from merge_series.changes import changes, landings_seen
from merge_series.forecast import Forecast
from merge_series.inspect import BranchStatus, statuses, verify
from merge_series.lost import lost
from merge_series.operations import Operations
from merge_series.place import Place
from merge_series.plan import newer_mains, resolve_main
from merge_series.reachable import count_commits
from merge_series.revert_checks import check_reverts
from merge_series.stopped import how_it_waits
from merge_series.sync import foresee
from merge_series.unfolded import check_folded, left_behind
from stack.command_line import json_option
from stack.console import people, print_json
from stack.errors import ExitCode, Refusal
from stack.refs import heads
from stack.words import counted

_STATUS_WIDTH = 80  # also where more would fit: it is what people send each other


@click.command("status", epilog=texts.STATUS)
@json_option
@click.pass_obj
def status_command(place: Place, *, as_json: bool) -> None:
    """Say where every branch stands."""
    with place.read() as (repository, carrier):
        main = resolve_main(repository, carrier, place.main)
        rows = statuses(repository, carrier, main)
        operations = Operations(repository)
        waiting = operations.stopped()
        found = changes(repository, carrier, operations, place.main, main)
        said = [str(change) for change in found]
        try:
            answered = None if waiting is None else waiting.said
            landed = list(landings_seen(repository, carrier, main, answered).values())
        except Refusal as refusal:
            landed = [str(refusal)]
        behind = [*landed, *left_behind(repository, carrier, main).values()]
        gone = lost(repository, carrier, operations, place.main, main)
        said += newer_mains(repository, place.main, main)
        ahead = Forecast()
        can_begin = not gone and not any(change.is_refused for change in found)
        if can_begin and any(row.is_synced and row.summary != "up to date" for row in rows):
            try:
                ahead = foresee(repository, carrier, operations, place.main)
            except Refusal as refusal:
                told = {*said, *"\n".join(behind).split("\n")}
                behind += [line for line in str(refusal).split("\n") if line not in told]
        killed = [record for record in operations.journal.records() if record.is_under_way]
    if as_json:
        branches = [_status_json(row) for row in rows]
        branch = None if waiting is None else waiting.pending.branch
        said += behind
        data = {"main": main, "branches": branches, "changes": said, "lost": gone, "waits": branch}
        print_json({**data, "ahead": asdict(ahead)})
        return
    said += [
        f"An earlier {record.action} was killed while it moved branches; the next command that "
        "moves any finishes or drops it first."
        for record in killed
    ]
    for part in (f"{place.main} is at {main[:12]}", standing_tables.status_table(rows), *said):
        people.print(part, width=_STATUS_WIDTH)
    # A command to copy stays whole, however long it is.
    waits = () if waiting is None else (f"A{how_it_waits(operations, waiting)[1:]}.",)
    for sentence in (*behind, *gone, *ahead.told(None), *waits):
        people.print(sentence, soft_wrap=True)


@click.command("graph", epilog=texts.GRAPH)
@json_option
@click.pass_obj
def graph_command(place: Place, *, as_json: bool) -> None:
    """Draw the stack."""
    with place.open() as (repository, carrier):
        rows = statuses(repository, carrier, resolve_main(repository, carrier, place.main))
    if as_json:
        edges = {pr.name: [f"#{n}" for n in pr.depends_on] or ["main"] for pr in carrier.series}
        print_json(edges)
        return
    people.print(standing_tables.stack_tree(carrier, rows, place.main))


@click.command("verify", epilog=texts.VERIFY)
@json_option
@click.pass_obj
def verify_command(place: Place, *, as_json: bool) -> ExitCode:
    """Check that nothing was lost and that every branch is what it says."""
    with place.open() as (repository, carrier):
        main = resolve_main(repository, carrier, place.main)
        checks = verify(repository, carrier, Operations(repository), place.main, main)
        checks += check_folded(repository, carrier, main)
        checks += check_reverts(repository, carrier, main)
    faults = [check for check in checks if check.found]
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        people.print(standing_tables.check_table(checks))
        for told in standing_tables.faults_told(checks):
            people.print(told, soft_wrap=True)
        idle = sum(bool(check.note) for check in checks)
        left_out = f", {idle} more not checked" if idle else ""
        done = counted(len(checks) - idle, "check")
        people.print(f"{done}, {len(faults)} found something{left_out}.")
    return ExitCode.FOUND if faults else ExitCode.DONE


@click.command("log", epilog=texts.LOG)
@json_option
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
    people.print(report.reachable(*counts))


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
