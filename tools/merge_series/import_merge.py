"""Conflicts in import statements, settled by what each side imports in the whole file.

The names of a file are a set, keyed by scope, module, name and alias. What is wanted of them is
(ours and theirs) + (ours - base) + (theirs - base), and then whatever the merged file still loads
and nothing binds. git merges the texts, in which each statement is folded to one line, so that a
conflict holds whole statements; those are written again, and every other byte is git's.

Whatever is not certain is refused: a wrong silent merge is the worst thing this program can do.
"""

import codecs
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from merge_series.bound_names import meanings, mentioned, unbound, used_before
from merge_series.import_checks import (
    Stages,
    check_meanings,
    check_moves,
    check_submodules,
    check_tries,
)
from merge_series.import_layout import Key, key_of, lay_out, side_of
from merge_series.import_statements import (
    Folding,
    Imported,
    NoImports,
    NotSettled,
    Scope,
    Statement,
    namespace,
    parse,
    parse_tree,
    repeated,
)
from merge_series.text_merge import Hunk, Piece, merge_lines, one_sided


@dataclass(frozen=True, slots=True)
class MergedImports:
    """A text whose import statements are merged.

    Attributes:
        pieces: The text, with the conflicts that hold no import statement.
        scopes: The blocks whose statements are merged.
    """

    pieces: tuple[Piece, ...]
    scopes: frozenset[Scope]

    @property
    def left(self) -> int:
        """How many conflicts are left to a person."""
        return sum(isinstance(piece, Hunk) for piece in self.pieces)

    def text(self, ours: str, theirs: str) -> bytes:
        """The text, with what is left between conflict markers.

        Args:
            ours: What the markers call the first side.
            theirs: What they call the second side.
        """
        out: list[bytes] = []
        for piece in self.pieces:
            if isinstance(piece, bytes):
                out.append(piece)
                continue
            end = b"\r\n" if any(line.endswith(b"\r\n") for line in piece.ours) else b"\n"
            out += [b"<" * 7 + b" " + ours.encode() + end, *_ended(piece.ours, end)]
            out += [b"=" * 7 + end, *_ended(piece.theirs, end)]
            out.append(b">" * 7 + b" " + theirs.encode() + end)
        return b"".join(out)

    def are_in(self, text: bytes) -> bool:
        """Whether the blocks whose statements are merged import in a text what they do here."""
        try:
            there = self._names(text)
        except NotSettled:
            return False
        return any(there == self._names(variant) for variant in variants(self))

    def _names(self, text: bytes) -> Counter[Imported]:
        return Counter(name for name in parse(text).names if name.scope in self.scopes)


def merge_imports(base: bytes, ours: bytes, theirs: bytes) -> MergedImports:
    """Merge three Python texts that conflict in import statements.

    Args:
        base: The merge base's text.
        ours: The first side's.
        theirs: The second side's; the result does not depend on which is which.

    Raises:
        NotSettled: No import statement is in conflict, or the rule does not decide.
    """
    marks = [text.startswith(codecs.BOM_UTF8) for text in (base, ours, theirs)]
    first, second, third = (t.removeprefix(codecs.BOM_UTF8) for t in (base, ours, theirs))
    stages = (parse(first), parse(second), parse(third))
    if len({(stage.encoding, mark) for stage, mark in zip(stages, marks, strict=True)}) > 1:
        raise NotSettled("the sides have different encodings")
    folding = Folding()
    pieces = merge_lines(*(folding.fold(stage) for stage in stages))
    if pieces is None:
        raise NotSettled("git takes it for binary")
    merged = _Merging(stages, folding, pieces).merge()
    return replace(merged, pieces=(codecs.BOM_UTF8, *merged.pieces)) if any(marks) else merged


