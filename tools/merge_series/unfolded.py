"""Commits that a superseded branch got after it was folded, which its successor has in no form.

Read off the history alone: the successor's commits say whose they were (``Originally #N.``), and a
branch on it records at which heads. Where no branch does, the time of the fold has to tell.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.checks import Check
from merge_series.history import History
from merge_series.plan import heads_by_number, synced_pull_requests
from stack.git_answers import Sha, decode
from stack.model import PullRequest
from stack.repository import Repository
from stack.words import counted

_ORIGIN = re.compile(r"^Originally #([1-9][0-9]*)\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Fold:
    """The commit that a PR became.

    Attributes:
        commit: It.
        made: When it was made, in seconds since the epoch.
    """

    commit: Sha
    made: int


def left_behind(repository: Repository, carrier: Carrier, main: Sha) -> dict[int, str]:
    """A sentence for each superseded PR whose branch got more since, with advice, by its number."""
    return {
        old.number: sentence for old, _, sentence in _found(repository, carrier, main) if sentence
    }


def check_folded(repository: Repository, carrier: Carrier, main: Sha) -> tuple[Check, ...]:
    """What ``verify`` says of each successor: one check for each PR that it supersedes."""
    return tuple(
        Check(successor.branch, f"holds all of {old.name}", sentence)
        for old, successor, sentence in _found(repository, carrier, main)
    )


def _found(
    repository: Repository, carrier: Carrier, main: Sha
) -> list[tuple[PullRequest, PullRequest, str]]:
    """Each superseded PR whose branch is there, with its successor and the sentence, if any."""
    superseded = [pr for pr in carrier.series if pr.state == "superseded"]
    known = heads_by_number(repository, carrier) if superseded else {}
    superseded = [pr for pr in superseded if pr.number in known]
    heads = {
        pr.number: known[pr.number] for pr in synced_pull_requests(carrier) if pr.number in known
    }
    if not superseded or not heads:
        return []
    folds = _folds(repository, heads, main)
    history = History.read(repository, heads, main)
    found = []
    for old in superseded:
        fold = folds.get(old.number)
        if fold is None or any(
            repository.is_ancestor(fold.commit, known[pr.number]) for pr in superseded
        ):
            continue  # folded on, or landed
        holders = history.holders(fold.commit)
        held = carrier.series.held
        number = next(n for n in holders if held[n] & holders == {n})
        successor = carrier.series.pull_requests[number]
        recorded = [
            head
            for commit in history.commits.values()
            if commit.subject.startswith(f"Record that {successor.name} supersedes ")
            for head in commit.absorbs
        ]
        head = known[old.number]
        more = _more(repository, head, (main, *heads.values()), recorded, fold)
        more = _untaken(repository, more, head, heads[number], main)
        found.append((old, successor, _told(repository, old, successor, more)))
    return found


def _folds(repository: Repository, heads: Mapping[int, Sha], main: Sha) -> dict[int, _Fold]:
    """The commits of successors by the PR that each was, where main does not hold them yet."""
    answer = repository.run(
        "log", "-z", "--reverse", "--no-merges", "--grep=^Originally #", "--format=%H%x00%ct%x00%B",
        *heads.values(), f"^{main}", "--",
    )  # fmt: skip
    fields = decode(answer.stdout).split("\0")
    folds = {}
    for sha, made, message in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        for number in _ORIGIN.findall(message):
            folds[int(number)] = _Fold(Sha(sha), int(made))
    return folds


def _more(
    repository: Repository,
    head: Sha,
    below: Sequence[Sha],
    recorded: Sequence[Sha],
    fold: _Fold,
) -> list[Sha]:
    """The commits that a superseded branch alone has since it was folded, oldest first."""
    then = [sha for sha in recorded if repository.is_ancestor(sha, head)]
    since = [] if then else [f"--max-age={fold.made + 1}"]
    without = [f"^{sha}" for sha in (*below, *then)]
    return list(repository.commits("--reverse", "--no-merges", *since, head, *without))


def _untaken(
    repository: Repository, more: Sequence[Sha], head: Sha, successor: Sha, main: Sha
) -> list[Sha]:
    """Those whose change the successor does not have, and that no message of it names."""
    if not more:
        return []
    other = repository.commits(
        "--cherry-pick", "--right-only", "--no-merges", f"{successor}...{head}"
    )
    messages = repository.run("log", "--format=%B", successor, f"^{main}", "--").text
    return [sha for sha in more if sha in other and sha[:12] not in messages]


def _told(
    repository: Repository, old: PullRequest, successor: PullRequest, more: Sequence[Sha]
) -> str:
    if not more:
        return ""
    subject = repository.message(more[0]).partition("\n")[0]
    others = f" and {len(more) - 1} more" if len(more) > 1 else ""
    picked = " ".join(sha[:12] for sha in more)
    return (
        f"{old.branch} got {counted(len(more), 'commit')} since {successor.name} superseded "
        f"{old.name}, which {successor.branch} lacks: {more[0][:12]} '{subject}'{others}; take it "
        f"over (git switch {shlex.quote(successor.branch)} && git cherry-pick -x {picked}), or say "
        f"by its id in the message of a commit there that it is left out"
    )
