"""How two texts of a file differ, as people read it."""

import difflib


def unified_diff(name: str, before: str, after: str) -> str:
    """What changes in a file, as ``diff -u`` writes it; empty where no line does.

    Args:
        name: The file.
        before: Its text before.
        after: Its text after.
    """
    old, new = before.splitlines(), after.splitlines()
    return "\n".join(difflib.unified_diff(old, new, name, name, lineterm="", n=1))
