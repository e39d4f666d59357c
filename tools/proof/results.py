"""What one process answered to the tests, and the records it is read from.

A process writes its records as it goes, a JSON object a line, so that one that is ended in its
middle still tells what came before. ``inside.py`` writes them:

* ``{"record": "collected", "test": ...}`` for every test, before the first runs
* ``{"record": "started", "test": ...}``
* ``{"record": "finished", "test": ..., "outcome": ..., "detail": ...}``
* ``{"record": "fault", "detail": ...}`` for what goes wrong outside a test: a file that cannot be
  imported, `megatron` from another tree
* ``{"record": "ended"}``
"""

import json
from dataclasses import dataclass
from enum import StrEnum

_ENDED = '{"record": "ended"}'


class Outcome(StrEnum):
    """How one test ended; the later, the worse."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"  # an assertion or another exception of the test itself
    NOT_RUN = "not run"  # the run ended before it
    ERROR = "error"  # its set-up or tear-down failed
    DIED = "died"  # a process ended within it
    HUNG = "hung"  # it was ended when its time was up


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


@dataclass(frozen=True, slots=True)
class Records:
    """What one process wrote.

    Attributes:
        tests: A result for every collected test.
        faults: What went wrong outside the tests.
        running: The test that had started and not finished.
        ended: Whether the process came to its end.
    """

    tests: dict[str, Result]
    faults: tuple[str, ...]
    running: str | None
    ended: bool


def read_records(text: str) -> Records:
    """What a process's records state; their last line may be cut off."""
    tests: dict[str, Result] = {}
    faults: list[str] = []
    running = None
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
    return Records(tests, tuple(faults), running, has_ended(text))


def has_ended(text: str) -> bool:
    """Whether records are those of a process that came to its end."""
    return text.rstrip().endswith(_ENDED)
