"""The Python files of ``megatron/core`` in a git tree, through links as Python would find them."""

import posixpath

from stack.errors import Refusal
from stack.git_answers import Entry, Sha, decode
from stack.repository import Repository

SCANNED = "megatron/core"

_LINK = "120000"
_SUBMODULE = "160000"


def python_blobs(repository: Repository, tree: Sha) -> dict[str, str]:
    """The blob of each Python file below ``megatron/core`` by its path, links followed.

    Args:
        repository: Where the tree is.
        tree: A tree or commit.

    Raises:
        Refusal: A submodule stands there, whose files the tree does not have, or a link that does
            not lead to a file or folder of the tree.
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
    target = _target(repository, entries, path)
    if target is None:
        suffix = posixpath.splitext(path)[1]
        if suffix in {"", ".py"}:
            raise Refusal(f"{path}: is a link that leads to no file or folder of the tree")
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
    """The path of the file or folder that a link leads to in the end."""
    seen = set()
    while path not in seen:
        seen.add(path)
        entry = entries.get(path)
        if entry is None:
            folder = any(name.startswith(f"{path}/") for name in entries)
            return path if folder else None
        if entry.mode != _LINK:
            return path
        text = decode(repository.read_blob(entry.oid))
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
    return None
