"""Lines of source text, highlighted by Pygments. Highlighting never changes what a line says."""

from dataclasses import dataclass, field

from pygments import lex
from pygments.lexers import get_lexer_for_filename
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from stack.git_answers import Sha, decode
from stack.repository import Repository

# Beyond this, highlighting costs more than it helps.
_LARGEST = 512 * 1024

type Line = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Highlighter:
    """Highlights files of a repository, each once.

    Attributes:
        repository: The repository.
    """

    repository: Repository
    _known: dict[tuple[Sha, str], tuple[Line, ...]] = field(default_factory=dict)

    def line(self, oid: Sha, path: str, number: int, text: str) -> Line:
        """One line of a file as pieces, each with its CSS class (may be empty).

        Args:
            oid: The file's blob.
            path: Its path, which tells the language.
            number: Number of the line, from 1.
            text: The line as a difference shows it, without its end; the pieces join to it.
        """
        key = (oid, path)
        if key not in self._known:
            self._known[key] = highlighted(path, self.repository.read_blob(oid))
        lines = self._known[key]
        line = lines[number - 1] if number <= len(lines) else ()
        # Pygments drops carriage returns, and takes a byte order mark away.
        return line if "".join(piece for _, piece in line) == text else (("", text),)


def highlighted(path: str, content: bytes) -> tuple[Line, ...]:
    """Every line of a file as pieces; none if it has no known language or is too large."""
    if len(content) > _LARGEST:
        return ()
    try:
        lexer = get_lexer_for_filename(path, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return ()
    lines: list[list[tuple[str, str]]] = [[]]
    for token, text in lex(decode(content), lexer):
        for place, part in enumerate(text.split("\n")):
            if place:
                lines.append([])
            if part:
                lines[-1].append((STANDARD_TYPES.get(token, ""), part))
    return tuple(map(tuple, lines))
