"""``undo`` and ``redo``: which operation they move back, or forth again, and whether they may."""

from dataclasses import replace

from merge_series.journal import DoneSync
from merge_series.operations import Operations
from merge_series.renamed import new_name
from merge_series.transaction import refuse_in_the_way
from stack.command_line import typed
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.refs import branch_ref, values
from stack.repository import Repository


def to_undo(repository: Repository, operations: Operations) -> DoneSync:
    """The last operation that moved branches, as one to be taken back.

    Raises:
        Refusal: There is none, a branch has moved since, is checked out or was pushed, or a file
            that the operation wrote has changed since.
    """
    done = operations.done()
    if not done:
        raise Refusal(
            "no operation of merge_series is left to undo here; "
            f"{typed('merge_series log')} lists the syncs"
        )
    record = replace(done[-1], state="undoing")
    _refuse_pushed(repository, record)
    _refuse_moved(repository, record)
    refuse_in_the_way(repository, record)
    return record


def to_redo(repository: Repository, operations: Operations) -> DoneSync:
    """The operation that the last ``undo`` took back, as one to be brought again.

    Raises:
        Refusal: There is none, a branch is checked out, or a branch or file has changed since.
    """
    undone = operations.journal.undone()
    if not undone:
        raise Refusal(
            "no operation was undone since the last one; there is nothing to redo; "
            f"{typed('merge_series undo')} comes first"
        )
    record = replace(undone[0], state="redoing")
    _refuse_moved(repository, record)
    refuse_in_the_way(repository, record)
    return record


def _refuse_moved(repository: Repository, record: DoneSync) -> None:
    now = values(repository, [branch_ref(branch) for branch in record.new])
    moves = {update.ref: update for update in record.updates()}
    for branch in record.new:
        update = moves[branch_ref(branch)]
        found = now.get(update.ref)
        if found is None and update.old is not None:
            _refuse_renamed(repository, record, branch, update.old)
        if found != update.old:
            stands, do = _astray(branch, found, update.old)
            raise Refusal(
                f"branch {branch} {stands}, where the {record.action} would move it from; nothing "
                f"was moved; leave all as it is, or {do}"
            )


def _astray(branch: str, found: Sha | None, expected: Sha | None) -> tuple[str, str]:
    """Where a branch stands instead of where it was expected, and how it gets there."""
    if found is None:
        return (
            f"is gone and no longer at {expected:.12}",
            f"make it again (git branch {branch} {expected:.12})",
        )
    if expected is None:
        return f"exists, at {found:.12}", f"give it another name (git branch -m {branch} NEW)"
    return (
        f"stands at {found:.12} and no longer at {expected:.12}",
        (
            f"keep what it holds now (git branch NEW {branch}) and set it back (git branch --force "
            f"{branch} {expected:.12})"
        ),
    )


def _refuse_renamed(repository: Repository, record: DoneSync, branch: str, head: Sha) -> None:
    name = new_name(repository, branch, head, record.new)
    if name is not None:
        raise Refusal(
            f"branch {branch} is gone, and {name} seems to be it under another name; the "
            f"{record.action} would move {branch}; nothing was moved; name it back (git branch -m "
            f"{name} {branch}), run this again, then rename it again (git branch -m {branch} "
            f"{name})"
        )


def _refuse_pushed(repository: Repository, record: DoneSync) -> None:
    """What somebody may have seen is not taken back: links to it would break."""
    if record.operation == "stack" and not record.merged:
        # Its branch began at the head of what it is on, and no commit was made.
        chosen = [f"refs/remotes/*/{branch}" for branch in record.new]
    else:
        contains = [f"--contains={head}" for head in dict.fromkeys(record.new.values())]
        chosen = [*contains, "refs/remotes"]
    answer = repository.run("for-each-ref", "--format=%(refname)", *chosen)
    if answer.text:
        raise Refusal(
            f"{answer.text.splitlines()[0]} holds what {record.name} made: it was pushed, and "
            "taking it back would break review links; nothing was moved; mend what is wrong by "
            "a further commit"
        )
