"""Three-way merges of trees whose two sides did not change the same thing.

Where no path was changed by both sides, and no file and directory stand against each other, the
merge that git makes takes each entry from the side that changed it, whatever was renamed: a rename
matters where the other side changed the file at its old place, or added one in a directory that is
gone, and either is a change of the same entry by both sides. Of all else git has the say.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Self

from stack.trees import FILES, TREE, Entries, TreeEntry, TreeStore


class Contents(NamedTuple):
    """A file that both sides of a merge changed, by the ids of its bytes.

    Attributes:
        base: In the common ancestor.
        sides: In both sides, sorted: which is whose makes no difference if they merge cleanly.
    """

    base: bytes
    sides: tuple[bytes, bytes]

    @classmethod
    def of(cls, base: bytes, one: bytes, other: bytes) -> Self:
        """The file of these ids."""
        return cls(base, (min(one, other), max(one, other)))


class UnsureError(Exception):
    """Both sides changed an entry in ways that only git merges."""


def merge_trees(
    trees: TreeStore, merged: Mapping[Contents, bytes], base: bytes, ours: bytes, theirs: bytes
) -> bytes:
    """Merge two trees by their entries.

    Args:
        trees: The repository's trees.
        merged: Files that both sides changed, and how git merged them.
        base: Id of the common ancestor's tree.
        ours: Id of the one tree.
        theirs: Id of the other.

    Returns:
        Id of the merged tree, which is stored.

    Raises:
        UnsureError: It takes more than that.
        stack.trees.UnreadableError: A tree is missing, or was not stored.
    """
    if base == ours:
        return theirs
    if base == theirs:
        return ours
    before, mine, other = map(trees.entries, (base, ours, theirs))
    result = dict(other)
    for name in _changed(before, mine):
        entry = _merge(trees, merged, before.get(name), mine.get(name), other.get(name))
        if entry is None:
            result.pop(name, None)
        else:
            result[name] = entry
    if result == mine:
        return ours
    return theirs if result == other else trees.store(result)


def both_changed(
    trees: TreeStore, base: bytes, ours: bytes, below: tuple[bytes, bytes]
) -> Iterator[Contents]:
    """The files that a branch changed and that main changed as well below it.

    Args:
        trees: The repository's trees.
        base: Id of the tree that the branch stands on.
        ours: Id of the branch's tree.
        below: Ids of the trees of main: of the commit below the branch, and of the newest.

    Yields:
        What a merge of main's change into the branch has to merge, if nothing between main and the
        branch changed the file.

    Raises:
        stack.trees.UnreadableError: A tree is missing.
    """
    if base == ours:
        return
    before, mine = trees.entries(base), trees.entries(ours)
    old, new = map(trees.entries, below)
    for name in _changed(before, mine) & _changed(old, new):
        sides = [there.get(name) for there in (before, mine, old, new)]
        first, second, third, fourth = sides
        if first is None or second is None or third is None or fourth is None:
            continue
        modes = {entry.mode for entry in sides if entry is not None}
        if modes == {TREE}:
            yield from both_changed(trees, first.oid, second.oid, (third.oid, fourth.oid))
        elif len(modes) == 1 and modes <= FILES and first == third and second != fourth:
            yield Contents.of(first.oid, second.oid, fourth.oid)


def _merge(
    trees: TreeStore,
    merged: Mapping[Contents, bytes],
    base: TreeEntry | None,
    ours: TreeEntry | None,
    theirs: TreeEntry | None,
) -> TreeEntry | None:
    """Merge an entry that ours changed."""
    if theirs == base:
        return ours
    if base is None or ours is None or theirs is None:
        raise UnsureError
    modes = {base.mode, ours.mode, theirs.mode}
    if modes == {TREE}:
        tree = merge_trees(trees, merged, base.oid, ours.oid, theirs.oid)
        return TreeEntry(TREE, tree) if trees.entries(tree) else None
    content = merged.get(Contents.of(base.oid, ours.oid, theirs.oid))
    if content is None or not (modes <= FILES and len(modes) == 1):
        raise UnsureError
    return TreeEntry(ours.mode, content)


def _changed(before: Entries, after: Entries) -> set[bytes]:
    return {name for name, _ in before.items() ^ after.items()}
