"""The examples in the help can be typed."""

import platform
import shlex

import pytest

import stack
from process_groups.cli import make_parser, run

COMMANDS = ("list", "check", "refresh", "accessors")


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_every_command_has_examples_that_can_be_typed(command, capsys):
    with pytest.raises(SystemExit) as ended:
        run([command, "--help"] if command else ["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    lines = text.partition("\nexamples:\n")[2].partition("\n\n")[0].splitlines()
    assert lines
    for line in lines:
        words = shlex.split(line.removeprefix("  ").partition(" > ")[0])
        tool = words.index("process_groups" if "python" not in words else "tools/process_groups")
        options = make_parser().parse_args(words[tool + 1 :])
        assert command in {None, options.command}


def test_the_help_lists_every_exit_code(capsys):
    with pytest.raises(SystemExit):
        run(["--help"])
    assert capsys.readouterr().out.endswith(
        "exit status: 0 done, 1 failed, 2 wrong usage, 4 the check found something, "
        "130 interrupted\n"
    )


def test_the_version_is_that_of_all_the_tools(capsys):
    with pytest.raises(SystemExit) as ended:
        run(["--version"])
    assert ended.value.code == 0
    written = capsys.readouterr()
    version = f"process_groups {stack.VERSION}, Python {platform.python_version()}\n"
    assert (written.out, written.err) == (version, "")
