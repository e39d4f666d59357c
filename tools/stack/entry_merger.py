"""Commits merged by the entries of their trees, without a process, where that gives git's merge."""

from collections.abc import Callable, Iterable, Sequence

from stack.git_answers import Sha
from stack.three_way import Contents, UnsureError, merge_trees
from stack.trees import TreeStore, UnreadableError

_MOST_BASES = 2  # git merges several into one first; more than two by commits that it only imagines


class EntryMerger:
    """Merges commits of a repository whose ids are SHA-1; several threads may do so at once.

    Args:
        trees: The repository's trees.
        merge_bases: Gives all best common ancestors of two commits, or None if it cannot tell.
    """

    def __init__(
        self, trees: TreeStore, merge_bases: Callable[[Sha, Sha], Sequence[Sha] | None]
    ) -> None:
        self._trees = trees
        self._merge_bases = merge_bases
        self._merged: dict[Contents, bytes] = {}
        self._known: dict[frozenset[Sha], bytes] = {}

    def merge(self, ours: Sha, theirs: Sha, base: Sha | None = None) -> bytes | None:
        """Merge two commits, with the tree of a third as the base if one is given.

        Returns:
            The id of the tree that git makes of them, which is stored; None where only git can
            tell.
        """
        try:
            if base is None:
                return self._merge(ours, theirs)
            trees = map(self._trees.of_commit, (base, ours, theirs))
            return merge_trees(self._trees, self._merged, *trees)
        except (UnsureError, UnreadableError):
            return None

    def _merge(self, ours: Sha, theirs: Sha) -> bytes:
        pair = frozenset((ours, theirs))
        if pair not in self._known:
            bases = self._merge_bases(ours, theirs)
            if bases is None or not 1 <= len(bases) <= _MOST_BASES:
                raise UnsureError
            sides = map(self._trees.of_commit, (ours, theirs))
            base = (
                self._trees.of_commit(bases[0])
                if len(bases) == 1
                else self._merge(bases[0], bases[1])
            )
            self._known[pair] = merge_trees(self._trees, self._merged, base, *sides)
        return self._known[pair]

    def unknown(self, contents: Iterable[Contents]) -> list[Contents]:
        """Those of some files, each once, of which is not known how git merges them."""
        return [content for content in dict.fromkeys(contents) if content not in self._merged]

    def learn(self, content: Contents, merged: bytes) -> None:
        """Take in how git merges a file that both sides changed: the id of its bytes."""
        self._merged[content] = merged
