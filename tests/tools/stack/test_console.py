"""Every way a command can end: what it says, where, and with which exit code."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = """\
import sys
import click
from stack.console import people, print_json, run
from stack.errors import ExitCode, Refusal

@click.group()
def tool(): pass

@tool.command()
@click.argument("code")
def end(code): return eval(code)

@tool.command()
@click.argument("code")
def fail(code): exec(code)

run(tool, prog_name="tool")
"""

USAGE = "Usage: tool fail [OPTIONS] CODE\nTry 'tool fail --help' for help.\n\nError: "
HELP = """\
Usage: tool [OPTIONS] COMMAND [ARGS]...

Options:
  --help  Show this message and exit.

Commands:
  end
  fail
"""
INTERRUPTED = "interrupted; nothing was changed by the step that was running\n"
WIDE = "a/" * 80


def ran(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-c", TOOL, *arguments],
        check=False, capture_output=True, text=True, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "err"),
    [
        (("end", "None"), 0, ""),
        (("end", "7"), 0, ""),
        (("end", "ExitCode.FOUND"), 4, ""),
        (("fail", "raise Refusal('a [b] c')"), 1, "error: a [b] c\n"),
        (("fail", "raise Refusal('no', ExitCode.BUSY)"), 5, "error: no\n"),
        (("fail", f"raise Refusal('{WIDE}')"), 1, f"error: {WIDE}\n"),
        (("fail", r"raise Refusal('\udcff \u2192')"), 1, "error: \\udcff →\n"),
        (("fail", "open('no/file')"), 1, "error: no/file: No such file or directory\n"),
        (("fail", "raise OSError('odd')"), 1, "error: odd\n"),
        (("fail", "raise KeyboardInterrupt"), 130, f"\n{INTERRUPTED}"),  # click ends the ^C line
        (("fail", "raise click.Abort"), 130, INTERRUPTED),
        (("fail", "raise click.ClickException('no')"), 1, "Error: no\n"),
        (("fail", "raise click.UsageError('no')"), 2, USAGE + "no\n"),
        (("fail",), 2, USAGE + "Missing argument 'CODE'.\n"),
        ((), 2, HELP),
    ],
)
def test_how_a_command_ends(arguments, code, err):
    done = ran(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", err)


LASTING = """\
import tempfile, time
with tempfile.TemporaryDirectory() as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


def started(command):
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_temporary_folder(number):
    with started([sys.executable, "-c", TOOL, "fail", LASTING]) as process:
        folder = Path(process.stdout.readline().strip())
        assert folder.is_dir()
        process.send_signal(number)
        _, err = process.communicate()
    assert (process.returncode, err) == (130, f"\n{INTERRUPTED}")
    assert not folder.exists()


def test_what_runs_without_a_terminal_goes_on_when_that_ends():
    code = "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
    with started(["nohup", sys.executable, "-c", TOOL, "fail", code]) as process:
        out, _ = process.communicate()
    assert (process.returncode, out) == (0, "True\n")


def test_a_fault_of_the_program_keeps_its_stack():
    done = ran("fail", "raise ValueError('a bug')")
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: a bug\n")


def test_json_is_all_that_stands_on_standard_output():
    data = {"path": "a \udcff →", "is": [1, None, True]}
    done = ran("fail", f"people.print('said'); print_json({data!a})", env=environ(LC_ALL="C"))
    assert (done.returncode, done.stderr) == (0, "said\n")
    assert json.loads(done.stdout) == data
    assert done.stdout.isascii()


@pytest.mark.parametrize("size", [1, 1_000_000])
def test_a_reader_that_has_gone_is_no_fault(size):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stream:
        done = subprocess.run(
            [sys.executable, "-c", TOOL, "fail", f"print_json('x' * {size})"],
            check=False, stdout=stream, stderr=subprocess.PIPE, text=True,
            env=environ(PYTHONUNBUFFERED=""),  # so that a little is written at the end
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")


def test_the_environment_of_a_hook_is_dropped():
    code = "import os; print_json([name for name in os.environ if name.startswith('GIT_DI')])"
    done = ran("fail", code, env=environ(GIT_DIR="/no", GIT_DISCOVERY_ACROSS_FILESYSTEM="1"))
    assert json.loads(done.stdout) == ["GIT_DISCOVERY_ACROSS_FILESYSTEM"]


@pytest.mark.parametrize("tool", ["carry", "merge_series"])
def test_no_git_is_told_in_one_line(tool, tmp_path):
    (tmp_path / "SERIES.md").write_text(
        "# Series\n\n| PR | Branch | Depends on | Title | State |\n|---|---|---|---|---|\n"
        "| #1 | `a` | main | A | open |\n\n## #1 A\n"
    )
    command = ("build", "--repo", ".") if tool == "carry" else ("status",)
    done = subprocess.run(
        [sys.executable, "-m", tool, *command],
        cwd=tmp_path, check=False, capture_output=True, text=True, env=environ(PATH=str(tmp_path)),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        "error: git: not found on the PATH; install git 2.39 or newer\n",
    )


def environ(**more):
    return {**os.environ, **more}
