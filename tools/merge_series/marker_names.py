"""Conflict markers that name what a person knows: a branch with its PR, not the id of a commit."""

import re
from collections.abc import Mapping

from stack.git_answers import Sha, encode


def with_names(content: bytes, names: Mapping[Sha, tuple[str, str]]) -> bytes:
    """Rename the sides in the conflict markers of a merge.

    Only lines that the merge wrote have the whole id of a side as their label; a path may follow
    it, where the sides have the file at different ones. Every other byte stays as it is.

    Args:
        content: A file that a merge left in conflict.
        names: What to call each side, by its commit, and what to say after that.
    """
    ids = b"|".join(sha.encode() for sha in names)
    marker = re.compile(rb"^(<{7,} |>{7,} )(%b)(:[^\n]*?)?(?=\r?$)" % ids, re.MULTILINE)

    def named(found: re.Match[bytes]) -> bytes:
        name, more = names[Sha(found[2].decode())]
        return found[1] + encode(name) + (found[3] or b"") + (encode(f", {more}") if more else b"")

    return marker.sub(named, content)
