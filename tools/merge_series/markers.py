"""Conflict markers that a merge brought into a branch and that are still there.

What an author wrote, such as a document that shows a conflict, is no fault: only lines count that a
merge has and none of its parents had.
"""

from collections.abc import Collection, Iterator

from merge_series.checks import Check
from stack.git_answers import Sha, decode
from stack.merging import CONFLICT_MARKER
from stack.repository import Repository

_SUBMODULE = "160000"


def check_markers(repository: Repository, branch: str, base: Sha, head: Sha) -> Check:
    """Check the files in which a branch differs from main.

    Args:
        repository: The fork.
        branch: The branch.
        base: The commit of main it stands on.
        head: Its head.
    """
    below = repository.entries(base)
    there = {
        path: _markers(repository, entry.oid)
        for path, entry in repository.entries(head).items()
        if entry != below.get(path) and entry.mode != _SUBMODULE
    }
    marked = [path for path, markers in there.items() if markers]
    brought = dict.fromkeys(
        path for path, markers in _brought(repository, base, head, marked) if markers & there[path]
    )
    found = f"conflict markers in {', '.join(sorted(brought))}" if brought else ""
    return Check(branch, "no conflict markers", found)


def _brought(
    repository: Repository, base: Sha, head: Sha, paths: Collection[str]
) -> Iterator[tuple[str, set[bytes]]]:
    """Of each merge that wrote one of the paths itself, the markers that no parent had there."""
    if not paths:
        return
    # -c leaves out what a merge has from one of its parents.
    answer = repository.run(
        "--literal-pathspecs", "log", "--merges", "--full-history", "-c", "--raw", "-z",
        "--no-abbrev", "--format=", head, f"^{base}", "--", *paths,
    )  # fmt: skip
    records = iter(decode(answer.stdout).split("\0"))
    for record in records:
        if record.startswith("::"):
            # A mode for each parent and the merge, then an id for each, then what changed.
            words = record.lstrip(":").split(" ")
            modes, ids = words[: len(words) // 2], words[len(words) // 2 : -1]
            path = next(records)
            *before, after = (
                _markers(repository, Sha(oid)) if mode not in {"000000", _SUBMODULE} else set()
                for mode, oid in zip(modes, ids, strict=True)
            )
            yield path, after.difference(*before)


def _markers(repository: Repository, oid: Sha) -> set[bytes]:
    return {found.group() for found in CONFLICT_MARKER.finditer(repository.read_blob(oid))}
