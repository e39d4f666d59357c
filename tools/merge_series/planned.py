"""A merge that is to be made, and one that waits for a person."""

from dataclasses import dataclass

from merge_series import messages
from merge_series.records import Beyond, BroughtMain
from merge_series.resolve import Settled, Unsettled
from stack.git_answers import Sha
from stack.merging import Merge
from stack.model import PullRequest


@dataclass(frozen=True, slots=True)
class Planned:
    """A merge that is to be made.

    Attributes:
        pull_request: The PR on whose branch it is.
        source: What is merged; None is main.
        ours: Head of the branch.
        theirs: The commit merged in.
        beyond: Beyond what it is merged; None if beyond the merge base.
        trailers: What the end of its message records, a line each.
    """

    pull_request: PullRequest
    source: PullRequest | None
    ours: Sha
    theirs: Sha
    beyond: Beyond | None = None
    trailers: tuple[str, ...] = ()

    @property
    def source_name(self) -> str:
        """``main``, the PR's name, or what else is merged."""
        if self.beyond is not None:
            return self.beyond.source
        return "main" if self.source is None else self.source.name

    @property
    def subject(self) -> str:
        """First line of the merge's message."""
        if self.beyond is not None:
            return self.beyond.subject
        return messages.subject(self.pull_request, self.source)


@dataclass(frozen=True, slots=True)
class Stopped:
    """A merge that waits for a person.

    Attributes:
        planned: The merge.
        settled: Conflicts that are settled, with the files' new bytes.
        unsettled: Conflicts that are not.
        merge: What git made of it.
        brought: What a dependency brings of main.
    """

    planned: Planned
    settled: tuple[Settled, ...]
    unsettled: tuple[Unsettled, ...]
    merge: Merge
    brought: BroughtMain | None

    @property
    def parts(self) -> tuple[Settled, ...]:
        """What is settled of files that are left to a person for the rest."""
        return tuple(end.part for end in self.unsettled if end.part is not None)
