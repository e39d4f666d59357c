"""What main took back of PRs without saying so, and what it brought again: told by its trees.

A commit with another title may be the inverse of a landing, a PR may be taken out in several steps,
and a merge may bring a revert that only its side names. So what counts is what main has in the end:
a PR is taken out where the reverse of its landing changes nothing in main any more.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from merge_series.history import History
from merge_series.mainline import MainLine, patch_id
from merge_series.plan import is_synced
from merge_series.reverted_tree import changed_files
from merge_series.reverts import Key, Round, holders, read_rounds, recorded_landings
from stack.git_answers import Entry, Sha
from stack.merging import Merge, TreeMerger
from stack.model import Series
from stack.repository import Repository


def known_rounds(
    line: MainLine, series: Series, history: History, named: Mapping[int, str]
) -> dict[int, tuple[Round, ...]]:
    """As ``read_rounds``, with what the branches record and what main's trees tell.

    Args:
        line: Main's commits.
        series: The series.
        history: What the branches hold.
        named: Commits of main that end a PR's landing by its number, where a person says it.
    """
    line = _since_landings(line, history)
    rounds = read_rounds(line, series, history, named, {})
    recorded = {
        key for commit in history.commits.values() for key in commit.overrules | commit.follows
    }
    recorded -= {r.key for mine in rounds.values() for one in mine for r in one.reverts}
    taken: dict[Key, Key | None] = dict.fromkeys(recorded)
    if recorded:
        rounds = read_rounds(line, series, history, named, taken)
    again = _brought_again(line, rounds)
    if again:
        named = {**again, **named}
        rounds = read_rounds(line, series, history, named, taken)
    found = {
        key: whole
        for number, mine in rounds.items()
        if any(is_synced(series.pull_requests[n]) for n in holders(history, series, number))
        for key, whole in _taken_out(line, series, number, mine[-1], recorded)
    }
    return read_rounds(line, series, history, named, taken | found) if found else rounds


def _since_landings(line: MainLine, history: History) -> MainLine:
    """Main's commits since the oldest landing that branches record, also where all have it."""
    older = [f"{sha}^1" for sha in recorded_landings(history) if line.place(sha) < 0]
    if not older:
        return line
    begin = line.commits[0].parents[0] if line.commits else line.main
    return MainLine.read(line.repository, line.main, dict(enumerate(map(Sha, [begin, *older]))))


def _brought_again(line: MainLine, rounds: Mapping[int, tuple[Round, ...]]) -> dict[int, Sha]:
    """Commits by which main has a PR again that it reverted, though they do not say so."""
    found: dict[int, Sha] = {}
    for number, mine in rounds.items():
        for revert in mine[-1].reverts:
            if revert.ended_by is None and len(revert.undone) == 1:
                patch = patch_id(line.repository, revert.undone[0])
                later = (s for s in line.touching(revert.undone) if line.place(s) > revert.place)
                same = [sha for sha in later if patch_id(line.repository, sha) == patch]
                found |= {number: same[0]} if same else {}
    return found


def _taken_out(
    line: MainLine, series: Series, number: int, last: Round, recorded: Collection[Key]
) -> Iterator[tuple[Key, Key | None]]:
    """The commits that take out the last landing of a PR, each with that which it is a step of.

    Of those that only branches record, what each is a step of is told again.
    """
    landing = Landed.read(line.repository, last.left or last.brings, series.generated)
    if landing is None or not landing.is_gone(line.main):
        return
    begin = 1 + max(map(line.place, last.brings))
    commits = line.commits[begin:]
    at = bisect_left(commits, True, key=lambda commit: landing.is_gone(commit.sha))  # noqa: FBT003
    if at == len(commits) or (not at and landing.is_gone(commits[0].parents[0])):
        return  # every branch has it
    telling = [revert for revert in last.reverts if revert.key not in recorded]
    known = {revert.key for revert in telling}
    said = (r.key for r in telling if landing.commits <= set(r.undone))
    whole = next(said, (commits[at].sha, number))
    for sha in landing.steps(commits[0].parents[0], commits[at].sha):
        if (sha, number) not in known:
            yield (sha, number), None if (sha, number) == whole else whole


@dataclass(frozen=True, slots=True)
class Landed:
    """What a PR brought to main.

    Attributes:
        repository: The fork.
        commits: The commits of main that brought it.
        below: The commit before them.
        whole: A commit that has beyond that only what they brought.
        files: The files that they changed, with what they made of each.
        generated: Files that are made again in any case, and so are not compared.
    """

    repository: Repository
    commits: frozenset[Sha]
    below: Sha
    whole: Sha
    files: Mapping[str, Entry | None]
    generated: Collection[str]

    @classmethod
    def read(
        cls, repository: Repository, commits: Sequence[Sha], generated: Collection[str]
    ) -> "Landed | None":
        """Read it off its commits, oldest first; None if they changed nothing or did not agree."""
        if not commits:
            return None
        trees = TreeMerger(repository)
        above = {sha: repository.commits("--no-walk", f"{sha}^1")[0] for sha in commits}
        made = below = above[commits[0]]
        for sha in commits:
            merge = trees.merge(made, sha, above[sha])
            if merge.conflicts:
                return None
            made = repository.commit_nowhere(merge.tree, ())
        paths = changed_files(repository, below, made).difference(generated)
        if not paths:
            return None
        there = repository.entries(made, *paths)
        files = {path: there.get(path) for path in paths}
        return cls(repository, frozenset(commits), below, made, files, generated)

    def is_gone(self, commit: Sha) -> bool:
        """Whether main had nothing of it any more at a commit."""
        return not self.rest(commit)

    def rest(self, commit: Sha) -> set[str]:
        """Files in which a commit has something of it, by the names that they have there."""
        there = self.repository.entries(commit, *self.files)
        same = {path for path, entry in self.files.items() if there.get(path) == entry}
        if same:
            return same
        merge = self._reversed(commit)
        differing = changed_files(self.repository, commit, merge.tree)
        return differing.union(c.path for c in merge.conflicts).difference(self.generated)

    def _reversed(self, commit: Sha) -> Merge:
        return TreeMerger(self.repository).merge(commit, self.below, self.whole)

    def steps(self, above: Sha, last: Sha) -> Iterator[Sha]:
        """The commits of main, after one and up to that by which it is gone, which took some."""
        options = ("--first-parent", "--reverse", last, f"^{above}")
        touching = self.repository.run(
            "--literal-pathspecs", "rev-list", *options, "--", *sorted(self.files)
        ).text.split()
        left = self._left(above)
        for sha in map(Sha, touching):
            before, left = left, self._left(sha)
            if left < before and sha != last:
                yield sha
        yield last

    def _left(self, commit: Sha) -> int:
        """How much main still had of it at a commit: the lines that its reverse would change."""
        merge = self._reversed(commit)
        rows = self.repository.run("diff-tree", "-r", "--numstat", commit, merge.tree).text
        counts = [row.split("\t")[:2] for row in rows.splitlines()]
        lines = sum(int(n) if n.isdecimal() else 1 for row in counts for n in row)
        return lines + len(merge.conflicts)
