import json

from proof.results import Outcome, Result, RunResult, read_records

ENDED = {"record": "ended", "exit": 1}


def read(*records, cut=""):
    text = "".join(json.dumps(record) + "\n" for record in records) + cut
    return read_records(text, "exit status 1")


def collected(*tests):
    return [{"record": "collected", "test": test} for test in tests]


def started(test):
    return {"record": "started", "test": test}


def finished(test, outcome, detail=""):
    return {"record": "finished", "test": test, "outcome": outcome, "detail": detail}


def test_a_whole_run():
    run = read(
        *collected("a", "b"),
        started("a"),
        finished("a", "failed", "why"),
        started("b"),
        finished("b", "passed"),
        ENDED,
    )
    assert run == RunResult(
        {"a": Result(Outcome.FAILED, "why"), "b": Result(Outcome.PASSED)}, faults=()
    )


def test_a_run_that_is_cut_short_names_the_test_that_hung():
    run = read(
        *collected("a", "b", "c"), started("a"), finished("a", "passed"), started("b"), cut='{"rec'
    )
    assert run == RunResult(
        {
            "a": Result(Outcome.PASSED),
            "b": Result(Outcome.HUNG, "The run ended within this test: exit status 1"),
            "c": Result(Outcome.NOT_RUN),
        },
        faults=("the run did not come to its end: exit status 1",),
    )


def test_a_fault():
    run = read({"record": "fault", "detail": "no megatron"}, ENDED)
    assert run == RunResult({}, faults=("no megatron",))


def test_no_records():
    assert read() == RunResult({}, faults=("the run did not come to its end: exit status 1",))
