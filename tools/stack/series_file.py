"""Reads SERIES.md: one table of the stack and a section for each PR.

The format is Markdown that reads well on the web::

    | PR | Branch | Depends on | Title | State |
    |---|---|---|---|---|
    | #8045 | `expert-offsets` | #6258 | Name experts by the model's layout | open |

    ## #8045 Name experts by the model's layout

    Brings: the integer expert offsets

    ### Why
    ### What
    ### Tests
    ### Compatibility
    ### Commits

A PR without ``Commits`` is a branch that people write by hand; its section may hold anything.
"""

import graphlib
import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import get_args

import git
from markdown_it.tree import SyntaxTreeNode

from stack.errors import Refusal
from stack.model import PullRequest, Series, SeriesCommit, State
from stack.series_commits import read_commits
from stack.series_source import Source, code_spans, is_heading, line_of, span, written

_COLUMNS = ["PR", "Branch", "Depends on", "Title", "State"]
_TEXTS = ("Why", "What", "Tests", "Compatibility")
_LONGEST_SHOWN = 40

# Git takes every such name; of any other it is asked, a process each.
_PLAIN_BRANCH = re.compile(r"(?!HEAD$)\w+(?:[-/]\w+)*", re.ASCII)
_STATES: dict[str, State] = {state: state for state in get_args(State)}


@dataclass(frozen=True, slots=True)
class _Row:
    number: int
    branch: str
    depends_on: tuple[int, ...]
    title: str
    state: State
    line: int


@dataclass(frozen=True, slots=True)
class _Section:
    heading: SyntaxTreeNode
    content: tuple[SyntaxTreeNode, ...]
    end: int  # the line after its last, from 0


