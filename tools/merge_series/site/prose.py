"""Markdown of SERIES.md as HTML: no HTML of its own, no picture, and headings below the page's."""

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from merge_series.site.shown import shown

_LOWEST = 6

# A picture would be fetched from wherever the text says; without the rule it stays a link.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def prose(text: str, below: int) -> Markup:
    """Render Markdown.

    Args:
        text: The Markdown.
        below: Level of the page's heading that the text stands under. The text's own headings
            follow it without a gap, however they were numbered.
    """
    tokens = _MARKDOWN.parse(shown(text))
    _renumber(tokens, below)
    for inline in (child for token in tokens for child in token.children or ()):
        if inline.type == "link_open":
            inline.attrSet("rel", "noopener noreferrer")
    for token in tokens:
        if token.type == "th_open":
            token.attrSet("scope", "col")
    # The renderer escapes all text, and html is off.
    return Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))  # noqa: S704 - see above


def _renumber(tokens: Sequence[Token], below: int) -> None:
    above: list[int] = []  # the text's levels that the current heading stands under
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1:])
            above = [*(other for other in above if other < level), level]
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(below + len(above), _LOWEST)}"
