"""Generated files that a command of the user's makes: a lock file, say.

The command comes from the user's own git configuration, never from a file of a repository, which
travels with code from other people::

    git config merge-series.regenerate.uv.lock.command "uv lock"
    git config merge-series.regenerate.uv.lock.input pyproject.toml
    git config merge-series.regenerate.uv.lock.timeout 60

(git allows no underscore in the first part of a name.) It is split into words as a shell would, but
no shell runs it. It runs in a temporary export of a tree. An ``input``, which may be given several
times (``git config --add``), is a pathspec of git's: then the export holds what they match and the
file, and nothing else, so that no file that is not declared can have a say. Only the file is taken
back. Without ``timeout`` it may take 300 seconds.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from stack.errors import Refusal
from stack.git_answers import Sha
from stack.repository import Repository

SECTION = "merge-series.regenerate."
_SETTINGS = ("command", "input", "timeout")
_DEFAULT_TIMEOUT = "300"
_SHOWN_LINES, _SHOWN_BYTES = 30, 8192  # the last ones
# A checkout as the tree has it, whatever the user's settings.
_PINNED = (
    "-c", "core.autocrlf=false",
    "-c", "core.eol=lf",
    "-c", "core.symlinks=true",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Command:
    """How one generated file is made.

    Attributes:
        path: The file's path in the tree.
        arguments: The program and its arguments.
        inputs: Pathspecs of what it is made from; none if that may be every other file.
        timeout: Seconds it may take.
    """

    path: str
    arguments: tuple[str, ...]
    inputs: tuple[str, ...]
    timeout: float

    @property
    def line(self) -> str:
        """The command line, as messages name it."""
        return f"`{shlex.join(self.arguments)}`"

    @property
    def programs(self) -> tuple[tuple[str, int, int], ...]:
        """What tells one version of the program from another, as far as the line names files."""
        first, *others = self.arguments
        names = (shutil.which(first), *filter(os.path.isabs, others))
        there = [path for name in names if name and (path := Path(name).resolve()).is_file()]
        stats = [(str(path), path.stat()) for path in there]
        return tuple((path, stat.st_size, stat.st_mtime_ns) for path, stat in stats)

    def setting(self, name: str) -> str:
        """The key of one of its settings in the git configuration."""
        return f"{SECTION}{self.path}.{name}"

    def how(self, start: str = "") -> str:
        """How the file came about, as a phrase.

        Args:
            start: Whose text it started from, if not from git's merge: ``main``, ``#6258``.
        """
        return f"made again by {self.line}" + (f" from the text of {start}" if start else "")


class CommandFailed(Refusal):
    """A command ended with a status that is not 0."""


def commands(repository: Repository) -> dict[str, Command]:
    """The commands that the user configured, by path.

    Raises:
        Refusal: A setting has no meaning.
    """
    pattern = "^" + SECTION.replace(".", r"\.")
    answer = repository.run("config", "--null", "--get-regexp", pattern, accept=(0, 1))
    values: dict[str, dict[str, list[str]]] = {}
    for record in answer.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        key, _, value = record.partition("\n")
        path, _, name = key.removeprefix(SECTION).rpartition(".")
        if name not in _SETTINGS:
            raise Refusal(
                f"git config {key}: only {', '.join(_SETTINGS[:-1])} and {_SETTINGS[-1]} are "
                f"settings here; drop it (git config --unset {key})"
            )
        values.setdefault(path, {}).setdefault(name, []).append(value)
    return {path: _command(path, given) for path, given in sorted(values.items())}


def run(repository: Repository, command: Command, tree: Sha) -> bytes:
    """Run a command on a tree.

    Args:
        repository: Where the tree is.
        command: What to run.
        tree: What it finds; the file is there, with the text that it starts from.

    Returns:
        What the file holds then.

    Raises:
        CommandFailed: The command failed; its output is shown.
        Refusal: It could not be run, took too long or left no file.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "export"
        place.mkdir()
        _export(repository, tree, place, Path(folder) / "index")
        file = place / command.path
        start = repository.read_file(tree, command.path)
        assert start is not None  # noqa: S101 - the caller put it there
        file.write_bytes(start)  # whatever line ends its attributes ask for
        _run(command, place, Path(folder) / "output")
        if file.is_symlink() or not file.is_file():
            raise Refusal(
                f"{command.path}: {command.line} left no file there; no branch has moved; correct "
                f"git config {command.setting('command')}"
            )
        return file.read_bytes()


def _command(path: str, given: dict[str, list[str]]) -> Command:
    name = f"git config {SECTION}{path}"
    if path.startswith("/") or not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise Refusal(
            f"{name}: {path!r} is no path of a file in the tree; drop it "
            f"(git config --remove-section {SECTION}{path})"
        )
    # Of several values of a setting that has one, git goes by the last.
    line, limit = (given.get(key, [""])[-1] for key in ("command", "timeout"))
    try:
        arguments = tuple(shlex.split(line))
    except ValueError as error:
        raise Refusal(f"{name}.command: {error} in {line!r}") from error
    if not arguments:
        raise Refusal(f"{name}.command: no command is given; say one, such as 'uv lock'")
    inputs = tuple(given.get("input", ()))
    if "" in inputs:
        raise Refusal(f"{name}.input: no pathspec is given; say one, such as pyproject.toml")
    try:
        timeout = float(limit if "timeout" in given else _DEFAULT_TIMEOUT)
    except ValueError:
        timeout = 0
    if not 0 < timeout < float("inf"):
        raise Refusal(
            f"{name}.timeout: {limit!r} is no number of seconds above 0; say one, such as 300"
        )
    return Command(path, arguments, inputs, timeout)


def _export(repository: Repository, tree: Sha, place: Path, index: Path) -> None:
    environment = {
        "GIT_DIR": str(repository.common_directory),
        "GIT_WORK_TREE": str(place),
        "GIT_INDEX_FILE": str(index),
    }
    repository.run(*_PINNED, "read-tree", tree, environment=environment)
    repository.run(*_PINNED, "checkout-index", "--all", "--force", environment=environment)


def _run(command: Command, place: Path, output: Path) -> None:
    # A git that it runs finds no repository, whatever temporary folders lie in.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(place.parent)}
    with output.open("wb") as stream:
        try:
            process = subprocess.Popen(
                command.arguments,
                cwd=place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise Refusal(
                f"{command.path}: {command.line} cannot be run: {error.strerror}; no branch has "
                f"moved; install it, or correct git config {command.setting('command')}"
            ) from error
        try:
            status = process.wait(command.timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            # With all that it started, also where the user interrupts this program.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if status is None:
        limit = f"did not end within {command.timeout:g} seconds"
        raise Refusal(_failed(command, limit, "timeout", output))
    if status:
        raise CommandFailed(_failed(command, f"failed with status {status}", "command", output))


def _failed(command: Command, what: str, setting: str, output: Path) -> str:
    lines = _end(output).decode("utf-8", "replace").splitlines()[-_SHOWN_LINES:]
    nothing = "" if lines else " and said nothing"
    shown = ":\n" + "\n".join(f"  {line}" for line in lines) if lines else ""
    return (
        f"{command.path}: {command.line} {what}{nothing}; no branch has moved; correct what it "
        f"finds, or git config {command.setting(setting)}{shown}"
    )


def _end(output: Path) -> bytes:
    with output.open("rb") as stream:
        stream.seek(max(0, output.stat().st_size - _SHOWN_BYTES))
        return stream.read()
