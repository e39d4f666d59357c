"""Import statements that both sides changed, in order and as text again.

Nothing here depends on which of the two sides comes first.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import Any

from carry.edits.imports import section_of, sort_key
from carry.edits.layout import lay_out_import, names_of
from merge_series.import_statements import Imported, NotSettled, Statement
from merge_series.text_merge import merge_lines, one_sided


@dataclass(frozen=True, slots=True)
class Key:
    """What makes two statements the same: the module; for ``import a as b`` the alias too."""

    module: str
    is_from: bool
    alias: str

    @property
    def place(self) -> tuple[int, bool, str, str, str]:
        """Where isort's black profile puts the statement."""
        folded = self.module.lower()
        return section_of(self.module), self.is_from, folded, self.module, self.alias


@dataclass(slots=True)
class Item:
    """What one text says about a key.

    Attributes:
        lead: Blank lines and comments above the statement.
        names: The names it imports, as written.
        texts: The lines of the statements that say it.
        is_whole: Whether that is one statement, and says nothing else.
    """

    lead: tuple[bytes, ...]
    names: list[str]
    texts: list[bytes]
    is_whole: bool

    @property
    def text(self) -> bytes | None:
        """The statement's lines, where it is one statement."""
        return self.texts[0] if self.is_whole else None


@dataclass(slots=True)
class Side:
    """A run of import statements in one text.

    Attributes:
        items: Its statements in their order.
        tail: Blank lines and comments below the last.
    """

    items: dict[Key, Item] = field(default_factory=dict)
    tail: tuple[bytes, ...] = ()


def key_of(name: Imported) -> Key:
    """The statement that a name belongs to."""
    return Key(name.module, bool(name.name), "" if name.name else name.alias)


def side_of(lines: Iterable[bytes], statement_of: Callable[[bytes], Statement | None]) -> Side:
    """Read a run of folded statements, blank lines and comments."""
    side = Side()
    lead: list[bytes] = []
    for line in lines:
        statement = statement_of(line)
        if statement is None:
            lead.append(line)
            continue
        keys = {key_of(name) for name in statement.names}
        for name in statement.names:
            key = key_of(name)
            if key in side.items:
                # A second statement of one module, or a further name of this one.
                item = side.items[key]
                if item.texts[-1] is not statement.text:
                    item.lead, item.is_whole = (*item.lead, *lead), False
                    item.texts.append(statement.text)
            else:
                item = Item(tuple(lead), [], [statement.text], is_whole=len(keys) == 1)
                side.items[key] = item
            item.names.append(name.written)
            lead = []
    side.tail = tuple(lead)
    return side


def merge_order[T](
    base: Sequence[T],
    ours: Sequence[T],
    theirs: Sequence[T],
    wanted: Iterable[T],
    place: Callable[[T], Any],
) -> list[T]:
    """The wanted things in an order that a side has for every two of which a side has both.

    Where the sides have two in different orders, the one that changed the order counts, or else the
    place, as it does for two of which no side has both.

    Raises:
        NotSettled: There is no such order.
    """
    left = set(wanted)
    kept = [[one for one in text if one in left] for text in (base, ours, theirs)]
    before, first, second = (set(combinations(text, 2)) for text in kept)
    above: dict[T, set[T]] = {one: set() for text in kept[1:] for one in text}
    for one, other in first | second:
        back = other, one
        is_denied = back in first | second and (
            (one, other) in before or (back not in before and place(other) < place(one))
        )
        if not is_denied:
            above[other].add(one)
    ordered: list[T] = []
    sorter = TopologicalSorter(above)
    try:
        sorter.prepare()
    except CycleError as error:
        raise NotSettled("no order of its imports agrees with both sides") from error
    ready: list[T] = []
    while sorter.is_active():
        ready += sorter.get_ready()
        ordered.append(min(ready, key=place))
        ready.remove(ordered[-1])
        sorter.done(ordered[-1])
    for one in sorted(left - set(ordered), key=place):
        index = next((i for i, o in enumerate(ordered) if place(one) < place(o)), len(ordered))
        ordered.insert(index, one)
    return ordered


def lay_out(
    base: Side, ours: Side, theirs: Side, wanted: dict[Key, list[str]], newline: bytes
) -> bytes:
    """The text of a run of statements that imports exactly the wanted names.

    Args:
        base: The run before.
        ours: The run on the first side.
        theirs: The run on the second side.
        wanted: The names wanted of each statement, as written.
        newline: The line end of new lines.

    Raises:
        NotSettled: Comments or the order of statements changed on both sides.
    """
    for key in {*ours.items, *theirs.items} - set(wanted):
        _check_comments(*(side.items.get(key) for side in (base, ours, theirs)))
    order = merge_order(
        list(base.items), list(ours.items), list(theirs.items), wanted, lambda key: key.place
    )
    out: list[bytes] = []
    previous: Key | None = None
    for key in order:
        items = [side.items.get(key) for side in (base, ours, theirs)]
        lead = _lead(*items, mixed=_is_between(previous, key, ours, theirs))
        if previous is None or section_of(previous.module) == section_of(key.module):
            out += lead
        else:
            # A section of its own, which both sides may have set off by a blank line.
            out += lead or ([newline] if _is_between(previous, key, ours, theirs) else [])
        out.append(_statement(key, items, wanted[key], newline))
        previous = key
    out += _three_way(base.tail, ours.tail, theirs.tail)
    _check_lines_of_comment(out, base, ours, theirs)
    return b"".join(out)


