"""Changes SERIES.md in place: single cells of its table, a row and a section more, nothing else."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stack.errors import Refusal
from stack.model import PullRequest, Series, State
from stack.series_file import parse_series
from stack.series_source import Source, is_heading, span, written

_DEPENDS_ON, _STATE = 2, 4  # columns of the table, from 0
_BAR = re.compile(rb"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class NewPullRequest:
    """A PR that is to be declared.

    Attributes:
        number: Its number.
        branch: Its branch.
        depends_on: Numbers of the PRs it depends on; empty for main alone.
        title: Its title.
        brings: What a merge of it brings; empty if the title says so.
        text: Markdown of its section, after ``Brings:``.
    """

    number: int
    branch: str
    depends_on: tuple[int, ...]
    title: str
    brings: str
    text: str


def with_state(data: bytes, name: str, numbers: Sequence[int], state: State) -> bytes:
    """SERIES.md with another state in the rows of some PRs; every other byte stays.

    Args:
        data: The file.
        name: The file as errors name it.
        numbers: The PRs.
        state: Their new state.

    Raises:
        Refusal: The file declares no sound stack, or not these PRs.
    """
    series = _parse(data, name)
    expected = {
        **series.pull_requests,
        **{n: replace(_known(series, name, n), state=state) for n in numbers},
    }
    return _edited(data, name, expected, _STATE, dict.fromkeys(numbers, str(state)))


def with_dependencies(data: bytes, name: str, dependencies: Mapping[int, tuple[int, ...]]) -> bytes:
    """SERIES.md with other dependencies in the rows of some PRs; every other byte stays.

    Args:
        data: The file.
        name: The file as errors name it.
        dependencies: New dependencies by PR number; empty for main alone.

    Raises:
        Refusal: The file declares no sound stack, or would not with these.
    """
    series = _parse(data, name)
    expected = {
        **series.pull_requests,
        **{n: replace(_known(series, name, n), depends_on=on) for n, on in dependencies.items()},
    }
    texts = {number: _listed(on) for number, on in dependencies.items()}
    return _edited(data, name, expected, _DEPENDS_ON, texts)


def with_number(data: bytes, name: str, old: int, new: int) -> bytes:
    """SERIES.md with another number of a PR: in its row, its heading, and what depends on it.

    Args:
        data: The file.
        name: The file as errors name it.
        old: The number that it has.
        new: The number that it gets.

    Raises:
        Refusal: The file declares no sound stack, or not the one PR, or has the other already.
    """
    series = _parse(data, name)
    moved = _known(series, name, old)
    if new in series.pull_requests:
        line = series.pull_requests[new].line
        raise Refusal(f"{name}:{line}: there is a #{new} already; #{old} cannot become it")
    numbers = {n: n for n in series.pull_requests} | {old: new}
    expected = {
        numbers[n]: replace(
            pr, number=numbers[n], depends_on=tuple(numbers[on] for on in pr.depends_on)
        )
        for n, pr in series.pull_requests.items()
    }
    nodes = Source.parse(data.decode("utf-8-sig"), name).nodes
    called = re.compile(rf"#{old}(?![0-9])")
    headings = [n for n in nodes if is_heading(n, 2) and called.match(written(n))]
    lines = data.splitlines(keepends=True)
    for place in (moved.line - 1, *(span(node)[0] for node in headings)):
        lines[place] = re.sub(rb"#%d(?![0-9])" % old, b"#%d" % new, lines[place], count=1)
    dependents = {n: pr.depends_on for n, pr in expected.items() if new in pr.depends_on}
    texts = {number: _listed(on) for number, on in dependents.items()}
    return _edited(b"".join(lines), name, expected, _DEPENDS_ON, texts)


def row(new: NewPullRequest) -> str:
    """The row of a PR in the table."""
    title = new.title.replace("|", "\\|")
    return f"| #{new.number} | `{new.branch}` | {_listed(new.depends_on)} | {title} | open |"


def heading(new: NewPullRequest) -> str:
    """The heading of a PR's section."""
    return f"## #{new.number} {new.title}"


