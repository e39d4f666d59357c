"""Trees read and written entry by entry, each read once."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

TREE = b"40000"
FILE = b"100644"
FILES = frozenset((FILE, b"100755"))
# What git writes. It reads others, such as 040000 and 100664, and writes these in their place.
_MODES = FILES | {TREE, b"120000", b"160000"}
_ID = 40  # digits of a SHA-1

_ENTRY = re.compile(rb"([0-7]+) ([^\0/]+)\0(.{20})", re.DOTALL)
_COMMIT = re.compile(rb"tree ([0-9a-f]{40})\n")


class TreeEntry(NamedTuple):
    """What a tree holds under one name.

    Attributes:
        mode: Its mode as trees have it, such as ``100644``.
        oid: The 20 bytes of its SHA-1.
    """

    mode: bytes
    oid: bytes


Entries = Mapping[bytes, TreeEntry]
EMPTY: Entries = {}


class UnreadableError(Exception):
    """An object is missing or of another form than expected; git itself knows what to say of it."""


class TreeStore:
    """The trees of a repository whose ids are SHA-1; several threads may read and write.

    Args:
        read: Gives the bytes of an object, or raises ValueError where there is none.
        write: Stores a tree, given by its bytes, and gives its id.
    """

    def __init__(self, read: Callable[[str], bytes], write: Callable[[bytes], str]) -> None:
        self._read = read
        self._write = write
        self._known: dict[bytes, Entries] = {}
        self._of_commit: dict[str, bytes] = {}

    def of_commit(self, commit: str) -> bytes:
        """The id of a commit's tree.

        Raises:
            UnreadableError: There is no such commit.
        """
        if commit not in self._of_commit:
            found = _COMMIT.match(self._object(commit))
            if found is None:
                raise UnreadableError(commit)
            self._of_commit[commit] = bytes.fromhex(found[1].decode())
        return self._of_commit[commit]

    def entries(self, tree: bytes) -> Entries:
        """The entries of a tree by name.

        Raises:
            UnreadableError: There is no such tree, or it is not of the usual form.
        """
        if tree not in self._known:
            data = self._object(tree.hex())
            found = _ENTRY.findall(data)
            if sum(len(mode) + len(name) + len(oid) + 2 for mode, name, oid in found) != len(data):
                raise UnreadableError(tree.hex())
            if not _MODES.issuperset(mode for mode, _, _ in found):
                raise UnreadableError(tree.hex())
            self._known[tree] = {name: TreeEntry(mode, oid) for mode, name, oid in found}
        return self._known[tree]

    def entry(self, tree: bytes, *path: bytes) -> TreeEntry | None:
        """What stands at a path, given name by name; None if nothing does.

        Raises:
            UnreadableError: As for ``entries``.
        """
        found: TreeEntry | None = TreeEntry(TREE, tree)
        for name in path:
            if found is None or found.mode != TREE:
                return None
            found = self.entries(found.oid).get(name)
        return found

    def store(self, entries: Entries) -> bytes:
        """Store a tree and give its id."""
        made = self._write(b"".join(map(_raw, sorted(entries.items(), key=_place))))
        tree = bytes.fromhex(made)
        self._known[tree] = entries
        return tree

    def _object(self, oid: str) -> bytes:
        if len(oid) != _ID:
            raise UnreadableError(oid)
        try:
            return self._read(oid)
        except ValueError as error:
            raise UnreadableError(oid) from error


def _place(item: tuple[bytes, TreeEntry]) -> bytes:
    name, entry = item
    return name + b"/" if entry.mode == TREE else name  # as git sorts them


def _raw(item: tuple[bytes, TreeEntry]) -> bytes:
    name, entry = item
    return b"%b %b\0%b" % (entry.mode, name, entry.oid)
