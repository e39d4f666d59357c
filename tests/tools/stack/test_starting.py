"""A set-up that is older than the tools: one line says what to run."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[3] / "tools"
WITHOUT = """\
import sys
class Without:
    def find_spec(self, name, *more):
        if name == {0!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Without())
"""


def ran_without(module, *command, folder):
    """Run a command with a Python that has no such module."""
    (folder / "sitecustomize.py").write_text(WITHOUT.format(module))
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder, env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{TOOLS}"},
        check=False, capture_output=True, text=True,
    )  # fmt: skip


def line(module, folder):
    run = shlex.join((sys.executable, "-m", "pip", "install", "-e", str(folder)))
    return f"error: {module}: no such module, and the tools need it by now; run {run}\n"


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("click", ("-m", "merge_series", "status")),
        ("click", (str(TOOLS / "merge_series"), "--help")),
        ("git", ("-c", "from merge_series.__main__ import main; main()")),
        ("yaml", ("-m", "carry", "--version")),
        ("rich", ("-m", "proof", "--help")),
        ("jinja2", ("-m", "merge_series", "site", "--output", "out")),
        ("unidiff", ("-m", "merge_series", "site", "--output", "out")),
    ],
)
def test_a_missing_module(module, command, tmp_path):
    done = ran_without(module, *command, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line(module, TOOLS.parent))


def test_a_missing_module_of_an_installation_that_is_a_copy(tmp_path):
    (tmp_path / "lib/stack").mkdir(parents=True)
    (tmp_path / "lib/stack/__init__.py").touch()
    starting = tmp_path / "lib/stack/starting.py"
    starting.write_bytes((TOOLS / "stack/starting.py").read_bytes())
    script = f"import sys; sys.path[0] = {str(tmp_path / 'lib')!r}\n"
    script += "from stack.starting import start\nstart('no_such_tool')"
    done = ran_without("click", "-c", script, folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, line("no_such_tool", "THE_FOLDER_OF_THE_TOOLS"))


def test_the_installed_programs_start_so():
    setup = (TOOLS.parent / "setup.py").read_text()
    for tool in ("merge_series", "carry"):
        assert f'"{tool} = {tool}.__main__:main"' in setup
