"""Where one PR's branch stands: what it was put on, and which commits are its own."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from carry.carried import Carrier
from merge_series.plan import branch_heads, resolve_main, synced_pull_requests
from merge_series.review.commits import Commit, read_commits
from merge_series.review.recordings import Recording, find_recordings
from stack.command_line import typed
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest, Series
from stack.refs import heads
from stack.repository import Repository

MAIN = "main"  # as reviewers know it, whatever the remote is called here


@dataclass(frozen=True, slots=True)
class Part:
    """What a branch holds of main or of a PR it depends on.

    Attributes:
        name: ``main``, or the PR's name.
        commits: The newest commits of it that the branch contains; more than one only where
            histories were merged crosswise.
        newest: The commit it is at.
        behind: How many of its commits the branch lacks and a sync would bring.
        holds: The PRs it holds, dependencies first; none for main.
    """

    name: str
    commits: tuple[Sha, ...]
    newest: Sha
    behind: int
    holds: tuple[PullRequest, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a PR's branch stands.

    Attributes:
        pull_request: The PR.
        head: Head of its branch.
        main: The commit of main.
        parts: What the branch was put on: its dependencies in declared order, then main. Of what
            is no longer open, those whose commits the branch holds and main does not.
        below: What the PR stands on, directly or not, by name: main first, then each PR whose
            branch exists, dependencies first, then what the branch absorbed. A commit is of the
            first that contains it.
        recordings: The merges it contains of what it has in another form, by commit.
    """

    pull_request: PullRequest
    head: Sha
    main: Sha
    parts: tuple[Part, ...]
    below: dict[str, Sha]
    recordings: dict[Sha, Recording]

    @property
    def others(self) -> tuple[str, ...]:
        """What leaves out, in ``git rev-list``, all that is not the PR's own."""
        return tuple(f"^{head}" for head in self.below.values())


def find_pull_request(series: Series, text: str) -> PullRequest:
    """The PR that a person names by its number (``8045``, ``#8045``) or its branch.

    Raises:
        Refusal: The series has no such PR; it lists those there are.
    """
    for pull_request in series:
        if text in {pull_request.name, str(pull_request.number), pull_request.branch}:
            return pull_request
    known = ", ".join(f"{pull_request.name} {pull_request.branch}" for pull_request in series)
    raise Refusal(f"{text}: no PR or branch of the series; it has {known}")


def stand(
    repository: Repository, carrier: Carrier, main_name: str, pull_request: PullRequest
) -> Standing:
    """Find out where a PR's branch stands.

    Raises:
        Refusal: Main does not exist, or the branch, or that of an open PR that it stands on.
    """
    main = resolve_main(repository, carrier, main_name)
    # Without a branch that it stands on, the lines there would seem to be its own.
    is_open = synced_pull_requests(carrier)
    needed = (pr for pr in carrier.series.closure(pull_request) if pr in is_open)
    head = branch_heads(repository, (pull_request, *needed))[pull_request.branch]
    found = heads(repository, [pr.branch for pr in carrier.series])
    closure = carrier.series.closure(*carrier.series.dependencies(pull_request))
    below = {MAIN: main} | {pr.name: found[pr.branch] for pr in closure if pr.branch in found}
    merges = read_commits(repository, "--merges", head, f"^{main}")
    recordings = find_recordings(repository, merges, carrier.series.generated)
    # What was absorbed is no longer open: its branch may be gone, or the PR no dependency any more.
    for name, absorbed in (pair for one in recordings for pair in one.absorbed.items()):
        if name not in below or not repository.is_ancestor(absorbed, below[name]):
            below[name if name not in below else f"{name} as absorbed"] = absorbed
    in_main = (main, *(absorbed for one in recordings for absorbed in one.absorbed.values()))
    parts = []
    for pr in _put_on(carrier.series, pull_request, found).values():
        part = _part(repository, pr.name, found[pr.branch], head, carrier.series.closure(pr))
        if pr in is_open:
            parts.append(part)
        elif not all(_holds(repository, in_main, commit) for commit in part.commits):
            parts.append(replace(part, behind=0))
    parts.append(_part(repository, MAIN, main, head, ()))
    return Standing(
        pull_request, head, main, tuple(parts), below, {one.commit.sha: one for one in recordings}
    )


