"""Which commits contain which, from one reading of what some heads hold beyond main.

To ask git costs a process a question; a sync asks several for every branch.
"""

from collections.abc import Callable, Collection, Sequence

from stack.git_answers import Answer, Sha

_NOTHING_COMMON = 1


class Ancestry:
    """The commits that heads hold beyond main, and those that were made on top of them since.

    What contains what never changes, so what is known here stays true whatever happens to refs.

    Args:
        main: The commit of main.
        listed: The commits that the heads hold and main does not, each with its parents after it,
            on a line; children before their parents, as ``git rev-list --topo-order --parents``
            writes them.
        heads: The commits among them that most questions will be about.
        line: Commits of main that each contain the one before, main last. Where others than these
            are parents of a listed commit, its merge bases are not known.
    """

    def __init__(
        self, main: str, listed: str, heads: Collection[str] = (), line: Sequence[str] = ()
    ) -> None:
        self._main = main
        self._line = line or (main,)
        self._parents: dict[str, tuple[str, ...]] = {}
        # A commit's is greater than those of its ancestors; main and what it holds have none.
        self._number: dict[str, int] = {}
        self._commits: list[str] = []
        # By commit, the numbers of it and its ancestors as bits.
        self._held: dict[str, int] = {}
        # By commit, how far up the line its history goes, -1 if nowhere; others stand elsewhere.
        self._place = {commit: place for place, commit in enumerate(self._line)}
        # The question that is asked most, whose answer is the longest way down.
        self._with_main = {main}
        self._read([row.split(" ") for row in reversed(listed.splitlines())], set(heads))

    def _read(self, rows: Sequence[Sequence[str]], heads: set[str]) -> None:
        last = {parent: at for at, row in enumerate(rows) for parent in row[1:]}
        for at, (commit, *parents) in enumerate(rows):
            self.add(commit, parents)
            # As many bits as commits for every commit would take memory by their square.
            for parent in parents:
                if last[parent] == at and parent not in heads:
                    self._held.pop(parent, None)

    def add(self, commit: str, parents: Sequence[str]) -> None:
        """Take in a commit whose parents are known here or held by main."""
        number = len(self._commits)
        held = 1 << number
        for parent in parents:
            if parent in self._number:
                held |= self._bits(parent)
        self._commits.append(commit)
        self._parents[commit] = tuple(parents)
        self._number[commit] = number
        self._held[commit] = held
        places = [self._place[parent] for parent in parents if parent in self._place]
        if len(places) == len(parents):
            self._place[commit] = max(places, default=-1)
        if not self._with_main.isdisjoint(parents):
            self._with_main.add(commit)

    def knows(self, commit: str) -> bool:
        """Whether a commit is main, or one beyond it that was taken in."""
        return commit == self._main or commit in self._number

    def contains(self, descendant: str, ancestor: str) -> bool:
        """Whether one commit contains another; both have to be known."""
        if ancestor == self._main:
            return descendant in self._with_main
        return bool(self._bits(descendant) >> self._number[ancestor] & 1)

    def merge_bases(self, one: str, other: str) -> tuple[str, ...] | None:
        """The best common ancestors of two commits, both of them known; None if not known.

        They are those common ancestors that no other one contains.
        """
        if one not in self._place or other not in self._place:
            return None
        common = self._bits(one) & self._bits(other)
        best: list[str] = []
        while common:
            # No other one that is left contains the last of them.
            best.append(self._commits[common.bit_length() - 1])
            common &= ~self._bits(best[-1])
        place = min(self._place[one], self._place[other])
        if place > max((self._place[commit] for commit in best), default=-1):
            best.append(self._line[place])
        return tuple(best)

    def _bits(self, commit: str) -> int:
        held = self._held.get(commit)
        if held is not None:
            return held
        held = 0
        pending = [commit]
        while pending:
            number = self._number.get(pending.pop())
            if number is None or held >> number & 1:
                continue
            known = self._held.get(self._commits[number])
            if known is None:
                held |= 1 << number
                pending += self._parents[self._commits[number]]
            else:
                held |= known
        return held


def read_ancestry(run: Callable[..., Answer], main: Sha, heads: Sequence[Sha]) -> Ancestry:
    """Read what ``heads`` hold beyond ``main``, by a few git processes, however many they are.

    Args:
        run: Runs a git command, as ``Repository.run`` does.
        main: The commit of main.
        heads: The heads.
    """
    text = "\n".join([*heads, f"^{main}", ""])
    listed = run("rev-list", "--topo-order", "--parents", "--stdin", stdin=text.encode()).text
    return Ancestry(main, listed, heads, _main_line(run, main, listed))


def _main_line(run: Callable[..., Answer], main: Sha, listed: str) -> list[str]:
    """The commits of main on which the listed ones stand, and main, each containing the last.

    Those that are not on main's first-parent history are left out.
    """
    rows = [line.split(" ") for line in listed.splitlines()]
    below = {parent for _, *parents in rows for parent in parents} - {row[0] for row in rows}
    below.discard(main)
    if len(below) <= 1:
        return [*below, main]
    dated = run("rev-list", "--no-walk=sorted", "--timestamp", *below, "--").text
    by_date = [row.split() for row in dated.splitlines()]
    oldest = [commit for date, commit in by_date if date == by_date[-1][0]]
    if len(oldest) > 1:
        octopus = ("merge-base", "--octopus", *oldest)
        oldest = run(*octopus, accept=(0, _NOTHING_COMMON)).text.split()
    selection = ("--first-parent", "--parents", main, *(f"^{commit}" for commit in oldest))
    listed_line = [row.split() for row in run("rev-list", *selection, "--").text.splitlines()]
    # Below the last that is listed stands its first parent; whatever else git might show there, as
    # a second parent, need not contain or be contained in the others.
    last = listed_line[-1][1:2] if listed_line else []
    line = [*last, *(row[0] for row in reversed(listed_line))]
    return [commit for commit in line if commit in below or commit == main]
