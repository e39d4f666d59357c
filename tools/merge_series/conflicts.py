"""What each side did to a path in conflict, in one sentence, from git's stages and kinds."""

import re
import shlex
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from merge_series.causes import Cause, Sides
from merge_series.text_merge import Hunk
from stack.git_answers import Entry
from stack.merging import BASE, OURS, SUBMODULE, THEIRS, Conflict

LEFT_OUT = "CONFLICT (left out)"  # a kind of conflict of this program's, in git's form
_SYMLINK = "120000"
_TYPES = {_SYMLINK: "a symbolic link", SUBMODULE: "a submodule"}
# A commit of a submodule that git found to hold what both sides have of it.
_HOLDS = re.compile(r"possible merge resolution exists:\s+([0-9a-f]{40,})")
_UNKNOWN = (
    "CONFLICT (submodule not initialized)",
    "CONFLICT (submodule history not available)",
)


def groups(conflicts: Sequence[Conflict]) -> dict[str, tuple[Conflict, ...]]:
    """Conflicts by path, each with those that git names together with it, such as a rename's ends.

    The path's own conflict comes first.
    """
    by_path = {conflict.path: conflict for conflict in conflicts}
    found = {}
    for conflict in conflicts:
        group, pending = {conflict.path: conflict}, [conflict]
        while pending:
            for _, paths in pending.pop().kinds:
                for path in paths:
                    if path in by_path and path not in group:
                        group[path] = by_path[path]
                        pending.append(by_path[path])
        found[conflict.path] = tuple(group.values())
    return found


def describe(group: Sequence[Conflict], sides: Sides, left: Collection[Hunk] | None) -> Cause:
    """What the branch and what is merged did to a path, as one sentence.

    Args:
        group: The conflict, followed by those that belong to it.
        sides: The branch and what is merged.
        left: The conflicts in a file of text that are not settled; None for all.
    """
    conflict = group[0]
    for kind, paths in conflict.kinds:
        about = kind.removeprefix("CONFLICT").strip(" ()")
        told = _told(about, paths, group, sides)
        if told:
            return Cause(told)
    if conflict.is_content and not conflict.driver:
        return sides.lines(conflict, left)
    if OURS in conflict.stages and THEIRS in conflict.stages:
        did = {stage: sides.did(stage, conflict.path) for stage in (OURS, THEIRS)}
        return sides.both(did, _both(conflict))
    return Cause(_by_one(conflict, sides))


def _told(kind: str, paths: Sequence[str], group: Sequence[Conflict], sides: Sides) -> str | None:
    """The sentence for a kind of conflict that is about more than one path's content."""
    one, other = _holder(group[0])
    told: str | None
    match kind, paths:
        case "rename/rename", (old, ours, theirs):
            told = (
                f"{sides.ended(OURS, old)} renamed {old} to {ours}, "
                f"{sides.ended(THEIRS, old)} renamed it to {theirs}"
            )
        case "rename/delete", (new, old):
            told = f"{sides.ended(one, old)} renamed {old} to {new}, "
            told += f"{sides.ended(other, old)} deleted it"
        case "directory rename suggested", (new, old):
            told = (
                f"{sides.did(one, old)} put {old} into a directory that "
                f"{sides.ended(other, str(PurePosixPath(old).parent))} renamed; it may belong at "
                f"{new}"
            )
        case "directory rename unclear split", (old,):
            told = (
                f"one side put files into {old}, which the other split into several directories: "
                f"{sides.did(OURS, old)}, {sides.did(THEIRS, old)}"
            )
        case "file/directory", (_, old):
            told = f"{sides.did(one, old)} has a file at {old}, {sides.did(other, old)} a directory"
        case "distinct modes", (path, *_):
            entries = {stage: e for c in group for stage, e in c.stages.items() if stage != BASE}
            what = [
                f"{sides.did(stage, path)} has {_type(e)}" for stage, e in sorted(entries.items())
            ]
            told = f"{', '.join(what)} at {path}"
        case "left out", _:
            told = (
                f"{sides.names[THEIRS]} lacks here what the PR seems to have brought; keep it in "
                "the branch, or let it go"
            )
        case "binary", (path, *_) if not group[0].driver:
            did = {stage: sides.did(stage, path) for stage in (OURS, THEIRS)}
            told = sides.both(did, "changed this binary file").told
        case _:
            told = None
    return told


def _by_one(conflict: Conflict, sides: Sides) -> str:
    one, other = _holder(conflict)
    if BASE in conflict.stages and len(conflict.stages) > 1:
        changed, ended = sides.did(one, conflict.path), sides.ended(other, conflict.path)
        return f"{changed} changed it, {ended} deleted it"
    if conflict.messages:
        return conflict.messages[0]
    return f"only {sides.did(one, conflict.path)} has it"


def _moved(conflict: Conflict) -> str:
    """What both sides did to a submodule, and the command by which a person settles it."""
    ours, theirs = conflict.stages[OURS].oid, conflict.stages[THEIRS].oid
    kinds = {kind for kind, _ in conflict.kinds}
    holds = _HOLDS.search("\n".join(conflict.messages))
    one, what = "COMMIT", "neither of which is on top of the other; COMMIT is one that holds both"
    if holds:
        one, what = holds[1], "and that commit holds both"
    elif not kinds.isdisjoint(_UNKNOWN):
        what = "and the submodule's history is not here, so COMMIT is what a person finds right"
    return (
        f"moved the submodule, to {ours[:12]} and to {theirs[:12]}: git update-index --cacheinfo "
        f"160000,{one},{shlex.quote(conflict.path)} in the worktree settles it, {what}"
    )


def _unmerged(conflict: Conflict) -> str:
    """Why a path's texts were not merged, and what a person can do about it."""
    sides = f"git checkout --ours (or --theirs) -- {shlex.quote(conflict.path)}"
    if conflict.driver == "binary":
        return (
            "and its attributes (-merge or binary) say that it is not merged as text; the worktree "
            f"has the branch's; {sides} takes a side"
        )
    return (
        f"and its attributes give it to the merge driver {conflict.driver}, which a sync does not "
        f"run; git checkout -m -- {shlex.quote(conflict.path)} runs it if it is configured; "
        f"{sides} takes a side"
    )


def _both(conflict: Conflict) -> str:
    """What both sides did to a path that both still have."""
    if conflict.modes == {SUBMODULE}:
        return _moved(conflict)
    if conflict.driver:
        return f"changed it, {_unmerged(conflict)}"
    ours, theirs = conflict.stages[OURS], conflict.stages[THEIRS]
    if ours.mode == theirs.mode == _SYMLINK:
        return "made it a symbolic link, to different targets"
    differing = [] if ours.oid == theirs.oid else ["content"]
    differing += [] if ours.mode == theirs.mode else [f"modes ({ours.mode}, {theirs.mode})"]
    what = "changed it, and have" if BASE in conflict.stages else "put a file here, with"
    return f"{what} different {' and '.join(differing)}"


def _holder(conflict: Conflict) -> tuple[int, int]:
    """The stage of the side that has the path, and that of the one that has not.

    Where that tells nothing, the branch comes first.
    """
    is_theirs = THEIRS in conflict.stages and OURS not in conflict.stages
    return (THEIRS, OURS) if is_theirs else (OURS, THEIRS)


def _type(entry: Entry) -> str:
    return _TYPES.get(entry.mode, "a file")