def _put_on(
    series: Series, pull_request: PullRequest, found: Mapping[str, Sha]
) -> dict[int, PullRequest]:
    """What a PR depends on, by number; of what has no branch, what that depends on."""
    on: dict[int, PullRequest] = {}
    for pr in series.dependencies(pull_request):
        on |= {pr.number: pr} if pr.branch in found else _put_on(series, pr, found)
    return on


def _holds(repository: Repository, tips: Iterable[Sha], commit: Sha) -> bool:
    return any(repository.is_ancestor(commit, tip) for tip in tips)


def _part(
    repository: Repository, name: str, newest: Sha, head: Sha, holds: tuple[PullRequest, ...]
) -> Part:
    bases = repository.merge_bases(head, newest)
    if not bases:
        raise Refusal(
            f"{head[:12]} shares no commit with {name} at {newest[:12]}; "
            "check that --main and SERIES.md name the right branches"
        )
    behind = len(repository.commits(newest, f"^{head}"))
    return Part(name, bases, newest, behind, holds)


def own_commits(
    repository: Repository, standing: Standing, since: Sha | None = None
) -> tuple[Commit, ...]:
    """The commits of the PR itself, parents first: those of no dependency and not of main.

    Args:
        repository: The fork.
        standing: Where the branch stands.
        since: Leave out this commit and all it contains.
    """
    known = (f"^{since}",) if since else ()
    return read_commits(repository, standing.head, *standing.others, *known)


def find_read_commit(repository: Repository, standing: Standing, series: Series, text: str) -> Sha:
    """The commit of a PR that a reviewer says they have read.

    Raises:
        Refusal: There is no one commit of that name, or it is none of this PR's.
    """
    pull_request = standing.pull_request
    show = typed(f"merge_series show {pull_request.number}")
    commit = resolve_commit(repository, text)
    if not repository.is_ancestor(commit, standing.head):
        found = heads(repository, [pr.branch for pr in series])
        for other in series:
            if other.branch in found and repository.is_ancestor(commit, found[other.branch]):
                raise Refusal(
                    f"{text}: is on {other.name} {other.branch}, not on {pull_request.name} "
                    f"{pull_request.branch}; "
                    f"run {typed(f'merge_series show {other.number} --since {text}')}"
                )
        raise Refusal(
            f"{text}: is not on {pull_request.branch}, which was rewritten or never had it, so "
            f"what is new cannot be told; read the whole PR: {show}"
        )
    owner = owner_of(repository, standing.below, commit)
    if owner is not None:
        raise Refusal(
            f"{text}: is a commit of {owner}, on which {pull_request.name} stands, so it "
            f"holds nothing of {pull_request.name}; read all of it: {show}"
        )
    return commit


def resolve_commit(repository: Repository, text: str) -> Sha:
    """The one commit that a person's text names.

    Raises:
        Refusal: None does, or several do.
    """
    commit = repository.resolve(text)
    if commit is not None:
        return commit
    found = commits_beginning(repository, text)
    if len(found) > 1:
        some = ", ".join(sha[:12] for sha in found)
        raise Refusal(f"{text}: {len(found)} commits begin with it ({some}); give more of the id")
    raise Refusal(
        f"{text}: no such commit in {repository.directory}; fetch the branch it was on, or check it"
    )


def owner_of(repository: Repository, owners: Mapping[str, Sha], commit: Sha) -> str | None:
    """The first of some branches, given by name, that contains a commit."""
    for name, head in owners.items():
        if repository.is_ancestor(commit, head):
            return name
    return None


def commits_beginning(repository: Repository, text: str) -> tuple[Sha, ...]:
    """The commits whose ids begin with a text of at least four digits."""
    if not re.fullmatch("[0-9a-f]{4,}", text):
        return ()
    listed = repository.run("rev-parse", f"--disambiguate={text}").text.split()
    kinds = repository.run(
        "cat-file", "--batch-check=%(objectname) %(objecttype)",
        stdin="".join(f"{oid}\n" for oid in listed).encode(),
    ).text.splitlines()  # fmt: skip
    return tuple(Sha(line.split()[0]) for line in kinds if line.endswith(" commit"))
