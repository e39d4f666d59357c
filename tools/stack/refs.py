"""Refs moved together, and who else has a hand on a branch."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stack.errors import Refusal
from stack.git_answers import Sha, decode, encode
from stack.repository import Repository

_HEADS = "refs/heads/"

_LONGEST_LOCK = 2.0  # seconds


@dataclass(frozen=True, slots=True)
class Update:
    """A ref that moves from ``old`` to ``new``: None before creates it, None after deletes it."""

    ref: str
    old: Sha | None
    new: Sha | None


def branch_ref(branch: str) -> str:
    """The full name of a branch's ref."""
    return _HEADS + branch


def heads(repository: Repository, branches: Sequence[str]) -> dict[str, Sha]:
    """The heads of the branches that exist, in the order given.

    Raises:
        Refusal: A branch is a symbolic ref: moving it would move another one. Or it stands at a tag
            object, which git itself lets no branch do.
    """
    refs = [branch_ref(branch) for branch in branches]
    listed = _listed(repository, refs, "%(objecttype)")
    for branch in branches:
        _, kind = listed.get(branch_ref(branch), ("", "commit"))
        if kind != "commit":
            ref = branch_ref(branch)
            raise Refusal(
                f"branch {branch} stands at a {kind} and not at a commit; set it to the commit "
                f"(git update-ref {ref} {ref}^0)"
            )
    found = {ref: head for ref, (head, _) in listed.items()}
    return {b: found[branch_ref(b)] for b in branches if branch_ref(b) in found}


def values(repository: Repository, refs: Sequence[str]) -> dict[str, Sha]:
    """What the refs that exist stand at, by full name.

    Raises:
        Refusal: One is a symbolic ref: moving it would move another one.
    """
    return {ref: head for ref, (head, _) in _listed(repository, refs, "").items()}


def _listed(repository: Repository, refs: Sequence[str], field: str) -> dict[str, tuple[Sha, str]]:
    """What the refs that exist stand at, each with what git has for ``field``.

    Raises:
        Refusal: As for ``values``.
    """
    if not refs:
        return {}
    answer = repository.run(
        "for-each-ref", f"--format=%(refname)%00%(objectname)%00%(symref)%00{field}", *refs
    )
    listed = [line.split("\0") for line in answer.text.split("\n") if line]
    found = {ref: (Sha(head), value) for ref, head, _, value in listed}
    aim = {ref: target for ref, _, target, _ in listed if target}
    for ref in refs:
        if ref in aim:
            raise Refusal(
                f"branch {ref.removeprefix(_HEADS)} is a symbolic ref to {aim[ref]}, which would "
                "move with it; make it a branch of its own"
            )
    # A pattern also matches refs below it: asking by full name leaves those out.
    return {ref: found[ref] for ref in refs if ref in found}


def move(
    repository: Repository, updates: Sequence[Update], message: str, inherited: Sequence[int] = ()
) -> None:
    """Move all refs in one transaction, or none; each must still stand at its old value.

    Args:
        repository: Where the refs are.
        updates: The moves.
        message: What the reflogs say.
        inherited: Open files that git shall hold open as long as it runs.

    Raises:
        GitFailure: A ref stands elsewhere by now, or a ``reference-transaction`` hook refused. If
            git itself died or could not write, some refs may have moved.
    """
    if not updates:
        return
    text = "".join(f"{line}\0" for line in ("start", *map(_line, updates), "prepare", "commit"))
    repository.run(
        "update-ref", "-m", message, "--create-reflog", "--stdin", "-z",
        stdin=encode(text), inherited=inherited,
    )  # fmt: skip


def _line(update: Update) -> str:
    if update.new is None:
        return f"delete {update.ref}\0{update.old or ''}"
    return f"update {update.ref}\0{update.new}\0{update.old or '0' * len(update.new)}"


