"""Differences between trees as text, and the proof that a text is the whole difference."""

import os
import tempfile
from dataclasses import dataclass

from stack.errors import Refusal
from stack.git_answers import Sha
from stack.repository import Repository

# The same text whoever asks: no setting of the user's, no program of theirs. Whole ids, so that git
# can apply also what is no text: it has both blobs.
_DIFF = (
    "-c", "diff.suppressBlankEmpty=false",
    "-c", f"core.attributesFile={os.devnull}",
    "diff-tree", "-p", "-r", "--full-index", "--no-color", "--no-ext-diff",
    "--no-textconv", "--ignore-submodules=none", "--submodule=short", "--unified=3",
    "--inter-hunk-context=0", "--diff-algorithm=histogram", "--find-renames", "-l7000",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Patch:
    """How one tree becomes another.

    Attributes:
        old: The tree before.
        new: The tree after.
        text: The difference in git's own form; empty if there is none.
        paths: The files it changes, by their names in the new tree (in the old one if removed).
    """

    old: Sha
    new: Sha
    text: bytes
    paths: tuple[str, ...]


def difference(repository: Repository, old: Sha, new: Sha) -> Patch:
    """The whole difference between two trees, proved: its text turns the one into the other.

    Raises:
        Refusal: It does not; nothing that was shown could be relied on then.
    """
    text = repository.run(*_DIFF, old, new).stdout
    changed = repository.run(
        "diff-tree", "-r", "-z", "--name-only", "--find-renames", "-l7000", old, new
    ).text
    prove(repository, old, text, new)
    return Patch(old, new, text, tuple(path for path in changed.split("\0") if path))


def prove(repository: Repository, old: Sha, text: bytes, new: Sha) -> None:
    """Check that a difference's text, applied to one tree, gives another.

    Raises:
        Refusal: It gives another tree, or does not apply.
    """
    found = apply(repository, old, text)
    if found != new:
        raise Refusal(
            f"what would be shown turns the tree {old[:12]} into {found[:12]} and not into "
            f"{new[:12]}, so it is not all that changed; nothing is shown. Read it with git diff"
        )


def apply(repository: Repository, tree: Sha, text: bytes) -> Sha:
    """The tree that a difference makes of another one.

    Raises:
        GitFailure: It does not apply there.
    """
    if not text:
        return tree
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}  # noqa: PTH118 - a string is needed
        repository.run("read-tree", tree, environment=index)
        repository.run(
            "apply", "--cached", "--whitespace=nowarn", "-",
            stdin=text, environment=index,
        )  # fmt: skip
        return Sha(repository.run("write-tree", environment=index).text)
