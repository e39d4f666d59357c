"""The stacks that ``stacks.py`` measures: their shapes, and branches that nobody has to merge."""

import math
import sys
from collections.abc import Callable, Sequence
from itertools import takewhile

from carry.bases import ReleaseTree, default_cache, fetch_release

# Main moves from the first to the second.
RELEASES = ("0.17.1", "0.18.2")
CONTEXT = 8  # lines that both releases share around a change, so that no merge conflicts


def chain(count: int) -> list[tuple[int, ...]]:
    """What each branch is on, by number from 0: the one before it."""
    return [(), *((number,) for number in range(count - 1))]


def fan(count: int) -> list[tuple[int, ...]]:
    """Every branch is on main alone."""
    return [()] * count


def lattice(count: int) -> list[tuple[int, ...]]:
    """Rows of branches, each of them on two neighbours of the row before."""
    width = math.isqrt(count)
    below = (divmod(number - width, width) for number in range(count))
    return [
        () if row < 0 else (row * width + column, row * width + (column + 1) % width)
        for row, column in below
    ]


SHAPES: dict[str, Callable[[int], list[tuple[int, ...]]]] = {
    "chain": chain,
    "fan": fan,
    "lattice": lattice,
}


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def change(number: int, before: str, after: str) -> str | None:
    """A text with a line of a branch's own, away from what main changes; None if there is no room.

    Branches take turns: one adds an import near the top, the next a remark near the end.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if number % 2:
        top = common(old, new)
        places = [n for n in range(1, top - CONTEXT) if old[n].startswith(("import ", "from "))]
        return (
            "".join([*old[: places[0]], f"import branch_{number}\n", *old[places[0] :]])
            if (places)
            else None
        )
    end = common(old[::-1], new[::-1])
    if end <= CONTEXT:
        return None
    place = len(old) - end + CONTEXT
    return "".join([*old[:place], f"# A remark of branch {number}.\n", *old[place:]])


def changes(count: int) -> list[dict[str, bytes]]:
    """What each branch changes, a file of its own: every third adds one, the others change one.

    They change files that main's release changes as well, as long as there are any.
    """
    before, after = (ReleaseTree(v, fetch_release(v, default_cache())) for v in RELEASES)
    both = [path for path in before.paths() if path.endswith(".py") and after.read(path)]
    both.sort(key=lambda path: before.read(path) == after.read(path))
    made: list[dict[str, bytes]] = []
    rest = iter(both)
    for number in range(count):
        if number % 3 == 2:
            path = f"megatron/core/branches/own_{number}.py"
            made.append({path: f"NUMBER = {number}\n".encode()})
            continue
        for path in rest:
            texts = ((tree.read(path) or b"").decode() for tree in (before, after))
            text = change(number, *texts)
            if text is not None:
                made.append({path: text.encode()})
                break
    if len(made) != count:
        sys.exit(f"error: the releases have files for {len(made)} branches, not {count}")
    return made


def branch(number: int) -> str:
    return f"branch-{number + 1:03}"


def series(stack: Sequence[tuple[int, ...]]) -> str:
    """The SERIES.md of a stack."""
    rows, sections = [], []
    for number, on in enumerate(stack):
        listed = ", ".join(f"#{below + 1}" for below in on) or "main"
        title = f"Change part {number + 1}"
        rows.append(f"| #{number + 1} | `{branch(number)}` | {listed} | {title} | open |\n")
        sections.append(f"\n## #{number + 1} {title}\n\nBrings: part {number + 1}\n")
    head = "# Series\n\n| PR | Branch | Depends on | Title | State |\n|---|---|---|---|---|\n"
    return head + "".join(rows) + "".join(sections)


def imported(stack: Sequence[tuple[int, ...]], made: Sequence[dict[str, bytes]], main: str) -> str:
    """The branches of a stack, as ``git fast-import`` reads them."""
    held: list[set[int]] = []
    stream: list[str] = []
    for number, on in enumerate(stack):
        first, *others = on or (None,)
        held.append({number}.union(*(held[below] for below in on)))
        start = main if first is None else f":{first + 1}"
        stream += [
            f"commit refs/heads/{branch(number)}\nmark :{number + 1}\n",
            f"committer Bench <bench@example.org> {1_700_000_000 + number} +0000\n",
            _data(f"Change part {number + 1}\n"),
            f"from {start}\n",
            *(f"merge :{other + 1}\n" for other in others),
        ]
        there = set() if first is None else held[first]
        for member in sorted(held[number] - there):
            for path, text in made[member].items():
                stream += [f"M 100644 inline {path}\n", _data(text.decode())]
    return "".join(stream)


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"
