"""Commits that others are another form of: rebased, amended or picked."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from merge_series.history import Commit, History
from stack.git_answers import Sha
from stack.repository import Repository


@dataclass(frozen=True)
class Forms:
    """What a rebase keeps of the commits of branches; read once for all of them.

    Args:
        repository: The fork.
        history: What the branches hold beyond main.
    """

    repository: Repository
    history: History

    def alike(self, commits: Sequence[Commit], own: Iterable[Commit]) -> frozenset[Sha]:
        """Those of some commits that are another form of a branch's own ones.

        They have the same patch, or author, date and subject and a file that both change: a script
        makes several commits in a second.

        Args:
            commits: The commits.
            own: The branch's.
        """
        patches = set()
        origins: dict[tuple[str, str], set[str]] = {}
        for commit in own if commits else ():
            patches.add(self._patches.get(commit.sha))
            origin = commit.author, commit.subject
            origins.setdefault(origin, set()).update(self._files[commit.sha])
        patches.discard(None)
        return frozenset(
            commit.sha
            for commit in commits
            if self._patches.get(commit.sha) in patches
            or self._files[commit.sha] & origins.get((commit.author, commit.subject), set())
        )

    @cached_property
    def _files(self) -> Mapping[Sha, frozenset[str]]:
        """The files that each commit changes; none of a merge."""
        found: dict[Sha, set[str]] = {sha: set() for sha in self.history.commits}
        files: set[str] = set()
        options = ("-r", "-z", "--root", "--no-renames", "--name-only")
        for field in self._told(found, *options).decode(errors="surrogateescape").split("\0"):
            if field in found:
                files = found[Sha(field)]
            else:
                files.add(field)
        return {sha: frozenset(files) for sha, files in found.items()}

    @cached_property
    def _patches(self) -> Mapping[Sha, str]:
        """The ids of patches, of commits that change the same files as others."""
        count = Counter(self._files.values())
        asked = [sha for sha, files in self._files.items() if files and count[files] > 1]
        ids = self.repository.run("patch-id", "--stable", stdin=self._told(asked, "-p", "--root"))
        pairs = (line.split() for line in ids.text.splitlines())
        return {Sha(sha): patch for patch, sha in pairs}

    def _told(self, commits: Collection[Sha], *options: str) -> bytes:
        listed = "".join(f"{sha}\n" for sha in commits).encode()
        return self.repository.run("diff-tree", "--stdin", *options, stdin=listed).stdout
