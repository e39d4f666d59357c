"""One git process that stores commits, for a program that makes many."""

import tempfile
import threading
from subprocess import PIPE

import git


class ObjectWriter:
    """Stores commits through one ``git hash-object``, which is started when it is first needed.

    It answers each file that it is told of at once, so that a commit costs no process of its own.

    Args:
        runner: GitPython's git of the repository.
        settings: Settings that the command begins with.
        environment: Variables beside the user's own.
    """

    def __init__(
        self, runner: git.Git, settings: tuple[str, ...], environment: dict[str, str]
    ) -> None:
        self._runner = runner
        self._command = ["git", *settings, "hash-object", "-t", "commit", "-w", "--stdin-paths"]
        self._environment = environment
        self._process: git.Git.AutoInterrupt | None = None
        self._lock = threading.Lock()

    def write(self, commit: bytes) -> str | None:
        """Store a commit and give its id; None if git did not store it."""
        with self._lock, tempfile.NamedTemporaryFile() as file:
            file.write(commit)
            file.flush()
            made = self._ask(file.name)
            if not made:
                self.close()
            return made or None

    def close(self) -> None:
        """End the process; the next commit starts another one."""
        self._process = None  # GitPython ends a process that nothing refers to

    def _ask(self, path: str) -> str:
        if self._process is None:
            self._process = self._runner.execute(
                self._command, istream=PIPE, as_process=True, env=self._environment
            )
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # noqa: PT018, S101 - both are pipes
        try:
            stdin.write(f"{path}\n".encode())
            stdin.flush()
        except BrokenPipeError:
            return ""
        return bytes(stdout.readline()).decode().strip()
