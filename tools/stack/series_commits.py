"""Reads the list under ``### Commits`` of a PR's section in SERIES.md."""

from collections.abc import Sequence

from markdown_it.tree import SyntaxTreeNode

from stack.model import SeriesCommit
from stack.series_source import Source, keyed_code_spans, line_of, span, written

LONGEST_SUBJECT = 72  # columns; git's own tools cut off or wrap what is longer

_KEYS = ("Adds", "Regenerates")

_OF_GIT = {".git", "git~1"}  # the second is its short name on some file systems


def read_commits(
    source: Source, heading: SyntaxTreeNode, content: Sequence[SyntaxTreeNode]
) -> tuple[SeriesCommit, ...]:
    """Read the commits of a PR.

    Args:
        source: The series.
        heading: ``### Commits``.
        content: The nodes under it.

    Raises:
        Refusal: Anything but one numbered list of well-formed commits stands there.
    """
    if len(content) != 1 or content[0].type != "ordered_list":
        odd = next((node for node in content if node.type != "ordered_list"), heading)
        odd = content[1] if odd is heading and content else odd
        raise source.refusal(
            line_of(odd), "under Commits stands one numbered list and nothing else; make it so"
        )
    return tuple(
        _read_commit(source, item, number)
        for number, item in enumerate(content[0].children, start=1)
    )


def _read_commit(source: Source, item: SyntaxTreeNode, number: int) -> SeriesCommit:
    line = line_of(item)
    if item.info != str(number):
        raise source.refusal(
            line, f"commit is numbered {item.info}, expected {number}; edits name commits by number"
        )
    subject = _read_subject(source, item, line)
    body: list[SyntaxTreeNode] = []
    paths: dict[str, tuple[str, ...]] = {}
    for node in item.children[1:]:
        keyed = keyed_code_spans(node)
        if keyed is not None and (keyed[0] in _KEYS or keyed[1] is not None):
            key, spans = keyed
            paths[key] = _read_paths(source, line_of(node), key, spans, paths)
        elif paths:
            raise source.refusal(
                line_of(node), f"text after {next(iter(paths))}:; move it above, into the body"
            )
        else:
            body.append(node)
    return SeriesCommit(
        number=number,
        subject=subject,
        body=_body_text(source, item, body),
        adds=paths.get("Adds", ()),
        regenerates=paths.get("Regenerates", ()),
        line=line,
    )


def _read_subject(source: Source, item: SyntaxTreeNode, line: int) -> str:
    pieces = [
        piece
        for first in item.children[:1]
        if first.type == "paragraph"
        for piece in first.children[0].children
        if piece.content or piece.type != "text"  # Markdown puts empty texts around bold ones
    ]
    if [piece.type for piece in pieces] != ["strong"]:
        raise source.refusal(
            line,
            f"commit {item.info} begins with no subject; write it alone and in bold, "
            "with an empty line after it",
        )
    mark = pieces[0].markup
    subject = written(item.children[0]).removeprefix(mark).removesuffix(mark)
    if len(subject) > LONGEST_SUBJECT:
        raise source.refusal(
            line,
            f"subject of commit {item.info} is {len(subject)} columns long; "
            f"shorten it to {LONGEST_SUBJECT}",
        )
    return subject


def _read_paths(
    source: Source,
    line: int,
    key: str,
    spans: tuple[str, ...] | None,
    earlier: dict[str, tuple[str, ...]],
) -> tuple[str, ...]:
    if key not in _KEYS:
        raise source.refusal(line, f"unknown key {key}:; a commit has {' and '.join(_KEYS)}")
    if key in earlier:
        raise source.refusal(line, f"second {key}: of the commit; join the two")
    if spans is None:
        raise source.refusal(
            line, f"{key}: is no list of paths; write {key}: `path`, `path` in its own paragraph"
        )
    for place, path in enumerate(spans):
        if path in spans[:place]:
            raise source.refusal(line, f"{key}: names `{path}` twice; remove one")
        if not {"", ".", ".."}.isdisjoint(path.split("/")):
            raise source.refusal(
                line, f"path `{path}` is not plain; write it from the root, with no `.` or `..`"
            )
        if any(part.casefold() in _OF_GIT for part in path.split("/")):
            raise source.refusal(line, f"path `{path}` lies in a git directory; choose another")
    return spans


def _body_text(source: Source, item: SyntaxTreeNode, body: Sequence[SyntaxTreeNode]) -> str:
    if not body:
        return ""
    # A list item's text is indented as far as its subject, or by one if that is on the next line.
    first = source.lines[span(item)[0]].rstrip() + " "
    indent = len(first) - len(first.lstrip(" 0123456789.)"))
    text = source.between(span(body[0])[0], span(body[-1])[1])
    return "\n".join(line[_cut(line, indent) :] for line in text.split("\n"))


def _cut(line: str, indent: int) -> int:
    # A continuation line of a paragraph may be indented less; it keeps its words.
    return min(indent, len(line) - len(line.lstrip(" ")))
