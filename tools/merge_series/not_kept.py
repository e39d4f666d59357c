"""What a branch had changed in a generated file, and what was made of the other side lacks."""

from collections.abc import Iterable, Sequence

from merge_series.hunks import Hunk, hunks_between
from merge_series.text_merge import lines_of
from stack.git_answers import Sha
from stack.repository import Repository
from stack.words import counted

_NAMED = 3  # lines
_WIDTH = 60  # of a line that is named


def not_kept(
    repository: Repository, bases: Sequence[Sha], ours: Sha, theirs: Sha, result: Sha
) -> Iterable[str]:
    """Say which lines that a branch had added or changed are not in a file.

    Lines are compared where they stand, since a lock file has the same line for many packages.

    Args:
        repository: Where the blobs are.
        bases: The file at the merge bases; none if it was not there.
        ours: What the branch has.
        theirs: What is merged in.
        result: What came about.

    Yields:
        A phrase for lines that only the branch had changed, and one for those where both sides had
        changed something, which may be more than the line that they disagree about.
    """
    text = lines_of(repository.read_blob(ours))
    lost = _new(hunks_between(repository, result, ours))
    both = set[int]()
    for base in bases or repository.write_blobs([b""]):
        mine = hunks_between(repository, base, ours)
        others = hunks_between(repository, base, theirs)
        lost &= _new(mine)
        both |= _new(hunk for hunk in mine if any(_touch(hunk, other) for other in others))
    for what, numbers in (
        ("that only the branch had changed", lost - both),
        ("of the branch's where both sides had changed something", lost & both),
    ):
        lines = [line for n in sorted(numbers) if (line := text[n].strip())]
        if lines:
            named = ", ".join(f"`{_shown(line)}`" for line in lines[:_NAMED])
            more = f" and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
            verb = "is" if len(lines) == 1 else "are"
            yield f"{counted(len(lines), 'line')} {what} {verb} not in it: {named}{more}"


def _new(hunks: Iterable[Hunk]) -> set[int]:
    """Which lines of the new text some hunks have, from 0."""
    return {n for hunk in hunks for n in range(hunk.new.start, hunk.new.stop)}


def _touch(one: Hunk, other: Hunk) -> bool:
    """Whether two changes of one text are of the same lines, or of lines side by side."""
    return bool(one.old.start <= other.old.stop and other.old.start <= one.old.stop)


def _shown(line: bytes) -> str:
    text = "".join(c if c.isprintable() else "?" for c in line.decode("utf-8", "replace"))
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
