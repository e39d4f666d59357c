"""Which reverts on main a person has answered for, and which a sync has to ask about."""

from collections.abc import Mapping
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.history import History
from merge_series.mainline import MainLine
from merge_series.plan import is_synced
from merge_series.records import Answer, Said
from merge_series.reverted import Reverted
from merge_series.reverted_tree import does_revert
from merge_series.reverts import Key, Revert, holders, recorded_heads
from merge_series.taken_out import Landed, known_rounds
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest, Series, State
from stack.repository import Repository


def read_reverted(
    carrier: Carrier,
    line: MainLine,
    history: History,
    main: Sha,
    said: Said,
) -> Reverted:
    """Find the reverts that matter to a sync.

    Args:
        carrier: The series.
        line: Main's commits.
        history: What the branches hold.
        main: The commit of main.
        said: What a person says of PRs that landed.

    Raises:
        Refusal: An answer is about no revert.
    """
    repository, series = line.repository, carrier.series
    rounds = known_rounds(line, series, history, said.landed)
    reverts = [r for mine in rounds.values() for one in mine for r in one.reverts]
    held = {number: holders(history, series, number) for number in {r.number for r in reverts}}
    holds = _Holder(repository, series, history)
    merged = frozenset(revert.key for revert in reverts if holds.has_merged(revert))
    overruled = {key for commit in history.commits.values() for key in commit.overrules} | merged
    followed = {key for commit in history.commits.values() for key in commit.follows}
    answers: dict[Key, Answer] = dict.fromkeys(followed, Answer.LET_GO)
    answers |= dict.fromkeys(overruled, Answer.KEEP)
    for revert in reverts:
        if revert.part_of in answers and revert.key not in answers:
            answers[revert.key] = answers[revert.part_of]
    asked, idle = [], []
    for revert in reverts:
        pull_request = series.pull_requests.get(revert.number)
        if revert.key in answers or revert.ended_by is not None:
            continue
        if _lacking(repository, series, history, held, revert):
            asked.append(revert)
        elif pull_request is not None and pull_request.state == "landed":
            idle += [revert] if revert.number in history.heads and not revert.part_of else []
    asked = [revert for revert in asked if does_revert(repository, revert)]
    idle = [revert for revert in idle if does_revert(repository, revert)]
    for number in said.reverted:
        if number not in {revert.number for revert in asked}:
            raise Refusal(
                f"#{number}: no revert on main waits for an answer about it; leave the option out"
            )
    answers |= {r.key: said.reverted[r.number] for r in asked if r.number in said.reverted}
    without = {revert.number for revert in asked if not holds.holds(revert)}
    asked = [revert for revert in asked if revert.number not in said.reverted]
    reopened: dict[int, State] = {
        number: "open"
        for number, answer in said.reverted.items()
        if answer is Answer.KEEP
        and (pull_request := series.pull_requests.get(number)) is not None
        and pull_request.state == "landed"
    }
    return Reverted(
        repository=repository,
        main=main,
        rounds=rounds,
        holders=held,
        heads=history.heads,
        answers=answers,
        merged=merged,
        without=without,
        asked=tuple(asked),
        idle=tuple(idle),
        said=said,
        reopened=reopened,
        left=recorded_heads(history),
        generated=series.generated,
    )


@dataclass(frozen=True, slots=True)
class _Holder:
    """Whether the branches of PRs themselves hold what main takes back of them."""

    repository: Repository
    series: Series
    history: History

    def has_merged(self, revert: Revert) -> bool:
        """Whether a branch that is synced has merged a revert, and holds the lines all the same."""
        pull_request = self.series.pull_requests.get(revert.number)
        own = self.history.heads.get(revert.number)
        return (
            pull_request is not None
            and is_synced(pull_request)
            and own is not None
            and self.repository.is_ancestor(revert.commit.sha, own)
            and self.holds(revert)
        )

    def holds(self, revert: Revert) -> bool:
        """Whether a branch has any of the lines; one that is gone, where it was."""
        own = self.history.heads.get(revert.number)
        if own is None:
            return False
        landing = Landed.read(self.repository, revert.undone[::-1], self.series.generated)
        return landing is None or not landing.is_gone(own)


def _lacking(
    repository: Repository,
    series: Series,
    history: History,
    held: Mapping[int, frozenset[int]],
    revert: Revert,
) -> list[PullRequest]:
    """The PRs that are synced and hold what a revert takes back, and have not merged it."""
    return [
        pr
        for pr in series
        if pr.number in held[revert.number]
        and is_synced(pr)
        and pr.number in history.heads
        and not repository.is_ancestor(revert.commit.sha, history.heads[pr.number])
    ]