def with_pull_request(data: bytes, name: str, new: NewPullRequest) -> bytes:
    """SERIES.md with a row more below its table and a section more below those of the PRs.

    Raises:
        Refusal: The file declares no sound stack, or would not with this PR.
    """
    series = _parse(data, name)
    last = max(pull_request.line for pull_request in series)
    lines = data.splitlines(keepends=True)
    end = b"\r\n" if lines[last - 1].endswith(b"\r\n") else b"\n"
    brings = f"Brings: {new.brings}\n\n" if new.brings else ""
    section = f"{heading(new)}\n\n{brings}{new.text.strip()}\n"
    lines.insert(last, row(new).encode() + end)
    place = _end_of_sections(b"".join(lines), name)
    above, below = b"".join(lines[:place]), b"".join(lines[place:] if place else [])
    text = above.rstrip(b"\r\n") + end * 2 + section.encode().replace(b"\n", end)
    text += end + below if below else b""
    _check_added(series, _parse(text, name), name, new)
    return text


def _end_of_sections(data: bytes, name: str) -> int | None:
    """The line, from 0, of what stands below the last PR's section; None if nothing does."""
    nodes = Source.parse(data.decode("utf-8-sig"), name).nodes
    headings = [node for node in nodes if is_heading(node, 1, 2)]
    sections = [index for index, node in enumerate(headings) if written(node).startswith("#")]
    below = headings[sections[-1] + 1 :] if sections else []
    return span(below[0])[0] if below else None


def _check_added(before: Series, after: Series, name: str, new: NewPullRequest) -> None:
    made = after.pull_requests.get(new.number)
    said = None if made is None else (made.branch, made.depends_on, made.title, made.state)
    old = {n: _placeless(pr) for n, pr in before.pull_requests.items()}
    kept = {n: _placeless(pr) for n, pr in after.pull_requests.items() if n != new.number}
    if said != (new.branch, new.depends_on, new.title, "open") or old != kept:
        raise Refusal(
            f"{name}: a row for #{new.number} would not read as '{new.title}' on branch "
            f"{new.branch}; choose plain text, or add the row and its section by hand"
        )


def _placeless(pull_request: PullRequest) -> PullRequest:
    commits = tuple(replace(commit, line=0) for commit in pull_request.commits)
    return replace(pull_request, line=0, commits=commits)


def _parse(data: bytes, name: str) -> Series:
    return parse_series(data.decode("utf-8-sig"), name)


def _known(series: Series, name: str, number: int) -> PullRequest:
    if number not in series.pull_requests:
        raise Refusal(f"{name}: has no row for #{number}; add one")
    return series.pull_requests[number]


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(f"#{number}" for number in numbers) or "main"


def _edited(
    data: bytes, name: str, expected: dict[int, PullRequest], column: int, texts: Mapping[int, str]
) -> bytes:
    """The file with one column's cell replaced in the rows of some PRs."""
    lines = data.splitlines(keepends=True)
    for number, text in texts.items():
        place = expected[number].line - 1
        start, end = _cell(lines[place], column)
        lines[place] = lines[place][:start] + text.encode() + lines[place][end:]
    result = b"".join(lines)
    if _parse(result, name).pull_requests != expected:
        rows = ", ".join(f"#{number}" for number in texts)
        raise Refusal(f"{name}: the row of {rows} cannot be changed safely; change it by hand")
    return result


def _cell(line: bytes, column: int) -> tuple[int, int]:
    """Where the text of a cell begins and ends in its row."""
    text = line.rstrip()
    edges = [found.start() for found in _BAR.finditer(text)]
    if not text.lstrip().startswith(b"|"):  # both outer bars may be left out
        edges.insert(0, -1)
    edges.append(len(text))
    start, end = edges[column] + 1, edges[column + 1]
    cell = text[start:end]
    return start + len(cell) - len(cell.lstrip()), end - len(cell) + len(cell.rstrip())
