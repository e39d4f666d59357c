"""The repository that the branches are pushed to."""

import subprocess

from small_fork import Fork


class Remote:
    """A bare repository beside the fork, which is there from the first push on.

    Args:
        fork: The fork.
    """

    def __init__(self, fork: Fork) -> None:
        self._fork = fork
        self.path = fork.root / "remote"
        self._hook = self.path / "hooks" / "update"

    def make(self) -> None:
        """Make it, with main as it is now."""
        if not self.path.exists():
            subprocess.run(["git", "init", "--quiet", "--bare", self.path], check=True)
            self._fork.git("remote", "add", "origin", str(self.path))
            self._fork.git("push", "--quiet", "origin", "main")

    def heads(self) -> dict[str, str]:
        """All that it has."""
        listed = self._fork.git(f"--git-dir={self.path}", "for-each-ref")
        rows = (line.split() for line in listed.splitlines())
        return {ref: head for head, _, ref in rows}

    def move(self, ref: str, head: str) -> None:
        """Have somebody else move a branch there."""
        self._fork.git(f"--git-dir={self.path}", "update-ref", ref, head)

    def commit_on(self, head: str) -> str:
        """A commit there that nobody has here."""
        tree = f"{head}^{{tree}}"
        here = f"--git-dir={self.path}"
        return self._fork.git(here, "commit-tree", "-p", head, "-m", "Of somebody else", tree)

    def refuse(self, ref: str) -> None:
        """Take anything but one branch."""
        self._hook.parent.mkdir(exist_ok=True)
        self._hook.write_text(f'#!/bin/sh\ntest "$1" != "{ref}"\n')
        self._hook.chmod(0o755)

    def take_all(self) -> None:
        """Take every branch again."""
        self._hook.unlink(missing_ok=True)
