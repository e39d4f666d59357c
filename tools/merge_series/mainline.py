"""Main's own commits since the branches left it, and those by which a PR seems to have landed.

This only looks; whether a landing is what it seems is proven elsewhere, by its tree.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from carry.carried import Carrier
from merge_series.history import MERGED_BY_HOST, Commit, History
from stack.errors import Refusal
from stack.git_answers import Sha, decode
from stack.model import PullRequest
from stack.repository import Repository

_FORMAT = "--format=%H%x00%P%x00%an <%ae> %at%x00%s%x00%B"
_FIELDS = 5
_NUMBERS = re.compile(r"\((#[1-9][0-9]*(?:(?:,| and|, and| &) ?#[1-9][0-9]*)*)\)$")
_NUMBER = re.compile("#([0-9]+)")


@dataclass(frozen=True, slots=True)
class MainCommit:
    """A commit on main's first-parent history; ``author`` is who wrote it and when."""

    sha: Sha
    parents: tuple[Sha, ...]
    author: str
    subject: str
    message: str

    @property
    def number(self) -> int | None:
        """The one PR that its subject says it is."""
        numbers = said_numbers(self.subject)
        return numbers[0] if len(numbers) == 1 else None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The PRs that its subject says it is, or the one that it is a host's merge of."""
        merged = MERGED_BY_HOST.match(self.subject)
        return said_numbers(self.subject) if merged is None else (int(merged[1]),)

    def __str__(self) -> str:
        """The commit as a person knows it."""
        return f"{self.sha[:12]} '{self.subject}'"


def said_numbers(subject: str) -> tuple[int, ...]:
    """The PRs that the end of a subject says a commit is: ``(#2)``, or ``(#2, #3)`` of several."""
    found = _NUMBERS.search(subject)
    return () if found is None else tuple(map(int, _NUMBER.findall(found[1])))


@dataclass(frozen=True, slots=True)
class Seen:
    """A PR that seems to have landed.

    Attributes:
        pull_request: The PR.
        head: Head of its branch.
        place: Where in ``MainLine.commits`` the landing ends; -1 if before all of them.
        lengths: How many commits of main the landing may be, longest first: where the last
            commits of a rebase are a landing, main had the first ones just before, and a branch
            must not take those as main's own. Empty where main contains the head itself, so that
            nothing has to be absorbed.
    """

    pull_request: PullRequest
    head: Sha
    place: int
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MainLine:
    """Main's first-parent history since some branch left it, oldest first; ``main`` is its end."""

    repository: Repository
    main: Sha
    commits: tuple[MainCommit, ...]

    @classmethod
    def read(cls, repository: Repository, main: Sha, heads: Mapping[int, Sha]) -> "MainLine":
        """Read the commits of main that not every head has."""
        command = ("merge-base", "--octopus", main, *heads.values())
        common = [f"^{sha}" for sha in repository.run(*command, accept=(0, 1)).text.split()]
        options = ("--first-parent", "--reverse")
        return cls(repository, main, read_commits(repository, *options, main, *common))

    def touching(self, commits: Sequence[Sha]) -> Iterator[Sha]:
        """The commits that change no file but those that some commits change, the newest first."""
        names = ("--name-only", "--no-renames", "-z")
        listed = self.repository.run("log", "--no-walk", "--format=", *names, *commits).text
        paths = {path for path in listed.split("\0") if path}
        below = [f"^{sha}" for sha in self.commits[0].parents[:1]]
        options = ("--first-parent", "--full-diff", "--format=%x01%H", *names)
        answer = self.repository.run(
            "--literal-pathspecs",
            "log",
            *options,
            self.main,
            *below,
            "--",
            *sorted(paths),
        )
        for record in answer.text.split("\1")[1:]:
            sha, *touched = record.replace("\n", "\0").split("\0")
            if {path for path in touched if path} <= paths:
                yield Sha(sha)

    def place(self, sha: Sha) -> int:
        """Where a commit stands; -1 if it does not."""
        return next((at for at, commit in enumerate(self.commits) if commit.sha == sha), -1)

    def length(self, own: Sequence[Commit], place: int) -> int:
        """How many commits up to a place are a PR's own in another form, at least 1.

        The one at the place is. Before it stand those that were rebased with it, in their order.

        Args:
            own: The PR's commits, oldest first.
            place: The place.
        """
        left = list(own[:-1])
        before = self.commits[max(place - len(left), 0) : place]
        patches = self.patches([*(c.sha for c in left), *(c.sha for c in before)])
        length = 1
        for commit in reversed(before):
            patch, written = patches.get(commit.sha), _NUMBERS.sub("", commit.subject).rstrip()
            while left and not (
                (left[-1].author, left[-1].subject) == (commit.author, written)
                or (patch is not None and patches.get(left[-1].sha) == patch)
            ):
                left.pop()
            if not left:
                break
            left.pop()
            length += 1
        return length

    def patches(self, commits: Iterable[Sha]) -> dict[Sha, str]:
        """What commits change, wherever they stand: git's ids of their patches, if not empty."""
        listed = "".join(f"{commit}\n" for commit in commits).encode()
        patches = self.repository.run("diff-tree", "-p", "--stdin", stdin=listed).stdout
        answer = self.repository.run("patch-id", "--stable", stdin=patches)
        rows = (line.split() for line in answer.text.splitlines())
        return {Sha(commit): patch for patch, commit in rows}


