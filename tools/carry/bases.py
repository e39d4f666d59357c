"""Bases: the Megatron trees that edits are applied to, wherever they come from."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from carry.releases import RELEASES, default_cache, fetch_release, is_source, read_wheel
from stack.errors import Refusal
from stack.git_answers import Entry, Sha
from stack.repository import Repository

__all__ = [
    "Base",
    "Directory",
    "GitTree",
    "ReleaseTree",
    "default_cache",
    "fetch_release",
    "open_base",
    "read_wheel",
]

_REGULAR = frozenset({"100644", "100755"})


class Base(Protocol):
    """A Megatron tree this project did not write. Paths are posix paths from its root."""

    @property
    def name(self) -> str:
        """The tree as messages name it, such as ``megatron-core 0.19.0`` or its folder."""

    def read(self, path: str) -> bytes | None:
        """The bytes of the regular file at ``path``, or None."""

    def has_directory(self, path: str) -> bool:
        """Whether a folder stands at ``path``."""

    def paths(self) -> tuple[str, ...]:
        """The source files below ``megatron/``, sorted; no links, no compiled files."""


class ReleaseTree:
    """A ``megatron-core`` release.

    Args:
        version: Such as ``0.19.0``.
        wheel: Its wheel, as ``fetch_release`` gives it.
    """

    def __init__(self, version: str, wheel: Path) -> None:
        self.name = f"megatron-core {version}"
        self._files = read_wheel(wheel)

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None."""
        return self._files.get(path)

    def has_directory(self, path: str) -> bool:
        """Whether the release has files below ``path``."""
        return any(file.startswith(f"{path}/") for file in self._files)

    def paths(self) -> tuple[str, ...]:
        """All files, sorted."""
        return tuple(self._files)


class Directory:
    """A folder that holds ``megatron/``.

    Args:
        root: The folder.

    Raises:
        Refusal: It holds no ``megatron/``.
    """

    def __init__(self, root: Path) -> None:
        self.name = str(root)
        self._root = root
        if not (root / "megatron").is_dir():
            raise Refusal(f"{root}: holds no megatron/; name the root of a Megatron tree")

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file, or None."""
        file = self._root / path
        return file.read_bytes() if file.is_file() and not file.is_symlink() else None

    def has_directory(self, path: str) -> bool:
        """Whether a folder stands at ``path``."""
        return (self._root / path).is_dir()

    def paths(self) -> tuple[str, ...]:
        """The source files below ``megatron/``, sorted."""
        files = (
            folder / name
            for folder, _, names in (self._root / "megatron").walk()
            for name in names
            if not (folder / name).is_symlink()
        )
        paths = (file.relative_to(self._root).as_posix() for file in files)
        return tuple(sorted(path for path in paths if is_source(path)))


class GitTree:
    """The tree of a revision in a git repository, read from its objects.

    Args:
        repository: The repository.
        revision: A commit or a tree.

    Raises:
        Refusal: The revision is unknown, or its tree holds no ``megatron/``.
    """

    def __init__(self, repository: Repository, revision: str) -> None:
        self.name = f"{repository.directory}:{revision}"
        self._repository = repository
        answer = repository.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}",
            accept=(0, 1, 128),
        )  # fmt: skip
        if answer.status != 0:
            raise Refusal(f"{repository.directory}: no revision {revision}; name one it has")
        self._entries: dict[str, Entry] = {
            path: entry
            for path, entry in repository.entries(Sha(answer.text)).items()
            if entry.mode in _REGULAR
        }
        if not self.has_directory("megatron"):
            raise Refusal(f"{self.name}: holds no megatron/; name a revision of a Megatron tree")

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file, or None."""
        entry = self._entries.get(path)
        return None if entry is None else self._repository.read_blob(entry.oid)

    def has_directory(self, path: str) -> bool:
        """Whether the tree has files below ``path``."""
        return any(file.startswith(f"{path}/") for file in self._entries)

    def paths(self) -> tuple[str, ...]:
        """The source files below ``megatron/``, sorted."""
        return tuple(sorted(path for path in self._entries if is_source(path)))


@contextmanager
def open_base(text: str, cache: Path) -> Iterator[Base]:
    """The base that a user names; it can be read until the context ends.

    Args:
        text: A release's version (``0.19.0``), a folder that holds ``megatron/``, or
            ``REPO:REVISION`` (``build/fork:main``) for a revision in a git repository. A folder
            whose name is a version number is written ``./0.19.0``.
        cache: Folder that downloads are kept in.

    Yields:
        The base.

    Raises:
        Refusal: It is none of these.
    """
    if re.fullmatch(r"\d+\.\d[\w.]*", text, re.ASCII):
        yield ReleaseTree(text, fetch_release(text, cache))
        return
    folder = Path(text)
    if text and folder.is_dir():
        yield Directory(folder)
        return
    place, _, revision = text.partition(":")
    if place and revision and Path(place).is_dir():
        with Repository.open(Path(place)) as repository:
            yield GitTree(repository, revision)
        return
    raise Refusal(
        f"'{text}': {_why_none(text, place, revision)}; name a release "
        f"({', '.join(RELEASES)}), a folder that holds megatron/, or REPO:REVISION in a git "
        "repository, such as build/fork:main"
    )


def _why_none(text: str, repository: str, revision: str) -> str:
    if text and Path(text).exists():
        return "a file, and no tree"
    if revision and repository:
        return f"no folder {repository} here"
    if repository and Path(repository).is_dir():
        return "no revision after the colon"
    return "neither a release's version nor a folder here"
