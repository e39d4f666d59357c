"""Adds elements to a bracketed list: arguments of a call, parameters of a definition."""

import itertools
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from carry.edits.layout import lay_out_line
from carry.edits.planning import Addition, Change
from carry.edits.source import Source, Splice
from carry.edits.wrapping import LIMIT


@dataclass(slots=True)
class Element:
    """One element of a bracketed list.

    Attributes:
        start: Offset of its first character.
        end: Offset behind its last one.
        comma: Offset of the comma that follows it; None where none does.
    """

    start: int
    end: int
    comma: int | None = None


def elements_of(source: Source, start: int, end: int) -> list[Element]:
    """The elements between two brackets.

    Args:
        source: The file.
        start: Offset of the opening bracket.
        end: Offset of the closing bracket.

    Returns:
        The elements in order, bare ``*`` and ``/`` among them.
    """
    found: list[Element] = []
    depth = 0
    lambdas: list[int] = []
    fresh = True
    for token in source.tokens(start + 1, end):
        if token.type == tokenize.COMMENT:
            continue
        if token.string == "," and depth == 0 and not lambdas:
            found[-1].comma = token.start
            fresh = True
            continue
        if token.type == tokenize.OP and token.string in "([{":
            depth += 1
        elif token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
        elif token.string == "lambda":
            lambdas.append(depth)
        elif token.string == ":" and lambdas and lambdas[-1] == depth:
            lambdas.pop()
        if fresh:
            found.append(Element(token.start, token.end))
            fresh = False
        else:
            found[-1].end = token.end
    return found


def add_elements(source: Source, additions: Sequence[Addition]) -> list[Change]:
    """The splices that add elements to bracketed lists.

    Where black wrote the logical line around a list, it is laid out again the way black would;
    elsewhere only the list itself is touched.

    Args:
        source: The file.
        additions: The elements to add, in the order they are to stand.

    Returns:
        Splices that do not overlap.
    """
    lists: dict[int, Addition] = {}
    for addition in additions:
        known = lists.get(addition.at)
        elements = (*known.elements, *addition.elements) if known else addition.elements
        lists[addition.at] = Addition(
            addition.at, addition.end, elements, addition.region, addition.in_signature
        )
    regions: dict[tuple[int, int] | None, list[Addition]] = {}
    for addition in lists.values():
        regions.setdefault(addition.region, []).append(addition)
    changes = []
    for region, members in regions.items():
        laid_out = _laid_out_again(source, region, members) if region else None
        if laid_out:
            changes.append(laid_out)
        else:
            changes += _add_all_locally(source, members)
    return changes


def _add_all_locally(source: Source, additions: Sequence[Addition]) -> list[Change]:
    changes = [change for addition in additions for change in _add_locally(source, addition)]
    ordered = sorted((change.splice for change in changes), key=lambda splice: splice.start)
    if any(one.end > other.start for one, other in itertools.pairwise(ordered)):
        # One list inside another, both to be broken: each gets its elements where it stands.
        return [Change(_flat_splice(source, addition)) for addition in additions]
    return changes


def _laid_out_again(
    source: Source, region: tuple[int, int], additions: Sequence[Addition]
) -> Change | None:
    start, end = region
    endings = source.newline
    if any(
        line.endswith(("\r", "\n")) and not _ends_with(line, endings)
        for line in _lines(source, region)
    ):
        return None
    old = source.between(start, end)
    indent = source.indentation(source.line_of(start))
    last = source.line_of(end - 1)
    tail = source.content(last)[end - source.line_start(last) :].rstrip()
    unit = source.indent_unit
    if lay_out_line(old, indent, unit, tail) != old:
        return None
    splices = sorted(
        (_flat_splice(source, addition) for addition in additions), key=lambda item: item.start
    )
    parts, position = [], start
    for splice in splices:
        parts += [source.between(position, splice.start), splice.text]
        position = splice.end
    parts.append(source.between(position, end))
    new = lay_out_line("".join(parts), indent, unit, tail)
    return None if new is None else Change(Splice(start, end, new))


def _lines(source: Source, region: tuple[int, int]) -> list[str]:
    return source.lines[source.line_of(region[0]) : source.line_of(region[1] - 1)]


def _ends_with(line: str, ending: str) -> bool:
    return line[len(line.rstrip("\r\n")) :] == ending


def _new_elements(source: Source, addition: Addition, present: Sequence[Element]) -> list[str]:
    """The elements to add, with the ``*`` that makes the first of them keyword-only."""
    texts = [source.text[element.start : element.end] for element in present]
    starred = any(text.startswith("*") and not text.startswith("**") for text in texts)
    star = ["*"] if addition.in_signature and not starred else []
    return [*star, *addition.elements]


