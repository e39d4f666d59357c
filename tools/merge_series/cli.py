"""The command line of ``merge_series``; ``help_texts`` has its examples and exit codes."""

from pathlib import Path
from typing import NoReturn

import click

from merge_series import help_texts as texts
from merge_series.place import Place
from stack.command_line import Tool
from stack.console import run

_COMMANDS = {
    "sync": "merge_series.sync_command:sync_command",
    "status": "merge_series.view_commands:status_command",
    "graph": "merge_series.view_commands:graph_command",
    "verify": "merge_series.view_commands:verify_command",
    "log": "merge_series.view_commands:log_command",
    "undo": "merge_series.move_commands:undo_command",
    "redo": "merge_series.move_commands:redo_command",
    "push": "merge_series.move_commands:push_command",
    "forget": "merge_series.move_commands:forget_command",
    "stack": "merge_series.change_commands:stack_command",
    "fold": "merge_series.change_commands:fold_command",
    "renumber": "merge_series.change_commands:renumber_command",
    "describe": "merge_series.review.commands:describe_command",
    "show": "merge_series.review.commands:show_command",
    "links": "merge_series.review.commands:links_command",
    "publish": "merge_series.review.commands:publish_command",
    "site": "merge_series.site.command:site_command",
}


@click.group(cls=Tool, commands_in=_COMMANDS, epilog=texts.TOOL)
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


def main() -> NoReturn:
    """Run the command line."""
    run(merge_series, prog_name="merge_series")
