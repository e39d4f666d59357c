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
        # A commit's is greater than those of its ancestors; main and what it holds have none.
        self._number: dict[str, int] = {}
        # The question that is asked most, whose answer is the longest way down.
        self._with_main = {main}
        for line in reversed(listed.splitlines()):
            commit, *parents = line.split(" ")
            self.add(commit, parents)

    def add(self, commit: str, parents: Sequence[str]) -> None:
        """Take in a commit whose parents are known here or held by main."""
        self._parents[commit] = tuple(parents)
        self._number[commit] = len(self._number)
        if not self._with_main.isdisjoint(parents):
            self._with_main.add(commit)

    def knows(self, commit: str) -> bool:
        """Whether a commit is main, or one beyond it that was taken in."""
        return commit == self._main or commit in self._number

    def contains(self, descendant: str, ancestor: str) -> bool:
        """Whether one commit contains another; both have to be known."""
        if ancestor == self._main:
            return descendant in self._with_main
        oldest = self._number[ancestor]
        seen = {descendant}
        pending = [descendant]
        while pending:
            commit = pending.pop()
            if commit == ancestor:
                return True
            for parent in self._parents.get(commit, ()):
                if parent not in seen and self._number.get(parent, -1) >= oldest:
                    seen.add(parent)
                    pending.append(parent)
        return False
