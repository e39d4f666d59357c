"""A small bare repository beside its SERIES.md, and the program run on it in this process.

Objects are read through one ``git cat-file`` and kept: what a branch holds costs no process.
"""

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tokens import GENERATED, file_of

from merge_series.cli import merge_series
from merge_series.place import Place
from stack.errors import Refusal

KILLED = -signal.SIGKILL

_LONGEST_RUN = 60  # seconds, of a run that takes about one

# Git commands that may leave something in the repository, as the kill tests count them.
_WRITES = {"update-ref", "worktree", "read-tree", "update-index"}


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of the program ended: its exit code, and what it said."""

    code: int
    said: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit to be made.

    Attributes:
        branch: The branch it goes on.
        parents: Its parents; the first gives the files that it does not write.
        files: The files it writes; None for one that goes.
        subject: Its message.
        tree: What stands in place of the first parent's files, if anything.
        is_picked: Whether the hosting commits it, who wrote another one like it.
    """

    branch: str
    parents: tuple[str, ...]
    files: Mapping[str, bytes | None]
    subject: str
    tree: str = ""
    is_picked: bool = False


@dataclass(frozen=True, slots=True)
class Kill:
    """Where a run is killed.

    Attributes:
        number: At which write to the repository, from 1.
        is_late: Whether those count that come once its journal says what is to move.
    """

    number: int
    is_late: bool


