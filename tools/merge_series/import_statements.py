"""The import statements of one Python text, and the text with each of them folded to one line."""

import ast
import io
import re
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from merge_series.text_merge import lines_of

Scope = tuple[str, ...]
FOLD = b"\x01"  # stands in no Python text, and git takes a text that holds it for text
_NO_END = FOLD + b"\n"


class NotSettled(Exception):  # noqa: N818 - it is an answer: the reason a person is asked
    """The import statements of a file cannot be merged by the rule; the message says why."""


class NoImports(NotSettled):
    """No import statement of the file is in conflict."""


@dataclass(frozen=True, slots=True, order=True)
class Imported:
    """One name that a text imports.

    Attributes:
        scope: The blocks around the statement, such as ``("def load", "try")``.
        module: The module, with the dots of a relative import.
        name: What is taken from it; empty for ``import module``.
        alias: The name after ``as``; empty without one.
    """

    scope: Scope
    module: str
    name: str
    alias: str

    @property
    def bound(self) -> str:
        """The name it binds."""
        return self.alias or self.name or self.module.partition(".")[0]

    @property
    def source(self) -> tuple[str, str]:
        """What the bound name is: ``import a.b`` binds a, as ``import a.c`` does."""
        return (self.module if self.name or self.alias else self.bound), self.name

    @property
    def written(self) -> str:
        """The name as the statement has it: ``name as alias``."""
        return (self.name or self.module) + (f" as {self.alias}" if self.alias else "")


@dataclass(frozen=True, slots=True)
class Statement:
    """An import statement that has its lines to itself.

    Attributes:
        scope: The blocks around it.
        names: What it imports.
        text: Its lines as they stand, with their ends.
    """

    scope: Scope
    names: tuple[Imported, ...]
    text: bytes


@dataclass(frozen=True, slots=True)
class Parsed:
    """One text.

    Attributes:
        tree: Its syntax tree.
        encoding: Its encoding, as its first lines declare it.
        names: What it imports, one entry an alias.
        statements: The statements that have their lines to themselves, by first and last line
            from 0.
        lines: Its lines with their ends.
    """

    tree: ast.Module
    encoding: str
    names: tuple[Imported, ...]
    statements: dict[tuple[int, int], Statement]
    lines: list[bytes]

    @property
    def text(self) -> bytes:
        """The text itself."""
        return b"".join(self.lines)


class Folding:
    """Writes each import statement as one line, the same for equal statements of one scope."""

    def __init__(self) -> None:
        self._numbers: dict[Statement, int] = {}
        self._statements: list[Statement] = []

    def fold(self, parsed: Parsed) -> bytes:
        """The text with one line for each statement; every line of it has an end."""
        lines: list[bytes] = []
        done = 0
        for (first, last), statement in sorted(parsed.statements.items()):
            lines += parsed.lines[done:first]
            number = self._numbers.setdefault(statement, len(self._numbers))
            if number == len(self._statements):
                self._statements.append(statement)
            lines.append(FOLD + str(number).encode() + b"\n")
            done = last + 1
        text = b"".join([*lines, *parsed.lines[done:]])
        return text + _NO_END if text and not text.endswith(b"\n") else text

    def statement(self, line: bytes) -> Statement | None:
        """The statement that a line of a folded text stands for, if it stands for one."""
        number = line[len(FOLD) : -1]
        return self._statements[int(number)] if line.startswith(FOLD) and number else None

    def unfold(self, line: bytes) -> bytes:
        """The line or lines that a line of a folded text stands for."""
        statement = self.statement(line)
        return line.removesuffix(_NO_END) if statement is None else statement.text


@lru_cache(maxsize=32)
def parse(text: bytes) -> Parsed:
    """Read a Python text.

    Raises:
        NotSettled: It does not compile, imports with a star, or is no text that can be folded.
    """
    if FOLD in text or re.search(rb"\r(?!\n)", text):
        raise NotSettled("it holds control characters or line ends that are not LF or CRLF")
    if b"isort:" in text:
        raise NotSettled("it holds directives to isort")
    encoding, tree = encoding_of(text), parse_tree(text)
    lines = lines_of(text)
    found = imports_of(tree)
    names = tuple(name for _, imported in found for name in imported)
    if any(name.name == "*" for name in names):
        raise NotSettled("it imports with a star")
    statements = {}
    for node, imported in found:
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if _stands_alone(node, lines, encoding):
            whole = b"".join(lines[first : last + 1])
            statements[first, last] = Statement(imported[0].scope, imported, whole)
    return Parsed(tree, encoding, names, statements, lines)


