"""Breaks one logical line at its brackets and delimiters, in the order black tries them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from carry.edits.leaves import COMMA, DOT, Leaf

LIMIT = 100


class CannotSplitError(Exception):
    """A way to break a line that leads nowhere."""


@dataclass(slots=True)
class Line:
    """A run of leaves on its way to becoming one physical line.

    Attributes:
        leaves: Its leaves.
        indent: White space before it.
        unit: One more level of indentation.
        in_brackets: Whether it stands between brackets and may break at any delimiter.
        is_def: Whether it is the head of a function definition.
        must_break: Whether it breaks even where it fits, as a list's elements do.
    """

    leaves: list[Leaf]
    indent: str
    unit: str
    in_brackets: bool = False
    is_def: bool = False
    must_break: bool = False

    def __str__(self) -> str:
        """The line as it is written."""
        text = "".join(f"{' ' if leaf.space else ''}{leaf.text}{leaf.tail}" for leaf in self.leaves)
        return self.indent + text.lstrip(" ")

    @property
    def fits(self) -> bool:
        """Whether it is at most as long as the limit."""
        return width(str(self)) <= LIMIT

    def delimiters(self) -> list[Leaf]:
        """The leaves it may break after, at its own depth."""
        base = min((leaf.depth for leaf in self.leaves), default=0)
        return [leaf for leaf in self.leaves if leaf.priority and leaf.depth == base]


@dataclass(slots=True)
class Parts:
    """A line broken at one pair of brackets."""

    head: Line
    body: Line
    tail: Line
    opening: Leaf
    closing: Leaf


def width(text: str) -> int:
    """Columns that a text takes, a tab counting four."""
    return len(text.expandtabs(4))


Split = Callable[[Line, bool], Iterator[Line]]


@dataclass(slots=True)
class _Trailers:
    """The brackets at the end of a line that a break may leave whole."""

    omitted: set[int] = field(default_factory=set)
    inner: set[int] = field(default_factory=set)


def wrap(leaves: list[Leaf], indent: str, unit: str) -> list[str]:
    """Breaks a logical line where it is too long.

    Args:
        leaves: The leaves of the logical line.
        indent: Its indentation.
        unit: One more level of indentation.

    Returns:
        The physical lines.
    """
    names = [leaf.text for leaf in leaves[:2]]
    is_def = names[0] == "def" or names == ["async", "def"]
    line = Line(leaves, indent, unit, is_def=is_def)
    return [str(part) for part in _transform(line, forced=False)]


def _transform(line: Line, *, forced: bool) -> list[Line]:
    if not line.must_break and line.fits:
        return [line]
    splits: list[Split]
    if line.is_def:
        splits = [_split_at_first_bracket]
    elif line.in_brackets:
        splits = [_split_at_delimiters, _split_at_last_bracket]
    else:
        splits = [_split_at_last_bracket]
    for split in splits:
        try:
            return _run(line, split, forced=forced)
        except CannotSplitError:
            continue
    return [line]


def _run(line: Line, split: Split, *, forced: bool) -> list[Line]:
    before = str(line)
    optional = [leaf for leaf in line.leaves if leaf.opens and not leaf.text]
    result: list[Line] = []
    for part in split(line, forced):
        if str(part) == before:
            raise CannotSplitError
        result += _transform(part, forced=forced)
    if (
        forced
        or split is not _split_at_last_bracket
        or not optional
        or any(leaf.text for leaf in optional)
        or result[0].fits
    ):
        return result
    second = _run(line, split, forced=True)
    return second if all(part.fits for part in second) else result


def _split_at_first_bracket(line: Line, _forced: bool) -> Iterator[Line]:  # noqa: FBT001 - a `Split`
    opening = next((leaf for leaf in line.leaves if leaf.text == "("), None)
    if opening is None:
        raise CannotSplitError
    parts = _parts(line, line.leaves.index(opening))
    yield from (part for part in (parts.head, parts.body, parts.tail) if part.leaves)


def _split_at_last_bracket(line: Line, forced: bool) -> Iterator[Line]:  # noqa: FBT001 - a `Split`
    for omitted in _trailers_to_omit(line):
        result = list(_split_right(line, omitted, forced=forced))
        if result[0].fits:
            yield from result
            return
    yield from _split_right(line, frozenset(), forced=forced)


def _split_right(line: Line, omitted: frozenset[int], *, forced: bool) -> Iterator[Line]:
    parts = _right_parts(line, omitted)
    yield from _without_optional(parts, line, omitted, forced=forced)


def _without_optional(
    parts: Parts, line: Line, omitted: frozenset[int], *, forced: bool
) -> Iterator[Line]:
    """The parts, or those of a break further left where optional brackets are better unwritten."""
    if not forced and not parts.opening.text and _can_omit(parts.body):
        further = omitted | {id(parts.closing)}
        try:
            other = _right_parts(line, further)
            if not _keeps_brackets_on_the_left(parts) or _is_better(other, parts):
                yield from _without_optional(other, line, further, forced=forced)
                return
        except CannotSplitError:
            chained = sum(leaf.text == "=" and leaf.depth == 0 for leaf in line.leaves) > 1
            if not chained and len(parts.body.leaves) < 2 and not parts.body.fits:  # noqa: PLR2004 - one leaf has no break
                raise
    parts.opening.text, parts.closing.text = parts.opening.text or "(", parts.closing.text or ")"
    yield from (part for part in (parts.head, parts.body, parts.tail) if part.leaves)


def _keeps_brackets_on_the_left(parts: Parts) -> bool:
    """Whether the break is right behind ``=`` and the target, with brackets of its own, fits."""
    head = parts.head
    return (
        len(head.leaves) > 1
        and head.leaves[-2].text == "="
        and any(leaf.opens or leaf.closes for leaf in head.leaves[:-1])
        and width(str(head)) < LIMIT
    )


def _is_better(other: Parts, parts: Parts) -> bool:
    equals = [sum(leaf.text == "=" for leaf in part.head.leaves) for part in (parts, other)]
    if equals[0] > 1 and equals[0] > equals[1]:
        return False
    for leaf in reversed(other.head.leaves):
        if leaf.text == "=":
            break
        if leaf.closes:
            return True
    return equals[1] > 0 and other.head.fits


def _right_parts(line: Line, omitted: frozenset[int]) -> Parts:
    """The line broken at its last brackets that are not omitted and not empty."""
    index = len(line.leaves) - 1
    while index >= 0:
        leaf = line.leaves[index]
        if leaf.closes and id(leaf) not in omitted:
            start = next((i for i, other in enumerate(line.leaves) if other is leaf.partner), None)
            if start is None:
                raise CannotSplitError
            if start < index - 1:
                return _parts(line, start)
            index = start
        index -= 1
    raise CannotSplitError


def _parts(line: Line, start: int) -> Parts:
    opening = line.leaves[start]
    assert opening.partner is not None  # noqa: S101 - `leaves_of` paired it
    end = next(i for i, leaf in enumerate(line.leaves) if leaf is opening.partner)
    head, body, tail = line.leaves[: start + 1], line.leaves[start + 1 : end], line.leaves[end:]
    if not body and len("".join(leaf.text for leaf in tail)) < 3:  # noqa: PLR2004 - black's own bound
        raise CannotSplitError
    if line.is_def and opening.text == "(" and body and not any(leaf.text == "," for leaf in body):
        body = [*body, Leaf(",", space=False, priority=COMMA, depth=opening.depth + 1)]
    inner = Line(body, line.indent + line.unit, line.unit, in_brackets=True)
    last = [leaf for leaf in inner.delimiters() if leaf is not body[-1]] if body else []
    inner.must_break = opening.is_atom and bool(last) and max(d.priority for d in last) == COMMA
    return Parts(
        Line(head, line.indent, line.unit),
        inner,
        Line(tail, line.indent, line.unit),
        opening,
        opening.partner,
    )


def _can_omit(body: Line) -> bool:
    """Whether the optional parentheses around a body may stay unwritten."""
    delimiters = body.delimiters()
    if not delimiters:
        return True
    top = max(leaf.priority for leaf in delimiters)
    if sum(leaf.priority == top for leaf in delimiters) > 1:
        return False
    if top == DOT:
        return True
    first, second = body.leaves[:2]
    if first.opens and not second.closes and _tail_fits(body, first):
        return True
    last, penultimate = body.leaves[-1], body.leaves[-2]
    if last.closes and (last.text != "]" or last.is_atom):
        return not penultimate.opens and _head_fits(body, last)
    return False


def _tail_fits(line: Line, first: Leaf) -> bool:
    """Whether what follows the first brackets fits on a line."""
    length = width(line.indent)
    counting = False
    for leaf in line.leaves:
        if leaf is first.partner:
            counting = True
        if counting:
            length += len(leaf.text) + leaf.space
            if length > LIMIT:
                return False
            if leaf.opens:
                counting = False
    return True


def _head_fits(line: Line, last: Leaf) -> bool:
    """Whether what precedes the last brackets fits on a line, or has brackets to break at."""
    length = width(line.indent)
    others = False
    for leaf in line.leaves:
        length += len(leaf.text) + leaf.space
        if leaf is last.partner:
            return others or length <= LIMIT
        if leaf.opens:
            others = True
    return False


def _trailers_to_omit(line: Line) -> Iterator[frozenset[int]]:
    """Growing sets of closing brackets that a break passes over, as long as what they end fits."""
    trailers = _Trailers()
    yield frozenset()
    length = width(line.indent)
    opening: Leaf | None = None
    closing: Leaf | None = None
    for index in range(len(line.leaves) - 1, -1, -1):
        leaf = line.leaves[index]
        length += len(leaf.text) + leaf.space
        if length > LIMIT:
            return
        previous = line.leaves[index - 1] if index else None
        if opening:
            if leaf is opening:
                opening = None
            elif leaf.closes:
                trailers.inner.add(id(leaf))
        elif leaf.closes:
            if previous and previous.opens:
                trailers.inner.add(id(leaf))
                continue
            if closing:
                trailers.omitted |= {id(closing)} | trailers.inner
                trailers.inner.clear()
                yield frozenset(trailers.omitted)
            if leaf.text:
                opening, closing = leaf.partner, leaf


def _split_at_delimiters(line: Line, _forced: bool) -> Iterator[Line]:  # noqa: FBT001 - a `Split`
    delimiters = [leaf for leaf in line.delimiters() if leaf is not line.leaves[-1]]
    if not delimiters:
        raise CannotSplitError
    top = max(leaf.priority for leaf in delimiters)
    cuts = {id(leaf) for leaf in line.delimiters() if leaf.priority == top}
    if top == DOT and len(cuts) == 1:
        raise CannotSplitError
    current: list[Leaf] = []
    for leaf in line.leaves:
        current.append(leaf)
        if id(leaf) in cuts:
            yield Line(current, line.indent, line.unit, in_brackets=True)
            current = []
    if current:
        if top == COMMA:
            current.append(Leaf(",", space=False, priority=COMMA, depth=delimiters[0].depth))
        yield Line(current, line.indent, line.unit, in_brackets=True)
