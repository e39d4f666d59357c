"""What of the series a base lacks with the file that would have it, and what that means."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from carry.checking import ABSENT, EditReport


def parts_lacking(name: str, reports: Iterable[EditReport]) -> Iterator[str]:
    """A sentence for each file that a base may lack, and does.

    Args:
        name: The base, as a person knows it.
        reports: What became of the edits there.
    """
    absent = (report for report in reports if report.state == ABSENT)
    for path, edits in groupby(absent, key=lambda report: report.path):
        found = [*edits]
        pull_requests = dict.fromkeys(report.edit.partition(".")[0] for report in found)
        whose = " and ".join(pull_requests)
        yield f"{name} has no {path}, so it lacks a part of {whose}. {found[0].detail}"
