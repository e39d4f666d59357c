"""The heads of PRs whose branch is gone, as hosts delete it once a PR has landed.

Several things tell of them: main's merge of the PR, the merges of it in the branches above and what
these record, the remote's branch, and where an operation left the branch. Each knows the head at
some time, and a branch only gains commits, so the newest counts, if there is one. If there is none,
a commit that a branch holds is the head if main's landing is exactly the merge of it, and is of no
other PR.

Hosts do not write into SERIES.md: a row may still be open then, and main alone says that the PR
landed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.generated_files import generated_paths
from merge_series.history import ABSORBS, BROUGHT, MERGED_BY_HOST, taken_as_landed
from merge_series.landed_form import has_merged_files
from merge_series.left import left_heads
from merge_series.mainline import MainCommit, MainLine, read_commits
from merge_series.operations import Operations
from merge_series.plan import heads_by_number, is_synced
from stack.errors import Refusal
from stack.git_answers import Sha, decode
from stack.model import PullRequest
from stack.repository import Repository

_FIELDS = 4


@dataclass(frozen=True, slots=True)
class Known:
    """A head that a PR had.

    Attributes:
        head: The commit.
        by: What tells of it, as a phrase.
    """

    head: Sha
    by: str

    def __str__(self) -> str:
        """The head with what tells of it."""
        return f"{self.head[:12]} ({self.by})"


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of a series' PRs, of those that main names also where the branch is gone.

    Attributes:
        known: The heads by number.
        unknown: Why a sync can't go on, for each PR whose head is needed and can't be told.
    """

    known: dict[int, Sha]
    unknown: tuple[str, ...]

    @classmethod
    def read(cls, repository: Repository, carrier: Carrier, main: Sha) -> "Heads":
        """Read them off the branches, and off what tells of those that are gone.

        Args:
            repository: The fork.
            carrier: The series.
            main: The commit of main.
        """
        there = heads_by_number(repository, carrier)
        named = {
            pr.number: _named(repository, main, pr.number)
            for pr in carrier.series
            if is_synced(pr) and pr.number not in there
        }
        gone = [
            pr
            for pr in carrier.series
            if named.get(pr.number) or (pr.state == "landed" and there and pr.number not in there)
        ]
        if not gone:
            return cls(there, ())
        told = _newest(repository, gone, (main, *there.values()))
        line = MainLine.read(repository, main, there)
        unknown = []
        found = dict(there)
        for pull_request in gone:
            number, heads = pull_request.number, told.get(pull_request.number, ())
            above, landing = _waiting(repository, carrier, line, pull_request, there)
            if landing is not None:  # an empty branch, say, as it was made
                before = landing.parents[0]
                heads = tuple(one for one in heads if not repository.is_ancestor(one.head, before))
            if len(heads) == 1:
                found[number] = heads[0].head
            if landing is None:
                found_in_main = named.get(number)
                if found_in_main is not None and number not in found:
                    unknown.append(_told_open(pull_request, found_in_main))
                continue
            commits = [known.head for known in heads]
            if not heads[1:]:  # what it has had since, the branches above know
                tips = (there[pr.number] for pr in above)
                later = (f"^{sha}" for sha in (main, *commits))
                commits += repository.commits("--reverse", "--topo-order", *tips, *later)
            head = _as_it_landed(repository, carrier, landing, commits) or found.get(number)
            if head is not None:
                found[number] = head
            else:
                unknown.append(_told_unknown(pull_request, above, landing, heads))
        ordered = {pr.number: found[pr.number] for pr in carrier.series if pr.number in found}
        return cls(ordered, tuple(unknown))

    def refuse_unknown(self) -> None:
        """Refuse where the head of a PR that landed is needed and can't be told.

        Raises:
            Refusal: It says what is needed.
        """
        if self.unknown:
            raise Refusal("\n".join(self.unknown))


def _named(repository: Repository, main: Sha, number: int) -> MainCommit | None:
    """The newest commit of main whose subject says that it is a PR's landing."""
    said = ("--extended-regexp", f"--grep=#{number}([^0-9]|$)")
    found = read_commits(repository, "--first-parent", *said, main)
    return next((one for one in found if number in one.numbers), None)


def _waiting(
    repository: Repository,
    carrier: Carrier,
    line: MainLine,
    pull_request: PullRequest,
    there: Mapping[int, Sha],
) -> tuple[list[PullRequest], MainCommit | None]:
    """The PRs above one that landed that lack its landing, and the landing; None if none do."""
    named = [commit for commit in line.commits if pull_request.number in commit.numbers]
    above = [
        pr
        for pr in carrier.series
        if named
        and is_synced(pr)
        and pr.number in there
        and pull_request in carrier.series.closure(pr)
        and not repository.is_ancestor(named[-1].sha, there[pr.number])
    ]
    return above, named[-1] if above else None


