"""The git processes of one repository: commands, each to its end, and a reader of objects."""

import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import git

from stack.git_answers import Answer
from stack.settings import PINNED, TRUE_HISTORY


class GitProcesses:
    """Runs git in a repository, by GitPython and under settings of its own."""

    def __init__(self, repo: git.Repo) -> None:
        # GitPython expands a $NAME in a string, not in a Path; where that leads nowhere, it runs
        # git in the current folder.
        repo.git = git.Git(Path(repo.working_dir))
        self._repo = repo
        self._reading = threading.Lock()
        self._environment = dict(TRUE_HISTORY)
        repo.git.update_environment(**self._environment)

    def close(self) -> None:
        """End the reader."""
        self._repo.close()

    def keep_objects_in(self, folder: Path, own: Path) -> None:
        """Let new objects go into ``folder``, and read them there and in ``own``, git's folder."""
        self._environment |= {
            "GIT_OBJECT_DIRECTORY": str(folder),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(own),
        }
        self._repo.git.update_environment(**self._environment)

    def run(
        self,
        arguments: Sequence[str],
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        inherited: Sequence[int] = (),
    ) -> Answer:
        """Run a command, and wait for its end.

        Args:
            arguments: The command and its arguments, without ``git``.
            stdin: What it reads.
            environment: Variables beside the user's own.
            inherited: Open files that it keeps open as long as it runs.
        """
        with ExitStack() as stack:
            stream = None
            if stdin:
                stream = stack.enter_context(tempfile.TemporaryFile())
                stream.write(stdin)
                stream.seek(0)
            status, stdout, stderr = self._repo.git.execute(
                ["git", *PINNED, *arguments],
                istream=stream,
                env={**self._environment, **(environment or {})},
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                pass_fds=tuple(inherited),
            )
        return Answer(int(status), bytes(stdout), str(stderr))

    def read_object(self, oid: str) -> bytes:
        """The bytes of an object whose id is SHA-1, read by one process for all of them.

        Raises:
            ValueError: There is no such object.
        """
        with self._reading:
            try:
                *_, size, content = self._repo.git.get_object_data(oid)
            except (BrokenPipeError, ValueError) as error:
                # It ends over an object that is damaged or that a partial clone cannot fetch.
                self._repo.git.clear_cache()
                raise ValueError(oid) from error
            if len(content) != size:
                self._repo.git.clear_cache()
                raise ValueError(oid)
            return bytes(content)


def _quoted(path: Path) -> str:
    # The variable is a colon-separated list; git reads an entry in double quotes C-style.
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
