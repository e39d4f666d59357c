"""The documents of this repository, and what stands in them as code."""

import re
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCUMENTS = tuple(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "tools/**/*.md")
    for path in sorted(ROOT.glob(pattern))
)


@cache
def tokens(text):
    """The tokens of a text in Markdown, those of its lines included."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        found += (token, *(token.children or ()))
    return found


def code_lines(text):
    """The lines of the code blocks of a text, and its code spans; lines that go on are one."""
    for token in tokens(text):
        if token.type in {"fence", "code_block", "code_inline"}:
            yield from re.sub(r"\\\n\s*", "", token.content).splitlines()


def typed_lines(text):
    """The lines of shell that a text shows as typed, without their comments."""
    for line in code_lines(text):
        if line.startswith("$ "):
            yield line.removeprefix("$ ").partition(" # ")[0]
