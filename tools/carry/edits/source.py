"""A Python file as text that can be parsed, located in, and written back byte by byte."""

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property

from carry.edits.names import Names

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_WHITE = (
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
_INDENT = re.compile(r"[ \t\f]*")


class SourceError(Exception):
    """A file that cannot be edited, with the reason."""


@dataclass(frozen=True, slots=True)
class Splice:
    r"""One replacement of a stretch of a text.

    Attributes:
        start: Offset of the first character replaced.
        end: Offset behind the last one; equal to ``start`` for an insertion.
        text: What stands there afterwards, with ``\\n`` line endings.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    Attributes:
        type: Its type, as `tokenize` has it.
        string: Its text.
        start: Offset of its first character.
        end: Offset behind its last one.
    """

    type: int
    string: str
    start: int
    end: int


class Source:
    r"""The text of one file, its syntax tree and the way between the two.

    Python reads ``\\r\\n`` and a lone ``\\r`` as one line ending, and so does this class; `ast`
    counts columns in bytes of UTF-8, offsets here count characters.

    Args:
        text: The text, without a byte order mark, in its own line endings.

    Raises:
        SourceError: The text is no Python.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[str] = [line for line in _LINE.findall(text) if line]
        self.newline = _newline_of(self.lines)
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))
        self.tree = parse("".join(_with_lf(line) for line in self.lines))

    @cached_property
    def names(self) -> Names:
        """The functions and the names they read; the text must compile."""
        return Names("".join(_with_lf(line) for line in self.lines))

    @cached_property
    def tab_indented(self) -> bool:
        """Whether most indented lines start with a tab."""
        tabs = sum(line.startswith("\t") for line in self.lines)
        return tabs > sum(line.startswith(" ") for line in self.lines)

    @property
    def indent_unit(self) -> str:
        """One level of indentation, for what has no neighbour to take it from."""
        return "\t" if self.tab_indented else "    "

    def offset(self, lineno: int, col_offset: int) -> int:
        """Offset of a position that `ast` gives.

        Args:
            lineno: Line, from 1.
            col_offset: Column in bytes of UTF-8, from 0.

        Returns:
            Offset in characters.
        """
        if lineno > len(self.lines):
            return len(self.text)
        line = self.lines[lineno - 1]
        if line.isascii():
            return self._starts[lineno - 1] + col_offset
        return self._starts[lineno - 1] + len(line.encode()[:col_offset].decode())

    def span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """Offsets of a node; a decorated definition starts at its first decorator's ``@``."""
        start = self.offset(node.lineno, node.col_offset)
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        if decorators:
            first = decorators[0]
            start = self.text.rindex("@", 0, self.offset(first.lineno, first.col_offset))
        end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return start, end

    def line_of(self, offset: int) -> int:
        """Line, from 0, that holds an offset."""
        low, high = 0, len(self.lines)
        while low < high:
            middle = (low + high) // 2
            if self._starts[middle + 1] <= offset:
                low = middle + 1
            else:
                high = middle
        return low

    def line_start(self, line: int) -> int:
        """Offset of a line, from 0; the length of the text for the line behind the last."""
        return self._starts[min(line, len(self.lines))]

    def content(self, line: int) -> str:
        """A line, from 0, without its line ending."""
        return self.lines[line].rstrip("\r\n")

    def indentation(self, line: int) -> str:
        """White space at the start of a line, from the last form feed on."""
        found = _INDENT.match(self.lines[line])
        return found.group().rpartition("\f")[2] if found else ""

    def between(self, start: int, end: int) -> str:
        r"""The text between two offsets, with ``\\n`` line endings."""
        return self.text[start:end].replace("\r\n", "\n").replace("\r", "\n")

    def tokens(self, start: int, end: int) -> list[Token]:
        """The tokens between two offsets, which must hold whole brackets; white space left out.

        An f-string is one token, whatever stands inside it.
        """
        first_line = self.line_of(start)
        column = start - self._starts[first_line]

        def absolute(row: int, col: int) -> int:
            return self._starts[first_line + row - 1] + col + (column if row == 1 else 0)

        found: list[Token] = []
        nested: list[int] = []
        for token in tokenize.generate_tokens(io.StringIO(self.between(start, end)).readline):
            if token.type == tokenize.FSTRING_START:
                nested.append(absolute(*token.start))
            elif token.type == tokenize.FSTRING_END:
                first, last = nested.pop(), absolute(*token.end)
                if not nested:
                    found.append(Token(tokenize.STRING, self.text[first:last], first, last))
            elif not nested and token.type not in _WHITE:
                first, last = absolute(*token.start), absolute(*token.end)
                found.append(Token(token.type, token.string, first, last))
        return found

    def spliced(self, splices: list[Splice]) -> str:
        """The text with splices made; they must be sorted and must not overlap."""
        parts, position = [], 0
        for splice in splices:
            assert splice.start >= position  # noqa: S101 - overlaps were refused before
            parts.append(self.text[position : splice.start])
            parts.append(splice.text.replace("\n", self.newline))
            position = splice.end
        parts.append(self.text[position:])
        return "".join(parts)


def parse(text: str) -> ast.Module:
    r"""The syntax tree of a text.

    Args:
        text: Python with ``\\n`` line endings.

    Returns:
        Its tree.

    Raises:
        SourceError: The text is no Python.
    """
    try:
        with warnings.catch_warnings():
            # Upstream's own invalid escapes are none of this program's business.
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"is no Python: {error}") from error


def check_compiles(tree: ast.Module) -> None:
    """Checks what the parser does not, such as a ``return`` outside a function.

    Args:
        tree: The tree of the whole file.

    Raises:
        SourceError: The tree does not compile.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            compile(tree, "<edited>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise SourceError(f"does not compile: {error}") from error


def decode(data: bytes) -> tuple[str, str]:
    """The text of a Python file and the encoding it is in.

    Args:
        data: The whole file.

    Returns:
        The text without a byte order mark, and the encoding; ``utf-8-sig`` where there is a mark.

    Raises:
        SourceError: The encoding is unknown, or the file is not in it.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise SourceError(f"cannot be decoded: {error}") from error
    if text.encode(encoding) != data:
        raise SourceError(f"is not written the way {encoding} writes text, so bytes would change")
    return text, encoding


def _with_lf(line: str) -> str:
    stripped = line.rstrip("\r\n")
    return line if len(stripped) == len(line) else f"{stripped}\n"


def _newline_of(lines: list[str]) -> str:
    r"""The commonest line ending; ``\\n`` where there is none."""
    endings = [line[len(line.rstrip("\r\n")) :] for line in lines]
    return max(("\n", "\r\n", "\r"), key=endings.count)