def checkouts(repository: Repository) -> dict[str, list[Path]]:
    """The worktrees each ref is checked out in, by full name."""
    found: dict[str, list[Path]] = {}
    answer = repository.run("worktree", "list", "--porcelain", "-z")
    for record in decode(answer.stdout).split("\0\0"):
        facts = dict(line.partition(" ")[::2] for line in record.split("\0") if line)
        if "branch" in facts and "bare" not in facts:
            found.setdefault(facts["branch"], []).append(Path(facts["worktree"]))
    return found


def under_way(repository: Repository) -> dict[str, str]:
    """Refs that a rebase or bisection will set at its end, each with a sentence that says where."""
    held: dict[str, str] = {}
    for folder in (repository.common_directory, *_linked(repository.common_directory)):
        for name, what in (
            ("rebase-merge/head-name", "is being rebased"),
            ("rebase-apply/head-name", "is being rebased"),
            ("BISECT_START", "is being bisected"),
        ):
            file = folder / name
            if file.is_file():
                ref = decode(file.read_bytes()).strip()
                ref = ref if ref.startswith("refs/") else branch_ref(ref)
                held.setdefault(ref, f"{what} ({file})")
        # git rebase --update-refs moves these at its end: a ref, its old and its new value each.
        file = folder / "rebase-merge" / "update-refs"
        if file.is_file():
            for ref in decode(file.read_bytes()).split("\n")[:-1:3]:
                held.setdefault(ref, f"is being rebased ({file})")
    return held


def busy_branches(repository: Repository) -> dict[str, str]:
    """Branches that some worktree has a hand on, each with a sentence that names it.

    A branch counts as held where it is checked out, being rebased or bisected: moving its ref alone
    would show the move as staged changes there, or be undone at the end.
    """
    places = checkouts(repository).items()
    return under_way(repository) | {ref: f"is checked out in {there[-1]}" for ref, there in places}


def refuse_busy(
    repository: Repository,
    branches: Iterable[str],
    *,
    may_be_checked_out: bool = False,
    instead: str = "",
) -> None:
    """Refuse if one of the branches is held somewhere.

    Args:
        repository: The fork.
        branches: The branches.
        may_be_checked_out: Whether a branch may be checked out.
        instead: What a person may also do about a branch that is only checked out, if anything.

    Raises:
        Refusal: It names the branch and the worktree.
    """
    moving = under_way(repository)
    held = moving if may_be_checked_out else busy_branches(repository)
    for branch in branches:
        ref = branch_ref(branch)
        why = moving.get(ref) or held.get(ref)
        if why is None:
            continue
        if ref in moving:
            # git switches to no other branch meanwhile.
            is_bisected = why.startswith("is being bisected")
            end = "git bisect reset" if is_bisected else "git rebase --continue or --abort"
            do = f"finish that there ({end}), then run again"
        else:
            do = (
                "finish there or switch it to another branch (git switch --detach), then run again"
                + (f", or {instead}" if instead else "")
            )
        raise Refusal(f"branch {branch} {why}; {do}")


def remove_stale_locks(repository: Repository, updates: Sequence[Update], since: float) -> None:
    """Remove the lock files that a git killed inside ``move`` left on its refs.

    Git removes its locks however it ends, unless it is killed; nothing else ever removes them.

    Args:
        repository: Where the refs are.
        updates: The moves of that transaction. No git that makes them may be running any more.
        since: When the transaction began at the earliest, in seconds since the epoch.
    """
    locks = {repository.common_directory / f"{u.ref}.lock": u.new for u in updates}
    if None in locks.values():
        locks[repository.common_directory / "packed-refs.lock"] = None
    for lock, value in locks.items():
        try:
            found = lock.stat()
            text = lock.read_text("ascii", "replace").strip()
            # Another command's lock holds another value, or stood there before. An empty one does
            # not say whose it is, but no git keeps one as long as this.
            if found.st_mtime >= since and not text:
                time.sleep(_LONGEST_LOCK)
                found = lock.stat()
            if found.st_mtime >= since and text in {"", value}:
                lock.unlink()
        except (FileNotFoundError, NotADirectoryError):
            continue


def _linked(common: Path) -> tuple[Path, ...]:
    folder = common / "worktrees"
    return tuple(sorted(folder.iterdir())) if folder.is_dir() else ()
