"""PRs that landed: proof by the tree, and what a branch needs so that nothing conflicts falsely.

A squash S on main brings a PR's changes without its commits, so git merging main into a branch that
holds those commits sees every change made twice. But if S has the tree of merging the PR's head
into the commit before S, a branch that contains both of these has all that S brings: S is recorded
in it by a merge that keeps its files, and main is merged from there on.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from carry.carried import Carrier
from merge_series.history import ABSORBS, History
from merge_series.mainline import MainCommit, MainLine, Seen, look
from merge_series.plan import heads_by_number
from merge_series.records import MergeRecord, Said
from merge_series.reverted import Reverted, read_reverted
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.merging import merge_trees
from stack.model import PullRequest, Series, State
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class Landing:
    """A PR that landed.

    Attributes:
        pull_request: The PR.
        head: The head of its branch, all of which main has.
        below: The commit of main before the landing; None where main contains ``head`` itself.
        commit: The last commit of the landing.
        after: Heads that landed before it and that it builds on.
    """

    pull_request: PullRequest
    head: Sha
    below: Sha | None
    commit: Sha
    after: tuple[Sha, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What a branch needs next to absorb a landing.

    Attributes:
        source: The PR to merge; None to merge main as it was before the landing.
        commit: What to merge.
        records: The landing, where the branch has all of it and is only to record that; else None.
    """

    source: PullRequest | None
    commit: Sha
    records: Landing | None = None


@dataclass(frozen=True, slots=True)
class Landings:
    """The landings on main that branches have not all absorbed, oldest first.

    Attributes:
        reverted: What main took back of earlier ones.
        found: They.
        newly: Numbers of those PRs that SERIES.md does not call landed yet.
        renumbered: Those of these whose commit on main has another number.
    """

    reverted: Reverted
    found: tuple[Landing, ...] = ()
    newly: tuple[int, ...] = ()
    renumbered: Mapping[int, MainCommit] = field(default_factory=dict)

    @property
    def states(self) -> dict[int, State]:
        """What SERIES.md has to call PRs that it calls otherwise."""
        return {**dict.fromkeys(self.newly, "landed"), **self.reverted.reopened}

    def mark(self, carrier: Carrier) -> Carrier:
        """The series as it is with these states."""
        return marked(carrier, self.states)

    def next_step(self, repository: Repository, tip: Sha) -> Step | None:
        """What the branch at ``tip`` needs next, before main is merged; None if nothing."""
        for landing in self.found:
            step = self._step(repository, landing, tip)
            if step is not None:
                return step
        return None

    def _step(self, repository: Repository, landing: Landing, tip: Sha) -> Step | None:
        if self.reverted.is_past(landing.pull_request.number, tip):
            return None
        return next_step(repository, landing, tip)

    def come_with(self, repository: Repository, tip: Sha, merged: Sha) -> bool:
        """Whether ``merged`` brings a landing that the branch at ``tip`` has to absorb before.

        That is a dependency which has taken main and never held the PR that landed: merging it is
        then like merging main. One that held the PR has absorbed the landing itself.
        """
        return any(
            self._step(repository, landing, tip) is not None
            and repository.is_ancestor(landing.commit, merged)
            and not _shares(repository, landing, merged)
            for landing in self.found
        )


def next_step(repository: Repository, landing: Landing, tip: Sha) -> Step | None:
    """What a branch needs next to absorb one landing; None if nothing.

    A branch that holds none of the PR's commits needs nothing: main merges into it as ever.
    """
    if landing.below is None or repository.is_ancestor(landing.commit, tip):
        return None
    if not _shares(repository, landing, tip):
        return None
    if not repository.is_ancestor(landing.head, tip):
        return Step(landing.pull_request, landing.head)
    if not repository.is_ancestor(landing.below, tip):
        return Step(None, landing.below)
    return Step(landing.pull_request, landing.commit, landing)


def _shares(repository: Repository, landing: Landing, tip: Sha) -> bool:
    known = [f"^{sha}" for sha in (landing.below, *landing.after) if sha]
    with_tip = repository.commits(landing.head, *known, f"^{tip}")
    return len(with_tip) < len(repository.commits(landing.head, *known))


def record_landing(
    repository: Repository, pull_request: PullRequest, landing: Landing, tip: Sha
) -> MergeRecord:
    """Record a landing in a PR's branch: a merge that keeps the files of ``tip``."""
    landed = landing.pull_request
    subject = f"Record that {landed.name} landed in main"
    body = (
        f"Main has it as {landing.commit[:12]}, whose files are those of merging {landed.branch}\n"
        f"at {landing.head[:12]} into the commit before. This branch contains both, so\n"
        "it keeps its files as they are.\n\n"
        f"{ABSORBS}: {landing.head}"
    )
    commit = repository.commit_tree(
        repository.tree_of(tip), [tip, landing.commit], f"{subject}\n\n{body}"
    )
    return MergeRecord(
        pull_request.branch, f"{landed.name} as landed", tip, landing.commit, commit, subject
    )


