"""Short ways to write an edit file and to apply it."""

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from textwrap import dedent

import pytest

from carry.edits import Applied, EditFile, EditMismatch, apply_layers, parse_edit_file


def edit_file_of(edits: str) -> EditFile:
    """An edit file whose edits belong to commit 1 of PR 1 unless they say otherwise."""
    entries = []
    for entry in re.split(r"\n\n(?=\S)", dedent(edits).strip()):
        lines = entry.split("\n")
        if not any(line.startswith("commit:") for line in lines):
            lines.insert(0, "commit: 1")
        if not any(line.startswith("pr:") for line in lines):
            lines.insert(0, "pr: 1")
        entries.append("- " + "\n  ".join(lines))
    return parse_edit_file(PurePosixPath("megatron/x.edits.yml"), "edits:\n" + "\n".join(entries))


def apply_to(edits: str, source: str) -> Applied:
    edit_file = edit_file_of(edits)
    return apply_layers(edit_file, source.encode(), sorted(edit_file.layers))


@pytest.fixture
def edit_file() -> Callable[[str], EditFile]:
    return edit_file_of


@pytest.fixture
def edited() -> Callable[[str, str], str]:
    """Applies edits to a source, checks that a second time changes nothing, and gives the text."""

    def edited(edits: str, source: str) -> str:
        text = apply_to(edits, dedent(source)).text.decode()
        again = apply_to(edits, text)
        assert again.text.decode() == text
        assert {result.state for result in again.results} == {"already applied"}
        return text

    return edited


@pytest.fixture
def refused() -> Callable[[str, str], list[str]]:
    """State and detail of each edit that does not land, after its place."""

    def refused(edits: str, source: str) -> list[str]:
        with pytest.raises(EditMismatch) as error:
            apply_to(edits, dedent(source))
        return [
            f"{one.state} {one.found}/{one.wanted}: {one.detail}" for one in error.value.failing
        ]

    return refused
