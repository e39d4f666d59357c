"""Runs the tools as people do: each run a process of its own, with this environment."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """How a run of a tool ended."""

    code: int
    out: str
    err: str


def run(tool: str, *arguments: str, folder: Path) -> Ran:
    """Run a tool, or a test's script, in a folder; a code below 0 is the signal that ended it."""
    starter = _starter()
    with tempfile.TemporaryDirectory() as written:
        out, err = Path(written, "out"), Path(written, "err")
        request = {
            "tool": tool,
            "arguments": arguments,
            "folder": str(folder),
            "out": str(out),
            "err": str(err),
            "environment": dict(os.environ),
        }
        starter.stdin.write(json.dumps(request) + "\n")
        starter.stdin.flush()
        code = int(starter.stdout.readline())
        return Ran(code, out.read_text(), err.read_text())


@cache
def _starter() -> subprocess.Popen[str]:
    starter = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("starter.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(_end, starter)
    return starter


def _end(starter: subprocess.Popen[str]) -> None:
    starter.stdin.close()
    starter.wait()
    starter.stdout.close()
