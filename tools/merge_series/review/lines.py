"""Where lines of a file at one commit stand at a later one, and which commit changed them.

The lines are followed commit by commit along one path through history. Where a merge changed them,
the commit that did is looked for on the merged side: from the merge base, where the same lines
stood, to the commit that was merged. If they survived there, the merge itself changed them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from merge_series.hunks import Hunk, hunks_between
from stack.git_answers import Sha, decode, encode
from stack.repository import Repository

_ENOUGH = re.compile(rb"\w.*\w")  # of a line that says something; a bracket alone stands anywhere


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of a file, from 1; both ends are in it."""

    path: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of lines.

    Attributes:
        status: ``same``, ``moved`` (to other line numbers or another file), ``changed`` or
            ``gone``.
        span: Where they stand, or what stands in their place; None if gone.
        by: The first commit that changed or removed them; None if none did.
    """

    status: Literal["same", "moved", "changed", "gone"]
    span: Span | None
    by: Sha | None = None


def carry_over(hunks: Sequence[Hunk], span: Span) -> tuple[Span | None, bool]:
    """Take lines of an old text to the new one.

    Returns:
        Where they stand, or what stands in their place, or None; and whether a hunk touched them.
    """
    touching = [hunk for hunk in hunks if not (_is_before(hunk, span) or _is_after(hunk, span))]
    offset = sum(hunk.offset for hunk in hunks if _is_before(hunk, span))
    if not touching:
        return Span(span.path, span.first + offset, span.last + offset), False
    kept = [
        line + offset + sum(hunk.offset for hunk in touching if _is_before(hunk, one))
        for line in range(span.first, span.last + 1)
        for one in [Span(span.path, line, line)]
        if all(_is_before(hunk, one) or _is_after(hunk, one) for hunk in touching)
    ]
    for hunk in touching:
        kept += range(hunk.new_first, hunk.new_first + hunk.new_count)
    return (Span(span.path, min(kept), max(kept)) if kept else None), True


def _is_before(hunk: Hunk, span: Span) -> bool:
    """Whether a hunk lies wholly above some lines of the old text."""
    return hunk.old_first + max(hunk.old_count - 1, 0) < span.first


def _is_after(hunk: Hunk, span: Span) -> bool:
    """Whether a hunk lies wholly below some lines of the old text."""
    return hunk.old_first + (hunk.old_count == 0) > span.last


def find_block(old: bytes, new: bytes, span: Span) -> Span | None:
    """Where lines stand in a new text that holds them once, as the old one did."""
    lines, others = old.splitlines(), new.splitlines()
    block = lines[span.first - 1 : span.last]
    if not any(_ENOUGH.search(line) for line in block) or len(_starts(lines, block)) != 1:
        return None
    starts = _starts(others, block)
    if len(starts) != 1:
        return None
    return Span(span.path, starts[0] + 1, starts[0] + len(block))


def _starts(lines: list[bytes], block: list[bytes]) -> list[int]:
    size = len(block)
    return [at for at in range(len(lines) - size + 1) if lines[at : at + size] == block]


class Tracer:
    """Follows lines through the history of one repository.

    Args:
        repository: The fork.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._ways: dict[tuple[Sha, Sha], tuple[Sha, ...]] = {}

    def trace(self, span: Span, start: Sha, end: Sha) -> Fate:
        """Follow lines from one commit to another that contains it."""
        now, by = span, None
        way = self._way(start, end)
        blobs = self._blobs(way, span.path)
        place = 1
        while place < len(way):
            before, after = way[place - 1], way[place]
            if blobs[place - 1] == blobs[place]:
                place += 1
                continue
            found, touched = self._step(now, before, after)
            if touched and by is None:
                by = self._culprit(now, before, after)
            if found is None:
                return Fate("gone", None, by)
            if found.path != now.path:
                blobs = self._blobs(way, found.path)
            now = found
            place += 1
        if by is not None:
            return Fate("changed", now, by)
        return Fate("same" if now == span else "moved", now)

    def _way(self, start: Sha, end: Sha) -> tuple[Sha, ...]:
        """One path of history from ``start`` to ``end``, along first parents where it can be."""
        if (start, end) not in self._ways:
            listed = self._repository.run(
                "rev-list", "--parents", "--ancestry-path", f"{start}..{end}", "--"
            ).text.splitlines()
            parents = {Sha(line.split()[0]): line.split()[1:] for line in listed}
            way = [end]
            while way[-1] != start:
                way.append(
                    next(Sha(p) for p in parents[way[-1]] if p == start or Sha(p) in parents)
                )
            self._ways[start, end] = tuple(reversed(way))
        return self._ways[start, end]

    def _blobs(self, commits: Sequence[Sha], path: str) -> list[str | None]:
        """The blob at ``path`` in each commit."""
        asked = b"".join(encode(f"{commit}:{path}") + b"\0" for commit in commits)
        answer = self._repository.run(
            "cat-file", "-z", "--batch-check=%(objecttype) %(objectname)", stdin=asked
        )
        # An answer that there is none repeats the name, which may hold line ends.
        found = re.findall(r"^(blob|tree|commit) (\w+)$|( missing)$", answer.text, re.MULTILINE)
        return [oid if kind == "blob" else None for kind, oid, _ in found]

    def _step(self, span: Span, before: Sha, after: Sha) -> tuple[Span | None, bool]:
        """Take lines from a commit to one of its children (or any other commit)."""
        path = span.path
        old = self._repository.entry(before, path)
        new = self._repository.entry(after, path)
        if new is None:
            renamed = self._renamed(before, after, path)
            if renamed is None:
                return None, True
            path = renamed
            new = self._repository.entry(after, path)
        if old is None or new is None:
            return None, True
        hunks = hunks_between(self._repository, old.oid, new.oid)
        found, touched = carry_over(hunks, Span(path, span.first, span.last))
        if touched:
            texts = [self._repository.read_blob(entry.oid) for entry in (old, new)]
            block = find_block(texts[0], texts[1], Span(path, span.first, span.last))
            if block is not None:
                return block, False
        return found, touched

    def _renamed(self, before: Sha, after: Sha, path: str) -> str | None:
        fields = decode(
            self._repository.run(
                "diff-tree", "-r", "-z", "--name-status", "--find-renames", "-l7000",
                "--diff-filter=R", before, after,
            ).stdout
        ).split("\0")  # fmt: skip
        renames = dict(zip(fields[1::3], fields[2::3], strict=False))
        return renames.get(path)

    def _culprit(self, span: Span, before: Sha, after: Sha) -> Sha:
        """The commit that changed lines between a commit and its child, which may be a merge."""
        parents = self._repository.run("rev-parse", f"{after}^@").text.split()
        for other in (Sha(parent) for parent in parents if parent != before):
            for base in self._repository.merge_bases(before, other)[:1]:
                there, touched = self._step(span, before, base)
                if there is None or touched:
                    continue
                fate = self.trace(there, base, other)
                if fate.by is not None:
                    return fate.by
        return after
