"""Review links as people and GitHub write them: which commit, which file, which lines."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import unquote

from stack.errors import Refusal
from stack.git_answers import encode

Side = Literal["new", "old"]

_NO_PATH = "names no file of a repository"
_LONGEST_PATH = 4096  # in bytes, as Linux takes it

_SHA = r"(?P<sha>[0-9a-fA-F]{7,64})"
_NUMBER = "[1-9][0-9]{0,8}"
_FRAGMENT = r"(?:#(?P<fragment>.*))?"
_COMMIT = re.compile(rf"/commit/{_SHA}{_FRAGMENT}")
_BLOB = re.compile(rf"/blob/{_SHA}/(?P<path>[^?#]+)(?:\?[^#]*)?{_FRAGMENT}")
_PR_COMMIT = re.compile(rf"/pull/(?P<pr>{_NUMBER})/(?:commits|changes)/{_SHA}{_FRAGMENT}")
_PR_FILES = re.compile(
    rf"/pull/(?P<pr>{_NUMBER})/(?:files|changes)/"
    rf"(?:(?P<old>[0-9a-fA-F]{{7,64}})\.\.)?{_SHA}{_FRAGMENT}"
)
_FORMS = (_COMMIT, _BLOB, _PR_COMMIT, _PR_FILES)
_URL = re.compile(r"https?://[^\s<>\"'`]+")
_DIFF = re.compile(
    r"diff-(?P<hash>[0-9a-f]{64})"
    rf"(?:(?P<side>[LR])(?P<first>{_NUMBER})(?:-(?P=side)(?P<last>{_NUMBER}))?)?"
)
_LINES = re.compile(rf"L(?P<first>{_NUMBER})(?:C\d+)?(?:-L(?P<last>{_NUMBER})(?:C\d+)?)?")


@dataclass(frozen=True, slots=True)
class Link:
    """One review link.

    Attributes:
        where: Where it stands in the input: ``line 3``, or ``comment 3`` of an export.
        text: The link as it was given.
        pr: Number of the PR it names; None if it names none.
        sha: The commit it names, perhaps shortened.
        old: What the commit was compared with: a commit, ``parent``, or ``base`` for all that the
            PR has below it.
        path: The file; None if it is named by ``path_hash``, or if there is none.
        path_hash: SHA-256 of the file's path, as GitHub's links into a diff have it.
        first: First line, from 1; None if the link names no lines.
        last: Last line.
        side: Whether the lines are those of the commit, or of what it was compared with.
    """

    where: str
    text: str
    pr: int | None
    sha: str
    old: str = "parent"
    path: str | None = None
    path_hash: str | None = None
    first: int | None = None
    last: int | None = None
    side: Side = "new"


@dataclass(frozen=True, slots=True)
class Unread:
    """Something in the input that is no link of a known form."""

    where: str
    text: str
    why: str


def read_links(text: str, name: str) -> tuple[Link | Unread, ...]:
    """Read links from text, one or more a line, or from an export of review comments.

    Args:
        text: Lines with links, or JSON as GitHub's ``pulls/N/comments`` answers it, pages one
            after the other or in a list.
        name: The input as errors name it.

    Raises:
        Refusal: It begins like JSON and is none, or it is empty.
    """
    if text.lstrip()[:1] in {"[", "{"}:
        return tuple(_read_comments(text, name))
    links = tuple(_read_lines(text))
    if not links:
        raise Refusal(f"{name}: holds no link; write one a line")
    return links


def _read_lines(text: str) -> Iterator[Link | Unread]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words:
            continue
        urls = [_without_punctuation(url) for url in _URL.findall(words)] or [words]
        for url in urls:
            yield _read_link(f"line {number}", url)


def _without_punctuation(url: str) -> str:
    url = url.rstrip(".,;:!?*")
    # A link in Markdown or in brackets ends before the bracket.
    return url[:-1] if url.endswith(")") and url.count("(") < url.count(")") else url


def _read_link(where: str, text: str) -> Link | Unread:
    for form in _FORMS:
        match = form.search(text)
        if match is not None and match.end() == len(text):
            return _link(where, text, form, match.groupdict())
    if "/blob/" in text:
        return Unread(where, text, "names a branch, which moves, and no commit")
    if re.search(r"/pull/\d+", text):
        return Unread(where, text, "names a pull request, but no commit of it")
    return Unread(where, text, "no link to a commit, a file at a commit, or a diff")


def _link(
    where: str, text: str, form: re.Pattern[str], found: dict[str, str | None]
) -> Link | Unread:
    number, path, fragment = found.get("pr"), found.get("path"), found["fragment"]
    if path is not None:
        path = unquote(path, errors="surrogateescape")
        if not _is_path(path):
            return Unread(where, text, _NO_PATH)
    link = Link(
        where,
        text,
        pr=None if number is None else int(number),
        sha=str(found["sha"]).lower(),
        old=found.get("old") or ("base" if form is _PR_FILES else "parent"),
        path=path,
    )
    if not fragment:
        return link
    match = (_DIFF if path is None else _LINES).fullmatch(fragment)
    if match is None:
        return Unread(where, text, f"#{fragment} names no lines, or lines of both sides")
    place = match.groupdict()
    link = replace(link, path_hash=place.get("hash"))
    if place["first"] is None:
        return link
    ends = sorted((int(place["first"]), int(place["last"] or place["first"])))
    side: Side = "old" if place.get("side") == "L" else "new"
    return replace(link, first=ends[0], last=ends[1], side=side)


def _read_comments(text: str, name: str) -> Iterator[Link | Unread]:
    for number, comment in enumerate(_comments(text, name), 1):
        yield _read_comment(f"comment {number}", comment)


def _comments(text: str, name: str) -> Iterator[object]:
    decoder, place = json.JSONDecoder(), 0
    text = text.rstrip()
    while place < len(text):
        place += len(text[place:]) - len(text[place:].lstrip())
        try:
            page, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:  # it reads no number of thousands of digits
            line = text.count("\n", 0, getattr(error, "pos", place)) + 1
            said = getattr(error, "msg", error)
            raise Refusal(
                f"{name}:{line}: not JSON: {said}; give links line by line, or what "
                "gh api repos/OWNER/REPO/pulls/N/comments answers"
            ) from error
        yield from _flat(page)


def _flat(page: object) -> Iterator[object]:
    if isinstance(page, list):
        for item in page:
            yield from _flat(item)
    else:
        yield page


def _read_comment(where: str, comment: object) -> Link | Unread:
    if not isinstance(comment, dict):
        return Unread(where, json.dumps(comment)[:60], "no review comment")
    url = str(comment.get("html_url") or "")
    # Where it was written counts: GitHub moves `line` along with later commits, or drops it.
    was = "" if comment.get("original_line") is None and comment.get("line") else "original_"
    sha = comment.get(f"{was}commit_id") or comment.get("commit_id")
    path = comment.get("path")
    pr = re.search(rf"/pull/({_NUMBER})(?!\d)", url)
    if (
        pr is None
        or not isinstance(sha, str)
        or not re.fullmatch(_SHA, sha)
        or not isinstance(path, str)
    ):
        return Unread(where, url, "a review comment has html_url, commit_id and path")
    if not _is_path(path):
        return Unread(where, url, _NO_PATH)
    side: Side = "old" if comment.get("side") == "LEFT" else "new"
    link = Link(where, url, int(pr[1]), sha.lower(), old="base", path=path, side=side)
    last, first = comment.get(f"{was}line"), comment.get(f"{was}start_line")
    if last is None:
        return link
    ends = [last] if first is None else [first, last]
    if not all(type(end) is int and end > 0 for end in ends):
        return Unread(where, url, f"a line is a number from 1, not {json.dumps(ends)[:60]}")
    return replace(link, first=min(ends), last=max(ends))


def _is_path(path: str) -> bool:
    """Whether git could have a file of that path; of others it says that they are outside."""
    try:
        name = encode(path)
    except UnicodeEncodeError:
        return False
    parts = name.split(b"/")
    return len(name) <= _LONGEST_PATH and b"\0" not in name and not {b"", b".", b".."} & {*parts}
