"""Runs the script of docs/training.md with both trees: the release's own, and that with the series.

Run as a module in the root of the repository: ``python -m proof.demo SCRIPT TREES``. Each run has a
GPU for each of two ranks, or else two ranks on the CPU.

Exit codes: 0 tensors came back wrong with the unmodified tree and none with the fork, 1 a run did
not end as it should, 4 otherwise.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from proof.gpus import count_gpus
from proof.launch import environment
from proof.platforms import Platform
from proof.trees import TREES
from stack.errors import ExitCode, Refusal

RANKS = 2

_ON_CPU = Path("tests/unit_tests/training_without_gpu.py")
_ANSWER = re.compile(r"^rank (\d+): (\d+) of (\d+) tensors came back wrong$", re.MULTILINE)
_LIMIT_S = 300
_LINES = 15


def main(arguments: Sequence[str]) -> NoReturn:
    """Runs the command line."""
    script, trees = map(Path, arguments)
    try:
        code = demonstrate(script, trees)
    except Refusal as refusal:
        sys.stderr.write(f"error: {refusal}\n")
        code = refusal.exit_code
    sys.exit(code)


def demonstrate(script: Path, trees: Path) -> ExitCode:
    """Runs the script with both trees and prints how many tensors came back wrong.

    Args:
        script: The script; it gets a folder for its checkpoint.
        trees: The folder that holds both trees.

    Returns:
        `ExitCode.DONE` if some did with the unmodified tree and none with the fork, else
        `ExitCode.FOUND`.

    Raises:
        Refusal: A run did not come to the end.
    """
    gpus = RANKS if count_gpus() >= RANKS else 0
    platform = Platform("demo", RANKS, torchrun=True, gpus=gpus)
    wrong = {}
    for name in TREES:
        wrong[name], count = _run(script, trees / name, platform)
        sys.stdout.write(f"{name}: {wrong[name]} of {count} tensors came back wrong\n")
        sys.stdout.flush()
    unmodified, fork = (wrong[name] for name in TREES)
    return ExitCode.DONE if unmodified and not fork else ExitCode.FOUND


def _run(script: Path, tree: Path, platform: Platform) -> tuple[int, int]:
    """How many tensors came back wrong on all ranks, and how many there are."""
    command = [
        *(sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--standalone"),
        *(f"--nproc-per-node={platform.ranks}", "--max-restarts=0"),
        *(() if platform.gpus else (str(_ON_CPU),)),
        str(script),
    ]
    with tempfile.TemporaryDirectory(prefix="demo-") as checkpoint:
        try:
            done = subprocess.run(
                [*command, checkpoint],
                env=environment(tree, platform) | {"PYTHONWARNINGS": "ignore"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as expired:
            raise Refusal(f"{tree}: {script} did not end within {_LIMIT_S} s") from expired
    answers = _ANSWER.findall(done.stdout)
    wrong, count = (sum(int(answer[place]) for answer in answers) for place in (1, 2))
    # A rank fails where tensors came back wrong, and otherwise only where it broke off.
    if len(answers) != platform.ranks or bool(done.returncode) != bool(wrong):
        end = "\n".join(done.stdout.splitlines()[-_LINES:])
        raise Refusal(f"{tree}: {script} ended with exit status {done.returncode}\n{end}")
    return wrong, count


if __name__ == "__main__":
    main(sys.argv[1:])
