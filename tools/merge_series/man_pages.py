"""Writes the manual pages of the tools: ``python -m merge_series.man_pages FOLDER``."""

import sys
from pathlib import Path

from carry.cli import carry
from merge_series.cli import merge_series
from stack.man_page import man_page


def man_pages() -> dict[str, str]:
    """The pages by the names of their files."""
    return {
        "merge_series.1": man_page(merge_series, "merge_series", "carry(1)", "git(1)", "gh(1)"),
        "carry.1": man_page(carry, "carry", "merge_series(1)", "git(1)", "pip(1)"),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in man_pages().items():
        (folder / name).write_text(text, encoding="utf-8")
