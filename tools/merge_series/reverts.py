"""What main took back of PRs that landed, and what it brought again, as its messages tell.

``git revert`` and hosts name the commit or the PR that is reverted; people name it by its title. A
revert of a revert brings again what that one took back, and so does a reland, whatever its number.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from merge_series.history import MERGED_BY_HOST, History, taken_as_landed
from merge_series.mainline import MainCommit, MainLine, read_commits
from stack.git_answers import Sha
from stack.model import Series

_COMMIT = re.compile(r"\b(?:[Rr]everts?|[Bb]ack(?:s|ed)? out) commits? ([0-9a-f]{7,64})\b")
_PULL = re.compile(r"\b[Rr]everts (?:[\w.-]+/[\w.-]+)?#([1-9][0-9]*)\b")
_AGAIN = re.compile(r"\b[Rr]e-?(?:lands?|applies)(?: of)? (?:[\w.-]+/[\w.-]+)?#([1-9][0-9]*)\b")
_TITLE = re.compile(
    r"^(?:\[[^\]]*\]\s*)*(revert|back(?:s|ed)? out|reapply|re-?land)\b[:\s]*(.+)$", re.IGNORECASE
)
_QUOTED = re.compile(r"^[\"'](.*)[\"'](?:\s*\(#[0-9]+\))?$")
_QUOTES = re.compile(r"(?P<mark>[\"'])(.+?)(?P=mark)(?:\s*\(#[0-9]+\))?(?:[\s,&]|and\b)*")
_NUMBERS = re.compile(r"(?:PRs? )?(?:#[1-9][0-9]*(?:[\s,&]|and\b)*)+")
_NUMBER = re.compile(r"\s*\(#([1-9][0-9]*)\)$")


# The id of the commit, and the number of the PR.
type Key = tuple[Sha, int]


@dataclass(frozen=True, slots=True)
class Revert:
    """A commit of main that takes back a PR that landed, or a part of it.

    Attributes:
        number: The PR.
        place: Where in main's commits it stands.
        commit: The commit.
        undone: The commits of main that it takes back, the newest first; empty if not known.
        ended_by: The commit of main that brings the PR again, if any does.
        part_of: The revert of which it is a step that says nothing of it; one answer is for both.
    """

    number: int
    place: int
    commit: MainCommit
    undone: tuple[Sha, ...]
    ended_by: Sha | None = None
    part_of: Key | None = None

    @property
    def key(self) -> Key:
        """What tells it from every other revert, as trailers name it."""
        return self.commit.sha, self.number

    @property
    def value(self) -> str:
        """The value of a trailer that names it."""
        return f"{self.commit.sha} #{self.number}"


@dataclass(frozen=True, slots=True)
class Round:
    """A landing of a PR and what was reverted of it, up to the next landing.

    Attributes:
        brings: The commits of main that brought it, oldest first.
        named: Those that say so themselves; of the others the history tells it.
        merges: Those that are merges, by the commits that they merge, with the parents before.
        reverts: What takes it back, oldest first.
    """

    brings: tuple[Sha, ...] = ()
    named: frozenset[Sha] = frozenset()
    merges: tuple[tuple[Sha, Sha], ...] = ()
    reverts: tuple[Revert, ...] = ()

    @property
    def is_reverted(self) -> bool:
        """Whether all of it was taken back."""
        undone = {sha for revert in self.reverts for sha in revert.undone}
        return bool(self.reverts) and undone.issuperset(self.brings)

    @property
    def left(self) -> tuple[Sha, ...]:
        """Those of its commits that nothing says to be taken back."""
        undone = {sha for r in self.reverts if r.ended_by is None for sha in r.undone}
        return tuple(sha for sha in self.brings if sha not in undone)


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a commit of main takes back, as commits by PR, and the PRs that it brings."""

    takes: Mapping[int, tuple[Sha, ...]]
    brings: frozenset[int]
    is_named: bool = True


def read_rounds(
    line: MainLine,
    series: Series,
    history: History,
    named: Mapping[int, str],
    taken: Mapping[Key, Key | None],
) -> dict[int, tuple[Round, ...]]:
    """How often each PR landed and was reverted, oldest first.

    Args:
        line: Main's commits.
        series: The series.
        history: What the branches hold.
        named: Commits of main that end a PR's landing by its number, where a person says it.
        taken: Reverts whose commits need not say so, each with the one that it is a step of.
    """
    reader = _Reader(line, series, history, named, taken)
    rounds: dict[int, list[Round]] = {}
    for place, commit in enumerate(line.commits):
        meaning = reader.meaning(commit)
        for number, undone in meaning.takes.items():
            mine = rounds.setdefault(number, [Round()])
            last = mine[-1]
            known = undone or (last.left or last.brings)[::-1] or reader.landings(number)
            step_of = taken.get((commit.sha, number))
            mine[-1] = _reverted(last, Revert(number, place, commit, known, part_of=step_of))
        for number in meaning.brings:
            mine = rounds.setdefault(number, [Round()])
            is_new = mine[-1].is_reverted
            mine[-1] = _ended(mine[-1], commit.sha)
            if is_new:
                mine.append(Round())
            if not mine[-1].reverts:
                mine[-1] = _brought(mine[-1], commit, is_named=meaning.is_named)
    return {number: tuple(mine) for number, mine in rounds.items()}


