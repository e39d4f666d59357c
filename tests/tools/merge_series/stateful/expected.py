"""What a run of many examples comes to meet, or it no longer tests what it is to test."""

from collections.abc import Mapping

ENOUGH = 1000  # examples; some of this is rare

EXPECTED = (
    "aborted", "absorbed a landing", "branches above a fold", "branches deleted", "brought again",
    "changed where it is checked out", "checked out", "commits", "dependencies added",
    "dropped a dependency", "dry runs", "dry runs of fold", "dry runs of push",
    "dry runs of stack", "files settled by a person", "folded", "folds in step",
    "folds that are git's own merge", "kept, though main reverts it", "killed",
    "killed after a fold", "killed after a stack", "killed after it moved branches",
    "killed, and worktrees followed", "landed by a merge", "landed by a rebase",
    "landed by a rebase, named", "landed by a squash", "landed edited", "landed in part",
    "landed older", "let go with a revert", "not to be landed", "nothing to push",
    "nothing to sync", "offered again", "pushed", "rebased under others",
    "redo of what made or dropped a branch", "redone", "refused: a branch moved",
    "refused: a change where it is checked out", "refused: a dependency dropped",
    "refused: a read", "refused: checked out", "refused: fold, a circle",
    "refused: fold, a person", "refused: fold, checked out", "refused: fold, not in step",
    "refused: none waits", "refused: one waits", "refused: push, a hook",
    "refused: push, behind the remote", "refused: redo", "refused: renamed by half",
    "refused: stack, a person", "refused: to add markers", "refused: to commit elsewhere",
    "refused: to leave", "refused: undo", "refused: undo, checked out", "refused: undo, pushed",
    "renamed", "reverted", "settled: a generated file", "settled: a lock", "settled: as before",
    "settled: by a person", "settled: by edits", "settled: imports", "stacked", "stopped",
    "synced", "undo of what made or dropped a branch", "undone", "verified",
    "verified to be the carried tree",
)  # fmt: skip


def unmet(met: Mapping[str, int]) -> list[str]:
    """What a run was to meet and did not."""
    return [what for what in EXPECTED if not met[what]]
