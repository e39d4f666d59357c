"""Starts the tools quickly: a process that has imported what they build on, and forks.

Run by ``programs.py``. Each line of its input asks for one run, each line of its output is the exit
code of one. What a tool itself consists of is imported by every run, as from the command line.
"""

import json
import os
import runpy
import sys

import click  # noqa: F401 - imported here so that no run has to
import filelock  # noqa: F401
import git  # noqa: F401
import jsonschema  # noqa: F401
import markdown_it  # noqa: F401
import rich.console
import rich.progress
import rich.table
import rich.tree  # noqa: F401
import yaml  # noqa: F401


def become(
    *, tool: str, arguments: list[str], folder: str, out: str, err: str, environment: dict[str, str]
) -> None:
    """Be what ``python -m tool`` is, or ``python tool`` for a script, in this process."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, path in enumerate((os.devnull, out, err)):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        os.dup2(os.open(path, flags, 0o600), number)
    sys.path[:1] = [folder, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    sys.argv = [tool, *arguments]
    if tool.endswith(".py"):
        runpy.run_path(tool, run_name="__main__")
    else:
        runpy.run_module(tool, run_name="__main__", alter_sys=True)


for line in sys.stdin:
    if os.fork() == 0:
        become(**json.loads(line))
        sys.exit()
    sys.stdout.write(f"{os.waitstatus_to_exitcode(os.wait()[1])}\n")
    sys.stdout.flush()