def marked(carrier: Carrier, states: Mapping[int, State]) -> Carrier:
    """The series with other states of some PRs."""
    changed = {
        number: replace(pr, state=states.get(number, pr.state))
        for number, pr in carrier.series.pull_requests.items()
    }
    return replace(carrier, series=Series(changed))


def find_landings(
    repository: Repository,
    carrier: Carrier,
    main: Sha,
    said: Said,
) -> Landings:
    """The landings of the series' PRs, each proven.

    Writes objects, but moves nothing.

    Args:
        repository: The fork.
        carrier: The series and its edits.
        main: The commit of main.
        said: What a person says of PRs that landed.

    Raises:
        Refusal: A PR seems to have landed, but not as its branch is, or a person has to say what
            becomes of one that main reverts.
    """
    known = heads_by_number(repository, carrier)
    line = MainLine.read(repository, main, known)
    history = History.read(repository, known, main)
    reverted = read_reverted(carrier, line, history, main, said)
    reverted.refuse_unanswered(carrier)
    carrier = marked(carrier, reverted.reopened)
    finder = _Finder(repository, carrier, line, history, reverted)
    found: list[Landing] = []
    all_seen = look(carrier, line, history, main, said.landed, reverted.landings)
    for seen in all_seen:
        landing = finder.prove(seen, found)
        found += [] if landing is None else [landing]
    finder.check_stated(main, {seen.pull_request.number for seen in all_seen})
    finder.check_swallowed(found)
    newly = tuple(
        number
        for landing in found
        if (number := landing.pull_request.number) not in reverted.kept
        and landing.pull_request.state != "landed"
    )
    commits = {commit.sha: commit for commit in line.commits}
    renumbered = {
        landing.pull_request.number: commit
        for landing in found
        if landing.pull_request.number in newly
        and (commit := commits.get(landing.commit)) is not None
        and commit.number not in {None, *carrier.series.pull_requests}
    }
    return Landings(reverted, tuple(found), newly, renumbered)


