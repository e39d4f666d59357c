"""The commands for reviewers: ``describe``, ``show`` and ``links``."""

import os
import re
import sys

import click

from carry.generated import ReadScanner
from merge_series.place import Place
from merge_series.review.alone import alone
from merge_series.review.foundation import lay
from merge_series.review.since import since
from merge_series.review.standing import find_pull_request, find_read_commit, stand
from merge_series.review.words import alone_text, since_text

_SHOW = """\b
Examples:
  merge_series show 8045
  merge_series show expert-offsets | less
  merge_series show 8045 --since 1f2e3d4
"""


@click.command("show", epilog=_SHOW)
@click.argument("pr")
@click.option(
    "--since", "read", metavar="COMMIT", help="Only what came after a commit that you have read."
)
@click.pass_obj
def show(place: Place, pr: str, read: str | None) -> None:
    """Show one PR alone: none of the lines of the PRs it depends on, and none of main's.

    PR is a number or a branch. The first form shows all that it changes. With --since, the PR's own
    new commits, and of each merge only what it did beyond git's own; merges that did no more than
    git are named in a line each. Both are checked: what is shown, applied to what it is shown
    against, gives the branch's tree.
    """
    with place.read() as (repository, carrier):
        standing = stand(repository, carrier, place.main, find_pull_request(carrier.series, pr))
        if read is not None:
            commit = find_read_commit(repository, standing, carrier.series, read)
            _write(since_text(since(repository, standing, commit)))
            return
        foundation = lay(repository, carrier, ReadScanner(repository), standing)
        _write(alone_text(alone(repository, standing, foundation)))


_COLOURS = {b"+": b"32", b"-": b"31", b"@": b"36"}


def _write(text: bytes) -> None:
    """Write a difference to standard output, coloured on a terminal."""
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        text = re.sub(
            rb"^([-+@]).*",
            lambda found: b"\x1b[" + _COLOURS[found[1]] + b"m" + found[0] + b"\x1b[m",
            text,
            flags=re.MULTILINE,
        )
    sys.stdout.buffer.write(text)
    sys.stdout.flush()
