"""Cuts one logical line into leaves: tokens that know at what priority a line may break there."""

import itertools
import keyword
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

COMPREHENSION, COMMA, TERNARY, LOGIC, STRING, COMPARATOR, DOT = 20, 18, 16, 14, 12, 10, 1
_MATH = {
    "|": 9,
    "^": 8,
    "&": 7,
    "<<": 6,
    ">>": 6,
    "+": 5,
    "-": 5,
    "*": 4,
    "/": 4,
    "//": 4,
    "%": 4,
    "@": 4,
    "**": 2,
}
_COMPARATORS = {"<", ">", "==", "!=", "<=", ">="}
_OPENING, _CLOSING = "([{", ")]}"
ASSIGNMENTS = {
    "=",
    "+=",
    "-=",
    "*=",
    "/=",
    "//=",
    "%=",
    "@=",
    "&=",
    "|=",
    "^=",
    "<<=",
    ">>=",
    "**=",
}
_COMPOUND = {
    "async",
    "class",
    "def",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "if",
    "try",
    "while",
    "with",
}
_VALUE_KEYWORDS = {"None", "True", "False"}


@dataclass(slots=True, eq=False)
class Leaf:
    """One token.

    Attributes:
        text: Its text; empty for an optional parenthesis that is not written.
        space: Whether a space stands before it where the line does not break.
        is_name: Whether it is a name, a number or a keyword.
        is_string: Whether it is a string.
        partner: The other bracket of a pair.
        opens: Whether it is an opening bracket.
        closes: Whether it is a closing bracket.
        is_atom: Whether the bracket encloses a value of its own, and not arguments or an index.
        priority: At what priority a line may break after it; 0 for never.
        depth: How deep in brackets it stands.
        tail: The comment behind it.
    """

    text: str
    space: bool
    is_name: bool = False
    is_string: bool = False
    partner: "Leaf | None" = None
    opens: bool = False
    closes: bool = False
    is_atom: bool = False
    priority: int = 0
    depth: int = 0
    tail: str = ""

    @property
    def is_value(self) -> bool:
        """Whether it ends a value, so that a bracket behind it is a call or an index."""
        if self.closes or self.is_string:
            return True
        return self.is_name and (not keyword.iskeyword(self.text) or self.text in _VALUE_KEYWORDS)


def leaves_of(text: str) -> list[Leaf] | None:
    """The leaves of one logical line.

    Args:
        text: A simple statement, or the head of a compound one up to its colon.

    Returns:
        The leaves with optional parentheses among them; None where the text holds a comment, a
        string over several lines or a backslash that continues a line.
    """
    leaves = _tokens(text)
    if leaves is None:
        return None
    _pair(leaves)
    if _holds_several(leaves):
        return None
    leaves = _without_trailing_commas(leaves)
    leaves = _with_optional_parentheses(leaves)
    _set_priorities(leaves)
    return leaves


def _tokens(text: str) -> list[Leaf] | None:  # noqa: C901 - one branch a kind of token
    lines = text.split("\n")
    leaves: list[Leaf] = []
    end = (1, 0)
    fstring: tuple[int, int] | None = None
    nested = 0
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
            continue
        if token.type in (tokenize.COMMENT, tokenize.INDENT, tokenize.ERRORTOKEN):
            return None
        if token.type == tokenize.FSTRING_START:
            nested += 1
            fstring = fstring or token.start
            continue
        if token.type == tokenize.FSTRING_END:
            nested -= 1
        if nested:
            continue
        start = token.start
        value = token.string
        if token.type == tokenize.FSTRING_END:
            assert fstring is not None  # noqa: S101 - an f-string ends where one started
            start, fstring = fstring, None
            if start[0] == token.end[0]:
                value = lines[start[0] - 1][start[1] : token.end[1]]
        if start[0] != token.end[0]:
            return None
        space = bool(leaves) and (start[0] > end[0] or start[1] > end[1])
        if leaves and start[0] > end[0]:
            if lines[end[0] - 1].rstrip().endswith("\\"):
                return None
            opened = leaves[-1].text in ("(", "[", "{")
            space = not opened and value not in (")", "]", "}", ",", ".", ":")
        leaves.append(
            Leaf(
                value,
                space,
                is_name=token.type in (tokenize.NAME, tokenize.NUMBER),
                is_string=token.type in (tokenize.STRING, tokenize.FSTRING_END),
            )
        )
        end = token.end
    return leaves


