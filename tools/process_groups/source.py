"""The text of a file: decoded, parsed, and searched for names without being parsed."""

import ast
import io
import re
import symtable
import tokenize
from bisect import bisect_left
from typing import NamedTuple, NoReturn

from process_groups.bindings import Names, Uses
from process_groups.errors import ScanError
from process_groups.modules import dotted, package_name

Words = frozenset[str]

# Any byte above ASCII may belong to a name.
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][0-9A-Za-z_\x80-\xff]*")
# How Python itself finds a declaration, which stands in one of the first two lines.
_ENCODING = re.compile(rb"(?:\xef\xbb\xbf)?(?:.*\n)?[ \t\f]*#.*?coding[:=]")
_OUTWARD = re.compile(r"\b(?:global|nonlocal)\s")
_LINE_END = re.compile(r"\n")


class Source(NamedTuple):
    """A parsed file.

    Attributes:
        text: Its text, with line feeds alone as line ends.
        tree: What it parses to.
        names: What its top level binds.
        uses: What it uses that its names depend on.
    """

    text: str
    tree: ast.Module
    names: Names
    uses: Uses


def parse(data: bytes, path: str) -> Source:
    """Return a file's parsed text.

    Raises:
        ScanError: It is not in its encoding or does not parse.
    """
    text = decode(data, path)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        _refuse(path, error)
    uses = Uses(outward=_OUTWARD.search(text) is not None, walrus=":=" in text)
    return Source(text, tree, Names(tree, package_name(path), uses), uses)


def check_syntax(data: bytes, path: str) -> None:
    """Check that a file is Python, without building its tree: a third of what parsing costs.

    Raises:
        ScanError: It is not in its encoding or does not parse.
    """
    try:
        symtable.symtable(decode(data, path), path, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        _refuse(path, error)


def decode(data: bytes, path: str) -> str:
    """Return a file's text, with line feeds alone as line ends.

    It is in UTF-8 unless one of its first two lines declares another encoding.

    Raises:
        ScanError: It is not in that encoding, or Python knows none of that name.
    """
    encoding = "utf-8-sig"
    try:
        if _declares_encoding(data):
            encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        name = encoding.removesuffix("-sig").upper()
        raise ScanError(f"{path}:{line}: is not {name}: {error.reason}") from error
    except (SyntaxError, LookupError, ValueError) as error:
        raise ScanError(f"{path}: cannot be decoded: {error}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def words_of(data: bytes, path: str) -> set[bytes]:
    """Return everything in a file that may be a name, in UTF-8; errors as for ``decode``."""
    return set(_WORD.findall(decode(data, path).encode() if _declares_encoding(data) else data))


def _declares_encoding(data: bytes) -> bool:
    return _ENCODING.match(data) is not None


def lines_with(text: str, words: Words) -> list[int]:
    """Return the numbers of the lines that hold one of ``words``, sorted."""
    here = sorted(words & {word.decode() for word in _WORD.findall(text.encode())})
    if not here:
        return []
    ends = [match.start() for match in _LINE_END.finditer(text)]
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, here))})\b")
    return sorted({bisect_left(ends, match.start()) + 1 for match in pattern.finditer(text)})


def aliases_in(statements: list[ast.stmt], words: Words, functions: Words) -> Words:
    """Return the second names that statements give to one of ``words``.

    A function that is assigned is read there and then, so its variable is no second name.
    """
    found = set()
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.asname and alias.name.rpartition(".")[2] in words:
                    found.add(alias.asname)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            chain = dotted(node.value)
            if chain is not None and chain.rpartition(".")[2] in words - functions:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update(target.id for target in targets if isinstance(target, ast.Name))
    return frozenset(found) - words


def _refuse(path: str, error: Exception) -> NoReturn:
    if isinstance(error, SyntaxError):
        raise ScanError(f"{path}:{error.lineno or 1}: is no Python: {error.msg}") from error
    raise ScanError(f"{path}: cannot be parsed: {error}") from error
