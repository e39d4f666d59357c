import json

from proof.results import Outcome, Records, Result, read_records

ENDED = {"record": "ended"}


def read(*records, cut=""):
    return read_records("".join(json.dumps(record) + "\n" for record in records) + cut)


def collected(*tests):
    return [{"record": "collected", "test": test} for test in tests]


def started(test):
    return {"record": "started", "test": test}


def finished(test, outcome, detail=""):
    return {"record": "finished", "test": test, "outcome": outcome, "detail": detail}


def test_a_whole_run():
    records = read(
        *collected("a", "b"),
        started("a"),
        finished("a", "failed", "why"),
        started("b"),
        finished("b", "passed"),
        ENDED,
    )
    assert records == Records(
        {"a": Result(Outcome.FAILED, "why"), "b": Result(Outcome.PASSED)},
        faults=(),
        running=None,
        ended=True,
    )


def test_a_run_that_is_cut_short():
    records = read(
        *collected("a", "b", "c"), started("a"), finished("a", "passed"), started("b"), cut='{"rec'
    )
    assert records == Records(
        {
            "a": Result(Outcome.PASSED),
            "b": Result(Outcome.NOT_RUN),
            "c": Result(Outcome.NOT_RUN),
        },
        faults=(),
        running="b",
        ended=False,
    )


def test_a_fault():
    fault = {"record": "fault", "detail": "no megatron"}
    assert read(fault, ENDED) == Records({}, ("no megatron",), running=None, ended=True)


def test_no_records():
    assert read() == Records({}, faults=(), running=None, ended=False)
