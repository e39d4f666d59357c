"""Starts the processes of a job, watches their records grow, and ends what hangs."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proof.combine import Ending, JobResult, Rank, combine
from proof.results import has_ended, read_records

_POLL_S = 0.1
_GRACE_S = 10  # for the ranks to write their stacks, and for torchrun to see them end
_LINES = 30
_NO_PYTHON = re.compile(r"^.+\n  <no Python frame>\n+", re.MULTILINE)
_CALLERS = re.compile(r"[/\\](_pytest|pluggy)[/\\]|[/\\]proof[/\\]inside\.py")


@dataclass(frozen=True, slots=True)
class Limits:
    """Times after which a run is ended.

    Attributes:
        test_s: Time a rank has for one test, in seconds. More than a collective of the
            tests waits before it gives up by itself and says why.
        exit_s: Time the ranks have to end after their last test, in seconds.
        run_s: Time the whole run has, with all that comes before the first test, in seconds.
    """

    test_s: float = 150
    exit_s: float = 60
    run_s: float = 900


@dataclass(frozen=True, slots=True)
class Job:
    """What to start.

    Attributes:
        command: The command.
        environment: Its environment.
        folder: Where it runs.
        records: The folder in which each rank leaves its records and its stack.
        ranks: How many ranks there are.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    records: Path
    ranks: int


def run_job(job: Job, limits: Limits, start: float) -> JobResult:
    """Runs a job to its end, or ends it when its time is up.

    Args:
        job: The job.
        limits: The times that it has.
        start: When its run started, by the monotonic clock, in seconds.

    Returns:
        The answers.
    """
    log = job.records / "log.txt"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            job.command,
            cwd=job.folder,
            env=job.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            ending = _watch(process, job, limits, start)
        finally:
            _end(process)
    printed = log.read_text(encoding="utf-8", errors="replace")
    ranks = [
        Rank(read_records(_text(job.records / f"{rank}.jsonl")), _stack(job.records, rank))
        for rank in range(job.ranks)
    ]
    excerpt = "\n".join(printed.splitlines()[-_LINES:])
    return combine(ranks, ending or Ending(_death(process.returncode, printed)), excerpt)


def _watch(
    process: subprocess.Popen[bytes], job: Job, limits: Limits, start: float
) -> Ending | None:
    """Waits for the end; returns why the job has to be ended, None if it ended by itself."""
    paths = [job.records / f"{rank}.jsonl" for rank in range(job.ranks)]
    written = dict.fromkeys(paths, "")
    changed = dict.fromkeys(paths, time.monotonic())
    while True:
        try:
            process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            pass
        else:
            return None
        now = time.monotonic()
        for path in paths:
            text = _text(path)
            if text != written[path]:
                written[path], changed[path] = text, now
        # What comes before the first record, and a rank that waits for others to end, has run_s.
        busy = [changed[path] for path, text in written.items() if text and not has_ended(text)]
        if now - min(busy, default=now) > limits.test_s:
            return Ending(f"still running after {limits.test_s:g} s", hung=True)
        done = all(has_ended(text) for text in written.values())
        if done and now - max(changed.values()) > limits.exit_s:
            return Ending(f"still there {limits.exit_s:g} s after the last test", hung=True)
        if now - start > limits.run_s:
            return Ending(f"the run was ended after {limits.run_s:g} s", hung=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a job that has not ended: at first so that every rank can say where it is."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        # The session is the process's own; ranks of torchrun end with it, as inside.py asked for.
        os.killpg(process.pid, signal.SIGKILL)


def _death(code: int, log: str) -> str:
    """How a job ended that was not ended here. torchrun names the rank that died first."""
    if found := re.search(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+)", log):
        return f"rank {found[2]} ended with exit status {found[1]}"
    return f"the process ended with exit status {code}"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _stack(records: Path, rank: int) -> str:
    """The stacks of a rank, without threads of C++ and without the calls that lead to the test."""
    text = _NO_PYTHON.sub("", _text(records / f"{rank}.stack"))
    return "\n".join([line for line in text.splitlines() if not _CALLERS.search(line)][:_LINES])
