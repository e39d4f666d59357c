"""The form in which main has a PR that landed, compared with the PR merged into main.

Whoever merges a PR may change it, add to it or leave a part of it out. What that is, is the
difference between main's landing and the *merged PR*: its head merged into the commit before. So
the merged PR is the base of the one merge by which a branch takes main's form over, and nothing but
that difference can conflict there.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from merge_series.generated_files import FILE_MODES
from merge_series.hunks import Hunk, hunks_between
from merge_series.text_merge import lines_of
from stack.git_answers import Entry, Sha, decode
from stack.merging import Conflict, Merge, merge_trees
from stack.repository import Repository

# Head the lists of files in the message of the merge that takes a form over.
DIFFERS = "What differs is merged here:"
LEFT_OUT = "Main left out something that {name} brings:"

# Stands in the base for a file of which the merge that makes it says nothing: no side has this
# text, so whatever they do not have alike is a conflict.
_NOTHING = b"merge_series: the merge that is the base of another left this file in conflict\n"


@dataclass(frozen=True, slots=True)
class Form:
    """How main has a PR that landed.

    Attributes:
        merged: A commit that has the files of the merged PR.
        kept: A commit that has them without what main left out; None if that is nothing.
        differing: Files that main has otherwise.
        left_out: Those of them in which main lacks something that the PR brings.
        is_empty: Whether main has nothing of what the PR brings.
    """

    merged: Sha
    kept: Sha | None = None
    differing: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    is_empty: bool = False


def has_merged_files(
    repository: Repository, below: Sha, head: Sha, landing: Sha, generated: Collection[str]
) -> bool:
    """Whether a landing has the files of the merged PR, as for ``landed_form``."""
    merge = merge_trees(repository, below, head)
    answer = repository.run("diff-tree", "-r", "-z", "--name-only", merge.tree, landing)
    paths = {decode(path) for path in answer.stdout.split(b"\0") if path}
    return paths.union(c.path for c in merge.conflicts).issubset(generated)


def landed_form(
    repository: Repository, below: Sha, head: Sha, landing: Sha, generated: Collection[str]
) -> Form:
    """Compare a landing with the PR merged into main as it was before.

    Args:
        repository: The fork; objects are written to it.
        below: The commit of main before the landing.
        head: The head of the PR.
        landing: The last commit of the landing.
        generated: Files that are made again in any case, and so are not compared.
    """
    merge = merge_trees(repository, below, head)
    conflicts = {conflict.path for conflict in merge.conflicts}
    theirs, before = repository.entries(landing), repository.entries(below)
    tree = repository.change_tree(
        _as_base(repository, merge), {path: theirs.get(path) for path in generated}
    )
    merged = repository.entries(tree)
    differing = _differing(merged, theirs) | conflicts.difference(generated)
    brought = _differing(merged, before).difference(generated)
    whole = {path for path in differing & brought if theirs.get(path) == before.get(path)}
    without = {path: theirs.get(path) for path in whole - conflicts}
    for path in (differing & brought) - whole - conflicts:
        entry = _without_left_out(repository, *(s.get(path) for s in (merged, theirs, before)))
        without |= {} if entry is None else {path: entry}
    kept = repository.change_tree(tree, without)
    return Form(
        merged=repository.commit_nowhere(tree, ()),
        kept=repository.commit_nowhere(kept, ()) if without else None,
        differing=tuple(sorted(differing)),
        left_out=tuple(sorted(without.keys() | whole)),
        is_empty=bool(brought) and brought <= whole,
    )


def merge_of(repository: Repository, commits: Iterable[Sha]) -> Sha:
    """A commit that contains some and has their files merged, as the base of a merge.

    What conflicts there, no side of that merge may have alike.

    Args:
        repository: The fork; objects are written to it.
        commits: One commit or more.
    """
    one, *others = commits
    for other in others:
        tree = _as_base(repository, merge_trees(repository, one, other))
        one = repository.commit_nowhere(tree, (one, other))
    return one


def _as_base(repository: Repository, merge: Merge) -> Sha:
    open_files = [c.path for c in merge.conflicts if c.stages and not _has_markers(c)]
    if not open_files:
        return merge.tree
    nothing = Entry("100644", repository.write_blobs([_NOTHING])[0])
    return repository.change_tree(merge.tree, dict.fromkeys(open_files, nothing))


def _differing(one: Mapping[str, Entry], other: Mapping[str, Entry]) -> set[str]:
    return {path for path, _ in one.items() ^ other.items()}


def _has_markers(conflict: Conflict) -> bool:
    """Whether the merged tree holds the file with both sides between conflict markers.

    As a base that is true: whoever settled the conflict changed all of these lines.
    """
    return conflict.is_content and {kind for kind, _ in conflict.kinds} == {"CONFLICT (contents)"}


def _without_left_out(
    repository: Repository, merged: Entry | None, landed: Entry | None, before: Entry | None
) -> Entry | None:
    """A file of the merged PR without the lines that main left out of it.

    Returns:
        None where main left out none, or where these are no texts.
    """
    if merged is None or landed is None:
        return None
    before = before or Entry(merged.mode, repository.write_blobs([b""])[0])
    if not {merged.mode, landed.mode, before.mode} <= FILE_MODES:
        return None
    lines, new, was = (lines_of(repository.read_blob(e.oid)) for e in (merged, landed, before))
    brought = hunks_between(repository, merged.oid, before.oid)
    left_out = [
        hunk
        for hunk in hunks_between(repository, merged.oid, landed.oid)
        if any(_is_undone(hunk, new[hunk.new], part, was[part.new]) for part in brought)
    ]
    if not left_out:
        return None
    for hunk in reversed(left_out):
        lines[hunk.old] = new[hunk.new]
    (oid,) = repository.write_blobs([b"".join(lines)])
    return Entry(merged.mode, oid)


def _is_undone(hunk: Hunk, new: list[bytes], part: Hunk, was: list[bytes]) -> bool:
    """Whether a change of main's lies in one of the PR's, and has only lines that were there."""
    rest = iter(was)
    is_inside = part.old.start <= hunk.old.start and hunk.old.stop <= part.old.stop
    return is_inside and all(line in rest for line in new)