def patch_id(repository: Repository, *commits: Sha) -> str:
    """What a commit changes, or differs in from one before: git's id of the patch; empty if not."""
    patch = repository.run("diff-tree", "-p", *commits).stdout
    return repository.run("patch-id", "--stable", stdin=patch).text.partition(" ")[0]


def read_commits(repository: Repository, *selection: str) -> tuple[MainCommit, ...]:
    """The commits that ``git log`` selects, in its order."""
    answer = repository.run("log", "-z", _FORMAT, *selection, "--")
    fields = decode(answer.stdout).split("\0")
    rows = (fields[at : at + _FIELDS] for at in range(0, len(fields) - 1, _FIELDS))
    return tuple(
        MainCommit(Sha(sha), tuple(map(Sha, parents.split())), author, subject, message)
        for sha, parents, author, subject, message in rows
    )


def look(  # noqa: PLR0913, PLR0917 - what is looked at
    carrier: Carrier,
    line: MainLine,
    history: History,
    main: Sha,
    named: Mapping[int, str],
    landings: Mapping[int, Collection[Sha]],
) -> tuple[Seen, ...]:
    """The PRs that seem to have landed, in the order main took them.

    Args:
        carrier: The series.
        line: Main's commits.
        history: What the branches hold, by the heads of all PRs whose branch exists.
        main: The commit of main.
        named: The last commit of a landing by PR number, where a person says it.
        landings: The commits of main that say they are a PR's landing, by its number, without those
            that were reverted; of PRs that main has no more, and branches keep, there are none.

    Raises:
        Refusal: It cannot be told which commit of main is a PR's landing.
    """
    for number in named:
        pull_request = carrier.series.pull_requests.get(number)
        if pull_request is None or pull_request.state == "superseded":
            raise Refusal(f"--landed: SERIES.md has no PR #{number} that could land; correct it")
        if number not in history.heads:
            raise Refusal(
                f"--landed: {pull_request.name} has no branch {pull_request.branch} here, so what "
                "landed cannot be compared; fetch it"
            )
    looker = _Looker(carrier, line, history, main, landings)
    seen = []
    for pull_request in carrier.series:
        if pull_request.number in history.heads and pull_request.state != "superseded":
            found = looker.look(pull_request, named.get(pull_request.number))
            seen += [] if found is None else [found]
    # Where one landing brings several PRs, the one that holds the others comes first.
    order = {pr.number: place for place, pr in enumerate(carrier.series)}
    return tuple(sorted(seen, key=lambda s: (s.place, -order[s.pull_request.number])))


