"""SERIES.md as a tree of Markdown nodes that know their lines, and how a fault in it is told."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from stack.errors import Refusal


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a series, parsed.

    Attributes:
        name: The file as errors name it.
        lines: Its lines, without line ends.
        nodes: Its top-level Markdown nodes.
    """

    name: str
    lines: tuple[str, ...]
    nodes: tuple[SyntaxTreeNode, ...]

    @classmethod
    def parse(cls, text: str, name: str) -> "Source":
        """Parse Markdown (CommonMark with tables)."""
        # Line ends as Markdown sees them, so that the nodes' lines are lines of this text.
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        return cls(name, tuple(text.split("\n")), tuple(SyntaxTreeNode(tokens).children))

    def refusal(self, line: int, message: str) -> Refusal:
        """The error that names a line, counted from 1."""
        return Refusal(f"{self.name}:{line}: {message}")

    def between(self, start: int, end: int) -> str:
        """The lines from ``start`` up to but without ``end``, counted from 0, as written."""
        lines = [line.rstrip() for line in self.lines[start:end]]
        return "\n".join(lines).strip("\n")


def span(node: SyntaxTreeNode) -> tuple[int, int]:
    """The lines of a block: its first and the one after its last, counted from 0."""
    assert node.map is not None  # noqa: S101 - Markdown gives every block its lines
    return node.map


def line_of(node: SyntaxTreeNode) -> int:
    """The line a block begins on, counted from 1."""
    return span(node)[0] + 1


def written(node: SyntaxTreeNode) -> str:
    """The Markdown text of a heading, paragraph or table cell, on one line."""
    return " ".join(node.children[0].content.split())


def is_heading(node: SyntaxTreeNode, *levels: int) -> bool:
    """Whether a node is a heading of one of these levels."""
    return node.type == "heading" and int(node.tag[1:]) in levels


def code_spans(node: SyntaxTreeNode) -> tuple[str, ...] | None:
    """The texts of a paragraph or cell that holds only code spans with commas between, or None."""
    return _listed(node.children[0].children)


def keyed_code_spans(node: SyntaxTreeNode) -> tuple[str, tuple[str, ...] | None] | None:
    """The key of a paragraph such as ``Adds: `a`, `b``` and its code spans.

    Returns:
        None if the paragraph begins with no key; the spans are None if anything else stands in it.
    """
    pieces = node.children[0].children if node.type == "paragraph" else []
    text = pieces[0].content if pieces and pieces[0].type == "text" else ""
    match = re.fullmatch(r"([A-Z][a-z]+):(.*)", text)
    if match is None:
        return None
    return match[1], None if match[2].strip() else _listed(pieces[1:])


def _listed(pieces: Sequence[SyntaxTreeNode]) -> tuple[str, ...] | None:
    # NUL stands for a code span, since Markdown lets none through, and * for all that is no list.
    stand_ins = {"code_inline": "\0", "softbreak": " "}
    shape = "".join(
        piece.content if piece.type == "text" else stand_ins.get(piece.type, "*")
        for piece in pieces
    )
    if not re.fullmatch(r" *\0( *, *\0)* *", shape):
        return None
    return tuple(piece.content for piece in pieces if piece.type == "code_inline")
