"""Worktrees that have a moving branch checked out: brought along, as ``git merge --ff-only`` would.

Files that nobody changed take their new text; one that somebody did is kept, and then no branch
moves at all. Ignored files are kept as well, where git would overwrite them.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from stack.errors import Refusal
from stack.git_answers import Answer, Entry, Sha, decode, encode
from stack.refs import branch_ref, checkouts
from stack.repository import Repository
from stack.settings import TEMPORARY_INDEX

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-apply": "git am",
}


@dataclass(frozen=True, slots=True)
class Following:
    """A worktree that follows its branch.

    Attributes:
        branch: The branch.
        folder: The worktree.
        old: The head it has checked out.
        new: The head it is brought to.
    """

    branch: str
    folder: Path
    old: Sha
    new: Sha


def followers(repository: Repository, branches: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The worktrees that have one of the branches checked out, by branch."""
    found = checkouts(repository)
    return {
        branch: tuple(str(folder) for folder in found[branch_ref(branch)])
        for branch in branches
        if branch_ref(branch) in found
    }


def check_following(followings: Iterable[Following], written: Iterable[Path] = ()) -> None:
    """Check that every worktree can follow; nothing is written.

    Args:
        followings: The worktrees.
        written: Files that are written before they follow, such as SERIES.md.

    Raises:
        Refusal: One holds changes that would be lost, has something under way, or is not there.
    """
    for following in followings:
        folder = following.folder
        if not folder.is_dir():
            raise _refusal(following, "the worktree is not there; bring it back or prune it")
        with Repository.open(folder) as worktree, tempfile.TemporaryDirectory() as temporary:
            for name, what in _UNDER_WAY.items():
                if worktree.git_path(name).exists():
                    raise _refusal(following, f"{what} is under way there; finish it")
            lock = worktree.git_path("index.lock")
            if lock.exists():
                raise _refusal(
                    following,
                    f"a git is at work there, or one that was killed left {lock}; wait for it to "
                    "end, or remove that file",
                )
            paths = changed(worktree, following)
            for file in written:
                if _inside(file, folder) in paths:
                    raise _refusal(
                        following,
                        f"{file} would be written, and the branch brings it in another form as "
                        "well; switch to no branch there (git switch --detach)",
                    )
            for path, (is_new, _) in paths.items():
                if is_new and os.path.lexists(folder / path):
                    raise _refusal(following, f"{path} stands there and is no file of the branch")
            index = Path(temporary) / "index"
            shutil.copyfile(worktree.git_path("index"), index)
            environment = {"GIT_INDEX_FILE": str(index)}
            worktree.run(
                *TEMPORARY_INDEX, "update-index", "-q", "--refresh",
                environment=environment, accept=(0, 1),
            )  # fmt: skip
            answer = worktree.run(
                *TEMPORARY_INDEX, *_forward(following, "-n"),
                environment=environment, accept=(0, 128),
            )  # fmt: skip
            _refuse(following, answer, "commit or stash what is changed there")


def follow(following: Following, instead: str) -> None:
    """Bring a worktree to its branch's new head; also one that a killed run brought half there.

    Args:
        following: The worktree.
        instead: What a person can do where it cannot be.

    Raises:
        Refusal: Somebody changed a file there meanwhile, and it is kept; or git cannot write one,
            as where a filter fails. Some files may be brought then.
    """
    with Repository.open(following.folder) as worktree:
        worktree.run("update-index", "-q", "--refresh", accept=(0, 1))
        _take_what_is_there(worktree, following)
        _refuse(following, worktree.run(*_forward(following), accept=(0, 1, 128)), instead)
        # Of a file that it cannot remove git says so and goes on.
        for path, (_, entry) in changed(worktree, following).items():
            there = following.folder / path
            if entry is None and (there.is_symlink() or there.is_file()):
                raise _refusal(following, f"{path} cannot be removed; {instead}")


def lead_back(following: Following, instead: str) -> None:
    """Bring a worktree back from its branch's new head, wherever a killed run left it on the way.

    Raises:
        Refusal: As for ``follow``.
    """
    with Repository.open(following.folder) as worktree:
        worktree.run("update-index", "-q", "--refresh", accept=(0, 1))
        _take_what_is_there(worktree, following)
    follow(replace(following, old=following.new, new=following.old), instead)


def _forward(following: Following, *options: str) -> tuple[str, ...]:
    """The command that ``git merge --ff-only`` is made of, but for the ref."""
    setting = ("-c", "submodule.recurse=false")
    return (*setting, "read-tree", "-m", "-u", *options, following.old, following.new)


def _take_what_is_there(worktree: Repository, following: Following) -> None:
    """Note in the index which files have their new text already: a kill came before that."""
    paths = changed(worktree, following)
    with tempfile.TemporaryDirectory() as temporary:
        environment = {"GIT_INDEX_FILE": os.path.join(temporary, "index")}  # noqa: PTH118 - a string is needed
        worktree.run(*TEMPORARY_INDEX, "read-tree", following.new, environment=environment)
        worktree.run(
            *TEMPORARY_INDEX, "update-index", "-q", "--refresh",
            environment=environment, accept=(0, 1),
        )  # fmt: skip
        answer = worktree.run("diff-files", "--name-only", "-z", environment=environment)
    other = set(decode(answer.stdout).split("\0"))
    lines = "".join(
        f"{entry.mode} {entry.oid}\t{path}\0"
        for path, (_, entry) in paths.items()
        if entry and path not in other
    )
    worktree.run("update-index", "-z", "--index-info", stdin=encode(lines))


def changed(worktree: Repository, following: Following) -> dict[str, tuple[bool, Entry | None]]:
    """The paths that differ: whether each is new, and what it becomes (None: it goes)."""
    command = ("diff-tree", "-r", "-z", "--raw", "--no-renames", following.old, following.new)
    answer = worktree.run(*command)
    records = iter(decode(answer.stdout).split("\0")[:-1])
    paths: dict[str, tuple[bool, Entry | None]] = {}
    for about in records:
        _, mode, _, oid, status = about.split(" ")
        entry = None if status == "D" else Entry(mode, Sha(oid))
        paths[next(records)] = status == "A", entry
    return paths


def _inside(file: Path, folder: Path) -> str:
    """A file as the worktree at ``folder`` names it; empty for one outside."""
    place = folder.resolve()
    return file.relative_to(place).as_posix() if file.is_relative_to(place) else ""


def _refuse(following: Following, answer: Answer, instead: str) -> None:
    if answer.status:
        said = " ".join(answer.stderr.split())
        raise _refusal(following, f"{said}; {instead}")


def _refusal(following: Following, why: str) -> Refusal:
    return Refusal(
        f"branch {following.branch} is checked out in {following.folder} and cannot be "
        f"fast-forwarded there: {why}"
    )
