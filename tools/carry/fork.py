"""The fork built from releases: each release is one commit on its main."""

from collections.abc import Sequence
from pathlib import Path

from carry.bases import Base
from stack.errors import Refusal
from stack.git_answers import GitFailure, Sha
from stack.refs import Update, branch_ref, busy_branches, move
from stack.repository import Repository

MAIN = "main"

_TRAILER = "Release"


def open_fork(path: Path) -> Repository:
    """Open the fork at ``path``, or create an empty one there.

    A fork that is created gets an identity of its own where git knows none, since every commit
    needs one and a fresh machine has none.

    Raises:
        Refusal: Something else stands there.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        return Repository.open(path)
    repository = Repository.create(path, MAIN)
    try:
        repository.run("var", "GIT_COMMITTER_IDENT")
    except GitFailure:
        repository.run("config", "user.name", "Megatron series")
        repository.run("config", "user.email", "series@localhost")
    return repository


def import_release(
    repository: Repository, base: Base, version: str, inherited: Sequence[int] = ()
) -> Sha | None:
    """Put a release on main as one commit.

    Args:
        repository: The fork; the caller holds its lock.
        base: The release's files.
        version: Its version.
        inherited: Open files that git holds open while it moves main.

    Returns:
        The new commit, or None if main has that release already.

    Raises:
        Refusal: Main is checked out with changes of somebody's, or where git cannot move it.
    """
    main = repository.resolve(branch_ref(MAIN))
    if main is not None and version in imported_releases(repository, main):
        return None
    files = repository.write_files({path: base.read(path) or b"" for path in base.paths()})
    tree = repository.change_tree(None, files)
    message = f"Import {base.name}\n\n{_TRAILER}: {version}"
    parents = [] if main is None else [main]
    commit = repository.commit_tree(tree, parents, message)
    _advance(repository, Update(branch_ref(MAIN), main, commit), base.name, inherited)
    return commit


def imported_releases(repository: Repository, main: Sha) -> tuple[str, ...]:
    """The releases that main holds, newest first."""
    form = f"--format=%(trailers:key={_TRAILER},valueonly)"
    answer = repository.run("log", "--first-parent", form, main, "--")
    return tuple(line for line in answer.text.split("\n") if line)


def _advance(repository: Repository, update: Update, name: str, inherited: Sequence[int]) -> None:
    held = busy_branches(repository).get(branch_ref(MAIN))
    if held is None:
        move(repository, [update], f"carry: import {name}", inherited)
        return
    if held != f"is checked out in {repository.directory.resolve()}":
        raise Refusal(f"main {held}; switch it to another branch there (git switch --detach)")
    # Settings may ask for signed commits, or put local changes away first.
    answer = repository.run(
        "merge", "--ff-only", "--quiet", "--no-verify-signatures", "--no-autostash",
        update.new or "", accept=(0, 1, 128), inherited=inherited,
    )  # fmt: skip
    if answer.status:
        said = " ".join(answer.stderr.split())
        why = "and git cannot move it there"
        if "would be overwritten" in said:
            why = "with local changes; commit or stash them"
        raise Refusal(f"{repository.directory}: main is checked out {why}: {said}")
