"""What the shell completes: the PRs and branches of the series at hand.

Completion never fails and never speaks: without a series that can be read there is nothing to
complete.
"""

from pathlib import Path
from typing import override

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from stack.errors import Refusal
from stack.model import PullRequest
from stack.series_file import read_series


class PullRequestName(StringParamType):
    """A PR by its number or its branch, as the person wrote it."""

    name = "pr"

    @override
    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [
            CompletionItem(name, help=pull_request.title)
            for pull_request in _pull_requests(ctx)
            for name in (str(pull_request.number), pull_request.branch)
            if name.startswith(incomplete)
        ]


def _pull_requests(context: click.Context) -> tuple[PullRequest, ...]:
    try:
        return tuple(read_series(Path(context.find_root().params["series"])))
    except Refusal:
        return ()
