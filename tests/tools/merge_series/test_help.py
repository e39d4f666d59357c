"""What the tools say of themselves: help, examples that can be typed, versions."""

import os
import re
import shlex
import subprocess
import sys

import click
import pytest

from carry.cli import carry
from documents import DOCUMENTS, ROOT, typed_lines
from merge_series.cli import merge_series
from stack import VERSION
from stack.command_line import examples_of

TOOLS = {"carry": carry, "merge_series": merge_series}
COMMANDS = [
    (name, command)
    for name, tool in TOOLS.items()
    for command in (tool, *tool.all_commands().values())
]


def calls(line):
    """The calls of the tools in a line of shell, each as its words, without redirections."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split, words.commenters = True, ""
    found = [[]]
    for word in words:
        if set(word) <= set("|&;"):
            found.append([])
        elif set(word) <= set("<>&"):
            found[-1] = found[-1][: -1 if found[-1][-1] == "2" else None]
            found.append(["a file"])
        else:
            found[-1].append(word)
    return [call for call in found if call and call[0] in TOOLS]


def parse(call):
    """Parse a call as click does before it runs it; nothing is run, see below."""
    TOOLS[call[0]].main(call[1:], prog_name=call[0], standalone_mode=False)


@pytest.fixture(autouse=True)
def _nothing_runs(tmp_path, monkeypatch):
    for _, command in COMMANDS:
        monkeypatch.setattr(command, "callback", None)
    (tmp_path / "links.txt").write_text("")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("tool", "command"), COMMANDS, ids=lambda value: getattr(value, "name", value)
)
def test_every_command_has_examples_that_can_be_typed(tool, command):
    examples = examples_of(command)
    assert examples
    for example in examples:
        typed = calls(example)
        assert typed, example
        for call in typed:
            parse(call)
            assert command is TOOLS[tool] or command.name in call
    assert re.search(
        r"^Exit codes: 0 done, 1 failed, 2 usage, .*130 interrupted\.$",
        command.epilog,
        re.MULTILINE,
    )


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_commands_of_the_documents_can_be_typed(document):
    typed = [call for line in typed_lines((ROOT / document).read_text()) for call in calls(line)]
    assert typed or document != "README.md"
    for call in typed:
        parse(call)


def test_an_example_that_cannot_be_typed_is_found():
    for wrong in ("merge_series stauts", "merge_series show", "carry check --josn 0.19.2"):
        with pytest.raises(click.UsageError):
            parse(*calls(wrong))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("merge_series shwo 8045", "No such command 'shwo'. Did you mean 'show'?"),
        ("merge_series stat", "No such command 'stat'. Did you mean 'status' or 'stack'?"),
        ("merge_series xyz", "No such command 'xyz'."),
        ("carry aply .", "No such command 'aply'. Did you mean 'apply'?"),
    ],
)
def test_a_misspelt_command_is_told_the_nearest(wrong, message):
    # In a process of its own, since commands are imported when they are needed.
    done = subprocess.run(
        [sys.executable, "-m", *wrong.split()], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"Error: {message}")


def test_help_fits_80_columns_and_cuts_nothing(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for tool, command in COMMANDS:
        words = [tool] if command is TOOLS[tool] else [tool, command.name]
        context = command.make_context(" ".join(words), [], resilient_parsing=True)
        lines = command.get_help(context).splitlines()
        assert [
            line for line in lines if "..." in line and "Usage:" not in line and "PR..." not in line
        ] == []
        typed = set(examples_of(command))
        assert [x for x in lines if len(x) > 80 and x.strip() not in typed] == []


@pytest.mark.parametrize("tool", TOOLS)
def test_the_version_names_git(tool, tmp_path):
    def ran(**variables):
        done = subprocess.run(
            [sys.executable, "-m", tool, "--version"],
            check=True, capture_output=True, text=True, env=os.environ | variables,
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout

    git = subprocess.run(["git", "version"], check=True, capture_output=True, text=True).stdout
    assert ran() == f"{tool} {VERSION}, git {git.removeprefix('git version ')}"
    assert ran(PATH=str(tmp_path)) == f"{tool} {VERSION}, no git that runs\n"
