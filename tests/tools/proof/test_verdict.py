import pytest

from proof.results import Outcome, Result, RunResult
from proof.verdict import compare

PASSED, SKIPPED, FAILED, NOT_RUN, ERROR, DIED, HUNG = Outcome


def run(*outcomes, faults=()):
    return RunResult({f"t{n}": Result(o) for n, o in enumerate(outcomes)}, faults)


def problem(before, after, *, control):
    verdict = compare(run(before), run(after), {"t0"} if control else ())
    return verdict.rows[0].problem


@pytest.mark.parametrize("after", Outcome)
@pytest.mark.parametrize("before", Outcome)
def test_a_test_of_the_change(before, after):
    if before is after is SKIPPED:
        expected = ""
    elif after is not PASSED:
        expected = f"must pass on the fork: {after}"
    elif before not in (FAILED, DIED, HUNG):
        expected = f"must fail on the unmodified tree: {before}"
    else:
        expected = ""
    assert problem(before, after, control=False) == expected


@pytest.mark.parametrize("after", Outcome)
@pytest.mark.parametrize("before", Outcome)
def test_a_control(before, after):
    if before is after is SKIPPED:
        expected = ""
    elif after is not PASSED:
        expected = f"must pass on the fork: {after}"
    elif before is not PASSED:
        expected = f"a control, must pass on the unmodified tree: {before}"
    else:
        expected = ""
    assert problem(before, after, control=True) == expected


def test_proven():
    verdict = compare(run(FAILED, PASSED, SKIPPED), run(PASSED, PASSED, SKIPPED), {"t1"})
    assert (verdict.proven, verdict.shown, verdict.problems) == (True, 1, ())


@pytest.mark.parametrize("before", [FAILED, DIED, HUNG])
def test_to_break_off_is_to_fail(before):
    assert compare(run(before), run(PASSED), ()).proven


def test_controls_alone_prove_nothing():
    assert not compare(run(PASSED), run(PASSED), {"t0"}).proven


def test_nothing_proves_nothing():
    assert not compare(run(), run(), ()).proven


def test_one_problem_is_too_many():
    assert not compare(run(FAILED, FAILED), run(PASSED, FAILED), ()).proven


@pytest.mark.parametrize("faulty", ["unmodified", "fork"])
def test_a_fault_is_no_proof(faulty):
    runs = {"unmodified": run(FAILED), "fork": run(PASSED)}
    runs[faulty] = run(*(r.outcome for r in runs[faulty].tests.values()), faults=("broken",))
    verdict = compare(**runs, controls=())
    assert (verdict.proven, verdict.faults) == (False, (f"{faulty}: broken",))


def test_a_test_that_one_run_does_not_have():
    verdict = compare(run(FAILED), run(PASSED, PASSED), ())
    assert [row.problem for row in verdict.rows] == [
        "",
        "must fail on the unmodified tree: not run",
    ]
