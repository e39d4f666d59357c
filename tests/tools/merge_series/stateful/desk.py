"""Where a merge waits for a person, and a person who settles it as the tokens say."""

import json
from collections.abc import Callable
from typing import Any

from small_fork import Fork
from tokens import Events, Tokens, file_of


class Desk:
    """The worktree of a stopped sync.

    Args:
        fork: The repository.
        tokens: All tokens.

    Attributes:
        folder: The worktree.
    """

    def __init__(self, fork: Fork, tokens: Tokens) -> None:
        self._fork, self._tokens = fork, tokens
        self.folder = fork.state / "worktree"

    @property
    def waiting(self) -> dict[str, Any]:
        """What the program keeps of a sync that waits."""
        return json.loads((self._fork.state / "stopped.json").read_text())

    def git(self, *arguments: str) -> str:
        """Run git there."""
        return self._fork.git("-C", str(self.folder), *arguments)

    def unmerged(self) -> dict[str, list[str]]:
        """The paths in conflict, each with the blobs of its stages."""
        found: dict[str, list[str]] = {}
        for record in self.git("ls-files", "--unmerged", "-z").split("\0")[:-1]:
            about, _, path = record.partition("\t")
            found.setdefault(path, []).append(about.split()[1])
        return found

    def conflicted(self) -> list[bytes]:
        """What stands at the paths in conflict."""
        files = (self.folder / path for path in self.unmerged())
        return [file.read_bytes() for file in files if file.exists()]

    def commit_ours(self) -> None:
        """Commit the branch's own files, with the branch as the one parent: no merge at all."""
        ours = self.waiting["pending"]["ours"]
        tree = self._fork.git("rev-parse", f"{ours}^{{tree}}")
        alone = self._fork.git("commit-tree", "-p", ours, "-m", "Not a merge", tree)
        self.git("read-tree", "--reset", "-u", tree)
        self.git("update-ref", "HEAD", alone)

    @property
    def is_ready(self) -> bool:
        """Whether a merge stands there, not one whose making was cut off."""
        return self.waiting["state"] != "preparing" and self.folder.is_dir()

    def settle(self, held: Callable[..., Events], *, commits: bool) -> int:
        """Settle every conflict as the tokens say, and stage or commit that.

        Args:
            held: What commits hold.
            commits: Whether to commit.

        Returns:
            How many files it were.
        """
        desk, pending = self.folder, self.waiting["pending"]
        sides = [pending["ours"], pending["theirs"]]
        events = held(*sides)
        files: set[str] = set()
        for path, blobs in self.unmerged().items():
            named = (file_of(self._fork.blob(blob)) for blob in blobs)
            files |= {file for file in named if file} or {path}
        code = self._tokens.code(events)
        for file in files:
            if file in code:
                (desk / file).write_bytes(code[file])
                continue
            for there in desk.glob("*.txt*"):
                if file_of(there.read_bytes()) == file:
                    there.unlink()
            stood = {path for side in sides for path in self._fork.places(side)(file)}
            if file in self._tokens.files(events):
                path = max(stood & self._tokens.paths(events, file) or stood)
                (desk / path).write_bytes(self._tokens.text(events, file))
        if files:
            self.git("add", "--all")
            if commits:
                self.git("commit", "--quiet", "--no-edit")
        return len(files)
