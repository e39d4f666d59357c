"""Makes one answer of what the ranks of a job answered."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proof.results import Outcome, Records, Result, RunResult

_DETAIL_LINES = 30
_SEVERITY = tuple(Outcome)


@dataclass(frozen=True, slots=True)
class Rank:
    """What one rank left.

    Attributes:
        records: What it answered.
        stack: Where it was when it was ended, innermost call first; empty if it wrote nothing.
    """

    records: Records
    stack: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended.

    Attributes:
        reason: In words.
        hung: Whether it was ended because its time was up.
    """

    reason: str
    hung: bool = False


@dataclass(frozen=True, slots=True)
class JobResult:
    """The answers of one job.

    Attributes:
        run: The answers of all ranks as one.
        broken: The last test that a rank was in when the job broke off; None if it did not, or
            outside the tests.
    """

    run: RunResult
    broken: str | None


def combine(ranks: Sequence[Rank], ending: Ending, log: str) -> JobResult:
    """The answers of a job.

    Args:
        ranks: What the ranks left, in their order.
        ending: How the job ended.
        log: The end of what it printed.

    Returns:
        A test has passed if it has on every rank, and is skipped if it is on every rank.
        Otherwise its outcome is the worst of all ranks'.
    """
    tests = {
        test: _agree([_result(rank, test, ending) for rank in ranks])
        for test in dict.fromkeys(test for rank in ranks for test in rank.records.tests)
    }
    faults = _by_rank([rank.records.faults for rank in ranks])
    running = {rank.records.running for rank in ranks}
    broken = next((test for test in reversed(tests) if test in running), None)
    if broken is None and (ending.hung or not all(rank.records.ended for rank in ranks)):
        stacks = _by_rank([[_place(rank)] for rank in ranks])
        faults.append(
            "\n".join((f"the run did not come to its end: {ending.reason}", *stacks, log)).rstrip()
        )
    return JobResult(RunResult(tests, tuple(faults)), broken)


def _result(rank: Rank, test: str, ending: Ending) -> Result:
    if rank.records.running == test:
        outcome = Outcome.HUNG if ending.hung else Outcome.DIED
        return Result(outcome, f"{ending.reason}; {_place(rank)}")
    return rank.records.tests.get(test, Result(Outcome.NOT_RUN, "this rank has no such test"))


def _place(rank: Rank) -> str:
    return f"it was at\n{rank.stack}" if rank.stack else "it left no stack"


def _agree(results: Sequence[Result]) -> Result:
    """One result for those of all ranks."""
    outcome = max((result.outcome for result in results), key=_SEVERITY.index)
    if outcome is Outcome.SKIPPED and any(r.outcome is Outcome.PASSED for r in results):
        outcome = Outcome.FAILED  # the ranks do not agree
    if len(set(results)) == 1:
        return Result(outcome, _shorten(results[0].detail))
    told = _by_rank([[f"{r.outcome}\n{_shorten(r.detail)}".rstrip()] for r in results])
    return Result(outcome, "\n".join(told))


def _by_rank(texts: Sequence[Iterable[str]]) -> list[str]:
    """Every text once, with the ranks that say it where not all do."""
    ranks: dict[str, list[int]] = {}
    for rank, said in enumerate(texts):
        for text in dict.fromkeys(said):
            ranks.setdefault(text, []).append(rank)
    return [
        text if len(who) == len(texts) else f"rank {', '.join(map(str, who))}: {text}"
        for text, who in ranks.items()
    ]


def _shorten(detail: str) -> str:
    """The end of a detail: the last lines of a traceback say what happened."""
    return "\n".join(detail.splitlines()[-_DETAIL_LINES:])
