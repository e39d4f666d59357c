"""The commands that change the series itself: ``stack`` and ``fold``."""

from collections.abc import Callable, Sequence

import click

from merge_series import help_texts as texts
from merge_series import report
from merge_series.add_pr import add_pull_request, implied
from merge_series.declared import Rewrite
from merge_series.fold import fold
from merge_series.place import Place
from merge_series.records import MergeRecord
from stack.completion import PullRequestNumber
from stack.console import people
from stack.series_edit import NewPullRequest
from stack.words import counted


def _numbers(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[int, ...]:
    """PR numbers, each once, written as ``8045`` or ``#8045``."""
    for value in values:
        if not value.removeprefix("#").isdecimal():
            raise click.BadParameter(f"{value} is no PR number; write it like 8045")
    return tuple(dict.fromkeys(int(value.removeprefix("#")) for value in values))


_new = (
    click.option("--pr", "number", type=click.IntRange(1), required=True, help="Its number."),
    click.option("--branch", required=True, help="Its branch, which does not exist yet."),
    click.option("--title", required=True, help="Its title."),
    click.option("--brings", default="", help="What a merge of it brings; its title, if not said."),
    click.option("--dry-run", is_flag=True, help="Say what would be made; change nothing."),
)


def _new_options[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    for option in reversed(_new):
        command = option(command)
    return command


@click.command("stack", epilog=texts.STACK)
@_new_options
@click.option(
    "--on",
    multiple=True,
    required=True,
    type=PullRequestNumber(),
    callback=_numbers,
    metavar="PR",
    help="A PR it depends on; may be repeated.",
)
@click.option("--because", required=True, help="Why it needs what it depends on.")
@click.pass_obj
def stack_command(  # noqa: PLR0913, PLR0917 - click hands over every option
    place: Place,
    number: int,
    branch: str,
    title: str,
    brings: str,
    on: tuple[int, ...],
    because: str,
    *,
    dry_run: bool,
) -> None:
    """Add a PR to the series, with a branch that starts at the merge of what it depends on."""
    section = f"### Why\n\n{because}"
    new = NewPullRequest(number, branch, on, title, brings, section)
    with place.begin(is_kept=not dry_run) as (repository, carrier, operations, main):
        start, rewrite = add_pull_request(repository, carrier, main, new, because)
        if not dry_run:
            made = {branch: start.head}
            operations.move("stack", main, {branch: None}, made, start.merged, (rewrite.change,))
    _show(start.merged, rewrite, is_kept=not dry_run)
    for one, other in implied(carrier.series, on).items():
        people.print(f"#{one} need not be named: #{other} depends on it.")
    people.print(
        f"{branch} {'would start' if dry_run else 'starts'} at {start.head[:12]}: "
        + (counted(len(start.merged), "merge") if start.merged else "the head of what it is on")
    )


@click.command("fold", epilog=texts.FOLD)
@_new_options
@click.argument(
    "numbers", nargs=-1, required=True, type=PullRequestNumber(), callback=_numbers, metavar="PR..."
)
@click.pass_obj
def fold_command(  # noqa: PLR0913, PLR0917 - click hands over every option
    place: Place,
    number: int,
    branch: str,
    title: str,
    brings: str,
    numbers: tuple[int, ...],
    *,
    dry_run: bool,
) -> None:
    """Supersede PRs by a new one, whose branch has a commit for each of them."""
    names = ", ".join(f"#{n}" for n in numbers)
    section = f"Supersedes {names}, with a commit for each."
    new = NewPullRequest(number, branch, (), title, brings, section)
    with place.begin(is_kept=not dry_run) as (repository, carrier, operations, main):
        made = fold(repository, carrier, main, new, numbers)
        if not dry_run:
            files = (made.rewrite.change,)
            operations.move("fold", main, made.old, made.new, made.merged, files)
    _show(made.merged, made.rewrite, is_kept=not dry_run)
    people.print(
        f"{branch} {'would be' if dry_run else 'is'} at {made.new[branch][:12]}; "
        "the branches it supersedes stay as they are"
    )


def _show(merged: Sequence[MergeRecord], rewrite: Rewrite, *, is_kept: bool) -> None:
    if merged:
        people.print(report.merge_table(merged))
    people.print(report.rewritten(rewrite.path, rewrite.diff, is_kept=is_kept), soft_wrap=True)
