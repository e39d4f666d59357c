"""Text that goes on in the next line at a space, and names that do so at their separators."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

# Where a word longer than a line is divided: a path at its slashes, else a name at its dots.
_SEPARATORS = ("/", "._:-")


@dataclass(frozen=True, slots=True)
class Folded:
    """A line, or a cell of a table, that folds where a reader expects it to.

    Attributes:
        text: One line.
        style: As rich names it.
        indent: Columns that stay free on the left.
    """

    text: str
    style: str = ""
    indent: int = 0

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        """Fold to the width there is."""
        before = " " * self.indent
        width = max(options.max_width - self.indent, 1)
        yield Text("\n".join(before + line for line in fold(self.text, width)), style=self.style)

    def __rich_measure__(self, _: Console, options: ConsoleOptions) -> Measurement:
        """It takes what it gets, and at most its length."""
        return Measurement(1, min(len(self.text) + self.indent, options.max_width))


def aligned(
    first: Folded, others: Sequence[Text], widths: Sequence[int], justify: JustifyMethod = "left"
) -> Table:
    """A row by itself, between lines that are none, in line with others of the same widths.

    Args:
        first: Its first cell, which gives way in a narrow terminal.
        others: The others.
        widths: Columns of each.
        justify: How the others stand.
    """
    table = Table(box=None, show_header=False)
    table.add_column()
    for width in widths[1:]:
        table.add_column(width=width, justify=justify, overflow="fold")
    table.add_row(replace(first, text=first.text.ljust(widths[0] - first.indent)), *others)
    return table


def labels(names: Iterable[str], width: int) -> tuple[list[str], list[Folded]]:
    """What stands for names where there is little room, and the lines that say what it stands for.

    A name that is no longer than ``width`` stands for itself, another one is numbered.
    """
    short, legend = [], []
    for number, name in enumerate(names, 1):
        is_short = len(name) <= width
        short.append(name if is_short else f"({number})")
        if not is_short:
            legend.append(Folded(f"({number}) {name}", indent=1))
    return short, legend


def fold(text: str, width: int) -> list[str]:
    """Divide a line into lines of at most ``width`` columns; a word only if it is longer."""
    lines = [""]
    for word in re.findall(r"\s*\S+", text):
        if len(lines[-1] + word) <= width:
            lines[-1] += word
            continue
        lines.append("")
        for part in _parts(word.lstrip(), width, _SEPARATORS):
            if len(lines[-1] + part) <= width:
                lines[-1] += part
            else:
                lines.append(part)
    return [line for line in lines if line]


def _parts(word: str, width: int, separators: tuple[str, ...]) -> Iterator[str]:
    """What a word may be divided into, each part no longer than a line."""
    if len(word) <= width:
        yield word
    elif separators:
        ends = re.escape(separators[0])
        for part in re.findall(f"[^{ends}]*[{ends}]|[^{ends}]+", word):
            yield from _parts(part, width, separators[1:])
    else:
        yield from (word[start : start + width] for start in range(0, len(word), width))