def _as_it_landed(
    repository: Repository, carrier: Carrier, landing: MainCommit, commits: Iterable[Sha]
) -> Sha | None:
    """The first of some commits whose files merged into main are those of a landing."""
    if len(landing.numbers) > 1:  # what is the merge of several PRs is the head of none of them
        return None
    below, generated = landing.parents[0], generated_paths(repository, carrier)
    return next(
        (
            commit
            for commit in commits
            if has_merged_files(repository, below, commit, landing.sha, generated)
        ),
        None,
    )


def _told_unknown(
    pull_request: PullRequest,
    above: Sequence[PullRequest],
    landing: MainCommit,
    heads: Sequence[Known],
) -> str:
    name, branch = pull_request.name, pull_request.branch
    holders = ", ".join(pr.branch for pr in above)
    what = (
        f"it may have been at {' or '.join(map(str, heads))}"
        if heads
        else "nothing tells where it was"
    )
    landed = "landed" if pull_request.state == "landed" else "seems to have landed"
    return (
        f"SERIES.md:{pull_request.line}: {name} {landed} as {landing}, but its branch {branch} is "
        f"gone and {what}; nothing was changed. {holders} may hold its commits: fetch the branch, "
        f"or make it at the last of them (git branch {branch} COMMIT)"
    )


def _told_open(pull_request: PullRequest, landing: MainCommit) -> str:
    name, branch = pull_request.name, pull_request.branch
    return (
        f"SERIES.md:{pull_request.line}: {name} has no branch {branch} here, and main seems to "
        f"have it as {landing}; nothing was changed. If that is its landing, write landed in its "
        f"row; if not, fetch the branch, or make it at its last commit (git branch {branch} COMMIT)"
    )


def _newest(
    repository: Repository, pull_requests: Sequence[PullRequest], tips: Iterable[Sha]
) -> dict[int, tuple[Known, ...]]:
    """The newest heads that are known of PRs, by number; several where none contains the others.

    Args:
        repository: The fork.
        pull_requests: The PRs.
        tips: Main, and the heads of the branches that may hold them.
    """
    by_number = {pr.number: pr for pr in pull_requests}
    if not by_number:
        return {}
    told: dict[int, dict[Sha, str]] = {number: {} for number in by_number}
    for number, head, by in _told(repository, by_number, tips):
        if number in told and repository.resolve(head) is not None:
            told[number].setdefault(head, by)
    found = {}
    for number, heads in told.items():
        if heads:
            best = repository.run("merge-base", "--independent", *heads).text.split()
            found[number] = tuple(Known(head, by) for head, by in heads.items() if head in best)
    return found


def _told(
    repository: Repository, pull_requests: Mapping[int, PullRequest], tips: Iterable[Sha]
) -> Iterator[tuple[int, Sha, str]]:
    yield from _merged(repository, tips)
    by_branch = {pr.branch: pr.number for pr in pull_requests.values()}
    refs = [f"refs/remotes/*/{branch}" for branch in by_branch]
    listed = repository.run("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", *refs)
    for line in listed.text.splitlines():
        sha, _, name = line.partition(" ")
        yield by_branch[name.partition("/")[2]], Sha(sha), name
    records = Operations(repository).journal.records()
    for branch, left in left_heads(records, pull_requests.values()).items():
        if branch in by_branch:
            yield by_branch[branch], left.head, f"as it was {left.when}"


def _merged(repository: Repository, tips: Iterable[Sha]) -> Iterator[tuple[int, Sha, str]]:
    """What merges in some history tell."""
    absorbs = f"%(trailers:key={ABSORBS},valueonly,separator=%x20)"
    answer = repository.run(
        "log", "--merges", "-z", f"--format=%H%x00%P%x00%s%x00{absorbs}", *tips, "--"
    )
    fields = decode(answer.stdout).split("\0")
    for sha, parents, subject, absorbed in zip(*[iter(fields)] * _FIELDS, strict=False):
        heads = map(Sha, absorbed.split())
        for number, head in taken_as_landed(subject, heads).items():
            yield number, head, f"absorbed by {sha[:12]}"
        merged = BROUGHT.match(subject) or MERGED_BY_HOST.match(subject)
        if merged is not None:
            yield int(merged[1]), Sha(parents.split()[1]), f"merged by {sha[:12]}"
