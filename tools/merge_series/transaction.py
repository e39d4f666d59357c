"""Moving the refs of an operation: journal, one transaction, then what follows the refs.

Invariants:
- the record is written before a ref moves and says ``done`` only when all that follows is done;
- every ref of the operation stands at its old or at its new value, whenever a kill comes;
- what would keep a worktree or a file from following is looked at before anything moves;
- worktrees follow before refs move, since filters and disks may fail: then they are put back.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from merge_series.journal import UNDONE_REFS, DoneSync, FileChange, Journal
from merge_series.kept import write_whole
from merge_series.kept_worktrees import KeptWorktrees, drop_left, put_back_missing
from merge_series.text_diff import unified_diff
from merge_series.worktrees import Following, check_following, follow, followers, lead_back
from stack.errors import Refusal
from stack.git_answers import decode, encode
from stack.refs import Update, move, refuse_busy, remove_stale_locks, values
from stack.repository import Repository


def carry_out(
    repository: Repository, journal: Journal, record: DoneSync, inherited: Sequence[int] = ()
) -> DoneSync:
    """Move the refs of an operation in one transaction, and what follows them.

    Args:
        repository: The fork; the caller holds its lock.
        journal: Its records.
        record: The operation, in the state that says which way its refs move.
        inherited: Open files that git holds open while it moves refs.

    Returns:
        The record as it is kept in the end.

    Raises:
        Refusal: A ref has moved meanwhile, a branch or file is in the way, or a hook refused.
            Nothing has moved then, unless the message says so.
    """
    # Looked at again: a person may have checked a branch out since the operation began.
    refuse_in_the_way(repository, record)
    before = next((r for r in journal.records() if r.number == record.number), None)
    journal.keep(record)
    updates = record.updates()
    worktrees = KeptWorktrees(_following(record))
    try:
        worktrees.bring()
        move(repository, updates, f"merge_series: {_reason(record)}", inherited)
    except Refusal as refusal:
        now = values(repository, [update.ref for update in updates])
        if any(now.get(update.ref) == update.new for update in updates if update.new):
            raise Refusal(
                f"{refusal}; some branches have moved and some not: any merge_series command that "
                "moves branches will move the rest first"
            ) from refusal
        worktrees.put_back()
        if before is None:
            journal.drop(record)
        else:
            journal.keep(before)
        raise Refusal(
            f"{refusal}; no branch has moved; correct what it names, then run again"
        ) from refusal
    finally:
        worktrees.drop()
    return _finish(repository, journal, record)


def refuse_in_the_way(repository: Repository, record: DoneSync) -> None:
    """Check that branches, worktrees and files are as the move of a record needs them.

    Raises:
        Refusal: One is not.
    """
    refuse_busy(repository, _unled(record))
    check_following(_following(record), [Path(file.path) for file in record.file_moves])
    for file in record.file_moves:
        now = _text(file)
        if now is None:
            raise Refusal(
                f"{file.path}: gone since {record.name}; nothing was moved; put it back as it was "
                "then, and run again"
            )
        if now != file.before:
            diff = unified_diff(file.path, file.before, now) or "only the ends of its lines differ"
            raise Refusal(
                f"{file.path}: changed since {record.name}; nothing was moved; put it back as it "
                f"was first, without this change:\n{diff}"
            )


def repair(repository: Repository, journal: Journal, inherited: Sequence[int] = ()) -> str | None:
    """Finish or drop a transaction in whose middle an earlier run was killed.

    Args:
        repository: The fork; the caller holds its lock, so no git of that run is at work any more.
        journal: Its records.
        inherited: Open files that git holds open while it moves refs.

    Returns:
        A sentence on what was found and done, or None.

    Raises:
        Refusal: A ref stands where neither the old nor the new head is, or one that is to be moved
            is checked out.
    """
    found = None
    for record in journal.records():
        if record.is_under_way:
            found = _repair(repository, journal, record, inherited)
    tidy(repository, journal)
    return found


def tidy(repository: Repository, journal: Journal) -> None:
    """Drop the operations that ``redo`` no longer brings, and the refs that keep their commits."""
    for record in journal.dropped():
        prefix = f"{UNDONE_REFS}{record.number}/"
        kept = values(repository, [f"{prefix}{branch}" for branch in record.new])
        gone = [Update(ref, value, None) for ref, value in kept.items()]
        move(repository, gone, f"merge_series: drop {record.name}")
        journal.drop(record)
    journal.drop_oldest()


def _repair(
    repository: Repository, journal: Journal, record: DoneSync, inherited: Sequence[int]
) -> str:
    updates = record.updates()
    file = journal.file(record.number)
    remove_stale_locks(repository, updates, file.stat().st_mtime)
    now = values(repository, [update.ref for update in updates])
    what = f"an earlier {record.action} was killed"
    if all(now.get(update.ref) == update.old for update in updates):
        _lead_back(repository, record)
        if record.state == "moving":
            journal.drop(record)
        else:
            journal.keep(replace(record, state="done" if record.state == "undoing" else "undone"))
        return f"{what} before it moved any branch; it left nothing"
    for update in updates:
        if now.get(update.ref) not in {update.old, update.new}:
            raise Refusal(
                f"{file}: {what} while it moved branches, and "
                f"{update.ref.removeprefix('refs/heads/')} stands at "
                f"{now.get(update.ref, 'nothing')} now; set it to {update.old or 'nothing'} or "
                f"{update.new or 'nothing'} (git update-ref), then run again"
            )
    left = [update for update in updates if now.get(update.ref) != update.new]
    refuse_busy(repository, [b for b in _unled(record) if f"refs/heads/{b}" in _refs(left)])
    move(repository, left, f"merge_series: {_reason(record)}", inherited)
    for following in _following(record):
        # A commit there, or what a stash brings back, would undo what the branch has by now.
        follow(
            following,
            "the branch has moved already: keep your change elsewhere, git restore that file, and "
            "run again before you commit there",
        )
        drop_left(following)
    _finish(repository, journal, record)
    branches = sum(update.ref.startswith("refs/heads/") for update in left)
    return f"{what} while it moved branches; moved {branches} more"


def _lead_back(repository: Repository, record: DoneSync) -> None:
    """Bring worktrees back that a killed run brought along before it moved any ref."""
    there = followers(repository, record.worktrees)
    for following in _following(record):
        if str(following.folder) in there.get(following.branch, ()) and following.folder.is_dir():
            lead_back(
                following,
                "no branch has moved: keep your change elsewhere, git restore that file, and run "
                "again",
            )
            put_back_missing(following)


def _finish(repository: Repository, journal: Journal, record: DoneSync) -> DoneSync:
    for file in record.file_moves:
        # One that somebody changed or removed since is theirs.
        if _text(file) == file.before:
            write_whole(Path(file.path), encode(file.after))
    finished = replace(record, state=record.goal, worktrees={})
    journal.keep(finished)
    tidy(repository, journal)
    return finished


def _following(record: DoneSync) -> list[Following]:
    return [
        Following(branch, Path(folder), old, record.new[branch])
        for branch, folders in record.worktrees.items()
        for folder in folders
        if (old := record.old[branch]) is not None
    ]


def _unled(record: DoneSync) -> list[str]:
    """The branches that nothing leads along where they are checked out."""
    return [branch for branch in record.new if branch not in record.worktrees]


def _refs(updates: Sequence[Update]) -> set[str]:
    return {update.ref for update in updates}


def _text(file: FileChange) -> str | None:
    """What the file holds; None where it is gone."""
    try:
        return decode(Path(file.path).read_bytes())
    except FileNotFoundError:
        return None


def _reason(record: DoneSync) -> str:
    if record.state == "moving" and record.operation == "sync":
        return f"sync with main {record.main[:12]}"
    return record.action
