"""What one edit wants to do to one text, before anything is changed."""

import ast
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Literal

from carry.edits.model import Edit
from carry.edits.paths import Paths
from carry.edits.scopes import Definition, Site, definitions, sites
from carry.edits.source import Source, Splice

State = Literal["applies", "already applied", "mismatch", "refused"]


class Order(IntEnum):
    """Which text comes first where several are inserted at one offset."""

    AFTER = 0
    START = 1
    BEFORE = 2
    WITHIN = 3


@dataclass(frozen=True, slots=True)
class Change:
    """One splice of an edit.

    Attributes:
        splice: The splice.
        order: Which comes first among insertions at one offset.
        depth: Columns of indentation; of two insertions after a statement the deeper comes first.
    """

    splice: Splice
    order: Order = Order.WITHIN
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Addition:
    """Elements that an edit adds to a bracketed list.

    Attributes:
        at: Offset of the opening bracket.
        end: Offset of the closing bracket.
        elements: Texts of the new elements.
        region: Offsets of the logical line around it, where that may be laid out again.
        in_signature: Whether it is a definition's parameter list, which needs a ``*``.
    """

    at: int
    end: int
    elements: tuple[str, ...]
    region: tuple[int, int] | None
    in_signature: bool


@dataclass(frozen=True, slots=True)
class WantedImport:
    """An import that an edit adds.

    Attributes:
        statement: The statement that gets the names; None for a new one.
        module: Dotted name; leading dots make it relative.
        names: The names; empty for ``import module``.
    """

    statement: ast.ImportFrom | None
    module: str
    names: tuple[str, ...]


@dataclass(slots=True)
class Plan:
    """What one edit found and wants to do.

    Attributes:
        standing: How often its result stands already.
        pending: How often it can be made.
        changes: Splices, for the pending ones.
        additions: Elements for bracketed lists, for the pending ones.
        imports: Imports, for the pending ones.
        lines: Lines, from 1, of the pending ones.
        reasons: Why some match cannot be edited.
    """

    standing: int = 0
    pending: int = 0
    changes: list[Change] = field(default_factory=list)
    additions: list[Addition] = field(default_factory=list)
    imports: list[WantedImport] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def pend(self, node: ast.expr | ast.stmt) -> None:
        """Notes a place where the edit can be made, or could but for a reason."""
        self.pending += 1
        self.lines.append(node.lineno)

    def stand(self, node: ast.expr | ast.stmt, refusal: str) -> None:
        """Notes a place where the edit's result stands, or looks so but for a reason."""
        if refusal:
            self.pend(node)
            self.reasons.append(f"line {node.lineno}: {refusal}")
        else:
            self.standing += 1

    @property
    def claims(self) -> list[tuple[int, int]]:
        """Stretches of the text that the plan replaces."""
        spans = [(change.splice.start, change.splice.end) for change in self.changes]
        return [(start, end) for start, end in spans if end > start]

    @property
    def touches(self) -> list[tuple[int, int]]:
        """Stretches of the text that the plan replaces or adds to."""
        spans = [(change.splice.start, change.splice.end) for change in self.changes]
        spans += [(addition.at, addition.end) for addition in self.additions]
        return spans


class Text:
    """A source with the look-ups that edits share; made once a layer.

    Args:
        source: The parsed file.
        fragment_of: Scope that the text is a fragment of, where it is no whole file: all its
            statements then count as standing in that scope.
    """

    def __init__(self, source: Source, fragment_of: str | None = None) -> None:
        self.source = source
        self._sites: dict[str, list[Site]] = {}
        if fragment_of is not None:
            self._sites[fragment_of] = list(sites(source.tree, inside_definitions=True))

    @cached_property
    def definitions(self) -> dict[str, list[Definition]]:
        """Definitions by qualified name."""
        return definitions(self.source.tree)

    @cached_property
    def paths(self) -> Paths:
        """The ways through the text that its syntax rules out."""
        return Paths(self.source.tree)

    def sites(self, scope: str) -> list[Site]:
        """The statements of a scope: all inside a definition, or those outside every definition."""
        if scope not in self._sites:
            if scope:
                found = [
                    site
                    for node in self.definitions.get(scope, [])
                    for site in sites(node, inside_definitions=True)
                ]
            else:
                found = list(sites(self.source.tree, inside_definitions=False))
            self._sites[scope] = found
        return self._sites[scope]

    def where(self, node: ast.AST) -> str:
        """Where a node stands, for a message."""
        return f"line {getattr(node, 'lineno', 1)}"


@dataclass(frozen=True, slots=True)
class EditResult:
    """What became of one edit.

    Attributes:
        edit: The edit.
        found: How often it matched, where it can be made and where its result stands.
        wanted: How often it must match.
        state: ``applies``, ``already applied``, ``mismatch`` or ``refused``.
        detail: What to know about a mismatch or a refusal; empty otherwise.
    """

    edit: Edit
    found: int
    wanted: int
    state: State
    detail: str

    @property
    def failed(self) -> bool:
        """Whether the edit keeps its file set from being applied."""
        return self.state in ("mismatch", "refused")
