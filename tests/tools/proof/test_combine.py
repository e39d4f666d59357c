import pytest
from hypothesis import given
from hypothesis import strategies as st

from proof.combine import Ending, JobResult, Rank, combine
from proof.results import Outcome, Records, Result, RunResult

PASSED, SKIPPED, FAILED, NOT_RUN, ERROR, DIED, HUNG = Outcome
DONE = Ending("the process ended with exit status 0")


def rank(*results, faults=(), running=None, ended=True, stack=""):
    tests = {f"t{n}": r if isinstance(r, Result) else Result(r) for n, r in enumerate(results)}
    return Rank(Records(tests, faults, running, ended), stack)


def agreed(*results):
    return combine([rank(result) for result in results], DONE, "").run.tests["t0"]


@given(st.lists(st.sampled_from(Outcome), min_size=1))
def test_the_worst_outcome_counts(outcomes):
    found = agreed(*outcomes).outcome
    if set(outcomes) == {PASSED, SKIPPED}:
        assert found is FAILED
    else:
        assert found is max(outcomes, key=list(Outcome).index)


def test_one_rank_that_fails():
    assert agreed(PASSED, Result(FAILED, "assert 1 == 2"), PASSED) == Result(
        FAILED, "rank 0, 2: passed\nrank 1: failed\nassert 1 == 2"
    )


def test_all_ranks_that_fail_alike_say_so_once():
    assert agreed(*[Result(FAILED, "assert 1 == 2")] * 4) == Result(FAILED, "assert 1 == 2")


def test_all_ranks_that_skip():
    assert agreed(*[Result(SKIPPED, "needs 4 ranks")] * 2) == Result(SKIPPED, "needs 4 ranks")


def test_ranks_that_do_not_agree_whether_to_skip():
    assert agreed(Result(SKIPPED, "needs 4 ranks"), PASSED) == Result(
        FAILED, "rank 0: skipped\nneeds 4 ranks\nrank 1: passed"
    )


def test_a_test_that_one_rank_does_not_have():
    assert combine([rank(PASSED, PASSED), rank(PASSED)], DONE, "").run.tests == {
        "t0": Result(PASSED),
        "t1": Result(NOT_RUN, "rank 0: passed\nrank 1: not run\nthis rank has no such test"),
    }


def test_of_a_long_traceback_the_end_stays():
    long = "\n".join(map(str, range(100)))
    assert agreed(Result(FAILED, long)).detail == "\n".join(map(str, range(70, 100)))


def test_a_rank_that_waits_for_one_that_failed():
    ranks = [
        rank(PASSED, NOT_RUN, NOT_RUN, running="t1", ended=False, stack="in all_gather"),
        rank(PASSED, Result(FAILED, "TypeError"), NOT_RUN, running="t2", ended=False, stack="in x"),
    ]
    assert combine(ranks, Ending("still running after 9 s", hung=True), "") == JobResult(
        RunResult(
            {
                "t0": Result(PASSED),
                "t1": Result(
                    HUNG,
                    "rank 0: hung\nstill running after 9 s; it was at\nin all_gather\n"
                    "rank 1: failed\nTypeError",
                ),
                "t2": Result(
                    HUNG,
                    "rank 0: not run\nrank 1: hung\nstill running after 9 s; it was at\nin x",
                ),
            },
            faults=(),
        ),
        broken="t2",
    )


def test_a_rank_that_dies():
    ranks = [
        rank(NOT_RUN, NOT_RUN, running="t0", ended=False, stack="in barrier"),
        rank(NOT_RUN, NOT_RUN, running="t0", ended=False),
    ]
    assert combine(ranks, Ending("rank 1 ended with exit status 3"), "log") == JobResult(
        RunResult(
            {
                "t0": Result(
                    DIED,
                    "rank 0: died\nrank 1 ended with exit status 3; it was at\nin barrier\n"
                    "rank 1: died\nrank 1 ended with exit status 3; it left no stack",
                ),
                "t1": Result(NOT_RUN),
            },
            faults=(),
        ),
        broken="t0",
    )


def test_a_job_that_breaks_off_before_the_tests():
    ranks = [rank(ended=False), rank(ended=False)]
    assert combine(ranks, Ending("the process ended with exit status 1"), "no torch") == JobResult(
        RunResult(
            {},
            faults=(
                (
                    "the run did not come to its end: the process ended with exit status 1\n"
                    "it left no stack\nno torch"
                ),
            ),
        ),
        broken=None,
    )


@pytest.mark.parametrize(
    ("second", "faults"),
    [("no megatron", ("no megatron",)), ("other", ("rank 0: no megatron", "rank 1: other"))],
)
def test_faults(second, faults):
    ranks = [rank(faults=("no megatron",)), rank(faults=(second,))]
    assert combine(ranks, DONE, "").run.faults == faults
