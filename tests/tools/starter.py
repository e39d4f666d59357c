"""Starts the tools quickly: a process that has imported them and what they build on, and forks.

Run by ``programs.py``. Each line of its input asks for one run, each line of its output is the exit
code of one. In which order modules are imported makes no difference: ``test_rooms.py`` shows it.
"""

import importlib
import json
import os
import pkgutil
import runpy
import sys

import git  # noqa: F401 - imported late by the tools, and here so that no run has to
import isort  # noqa: F401
import jsonschema  # noqa: F401

for tool in ("stack", "carry", "process_groups", "merge_series"):
    for module in pkgutil.walk_packages(importlib.import_module(tool).__path__, f"{tool}."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)


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
