"""Generated files that a command of the user's makes: a lock file, say.

The command comes from the user's own git configuration, never from a file of a repository, which
travels with code from other people::

    git config merge-series.regenerate.uv.lock.command "uv lock"
    git config merge-series.regenerate.uv.lock.timeout 60

(git allows no underscore in the first part of a name.) It is split into words as a shell would, but
no shell runs it. It runs in a temporary export of the merged tree, in which the file starts from
the branch's text: a lock file that holds conflict markers cannot be read. Only that file is taken
back. Without ``timeout`` it may take 300 seconds.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from stack.errors import Refusal
from stack.git_answers import Entry, Sha
from stack.repository import Repository

_SECTION = "merge-series.regenerate."
_DEFAULT_TIMEOUT = 300.0
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
        timeout: Seconds it may take.
    """

    path: str
    arguments: tuple[str, ...]
    timeout: float

    @property
    def how(self) -> str:
        """How the file came about, as a phrase."""
        return f"made again by `{shlex.join(self.arguments)}`"


def commands(repository: Repository) -> dict[str, Command]:
    """The commands that the user configured, by path.

    Raises:
        Refusal: A setting has no meaning.
    """
    pattern = "^" + _SECTION.replace(".", r"\.")
    answer = repository.run("config", "--null", "--get-regexp", pattern, accept=(0, 1))
    values: dict[str, dict[str, str]] = {}
    for record in answer.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        key, _, value = record.partition("\n")
        path, _, name = key.removeprefix(_SECTION).rpartition(".")
        if name not in {"command", "timeout"}:
            raise Refusal(
                f"git config {key}: only command and timeout are settings here; drop it "
                f"(git config --unset {key})"
            )
        values.setdefault(path, {})[name] = value
    return {path: _command(path, given) for path, given in sorted(values.items())}


def make_again(repository: Repository, command: Command, tree: Sha, seed: Entry) -> Entry:
    """Run a command on a tree.

    Args:
        repository: Where the tree is.
        command: What to run.
        tree: The merged tree.
        seed: What the file starts from.

    Returns:
        What the file is now.

    Raises:
        Refusal: The command failed, took too long or left no file; its output is shown.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "export"
        place.mkdir()
        _export(repository, tree, place, Path(folder) / "index")
        file = place / command.path
        file.write_bytes(repository.read_blob(seed.oid))
        _run(command, place, Path(folder) / "output")
        if file.is_symlink() or not file.is_file():
            raise Refusal(
                f"{command.path}: {_quoted(command)} left no file there; correct "
                f"git config {_SECTION}{command.path}.command"
            )
        (oid,) = repository.write_blobs([file.read_bytes()])
    return Entry(seed.mode, oid)


def _command(path: str, given: dict[str, str]) -> Command:
    name = f"git config {_SECTION}{path}"
    if path.startswith("/") or not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise Refusal(
            f"{name}: {path!r} is no path of a file in the tree; drop it "
            f"(git config --remove-section {_SECTION}{path})"
        )
    try:
        arguments = tuple(shlex.split(given.get("command", "")))
    except ValueError as error:
        raise Refusal(f"{name}.command: {error} in {given['command']!r}") from error
    if not arguments:
        raise Refusal(f"{name}.command: no command is given; say one, such as 'uv lock'")
    try:
        timeout = float(given.get("timeout", _DEFAULT_TIMEOUT))
    except ValueError:
        timeout = 0
    if not 0 < timeout < float("inf"):
        raise Refusal(
            f"{name}.timeout: {given['timeout']!r} is no number of seconds above 0; "
            "say one, such as 300"
        )
    return Command(path, arguments, timeout)


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
                f"{command.path}: {_quoted(command)} cannot be run: {error.strerror}; install "
                f"it, or correct git config {_SECTION}{command.path}.command"
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
        what = f"did not end within {command.timeout:g} seconds (see its timeout setting)"
    elif status:
        what = f"failed with status {status}"
    else:
        return
    lines = _end(output).decode("utf-8", "replace").splitlines()[-_SHOWN_LINES:]
    shown = ":\n" + "\n".join(f"  {line}" for line in lines) if lines else " and said nothing"
    raise Refusal(f"{command.path}: {_quoted(command)} {what}{shown}")


def _end(output: Path) -> bytes:
    with output.open("rb") as stream:
        stream.seek(max(0, output.stat().st_size - _SHOWN_BYTES))
        return stream.read()


def _quoted(command: Command) -> str:
    return f"`{shlex.join(command.arguments)}`"
