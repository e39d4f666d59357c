"""Runs pytest in one tree; started by ``launch.py`` as a script, in a process of its own.

Needs the standard library and pytest alone, so that it also runs where the tools are not installed.
The test files are those of this repository; `megatron` is the tree's. This repository's own
`megatron` folder holds edits and must not be found.
"""

import argparse
import faulthandler
import importlib.util
import json
import os
import signal
import sys
import types
from collections.abc import Generator, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

import pytest


class Recorder:
    """A pytest plugin that writes down what every test answers, and ends those that hang.

    Args:
        records: Where the records go, a JSON object a line.
        seconds_per_test: Time a test has, in seconds.
    """

    def __init__(self, records: IO[str], seconds_per_test: float) -> None:
        self._records = records
        self._seconds = seconds_per_test
        self._outcome = "passed"
        self._detail = ""
        self._log = os.dup(2)  # pytest puts what a test writes to 2 aside
        signal.signal(signal.SIGALRM, self._time_is_up)

    def write(self, record: str, **fields: str | int) -> None:
        """Writes one record at once, so that it outlives the process."""
        self._records.write(json.dumps({"record": record, **fields}) + "\n")
        self._records.flush()

    def _time_is_up(self, _signal: int, _frame: FrameType | None) -> None:
        self._outcome = "hung"
        pytest.fail(f"still running after {self._seconds:g} s")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported is a fault of the run, not a failure of its tests."""
        if report.failed:
            self.write("fault", detail=f"{report.nodeid}: not collected\n{report.longreprtext}")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Writes which tests there are."""
        for item in session.items:
            self.write("collected", test=item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Gives the test its time."""
        self._outcome, self._detail = "passed", ""
        self.write("started", test=item.nodeid)
        # What waits within C++ cannot be interrupted: after twice the time the process ends.
        faulthandler.dump_traceback_later(2 * self._seconds, exit=True, file=self._log)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
            self.write("finished", test=item.nodeid, outcome=self._outcome, detail=self._detail)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes the worst of set-up, call and tear-down."""
        if report.passed or self._outcome in ("failed", "error"):
            return
        if self._outcome != "hung":
            self._outcome = _outcome(report)
        self._detail = _detail(report)


def _outcome(report: pytest.TestReport) -> str:
    if report.skipped:
        return "skipped"
    return "failed" if report.when == "call" else "error"


def _detail(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):  # a skip: path, line, reason
        return str(report.longrepr[2])
    return report.longreprtext


def strays(tree: Path) -> list[str]:
    """Imported modules of `megatron` that are not the tree's, each with its file."""
    files = {
        name: Path(file).resolve()
        for name, module in list(sys.modules.items())
        if name.split(".")[0] == "megatron" and (file := getattr(module, "__file__", None))
    }
    return [f"{name} ({file})" for name, file in files.items() if not file.is_relative_to(tree)]


def place_tests(root: Path) -> None:
    """Makes `tests.unit_tests` this repository's, whatever package of that name the tree holds."""
    for name in ("tests", "tests.unit_tests"):
        module = types.ModuleType(name)
        module.__path__ = [str(root.joinpath(*name.split(".")))]
        sys.modules[name] = module


def check_origin(tree: Path) -> str | None:
    """What is wrong with the place `megatron.core` would be imported from, None if nothing."""
    spec = importlib.util.find_spec("megatron.core")
    if spec is None or spec.origin is None:
        return f"{tree}: no megatron.core there"
    if not Path(spec.origin).resolve().is_relative_to(tree):
        return f"megatron.core is {spec.origin}, which is not in {tree}"
    return None


def main(arguments: Sequence[str]) -> int:
    """Runs the tests and writes the records; returns pytest's exit code, 70 if it did not start."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--seconds-per-test", type=float, required=True)
    parser.add_argument("pytest_arguments", nargs="+")
    options = parser.parse_args(arguments)
    tree = options.tree.resolve()
    with options.records.open("w", encoding="utf-8") as records:
        recorder = Recorder(records, options.seconds_per_test)
        problem = check_origin(tree)
        if problem:
            recorder.write("fault", detail=problem)
            recorder.write("ended", exit=70)
            return 70
        place_tests(options.root.resolve())
        code = int(pytest.main(options.pytest_arguments, plugins=[recorder]))
        if found := strays(tree):
            recorder.write("fault", detail=f"not from {tree}: {', '.join(found)}")
        recorder.write("ended", exit=code)
        return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