def _pair(leaves: Sequence[Leaf]) -> None:
    opened: list[Leaf] = []
    for index, leaf in enumerate(leaves):
        if leaf.is_string or leaf.is_name:
            continue
        if leaf.text in _OPENING:
            leaf.opens = True
            leaf.is_atom = index == 0 or not leaves[index - 1].is_value
            opened.append(leaf)
        elif leaf.text in _CLOSING:
            leaf.closes = True
            leaf.partner = opened.pop()
            leaf.partner.partner = leaf
            leaf.is_atom = leaf.partner.is_atom


def _holds_several(leaves: Sequence[Leaf]) -> bool:
    """Whether more than one statement stands on the line."""
    shallow = _shallow(leaves)
    colons = [leaf for leaf in shallow if leaf.text == ":" and not leaf.is_string]
    lambdas = sum(leaf.text == "lambda" for leaf in shallow)
    compound = leaves[0].text in _COMPOUND
    return any(leaf.text == ";" for leaf in shallow) or (
        compound and (len(colons) > 1 + lambdas or leaves[-1].text != ":")
    )


def _without_trailing_commas(leaves: Sequence[Leaf]) -> list[Leaf]:
    """Without the commas that only a list of one element a line has; ``(x,)`` keeps its own."""
    kept: list[Leaf] = []
    for leaf in leaves:
        if leaf.closes and kept[-1].text == ",":
            start = next(i for i, other in enumerate(kept) if other is leaf.partner)
            commas = sum(1 for other in _shallow(kept[start + 1 :]) if other.text == ",")
            single = commas == 1 and ((leaf.text == ")" and leaf.is_atom) or leaf.text == "]")
            if not single:
                kept.pop()
        kept.append(leaf)
    return kept


def _shallow(leaves: Sequence[Leaf]) -> list[Leaf]:
    """The leaves outside every bracket that the sequence itself opens."""
    found, depth = [], 0
    for leaf in leaves:
        if leaf.closes:
            depth -= 1
        if depth == 0:
            found.append(leaf)
        if leaf.opens:
            depth += 1
    return found


def _with_optional_parentheses(leaves: list[Leaf]) -> list[Leaf]:
    """With unwritten parentheses where black may write some."""
    out: list[Leaf] = []
    position = 0
    for start, end in _optional_ranges(leaves):
        out += leaves[position:start]
        out += _parenthesised(leaves[start:end])
        position = end
    return out + leaves[position:]


def _optional_ranges(leaves: Sequence[Leaf]) -> list[tuple[int, int]]:
    """Ranges of leaves that parentheses may go around."""
    first = leaves[0].text
    shallow = {id(leaf) for leaf in _shallow(leaves)}
    at_top = [i for i, leaf in enumerate(leaves) if id(leaf) in shallow]
    end = len(leaves) - 1 if leaves[-1].text == ":" else len(leaves)
    ranges: list[tuple[int, int]] = []
    if first in ("return", "del", "if", "elif", "while") and leaves[0].is_name:
        ranges = [(1, end)]
    elif first == "for" or (first == "async" and leaves[1].text == "for"):
        start = at_top[0] + (1 if first == "for" else 2)
        middle = next(i for i in at_top if leaves[i].text == "in")
        ranges = [(start, middle), (middle + 1, end)]
    elif first == "assert":
        comma = [i for i in at_top if leaves[i].text == "," and not _in_lambda(leaves, i)]
        cuts = [0, *comma[:1], end]
        ranges = [(a + 1, b) for a, b in itertools.pairwise(cuts)]
    elif first not in ("def", "class", "with", "async", "@", "from", "import", "raise"):
        equals = [i for i in at_top if leaves[i].text in ASSIGNMENTS and not _in_lambda(leaves, i)]
        if equals:
            if any(leaves[i].text == "," for i in at_top if i < equals[0]):
                ranges.append((0, equals[0]))
            cuts = [*equals, end]
            ranges += [(a + 1, b) for a, b in itertools.pairwise(cuts)]
    return [(a, b) for a, b in ranges if b > a]


