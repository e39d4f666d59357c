"""Runs pip, with the user's settings for it, so that nothing of it goes on or is left behind."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path


def run_pip(
    *arguments: str, scratch: Path | None = None, python: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command of pip, and wait for its end.

    Args:
        *arguments: The command and its arguments.
        scratch: Where temporary files go.
        python: The interpreter it is to work for, if not this one.
    """
    own = [] if python is None else ["--python", str(python)]
    command = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check"]
    environment = os.environ | ({} if scratch is None else {"TMPDIR": str(scratch)})
    with subprocess.Popen(
        [*command, *own, *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace", env=environment,
        # For another interpreter pip starts itself a second time, which is to be ended as well.
        start_new_session=python is not None,
    ) as process:  # fmt: skip
        try:
            stdout, stderr = process.communicate()
        except BaseException:
            with suppress(ProcessLookupError):
                if python is None:
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
