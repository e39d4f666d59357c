"""What one run of the tests answered, and the records it is read from.

A run writes its records as it goes, a JSON object a line, so that a run that is ended in its middle
still tells what came before. ``inside.py`` writes them:

* ``{"record": "collected", "test": ...}`` for every test, before the first runs
* ``{"record": "started", "test": ...}``
* ``{"record": "finished", "test": ..., "outcome": ..., "detail": ...}``
* ``{"record": "fault", "detail": ...}`` for what goes wrong outside a test: a file that cannot be
  imported, `megatron` from another tree
* ``{"record": "ended", "exit": ...}``
"""

import json
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"  # an assertion or another exception of the test itself
    ERROR = "error"  # its set-up or tear-down failed
    SKIPPED = "skipped"
    HUNG = "hung"  # it was ended when its time was up
    NOT_RUN = "not run"  # the run ended before it


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of one test.

    Attributes:
        outcome: How it ended.
        detail: Traceback or reason; empty where it passed.
    """

    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The answers of one run.

    Attributes:
        tests: The results by test id, in the order of the run.
        faults: What went wrong outside the tests. A run with a fault proves nothing.
    """

    tests: dict[str, Result]
    faults: tuple[str, ...]


def read_records(text: str, ending: str) -> RunResult:
    """The answers that a run's records state.

    Args:
        text: The records. The last line may be cut off.
        ending: How the process ended, for the message about a run that was cut short.

    Returns:
        A result for every collected test. A test that had started and not finished hung; those
        after it did not run.
    """
    tests: dict[str, Result] = {}
    faults: list[str] = []
    running = None
    ended = False
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            break
        match entry["record"]:
            case "collected":
                tests[entry["test"]] = Result(Outcome.NOT_RUN)
            case "started":
                running = entry["test"]
            case "finished":
                tests[entry["test"]] = Result(Outcome(entry["outcome"]), entry["detail"])
                running = None
            case "fault":
                faults.append(entry["detail"])
            case "ended":
                ended = True
    if running is not None:
        tests[running] = Result(Outcome.HUNG, f"The run ended within this test: {ending}")
    if not ended:
        faults.append(f"the run did not come to its end: {ending}")
    return RunResult(tests, tuple(faults))
