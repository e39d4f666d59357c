"""A difference, file by file and line by line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from unidiff.patch import Hunk as ParsedHunk
from unidiff.patch import PatchSet

from merge_series.review.patches import Patch
from merge_series.site.highlight import Highlighter, Line
from stack.git_answers import Sha, decode
from stack.repository import Repository

_LINK, _MODULE = "120000", "160000"
_KINDS = {_LINK: "symbolic link", _MODULE: "submodule"}
_BEGINS = re.compile(rb"^diff --git ", re.MULTILINE)  # no line of a hunk begins so
_HUNK = re.compile(rb"^@@ ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """One line of a hunk.

    Attributes:
        sign: ``+``, ``-``, or a space.
        old: Its number before; None if it is new.
        new: Its number now; None if it is gone.
        pieces: Its text, highlighted.
        is_open: Whether it is the file's last and has no line end.
    """

    sign: str
    old: int | None
    new: int | None
    pieces: Line
    is_open: bool


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that stand together.

    Attributes:
        where: What git says of the place, such as ``def label(count):``; may be empty.
        lines: The lines.
    """

    where: str
    lines: tuple[ChangedLine, ...]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file.

    Attributes:
        path: Its path; the old one if it is gone.
        notes: What happened to it besides its lines, such as ``new file`` or ``binary``.
        added: How many lines are new.
        removed: How many are gone.
        hunks: The lines that changed, with those around them.
    """

    path: str
    notes: tuple[str, ...]
    added: int
    removed: int
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    mode: str
    oid: Sha
    path: str

    @property
    def is_there(self) -> bool:
        return self.mode != "000000"

    @property
    def kind(self) -> str:
        return _KINDS.get(self.mode, "file")


def changed_files(
    repository: Repository, highlighter: Highlighter, patch: Patch
) -> tuple[ChangedFile, ...]:
    """Read a difference.

    Args:
        repository: The repository that holds both trees.
        highlighter: Highlights its files.
        patch: The difference.
    """
    if not patch.text:
        return ()
    starts = [found.start() for found in _BEGINS.finditer(patch.text)]
    sections = [
        patch.text[start:end]
        for start, end in zip(starts, [*starts[1:], len(patch.text)], strict=True)
    ]
    pairs = _pairs(repository, patch)
    return tuple(
        _file(highlighter, old, new, section)
        for (old, new), section in zip(pairs, sections, strict=True)
    )


def _pairs(repository: Repository, patch: Patch) -> Iterator[tuple[_Side, _Side]]:
    """Both sides of each file, in the order of the difference's text."""
    raw = repository.run(
        "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--ignore-submodules=none",
        "--find-renames", "-l7000", patch.old, patch.new,
    )  # fmt: skip
    fields = iter(decode(raw.stdout).split("\0")[:-1])
    for about in fields:
        old_mode, new_mode, old_oid, new_oid, status = about.removeprefix(":").split(" ")
        old_path = next(fields)
        new_path = next(fields) if status.startswith("R") else old_path
        old = _Side(old_mode, Sha(old_oid), old_path)
        new = _Side(new_mode, Sha(new_oid), new_path)
        if status == "T":  # git writes a file that became a link as one that went and one that came
            nothing = "0" * len(old_oid)
            yield old, _Side("000000", Sha(nothing), new_path)
            yield _Side("000000", Sha(nothing), old_path), new
        else:
            yield old, new


def _file(highlighter: Highlighter, old: _Side, new: _Side, section: bytes) -> ChangedFile:
    begin = _HUNK.search(section)
    hunks: list[ParsedHunk] = []
    if begin is not None:
        # Names in the header are quoted where git finds them odd; git's raw form has them as they
        # are, so the parser is given others.
        (parsed,) = PatchSet("--- a/old\n+++ b/new\n" + decode(section[begin.start() :]))
        hunks = list(parsed)
    header = section if begin is None else section[: begin.start()]
    return ChangedFile(
        path=new.path if new.is_there else old.path,
        notes=_notes(old, new, is_binary=b"\nBinary files " in header),
        added=sum(hunk.added for hunk in hunks),
        removed=sum(hunk.removed for hunk in hunks),
        hunks=tuple(_hunk(highlighter, old, new, hunk) for hunk in hunks),
    )


def _notes(old: _Side, new: _Side, *, is_binary: bool) -> tuple[str, ...]:
    notes = []
    if not old.is_there:
        notes.append(f"new {new.kind}")
    elif not new.is_there:
        notes.append(f"{old.kind} removed")
    else:
        if old.path != new.path:
            notes.append(f"renamed from {old.path}")
        if old.mode != new.mode:
            notes.append(f"mode {old.mode} is now {new.mode}")
    if is_binary:
        notes.append("binary, not shown")
    return tuple(notes)


def _hunk(highlighter: Highlighter, old: _Side, new: _Side, parsed: ParsedHunk) -> Hunk:
    lines: list[ChangedLine] = []
    for line in parsed:
        if line.line_type == "\\":  # "No newline at end of file" is said of the line before
            last = lines.pop()
            lines.append(ChangedLine(last.sign, last.old, last.new, last.pieces, is_open=True))
            continue
        text = line.value.removesuffix("\n")
        side, number = (old, line.source_line_no) if line.is_removed else (new, line.target_line_no)
        pieces: Line = (("", text),)
        if side.mode not in _KINDS and number is not None:
            pieces = highlighter.line(side.oid, side.path, number, text)
        lines.append(
            ChangedLine(
                line.line_type,
                line.source_line_no,
                line.target_line_no,
                pieces,
                is_open=False,
            )
        )
    return Hunk(parsed.section_header, tuple(lines))
