"""The PRs of a series that landed on main, each proved."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from carry.carried import Carrier
from merge_series.generated_files import generated_paths
from merge_series.gone import Heads
from merge_series.history import History
from merge_series.landed_form import Form, has_merged_files, landed_form, merge_of
from merge_series.landing import Landing, Step, next_step, shares
from merge_series.mainline import MainCommit, MainLine, Seen, look
from merge_series.records import Said
from merge_series.revert_answers import read_reverted
from merge_series.reverted import Reverted
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.merging import merge_trees
from stack.model import PullRequest, Series, State
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class Landings:
    """The landings on main that branches have not all absorbed, oldest first.

    Attributes:
        reverted: What main took back of earlier ones.
        found: They.
        joint: Those of several PRs that landed as one, of which none holds another: the more first.
        newly: Numbers of those PRs that SERIES.md does not call landed yet.
        renumbered: Those of these whose commit on main has another number.
        made_again: Files that are made again after every merge, in whatever form main has them.
    """

    reverted: Reverted
    found: tuple[Landing, ...] = ()
    joint: tuple[Landing, ...] = ()
    newly: tuple[int, ...] = ()
    renumbered: Mapping[int, MainCommit] = field(default_factory=dict)
    made_again: frozenset[str] = frozenset()

    @property
    def states(self) -> dict[int, State]:
        """What SERIES.md has to call PRs that it calls otherwise."""
        return {**dict.fromkeys(self.newly, "landed"), **self.reverted.reopened}

    def mark(self, carrier: Carrier) -> Carrier:
        """The series as it is with these states."""
        return marked(carrier, self.states)

    def told(self, carrier: Carrier) -> Iterator[str]:
        """A sentence for each that main has in another form, and for each that is let go."""
        joined = {one.pull_request.number for landing in self.joint for one in landing.each}
        alone = [one for one in self.found if one.pull_request.number not in joined]
        whole = [one for one in self.joint if not any(map(one.is_part_of, self.joint))]
        yield from filter(None, (one.told(self.made_again) for one in (*whole, *alone)))
        yield from self.reverted.let_go(carrier)

    def next_step(self, repository: Repository, tip: Sha) -> Step | None:
        """What the branch at ``tip`` needs next, before main is merged; None if nothing."""
        for landing in (*self.joint, *self.found):
            step = self._step(repository, landing, tip)
            if step is not None:
                return step
        return None

    def _step(self, repository: Repository, landing: Landing, tip: Sha) -> Step | None:
        if any(self.reverted.is_past(one.pull_request.number, tip) for one in landing.each):
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
            and not shares(repository, landing, merged)
            for landing in self.found
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
        Refusal: A PR seems to have landed, but not as its branch is, or its branch is gone and its
            head can't be told, or a person has to say what becomes of one that main reverts.
    """
    heads = Heads.read(repository, carrier, main)
    heads.refuse_unknown()
    known = heads.known
    line = MainLine.read(repository, main, known)
    history = History.read(repository, known, main)
    reverted = read_reverted(carrier, line, history, main, said)
    reverted.refuse_unanswered(carrier)
    carrier = marked(carrier, reverted.reopened)
    made_again = generated_paths(repository, carrier)
    finder = _Finder(repository, carrier, line, history, reverted, made_again)
    found: list[Landing] = []
    all_seen = look(carrier, line, history, main, said.landed, reverted.landings)
    for seen in all_seen:
        try:
            landing = finder.prove(seen, found)
        except Refusal:
            # What main reverted is not needed to keep a PR whose author went on.
            if seen.pull_request.number not in reverted.void:
                raise
            continue
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
    joint = tuple(finder.joint(found))
    return Landings(reverted, tuple(found), joint, newly, renumbered, made_again)


