"""Conflict markers that name what a person knows: a branch with its PR, not the id of a commit."""

import re
from collections.abc import Mapping

from stack.git_answers import Sha


def with_names(content: bytes, names: Mapping[Sha, str]) -> bytes:
    """Rename the sides in the conflict markers of a merge.

    Only lines that the merge wrote have the whole id of a side as their label; a path may follow
    it, where the sides have the file at different ones. Every other byte stays as it is.

    Args:
        content: A file that a merge left in conflict.
        names: What to call each side, by its commit.
    """
    ids = b"|".join(sha.encode() for sha in names)
    marker = re.compile(rb"^(<{7,} |>{7,} )(%b)(?=:|\r?$)" % ids, re.MULTILINE)
    return marker.sub(
        lambda found: found[1] + names[Sha(found[2].decode())].encode("utf-8"), content
    )
