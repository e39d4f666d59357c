"""The Python files of ``megatron/core`` in a git tree, through links as Python would find them."""

import posixpath

from stack.errors import Refusal
from stack.git_answers import Entry, Sha, decode
from stack.repository import Repository

SCANNED = "megatron/core"

_LINK = "120000"
_SUBMODULE = "160000"
# As many as Linux follows before it calls them a circle.
_MOST_LINKS = 40


def python_blobs(repository: Repository, tree: Sha) -> dict[str, str]:
    """The blob of each Python file below ``megatron/core`` by its path, links followed.

    Args:
        repository: Where the tree is.
        tree: A tree or commit.

    Raises:
        Refusal: A submodule stands there, or a link leads into one or out of the tree: those files
            the tree does not have. A link that leads nowhere brings none.
    """
    entries = repository.entries(tree, SCANNED)
    links = {path: entry for path, entry in entries.items() if entry.mode == _LINK}
    for path, entry in entries.items():
        if entry.mode == _SUBMODULE:
            raise Refusal(f"{path}: is a submodule, whose files cannot be scanned in {tree[:12]}")
    files = {
        path: str(entry.oid)
        for path, entry in entries.items()
        if path.endswith(".py") and path not in links
    }
    if links:
        everything = repository.entries(tree)
        for path in links:
            files |= _linked(repository, everything, path)
    return files


def _linked(repository: Repository, entries: dict[str, Entry], path: str) -> dict[str, str]:
    """The Python files that a link brings to its path."""
    if posixpath.splitext(path)[1] not in {"", ".py"}:
        return {}
    target = _target(repository, entries, path)
    if target is None:
        return {}
    entry = entries.get(target)
    if entry is not None:
        return {path: str(entry.oid)} if path.endswith(".py") else {}
    if path.startswith(f"{target}/"):
        return {}  # it leads back to a folder around it, whose files are there already
    return {
        path + name.removeprefix(target): str(inner.oid)
        for name, inner in entries.items()
        if name.startswith(f"{target}/") and name.endswith(".py") and inner.mode != _LINK
    }


def _target(repository: Repository, entries: dict[str, Entry], path: str) -> str | None:
    """The path of the file or folder that a link leads to in the end; None if there is none."""
    at: list[str] = []
    steps = path.split("/")
    followed = 0
    while steps:
        step = steps.pop(0)
        if step == "..":
            if not at:
                raise Refusal(f"{path}: is a link out of the tree, to what cannot be scanned")
            at.pop()
            continue
        at += [step] if step not in {"", "."} else []
        entry = entries.get("/".join(at))
        if entry is not None and entry.mode == _SUBMODULE:
            raise Refusal(f"{path}: is a link into a submodule, whose files cannot be scanned")
        if entry is None or entry.mode != _LINK:
            continue
        followed += 1
        text = decode(repository.read_blob(entry.oid))
        if followed > _MOST_LINKS:
            return None
        if text.startswith("/"):
            raise Refusal(f"{path}: is a link out of the tree, to what cannot be scanned")
        at.pop()
        steps = [*text.split("/"), *steps]
    found = "/".join(at)
    is_there = found in entries or any(name.startswith(f"{found}/") for name in entries)
    return found if is_there else None
