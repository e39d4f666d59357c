"""Settling the files that git left in conflict, where a rule can rebuild them.

Each resolver either rebuilds the file from its sources or says why it does not. One that is not
sure leaves the file to a person: a wrong silent merge is the worst thing this program can do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from carry.carried import Carrier
from merge_series.generated_files import FILE_MODES
from merge_series.recorded import Recorded
from merge_series.text_merge import Hunk
from stack.errors import Refusal
from stack.git_answers import Entry, Sha
from stack.lazy import Lazy
from stack.merging import BASE, OURS, THEIRS, Conflict, Merge
from stack.model import PullRequest
from stack.repository import Repository
from stack.words import counted

if TYPE_CHECKING:
    from carry import edits
    from merge_series import (
        import_checks,
        import_merge,
        import_order,
        import_statements,
        import_targets,
    )
else:
    # Most syncs meet no conflict that these settle.
    edits = Lazy("carry.edits")
    import_checks = Lazy("merge_series.import_checks")
    import_merge = Lazy("merge_series.import_merge")
    import_order = Lazy("merge_series.import_order")
    import_statements = Lazy("merge_series.import_statements")
    import_targets = Lazy("merge_series.import_targets")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a merge.

    Attributes:
        commit: Its commit.
        holds: The PRs it contains, dependencies first; none for main.
        main: The commit of main that is synced with.
    """

    commit: Sha
    holds: tuple[PullRequest, ...]
    main: Sha