class _Merging:
    """One merge, from its folded pieces to its text."""

    def __init__(self, stages: Stages, folding: Folding, pieces: Sequence[Piece]) -> None:
        self._stages = stages
        self._folding = folding
        self._pieces = [part for piece in pieces for part in self._split(piece)]
        self._hunks = [p for p in self._pieces if isinstance(p, Hunk) and self._is_imports(p)]
        self._scopes = {self._scope(hunk) for hunk in self._hunks}
        # Which of such blocks a name without a place of its own belongs to cannot be told.
        self._repeated = set().union(*(repeated(stage.tree) for stage in stages))

    def merge(self) -> MergedImports:
        if not self._hunks:
            raise NoImports("no import statement is in conflict")
        base, ours, theirs = (set(stage.names) for stage in self._stages)
        wanted = (ours & theirs) | (ours - base) | (theirs - base)
        result = self._written(wanted)
        missing = self._missing(result)
        if missing:
            wanted |= self._put_back(missing, (base | ours | theirs) - wanted)
            result = self._written(wanted)
            left = self._missing(result)
            if left:
                raise NotSettled(f"nothing would bind {', '.join(sorted(left))}")
        self._check(result, wanted)
        return result

    def _split(self, piece: Piece) -> list[Piece]:
        """Part the statements at the ends of a conflict from the code that conflicts with them."""
        if isinstance(piece, bytes) or self._is_imports(piece):
            return [piece]
        sides = (piece.base, piece.ours, piece.theirs)
        heads = [self._head(side) for side in sides]
        rests = [side[len(head) :] for side, head in zip(sides, heads, strict=True)]
        tails = [tuple(reversed(self._head(rest[::-1]))) for rest in rests]
        cores = [rest[: len(rest) - len(t)] for rest, t in zip(rests, tails, strict=True)]
        parts: list[Piece] = []
        for part in (Hunk(*heads), Hunk(*cores), Hunk(*tails)):
            lines = one_sided(part.base, part.ours, part.theirs)
            parts += [part] if lines is None else lines
        mixed = any(
            isinstance(part, Hunk)
            and self._is_imports(part)
            and len({statement.scope for statement in self._statements(part)}) > 1
            for part in parts
        )
        return [piece] if mixed else parts

    def _head(self, lines: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """The statements that a run of lines starts with, up to the last one before any code."""
        end = 0
        for number, line in enumerate(lines, start=1):
            if self._folding.statement(line):
                end = number
            elif not _is_trivia(line):
                break
        return lines[:end]

    def _is_imports(self, hunk: Hunk) -> bool:
        lines = (*hunk.base, *hunk.ours, *hunk.theirs)
        found = [self._folding.statement(line) for line in lines]
        return any(found) and all(
            statement or _is_trivia(line) for statement, line in zip(found, lines, strict=True)
        )

    def _statements(self, hunk: Hunk) -> list[Statement]:
        lines = (*hunk.base, *hunk.ours, *hunk.theirs)
        return [s for line in lines if (s := self._folding.statement(line)) is not None]

    def _scope(self, hunk: Hunk) -> Scope:
        statements = self._statements(hunk)
        scopes = {statement.scope for statement in statements}
        if len(scopes) > 1:
            raise NotSettled("statements of different blocks conflict with each other")
        lines = (*hunk.base, *hunk.ours, *hunk.theirs)
        if any(b"noqa" in self._folding.unfold(line).lower() for line in lines):
            raise NotSettled("a conflicting statement has a noqa comment")
        if not all(self._folding.unfold(line).endswith(b"\n") for line in lines):
            raise NotSettled("a conflicting statement ends the file without a line end")
        return scopes.pop()

    def _written(self, wanted: set[Imported]) -> MergedImports:
        """The text in which the conflicting statements import what is wanted and not there yet."""
        there = Counter(
            name
            for piece in self._pieces
            if isinstance(piece, bytes) and (statement := self._folding.statement(piece))
            for name in statement.names
        )
        for hunk in self._pieces:
            if isinstance(hunk, Hunk) and hunk not in self._hunks:
                held = {statement.scope for statement in self._statements(hunk)}
                if held & self._scopes:
                    raise NotSettled("imports conflict among code as well")
        if any(name.scope in self._scopes and name not in wanted for name in there):
            raise NotSettled("one side dropped an import that the other moved")
        due = {name for name in wanted - set(there) if name.scope in self._scopes}
        written: dict[int, list[Piece]] = {}
        for number, piece in enumerate(self._pieces):
            if isinstance(piece, Hunk) and piece in self._hunks:
                mine = self._mine(piece, due)
                due -= mine
                written[number] = [self._text_of(piece, mine)]
        if due:
            names = ", ".join(sorted(name.written for name in due))
            raise NotSettled(f"the import of {names} has no place among what conflicts")
        pieces: list[Piece] = []
        for number, piece in enumerate(self._pieces):
            pieces += written.get(number) or [self._unfolded(piece)]
        return MergedImports(tuple(pieces), frozenset(self._scopes))

    def _mine(self, hunk: Hunk, due: set[Imported]) -> set[Imported]:
        """The names that are due which a conflict has a place for, the earliest taking all."""
        scope = self._scope(hunk)
        named = {name for statement in self._statements(hunk) for name in statement.names}
        others = [other for other in self._hunks if other is not hunk]
        for other in others:
            both = named & {n for s in self._statements(other) for n in s.names} & due
            if both and not self._is_one_run(hunk, other):
                names = ", ".join(sorted(name.written for name in both))
                raise NotSettled(f"the import of {names} moved past other code")
        elsewhere = {n for other in others for s in self._statements(other) for n in s.names}
        mine = named & due
        if scope not in self._repeated:
            mine |= {n for n in due - elsewhere if n.scope == scope}
        return mine

    def _is_one_run(self, one: Hunk, other: Hunk) -> bool:
        """Whether nothing but imports stands between two conflicts: a name may be in either."""
        places = [n for n, piece in enumerate(self._pieces) if piece is one or piece is other]
        between = self._pieces[places[0] : places[-1]]
        return all(
            isinstance(piece, Hunk) or self._folding.statement(piece) or _is_trivia(piece)
            for piece in between
        )

    def _text_of(self, hunk: Hunk, names: set[Imported]) -> bytes:
        read = self._folding.statement
        base, ours, theirs = (side_of(lines, read) for lines in (hunk.base, hunk.ours, hunk.theirs))
        wanted: dict[Key, list[str]] = {}
        for name in sorted(names):
            wanted.setdefault(key_of(name), []).append(name.written)
        ends = {statement.text.endswith(b"\r\n") for statement in self._statements(hunk)}
        if len(ends) > 1:
            raise NotSettled("conflicting statements have different line ends")
        return lay_out(base, ours, theirs, wanted, b"\r\n" if True in ends else b"\n")

    def _unfolded(self, piece: Piece) -> Piece:
        if isinstance(piece, bytes):
            return self._folding.unfold(piece)
        sides = (piece.base, piece.ours, piece.theirs)
        return Hunk(*(tuple(map(self._folding.unfold, side)) for side in sides))

    def _missing(self, result: MergedImports) -> set[str]:
        """The names that the result loads and nothing binds, though each side binds them."""
        _, ours, theirs = self._stages
        known = unbound(ours.text) | unbound(theirs.text)
        missing = {name for text in variants(result) for name in unbound(text)} - known
        if result.left:
            # What code binds or loads is the person's, who has that code to settle.
            missing &= {name.bound for stage in self._stages for name in stage.names}
        return missing | self._missing_mentions(result)

    def _missing_mentions(self, result: MergedImports) -> set[str]:
        """Names that the result mentions, and whose import a side dropped that does not.

        Or that each side imports, by one of several statements, and the result by none.
        """
        lost = set()
        base, *sides = ({(namespace(n.scope), n.bound) for n in s.names} for s in self._stages)
        by_both = {name for _, name in sides[0]} & {name for _, name in sides[1]}
        for text in variants(result):
            bound, told = set(meanings(parse_tree(text))), mentioned(text)
            lost |= (by_both & told) - {name for _, name in bound}
            for side in self._stages[1:]:
                fresh = told - mentioned(side.text)
                lost |= {
                    name
                    for inside, name in base - set(meanings(side.tree))
                    if name in fresh and not _is_seen(name, inside, bound)
                }
        return lost

    def _put_back(self, missing: Iterable[str], dropped: set[Imported]) -> set[Imported]:
        back = set()
        for name in missing:
            found = [d for d in dropped if d.bound == name and d.scope in self._scopes]
            if len(found) != 1:
                raise NotSettled(f"nothing would bind {name}, and no one import of it was dropped")
            back.add(found[0])
        return back

    def _check(self, result: MergedImports, wanted: set[Imported]) -> None:
        """See that the result imports what is wanted, and that no name has two meanings.

        Raises:
            NotSettled: It does not.
        """
        expected = {name for name in wanted if name.scope in self._scopes}
        early = set().union(*(used_before(stage.tree) for stage in self._stages))
        for text in variants(result):
            parsed = parse(text)
            found = [name for name in parsed.names if name.scope in self._scopes]
            if set(found) != expected or any(
                count > 1 and all(stage.names.count(name) < count for stage in self._stages)
                for name, count in Counter(found).items()
            ):
                raise NotSettled("its statements stand where the rule does not reach them")
            late = sorted(used_before(parsed.tree) - early)
            if late:
                raise NotSettled(f"{', '.join(late)} would be used above its import")
            check_submodules(self._stages, parsed)
            check_moves(self._stages, parsed)
            check_tries(self._stages, parsed)
            check_meanings(self._stages, parsed, self._scopes)


def variants(result: MergedImports) -> list[bytes]:
    """The text as it would be with either side's part of every conflict that is left."""
    texts = []
    for side in ("ours", "theirs"):
        lines = [
            piece if isinstance(piece, bytes) else b"".join(getattr(piece, side))
            for piece in result.pieces
        ]
        texts.append(b"".join(lines))
    for text in texts:
        parse_tree(text)
    return texts if result.left else texts[:1]


def _is_seen(name: str, inside: Scope, bound: Collection[tuple[Scope, str]]) -> bool:
    """Whether a definition, or one around it, binds a name."""
    return any((inside[:end], name) in bound for end in range(len(inside) + 1))


def _is_trivia(line: bytes) -> bool:
    """Whether a line is blank or a comment; one with quotes might end a string."""
    line = line.strip()
    return not line or (line.startswith(b"#") and b'"""' not in line and b"'''" not in line)


def _ended(lines: Sequence[bytes], end: bytes) -> list[bytes]:
    return [line if line.endswith(b"\n") else line + end for line in lines]
