"""Refs moved together, and who else has a hand on a branch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stack.errors import Refusal
from stack.repository import Repository, Sha, decode, encode

_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Update:
    """A ref that moves from ``old`` to ``new``; an ``old`` of None creates it."""

    ref: str
    old: Sha | None
    new: Sha


def branch_ref(branch: str) -> str:
    """The full name of a branch's ref."""
    return _HEADS + branch


def heads(repository: Repository, branches: Sequence[str]) -> dict[str, Sha]:
    """The heads of the branches that exist, in the order given.

    Raises:
        Refusal: A branch is a symbolic ref: moving it would move another one.
    """
    if not branches:
        return {}
    answer = repository.run(
        "for-each-ref",
        "--format=%(refname)%00%(objectname)%00%(symref)",
        *map(branch_ref, branches),
    )
    listed = [line.split("\0") for line in answer.text.split("\n") if line]
    found = {ref: head for ref, head, _ in listed}
    aim = {ref: target for ref, _, target in listed if target}
    for branch in branches:
        if branch_ref(branch) in aim:
            raise Refusal(
                f"branch {branch} is a symbolic ref to {aim[branch_ref(branch)]}, which would move "
                "with it; make it a branch of its own"
            )
    # A pattern also matches refs below it: asking by full name leaves those out.
    return {b: Sha(found[branch_ref(b)]) for b in branches if branch_ref(b) in found}


def move(repository: Repository, updates: Sequence[Update], message: str) -> None:
    """Move all refs in one transaction, or none; each must still stand at its old value.

    Args:
        repository: Where the refs are.
        updates: The moves.
        message: What the reflogs say.

    Raises:
        GitFailure: A ref stands elsewhere by now, or a ``reference-transaction`` hook refused.
    """
    if not updates:
        return
    zero = "0" * len(updates[0].new)
    lines = ["start"]
    lines += [f"update {u.ref}\0{u.new}\0{u.old or zero}" for u in updates]
    lines += ["prepare", "commit"]
    text = "".join(f"{line}\0" for line in lines)
    repository.run(
        "update-ref", "-m", message, "--create-reflog", "--stdin", "-z", stdin=encode(text)
    )


def busy_branches(repository: Repository) -> dict[str, str]:
    """Branches that some worktree has a hand on, each with a sentence that names it.

    A branch counts as held where it is checked out, being rebased or bisected: moving its ref alone
    would show the move as staged changes there, or be undone at the end.
    """
    held = {}
    answer = repository.run("worktree", "list", "--porcelain", "-z")
    for record in decode(answer.stdout).split("\0\0"):
        facts = dict(line.partition(" ")[::2] for line in record.split("\0") if line)
        if "branch" in facts and "bare" not in facts:
            held[facts["branch"]] = f"is checked out in {facts['worktree']}"
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


def refuse_busy(repository: Repository, branches: Mapping[str, object]) -> None:
    """Refuse if one of the branches is held somewhere.

    Raises:
        Refusal: It names the branch and the worktree.
    """
    held = busy_branches(repository)
    for branch in branches:
        why = held.get(branch_ref(branch))
        if why is not None:
            raise Refusal(
                f"branch {branch} {why}; "
                "finish there or switch it to another branch (git switch --detach), then run again"
            )


def _linked(common: Path) -> tuple[Path, ...]:
    folder = common / "worktrees"
    return tuple(sorted(folder.iterdir())) if folder.is_dir() else ()
