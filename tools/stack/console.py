"""How the tools speak: people's output on stderr, data on stdout, errors in one place."""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal, NoReturn, TextIO

import click
import git
from rich.console import Console
from rich.text import Text

from stack.errors import ExitCode, Refusal
from stack.starting import missing

When = Literal["auto", "always", "never"]


class People:
    """What people read: standard error, in colour where it is wanted.

    Attributes:
        when: Whether to colour, as ``--color`` says it; set before the first line is written.
    """

    def __init__(self) -> None:
        self.when: When = "auto"

    def print(
        self, *objects: object, sep: str = " ", soft_wrap: bool = False, width: int | None = None
    ) -> None:
        """Write texts and tables, wrapped at the terminal's width.

        Args:
            objects: What to write.
            sep: What stands between them.
            soft_wrap: Leave wrapping to the terminal, so that what is copied holds no line break.
            width: Wrap at this column, if the terminal is wider.
        """
        self._console.print(*objects, sep=sep, soft_wrap=soft_wrap, width=width)

    def wants_color(self, stream: TextIO) -> bool:
        """Whether a stream of this run is to be coloured."""
        return wants_color(self.when, os.environ, is_terminal=stream.isatty())

    @cached_property
    def _console(self) -> Console:
        # Where nobody has said how wide a file or a pipe is, 80 columns would fold every path.
        is_known = sys.stderr.isatty() or "COLUMNS" in os.environ
        return Console(
            stderr=True,
            highlight=False,
            markup=False,
            emoji=False,
            width=None if is_known else 132,
            # The decision is made here; rich would only take the colours out and leave bold.
            color_system="standard" if self.wants_color(sys.stderr) else None,
            no_color=False,
        )


def wants_color(when: When, environment: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Whether to colour: as ``--color`` says, else ``NO_COLOR``, ``FORCE_COLOR`` or a terminal.

    An empty variable counts as none, and so does ``FORCE_COLOR=0``, as https://no-color.org and
    Node.js have it.
    """
    if when != "auto":
        return when == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return is_terminal and environment.get("TERM") != "dumb"


people = People()

# A hook of another repository sets these; every git command of ours is about the one it was given.
_LOCAL_TO_ANOTHER_REPOSITORY = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_CONFIG",
    "GIT_QUARANTINE_PATH",
    "GIT_ATTR_SOURCE",
    # These change what a path stands for; every path of ours stands for itself.
    "GIT_GLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    # These change what git answers, or what it says in a reflog.
    "GIT_REPLACE_REF_BASE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_MERGE_VERBOSITY",
    "GIT_REFLOG_ACTION",
)


def print_json(data: object) -> None:
    """Write ``data`` as JSON to stdout: in ASCII, since a path may hold bytes that are no text."""
    sys.stdout.write(json.dumps(data, indent=2) + "\n")
    sys.stdout.flush()  # here a reader that has gone is noticed; at exit it would be too late


def run(command: click.Command, **extra: Any) -> NoReturn:  # noqa: ANN401 - click's own keywords
    """Run a click command and turn every way it can end into a message and an exit code.

    A command's return value, if it is an ``ExitCode``, is the exit code. A signal that asks the
    program to end, or that its terminal has gone, ends it as Ctrl-C does: after it has cleaned up.
    """
    for name in _LOCAL_TO_ANOTHER_REPOSITORY:
        os.environ.pop(name, None)
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Whoever started this with nohup wants it to go on.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    sys.exit(_exit_code(lambda: command.main(standalone_mode=False, **extra)))


def _exit_code(call: Callable[[], object]) -> int:  # noqa: PLR0911 - one return an ending
    try:
        result = call()
    except Refusal as refusal:
        return _say_error(str(refusal), refusal.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    except click.UsageError as error:
        error.show()
        return ExitCode.USAGE
    except click.ClickException as error:
        error.show()
        return ExitCode.FAILED
    except (KeyboardInterrupt, click.Abort):
        people.print("interrupted; nothing was changed by the step that was running")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout (a pager, head) has gone; the interpreter must not write there again.
        sys.stdout = None
        return ExitCode.FAILED
    except ModuleNotFoundError as error:  # of what only some commands import
        return _say_error(missing(error))
    except git.GitCommandNotFound:
        return _say_error("git: not found on the PATH; install git 2.39 or newer")
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        return _say_error(f"{place}{error.strerror or error}")
    return result if isinstance(result, ExitCode) else ExitCode.DONE


def _say_error(message: str, exit_code: ExitCode = ExitCode.FAILED) -> ExitCode:
    people.print(Text("error:", style="bold red"), message, soft_wrap=True)
    return exit_code