def _in_lambda(leaves: Sequence[Leaf], index: int) -> bool:
    """Whether a leaf stands among the parameters of a lambda that no bracket encloses."""
    opened = False
    for leaf in _shallow(leaves[:index]):
        if leaf.text == "lambda":
            opened = True
        elif leaf.text == ":":
            opened = False
    return opened


def _parenthesised(leaves: list[Leaf]) -> list[Leaf]:
    space = leaves[0].space
    while leaves[0].text == "(" and leaves[0].partner is leaves[-1] and _is_redundant(leaves[1:-1]):
        leaves = leaves[1:-1]
    texts = [leaf.text for leaf in _shallow(leaves)]
    written = leaves[0].text == "(" and leaves[0].partner is leaves[-1]
    one_tuple = len(texts) > 1 and texts[-1] == "," and texts.count(",") == 1
    if written or one_tuple:
        leaves[0].space = space
        return leaves
    left = Leaf("", space, opens=True, is_atom=True)
    right = Leaf("", space=False, closes=True, is_atom=True, partner=left)
    left.partner = right
    leaves[0].space = False
    return [left, *leaves, right]


def _is_redundant(inner: Sequence[Leaf]) -> bool:
    """Whether parentheses around them may go: they are no tuple, generator, walrus or yield."""
    texts = [leaf.text for leaf in _shallow(inner)]
    return bool(inner) and not ({",", "for", ":=", "yield"} & set(texts)) and texts[0] != "*"


def _set_priorities(leaves: Sequence[Leaf]) -> None:  # noqa: C901 - one pass, one branch a word
    depth = 0
    comprehensions: set[int] = set()
    targets: list[int] = []
    lambdas: list[int] = []
    for index, leaf in enumerate(leaves):
        previous = leaves[index - 1] if index else None
        if leaf.closes:
            comprehensions.discard(depth)
            depth -= 1
        ends_target = leaf.text == "in" and bool(targets) and targets[-1] == depth
        ends_lambda = leaf.text == ":" and bool(lambdas) and lambdas[-1] == depth
        if ends_target:
            targets.pop()
            depth -= 1
        if ends_lambda:
            lambdas.pop()
            depth -= 1
        leaf.depth = depth
        if previous is not None and not ends_target:
            before = _break_before(
                leaf, previous, leaves, index, in_comprehension=depth in comprehensions
            )
            if before:
                previous.priority = max(previous.priority, before)
        if leaf.text == ",":
            leaf.priority = COMMA
        if leaf.opens:
            depth += 1
        if leaf.is_name and leaf.text == "lambda":
            depth += 1
            lambdas.append(depth)
        elif leaf.is_name and leaf.text == "for":
            comprehensions.add(depth)
            depth += 1
            targets.append(depth)


def _break_before(  # noqa: C901, PLR0911 - a table of tokens, written as one
    leaf: Leaf, previous: Leaf, leaves: Sequence[Leaf], index: int, *, in_comprehension: bool
) -> int:
    if leaf.is_string:
        return STRING if previous.is_string else 0
    if not leaf.is_name:
        if leaf.text == ".":
            return DOT if previous.closes else 0
        binary = previous.is_value
        if binary and leaf.text in _MATH:
            return _MATH[leaf.text]
        return COMPARATOR if leaf.text in _COMPARATORS else 0
    match leaf.text:
        case "for" | "async" if index > 0:
            return 0 if previous.text == "async" else COMPREHENSION
        case "if" | "else":
            return COMPREHENSION if in_comprehension and leaf.text == "if" else TERNARY
        case "is":
            return COMPARATOR
        case "in":
            return 0 if previous.text == "not" else COMPARATOR
        case "not":
            following = leaves[index + 1].text if index + 1 < len(leaves) else ""
            return COMPARATOR if following == "in" else 0
        case "and" | "or":
            return LOGIC
    return 0