def _check_comments(base: Item | None, *sides: Item | None) -> None:
    """A statement that goes may not take along a comment that a side wrote there."""
    known = _comments(base)
    if any(not set(_comments(side)) <= set(known) for side in sides):
        raise NotSettled("one side dropped a statement and the other wrote a comment there")


def _check_lines_of_comment(out: Sequence[bytes], *sides: Side) -> None:
    """A line of comment stands in the result as often as the side has it that changed that."""
    result, base, ours, theirs = (
        Counter(line.strip() for line in lines if line.strip().startswith(b"#"))
        for lines in (out, *(_between(side) for side in sides))
    )
    for line in {*result, *base, *ours, *theirs}:
        wanted = one_sided(base[line], ours[line], theirs[line])
        if wanted is None:
            raise NotSettled("both sides changed the comments between its imports")
        if result[line] != wanted:
            raise NotSettled("a comment would stand by another import than it did")


def _between(side: Side) -> list[bytes]:
    """The blank lines and comments of a run."""
    return [line for item in side.items.values() for line in item.lead] + [*side.tail]


def _comments(item: Item | None) -> list[bytes]:
    lines = [*item.lead, *b"".join(item.texts).splitlines()] if item else []
    return [line[line.index(b"#") :].strip() for line in lines if b"#" in line]


def _is_between(previous: Key | None, key: Key, ours: Side, theirs: Side) -> bool:
    """Whether two statements come from different sides, so that no text has both."""
    return previous is not None and not any(
        previous in side.items and key in side.items for side in (ours, theirs)
    )


def _lead(
    base: Item | None, ours: Item | None, theirs: Item | None, *, mixed: bool
) -> tuple[bytes, ...]:
    found = [side.lead for side in (ours, theirs) if side is not None]
    if len(found) == 1:
        lead = found[0]
    elif not found:
        lead = base.lead if base else ()
    else:
        lead = _three_way(base.lead if base else None, *found)
    # Blank lines that set a statement off from what its own side has above it.
    return tuple(line for line in lead if line.strip()) if mixed else lead


def _three_way(
    base: tuple[bytes, ...] | None, ours: tuple[bytes, ...], theirs: tuple[bytes, ...]
) -> tuple[bytes, ...]:
    lines = one_sided(base, ours, theirs)
    if lines is None and any(line.strip() for line in (*ours, *theirs)):
        raise NotSettled("both sides changed the comments between its imports")
    return max(ours, theirs) if lines is None else lines


def _statement(key: Key, items: Sequence[Item | None], names: list[str], newline: bytes) -> bytes:
    wanted = set(names)
    for text in (_one_sided(items), _merged_text(items)):
        if text is not None and set(_names_in(text)) == wanted:
            return text
    known = [item for item in items if item is not None]
    texts = [text for item in known for text in item.texts]
    if any(b"#" in text for text in texts):
        raise NotSettled("a statement that both sides changed holds a comment")
    before, mine, yours = (item.names if item else [] for item in items)
    ordered = merge_order(before, mine, yours, names, sort_key)
    fitting = {item.text for item in items[1:] if item and item.text and item.names == ordered}
    if len(fitting) == 1:
        return fitting.pop() or b""
    indent = _indent(texts)
    if not key.is_from:
        alias = f" as {key.alias}" if key.alias else ""
        return f"{indent}import {key.module}{alias}".encode() + newline
    laid_out = _from_import(key.module, ordered, indent, texts)
    return laid_out.encode().replace(b"\n", newline) + newline


def _one_sided(items: Sequence[Item | None]) -> bytes | None:
    """The statement as the only side has it that changed it."""
    return one_sided(*(item.text if item else None for item in items))


def _merged_text(items: Sequence[Item | None]) -> bytes | None:
    """What git makes of a statement by itself, where its changes do not touch."""
    texts = [item.text for item in items if item and item.text]
    pieces = merge_lines(texts[0], texts[1], texts[2]) if len(texts) == len(items) else None
    if pieces is None:
        return None
    lines = [piece for piece in pieces if isinstance(piece, bytes)]
    return b"".join(lines) if len(lines) == len(pieces) else None


def _names_in(text: bytes) -> list[str]:
    (statement,) = ast.parse(text.strip()).body
    if isinstance(statement, ast.ImportFrom):
        return names_of(statement)
    assert isinstance(statement, ast.Import)  # noqa: S101 - nothing else was folded
    return [a.name + (f" as {a.asname}" if a.asname else "") for a in statement.names]


def _from_import(module: str, names: list[str], indent: str, texts: list[bytes]) -> str:
    inner = [match[1] for text in texts if (match := re.search(rb"\n([ \t]+)[^\s)]", text))]
    unit = inner[0].decode().removeprefix(indent) if inner else "\t" if "\t" in indent else "    "
    if texts and all(re.search(rb"\(\s*\n", text) for text in texts):
        lines = "".join(f"{indent}{unit}{name},\n" for name in names)
        return f"{indent}from {module} import (\n{lines}{indent})"
    return indent + lay_out_import(module, names, indent, unit)


def _indent(texts: list[bytes]) -> str:
    found = {text[: len(text) - len(text.lstrip(b" \t"))] for text in texts}
    if len(found) > 1:
        raise NotSettled("both sides indented a statement anew")
    return found.pop().decode() if found else ""
