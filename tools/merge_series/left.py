"""Where earlier operations left the branches and main, as the journal says."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from merge_series.journal import DoneSync
from stack.git_answers import Sha
from stack.model import PullRequest


@dataclass(frozen=True, slots=True)
class Left:
    """Where an operation left a branch, or main.

    Attributes:
        head: The commit.
        when: Before or after which operation, as people name it.
    """

    head: Sha
    when: str


def left_heads(
    records: Sequence[DoneSync], pull_requests: Iterable[PullRequest]
) -> dict[str, Left]:
    """Where the last operation on each branch left it; what was undone is as before it.

    Args:
        records: The operations.
        pull_requests: The PRs on whose branches also those operations were that only merged them.
    """
    branches = {pull_request.name: pull_request.branch for pull_request in pull_requests}
    found: dict[str, Left] = {}
    done = [record for record in records if record.state == "done"]
    for record in done:
        heads = {**dict(_merged(record, branches)), **record.new}
        found |= {b: Left(head, f"after {record.name}") for b, head in heads.items()}
    for record in reversed(records):
        # One that is under way may have moved the branch or not: both heads hold the old one.
        if record.state != "done" and (not done or record.number > done[-1].number):
            # A branch that it moved may have another name by now.
            moved = record.new.values()
            heads = {b: head for b, head in _merged(record, branches) if head not in moved}
            heads |= {branch: head for branch, head in record.old.items() if head is not None}
            found |= {b: Left(head, f"before {record.name}") for b, head in heads.items()}
    return found


def _merged(record: DoneSync, branches: dict[str, str]) -> Iterator[tuple[str, Sha]]:
    """The branches that an operation merged and did not move, each with its head."""
    for merge in record.merged:
        branch = branches.get(merge.source)
        if branch is not None and branch not in record.new:
            yield branch, merge.theirs


def left_main(records: Sequence[DoneSync]) -> Left | None:
    """The commit of main that the last sync brought into the branches."""
    for record in reversed(records):
        if record.state == "done" and record.operation == "sync":
            return Left(record.main, record.name)
    return None
