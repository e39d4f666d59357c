"""Compares the answers of the unmodified tree with those of the fork."""

from collections.abc import Collection
from dataclasses import dataclass

from proof.results import Outcome, Result, RunResult

# A test that hangs or ends its process has failed as well.
_FAILED = frozenset({Outcome.FAILED, Outcome.HUNG, Outcome.DIED})


@dataclass(frozen=True, slots=True)
class Row:
    """One test on both trees.

    Attributes:
        test: Its id.
        control: Whether it must pass on both.
        unmodified: Its result on the unmodified tree.
        fork: Its result on the fork.
        problem: What is not as it should be; empty if all is.
    """

    test: str
    control: bool
    unmodified: Result
    fork: Result
    problem: str

    @property
    def skipped(self) -> bool:
        """Whether it was skipped on both."""
        return self.unmodified.outcome is self.fork.outcome is Outcome.SKIPPED

    @property
    def shows(self) -> bool:
        """Whether it fails without the change, as it must, and passes with it."""
        return (
            not self.control
            and self.unmodified.outcome in _FAILED
            and self.fork.outcome is Outcome.PASSED
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What two runs on one platform show together.

    Attributes:
        rows: The tests, in the order of the run.
        faults: What went wrong outside the tests, each with the tree it happened on.
    """

    rows: tuple[Row, ...]
    faults: tuple[str, ...]

    @property
    def problems(self) -> tuple[Row, ...]:
        """The tests that are not as they should be."""
        return tuple(row for row in self.rows if row.problem)

    @property
    def shown(self) -> int:
        """How many tests fail without the change and pass with it."""
        return sum(row.shows for row in self.rows)

    @property
    def proven(self) -> bool:
        """Whether the change works: all is as it should be, and at least one test shows it."""
        return not self.faults and not self.problems and self.shown > 0


def compare(unmodified: RunResult, fork: RunResult, controls: Collection[str]) -> Verdict:
    """Compares two runs of the same tests.

    Args:
        unmodified: The run on the unmodified tree.
        fork: The run on the fork.
        controls: Ids of the tests that must pass on both.

    Returns:
        The verdict.
    """
    absent = Result(Outcome.NOT_RUN, "this run has no such test")
    rows = []
    for test in {**unmodified.tests, **fork.tests}:
        before = unmodified.tests.get(test, absent)
        after = fork.tests.get(test, absent)
        control = test in controls
        rows.append(Row(test, control, before, after, _problem(before, after, control=control)))
    faults = [f"unmodified: {fault}" for fault in unmodified.faults]
    faults += [f"fork: {fault}" for fault in fork.faults]
    return Verdict(tuple(rows), tuple(faults))


def _problem(before: Result, after: Result, *, control: bool) -> str:
    if before.outcome is after.outcome is Outcome.SKIPPED:
        return ""
    if after.outcome is not Outcome.PASSED:
        return f"must pass on the fork: {after.outcome}"
    if control:
        if before.outcome is not Outcome.PASSED:
            return f"a control, must pass on the unmodified tree: {before.outcome}"
    elif before.outcome not in _FAILED:
        return f"must fail on the unmodified tree: {before.outcome}"
    return ""
