"""Where earlier operations left the branches and main, as the journal says."""

from collections.abc import Sequence
from dataclasses import dataclass

from merge_series.journal import DoneSync
from stack.git_answers import Sha


@dataclass(frozen=True, slots=True)
class Left:
    """Where an operation left a branch, or main.

    Attributes:
        head: The commit.
        when: Before or after which operation, as people name it.
    """

    head: Sha
    when: str


def left_heads(records: Sequence[DoneSync]) -> dict[str, Left]:
    """Where the last operation on each branch left it; what was undone is as before it."""
    found: dict[str, Left] = {}
    done = [record for record in records if record.state == "done"]
    for record in done:
        found |= {b: Left(head, f"after {record.name}") for b, head in record.new.items()}
    for record in reversed(records):
        # One that is under way may have moved the branch or not: both heads hold the old one.
        if record.state != "done" and (not done or record.number > done[-1].number):
            found |= {
                branch: Left(head, f"before {record.name}")
                for branch, head in record.old.items()
                if head is not None
            }
    return found


def left_main(records: Sequence[DoneSync]) -> Left | None:
    """The commit of main that the last sync brought into the branches."""
    for record in reversed(records):
        if record.state == "done" and record.operation == "sync":
            return Left(record.main, record.name)
    return None