@dataclass(frozen=True, slots=True)
class _Finder:
    repository: Repository
    carrier: Carrier
    line: MainLine
    history: History
    reverted: Reverted

    def prove(self, seen: Seen, earlier: Sequence[Landing]) -> Landing | None:
        """The landing, if it is one that matters.

        Raises:
            Refusal: It is not what it seems.
        """
        pull_request, number = seen.pull_request, seen.pull_request.number
        if not seen.lengths:
            main = self.line.commits[seen.place].sha if seen.place >= 0 else seen.head
            return Landing(pull_request, seen.head, None, main, ())
        last = self.line.commits[seen.place]
        for landing in earlier:
            if landing.commit == last.sha and self.repository.is_ancestor(seen.head, landing.head):
                return replace(landing, pull_request=pull_request, head=seen.head)
        below = self.carrier.series.held[number] & self.reverted.kept & self.history.heads.keys()
        after = (
            *(landing.head for landing in earlier),
            *(self.history.heads[one] for one in below - {number}),
        )
        tries = [
            Landing(pull_request, seen.head, self.line.commits[first].parents[0], last.sha, after)
            for first in (seen.place + 1 - length for length in seen.lengths)
            if first >= 0 and self.line.commits[first].parents
        ]
        # A person wrote landed where the program had nothing to compare: only a branch that still
        # has to absorb the landing needs the proof.
        if pull_request.state == "landed" and not any(self._needed(one) for one in tries):
            return None
        differing: list[str] | None = None
        ours = self._absorbed(seen.head, earlier)
        for landing in tries:
            for head in (ours, seen.head) if ours != seen.head else (ours,):
                found = self._differing(landing, head)
                if not found:
                    return landing
                # The shortest says most: what else it differs in is other commits of main.
                differing = found if head == ours else differing
        paths = ", ".join(differing or ["no file that can be compared"])
        raise Refusal(
            f"main has #{number} as {last}, but that is not {pull_request.branch} at "
            f"{seen.head[:12]} merged into the commit before: they differ in {paths}; nothing was "
            f"changed. If {pull_request.branch} went on since, move what is new to a PR of its "
            f"own; if main has it in another form, {self._by_hand(seen)}write landed in its row; "
            f"if that commit is no landing of it, merge main by hand ({self._merge(pull_request)})"
        )

    def _by_hand(self, seen: Seen) -> str:
        """How the branches that hold a PR get main's form of it."""
        number = seen.pull_request.number
        own = {c.sha for c in self.history.own(number, self.carrier.series.held[number])}
        on = [
            self._merge(pr)
            for pr in self._open()
            if pr.number != number and any(pr.number in self.history.holders(sha) for sha in own)
        ]
        return f"merge main by hand ({' && '.join(on)}) and " if on else ""

    def _merge(self, pull_request: PullRequest) -> str:
        main = self.line.commits[-1].sha
        return f"git switch {pull_request.branch} && git merge {main[:12]}"

    def check_stated(self, main: Sha, known: Collection[int]) -> None:
        """Refuse where a PR is called landed, a branch holds it, and no commit of main names it."""
        for pull_request in self.carrier.series:
            number = pull_request.number
            head = self.history.heads.get(number)
            if pull_request.state != "landed" or number in known or head is None:
                continue
            own = {c.sha for c in self.history.own(number, self.carrier.series.held[number])}
            for dependent in self._open():
                held = any(dependent.number in self.history.holders(sha) for sha in own)
                if held and not self._has_absorbed(dependent, head, main):
                    raise Refusal(
                        f"SERIES.md:{pull_request.line}: {pull_request.name} is said to have "
                        f"landed and {dependent.branch} holds it, but no commit of main since "
                        f"names it; say which one it is: --landed {number}=SHA"
                    )

    def check_swallowed(self, found: Sequence[Landing]) -> None:
        """Refuse where a landing brought an open PR with it that main has not reverted since."""
        landed = {landing.pull_request.number for landing in found}.union(self.reverted.kept)
        for landing in found:
            if landing.below is None:
                continue
            inside = self.history.reached([landing.head])
            for other in self._open():
                own = self.history.own(other.number, self.carrier.series.held[other.number])
                head = self.history.heads.get(other.number)
                if other.number not in landed and own and head in inside:
                    raise Refusal(
                        f"{landing.pull_request.name} landed as {landing.commit[:12]} with all of "
                        f"{other.name}, which it holds; if {other.name} has landed by that, say "
                        f"so: --landed {other.number}={landing.commit[:12]}"
                    )

    def _open(self) -> tuple[PullRequest, ...]:
        return tuple(
            pr
            for pr in self.carrier.series
            if pr.state in {"open", "draft"} and pr.number in self.history.heads
        )

    def _needed(self, landing: Landing) -> bool:
        return any(
            next_step(self.repository, landing, self.history.heads[pr.number])
            for pr in self._open()
        )

    def _has_absorbed(self, dependent: PullRequest, head: Sha, main: Sha) -> bool:
        """Whether the branch records the landing, or lacks nothing of main."""
        bits = self.history.mask([dependent.number])
        absorbed = self.history.reached(
            absorbed
            for sha, commit in self.history.commits.items()
            if self.history.held[sha] & bits
            for absorbed in commit.absorbs
        )
        return head in absorbed or self.repository.is_ancestor(
            main, self.history.heads[dependent.number]
        )

    def _differing(self, landing: Landing, head: Sha) -> list[str]:
        """Files in which a landing is not ``head`` merged; those made again anyway left out."""
        assert landing.below is not None  # noqa: S101 - only such landings are compared
        merged = merge_trees(self.repository, landing.below, head)
        answer = self.repository.run(
            "diff-tree", "-r", "-z", "--name-only", merged.tree, landing.commit
        )
        paths = {path for path in answer.text.split("\0") if path}
        paths |= {conflict.path for conflict in merged.conflicts}
        return sorted(paths.difference(self.carrier.series.generated))

    def _absorbed(self, head: Sha, earlier: Sequence[Landing]) -> Sha:
        """``head`` with the earlier landings absorbed, or itself where that takes a person."""
        tip = head
        for landing in earlier:
            while (step := next_step(self.repository, landing, tip)) is not None:
                tree: Sha = self.repository.tree_of(tip)
                if step.records is None:
                    merged = merge_trees(self.repository, tip, step.commit)
                    conflicted = {conflict.path for conflict in merged.conflicts}
                    if not conflicted.issubset(self.carrier.series.generated):
                        return head
                    tree = merged.tree
                tip = self._scratch(tree, (tip, step.commit))
        return tip

    def _scratch(self, tree: Sha, parents: Sequence[Sha]) -> Sha:
        """A commit that only serves to merge on: no branch ever holds it, so nobody signs it."""
        arguments = [part for parent in parents for part in ("-p", parent)]
        message = ("-m", "merge_series: a merge to compare a landing with")
        return Sha(self.repository.run("commit-tree", *arguments, *message, tree).text)
