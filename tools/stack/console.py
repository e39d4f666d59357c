"""How the tools speak: people's output on stderr, data on stdout, errors in one place."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.text import Text

from stack.errors import ExitCode, Refusal

# Rich turns colour off by itself where stderr is no terminal or NO_COLOR is set. Where nobody has
# said how wide a file or a pipe is, 80 columns would fold every path.
_WIDTH = None if sys.stderr.isatty() or "COLUMNS" in os.environ else 132
people = Console(stderr=True, highlight=False, markup=False, width=_WIDTH)

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
)


def print_json(data: object) -> None:
    """Write ``data`` as JSON to stdout."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def run(command: click.Command, **extra: Any) -> NoReturn:  # noqa: ANN401 - click's own keywords
    """Run a click command and turn every way it can end into a message and an exit code.

    A command's return value, if it is an ``ExitCode``, is the exit code.
    """
    for name in _LOCAL_TO_ANOTHER_REPOSITORY:
        os.environ.pop(name, None)
    sys.exit(_exit_code(lambda: command.main(standalone_mode=False, **extra)))


def _exit_code(call: Callable[[], object]) -> int:  # noqa: PLR0911 - one return an ending
    try:
        result = call()
    except Refusal as refusal:
        people.print(Text("error:", style="bold red"), str(refusal), soft_wrap=True)
        return refusal.exit_code
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
    return result if isinstance(result, ExitCode) else ExitCode.DONE
