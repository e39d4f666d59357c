"""Where git merges without a worktree: with the attributes of the branch that is merged into.

In a worktree git goes by the ``.gitattributes`` files of what is checked out there, by the
repository's ``info/attributes`` and by the user's ``core.attributesFile``. So do merges here, with
the files of the branch for those that are checked out, but nobody's merge is joined or driven:

- ``merge=union`` is a text merge, which conflicts where union would take both sides.
- No merge driver is run. A file to which a ``.gitattributes`` gives one is left in conflict. In
  files that are not the project's a driver does not count: what is merged must not depend on who
  does it, and people name drivers there that are to merge all their texts better.
- No attribute changes the size of conflict markers.
- ``/etc/gitattributes`` and what is checked out do not count.
"""

import os
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from stack.git_answers import Sha, decode, encode
from stack.repository import Repository
from stack.trees import FILES, TREE, UnreadableError

_ATTRIBUTES, _MODULES = b".gitattributes", b".gitmodules"
# Names that no checkout makes a folder of.
_NO_FOLDERS = frozenset((b".", b"..", b".git"))
_DRIVER = re.compile(r"(?<!\S)merge=(\S+)")
_NO_TEXT = re.compile(r"(?<!\S)(?:-merge(?!\S)|merge=)|binary")
# What git has built in is meant, whatever driver of that name a person has.
_BUILT_IN = {"text": "merge", "union": "merge", "binary": "-merge"}
# In place of a driver: conflict markers where the texts conflict, and a conflict in any case.
_ASK_VARIABLE = "MERGE_SERIES_ASK"
_ASK = (
    'git merge-file --quiet --marker-size=%L -L "$MERGE_SERIES_OURS" -L base '
    '-L "$MERGE_SERIES_THEIRS" %A %O %B; exit 1'
)

Files = tuple[tuple[bytes, str], ...]  # path and blob


@dataclass(frozen=True, slots=True)
class Place:
    """A folder in which git merges.

    Attributes:
        folder: It, with the files that git reads attributes from.
        options: Of git, so that it runs no driver.
        environment: Variables of git.
        is_plain: Whether no attribute is about merging.
    """

    folder: Path
    options: tuple[str, ...]
    environment: dict[str, str]
    is_plain: bool


