"""The body of a PR, and the facts it states."""

import re
from dataclasses import dataclass
from pathlib import Path

from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series.review.allowed import ReadsChange, reads_change
from merge_series.review.foundation import lay
from merge_series.review.standing import stand
from merge_series.review.synced import SyncedWithMain, synced_with_main
from stack.model import PullRequest, Series
from stack.refs import heads
from stack.repository import Repository
from stack.series_source import Source, is_heading, line_of, written

_PART_OF = re.compile(r"\bpart of (#[1-9][0-9]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Description:
    """What a PR's body says.

    Attributes:
        pull_request: The PR, with its texts.
        series: The stack it stands in.
        part_of: The issue that the series is part of, such as ``#6307``; None if it names none.
        synced: How its branch came to stand where it does; None for a PR that is no longer open and
            whose branch is gone.
        reads: What it does to the allowlist; None if there is nothing to say.
    """

    pull_request: PullRequest
    series: Series
    part_of: str | None
    synced: SyncedWithMain | None
    reads: ReadsChange | None


def describe(  # noqa: PLR0913, PLR0917 - a repository, a series and a PR of it
    repository: Repository,
    carrier: Carrier,
    scanner: ReadScanner,
    main_name: str,
    pull_request: PullRequest,
    part_of: str | None,
) -> Description:
    """Gather what a PR's body says.

    Args:
        repository: The fork, opened with a temporary object folder.
        carrier: The series.
        scanner: Scanner of the repository.
        main_name: The revision that is main.
        pull_request: The PR.
        part_of: The issue that the series is part of.

    Raises:
        Refusal: An open PR has no branch, or its history cannot be read.
    """
    is_open = pull_request.state in {"open", "draft"}
    if not is_open and not heads(repository, [pull_request.branch]):
        return Description(pull_request, carrier.series, part_of, None, None)
    standing = stand(repository, carrier, main_name, pull_request)
    foundation = lay(repository, carrier, scanner, standing)
    return Description(
        pull_request,
        carrier.series,
        part_of,
        synced_with_main(repository, standing),
        reads_change(repository, scanner, foundation, standing.head),
    )


def read_part_of(path: Path) -> str | None:
    """The issue that a series is part of: SERIES.md says so above its first section.

    Raises:
        Refusal: It names several.
    """
    source = Source.parse(path.read_text("utf-8-sig"), str(path))
    found: dict[str, int] = {}
    for node in source.nodes:
        if is_heading(node, 2):
            break
        if node.type == "paragraph":
            for match in _PART_OF.finditer(written(node)):
                found.setdefault(match[1], line_of(node))
    if len(found) > 1:
        line = list(found.values())[1]
        raise source.refusal(line, f"the series is part of {' and of '.join(found)}; name one")
    return next(iter(found), None)
