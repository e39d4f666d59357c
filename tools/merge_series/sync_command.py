"""The command ``sync``."""

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path

import click

from carry.carried import Carrier
from merge_series import help_texts as texts
from merge_series import report
from merge_series.forecast import needs_a_person
from merge_series.operations import Pending
from merge_series.place import Place
from merge_series.plan import heads_by_number
from merge_series.records import Answer, Said
from merge_series.reverted import OPTIONS
from merge_series.stopped import abort_sync
from merge_series.sync import Synced, Syncer, dry_run
from stack.command_line import json_option, typed
from stack.console import people, print_json
from stack.errors import ExitCode

_AFTER_REVERT = {
    Answer.KEEP: "What {name} brought is kept, though {main} reverts it.",
    Answer.LET_GO: "What {name} brought went with the revert in {main}; its row stays landed.",
}
_DRY_RUN = "Nothing was changed: this was a dry run."


def _landed(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[int, str]:
    landed = {}
    for value in values:
        number, found, sha = value.partition("=")
        number = number.removeprefix("#")
        if not found or not sha or not number.isdecimal() or int(number) in landed:
            raise click.BadParameter(f"{value}: write each PR once, like 8045=1a2b3c4d")
        landed[int(number)] = sha
    return landed


def _numbers(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[int, ...]:
    bare = [value.removeprefix("#") for value in values]
    for value, number in zip(values, bare, strict=True):
        if not (number.isascii() and number.isdecimal()):
            raise click.BadParameter(f"{value}: write the number of a PR, like 8045")
    return tuple(map(int, bare))


@click.command("sync", epilog=texts.SYNC)
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
    OPTIONS[Answer.KEEP],
    "kept",
    multiple=True,
    metavar="N",
    callback=_numbers,
    help="Keep what PR N brought in the branches that hold it, though main reverts its landing.",
)
@click.option(
    OPTIONS[Answer.LET_GO],
    "let_go",
    multiple=True,
    metavar="N",
    callback=_numbers,
    help="Let what PR N brought go from the branches that hold it, as main reverts its landing.",
)
@click.option(
    "--update-worktrees",
    is_flag=True,
    help="Fast-forward branches where they are checked out; a local change there stops it.",
)
@json_option
@click.pass_obj
def sync_command(  # noqa: PLR0913 - its options
    place: Place,
    mode: str | None,
    landed: dict[int, str],
    kept: tuple[int, ...],
    let_go: tuple[int, ...],
    *,
    update_worktrees: bool,
    as_json: bool,
) -> ExitCode:
    """Bring main and every dependency into every branch."""
    carrier = Carrier.open(place.series)
    if landed and mode in {"continue", "abort"}:
        raise click.UsageError(f"--landed belongs to the sync that began; --{mode} knows it")
    if not set(kept).isdisjoint(let_go):
        raise click.UsageError("what a PR brought is either kept or let go")
    answers = {**dict.fromkeys(kept, Answer.KEEP), **dict.fromkeys(let_go, Answer.LET_GO)}
    if answers and mode in {"continue", "abort"}:
        raise click.UsageError(f"an answer belongs to the sync that began; --{mode} knows it")
    said = Said(landed, answers)
    if mode == "dry-run":
        result = dry_run(
            place.repo,
            carrier,
            place.main,
            _say,
            said,
            update_worktrees=update_worktrees,
        )
        ended = _show(result, None, as_json=as_json)
        _show_landed(place, result, is_kept=False)
        return ended
    with place.at_work(update_worktrees=update_worktrees) as (repository, operations):
        if mode == "abort":
            dropped = abort_sync(operations)
            people.print(f"Dropped the sync that waited at {dropped.branch}; no branch moved.")
            return ExitCode.DONE
        syncer = Syncer(repository, carrier, operations, _say)
        result = syncer.continue_sync() if mode == "continue" else syncer.sync(place.main, said)
        ended = _show(result, operations.worktree, as_json=as_json)
        _show_landed(place, result, is_kept=True)
        return ended


def _say(sentence: str) -> None:
    """Write what a sync tells, in which a command to copy stays whole."""
    people.print(sentence, soft_wrap=True)


def _show(result: Synced, worktree: Path | None, *, as_json: bool) -> ExitCode:
    pending = result.pending
    if as_json:
        print_json(asdict(result))
    # A stop tells what is new since the last one; the end all that was done.
    new = result.merged if pending is None else result.merged[result.earlier :]
    if new and not as_json:
        people.print(report.merge_table(new))
    if pending is None:
        if not result.merged:
            people.print("Every branch is up to date; nothing was changed.")
        people.print(report.reachable(result.commits_before, result.commits_lost))
        if worktree is None:
            people.print(_DRY_RUN)
        return ExitCode.DONE
    _show_stop(pending, result, worktree)
    return ExitCode.WAITING


def _show_stop(pending: Pending, result: Synced, worktree: Path | None) -> None:
    for line in needs_a_person(pending):
        _say(line)
    # A file that is settled in part stands above, with what is left of it.
    settled = [file for file in pending.settled if file.path not in pending.unsettled]
    if settled:
        people.print("Settled already:")
    for file in settled:
        people.print(f"  {file.path}: {file.how}")
    for line in result.ahead.told(pending, result.heard):
        _say(line)
    if worktree is None:
        people.print(_DRY_RUN)
    else:
        go_on = typed("merge_series sync --continue")
        people.print(
            f"The merge waits in {worktree}\nSettle it there, git add or commit, then back in this "
            f"folder run {go_on} (or --abort). No branch has moved.",
            soft_wrap=True,
        )


def _there(place: Place) -> Collection[int]:
    """The PRs whose branch exists."""
    with place.open() as (repository, carrier):
        return heads_by_number(repository, carrier).keys()


def _show_landed(place: Place, result: Synced, *, is_kept: bool) -> None:
    there = _there(place) if result.landed else {}
    for number, commit in result.landed.items():
        kept = "its branch is kept" if number in there else "its branch is gone already"
        then = kept if result.pending is None else "the sync records it when it ends"
        people.print(f"#{number} landed in {place.main} as {commit[:12]}; {then}.")
    for number, answer in result.reverted.items() if result.pending is None else ():
        people.print(_AFTER_REVERT[answer].format(name=f"#{number}", main=place.main))
    if result.series_diff:
        text = report.rewritten(place.series, result.series_diff, is_kept=is_kept)
        people.print(text, soft_wrap=True)
