"""Who decides on colour: --color, then NO_COLOR, FORCE_COLOR, and what is written to."""

import os
import pty
import subprocess
import sys

import pytest

from stack.console import wants_color

TOOL = """\
import click
from rich.text import Text
from stack.command_line import Tool
from stack.console import people, run

@click.group(cls=Tool)
def tool(): pass

@tool.command()
def say(): people.print(Text("word", style="bold red"))

run(tool, prog_name="tool")
"""
COLORED = "\x1b[1;31mword\x1b[0m\n"
PLAIN = "word\n"


@pytest.mark.parametrize(
    ("when", "environment", "is_terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"FORCE_COLOR": ""}, False, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_what_decides(when, environment, is_terminal, expected):
    assert wants_color(when, environment, is_terminal=is_terminal) is expected


def ran(*arguments, **variables):
    kept = {n: v for n, v in os.environ.items() if n not in {"NO_COLOR", "FORCE_COLOR", "TERM"}}
    return subprocess.run(
        [sys.executable, "-c", TOOL, *arguments],
        check=False, capture_output=True, text=True, env=kept | variables,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "variables", "err"),
    [
        (("say",), {}, PLAIN),
        (("say",), {"FORCE_COLOR": "1"}, COLORED),
        (("--color=always", "say"), {"NO_COLOR": "1"}, COLORED),
        (("say", "--color", "always"), {}, COLORED),
        (("say", "--color=never"), {"FORCE_COLOR": "1"}, PLAIN),
        (("--color=never", "say"), {"FORCE_COLOR": "1"}, PLAIN),
    ],
)
def test_the_option_stands_before_and_after_the_command(arguments, variables, err):
    done = ran(*arguments, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", err)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"TERM": "xterm"}, COLORED),
        ({"TERM": "xterm", "NO_COLOR": "1"}, PLAIN),
        ({"TERM": "dumb"}, PLAIN),
    ],
)
def test_on_a_terminal(variables, expected):
    kept = {n: v for n, v in os.environ.items() if n not in {"NO_COLOR", "FORCE_COLOR"}}
    reader, writer = pty.openpty()
    subprocess.run(
        [sys.executable, "-c", TOOL, "say"], check=True, stderr=writer, env=kept | variables
    )
    assert os.read(reader, 1000).decode() == expected.replace("\n", "\r\n")
    os.close(reader)
    os.close(writer)


def test_a_third_word_is_refused():
    done = ran("--color=red", "say")
    assert done.returncode == 2
    assert "'red' is not one of 'auto', 'always', 'never'" in done.stderr