class Fork:
    """The repository.

    Args:
        root: An empty folder for it and for all that belongs to it.
        series: The SERIES.md that the program works with.
    """

    def __init__(self, root: Path, series: Path) -> None:
        self.root, self.series = root, series
        self.path = root / "fork"
        self.state = self.path / "merge_series"
        subprocess.run(["git", "init", "--quiet", "--bare", self.path], check=True)
        self._objects = subprocess.Popen(
            ["git", "-C", self.path, "cat-file", "--batch"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._read = self.blob = cache(self._ask)
        self.files = cache(self._files)
        self.contained = cache(self._contained)

    def close(self) -> None:
        """End git's object reader."""
        self._objects.communicate()

    def git(self, *arguments: str, stdin: bytes = b"", status: int = 0) -> str:
        """Run git in the repository."""
        done = subprocess.run(
            ["git", "-C", self.path, *arguments], input=stdin, capture_output=True, check=False
        )
        assert done.returncode in {0, status}, done.stderr.decode()
        return done.stdout.decode().rstrip("\n")

    # Objects

    def _ask(self, oid: str) -> bytes:
        stdin, stdout = self._objects.stdin, self._objects.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{oid}\n".encode())
        stdin.flush()
        head = stdout.readline().split()
        assert head[-1].isdigit(), head
        return stdout.read(int(head[-1]) + 1)[:-1]

    def parents(self, commit: str) -> tuple[str, ...]:
        """The parents of a commit."""
        head = self._read(commit).decode().partition("\n\n")[0]
        return tuple(line[7:] for line in head.splitlines() if line.startswith("parent "))

    def _files(self, commit: str) -> dict[str, bytes]:
        return self.files_of_tree(self._read(commit)[5:45].decode())

    def files_of_tree(self, tree: str) -> dict[str, bytes]:
        """Every file of a tree by its path."""
        return {path: self.blob(oid) for path, oid in self._below(tree, "")}

    def _below(self, tree: str, prefix: str) -> Iterator[tuple[str, str]]:
        rest = self._read(tree)
        while rest:
            head, _, rest = rest.partition(b"\0")
            mode, _, name = head.decode().partition(" ")
            oid, rest = rest[:20].hex(), rest[20:]
            if mode == "40000":
                yield from self._below(oid, f"{prefix}{name}/")
            else:
                yield prefix + name, oid

    def _contained(self, commit: str) -> frozenset[str]:
        return frozenset([commit]).union(*map(self.contained, self.parents(commit)))

    def subject(self, commit: str) -> str:
        """The first line of a commit's message."""
        return self._read(commit).decode().partition("\n\n")[2].partition("\n")[0]

    def first_parents(self, commit: str) -> Iterator[str]:
        """The commits that a branch was at, newest first."""
        yield commit
        while parents := self.parents(commit):
            commit = parents[0]
            yield commit

    def places(self, commit: str) -> Callable[[str], list[str]]:
        """A function that says where a commit has a text file, by the name it was made under.

        Two branches may have put it at two places.
        """
        return self.places_in(self.files(commit))

    def places_in(self, files: Mapping[str, bytes]) -> Callable[[str], list[str]]:
        """What ``places`` says, of files."""
        found: dict[str | None, list[str]] = {}
        for path, text in files.items():
            found.setdefault(file_of(text), []).append(path)
        return lambda file: found.get(file, [])

    # What changes

    def heads(self) -> dict[str, str]:
        """The head of every branch."""
        return _heads(self._refs())

    def _refs(self) -> dict[str, str]:
        listed = self.git("for-each-ref", "--format=%(refname) %(objectname)")
        return dict(line.split() for line in listed.splitlines())

    def kept(self) -> dict[str, object]:
        """All that a run which is refused leaves as it was: refs, settings, records, SERIES.md."""
        files = [*self.state.glob("*.json"), *self.state.glob("done/*")]
        # What a command made is kept whatever becomes of the sync that needed it.
        files = [file for file in files if file.name != "made.json"]
        files += [self.path / "config", self.path / "HEAD"]
        kept: dict[str, object] = {str(file): file.read_bytes() for file in files}
        refs = self._refs()
        return kept | {"series": self.series.read_bytes(), "refs": refs, "heads": _heads(refs)}

    def objects(self) -> list[str]:
        """The files of the object database."""
        return sorted(map(str, (self.path / "objects").rglob("*")))

    def commit(self, commits: Iterable[Commit]) -> list[str]:
        """Make commits on branches, in one process; later ones may name earlier ones as ``:1``.

        Returns:
            Their ids.
        """
        stream = io.BytesIO()
        count = 0
        for count, commit in enumerate(commits, 1):
            message = commit.subject.encode()
            author = b"Ada Test <ada@example.org> 1767323045 +0000"
            committer = author.replace(b"Ada Test", b"Hosting") if commit.is_picked else author
            stream.write(f"commit refs/heads/{commit.branch}\nmark :{count}\n".encode())
            stream.write(b"author %s\ncommitter %s\n" % (author, committer))
            stream.write(b"data %d\n%s\n" % (len(message), message))
            for word, parent in zip(["from", *["merge"] * 9], commit.parents, strict=False):
                stream.write(f"{word} {parent}\n".encode())
            if commit.tree:
                stream.write(f'M 040000 {commit.tree} ""\n'.encode())
            for path, text in sorted(commit.files.items(), key=lambda item: item[1] is not None):
                if text is None:
                    stream.write(f"D {path}\n".encode())
                else:
                    stream.write(b"M 100644 inline %s\n" % path.encode())
                    stream.write(b"data %d\n%s\n" % (len(text), text))
            stream.write(b"\n")
        marks = self.root / "marks"
        options = ("--quiet", "--force", f"--export-marks={marks}")
        self.git("fast-import", *options, stdin=stream.getvalue())
        rows = sorted(marks.read_text().splitlines(), key=lambda row: int(row.split()[0][1:]))
        assert len(rows) == count
        return [row.split()[1] for row in rows]

    def pick(self, tip: str, commit: str) -> tuple[str, bool]:
        """What ``merge`` says of picking a commit onto another."""
        base = self.parents(commit)[0]
        onto = self.git("commit-tree", "-p", base, "-m", "To pick onto", f"{tip}^{{tree}}")
        return self.merge(onto, commit)

    def revert(self, tip: str, commit: str) -> tuple[str, bool]:
        """What ``merge`` says of reverting a commit on another."""
        sides = (tip, self.parents(commit)[0])
        onto, back = (
            self.git("commit-tree", "-p", commit, "-m", "To revert on", f"{side}^{{tree}}")
            for side in sides
        )
        return self.merge(onto, back)

    def merge(self, main: str, head: str) -> tuple[str, bool]:
        """The tree of git's own merge; whether all but generated files merged cleanly."""
        said = self.git("merge-tree", "--write-tree", "--name-only", main, head, status=1)
        tree, *rest = said.split("\n\n")[0].splitlines()
        return tree, set(rest) <= GENERATED

    # The program

    def run(self, *arguments: str, kill: Kill | None = None) -> Ran:
        """Run the program; with ``kill``, in a process of its own that is killed there."""
        if kill:
            return Ran(self._killed(arguments, kill), "")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                code = self._call(arguments)
            except Refusal as refusal:
                return Ran(int(refusal.exit_code), str(refusal))
        return Ran(code, said.getvalue())

    def repair(self) -> None:
        """What every command that moves branches does first: repair what a killed run left."""
        with (
            contextlib.redirect_stderr(io.StringIO()),
            Place(self.path, self.series, "main").at_work(),
        ):
            pass

    def _call(self, arguments: Iterable[str]) -> int:
        place = ["--repo", str(self.path), "--series", str(self.series)]
        return int(
            merge_series.main([*place, *arguments], "merge_series", standalone_mode=False) or 0
        )

    def _killed(self, arguments: Iterable[str], kill: Kill) -> int:
        child = os.fork()
        if not child:
            code = 99
            # One that goes round in a circle would outlive the test.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_LONGEST_RUN)
            try:
                sys.stderr = io.StringIO()
                sys.addaudithook(_Killer(self.root, kill).watch)
                code = self._call(arguments)
            except Refusal as refusal:
                code = int(refusal.exit_code)
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _heads(refs: Mapping[str, str]) -> dict[str, str]:
    prefix = "refs/heads/"
    return {ref.removeprefix(prefix): at for ref, at in refs.items() if ref.startswith(prefix)}


class _Killer:
    """Kills its own process at the n-th event that may leave something in a folder."""

    def __init__(self, folder: Path, kill: Kill) -> None:
        self._folder = str(folder)
        self._left = kill.number
        self._counts = not kill.is_late

    def watch(self, event: str, arguments: tuple) -> None:
        if event == "subprocess.Popen":
            counts = not _WRITES.isdisjoint(arguments[1])
        elif event == "open":
            path, _, flags = arguments
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            counts = bool(writes) and str(path).startswith(self._folder)
            self._counts |= counts and "/done/" in str(path)
        elif event in {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree"}:
            counts = str(arguments[0]).startswith(self._folder)
        else:
            return
        counts &= self._counts
        self._left -= counts
        if counts and not self._left:
            os.kill(os.getpid(), signal.SIGKILL)
