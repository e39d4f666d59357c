"""What SERIES.md says otherwise than the branches' history: added, removed, reordered, renamed.

Branches only gain commits. So what was added to the series can be merged in, and what was taken out
of it stays in every branch that holds it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from carry.carried import Carrier
from merge_series.gone import Heads
from merge_series.history import BROUGHT, Commit, History
from merge_series.mainline import MainCommit, MainLine, Seen, look
from merge_series.older_forms import OlderForms
from merge_series.operations import Operations
from merge_series.plan import sources, synced_pull_requests
from merge_series.records import Said
from merge_series.revert_answers import read_reverted
from merge_series.shared import ANEW, STAYS, Missing, OlderForm, SharedCommits
from stack.command_line import typed
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest
from stack.repository import Repository

_AS_IT_IS = " (with the state landed or superseded, if it is)"


@dataclass(frozen=True, slots=True)
class Change:
    """Something that SERIES.md and the branches do not agree on.

    Attributes:
        pull_request: The PR whose row it is about.
        text: What it is and what follows from it.
        is_refused: Whether a sync can do nothing about it and stops.
        is_told: Whether a sync that goes on says it, since its merges do not.
    """

    pull_request: PullRequest
    text: str
    is_refused: bool
    is_told: bool = False

    def __str__(self) -> str:
        """The change with its place."""
        number, name = self.pull_request.line, self.pull_request.name
        return f"SERIES.md:{number}: {name} {self.text}"


def changes(
    repository: Repository, carrier: Carrier, operations: Operations, main_name: str, main: Sha
) -> tuple[Change, ...]:
    """What the declared stack says otherwise than the branches, in the order of the series."""
    return tuple(_Finder.read(repository, carrier, operations, main_name, main).find())


def older_forms(
    repository: Repository, carrier: Carrier, operations: Operations, main_name: str, main: Sha
) -> OlderForms:
    """What the branches hold of their dependencies as these were before a rebase."""
    return _Finder.read(repository, carrier, operations, main_name, main).older_forms()


def refuse_changes(
    repository: Repository, carrier: Carrier, operations: Operations, main_name: str, main: Sha
) -> tuple[tuple[str, ...], OlderForms]:
    """Refuse what no commit more can bring about.

    Returns:
        What a sync that goes on has to say, and what ``older_forms`` does.

    Raises:
        Refusal: A dependency or a PR was removed whose commits a branch holds, or a branch that
            seems to be renamed is not.
    """
    finder = _Finder.read(repository, carrier, operations, main_name, main)
    found = tuple(finder.find())
    for change in found:
        if change.is_refused:
            raise Refusal(str(change))
    return tuple(str(change) for change in found if change.is_told), finder.older_forms()


def landings_seen(
    repository: Repository, carrier: Carrier, main: Sha, said: Said | None = None
) -> dict[int, str]:
    """A sentence for each PR that seems to have landed and is not marked so, by its number.

    Nothing is proven and nothing written.

    Args:
        repository: The fork.
        carrier: The series.
        main: The commit of main.
        said: What a person said of PRs that landed, where a sync waits that knows it.

    Raises:
        Refusal: It cannot be told which commit of main is a PR's landing.
    """
    known = Heads.read(repository, carrier, main).known
    if not known:
        return {}
    line = MainLine.read(repository, main, known)
    history = History.read(repository, known, main)
    reverted = read_reverted(carrier, line, history, main, said or Said())
    landed = {
        seen.pull_request.number: f"{seen.pull_request.name} seems to have landed in main as "
        f"{line.commits[seen.place]}{_elsewhere(seen, line.commits[seen.place])}."
        for seen in look(carrier, line, history, main, {}, reverted.landings)
        if seen.pull_request.state != "landed"
    }
    return landed | reverted.seen(carrier)


def _elsewhere(seen: Seen, commit: MainCommit) -> str:
    number = seen.pull_request.number
    if commit.number in {None, number}:
        return ""
    move = typed(f"merge_series renumber {number} {commit.number}")
    return f", under another number; to move its row: {move}"


@dataclass(frozen=True, slots=True)
class _Suspect:
    """Commits that some branches hold (as bits), the PRs that may own them, and what to say."""

    held: int
    owners: frozenset[int]
    text: str


@dataclass(frozen=True)
class _Finder:
    repository: Repository
    carrier: Carrier
    operations: Operations
    main_name: str
    main: Sha
    history: History

    @classmethod
    def read(
        cls,
        repository: Repository,
        carrier: Carrier,
        operations: Operations,
        main_name: str,
        main: Sha,
    ) -> "_Finder":
        known = Heads.read(repository, carrier, main).known
        history = History.read(repository, known, main)
        return cls(repository, carrier, operations, main_name, main, history)

    def older_forms(self) -> OlderForms:
        taken: dict[tuple[int, int], set[Sha]] = {}
        for form in self._suspects[1]:
            before = self.history.reached(form.commits)
            for holder in self.history.holders(next(iter(form.commits))):
                newer = [self._shared.has_newer(holder, number, before) for number in form.of]
                for source in () if all(newer) else self.carrier.series.held[holder]:
                    if not self.carrier.series.held[source].isdisjoint(form.of):
                        taken.setdefault((holder, source), set()).update(form.commits)
        return OlderForms(self.repository, self.carrier.series, self.history, taken)

    def find(self) -> Iterator[Change]:
        journal = self._journal()
        there = self._others()
        suspects, older = self._suspects
        for pull_request in synced_pull_requests(self.carrier):
            if pull_request.number not in self.history.heads:
                yield from self._renamed(pull_request, there, journal)
                continue
            bit = self.history.mask([pull_request.number])
            allowed = self._allowed(pull_request)
            removed = next(
                (
                    suspect.text
                    for suspect in suspects
                    if suspect.held & bit and not suspect.owners & allowed
                ),
                None,
            )
            if removed is not None:
                yield Change(pull_request, removed, is_refused=True)
            taken = frozenset[int]()
            for form in older:
                if pull_request.number in form.holders:
                    taken |= form.of
                if form.text and pull_request.number == form.holders[0]:
                    yield Change(pull_request, form.text, is_refused=False, is_told=True)
            for source in sources(self.carrier, pull_request):
                if source.number not in taken and self._is_new(pull_request, source):
                    text = f"depends on {source.name} now; a sync merges it into the branch"
                    yield Change(pull_request, text, is_refused=False)
        yield from self._left_over(there, journal)

    def _holds(self, pull_request: PullRequest, commit: Sha) -> bool:
        return bool(self.history.held[commit] & self.history.mask([pull_request.number]))

    def _allowed(self, pull_request: PullRequest) -> frozenset[int]:
        return self.carrier.series.held[pull_request.number]

    def _accounted(self) -> set[Sha]:
        """Commits that a branch may hold because main or a successor has them in another form.

        What landed brought all that it held; a successor depends itself on what it does not bring.
        """
        series, history = self.carrier.series, self.history
        replaced, brought = set(), set()
        for pull_request in series:
            number = pull_request.number
            if pull_request.state != "superseded" or number not in history.heads:
                continue
            reached = history.reached([history.heads[number]])
            below = (series.pull_requests[n] for n in series.held[number])
            others = [pr.number for pr in below if pr.state not in {"landed", "superseded"}]
            theirs = {c.sha for n in others for c in history.own(n, series.held[n])}
            replaced |= reached
            brought |= reached - theirs
        landed = [pr.number for pr in series if pr.state == "landed"]
        absorbed = {sha for commit in history.commits.values() for sha in commit.absorbs}
        starts = [history.heads[n] for n in landed if n in history.heads]
        return history.reached([*starts, *(absorbed - replaced)]) | brought

    def _journal(self) -> dict[str, set[Sha]]:
        """Every head that the program left on a branch which SERIES.md does not name now."""
        declared = {pull_request.branch for pull_request in self.carrier.series}
        return {branch: heads for branch, heads in self._left().items() if branch not in declared}

    def _left(self) -> dict[str, set[Sha]]:
        """Every head that the program found or left on a branch."""
        known: dict[str, set[Sha]] = {}
        for done in self.operations.done():
            for branch, head in (*done.old.items(), *done.new.items()):
                if head is not None:
                    known.setdefault(branch, set()).add(head)
        return known

    @cached_property
    def _suspects(self) -> tuple[list[_Suspect], list[OlderForm]]:
        """What branches hold that may belong to a PR which the series does not give them.

        The second list has what is taken as an older form of a PR that it does give them.
        """
        accounted = self._accounted()
        left = {s: held for s, held in self.history.held.items() if s not in accounted}
        suspects = []
        told: dict[int, int] = {}  # by PR: the branches that hold a merge of it
        for sha, held in left.items():
            commit = self.history.commits[sha]
            merged = BROUGHT.match(commit.subject) if commit.is_merge else None
            if merged is not None and commit.parents[1] in left:
                number = self._now(int(merged[1]), commit.parents[1])
                suspects.append(_Suspect(held, frozenset([number]), self._gone(number)))
                told[number] = told.get(number, 0) | held
        unexplained: dict[int, list[Commit]] = {}  # by the branches that hold them
        for sha, held in left.items():
            if not self.history.commits[sha].is_merge:
                unexplained.setdefault(held, []).append(self.history.commits[sha])
        older = []
        for held, commits in unexplained.items():
            owners = self.history.holders(commits[0].sha)
            if any(
                not held & ~(told.get(owner, 0) | self.history.mask(self._above(owner)))
                for owner in owners
            ):
                continue
            found = self._shared.judge(commits)
            if isinstance(found, Missing):
                mask = self.history.mask(found.holders)
                suspects.append(_Suspect(mask, frozenset(), found.text))
            else:
                older.append(found)
        return suspects, older

    @cached_property
    def _shared(self) -> SharedCommits:
        return SharedCommits(
            self.repository, self.carrier, self.main_name, self.main, self.history, self._left()
        )

    def _above(self, owner: int) -> Iterator[int]:
        """A PR and all that depend on it, directly or not."""
        return (number for number, held in self.carrier.series.held.items() if owner in held)

    def _now(self, number: int, head: Sha) -> int:
        """The number of a PR now: that of the row on whose branch the head stands that it had."""
        if number in self.carrier.series.pull_requests:
            return number
        return next((n for n, tip in self.history.heads.items() if head in self._line(tip)), number)

    def _line(self, tip: Sha) -> set[Sha]:
        """What a branch was, also before it was rewritten and that was merged into it by hand."""
        line = self.history.first_parents(tip)
        merges = (self.history.commits[sha] for sha in line)
        kept = (c.parents[1:] for c in merges if not BROUGHT.match(c.subject))
        return line.union(*(self.history.first_parents(old) for old in chain.from_iterable(kept)))

    def _gone(self, number: int) -> str:
        if number in self.carrier.series.pull_requests:
            return (
                f"holds #{number}, which was merged into it, and does not depend on it now; "
                f"{STAYS}: write the dependency again, or {ANEW}"
            )
        return (
            f"holds #{number}, which was merged into it, and SERIES.md has no such PR now; "
            f"{STAYS}: give it its row again{_AS_IT_IS}, under its number of now, or {ANEW}"
        )

    def _left_over(
        self, there: Mapping[str, Sha], journal: Mapping[str, set[Sha]]
    ) -> Iterator[Change]:
        """Branches that no row names and that a branch of the series holds."""
        synced = {pr.number: self._allowed(pr) for pr in synced_pull_requests(self.carrier)}
        accounted = self._accounted()
        for branch, head in there.items():
            if head not in self.history.commits or head in self.history.heads.values():
                continue
            holders = self.history.holders(head) & synced.keys()
            if head in accounted or not holders:
                continue
            lowest = min(number for number in holders if holders & synced[number] == {number})
            yield Change(
                self.carrier.series.pull_requests[lowest],
                f"holds the branch {branch} at {head[:12]}, which no row names; if it is a PR of "
                f"the stack, {STAYS}: give it its row{_AS_IT_IS}",
                is_refused=branch in journal,
            )

    def _is_new(self, pull_request: PullRequest, source: PullRequest) -> bool:
        """Whether a branch holds nothing yet of what a dependency brings."""
        if source.number not in self.history.heads:
            return False
        own = self.history.own(source.number, self._allowed(source))
        return bool(own) and not any(self._holds(pull_request, commit.sha) for commit in own)

    def _others(self) -> dict[str, Sha]:
        """The heads of branches that no row names."""
        declared = {pr.branch for pr in self.carrier.series}
        listed = self.repository.run(
            "for-each-ref", "--format=%(refname:lstrip=2)%00%(objectname)", "refs/heads"
        )
        rows = (line.split("\0") for line in listed.text.split("\n") if line)
        return {branch: Sha(head) for branch, head in rows if branch not in declared}

    def _renamed(
        self,
        pull_request: PullRequest,
        there: Mapping[str, Sha],
        journal: Mapping[str, set[Sha]],
    ) -> Iterator[Change]:
        """Branches under which a PR without a branch of its name may stand."""
        commits = {commit.subject for commit in pull_request.commits}
        above = [
            pr.number
            for pr in self.carrier.series
            if pull_request in self.carrier.series.closure(pr)
        ]
        for branch, head in there.items():
            held = self.history.held.get(head, 0)
            of_series = branch in journal or held & self.history.mask(above)
            subjects = set() if of_series or not commits else self._subjects(head)
            if of_series or (commits and commits <= subjects):
                yield Change(
                    pull_request,
                    f"has no branch {pull_request.branch} here; {branch} at {head[:12]} is of this "
                    "stack and in no row: if the branch was renamed, run "
                    f"git branch -m {branch} {pull_request.branch}",
                    is_refused=True,
                )

    def _subjects(self, head: Sha) -> set[str]:
        answer = self.repository.run("log", "--format=%s", head, f"^{self.main}", "--")
        return set(answer.text.splitlines())