@dataclass(frozen=True, slots=True)
class _Looker:
    carrier: Carrier
    line: MainLine
    history: History
    main: Sha
    landings: Mapping[int, Collection[Sha]]

    def look(self, pull_request: PullRequest, named: str | None) -> Seen | None:
        head = self.history.heads[pull_request.number]
        if named is not None:
            return self._named(pull_request, head, named)
        if pull_request.number in self.landings and not self.landings[pull_request.number]:
            return None
        if head not in self.history.commits:
            return self._contained(pull_request, head)
        return (
            self._naming(pull_request, head)
            or self._rebased(pull_request, head)
            or self._renumbered(pull_request, head)
        )

    def _lengths(self, pull_request: PullRequest) -> tuple[int, ...]:
        """A squash is one commit; a rebase as many as the PR has, or fewer if some were empty."""
        return tuple(range(max(len(self._own(pull_request)), 1), 0, -1))

    def _own(self, pull_request: PullRequest) -> tuple[Commit, ...]:
        number = pull_request.number
        return self.history.own(number, self.carrier.series.held[number])

    def _named(self, pull_request: PullRequest, head: Sha, named: str) -> Seen:
        commit = self.line.repository.resolve(named)
        place = -1 if commit is None else self.line.place(commit)
        if commit is None or not self.line.repository.is_ancestor(commit, self.main):
            raise Refusal(
                f"--landed {pull_request.number}={named}: main has no such commit; fetch it, or "
                "name one that git log --first-parent of main shows"
            )
        # Every branch has what is older than the line.
        oldest = self.line.commits[0].sha if self.line.commits else None
        if place < 0 and oldest and self.line.repository.is_ancestor(oldest, commit):
            raise Refusal(
                f"--landed {pull_request.number}={named}: the commit came into main by a merge; "
                "name the commit on main's first-parent history"
            )
        contained = place >= 0 or self.line.repository.is_ancestor(head, self.main)
        if not contained and pull_request.state != "landed":
            raise Refusal(
                f"--landed {pull_request.number}={named}: that is none of main's own commits since "
                f"the branches left it, and main lacks the head of {pull_request.branch}; name the "
                "one that brought it, or, if it landed before, write landed in its row"
            )
        lengths = () if place < 0 else self._lengths(pull_request)
        return Seen(pull_request, head, place, lengths)

    def _naming(self, pull_request: PullRequest, head: Sha) -> Seen | None:
        number = pull_request.number
        naming = self.landings.get(number, ())
        places = [
            place
            for place, commit in enumerate(self.line.commits)
            if commit.sha in naming and not self.line.repository.is_ancestor(commit.sha, head)
        ]
        if not places:
            return None
        first, last = places[0], places[-1]
        if last - first + 1 != len(places):
            both = " and ".join(str(self.line.commits[place]) for place in places)
            raise Refusal(
                f"main has {len(places)} commits that name {pull_request.name}, with others "
                f"between: {both}; say which one ends its landing: --landed {number}=SHA"
            )
        lengths = self._lengths(pull_request) if len(places) == 1 else (len(places),)
        return Seen(pull_request, head, last, lengths)

    def _rebased(self, pull_request: PullRequest, head: Sha) -> Seen | None:
        """A run of commits on main with the authors, dates and subjects of the PR's.

        At least one has the patch that it had; whoever rebased them may have edited others.
        """
        own = self._own(pull_request)
        known = [(commit.author, commit.subject) for commit in own]
        line = [(commit.author, commit.subject) for commit in self.line.commits]
        for end in range(len(line), len(own) - 1, -1):
            if not own or line[end - 1] != known[-1] or line[end - len(own) : end] != known:
                continue
            run = self.line.commits[end - len(own) : end]
            patches = self.line.patches([*(c.sha for c in own), *(c.sha for c in run)])
            if any(
                patches.get(one.sha) == patches.get(other.sha)
                for one, other in zip(own, run, strict=True)
            ):
                return Seen(pull_request, head, end - 1, (len(own),))
        return None

    def _renumbered(self, pull_request: PullRequest, head: Sha) -> Seen | None:
        """A commit on main with the number of no PR here and the patch of the whole PR."""
        own = [commit.sha for commit in self._own(pull_request)]
        others = {
            commit.sha: place
            for place, commit in enumerate(self.line.commits)
            if len(commit.parents) == 1
            and commit.number not in {None, *self.carrier.series.pull_requests}
        }
        if not own or not others:
            return None
        for sha in self.line.touching(own):
            if sha in others and self._is_whole(sha, head):
                return Seen(pull_request, head, others[sha], (1,))
        return None

    def _is_whole(self, sha: Sha, head: Sha) -> bool:
        repository = self.line.repository
        (above,) = self.line.commits[self.line.place(sha)].parents
        bases = repository.merge_bases(above, head)
        patch = patch_id(repository, sha)
        return len(bases) == 1 and bool(patch) and patch == patch_id(repository, bases[0], head)

    def _contained(self, pull_request: PullRequest, head: Sha) -> Seen | None:
        """A PR whose head main has: by a merge, or because the branch holds nothing yet."""
        repository = self.line.repository
        if pull_request.state == "landed":
            return Seen(pull_request, head, -1, ())
        place = bisect_left(
            range(len(self.line.commits)),
            1,
            key=lambda at: repository.is_ancestor(head, self.line.commits[at].sha),
        )
        if place == len(self.line.commits):
            return None
        merge = self.line.commits[place]
        if merge.sha == head or merge.parents[0] == head:
            # On main's own line: a fast-forward, or a branch that was begun there.
            subject = repository.message(head).partition("\n")[0]
            landed = subject.endswith(f"(#{pull_request.number})")
            return Seen(pull_request, head, place, ()) if landed else None
        held = self.carrier.series.held[pull_request.number] - {pull_request.number}
        heads = {n: found for n, found in self.history.heads.items() if n != pull_request.number}
        # One that began at the head of an earlier PR and holds nothing yet did not land with it.
        earlier = takewhile(lambda pr: pr != pull_request, self.carrier.series)
        same = {pr.number for pr in earlier if heads.get(pr.number) == head}
        below = [f"^{heads[n]}" for n in held | same if n in heads]
        own = repository.commits("--no-merges", head, f"^{merge.parents[0]}", *below)
        return Seen(pull_request, head, place, ()) if own else None
