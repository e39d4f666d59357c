"""The one kind of failure a user sees, and the exit codes that go with it."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the tools; docs/commands.md lists them for users."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3  # a person is asked: for a merge, or about a revert
    FOUND = 4  # a check found something, or an edit does not land
    BUSY = 5  # another operation holds the repository, or one is unfinished
    INTERRUPTED = 130


class Refusal(Exception):  # noqa: N818 - it is an answer, and "RefusalError" says it twice
    """A run that stopped before it changed anything.

    Args:
        message: It names the file, the place, what was found and what to do: one line, or one for
            each of several things that were found between the first and the last.
        exit_code: The code the command ends with.
    """

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code
