"""The commands that change the series itself: ``stack``, ``fold`` and ``renumber``."""

from collections.abc import Callable, Sequence

import click

from carry.carried import Carrier
from merge_series import help_texts as texts
from merge_series import report
from merge_series.add_pr import add_pull_request, implied
from merge_series.declared import Rewrite
from merge_series.fold import fold
from merge_series.place import Place
from merge_series.records import MergeRecord
from merge_series.renumber import renumbered
from merge_series.review.standing import MAIN, find_pull_request
from merge_series.stopped import refuse_stopped
from stack.completion import PullRequestName
from stack.console import people
from stack.model import Series
from stack.series_edit import NewPullRequest
from stack.words import counted


def _numbers(series: Series, names: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the PRs that are named, each once."""
    return tuple(dict.fromkeys(find_pull_request(series, name).number for name in names))


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
    type=PullRequestName(),
    metavar="PR",
    help="A PR it depends on, by number or branch; may be repeated. Or main alone.",
)
@click.option("--because", required=True, help="Why it needs what it depends on.")
@click.pass_obj
def stack_command(  # noqa: PLR0913, PLR0917 - click hands over every option
    place: Place,
    number: int,
    branch: str,
    title: str,
    brings: str,
    on: tuple[str, ...],
    because: str,
    *,
    dry_run: bool,
) -> None:
    """Add a PR to the series, with a branch that starts at the merge of what it depends on."""
    section = f"### Why\n\n{because}"
    if MAIN in on and set(on) != {MAIN}:
        raise click.UsageError("a PR on others is on main through them; leave --on main out")
    with place.begin(is_kept=not dry_run) as (repository, carrier, operations, main):
        numbers = () if MAIN in on else _numbers(carrier.series, on)
        new = NewPullRequest(number, branch, numbers, title, brings, section)
        start, rewrite = add_pull_request(repository, carrier, main, new, because, _say)
        if not dry_run:
            made = {branch: start.head}
            operations.move("stack", main, {branch: None}, made, start.merged, (rewrite.change,))
    _show(start.merged, rewrite, is_kept=not dry_run)
    for one, other in implied(carrier.series, numbers).items():
        people.print(f"#{one} need not be named: #{other} depends on it.")
    people.print(
        f"{branch} {'would start' if dry_run else 'starts'} at {start.head[:12]}: "
        + (counted(len(start.merged), "merge") if start.merged else "the head of what it is on")
    )


@click.command("fold", epilog=texts.FOLD)
@_new_options
@click.argument("prs", nargs=-1, required=True, type=PullRequestName(), metavar="PR...")
@click.pass_obj
def fold_command(  # noqa: PLR0913, PLR0917 - click hands over every option
    place: Place,
    number: int,
    branch: str,
    title: str,
    brings: str,
    prs: tuple[str, ...],
    *,
    dry_run: bool,
) -> None:
    """Supersede PRs by a new one, whose branch has a commit for each of them.

    PR is a number or a branch.
    """
    with place.begin(is_kept=not dry_run) as (repository, carrier, operations, main):
        numbers = _numbers(carrier.series, prs)
        names = ", ".join(f"#{n}" for n in numbers)
        section = f"Supersedes {names}, with a commit for each."
        new = NewPullRequest(number, branch, (), title, brings, section)
        made = fold(repository, carrier, main, new, numbers, _say)
        if not dry_run:
            files = (made.rewrite.change,)
            operations.move("fold", main, made.old, made.new, made.merged, files)
    _show(made.merged, made.rewrite, is_kept=not dry_run)
    people.print(
        f"{branch} {'would be' if dry_run else 'is'} at {made.new[branch][:12]}; "
        "the branches it supersedes stay as they are"
    )


@click.command("renumber", epilog=texts.RENUMBER)
@click.argument("pr", type=PullRequestName(), metavar="PR")
@click.argument("number", type=click.IntRange(1), metavar="NUMBER")
@click.option("--dry-run", is_flag=True, help="Say what would change; change nothing.")
@click.pass_obj
def renumber_command(place: Place, pr: str, number: int, *, dry_run: bool) -> None:
    """Give a PR the number that it has on its hosting now: its row, and edits that name it.

    PR is a number or a branch. Branches and their history stay as they are.
    """
    with place.at_work(is_kept=not dry_run) as (_, operations):
        refuse_stopped(operations)
        carrier = Carrier.open(place.series)
        old = find_pull_request(carrier.series, pr).number
        for rewrite in renumbered(carrier, old, number):
            if not dry_run:
                rewrite.write()
            _show((), rewrite, is_kept=not dry_run)


def _say(sentence: str) -> None:
    people.print(sentence, soft_wrap=True)


def _show(merged: Sequence[MergeRecord], rewrite: Rewrite, *, is_kept: bool) -> None:
    if merged:
        people.print(report.merge_table(merged))
    people.print(report.rewritten(rewrite.path, rewrite.diff, is_kept=is_kept), soft_wrap=True)
