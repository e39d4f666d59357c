"""A git repository as the tools use it: objects read and written, without a worktree."""

import os
import re
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Self

import git

from stack.ancestry import Ancestry, read_ancestry
from stack.committing import commit_object, signed_off
from stack.errors import Refusal
from stack.git_answers import Answer, Entry, GitFailure, Sha, decode, encode
from stack.git_processes import GitProcesses
from stack.git_version import check_git_version
from stack.object_buffer import ObjectBuffer
from stack.settings import TEMPORARY_INDEX
from stack.trees import TreeStore, UnreadableError

_SHA1_LENGTH = 40
_KEPT_PACK = 100  # objects
# Commands for which objects that are held need not be stored.
_READ_NO_OBJECTS = frozenset(("config", "var"))


class Repository:
    """An open repository.

    Args:
        repo: GitPython's repository; its worktree, if any, is never touched here.
        objects: Where new objects go, if not into the repository: they are read from there as well.

    Attributes:
        is_kept: Whether what is written goes into the repository, not to be dropped again.
        tree_store: Its trees, entry by entry.
    """

    def __init__(self, repo: git.Repo, objects: Path | None = None) -> None:
        self._repo = repo
        self._git = GitProcesses(repo)
        self.is_kept = objects is None
        self._objects = ObjectBuffer(self._store_pack)
        self.tree_store = TreeStore(self._object, partial(self._objects.add, b"tree"))
        self._adding = threading.Lock()
        self._ancestry: Ancestry | None = None
        if objects is not None:
            self._git.keep_objects_in(objects, self.git_path("objects"))

    @classmethod
    def open(cls, path: Path, objects: Path | None = None) -> Self:
        """Open the repository at ``path`` (a worktree, a git directory or a bare repository).

        Raises:
            Refusal: The path holds no repository, git is too old, or git does not open it.
        """
        check_git_version()
        try:
            repo = git.Repo(path.absolute(), expand_vars=False)
        except git.NoSuchPathError as error:
            raise Refusal(
                f"{path}: no such folder; name a repository with --repo (for a clone of "
                "Megatron-LM: --repo . --main upstream/main)"
            ) from error
        except git.InvalidGitRepositoryError as error:
            raise Refusal(f"{path}: not a git repository; name one with --repo") from error
        repository = cls(repo, objects)
        # What git itself does not open, such as another user's repository, is told by git, once.
        repository.run("rev-parse", "--git-dir")
        return repository

    @classmethod
    def create(cls, path: Path, branch: str) -> Self:
        """Make an empty repository at ``path`` whose first branch is ``branch``."""
        check_git_version()
        path.mkdir(parents=True, exist_ok=True)
        git.Git(path.absolute()).init(initial_branch=branch)
        return cls.open(path)

    def __enter__(self) -> Self:
        """Use the repository in a ``with`` statement, which closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the repository: end git's object reader."""
        self._git.close()

    @property
    def directory(self) -> Path:
        """The worktree's folder, or the git directory of a bare repository."""
        return Path(self._repo.working_tree_dir or self._repo.git_dir)

    @property
    def common_directory(self) -> Path:
        """The git directory that all worktrees share."""
        return Path(self._repo.common_dir).resolve()

    @property
    def is_shallow(self) -> bool:
        """Whether history was cut off by a shallow clone."""
        return (self.common_directory / "shallow").exists()

    def git_path(self, name: str) -> Path:
        """Where git keeps ``name``, such as ``objects``, in this repository."""
        return (self.directory / self.run("rev-parse", "--git-path", name).text).resolve()

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        accept: Iterable[int] = (0,),
        inherited: Sequence[int] = (),
    ) -> Answer:
        """Run a git command in the repository.

        Args:
            *arguments: The command and its arguments, without ``git``.
            stdin: What it reads.
            environment: Variables beside the user's own.
            accept: Exit statuses that are answers rather than failures.
            inherited: Open files that the command keeps open as long as it runs.

        Raises:
            GitFailure: It ended with another status.
        """
        if arguments[0] not in _READ_NO_OBJECTS:
            self._objects.flush()
        answer = self._git.run(arguments, stdin, environment, inherited)
        if answer.status not in accept:
            raise GitFailure(arguments, answer)
        return answer

    # Revisions

    def resolve(self, revision: str) -> Sha | None:
        """The commit that ``revision`` names, or None."""
        answer = self.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}",
            accept=(0, 1, 128),
        )  # fmt: skip
        # For ^main git answers ^ and an id, which is no commit but a set of them.
        return Sha(answer.text) if re.fullmatch("[0-9a-f]+", answer.text) else None

    def is_ancestor(self, ancestor: Sha, descendant: Sha) -> bool:
        """Whether ``descendant`` contains ``ancestor``."""
        known = self._ancestry
        if known is not None and known.knows(ancestor) and known.knows(descendant):
            return known.contains(descendant, ancestor)
        answer = self.run("merge-base", "--is-ancestor", ancestor, descendant, accept=(0, 1))
        return answer.status == 0

    def read_ancestry(self, main: Sha, heads: Iterable[Sha]) -> None:
        """Read once what ``heads`` hold beyond ``main``, so that few questions need git.

        Whatever is committed on top of it is known as well.
        """
        self._ancestry = read_ancestry(self.run, main, tuple(heads))

    def merge_bases(self, one: Sha, other: Sha) -> tuple[Sha, ...]:
        """All best common ancestors; empty where the histories are unrelated."""
        known = self.known_merge_bases(one, other)
        if known is not None:
            return known
        answer = self.run("merge-base", "--all", one, other, accept=(0, 1))
        return tuple(Sha(line) for line in answer.text.split())

    def known_merge_bases(self, one: Sha, other: Sha) -> tuple[Sha, ...] | None:
        """All best common ancestors; None where what ``read_ancestry`` read does not tell."""
        known = self._ancestry
        if known is None or not (known.knows(one) and known.knows(other)):
            return None
        bases = known.merge_bases(one, other)
        return None if bases is None else tuple(map(Sha, bases))

    def commits(self, *selection: str) -> tuple[Sha, ...]:
        """The commits that ``git rev-list`` selects, newest first."""
        return tuple(Sha(line) for line in self.run("rev-list", *selection, "--").text.split())

    def message(self, commit: Sha) -> str:
        """The whole message of a commit."""
        return self.run("log", "-1", "--format=%B", commit, "--").text

    def tree_of(self, commit: Sha) -> Sha:
        """The tree of a commit."""
        return self.trees_of([commit])[0]

    def trees_of(self, commits: Sequence[Sha]) -> tuple[Sha, ...]:
        """The trees of commits, in their order."""
        try:
            return tuple(Sha(self.tree_store.of_commit(commit).hex()) for commit in commits)
        except UnreadableError:
            # Ids that are SHA-256, or no commits, of which git says what they are.
            answer = self.run("rev-parse", *(f"{commit}^{{tree}}" for commit in commits))
            return tuple(Sha(line) for line in answer.text.split())

    def check_tree(self, commit: Sha) -> None:
        """See that a commit's tree can be read.

        Raises:
            GitFailure: It cannot; git says why.
        """
        try:
            self.tree_store.entries(self.tree_store.of_commit(commit))
        except UnreadableError:
            self.run("cat-file", "tree", f"{commit}^{{tree}}")

    # Objects

    def entries(self, tree: Sha, *paths: str) -> dict[str, Entry]:
        """Files of a tree or commit by path, all of them or those at or below ``paths``."""
        answer = self.run(
            "--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", tree, "--", *paths
        )
        entries = {}
        for record in answer.stdout.split(b"\0")[:-1]:
            about, _, path = record.partition(b"\t")
            mode, _, oid = about.decode().split(" ")
            entries[decode(path)] = Entry(mode, Sha(oid))
        return entries

    def entry(self, tree: Sha, path: str) -> Entry | None:
        """What ``tree`` holds at ``path``, or None."""
        return self.entries(tree, path).get(path)

    def read_blob(self, oid: Sha) -> bytes:
        """The bytes of a blob.

        Raises:
            GitFailure: The repository has no such blob.
        """
        if len(oid) == _SHA1_LENGTH:
            try:
                return self._object(oid)
            except ValueError:
                pass  # git says it better below
        # GitPython's object reader, one process for all blobs, reads no SHA-256 ids.
        return self.run("cat-file", "blob", oid).stdout

    def _object(self, oid: str) -> bytes:
        waiting = self._objects.get(oid)
        return self._git.read_object(oid) if waiting is None else waiting

    def held_objects(self) -> AbstractContextManager[None]:
        """Keep new commits and trees in memory, until git is run for anything or the end."""
        return self._objects.held()

    def _store_pack(self, pack: bytes, count: int) -> None:
        # As git does with what it fetches: a pack is one file, but many packs are slow to search.
        command = ("index-pack", "--stdin") if count >= _KEPT_PACK else ("unpack-objects", "-q")
        answer = self._git.run(command, pack)
        if answer.status:
            raise GitFailure(command, answer)

    def read_file(self, tree: Sha, path: str) -> bytes | None:
        """The bytes of the file at ``path`` in a tree or commit, or None."""
        entry = self.entry(tree, path)
        return None if entry is None else self.read_blob(entry.oid)

    def write_blobs(self, contents: Sequence[bytes]) -> tuple[Sha, ...]:
        """Store files' bytes exactly as given, with no filter or line-end conversion."""
        if not contents:
            return ()
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, str(number)) for number in range(len(contents))]  # noqa: PTH118 - hot
            for name, content in zip(names, contents, strict=True):
                Path(name).write_bytes(content)
            answer = self.run(
                "hash-object", "-w", "--no-filters", "--stdin-paths",
                stdin=os.fsencode("\n".join(names) + "\n"),
            )  # fmt: skip
        return tuple(Sha(line) for line in answer.text.split())

    def write_files(self, files: Mapping[str, bytes]) -> dict[str, Entry | None]:
        """Store plain files; the result is what ``change_tree`` takes."""
        oids = self.write_blobs(list(files.values()))
        return {path: Entry("100644", oid) for path, oid in zip(files, oids, strict=True)}

    def change_files(self, tree: Sha, files: Mapping[str, bytes]) -> Sha:
        """A tree like ``tree`` with other bytes in some files; one that is there keeps its mode."""
        if not files:
            return tree
        there = self.entries(tree, *files)
        executable = {path for path in files if path in there and there[path].mode == "100755"}
        return self.change_tree(
            tree,
            {
                path: Entry("100755", entry.oid) if entry and path in executable else entry
                for path, entry in self.write_files(files).items()
            },
        )

    def change_tree(self, tree: Sha | None, changes: Mapping[str, Entry | None]) -> Sha:
        """A tree like ``tree`` (None: the empty one) but for ``changes``; None removes a path."""
        if tree is not None and not changes:
            return tree
        nothing = "0" * len(tree or "")
        lines = b"".join(
            encode(f"0 {nothing}\t{path}" if entry is None else f"{entry.mode} {entry.oid}\t{path}")
            + b"\0"
            for path, entry in changes.items()
            if entry or tree
        )
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}  # noqa: PTH118 - a string is needed
            pinned = (*TEMPORARY_INDEX, "-c", "core.ignoreCase=false")
            if tree is not None:
                self.run(*pinned, "read-tree", tree, environment=index)
            self.run(*pinned, "update-index", "-z", "--index-info", stdin=lines, environment=index)
            return Sha(self.run(*pinned, "write-tree", environment=index).text)

    def commit_nowhere(self, tree: Sha, parents: Sequence[Sha]) -> Sha:
        """Store a commit that no ref will hold, the same at all times.

        Args:
            tree: Its tree.
            parents: Its parents.
        """
        nobody = "merge_series <> 0 +0000"
        content = commit_object(tree, parents, nobody, nobody, "Files to merge\n")
        assert content is not None  # noqa: S101 - its message is plain ASCII
        if len(tree) == _SHA1_LENGTH:
            return Sha(self._objects.add(b"commit", content))
        return Sha(self.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=content).text)

    def commit_tree(
        self,
        tree: Sha,
        parents: Sequence[Sha],
        message: str,
        environment: Mapping[str, str] | None = None,
    ) -> Sha:
        """Store a commit by the user, signed off, and signed where ``commit.gpgsign`` asks for it.

        ``git commit-tree`` runs no hook and does not read ``commit.gpgsign`` by itself. A commit
        that is not signed is what it would make, stored by the one process that stores them all.

        Args:
            tree: Its tree, which is there already, as are the parents.
            parents: Its parents.
            message: Its message; the sign-off is added.
            environment: Variables that may name another author or date.

        Raises:
            Refusal: git knows no identity.
            GitFailure: git could not sign.
        """
        author, committer, signs = self._identity if environment is None else self._ask(environment)
        text = signed_off(message, committer)
        made = ""
        if environment is None and not signs:
            content = commit_object(tree, parents, author, committer, text)
            if content is not None and len(tree) == _SHA1_LENGTH:
                made = self._objects.add(b"commit", content)
        if not made:
            signature = ("-S",) if signs else ()
            parent_arguments = (part for parent in parents for part in ("-p", parent))
            answer = self.run(
                "commit-tree", *signature, *parent_arguments, "-F", "-", tree,
                stdin=encode(text), environment=environment,
            )  # fmt: skip
            made = answer.text
        commit = Sha(made)
        with self._adding:
            if self._ancestry is not None and all(map(self._ancestry.knows, parents)):
                self._ancestry.add(commit, parents)
        return commit

    @cached_property
    def _identity(self) -> tuple[str, str, bool]:
        """Author and committer at this moment, which all commits of one run carry, and signing."""
        return self._ask(None)

    def _ask(self, environment: Mapping[str, str] | None) -> tuple[str, str, bool]:
        try:
            author, committer = (
                self.run("var", f"GIT_{who}_IDENT", environment=environment).text
                for who in ("AUTHOR", "COMMITTER")
            )
        except GitFailure as failure:
            said = failure.answer.stderr.strip().splitlines()
            raise Refusal(
                f"git knows no identity to commit by ({said[-1] if said else 'git var failed'}); "
                'say git config --global user.name "YOUR NAME" and git config --global user.email '
                "YOU@EXAMPLE.ORG"
            ) from failure
        sign = self.run("config", "--type=bool", "--get", "commit.gpgsign", accept=(0, 1)).text
        return author, committer, sign == "true"