def read_series(path: Path) -> Series:
    """Read a series from its file.

    Raises:
        Refusal: The file cannot be read or declares no sound stack.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise Refusal(
            f"{path}: no such file; go to the folder that holds it or name it with --series"
        ) from error
    except OSError as error:
        raise Refusal(f"{path}: cannot be read: {error.strerror}; name a readable file") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise Refusal(f"{path}:{line}: not UTF-8; save the file as UTF-8") from error
    return parse_series(text, str(path))


def parse_series(text: str, name: str) -> Series:
    """Read a series from its text.

    Args:
        text: Content of SERIES.md.
        name: The file as errors name it.

    Raises:
        Refusal: The text declares no sound stack; the message names the line.
    """
    source = Source.parse(text, name)
    rows = _read_table(source)
    sections = _read_sections(source, rows)
    _check_branches(source, rows.values())
    order = _topological_order(source, rows)
    pull_requests = {number: _pull_request(source, rows[number], sections) for number in rows}
    _check_added_once(source, pull_requests.values())
    return Series({number: pull_requests[number] for number in order})


# The table


def _read_table(source: Source) -> dict[int, _Row]:
    tables = [node for node in source.nodes if node.type == "table"]
    found = [node for node in tables if _cells(node.children[0].children[0]) == _COLUMNS]
    if not found:
        line = line_of(tables[0]) if tables else 1
        raise source.refusal(line, f"no table of the stack; its columns are {', '.join(_COLUMNS)}")
    if len(found) > 1:
        raise source.refusal(line_of(found[1]), "second table of the stack; join it to the first")
    rows: dict[int, _Row] = {}
    for node in (row for body in found[0].children[1:] for row in body.children):
        row = _read_row(source, node)
        if row.number in rows:
            raise source.refusal(
                row.line,
                f"#{row.number} has a row already (line {rows[row.number].line}); remove one",
            )
        rows[row.number] = row
    if not rows:
        raise source.refusal(line_of(found[0]), "table of the stack has no rows; add a PR")
    return rows


def _cells(row: SyntaxTreeNode) -> list[str]:
    return [written(cell) for cell in row.children]


def _read_row(source: Source, node: SyntaxTreeNode) -> _Row:
    line = line_of(node)
    number, _, depends_on, title, state = _cells(node)
    if not title:
        raise source.refusal(line, "title is empty; write the PR's title")
    if state not in _STATES:
        raise source.refusal(line, f"unknown state '{state}'; write one of {', '.join(_STATES)}")
    return _Row(
        number=_number(source, line, number),
        branch=_branch(source, line, node.children[1]),
        depends_on=_dependencies(source, line, depends_on),
        title=title,
        state=_STATES[state],
        line=line,
    )


def _number(source: Source, line: int, text: str) -> int:
    if not re.fullmatch(r"#[1-9][0-9]{0,8}", text, re.ASCII):
        shown = text if len(text) < _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
        raise source.refusal(line, f"'{shown}' is no PR number; write it like #8045")
    return int(text[1:])


def _dependencies(source: Source, line: int, text: str) -> tuple[int, ...]:
    if text == "main":
        return ()
    numbers = tuple(_number(source, line, part.strip()) for part in text.split(","))
    for place, number in enumerate(numbers):
        if number in numbers[:place]:
            raise source.refusal(line, f"dependency #{number} stands there twice; remove one")
    return numbers


def _branch(source: Source, line: int, cell: SyntaxTreeNode) -> str:
    names = code_spans(cell)
    if names is None or len(names) != 1:
        raise source.refusal(
            line, f"'{written(cell)}' is no branch; write one name in backticks, like `pg-ratchet`"
        )
    if _PLAIN_BRANCH.fullmatch(names[0]):
        return names[0]
    command = ["git", "check-ref-format", "--branch", names[0]]
    _, answer, _ = git.Git().execute(command, with_extended_output=True, with_exceptions=False)
    # git answers nothing, or with the branch that a name such as @{-1} stands for.
    if answer != names[0]:
        raise source.refusal(line, f"git takes no branch named `{names[0]}`; choose another name")
    return names[0]


# The sections


def _read_sections(source: Source, rows: dict[int, _Row]) -> dict[int, _Section]:
    starts = [place for place, node in enumerate(source.nodes) if is_heading(node, 1, 2)]
    sections: dict[int, _Section] = {}
    for start, end in pairwise([*starts, len(source.nodes)]):
        heading = source.nodes[start]
        if not is_heading(heading, 2) or not written(heading).startswith("#"):
            continue
        number = _check_heading(source, heading, rows, sections)
        sections[number] = _Section(
            heading=heading,
            content=source.nodes[start + 1 : end],
            end=span(source.nodes[end])[0] if end < len(source.nodes) else len(source.lines),
        )
    for row in rows.values():
        if row.number not in sections:
            raise source.refusal(
                row.line, f"#{row.number} has no section; add `## #{row.number} {row.title}`"
            )
    return sections


def _check_heading(
    source: Source,
    heading: SyntaxTreeNode,
    rows: dict[int, _Row],
    earlier: dict[int, _Section],
) -> int:
    line = line_of(heading)
    label, _, title = written(heading).partition(" ")
    number = _number(source, line, label)
    if number not in rows:
        raise source.refusal(line, f"#{number} has no row in the table; add one or remove this")
    if number in earlier:
        first = line_of(earlier[number].heading)
        raise source.refusal(line, f"#{number} has a section already (line {first}); remove one")
    row = rows[number]
    if title != row.title:
        raise source.refusal(
            line,
            f"title '{title}' is not the table's '{row.title}' (line {row.line}); make them equal",
        )
    return number


def _pull_request(source: Source, row: _Row, sections: dict[int, _Section]) -> PullRequest:
    section = sections[row.number]
    headings = [place for place, node in enumerate(section.content) if is_heading(node, 3)]
    preamble = section.content[: headings[0]] if headings else section.content
    texts: dict[str, str] = {}
    commits: tuple[SeriesCommit, ...] = ()
    parts: dict[str, SyntaxTreeNode] = {}
    for start, end in pairwise([*headings, len(section.content)]):
        heading = section.content[start]
        key = written(heading)
        if key in parts and key in {*_TEXTS, "Commits"}:
            raise source.refusal(
                line_of(heading),
                f"#{row.number} has {key} already (line {line_of(parts[key])}); join the two",
            )
        parts[key] = heading
        content = section.content[start + 1 : end]
        if key == "Commits":
            commits = read_commits(source, heading, content)
        elif key in _TEXTS:
            stop = span(section.content[end])[0] if end < len(section.content) else section.end
            texts[key] = source.between(span(heading)[1], stop)
    if commits:
        _check_carried(source, row.number, section, texts, parts)
    return PullRequest(
        number=row.number,
        branch=row.branch,
        depends_on=row.depends_on,
        title=row.title,
        state=row.state,
        brings=_brings(source, preamble, carried=bool(commits)) or row.title,
        texts=texts,
        commits=commits,
        line=row.line,
    )


def _check_carried(
    source: Source,
    number: int,
    section: _Section,
    texts: dict[str, str],
    parts: dict[str, SyntaxTreeNode],
) -> None:
    for key, heading in parts.items():
        if key not in {*_TEXTS, "Commits"}:
            raise source.refusal(
                line_of(heading),
                f"unknown heading '{key}'; a PR with commits has {', '.join(_TEXTS)} and Commits",
            )
    for key in _TEXTS:
        if not texts.get(key):
            line = line_of(parts.get(key, section.heading))
            raise source.refusal(line, f"#{number} has commits but no text for {key}; write it")


def _brings(source: Source, preamble: Sequence[SyntaxTreeNode], *, carried: bool) -> str:
    brings = ""
    for node in preamble:
        match = re.match(r"([A-Z][a-z]+):", written(node)) if node.type == "paragraph" else None
        if match is None:
            continue
        if match[1] != "Brings":
            if carried:
                raise source.refusal(
                    line_of(node), f"unknown key {match[1]}:; a section has Brings"
                )
            continue
        if brings:
            raise source.refusal(line_of(node), "second Brings: of the section; remove one")
        brings = written(node)[match.end() :].strip()
        if not brings:
            raise source.refusal(line_of(node), "Brings: is empty; say what a merge brings")
    return brings


# The stack as a whole


def _check_branches(source: Source, rows: Iterable[_Row]) -> None:
    seen: dict[str, _Row] = {}
    folders: dict[str, _Row] = {}
    for row in rows:
        if row.branch in seen:
            raise source.refusal(
                row.line,
                f"branch `{row.branch}` belongs to #{seen[row.branch].number} already "
                f"(line {seen[row.branch].line}); choose another name",
            )
        # git keeps a ref as a file, so a branch cannot also be the folder of another.
        above = [str(folder) for folder in PurePosixPath(row.branch).parents]
        clashes = [folders.get(row.branch), *(seen.get(folder) for folder in above)]
        for other in clashes:
            if other is not None:
                raise source.refusal(
                    row.line,
                    f"git cannot hold branch `{row.branch}` beside `{other.branch}` "
                    f"(line {other.line}); choose another name",
                )
        seen[row.branch] = row
        for folder in above:
            folders.setdefault(folder, row)


def _topological_order(source: Source, rows: dict[int, _Row]) -> list[int]:
    """The PRs with dependencies first, otherwise as declared."""
    for row in rows.values():
        for number in row.depends_on:
            if number not in rows:
                raise source.refusal(
                    row.line,
                    f"#{row.number} depends on #{number}, which has no row; add one or write main",
                )
    sorter = graphlib.TopologicalSorter({row.number: row.depends_on for row in rows.values()})
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        raise _cycle(source, rows, error.args[1]) from error
    place = {number: index for index, number in enumerate(rows)}
    declared = list(rows)
    order: list[int] = []
    ready: list[int] = []
    while sorter.is_active():
        for number in sorter.get_ready():
            heapq.heappush(ready, place[number])
        order.append(declared[heapq.heappop(ready)])
        sorter.done(order[-1])
    return order


def _cycle(source: Source, rows: dict[int, _Row], closed: list[int]) -> Refusal:
    # graphlib gives a dependency before its dependent, and the first member again at the end.
    members = closed[:0:-1]
    first = members.index(min(members, key=lambda number: rows[number].line))
    members = members[first:] + members[:first]
    path = " -> ".join(f"#{number}" for number in [*members, members[0]])
    return source.refusal(
        rows[members[0]].line, f"dependencies form a cycle: {path}; remove one of them"
    )


def _check_added_once(source: Source, pull_requests: Iterable[PullRequest]) -> None:
    seen: dict[str, tuple[PullRequest, int]] = {}
    for pull_request in pull_requests:
        for commit in pull_request.commits:
            for path in commit.adds:
                if path in seen:
                    other, number = seen[path]
                    raise source.refusal(
                        commit.line,
                        f"`{path}` is added by commit {number} of {other.name} already; "
                        "a later commit changes it by edits",
                    )
                seen[path] = (pull_request, commit.number)
