"""Handing one merge to a person, and taking back what they made of it."""

import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from merge_series import messages
from merge_series.generated_files import FILE_MODES
from merge_series.marker_names import with_names
from merge_series.operations import Pending
from merge_series.planned import Stopped
from stack.command_line import typed
from stack.committing import signed_off
from stack.errors import ExitCode, Refusal
from stack.git_answers import Entry, Sha, decode, encode
from stack.merging import CONFLICT_MARKER, OURS, THEIRS
from stack.repository import Repository

CONTINUE = "merge_series sync --continue"
ABORT = "merge_series sync --abort"

# No hook of the user's may run in the worktree that the program prepares, and no other repository
# may change.
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false")


@dataclass(frozen=True, slots=True)
class Staged:
    """The person staged their result: the tree of the worktree's index."""

    tree: Sha


@dataclass(frozen=True, slots=True)
class Committed:
    """The person committed their result: the worktree's head."""

    commit: Sha


@dataclass(frozen=True, slots=True)
class Offer:
    """What a person is offered.

    Attributes:
        stopped: The merge.
        main_name: The revision given as main.
        message: What a plain ``git commit`` in the worktree shall say, without a sign-off.
        settled: Files that the program settled; they are staged.
        kept: Commits that no ref holds yet; git keeps them as long as the worktree is there.
    """

    stopped: Stopped
    main_name: str
    message: str
    settled: dict[str, Entry | None]
    kept: tuple[Sha, ...]


def prepare(repository: Repository, where: Path, offer: Offer) -> None:
    """Make a worktree in which a merge waits with ordinary conflict markers.

    It holds the merge that was made already: ``git merge`` would make it again, by the settings,
    attributes and merge drivers that hold there.

    Args:
        repository: The fork.
        where: The new worktree.
        offer: What goes into it.
    """
    stopped, planned = offer.stopped, offer.stopped.planned
    add = ("worktree", "add", "--quiet", "--detach", "--no-checkout", str(where), planned.ours)
    repository.run(*_QUIET, *add)
    with Repository.open(where) as worktree:
        # A transaction each: only then does the reflog, which git keeps, hold every one of them.
        moves = "".join(
            f"start\nupdate HEAD {sha}\ncommit\n"
            for sha in (*offer.kept, planned.theirs, planned.ours)
        )
        reason = "merge_series: keep what the sync made"
        worktree.run(
            *_QUIET, "update-ref", "-m", reason, "--create-reflog", "--stdin",
            stdin=encode(moves),
        )  # fmt: skip
        sparse = worktree.git_path("info/sparse-checkout")
        if sparse.exists():
            # As git took it over from where it was run. A person needs every file.
            sparse.write_text("/*\n", "utf-8")
        tree = worktree.change_tree(stopped.merge.tree, offer.settled)
        tree = worktree.change_files(tree, _with_names(worktree, tree, offer))
        worktree.run(*_QUIET, "read-tree", "--reset", "-u", tree)
        stages = _stages(stopped)
        worktree.run(*_QUIET, "update-index", "-z", "--index-info", stdin=encode(stages))
        message = _signed_off(worktree, offer.message)
        worktree.git_path("MERGE_MSG").write_text(message, "utf-8", "surrogateescape")
        worktree.git_path("MERGE_MODE").write_text("no-ff", "utf-8")
        worktree.git_path("MERGE_HEAD").write_text(f"{planned.theirs}\n", "utf-8")


def _signed_off(worktree: Repository, message: str) -> str:
    """A message signed off by who would commit it, as far as git knows who that is."""
    answer = worktree.run("var", "GIT_COMMITTER_IDENT", accept=(0, 128))
    return f"{message}\n" if answer.status else signed_off(message, answer.text)


def _with_names(worktree: Repository, tree: Sha, offer: Offer) -> dict[str, bytes]:
    """Open files whose conflict markers name commits, with the names of both sides there."""
    stopped, planned = offer.stopped, offer.stopped.planned
    ours = messages.side(planned.pull_request)
    theirs = offer.main_name if planned.beyond is None else planned.beyond.source
    if planned.source is not None:
        theirs = messages.side(planned.source)
    # What git merged, and what the rules did, where these are not the same commits.
    named = {OURS: ours, THEIRS: theirs}
    commits = [
        pair
        for sides in (*stopped.merge.sides, (planned.ours, planned.theirs))
        for pair in zip(named, sides, strict=True)
    ]
    by = {unsettled.path: unsettled.by for unsettled in stopped.unsettled}
    found = worktree.entries(tree, *by)
    read = {p: worktree.read_blob(e.oid) for p, e in found.items() if e.mode in FILE_MODES}
    renamed = {
        path: with_names(
            content,
            {commit: (named[stage], by[path].get(stage, "")) for stage, commit in commits},
        )
        for path, content in read.items()
    }
    return {path: content for path, content in renamed.items() if content != read[path]}