def _reverted(one: Round, revert: Revert) -> Round:
    older = tuple(sha for sha in reversed(revert.undone) if sha not in one.brings)
    return replace(one, brings=(*older, *one.brings), reverts=(*one.reverts, revert))


def _ended(one: Round, by: Sha) -> Round:
    reverts = tuple(replace(revert, ended_by=revert.ended_by or by) for revert in one.reverts)
    return replace(one, reverts=reverts)


def _brought(one: Round, commit: MainCommit, *, is_named: bool) -> Round:
    first, *others = commit.parents
    return Round(
        (*one.brings, commit.sha),
        one.named | ({commit.sha} if is_named else set()),
        (*one.merges, *((other, first) for other in others)),
    )


class _Reader:
    """Reads what commits of main say, each after those before it."""

    def __init__(
        self,
        line: MainLine,
        series: Series,
        history: History,
        named: Mapping[int, str],
        taken: Iterable[Key],
    ) -> None:
        self._line = line
        self._series = series
        self._history = history
        self._taken: dict[Sha, set[int]] = {}
        for commit, number in taken:
            self._taken.setdefault(commit, set()).add(number)
        self._by_id = {commit.sha: commit for commit in line.commits}
        self._meanings: dict[Sha, _Meaning] = {}
        self._by_title: dict[str, Sha] = {}
        self._by_number: dict[int, Sha] = {}
        older = [sha for sha in self._recorded if sha not in self._by_id]
        for found in read_commits(line.repository, "--no-walk", *older) if older else ():
            self._by_id[found.sha] = found
        self._named = {
            sha: {n for n, said in named.items() if line.repository.resolve(said) == sha}
            for text in named.values()
            if (sha := line.repository.resolve(text))
        }
        for sha in self._recorded:
            self.meaning(self._by_id[sha])  # what is older than the line is told by titles as well

    def landings(self, number: int) -> tuple[Sha, ...]:
        """The commits of main that branches record as a PR's landing."""
        return tuple(sha for sha, recorded in self._recorded.items() if number in recorded)

    @cached_property
    def _recorded(self) -> dict[Sha, frozenset[int]]:
        return recorded_landings(self._history)

    @cached_property
    def _numbers(self) -> frozenset[int]:
        return frozenset(self._series.pull_requests).union(*self._recorded.values())

    @cached_property
    def _copied(self) -> dict[tuple[str, str], int]:
        """The PRs' own commits by what a rebase keeps of them."""
        return {
            (commit.author, commit.subject): pr.number
            for pr in self._series
            if pr.number in self._history.heads
            for commit in self._history.own(pr.number, self._series.held[pr.number])
        }

    def meaning(self, commit: MainCommit) -> _Meaning:
        """What a commit says of PRs of the series."""
        known = self._meanings.get(commit.sha)
        if known is None:
            self._meanings[commit.sha] = _Meaning({}, frozenset())  # a commit that names itself
            title, numbers = _heading(commit)
            known = self._read(commit, title, numbers)
            self._meanings[commit.sha] = known
            for text in (title, _NUMBER.sub("", title)):
                self._by_title[text] = commit.sha
            self._by_number |= dict.fromkeys(numbers, commit.sha)
        return known

    def _read(self, commit: MainCommit, title: str, numbers: Iterable[int]) -> _Meaning:
        said = _TITLE.match(title)
        is_again = said is not None and not _is_back(said[1])
        takes: dict[int, list[Sha]] = {}
        brings: set[int] = set()
        for other in self._about(commit, "" if said is None else said[2]):
            meaning = self.meaning(other)
            brings |= meaning.takes.keys()
            for one in meaning.brings:
                takes.setdefault(one, []).append(other.sha)
        if said is not None and not (takes or brings):
            does_bring, core = _core(title)
            takes = {} if does_bring else {one: [] for one in self._called(core)}
            brings |= set(self._called(core)) if does_bring else set()
        brings |= takes.keys() if is_again else set()
        brings |= {int(one) for one in _AGAIN.findall(commit.message)} & self._numbers
        brings |= {one for one in numbers if one in self._numbers and one not in takes}
        brings |= self._named.get(commit.sha, set())
        for one in self._taken.get(commit.sha, ()):
            takes.setdefault(one, [])
            brings.discard(one)
        is_named = bool(brings)
        if not (takes or brings):
            copied = self._copied.get((commit.author, commit.subject))
            brings = set(self._recorded.get(commit.sha, () if copied is None else (copied,)))
        return _Meaning(
            {one: tuple(undone) for one, undone in takes.items() if one not in brings},
            frozenset(brings),
            is_named,
        )

    def _about(self, commit: MainCommit, title: str) -> Iterator[MainCommit]:
        """The commits of main that a commit reverts or brings again."""
        found = [sha for text in _COMMIT.findall(commit.message) if (sha := self._in_main(text))]
        if not found and title:
            texts = [title, _inside(title)]
            texts += [_NUMBER.sub("", text) for text in texts]
            found = [self._by_title[text] for text in texts if text in self._by_title][:1]
            found = found or [self._by_title[t] for t in _listed(title) if t in self._by_title]
        if not found:
            numbers = map(int, _PULL.findall(commit.message))
            found = [self._by_number[one] for one in numbers if one in self._by_number]
        for sha in dict.fromkeys(found):
            yield self._by_id[sha]

    def _in_main(self, text: str) -> Sha | None:
        """The commit of main of an id or the beginning of one."""
        here = [sha for sha in self._by_id if sha.startswith(text)]
        if here:
            return here[0]
        repository = self._line.repository
        sha = repository.resolve(text)
        if sha is None or not repository.is_ancestor(sha, self._line.main):
            return None
        (self._by_id[sha],) = read_commits(repository, "-1", sha)
        return sha

    def _called(self, title: str) -> Iterator[int]:
        """The PRs of a title, where no commit has it."""
        number, bare = _NUMBER.search(title), _NUMBER.sub("", title)
        if number is not None and int(number[1]) in self._numbers:
            yield int(number[1])
            return
        numbers = _NUMBERS.match(title)
        if numbers is not None:
            found = map(int, re.findall("[0-9]+", numbers[0]))
            yield from (one for one in found if one in self._numbers)
            return
        yield from (pr.number for pr in self._series if pr.title == bare)


