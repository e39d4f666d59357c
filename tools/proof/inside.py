"""Runs pytest in one tree; started by ``launch.py`` as a script, in every process of a job.

Needs the standard library and pytest alone, so that it also runs where the tools are not installed.
The test files are those below a root, which need not be the tree; `megatron` is the tree's. The
repository's own `megatron` folder holds edits and must not be found.
"""

import argparse
import ctypes
import faulthandler
import importlib.util
import json
import os
import signal
import sys
import types
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO

import pytest

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Recorder:
    """A pytest plugin that writes down what every test answers.

    Args:
        records: Where the records go, a JSON object a line.
    """

    def __init__(self, records: IO[str]) -> None:
        self._records = records
        self._outcome = "passed"
        self._detail = ""
        self.faults = 0

    def write(self, record: str, **fields: str) -> None:
        """Writes one record at once, so that it outlives the process."""
        self._records.write(json.dumps({"record": record, **fields}) + "\n")
        self._records.flush()

    def fault(self, detail: str) -> None:
        """Writes what went wrong outside a test."""
        self.faults += 1
        self.write("fault", detail=detail)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported is a fault of the run, not a failure of its tests."""
        if report.failed:
            self.fault(f"{report.nodeid}: not collected\n{report.longreprtext}")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Writes which tests there are."""
        for item in session.items:
            self.write("collected", test=item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Writes when a test starts and how it ends."""
        self._outcome, self._detail = "passed", ""
        self.write("started", test=item.nodeid)
        result = yield
        self.write("finished", test=item.nodeid, outcome=self._outcome, detail=self._detail)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes the worst of set-up, call and tear-down."""
        if report.passed or self._outcome in ("failed", "error"):
            return
        self._outcome, self._detail = _outcome(report), _detail(report)


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
    """Makes `tests.unit_tests` the root's, whatever package of that name the tree holds."""
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


def leave_a_stack(path: Path) -> None:
    """Has this process write where it is when something ends it, and end with its parent."""
    # Nobody closes it: the process can hang to its very end.
    stacks = os.open(path, os.O_WRONLY | os.O_CREAT)
    faulthandler.enable(stacks)
    # Whoever started this process asks it to end when its time is up, and when another rank died.
    faulthandler.register(signal.SIGTERM, stacks, all_threads=True, chain=True)
    if sys.platform == "linux":
        # What does not end when it is asked to must not outlive torchrun.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def run(root: Path, tree: Path, recorder: Recorder, pytest_arguments: list[str]) -> None:
    """Runs the tests and writes the records."""
    if problem := check_origin(tree):
        recorder.fault(problem)
        return
    place_tests(root)
    code = pytest.main(pytest_arguments, plugins=[recorder])
    if found := strays(tree):
        recorder.fault(f"not from {tree}: {', '.join(found)}")
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and not recorder.faults:
        recorder.fault(f"pytest ended with exit status {int(code)}")


def main(arguments: Sequence[str]) -> None:
    """Runs the tests as this rank of the job.

    A failed test is no failure of the process: torchrun would end the other ranks.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("pytest_arguments", nargs="+")
    options = parser.parse_args(arguments)
    rank = os.environ.get("RANK", "0")
    leave_a_stack(options.records / f"{rank}.stack")
    with (options.records / f"{rank}.jsonl").open("w", encoding="utf-8") as records:
        recorder = Recorder(records)
        run(options.root, options.tree, recorder, options.pytest_arguments)
        recorder.write("ended")


if __name__ == "__main__":
    main(sys.argv[1:])
