"""Handing one merge to a person, and taking back what they made of it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from merge_series.operations import Operations, Pending
from stack.errors import ExitCode, Refusal
from stack.merging import pinned
from stack.repository import Entry, Repository, Sha, encode

# Nothing of the user's may run or rewrite in the worktree that the program prepares.
_QUIET = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "rerere.enabled=false",
    "-c",
    "advice.detachedHead=false",
)

_MARKER = re.compile(rb"^(<{7}|>{7})( |$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Staged:
    """The person staged their result: the tree of the worktree's index."""

    tree: Sha


@dataclass(frozen=True, slots=True)
class Committed:
    """The person committed their result: the worktree's head."""

    commit: Sha


def prepare(
    repository: Repository,
    operations: Operations,
    pending: Pending,
    message: str,
    settled: dict[str, Entry | None],
) -> None:
    """Make a worktree in which the merge waits with ordinary conflict markers.

    Args:
        repository: The fork.
        operations: Where the worktree goes.
        pending: The merge.
        message: What a plain ``git commit`` there shall say.
        settled: Files that the program settled; they are staged.
    """
    where = operations.worktree
    repository.run(*_QUIET, "worktree", "add", "--quiet", "--detach", str(where), pending.ours)
    with Repository.open(where) as worktree:
        # Status 1: conflicts, which are the reason to be here.
        merge = pinned("merge", "--no-ff", "--no-commit", "--quiet", pending.theirs)
        worktree.run(*_QUIET, *merge, accept=(0, 1))
        for path, entry in settled.items():
            if entry is not None:
                info = encode(f"{entry.mode} {entry.oid}\t{path}\0")
                worktree.run("update-index", "-z", "--index-info", stdin=info)
                worktree.run("checkout-index", "--force", "--", path)
        worktree.git_path("MERGE_MSG").write_text(message + "\n", "utf-8", "surrogateescape")


def take(operations: Operations, pending: Pending) -> Staged | Committed:
    """Take what the person committed or staged, by whatever tool.

    Raises:
        Refusal: Something is still open; it names the files.
    """
    where = operations.worktree
    with Repository.open(where) as worktree:
        head = worktree.resolve("HEAD")
        unmerged = worktree.run("diff", "--name-only", "--diff-filter=U", "-z").stdout
        if unmerged:
            _refuse(where, f"still in conflict: {_names(unmerged)}; edit, then git add")
        changed = worktree.run("diff", "--name-only", "-z").stdout
        if changed:
            _refuse(
                where, f"changed but not staged: {_names(changed)}; git add or git restore them"
            )
        if head is None:
            _refuse(where, "HEAD names no commit; check out the merge again")
        if head == pending.ours:
            if worktree.resolve("MERGE_HEAD") is None:
                _refuse(
                    where, "the merge is no longer under way and nothing was committed; --abort"
                )
            tree = Sha(worktree.run("write-tree").text)
            _refuse_markers(worktree, where, pending, tree)
            return Staged(tree)
        if worktree.run("diff", "--cached", "--name-only", "-z").stdout:
            _refuse(where, "staged changes on top of the commit; commit or unstage them")
        for side in (pending.ours, pending.theirs):
            if not worktree.is_ancestor(side, head):
                _refuse(
                    where, f"the commit {head[:12]} does not contain {side[:12]}; commit the merge"
                )
        _refuse_markers(worktree, where, pending, worktree.tree_of(head))
        return Committed(head)


def _refuse_markers(worktree: Repository, where: Path, pending: Pending, tree: Sha) -> None:
    """No result may hold a conflict marker that neither parent had."""
    ours, theirs = worktree.entries(pending.ours), worktree.entries(pending.theirs)
    for path, entry in worktree.entries(tree).items():
        sides = [side[path] for side in (ours, theirs) if path in side]
        if entry in sides or entry.mode == "160000":
            continue
        known = {m.group() for s in sides for m in _MARKER.finditer(worktree.read_blob(s.oid))}
        left = {m.group() for m in _MARKER.finditer(worktree.read_blob(entry.oid))}
        if left - known:
            _refuse(where, f"{path} still holds conflict markers; settle it, then git add")


def _names(output: bytes) -> str:
    paths = sorted({path.decode("utf-8", "replace") for path in output.split(b"\0") if path})
    return ", ".join(paths)


def _refuse(where: Path, what: str) -> NoReturn:
    raise Refusal(f"{where}: {what}; then run merge_series sync --continue", ExitCode.WAITING)