@lru_cache(maxsize=32)
def imports_of(
    tree: ast.Module,
) -> tuple[tuple[ast.Import | ast.ImportFrom, tuple[Imported, ...]], ...]:
    """The import statements of a text in their order, each with the names it imports."""
    return tuple((node, tuple(_names(scope, node))) for scope, node in _imports(tree.body, ()))


@lru_cache(maxsize=32)
def parse_tree(text: bytes) -> ast.Module:
    """The syntax tree of a text that compiles.

    Raises:
        NotSettled: It does not.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(text, "file", "exec", dont_inherit=True)
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotSettled(f"it does not compile: {error}") from error


def blocks(statement: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The blocks directly inside a statement, each with the name it has in a scope."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield f"def {statement.name}", statement.body
        case ast.ClassDef():
            yield f"class {statement.name}", statement.body
        case ast.If():
            test = _source(statement.test)
            yield f"if {test}", statement.body
            yield f"else of {test}", statement.orelse
        case ast.Match():
            for case in statement.cases:
                yield f"case {_source(case.pattern)}", case.body
        case _:
            kind = type(statement).__name__.lower()
            yield kind, getattr(statement, "body", [])
            for handler in getattr(statement, "handlers", []):
                caught = _source(handler.type) if handler.type else ""
                yield f"except {caught}", handler.body
            yield f"else of {kind}", getattr(statement, "orelse", [])
            yield "finally", getattr(statement, "finalbody", [])


@lru_cache(maxsize=8192)
def _source(node: ast.AST) -> str:
    """A node's source; the same tests are asked for by each walk over a tree."""
    return ast.unparse(node)


def namespace(scope: Scope) -> Scope:
    """The part of a scope up to the innermost definition: what its names are bound in."""
    ends = [n for n, block in enumerate(scope, start=1) if block.startswith(("def ", "class "))]
    return scope[: ends[-1]] if ends else ()


def repeated(tree: ast.Module) -> set[Scope]:
    """Scopes of which a text has several blocks, such as two ``try`` one after the other."""
    found: Counter[Scope] = Counter()

    def count(body: list[ast.stmt], scope: Scope) -> None:
        for statement in body:
            for block, inner in blocks(statement):
                if inner:
                    found[*scope, block] += 1
                    count(inner, (*scope, block))

    count(tree.body, ())
    return {scope for scope, times in found.items() if times > 1}


def encoding_of(text: bytes) -> str:
    """The encoding that a text declares in its first lines.

    Raises:
        NotSettled: It declares none that Python knows.
    """
    try:
        return tokenize.detect_encoding(io.BytesIO(text).readline)[0]
    except SyntaxError as error:
        raise NotSettled(f"it does not compile: {error}") from error


def _imports(
    body: list[ast.stmt], scope: Scope
) -> Iterator[tuple[Scope, ast.Import | ast.ImportFrom]]:
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield scope, statement
        for block, inner in blocks(statement):
            yield from _imports(inner, (*scope, block))


def _names(scope: Scope, node: ast.Import | ast.ImportFrom) -> Iterator[Imported]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield Imported(scope, module, alias.name, alias.asname or "")
        else:
            yield Imported(scope, alias.name, "", alias.asname or "")


def _stands_alone(node: ast.stmt, lines: list[bytes], encoding: str) -> bool:
    """Whether nothing but a comment stands on the statement's lines besides it, no form feed."""
    first = lines[node.lineno - 1].decode(encoding).encode()
    last = lines[(node.end_lineno or node.lineno) - 1].decode(encoding).encode()
    before, after = first[: node.col_offset], last[node.end_col_offset :].strip()
    return not before.strip(b" \t") and (not after or after.startswith(b"#"))
