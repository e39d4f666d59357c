"""Which ``megatron.core`` a Python imports, and whether the series is in it."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from carry.age import version_of
from carry.bases import Base, Directory
from carry.carried import Carrier
from carry.report import look_at
from stack.errors import ExitCode, Refusal

# It finds the module as an import would, and runs nothing of it. A program of `-c` has the current
# folder first on its path, as a script has its own folder.
_PROBE = """\
import importlib.util, json, sys

def found():
    try:
        spec = importlib.util.find_spec("megatron.core")
    except ModuleNotFoundError:
        return None
    return None if spec is None else spec.origin

first = found()
for name in [name for name in sys.modules if name.partition(".")[0] == "megatron"]:
    del sys.modules[name]
if sys.path[:1] == [""]:
    del sys.path[0]
importlib.invalidate_caches()
print(json.dumps([first, found()]))
"""


@dataclass(frozen=True, slots=True)
class Imported:
    """A ``megatron.core``.

    Attributes:
        root: The folder that holds its ``megatron/``.
        name: megatron-core with its version, as far as it is known.
        edits: How many of the edits and new files of the series stand in it.
        wanted: How many there are for it.
    """

    root: Path
    name: str
    edits: int
    wanted: int

    @property
    def has_series(self) -> bool:
        """Whether the whole series is in it."""
        return self.edits == self.wanted

    @property
    def words(self) -> str:
        """What it is, in words."""
        if self.has_series:
            return f"{self.name} with the series"
        if self.edits == 0:
            return f"{self.name} without the series"
        return (
            f"{self.name} with a part or another form of the series ({self.edits} of {self.wanted} "
            "edits)"
        )


@dataclass(frozen=True, slots=True)
class Where:
    """What a Python imports from the current folder.

    Attributes:
        imported: What it imports; None if nothing.
        shadowed: What it would import from elsewhere, if that is another.
    """

    imported: Imported | None
    shadowed: Imported | None

    @property
    def exit_code(self) -> ExitCode:
        """Whether the series is in what is imported."""
        there = self.imported is not None and self.imported.has_series
        return ExitCode.DONE if there else ExitCode.FOUND

    def line(self, python: Path) -> str:
        """It in a line."""
        if self.imported is None:
            return f"{python}: imports no megatron.core from here"
        said = f"{self.imported.root / 'megatron/core'}: {self.imported.words}"
        if self.shadowed is None:
            return said
        return (
            f"{said}; it stands in the current folder and shadows {self.shadowed.words} in "
            f"{self.shadowed.root}; run elsewhere, or with PYTHONSAFEPATH=1, to import that"
        )


def look_where(carrier: Carrier, python: Path) -> Where:
    """Look at what a Python imports from the current folder.

    Raises:
        Refusal: There is no such interpreter, or it cannot say.
    """
    first, elsewhere = _found(python)
    other = elsewhere if elsewhere != first else None
    return Where(
        None if first is None else _look_at(carrier, first),
        None if first is None or other is None else _look_at(carrier, other),
    )


def _found(python: Path) -> tuple[Path | None, Path | None]:
    """The folders whose ``megatron.core`` is imported here, and from any other folder."""
    try:
        done = subprocess.run(
            [python, "-c", _PROBE], stdin=subprocess.DEVNULL, capture_output=True, check=False,
            text=True, errors="replace",
        )  # fmt: skip
        *_, answer = ["", *done.stdout.splitlines()]
        first, elsewhere = json.loads(answer)
        return _root(first), _root(elsewhere)
    except OSError as error:
        raise Refusal(
            f"{python}: cannot be run: {error.strerror}; name a Python interpreter by its path"
        ) from error
    except ValueError as error:
        *_, why = ["no message", *done.stderr.splitlines()]
        raise Refusal(f"{python}: cannot say what it imports ({why})") from error


def _root(origin: str | None) -> Path | None:
    return None if origin is None else Path(origin).parents[2]


def _look_at(carrier: Carrier, root: Path) -> Imported:
    base = Directory(root)
    # A package has neither tests nor tools; a file that a release never had is not missed.
    reports = [
        report
        for report in look_at(carrier, base)
        if report.path.startswith("megatron/") and report.state != "absent"
    ]
    held = sum(report.state == "already applied" for report in reports)
    return Imported(root, _name(root, base), held, len(reports))


def _name(root: Path, base: Base) -> str:
    """The version is that of the package, which knows of the series, else the one in the code."""
    packages = [folder.name for folder in root.glob("megatron_core-*.dist-info")]
    if len(packages) == 1:
        return packages[0].removesuffix(".dist-info").replace("megatron_core-", "megatron-core ")
    version = version_of(base)
    return "megatron-core" if version is None else f"megatron-core {version}"
