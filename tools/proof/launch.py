"""Starts pytest on the tests of this repository in another tree, and waits for it."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proof.results import RunResult, read_records
from proof.upstream_warnings import IGNORED

INSIDE = Path(__file__).with_name("inside.py")


@dataclass(frozen=True, slots=True)
class Limits:
    """Times after which a run is ended.

    Attributes:
        test_s: Time one test has, in seconds.
        run_s: Time the whole run has, in seconds.
    """

    test_s: float = 60
    run_s: float = 900


def run_tests(root: Path, tree: Path, tests: Sequence[Path], limits: Limits) -> RunResult:
    """Runs tests in one process, with `megatron` from a tree.

    Args:
        root: The root of this repository; test ids are relative to it.
        tree: The folder that holds `megatron`.
        tests: Test files or folders.
        limits: When to end what hangs.

    Returns:
        The answers.
    """
    with tempfile.TemporaryDirectory(prefix="proof-") as folder:
        records = Path(folder, "records.jsonl")
        log = Path(folder, "log.txt")
        command = _command(root, tree, records, tests, limits)
        ending = _run(command, tree, log, limits.run_s)
        text = records.read_text(encoding="utf-8") if records.exists() else ""
        return read_records(text, f"{ending}\n{_excerpt(log)}".rstrip())


def _command(
    root: Path, tree: Path, records: Path, tests: Sequence[Path], limits: Limits
) -> list[str]:
    pytest_arguments = [
        # This repository's own settings are for the tests of the tools.
        f"--config-file={os.devnull}",
        f"--rootdir={root}",
        "--import-mode=importlib",
        "--strict-markers",
        "-pno:cacheprovider",
        "-pno:faulthandler",
        "-Werror",
        *(f"-Wignore:{message}:{category}" for message, category, _ in IGNORED),
        *(str(path.resolve()) for path in tests),
    ]
    return [
        sys.executable,
        "-P",  # the folder of inside.py must not be on the path
        str(INSIDE),
        f"--root={root}",
        f"--tree={tree}",
        f"--records={records}",
        f"--seconds-per-test={limits.test_s}",
        "--",
        *pytest_arguments,
    ]


def environment(tree: Path) -> dict[str, str]:
    """The environment of a run in one process: this one's, with the tree as the only added path."""
    dropped = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "PYTEST_ADDOPTS")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return kept | {
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "1",  # the trees stay as they are
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def _run(command: Sequence[str], tree: Path, log: Path, limit_s: float) -> str:
    """Runs a command to its end or its limit; returns how it ended."""
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            cwd=tree,
            env=environment(tree),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            return f"exit status {process.wait(limit_s)}"
        except subprocess.TimeoutExpired:
            return f"ended after {limit_s:g} s"
        finally:
            if process.poll() is None:
                # The session is the process's own, so that what it started ends with it.
                os.killpg(process.pid, signal.SIGKILL)


def _excerpt(log: Path, lines: int = 30) -> str:
    """The end of the log, or the start of the traceback that faulthandler left, innermost first."""
    written = log.read_text(encoding="utf-8", errors="replace").splitlines()
    timeouts = [n for n, line in enumerate(written) if "Timeout (" in line]
    start = timeouts[-1] if timeouts else max(len(written) - lines, 0)
    return "\n".join(written[start : start + lines])
