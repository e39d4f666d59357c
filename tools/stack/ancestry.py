"""Which commits contain which, from one reading of what some heads hold beyond main.

To ask git costs a process a question; a sync asks several for every branch.
"""

from collections.abc import Sequence


class Ancestry:
    """The commits that heads hold beyond main, and those that were made on top of them since.

    What contains what never changes, so what is known here stays true whatever happens to refs.

    Args:
        main: The commit of main.
        listed: The commits that the heads hold and main does not, each with its parents after it,
            on a line; children before their parents, as ``git rev-list --topo-order --parents``
            writes them.
    """

    def __init__(self, main: str, listed: str) -> None:
        self._main = main
        self._parents: dict[str, tuple[str, ...]] = {}
        # Greater than the numbers of its ancestors; main and what it holds have none.
        self._number: dict[str, int] = {}
        for line in reversed(listed.splitlines()):
            commit, *parents = map(str, line.split(" "))
            self.add(commit, parents)

    def add(self, commit: str, parents: Sequence[str]) -> None:
        """Take in a commit whose parents are known here or held by main."""
        self._parents[commit] = tuple(parents)
        self._number[commit] = len(self._number)

    def knows(self, commit: str) -> bool:
        """Whether a commit is main, or one beyond it that was taken in."""
        return commit == self._main or commit in self._number

    def contains(self, descendant: str, ancestor: str) -> bool:
        """Whether one commit contains another; both have to be known."""
        oldest = self._number.get(ancestor, -1)
        seen = {descendant}
        pending = [descendant]
        while pending:
            commit = pending.pop()
            if commit == ancestor:
                return True
            for parent in self._parents.get(commit, ()):
                if parent not in seen and (parent == ancestor or self._rank(parent) > oldest):
                    seen.add(parent)
                    pending.append(parent)
        return False

    def _rank(self, commit: str) -> int:
        return self._number.get(commit, -1)