def _before(source: Source, present: Sequence[Element]) -> Element | None:
    """The first ``**`` element, which must stay behind what is added."""
    return next((e for e in present if source.text.startswith("**", e.start)), None)


def _flat_splice(source: Source, addition: Addition) -> Splice:
    present = elements_of(source, addition.at, addition.end)
    new = ", ".join(_new_elements(source, addition, present))
    follower = _before(source, present)
    if follower:
        return Splice(follower.start, follower.start, f"{new}, ")
    if present:
        return Splice(present[-1].end, present[-1].end, f", {new}")
    return Splice(addition.at + 1, addition.at + 1, new)


def _add_locally(  # noqa: PLR0911 - one way of laying a list out a return
    source: Source, addition: Addition
) -> list[Change]:
    present = elements_of(source, addition.at, addition.end)
    if _is_exploded(source, addition, present):
        return _add_lines(source, addition, present)
    splice = _flat_splice(source, addition)
    line = source.line_of(splice.start)
    if len(source.content(line)) + len(splice.text) <= LIMIT:
        return [Change(splice)]
    if line > source.line_of(addition.at):
        if source.content(line).strip() == source.between(present[0].start, present[-1].end):
            return [Change(_one_a_line(source, addition, present, line))]
        break_ = f"\n{source.indentation(line)}"
        if splice.text.startswith(", "):
            return [Change(Splice(splice.start, splice.end, f",{break_}{splice.text[2:]}"))]
        return [Change(Splice(splice.start, splice.end, f"{splice.text.rstrip()}{break_}"))]
    if any(
        token.type == tokenize.COMMENT for token in source.tokens(addition.at, addition.end + 1)
    ):
        # To break the list anywhere else would move a comment away from what it is about.
        return [Change(splice)]
    return [Change(_exploded(source, addition, present))]


def _is_exploded(source: Source, addition: Addition, present: Sequence[Element]) -> bool:
    """Whether every element has its own line, and the closing bracket too."""
    starts = [element.start for element in present] + [addition.end]
    lines = [source.line_of(start) for start in starts]
    return (
        bool(present)
        and len({source.line_of(addition.at), *lines}) == len(lines) + 1
        and all(
            not source.text[source.line_start(line) : start].strip()
            for line, start in zip(lines, starts, strict=True)
        )
    )


def _add_lines(source: Source, addition: Addition, present: Sequence[Element]) -> list[Change]:
    new = _new_elements(source, addition, present)
    follower = _before(source, present)
    if follower:
        line = source.line_of(follower.start)
        indent = source.indentation(line)
        at = source.line_start(line)
        return [Change(Splice(at, at, "".join(f"{indent}{text},\n" for text in new)))]
    last = present[-1]
    line = source.line_of(last.end if last.comma is None else last.comma)
    indent = source.indentation(source.line_of(last.start))
    at = source.line_start(line + 1)
    lines = "".join(f"{indent}{text},\n" for text in new)
    comma = [] if last.comma is not None else [Change(Splice(last.end, last.end, ","))]
    return [*comma, Change(Splice(at, at, lines))]


def _one_a_line(
    source: Source, addition: Addition, present: Sequence[Element], line: int
) -> Splice:
    """The elements of a list that fill one line between its brackets, each on a line of its own."""
    indent = source.indentation(line)
    texts = _with_new(source, addition, present)
    start = source.line_start(line)
    lines = ",\n".join(f"{indent}{text}" for text in texts)
    return Splice(start, start + len(source.content(line)), f"{lines},")


def _exploded(source: Source, addition: Addition, present: Sequence[Element]) -> Splice:
    """The whole list, one element a line, or all on the next line where that fits."""
    indent = source.indentation(source.line_of(addition.at))
    inner = indent + source.indent_unit
    texts = _with_new(source, addition, present)
    together = f"{inner}{', '.join(texts)}"
    body = together if len(together) <= LIMIT else "\n".join(f"{inner}{text}," for text in texts)
    return Splice(addition.at + 1, addition.end, f"\n{body}\n{indent}")


def _with_new(source: Source, addition: Addition, present: Sequence[Element]) -> list[str]:
    texts = [source.between(element.start, element.end) for element in present]
    follower = _before(source, present)
    index = list(present).index(follower) if follower else len(texts)
    texts[index:index] = _new_elements(source, addition, present)
    return texts
