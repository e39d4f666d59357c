"""Settling the files that git left in conflict, where a rule can rebuild them.

Each resolver either rebuilds the file from its sources or says why it does not. One that is not
sure leaves the file to a person: a wrong silent merge is the worst thing this program can do.
"""

from dataclasses import dataclass

from carry.carried import Carrier
from carry.edits import EditMismatch
from stack.errors import Refusal
from stack.merging import BASE, OURS, THEIRS, Conflict
from stack.model import PullRequest
from stack.repository import Repository, Sha


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a merge.

    Attributes:
        commit: Its commit.
        holds: The PRs it contains, dependencies first; none for main.
        main: The commit of main it stands on.
    """

    commit: Sha
    holds: tuple[PullRequest, ...]
    main: Sha


@dataclass(frozen=True, slots=True)
class Settled:
    """A conflict that was settled: the file's new bytes and how they came about."""

    path: str
    mode: str
    content: bytes
    how: str


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A conflict that is left to a person, and why."""

    path: str
    why: str


def main_below(repository: Repository, commit: Sha, main: Sha) -> Sha:
    """The commit of main that ``commit`` stands on.

    Raises:
        Refusal: There is none, or more than one.
    """
    bases = repository.merge_bases(commit, main)
    if len(bases) != 1:
        found = "no commit" if not bases else f"{len(bases)} latest commits"
        raise Refusal(
            f"{commit[:12]} has {found} in common with main at {main[:12]}; one is needed"
        )
    return bases[0]


def settle(
    repository: Repository, carrier: Carrier, conflict: Conflict, ours: Side, theirs: Side
) -> Settled | Unsettled:
    """Settle one conflict, or say why it is left to a person.

    Args:
        repository: The fork.
        carrier: The series and its edits.
        conflict: The conflict; not one of a generated file.
        ours: The branch.
        theirs: What is merged into it.
    """
    holds = carrier.series.closure(*ours.holds, *theirs.holds)
    if not conflict.is_content or not carrier.edits(conflict.path, holds):
        return Unsettled(conflict.path, _said(conflict))
    for side, stage, name in ((ours, OURS, "the branch"), (theirs, THEIRS, "what is merged")):
        expected = _rebuilt(repository, carrier, conflict.path, side.main, side.holds)
        if expected != repository.read_blob(conflict.stages[stage].oid):
            return Unsettled(
                conflict.path, f"{name} holds more in this file than its edits applied to main"
            )
    newer = _newer(repository, ours.main, theirs.main)
    source = None if newer is None else repository.read_file(newer, conflict.path)
    if source is None:
        return Unsettled(conflict.path, "the two sides stand on no common main that has this file")
    try:
        text = carrier.text(conflict.path, source, holds)
    except EditMismatch as mismatch:
        return Unsettled(conflict.path, f"main's text does not take the edits: {mismatch}")
    editors = [pr.name for pr in holds if carrier.edits(conflict.path, [pr])]
    how = f"the edits of {', '.join(editors)} applied to main's text"
    return Settled(conflict.path, conflict.stages[OURS].mode, text, how)


def _rebuilt(
    repository: Repository,
    carrier: Carrier,
    path: str,
    main: Sha,
    holds: tuple[PullRequest, ...],
) -> bytes | None:
    source = repository.read_file(main, path)
    if source is None or not carrier.edits(path, holds):
        return source
    try:
        return carrier.text(path, source, holds)
    except EditMismatch:
        return None


def _newer(repository: Repository, one: Sha, other: Sha) -> Sha | None:
    if one == other or repository.is_ancestor(one, other):
        return other
    return one if repository.is_ancestor(other, one) else None


def _said(conflict: Conflict) -> str:
    if conflict.messages:
        return conflict.messages[0]
    sides = {BASE: "the merge base", OURS: "the branch", THEIRS: "what is merged"}
    present = ", ".join(sides[stage] for stage in sorted(conflict.stages))
    return f"present in {present} only" if present else "in conflict"
