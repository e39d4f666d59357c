"""The tests that must pass on both trees, as a file in the repository declares them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from stack.errors import Refusal


@dataclass(frozen=True, slots=True)
class Control:
    """One line of the file.

    Attributes:
        entry: The id of a class, of a test with all its parameters, or of one parameter set.
        line: Its line, from 1.
    """

    entry: str
    line: int

    def covers(self, test: str) -> bool:
        """Whether a test is the entry's."""
        return test == self.entry or test.startswith((f"{self.entry}[", f"{self.entry}::"))


def load_controls(path: Path) -> tuple[Control, ...]:
    """Reads the file: an entry a line; empty lines and lines that start with ``#`` are left out.

    Args:
        path: The file.

    Returns:
        The entries in their order.

    Raises:
        Refusal: The file cannot be read, or an entry is no test id.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{path}: cannot be read as UTF-8 text: {error}") from error
    controls = tuple(
        Control(stripped, number)
        for number, line in enumerate(text.splitlines(), start=1)
        if (stripped := line.strip()) and not stripped.startswith("#")
    )
    for control in controls:
        if ".py::" not in control.entry:
            raise Refusal(
                f"{path}:{control.line}: {control.entry!r} is no test; write FILE.py::TEST"
            )
    return controls


def find_controls(
    path: Path, controls: Iterable[Control], tests: Collection[str]
) -> frozenset[str]:
    """The tests that are controls.

    Args:
        path: The file, for messages.
        controls: Its entries.
        tests: Ids of the tests that were collected.

    Returns:
        Ids of the controls among them. Entries of files that were not run are left out.

    Raises:
        Refusal: An entry names no test of a file that was run, or a test has two entries.
    """
    run = {_file(test) for test in tests}
    found: dict[str, Control] = {}
    for control in controls:
        covered = [test for test in tests if control.covers(test)]
        if not covered and _file(control.entry) in run:
            raise Refusal(
                f"{path}:{control.line}: no test matches {control.entry!r}; "
                "correct the entry or remove it"
            )
        for test in covered:
            if test in found:
                raise Refusal(
                    f"{path}:{control.line}: {test} is already covered by "
                    f"{found[test].entry!r} in line {found[test].line}; keep one"
                )
            found[test] = control
    return frozenset(found)


def _file(test: str) -> str:
    return test.partition("::")[0]
