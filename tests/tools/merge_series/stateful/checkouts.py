"""Worktrees in which people have branches checked out, some with changes that are not committed."""

from typing import TYPE_CHECKING

from small_fork import Fork

if TYPE_CHECKING:
    from pathlib import Path

STRAY = "new.txt"  # where a branch may come to have a file


class Checkouts:
    """The worktrees by branch.

    Args:
        fork: The repository.

    Attributes:
        folders: The worktrees by branch.
        changes: What people changed there, by branch and path.
    """

    def __init__(self, fork: Fork) -> None:
        self._fork = fork
        self._count = 0
        self.folders: dict[str, Path] = {}
        self.changes: dict[str, dict[str, bytes]] = {}

    def add(self, branch: str) -> None:
        """Check a branch out."""
        self._count += 1
        folder = self._fork.root / f"checkout{self._count}"
        self._fork.git("worktree", "add", "--quiet", str(folder), branch)
        self.folders[branch], self.changes[branch] = folder, {}

    def remove(self, branch: str) -> None:
        """Remove a worktree with what was changed there."""
        self._fork.git("worktree", "remove", "--force", str(self.folders.pop(branch)))
        del self.changes[branch]

    def rename(self, branch: str, name: str) -> None:
        """Know a branch that was renamed under its new name."""
        for known in (self.folders, self.changes):
            if branch in known:
                known[name] = known.pop(branch)

    def edit(self, branch: str, place: int) -> None:
        """Change one of the files there, or put a new one beside them."""
        folder = self.folders[branch]
        paths = [*sorted(path for path in self._disk(branch) if path.endswith(".txt")), STRAY]
        path = paths[place % len(paths)]
        before = (folder / path).read_bytes() if (folder / path).exists() else b""
        self.changes[branch][path] = before + b"not committed\n"
        (folder / path).write_bytes(self.changes[branch][path])

    def discard(self, branch: str) -> list[str]:
        """Drop what was changed there, and bring the worktree to its branch's head.

        Returns:
            The paths that were changed.
        """
        paths, self.changes[branch] = list(self.changes[branch]), {}
        folder = self.folders[branch]
        for path in paths:
            (folder / path).unlink()
        self._fork.git("-C", str(folder), "reset", "--quiet", "--hard")
        return paths

    def kept(self) -> dict[str, bytes]:
        """Every file there and every index."""
        kept = {}
        for branch, folder in self.folders.items():
            about = self._fork.path / "worktrees" / folder.name
            kept |= {f"{folder}: {path}": text for path, text in self._disk(branch).items()}
            kept |= {f"{folder}: {name}": (about / name).read_bytes() for name in ("HEAD", "index")}
        return kept

    def check(self, heads: dict[str, str]) -> None:
        """Every worktree shows its branch's head, with what people changed there and no more."""
        for branch, folder in self.folders.items():
            about = self._fork.path / "worktrees" / folder.name
            assert (about / "HEAD").read_text() == f"ref: refs/heads/{branch}\n"
            staged = self._fork.git("-C", str(folder), "diff-index", "--cached", "HEAD")
            assert not staged, (branch, staged)
            assert self._disk(branch) == self._fork.files(heads[branch]) | self.changes[branch]

    def _disk(self, branch: str) -> dict[str, bytes]:
        folder = self.folders[branch]
        files = (file for file in folder.rglob("*") if file.is_file() and file.name != ".git")
        return {str(file.relative_to(folder)): file.read_bytes() for file in files}