def _inside(title: str) -> str:
    """What a title quotes, without the number behind it; itself where it quotes nothing."""
    quoted = _QUOTED.match(title)
    return title if quoted is None else quoted[1]


def _listed(title: str) -> list[str]:
    """The titles that one quotes one after another; none where it is anything else."""
    return [] if _QUOTES.sub("", title) else [found[2] for found in _QUOTES.finditer(title)]


def _is_back(word: str) -> bool:
    """Whether the word that begins a title takes back what the title is about."""
    return word.lower().startswith(("revert", "back"))


def _core(title: str) -> tuple[bool, str]:
    """What a title is about in the end, and whether it brings that rather than takes it back."""
    said = _TITLE.match(title)
    if said is None:
        return True, title
    brings, core = _core(_inside(said[2]))
    return not _is_back(said[1]) or not brings, core


def _heading(commit: MainCommit) -> tuple[str, tuple[int, ...]]:
    """The title of a commit, and the PRs that it says it is the landing of."""
    title = ""
    if MERGED_BY_HOST.match(commit.subject):
        _, _, body = commit.message.partition("\n")
        title = body.strip().partition("\n")[0]
    return title or commit.subject, commit.numbers


def recorded_landings(history: History) -> dict[Sha, frozenset[int]]:
    """The commits of main that branches record as landings, each with the numbers of the PRs."""
    found: dict[Sha, frozenset[int]] = {}
    for commit in history.commits.values():
        for number in taken_as_landed(commit.subject, commit.absorbs):
            landing = commit.parents[1]
            found[landing] = found.get(landing, frozenset()) | {number}
    return found


def recorded_heads(history: History) -> dict[int, Sha]:
    """The heads of PRs whose landing branches record, by number."""
    return {
        number: head
        for commit in history.commits.values()
        for number, head in taken_as_landed(commit.subject, commit.absorbs).items()
    }


def holders(history: History, series: Series, number: int) -> frozenset[int]:
    """The PRs whose branches hold a PR: its commits, or by what SERIES.md says."""
    found = {pr.number for pr in series if number in series.held[pr.number]}
    starts = {head for landed, head in recorded_heads(history).items() if landed == number}
    if number in history.heads:
        starts |= {commit.sha for commit in history.own(number, series.held[number])}
    for sha in starts & history.commits.keys():
        found |= history.holders(sha)
    return frozenset(found)