@dataclass(frozen=True, slots=True)
class Settled:
    """A conflict that was settled.

    Attributes:
        path: The path.
        mode: Its mode; empty where the path is removed.
        content: Its new bytes; of a submodule its commit's id.
        how: How they came about, as a phrase.
    """

    path: str
    mode: str
    content: bytes
    how: str


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A conflict that is left to a person.

    Attributes:
        path: The path.
        why: Why no rule settles it; empty where none is meant to.
        part: What of it is settled already; conflict markers are around the rest.
        left: The rest; None if that is all.
        by: The commits of a side that changed what is in conflict, by its stage.
    """

    path: str
    why: str
    part: Settled | None = None
    left: tuple[Hunk, ...] | None = None
    by: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sources:
    """What the conflicts of one merge are settled from.

    Attributes:
        repository: The fork.
        carrier: The series and its edits.
        recorded: What people settled before; None where that does not count.
        ours: The branch.
        theirs: What is merged into it.
        merge: What git made of them.
    """

    repository: Repository
    carrier: Carrier
    recorded: Recorded | None
    ours: Side
    theirs: Side
    merge: Merge


def main_below(repository: Repository, commit: Sha, main: Sha) -> Sha:
    """The commit of main that ``commit`` stands on.

    Raises:
        Refusal: There is none, or more than one.
    """
    bases = repository.merge_bases(commit, main)
    if len(bases) != 1:
        found = "no commit" if not bases else f"{len(bases)} latest commits"
        raise Refusal(
            f"{commit[:12]} has {found} in common with main at {main[:12]}; one is needed; "
            "check that --main names what it was built on"
        )
    return bases[0]


def settle(
    sources: Sources, group: Sequence[Conflict], among: Sequence[Sequence[Conflict]]
) -> Settled | Unsettled:
    """Settle one conflict, or say why it is left to a person.

    Args:
        sources: What it is settled from.
        group: The conflict, not one of a file that is made again, followed by those that git names
            together with it.
        among: All conflicts of the merge, in this form.
    """
    conflict = group[0]
    reasons = []
    part = None
    left: tuple[Hunk, ...] | None = None
    for resolver in (_by_edits, _by_imports):
        end = resolver(sources, conflict)
        if isinstance(end, Settled):
            return end
        if isinstance(end, Unsettled):
            reasons.append(end.why)
            part, left = end.part, end.left
    again = None if sources.recorded is None else sources.recorded.find(group, among)
    if again is not None:
        how = again.how(sources.repository, sources.ours.commit, sources.theirs.commit)
        return Settled(conflict.path, again.mode, again.content, how)
    return Unsettled(conflict.path, "; ".join(reasons), part, left)


def is_left(
    repository: Repository, conflict: Conflict, end: Settled | Unsettled, result: Entry | None
) -> bool:
    """Whether what was settled of a conflict still stands in what a person made of the merge.

    Args:
        repository: The fork.
        conflict: The conflict.
        end: How it was settled, wholly or in part.
        result: What the person's tree has at its path.
    """
    if isinstance(end, Settled):
        return entries(repository, [end])[end.path] == result
    if end.part is None or result is None or result.mode not in FILE_MODES:
        return False
    merged = import_merge.merge_imports(*_texts(repository, conflict))
    return merged.are_in(repository.read_blob(result.oid))


def entries(repository: Repository, settled: Sequence[Settled]) -> dict[str, Entry | None]:
    """Store what settled files hold; their entries in a tree by path, None for a removed one."""
    files = [s for s in settled if s.mode in {*FILE_MODES, "120000"}]
    oids = repository.write_blobs([s.content for s in files])
    made: dict[str, Entry | None] = {
        s.path: Entry(s.mode, Sha(s.content.decode())) if s.mode else None
        for s in settled
        if s not in files
    }
    return made | {s.path: Entry(s.mode, oid) for s, oid in zip(files, oids, strict=True)}


def _by_edits(sources: Sources, conflict: Conflict) -> Settled | Unsettled | None:
    """The series' edits applied to main's text; None where the series does not edit the file."""
    repository, carrier = sources.repository, sources.carrier
    ours, theirs = sources.ours, sources.theirs
    holds = carrier.series.closure(*ours.holds, *theirs.holds)
    if not conflict.is_content or not carrier.edits(conflict.path, holds):
        return None
    try:
        mains = [main_below(repository, side.commit, side.main) for side in (ours, theirs)]
    except Refusal as refusal:
        return Unsettled(conflict.path, str(refusal))
    for side, main, stage, name in (
        (ours, mains[0], OURS, "the branch"),
        (theirs, mains[1], THEIRS, "what is merged"),
    ):
        expected = _rebuilt(repository, carrier, conflict.path, main, side.holds)
        if expected != repository.read_blob(conflict.stages[stage].oid):
            return Unsettled(
                conflict.path, f"{name} holds more in this file than its edits applied to main"
            )
    newer = _newer(repository, *mains)
    source = None if newer is None else repository.read_file(newer, conflict.path)
    if source is None:
        return Unsettled(conflict.path, "the two sides stand on no common main that has this file")
    older = repository.read_file(mains[1] if newer == mains[0] else mains[0], conflict.path)
    return _edited(carrier, conflict, older, source, holds)


def _edited(
    carrier: Carrier,
    conflict: Conflict,
    older: bytes | None,
    newer: bytes,
    holds: tuple[PullRequest, ...],
) -> Settled | Unsettled:
    """The edits applied to the newer of two texts of main, without what main took back."""
    kept = holds if older is None else _not_taken_back(carrier, conflict.path, older, newer, holds)
    editors = [pr.name for pr in kept if carrier.edits(conflict.path, [pr])]
    if not editors:
        return Unsettled(conflict.path, "main took back a part of the edits, which it had")
    try:
        text = carrier.text(conflict.path, newer, kept)
    except edits.EditMismatch as mismatch:
        number, first = len(mismatch.lines), mismatch.lines[0]
        more = f" (and {counted(number - 1, 'edit')} more)" if number > 1 else ""
        return Unsettled(conflict.path, f"main's text does not take the edits{more}: {first}")
    how = f"the edits of {', '.join(editors)} applied to main's text"
    return Settled(conflict.path, conflict.stages[OURS].mode, text, how)


def _by_imports(sources: Sources, conflict: Conflict) -> Settled | Unsettled | None:
    """The import statements of a Python file merged; None where none of them is in conflict."""
    if conflict.driver or not conflict.is_content or not conflict.path.endswith((".py", ".pyi")):
        return None
    stages, repository, merge = conflict.stages, sources.repository, sources.merge
    texts = _texts(repository, conflict)
    try:
        merged = import_merge.merge_imports(*texts)
        merged = import_order.in_order(repository, merge, conflict.path, texts, merged)
        sides = sources.ours.commit, sources.theirs.commit
        import_targets.Targets(repository, *sides, merge).check(conflict, texts, merged)
        import_checks.check_uses(conflict.path, texts, import_merge.variants(merged))
    except import_statements.NoImports:
        return None
    except import_statements.NotSettled as reason:
        return Unsettled(conflict.path, f"its import statements are not merged: {reason}")
    how = "its import statements merged by name"
    content = merged.text(sources.ours.commit, sources.theirs.commit)
    whole = Settled(conflict.path, stages[OURS].mode, content, how)
    if not merged.left:
        return whole
    left = tuple(piece for piece in merged.pieces if isinstance(piece, Hunk))
    return Unsettled(conflict.path, f"{how}, and {counted(len(left), 'place')} left", whole, left)


def _texts(repository: Repository, conflict: Conflict) -> list[bytes]:
    return [repository.read_blob(conflict.stages[stage].oid) for stage in (BASE, OURS, THEIRS)]


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
    except edits.EditMismatch:
        return None


def _not_taken_back(
    carrier: Carrier, path: str, older: bytes, newer: bytes, holds: tuple[PullRequest, ...]
) -> tuple[PullRequest, ...]:
    """The PRs whose edits main did not undo or rewrite after it had them; none if it had a part.

    What landed is main's: to apply it to main's text anew would undo what main did since.
    """
    every, had = carrier.edits_in(path, older, holds)
    _, has = carrier.edits_in(path, newer, holds)
    gone = {number for number, places in had.items() if places - has.get(number, set())}
    if any(had[number] != every[number] for number in gone):
        return ()
    return tuple(pr for pr in holds if pr.number not in gone)


def _newer(repository: Repository, one: Sha, other: Sha) -> Sha | None:
    if one == other or repository.is_ancestor(one, other):
        return other
    return one if repository.is_ancestor(other, one) else None
