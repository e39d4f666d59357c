"""Runs the tests of the change in another tree, on one platform."""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from proof.job import Job, Limits, run_job
from proof.platforms import Platform
from proof.results import Result, RunResult
from proof.upstream_warnings import IGNORED

INSIDE = Path(__file__).with_name("inside.py")

# A run must not take itself for a rank of the job, or for a part of the pytest, it is started in.
_DROPPED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "PYTEST_ADDOPTS")


def run_tests(
    root: Path, tree: Path, tests: Sequence[Path], platform: Platform, limits: Limits
) -> RunResult:
    """Runs tests with `megatron` from a tree.

    A job that breaks off within a test, because it hangs or a rank dies, leaves out the rest of
    that file. The files after it run in a job of their own.

    Args:
        root: The folder that holds the folder ``tests``; test ids are relative to it.
        tree: The folder that holds `megatron`.
        tests: Test files or folders.
        platform: Where to run them.
        limits: When to end what hangs.

    Returns:
        The answers.
    """
    start = time.monotonic()
    results: dict[str, Result] = {}
    faults: list[str] = []
    paths = [path.resolve() for path in tests]
    while paths and time.monotonic() - start < limits.run_s:
        with tempfile.TemporaryDirectory(prefix="proof-") as folder:
            job = Job(
                _command(root, tree, Path(folder), paths, platform),
                environment(tree, platform),
                tree,
                Path(folder),
                platform.ranks,
            )
            answer = run_job(job, limits, start)
        results |= answer.run.tests
        faults += answer.run.faults
        paths = _files_after(root, list(answer.run.tests), answer.broken)
    return RunResult(results, tuple(faults))


def _files_after(root: Path, tests: Sequence[str], broken: str | None) -> list[Path]:
    """The files after the one that a job broke off in."""
    if broken is None:
        return []
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    return [root / file for file in files[files.index(broken.partition("::")[0]) + 1 :]]


def _command(
    root: Path, tree: Path, records: Path, tests: Sequence[Path], platform: Platform
) -> list[str]:
    # Ranks find each other through a port that the first one gets from the system.
    torchrun = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={platform.ranks}",
        "--max-restarts=0",
    ]
    return [
        sys.executable,
        *(torchrun if platform.torchrun else ()),
        str(INSIDE),
        f"--root={root}",
        f"--tree={tree}",
        f"--records={records}",
        "--",
        # This repository's own settings are for the tests of the tools.
        f"--config-file={os.devnull}",
        f"--rootdir={root}",
        "--import-mode=importlib",
        "--strict-markers",
        "-pno:cacheprovider",
        "-pno:faulthandler",
        *(() if platform.gpus else _warnings()),
        *map(str, tests),
    ]


def _warnings() -> list[str]:
    """Makes warnings errors: on CPUs, where the versions of all packages are known."""
    return ["-Werror", *(f"-Wignore:{message}:{category}" for message, category, _ in IGNORED)]


def environment(tree: Path, platform: Platform) -> dict[str, str]:
    """The environment of a run: this one's, with the tree as the only added path."""
    changed = {
        "PYTHONPATH": str(tree),
        "PYTHONSAFEPATH": "1",  # the folder of inside.py must not be on the path
        "PYTHONDONTWRITEBYTECODE": "1",  # the trees stay as they are
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    if not platform.gpus:
        changed["CUDA_VISIBLE_DEVICES"] = ""
    elif platform.gpus < platform.ranks:  # they share the first of the visible ones
        changed["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    if platform.torchrun:
        changed["OMP_NUM_THREADS"] = "1"  # the ranks share the cores
    return {name: value for name, value in os.environ.items() if name not in _DROPPED} | changed