def _stages(stopped: Stopped) -> str:
    """What the index holds of open files, in the form of ``update-index --index-info``."""
    open_paths = {unsettled.path for unsettled in stopped.unsettled}
    nothing = "0" * len(stopped.planned.ours)
    lines = []
    for conflict in stopped.merge.conflicts:
        if conflict.path in open_paths and conflict.stages:
            lines.append(f"0 {nothing}\t{conflict.path}\0")
            lines += [
                f"{entry.mode} {entry.oid} {stage}\t{conflict.path}\0"
                for stage, entry in sorted(conflict.stages.items())
            ]
    return "".join(lines)


def take(repository: Repository, where: Path, pending: Pending) -> Staged | Committed:
    """Take what the person committed or staged in the worktree, by whatever tool.

    Raises:
        Refusal: Something is still open; it names the files.
    """
    with _opened(repository, where) as worktree:
        head = worktree.resolve("HEAD")
        unmerged = worktree.run("diff", "--name-only", "--diff-filter=U", "-z").stdout
        if unmerged:
            _refuse(where, f"still in conflict: {_names(unmerged)}; edit, then git add")
        changed = worktree.run("diff", "--name-only", "-z").stdout
        if changed:
            _refuse(
                where, f"changed but not staged: {_names(changed)}; git add or git restore them"
            )
        new = worktree.run("ls-files", "--others", "--exclude-standard", "-z").stdout
        # git mergetool leaves these behind.
        kept = {f"{path}.orig" for path in pending.unsettled}
        new = b"".join(p + b"\0" for p in new.split(b"\0") if p and decode(p) not in kept)
        if new:
            _refuse(where, f"new and not staged: {_names(new)}; git add or remove them")
        if head is None:
            _refuse(where, "HEAD names no commit; check out the merge again")
        if head == pending.ours:
            if worktree.resolve("MERGE_HEAD") is None:
                raise Refusal(
                    f"{where}: the merge is no longer under way and nothing was committed; drop "
                    f"it with {typed(ABORT)}, then run "
                    f"{typed('merge_series sync')}",
                    ExitCode.WAITING,
                )
            tree = Sha(worktree.run("write-tree").text)
            _refuse_markers(worktree, where, pending, tree)
            return Staged(tree)
        if worktree.run("diff", "--cached", "--name-only", "-z").stdout:
            _refuse(where, "staged changes on top of the commit; commit or unstage them")
        for side in (pending.ours, pending.theirs):
            if not worktree.is_ancestor(side, head):
                _refuse(
                    where, f"the commit {head[:12]} does not contain {side[:12]}; commit the merge"
                )
        _refuse_markers(worktree, where, pending, worktree.tree_of(head))
        return Committed(head)


def _opened(repository: Repository, where: Path) -> Repository:
    """Open the worktree, as one of this repository; a worktree names its repository's full path.

    Raises:
        Refusal: The repository was moved or copied since.
    """
    try:
        worktree = Repository.open(where)
    except Refusal:
        command = f"git -C {shlex.quote(str(repository.directory))} worktree repair"
        _refuse(
            where, f"git finds no repository from there; run {command} {shlex.quote(str(where))}"
        )
    if worktree.common_directory != repository.common_directory:
        raise Refusal(
            f"{where}: it is a worktree of {worktree.common_directory}, of which this repository "
            f"is a copy; go on there, or drop the sync here with {typed(ABORT)}",
            ExitCode.WAITING,
        )
    return worktree


def _refuse_markers(worktree: Repository, where: Path, pending: Pending, tree: Sha) -> None:
    """No result may hold a conflict marker, or hold one more often, than either parent did."""
    ours, theirs = worktree.entries(pending.ours), worktree.entries(pending.theirs)
    for path, entry in worktree.entries(tree).items():
        sides = [side[path] for side in (ours, theirs) if path in side]
        if entry in sides or entry.mode == "160000":
            continue
        known: Counter[bytes] = Counter()
        for side in sides:
            known |= _markers(worktree, side)
        if _markers(worktree, entry) - known:
            _refuse(where, f"{path} still holds conflict markers; settle it, then git add")


def _markers(worktree: Repository, entry: Entry) -> Counter[bytes]:
    return Counter(CONFLICT_MARKER.findall(worktree.read_blob(entry.oid)))


def _names(output: bytes) -> str:
    paths = sorted({path.decode("utf-8", "replace") for path in output.split(b"\0") if path})
    return ", ".join(paths)


def _refuse(where: Path, what: str) -> NoReturn:
    raise Refusal(f"{where}: {what}; then run {typed(CONTINUE)}", ExitCode.WAITING)
