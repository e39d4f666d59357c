"""A PR under another number: its row, and the edits that name it. Branches and history stay."""

import re
from pathlib import Path

from carry.carried import Carrier
from merge_series.declared import Rewrite
from stack.errors import Refusal
from stack.series_edit import with_number


def renumbered(carrier: Carrier, old: int, new: int) -> tuple[Rewrite, ...]:
    """What changes where a PR has another number: edit files first, SERIES.md last.

    Args:
        carrier: The series and its edits.
        old: The number that SERIES.md has.
        new: The number that the PR has on its hosting.

    Raises:
        Refusal: SERIES.md has no such PR, or has the other already, or a file cannot be changed
            safely.
    """
    before = carrier.path.read_bytes()
    after = with_number(before, str(carrier.path), old, new)
    edits = [
        _renumbered(carrier.root / edit_file.source, old, new, count)
        for edit_file in carrier.edit_files.values()
        if (count := sum(edit.pr == old for edit in edit_file.edits))
    ]
    return (*edits, Rewrite(carrier.path, before, after))


def _renumbered(path: Path, old: int, new: int, count: int) -> Rewrite:
    before = path.read_bytes()
    key = re.compile(rb"^([ -]*pr:[ ]*)%d(?=[ ]*(?:#.*)?\r?$)" % old, re.MULTILINE)
    after, found = key.subn(rb"\g<1>%d" % new, before)
    if found != count:
        raise Refusal(
            f"{path}: {count} edits are of #{old}, and 'pr: {old}' stands on {found} lines of its "
            "own; write each there, then run again"
        )
    return Rewrite(path, before, after)
