"""The files of a tree that pathspecs match, which ``git ls-tree`` does not understand."""

from collections.abc import Sequence

from stack.git_answers import Entry, Sha, decode
from stack.repository import Repository


def matching(repository: Repository, tree: Sha, pathspecs: Sequence[str]) -> dict[str, Entry]:
    """The files of a tree by path that any of the pathspecs matches; all where there are none.

    Args:
        repository: Where the tree is.
        tree: The tree, or a commit.
        pathspecs: In git's form, such as ``:(glob)**/pyproject.toml``.

    Raises:
        GitFailure: git does not understand one.
    """
    nothing = repository.change_tree(None, {})
    command = ("diff-tree", "-r", "-z", "--no-renames", nothing, tree, "--", *pathspecs)
    fields = iter(repository.run(*command).stdout.split(b"\0")[:-1])
    return {
        decode(path): Entry(about[1], Sha(about[3]))
        for record, path in zip(fields, fields, strict=True)
        for about in [record.decode().split(" ")]
    }
