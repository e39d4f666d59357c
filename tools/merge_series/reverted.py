"""What a sync does about reverts on main of what its branches hold: the lines stay, or they go.

To merge such a revert takes the PR out of every branch that has absorbed its landing, and git says
nothing. So a person is asked first. Their answer stands in the message of the merge that brings the
revert, and is true for all branches: nobody is asked twice.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.history import FOLLOWS, KEEPS, OVERRULES
from merge_series.plan import is_synced
from merge_series.planned import Planned
from merge_series.records import Answer, Beyond, Said
from merge_series.reverted_tree import BY_HAND, taken_back, undone
from merge_series.reverts import Key, Revert, Round
from merge_series.taken_out import Landed
from stack.command_line import typed
from stack.errors import ExitCode, Refusal
from stack.git_answers import Sha
from stack.model import PullRequest, State
from stack.refs import branch_ref
from stack.repository import Repository

OPTIONS = {Answer.KEEP: "--keep-reverted", Answer.LET_GO: "--drop-reverted"}


@dataclass(frozen=True, slots=True)
class Reverted:
    """The reverts on main of PRs of the series, with what is known of each.

    Attributes:
        repository: The fork.
        main: The commit of main.
        rounds: How often each PR landed and was reverted.
        holders: The PRs whose branches hold each of these.
        heads: Heads of the branches by PR number.
        answers: What is wanted, by revert, where a person has said it.
        merged: Those that the PR's own branch has merged and whose lines it has all the same.
        without: The PRs whose own branch lacks the lines that a sync asks about.
        asked: The reverts that some branch lacks and nobody has answered for.
        idle: Those of PRs that landed which no branch lacks, and nobody has answered for.
        said: What was said for this sync.
        reopened: The PRs that are open again by these, with that state.
        left: Heads that a landing was recorded of, by PR number.
        generated: Files that are made again in any case.
    """

    repository: Repository
    main: Sha
    rounds: Mapping[int, tuple[Round, ...]]
    holders: Mapping[int, frozenset[int]]
    heads: Mapping[int, Sha]
    answers: Mapping[Key, Answer]
    merged: Collection[Key]
    without: Collection[int]
    asked: tuple[Revert, ...]
    idle: tuple[Revert, ...]
    said: Said
    reopened: Mapping[int, State]
    left: Mapping[int, Sha]
    generated: Collection[str]

    @property
    def kept(self) -> frozenset[int]:
        """The PRs of which main lacks something that the branches keep."""
        return frozenset(
            number
            for number, rounds in self.rounds.items()
            if any(map(self._is_kept_now, rounds[-1].reverts))
        )

    @property
    def void(self) -> frozenset[int]:
        """Those of them of which main has nothing any more."""
        return frozenset(
            number
            for number in self.kept
            if (last := self.rounds[number][-1]).is_reverted
            and all(map(self._is_kept_now, last.reverts))
        )

    def _is_absorbed(self, number: int, one: Round) -> bool:
        """Whether a branch has what main made of a PR, which the others are to have as well."""
        tips = [self.heads[n] for n in self.holders[number] if n in self.heads]
        return any(
            self.repository.is_ancestor(sha, head)
            and not self.repository.is_ancestor(one.reverts[0].commit.sha, head)
            for head in tips
            for sha in one.brings
        )

    @property
    def landings(self) -> dict[int, Collection[Sha]]:
        """The commits of main that say they are a PR's landing, as ``look`` takes them."""
        found: dict[int, Collection[Sha]] = {}
        for number, rounds in self.rounds.items():
            last = rounds[-1]
            as_one = len(self._landed_as_one(last)) > 1
            # A branch that took what landed as one would have the lines of the other PRs as well.
            if number in self.void and (as_one or not self._is_absorbed(number, last)):
                found[number] = ()
            elif last.named:
                found[number] = last.named
        return found

    def _landed_as_one(self, one: Round) -> set[int]:
        """The PRs that landed by a commit of a landing."""
        return {
            n for n, rounds in self.rounds.items() for r in rounds if {*r.brings} & {*one.brings}
        }

    def _is_kept_now(self, revert: Revert) -> bool:
        wanted = self.answers.get(revert.key)
        return revert.ended_by is None and wanted is Answer.KEEP

    def refuse_unanswered(self, carrier: Carrier) -> None:
        """Ask a person about the reverts that nobody has answered for.

        Raises:
            Refusal: There are some.
        """
        for number in self.reopened:
            pull_request = carrier.series.pull_requests[number]
            if not self._holds(pull_request):
                has = "lacks what landed" if self._is_there(pull_request.branch) else "is not here"
                raise Refusal(
                    f"{self.repository.directory}: {pull_request.name} is to be open again, and "
                    f"its branch {pull_request.branch} {has}; make it where its commits are: "
                    f"{self._branch(pull_request)}, then run this again"
                )
        questions = self._questions(carrier)
        if questions:
            raise Refusal("\n".join(questions.values()), ExitCode.WAITING)

    def seen(self, carrier: Carrier) -> dict[int, str]:
        """What a person should know of PRs that main reverts, as a sentence for each."""
        idle = _sentences(self.idle)
        return {
            **{n: f"{said}; to bring it again, write open in its row." for n, said in idle.items()},
            **self._questions(carrier),
        }

    def gone(self, numbers: Iterable[int]) -> dict[int, str]:
        """A sentence on each of some PRs that landed and that branches let go before."""
        followed = {
            number: [r for r in self.rounds[number][-1].reverts if r.ended_by is None]
            for number in numbers
            if number in self.rounds and number not in self.said.reverted
        }
        found = [r for reverts in followed.values() for r in reverts if self._goes(r)]
        return {
            n: f"{said}, which its branches follow; to bring it again, first merge main into its "
            "branch by hand"
            for n, said in _sentences(found).items()
        }

    def let_go(self, carrier: Carrier) -> Iterator[str]:
        """A sentence for each PR that is let go now, on those that stand on it."""
        for number, answer in self.said.reverted.items():
            held = [f"{one.name} {one.branch}" for one in self._holding(carrier, number)]
            if answer is Answer.LET_GO and held:
                yield (
                    f"#{number}: what it brought goes from {', '.join(held)}; see that they work "
                    "without it"
                )

    def _holding(self, carrier: Carrier, number: int) -> list[PullRequest]:
        """The PRs that are synced and whose branches hold a PR."""
        held = (carrier.series.pull_requests[n] for n in sorted(self.holders[number]))
        return [one for one in held if one.number in self.heads and is_synced(one)]

    def _questions(self, carrier: Carrier) -> dict[int, str]:
        """What main reverts that nobody has answered for, and what to do, for each PR."""
        given = [f"--landed {number}={sha}" for number, sha in self.said.landed.items()]
        given += [f"{OPTIONS[answer]} {number}" for number, answer in self.said.reverted.items()]
        return {
            number: self._question(carrier, number, said, given)
            for number, said in _sentences(self.asked).items()
        }

    def _question(self, carrier: Carrier, number: int, said: str, given: Sequence[str]) -> str:
        pull_request = carrier.series.pull_requests.get(number)
        held = [one.branch for one in self._holding(carrier, number)]
        keep, let_go = (
            typed(" ".join(["merge_series sync", *given, f"{OPTIONS[answer]} {number}"]))
            for answer in (Answer.KEEP, Answer.LET_GO)
        )
        is_landed = pull_request is not None and pull_request.state == "landed"
        is_open = f", and have SERIES.md say that #{number} is open again" if is_landed else ""
        if pull_request is not None and not self._holds(pull_request):
            keep = f"{self._branch(pull_request)} && {keep}"
        return (
            f"{said}; nothing was merged. To keep its lines in "
            f"{', '.join(held)}{is_open}: {keep}. To let them go with the revert: {let_go}"
        )

    def _branch(self, pull_request: PullRequest) -> str:
        """The command that makes a PR's branch hold it, without a commit of it that is lost."""
        number, branch = pull_request.number, pull_request.branch
        head, name = self.left.get(number) or self.heads.get(number), shlex.quote(branch)
        commit = "COMMIT" if head is None else head[:12]
        tip = self.repository.resolve(branch_ref(branch))
        if tip is None:
            return f"git branch {name} {commit}"
        if self.repository.is_ancestor(tip, self.main):
            return f"git branch --force {name} {commit}"
        return f"git switch {name} && git merge {commit}"

    def _holds(self, pull_request: PullRequest) -> bool:
        """Whether the branch of a PR is there and holds it."""
        return pull_request.number not in self.without and self._is_there(pull_request.branch)

    def _is_there(self, branch: str) -> bool:
        return self.repository.resolve(branch_ref(branch)) is not None

    def is_past(self, number: int, tip: Sha) -> bool:
        """Whether a branch takes what main has of a PR as any other text of main.

        So does one that let an earlier landing go, and one that absorbed it and has not merged its
        revert yet: what main took back and brought again is nothing for it.
        """
        contains = self.repository.is_ancestor
        for one in self.rounds.get(number, ())[:-1]:
            for revert in one.reverts:
                if not contains(revert.commit.sha, tip):
                    if self._has(one, tip):
                        return True
                elif not (self._is_over(revert, tip) or self._is_kept(revert, tip)):
                    if self._goes(revert) and len(self._landed_as_one(one)) > 1:
                        return True  # what it lacks of this PR is not told by what it has
                    # A branch that never had it from main has its own lines all the same. What has
                    # its text under another name may be a file of the branch's own.
                    landing = Landed.read(self.repository, revert.undone[::-1], self.generated)
                    if landing is None or landing.rest(tip).isdisjoint(landing.files):
                        return True
        return False

    def step(self, pull_request: PullRequest, tip: Sha, merged: Sha) -> Planned | None:
        """What a branch has to merge before ``merged``, so that it keeps what is to be kept."""
        held = [
            revert
            for one, revert in self._coming(pull_request, tip, merged)
            if not self._goes(revert) and not self._is_over(revert, merged) and self._has(one, tip)
        ]
        kept = [revert for revert in held if not self._is_kept(revert, merged)]
        if not kept:
            return None
        above = kept[0].commit.parents[0]
        if not self.repository.is_ancestor(above, tip):
            return Planned(pull_request, None, tip, above)
        # What ``merged`` keeps of the same commit as well: this merge comes before it.
        at_once = [revert for revert in held if revert.commit == kept[0].commit]
        return self._keeping(pull_request, tip, at_once)

    def trailers(self, pull_request: PullRequest, tip: Sha, merged: Sha) -> tuple[str, ...]:
        """What the message of a merge says of the reverts that it brings."""
        return tuple(
            f"{FOLLOWS if self._goes(revert) else OVERRULES}: {revert.value}"
            for one, revert in self._coming(pull_request, tip, merged)
            if not self._said(FOLLOWS, revert, merged)
            and not self._is_kept(revert, merged)
            and (self._goes(revert) or not self._has(one, tip))
        )

    def _coming(
        self, pull_request: PullRequest, tip: Sha, merged: Sha
    ) -> Iterator[tuple[Round, Revert]]:
        """The reverts of what a branch holds that a merge brings it, oldest first."""
        contains = self.repository.is_ancestor
        found = [
            (one, revert)
            for number, held in self.holders.items()
            if pull_request.number in held
            for one in self.rounds[number]
            for revert in one.reverts
            if contains(revert.commit.sha, merged) and not contains(revert.commit.sha, tip)
        ]
        yield from sorted(found, key=lambda pair: pair[1].place)

    def _goes(self, revert: Revert) -> bool:
        return self.answers.get(revert.key) is Answer.LET_GO

    def _has(self, one: Round, tip: Sha) -> bool:
        """Whether a branch has a landing from main, so that git takes its revert for a change."""
        return any(self.repository.is_ancestor(sha, tip) for sha in one.brings) or any(
            len(self.repository.commits(head, f"^{first}", f"^{tip}"))
            < len(self.repository.commits(head, f"^{first}"))
            for head, first in one.merges
        )

    def _is_over(self, revert: Revert, tip: Sha) -> bool:
        """Whether main had brought it again by then."""
        return revert.ended_by is not None and self.repository.is_ancestor(revert.ended_by, tip)

    def _is_kept(self, revert: Revert, tip: Sha) -> bool:
        """Whether what a commit holds is kept there: as it says, or in the PR's own branch."""
        own = self.heads.get(revert.number)
        if own is not None and revert.key in self.merged and self.repository.is_ancestor(own, tip):
            return True
        return self._said(OVERRULES, revert, tip)

    def _said(self, trailer: str, revert: Revert, tip: Sha) -> bool:
        grep = f"--grep=^{trailer}: {revert.value}$"
        return bool(self.repository.commits("-1", grep, tip, f"^{self.main}"))

    def _keeping(self, pull_request: PullRequest, tip: Sha, reverts: Sequence[Revert]) -> Planned:
        """The merge of a revert that takes from it only what it does beyond reverting."""
        name, commit = " and ".join(f"#{revert.number}" for revert in reverts), reverts[0].commit
        goes = [r for _, r in self._coming(pull_request, tip, commit.sha) if self._goes(r)]
        if any(r.commit == commit and not taken_back(reverts).isdisjoint(r.undone) for r in goes):
            raise Refusal(
                f"{pull_request.branch}: {commit.sha[:12]} reverts what landed as one, so this "
                f"branch cannot keep {name} and let the rest go; give the same answer for all"
            )
        base, by_hand = undone(self.repository, reverts)
        body = (
            f"Main reverts {name} by {commit.sha[:12]}. This branch keeps what {name} brought,\n"
            "and takes only what that commit does beyond the revert."
        )
        if by_hand:
            listed = "\n".join(f"- {path}" for path in by_hand)
            body += f"\n\n{BY_HAND}\n{listed}"
        source, subject = f"main but the revert of {name}", f"Keep {name}, which main reverts"
        beyond = Beyond(base, source, subject, body)
        said = [f"{OVERRULES}: {revert.value}" for revert in reverts]
        said += [f"{KEEPS}: {sha}" for sha in sorted(taken_back(reverts))]
        said += [f"{FOLLOWS}: {revert.value}" for revert in goes]
        return Planned(pull_request, None, tip, commit.sha, beyond, tuple(said))


def _sentences(reverts: Iterable[Revert]) -> dict[int, str]:
    found: dict[int, list[str]] = {}
    for revert in reverts:
        found.setdefault(revert.number, []).append(str(revert.commit))
    return {
        number: f"#{number} landed, and main reverts it by {' and '.join(commits)}"
        for number, commits in found.items()
    }