class MergePlaces:
    """The folders in which the merges of one repository are made; they go with this object.

    Args:
        repository: The repository.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._top = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self._top, ignore_errors=True)
        self._known: dict[bytes, Files] = {}
        self._places: dict[Files, Place] = {}
        self._making = threading.Lock()

    def of(self, commit: Sha) -> Place:
        """The place for merges into a commit."""
        files = self._files(commit)
        with self._making:
            if files not in self._places:
                self._places[files] = self._make(files)
            return self._places[files]

    def sides(self, place: Place, ours: Sha, theirs: Sha) -> dict[str, str]:
        """The environment of a merge in a place."""
        named = {"MERGE_SERIES_OURS": ours, "MERGE_SERIES_THEIRS": theirs}
        return place.environment if place.is_plain else {**place.environment, **named}

    def drivers(self, place: Place, paths: Iterable[str]) -> dict[str, str]:
        """The merge driver of each path that is not merged as text: ``binary``, or its name."""
        answer = self._repository.run(
            "-C", str(place.folder), *place.options, "check-attr", "-z", "--stdin", "merge",
            stdin=b"".join(encode(path) + b"\0" for path in paths), environment=place.environment,
        )  # fmt: skip
        fields = iter(decode(answer.stdout).split("\0")[:-1])
        found = {path: value for path, _, value in zip(fields, fields, fields, strict=True)}
        return {
            path: "binary" if value == "unset" else value
            for path, value in found.items()
            if value not in {"set", "unspecified"}
        }

    def bring_submodules(self, place: Place, paths: Iterable[str]) -> bool:
        """Let git find submodules that are cloned where they stand, not into ``modules``.

        Returns:
            Whether there is one that it did not know of.
        """
        found = False
        for path in paths:
            clone, link = self._repository.directory / path, place.folder / path / ".git"
            if (clone / ".git").exists() and not link.exists():
                command = ("-C", str(clone), "rev-parse", "--absolute-git-dir")
                answer = self._repository.run(*command, accept=(0, 128))
                if not answer.status:
                    _write(link, f"gitdir: {answer.text}\n")
                    found = True
        return found

    # Making one

    def _make(self, files: Files) -> Place:
        read = {path: decode(self._repository.read_blob(Sha(oid))) for path, oid in files}
        texts = {
            path: text if path == _MODULES else _DRIVER.sub(_built_in, text)
            for path, text in read.items()
        }
        everywhere = (self._of_repository, self._of_user)
        about = (*(text for path, text in texts.items() if path != _MODULES), *everywhere)
        is_plain = not any(map(_NO_TEXT.search, about))
        folder = self._top / str(len(self._places))
        for path, text in texts.items():
            _write(folder / os.fsdecode(path), text)
        folder.mkdir(exist_ok=True)
        names = set[str]()
        if not is_plain:
            named = {name for text in about for name in _DRIVER.findall(text)}
            names = named | self._configured
        drivers = (f"--config-env=merge.{name}.driver={_ASK_VARIABLE}" for name in sorted(names))
        environment = {
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_DIR": str(self._git_directory),
            "GIT_WORK_TREE": str(folder),
            _ASK_VARIABLE: _ASK,
        }
        user = f"core.attributesFile={self._top / 'user'}"
        return Place(folder, ("-c", user, *drivers), environment, is_plain)

    @cached_property
    def _git_directory(self) -> Path:
        """A git directory like the repository's, of which nothing is checked out."""
        folder = self._top / "git"
        common = self._repository.common_directory.absolute()
        folder.mkdir()
        shared = ("config", "config.worktree", "modules", "objects", "packed-refs", "refs")
        for name in (*shared, "reftable"):
            if (common / name).exists():
                (folder / name).symlink_to(common / name)
        (folder / "HEAD").write_text("ref: refs/heads/none\n", "utf-8")
        _write(folder / "info/attributes", f"{self._of_repository}\n* !conflict-marker-size\n")
        _write(self._top / "user", self._of_user)
        return folder

    @cached_property
    def _of_repository(self) -> str:
        return self._personal(self._repository.common_directory / "info/attributes")

    @cached_property
    def _of_user(self) -> str:
        command = ("config", "--type=path", "--get", "core.attributesFile")
        named = self._repository.run(*command, accept=(0, 1)).text
        settings = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
        return self._personal(Path(named or f"{settings}/git/attributes").expanduser())

    def _personal(self, file: Path) -> str:
        """The attributes of a file that is not the project's; nothing where none can be read."""
        try:
            text = decode((self._repository.directory / file).read_bytes())
        except OSError:
            return ""
        return _DRIVER.sub(lambda attribute: _BUILT_IN.get(attribute[1], ""), text)

    @cached_property
    def _configured(self) -> set[str]:
        """The names of all drivers that the user has."""
        command = ("config", "-z", "--name-only", "--get-regexp", r"^merge\..*\.driver$")
        listed = self._repository.run(*command, accept=(0, 1)).text.split("\0")
        return {key.removeprefix("merge.").removesuffix(".driver") for key in listed if key}

    # What a commit has

    def _files(self, commit: Sha) -> Files:
        """The files of a commit that git would read where it is checked out."""
        trees = self._repository.tree_store
        try:
            tree = trees.of_commit(commit)
            modules = trees.entry(tree, _MODULES)
            files = self._attributes(tree)
        except UnreadableError:  # of a repository whose ids are SHA-256, or git says what it is
            listed = self._repository.entries(commit)
            found = {encode(path): entry for path, entry in listed.items()}
            return tuple(
                (path, entry.oid)
                for path, entry in found.items()
                if (path == _MODULES or path.rpartition(b"/")[2] == _ATTRIBUTES)
                and entry.mode.encode() in FILES
                and _NO_FOLDERS.isdisjoint(path.split(b"/"))
            )
        if modules is not None and modules.mode in FILES:
            files = (*files, (_MODULES, modules.oid.hex()))
        return files

    def _attributes(self, tree: bytes) -> Files:
        if tree not in self._known:
            self._known[tree] = tuple(self._read_attributes(tree))
        return self._known[tree]

    def _read_attributes(self, tree: bytes) -> Iterator[tuple[bytes, str]]:
        for name, entry in self._repository.tree_store.entries(tree).items():
            if name == _ATTRIBUTES and entry.mode in FILES:
                yield name, entry.oid.hex()
            elif entry.mode == TREE and name not in _NO_FOLDERS:
                for path, oid in self._attributes(entry.oid):
                    yield name + b"/" + path, oid


def _built_in(attribute: re.Match[str]) -> str:
    return _BUILT_IN.get(attribute[1], attribute[0])


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(encode(text))
