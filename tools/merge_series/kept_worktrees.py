"""What worktrees are before they follow their branches, to be put back if anything fails.

Nothing is checked out anew for that: a filter that fails now may fail for the old text as well.
"""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from merge_series.worktrees import Following, changed, follow
from stack.errors import Refusal
from stack.repository import Repository

# In a worktree's git directory, which mostly lies on the disk that its files are on.
_NAME = "merge_series.before"


@dataclass(frozen=True, slots=True)
class _Kept:
    """One worktree.

    Attributes:
        following: It.
        place: Where its files are kept.
        index: Its index.
        changed: The paths that will change.
    """

    following: Following
    place: Path
    index: Path
    changed: tuple[str, ...]

    @classmethod
    def of(cls, following: Following) -> Self:
        with Repository.open(following.folder) as worktree:
            place, index = worktree.git_path(_NAME), worktree.git_path("index")
            return cls(following, place, index, tuple(changed(worktree, following)))

    def save(self) -> None:
        self.drop()
        self.place.mkdir()
        shutil.copy2(self.index, self.place / "index")
        for path in self.changed:
            there, kept = self.following.folder / path, self.place / "files" / path
            if _is_file(there):
                kept.parent.mkdir(parents=True, exist_ok=True)
                _keep(there, kept)

    def put_back(self) -> None:
        folder = self.following.folder
        for path in self.changed:
            there = folder / path
            if _is_file(there):
                there.unlink()
            for place in (there, *there.parents):
                if place == folder:
                    break
                with suppress(OSError):  # it is not there, or holds something
                    place.rmdir()
        self.put_back_files(self.changed)
        shutil.move(self.place / "index", self.index)

    def put_back_files(self, paths: Iterable[str]) -> None:
        for path in paths:
            kept, there = self.place / "files" / path, self.following.folder / path
            if os.path.lexists(kept):
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(kept, there)

    def drop(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)


class KeptWorktrees:
    """Worktrees that follow, and can be put back as long as this is not dropped.

    Args:
        followings: They.
    """

    def __init__(self, followings: Iterable[Following]) -> None:
        self._followings = tuple(followings)
        self._kept: list[_Kept] = []

    def bring(self) -> None:
        """Bring each to its branch's new head.

        Raises:
            Refusal: One cannot be brought there.
        """
        for following in self._followings:
            kept = _Kept.of(following)
            try:
                kept.save()
            except OSError as error:
                kept.drop()
                raise Refusal(
                    f"{following.folder}: what will change there cannot be kept ({error})"
                ) from error
            self._kept.append(kept)
            follow(following, "it is put back as it was")

    def put_back(self) -> None:
        """Make them what they were.

        Raises:
            Refusal: One cannot be written; what it was is kept.
        """
        for kept in self._kept:
            try:
                kept.put_back()
            except OSError as error:
                self._kept.remove(kept)
                raise Refusal(
                    f"{kept.following.folder}: it cannot be made again what it was ({error}); its "
                    f"files are in {kept.place / 'files'}"
                ) from error

    def drop(self) -> None:
        """Forget what they were."""
        for kept in self._kept:
            kept.drop()


def drop_left(following: Following) -> None:
    """Drop what a killed run kept of a worktree."""
    _Kept.of(following).drop()


def put_back_missing(following: Following) -> None:
    """Put back the files that a killed run had removed to write them anew, and drop the rest."""
    kept = _Kept.of(following)
    kept.put_back_files(
        path for path in kept.changed if not os.path.lexists(following.folder / path)
    )
    kept.drop()


def _is_file(place: Path) -> bool:
    return place.is_symlink() or place.is_file()


def _keep(there: Path, kept: Path) -> None:
    """Keep a file: by a second name, which takes no room, where the disk is the same."""
    try:
        os.link(there, kept, follow_symlinks=False)
    except OSError:
        shutil.copy2(there, kept, follow_symlinks=False)