@dataclass(frozen=True, slots=True)
class _Finder:
    repository: Repository
    carrier: Carrier
    line: MainLine
    history: History
    reverted: Reverted
    made_again: frozenset[str]  # files

    def prove(self, seen: Seen, earlier: Sequence[Landing]) -> Landing | None:
        """The landing, if it is one that matters.

        Raises:
            Refusal: It is not what it seems.
        """
        pull_request = seen.pull_request
        if not seen.lengths:
            main = self.line.commits[seen.place].sha if seen.place >= 0 else seen.head
            return Landing(pull_request, seen.head, None, main, Form(main))
        last = self.line.commits[seen.place]
        for landing in earlier:
            if landing.commit == last.sha and self.repository.is_ancestor(seen.head, landing.head):
                return replace(landing, pull_request=pull_request, head=seen.head)
        number = pull_request.number
        kept = self.carrier.series.held[number] & self.reverted.kept & self.history.heads.keys()
        after = (
            *(landing.head for landing in earlier),
            *self._absorbed_before(seen.head),
            *(self.history.heads[one] for one in kept - {number}),
        )
        whole = Form(last.sha)
        tries = {
            length: Landing(pull_request, seen.head, below[0], last.sha, whole, after)
            for length in seen.lengths
            if (first := seen.place + 1 - length) >= 0
            if (below := self.line.commits[first].parents)
        }
        # A person wrote landed where the program had nothing to compare: only a branch that still
        # has to absorb the landing needs the proof.
        if pull_request.state == "landed" and not any(map(self._needed, tries.values())):
            return None
        absorbed = self._absorbed(seen.head, earlier)
        heads = (absorbed, seen.head) if absorbed != seen.head else (absorbed,)
        own = self.history.own(pull_request.number, self.carrier.series.held[pull_request.number])
        is_known = len(seen.lengths) == 1
        length = seen.lengths[0] if is_known else self.line.length(own, seen.place)
        for longer, landing in tries.items():
            if longer >= length and any(self._is_whole(landing, head) for head in heads):
                return landing
        forms = [self._form(tries[length], head) for head in heads]
        form = min(forms, key=lambda form: len(form.differing))
        self._refuse_doubtful(seen, last, form)
        return replace(tries[length], form=form)

    def _absorbed_before(self, head: Sha) -> set[Sha]:
        """The heads that a branch took from main in another form, which others hold as well."""
        reached = self.history.reached([head])
        return {old for sha in reached for old in self.history.commits[sha].absorbs}

    def _is_whole(self, landing: Landing, head: Sha) -> bool:
        """Whether a landing has the files of ``head`` merged; those made again left out."""
        assert landing.below is not None  # noqa: S101 - only such landings are compared
        generated = self.carrier.series.generated
        return has_merged_files(self.repository, landing.below, head, landing.commit, generated)

    def _form(self, landing: Landing, head: Sha) -> Form:
        assert landing.below is not None  # noqa: S101 - only such landings are compared
        generated = self.carrier.series.generated
        return landed_form(self.repository, landing.below, head, landing.commit, generated)

    def _refuse_doubtful(self, seen: Seen, last: MainCommit, form: Form) -> None:
        """Refuse a landing that has nothing of the PR, or of a branch that went on since."""
        pull_request, branch = seen.pull_request, seen.pull_request.branch
        name = f"main has {pull_request.name} as {last}, but "
        if form.is_empty:
            raise Refusal(
                f"{name}that has nothing of what {branch} at {seen.head[:12]} brings; nothing was "
                f"changed. Name the commit that brought it (--landed {pull_request.number}=SHA); "
                f"if none did, merge main by hand ({self._merge(pull_request)})"
            )
        is_named = pull_request.number in self.reverted.said.landed
        later = () if is_named else self._later(seen, last)
        differing = [path for path in form.differing if path not in self.made_again]
        if later and differing:
            more = f" and {len(later) - 1} more" if len(later) > 1 else ""
            raise Refusal(
                f"{name}{branch} went on since with {later[0]}{more}, and they differ in "
                f"{', '.join(differing)}; nothing was changed. Move what is new to a PR of "
                f"its own; if main has it in another form, say so: "
                f"--landed {pull_request.number}={last.sha[:12]}; if that commit is no landing of "
                f"it, merge main by hand ({self._merge(pull_request)})"
            )

    def _later(self, seen: Seen, last: MainCommit) -> tuple[str, ...]:
        """The commits of a PR that were made after its landing, oldest first.

        Those that a merge did not bring, or else those that are younger than the landing.
        """
        number = seen.pull_request.number
        own = [c.sha for c in self.history.own(number, self.carrier.series.held[number])]
        command = ("log", "--no-walk=unsorted", "--format=%ct %H '%s'", last.sha, *own, "--")
        landed, *rows = (r.split(" ", 2) for r in self.repository.run(*command).text.split("\n"))
        is_merge = any(self.repository.is_ancestor(one, seen.head) for one in last.parents[1:])
        return tuple(
            f"{sha[:12]} {what}"
            for made, sha, what in rows
            if is_merge or int(made) > int(landed[0])
        )

    def _merge(self, pull_request: PullRequest) -> str:
        main = self.line.main
        return f"git switch {pull_request.branch} && git merge {main[:12]}"

    def joint(self, found: Sequence[Landing]) -> Iterator[Landing]:
        """The landings that are of several of some PRs, of which none holds another."""
        together: dict[tuple[Sha, Sha], list[Landing]] = {}
        for landing in found:
            if landing.below is not None:
                together.setdefault((landing.below, landing.commit), []).append(landing)
        for (below, commit), landings in together.items():
            alone = self.repository.run(
                "merge-base", "--independent", *(landing.head for landing in landings)
            ).text.split()
            # What the series has first stands last among those that landed as one.
            by_head = {landing.head: landing for landing in reversed(landings)}
            parts = [one for head, one in by_head.items() if head in alone]
            for count in range(len(parts), 1, -1):
                for joined in combinations(parts, count):
                    head = merge_of(self.repository, [one.head for one in joined])
                    generated = self.carrier.series.generated
                    form = landed_form(self.repository, below, head, commit, generated)
                    yield replace(joined[0], head=head, form=form, joined=joined)

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

    def _absorbed(self, head: Sha, earlier: Sequence[Landing]) -> Sha:
        """``head`` with the earlier landings absorbed, or itself where that takes a person."""
        tip = head
        for landing in (*self.joint(earlier), *earlier):
            while (step := next_step(self.repository, landing, tip)) is not None:
                base = None if step.beyond is None else step.beyond.base
                merged = merge_trees(self.repository, tip, step.commit, base)
                conflicted = {conflict.path for conflict in merged.conflicts}
                if not conflicted.issubset(self.made_again):
                    return head
                tip = self.repository.commit_nowhere(merged.tree, (tip, step.commit))
        return tip
