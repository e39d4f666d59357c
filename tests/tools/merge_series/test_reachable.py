"""The last check before branches move: which of their commits they would no longer reach."""

import pytest

from merge_series.reachable import count_commits
from stack.repository import Repository


@pytest.fixture
def repository(tmp_path):
    with Repository.create(tmp_path, "main") as opened:
        yield opened


def test_commits_are_counted_branch_by_branch(repository):
    tree = repository.change_tree(None, {})

    names = iter("abcdef")

    def commit(*parents):
        return repository.commit_tree(tree, parents, next(names))

    root = commit()
    main = commit(root)
    one = commit(root)
    two = commit(one)
    merged = commit(two, main)
    cases = {
        (two, merged): (2, 0),
        (two, two): (2, 0),
        (two, main): (2, 2),
        (two, one): (2, 1),
        (two, commit(one, main)): (2, 1),
        (root, merged): (0, 0),
        (root, main): (0, 0),
        (main, root): (0, 1),
    }
    for (before, now), counts in cases.items():
        assert count_commits(repository, main, {"a": before}, {"a": now, "b": root}) == counts
    # Of two branches at one commit one keeps it, and the other's loss counts all the same.
    for first, second in [(merged, one), (one, merged)]:
        now = {"a": first, "b": second}
        assert count_commits(repository, main, {"a": two, "b": two}, now) == (2, 1)
    assert count_commits(repository, main, {}, {"a": one}) == (0, 0)


def test_what_was_known_before_proves_nothing(repository):
    tree = repository.change_tree(None, {})
    root = repository.commit_tree(tree, [], "Root")
    head = repository.commit_tree(tree, [root], "Head")
    repository.read_ancestry(root, [head])
    alone = repository.run("commit-tree", "-m", "Alone", tree).text
    repository._ancestry.add(alone, [head])  # noqa: SLF001 - a fault that this check is for
    assert repository.is_ancestor(head, alone)
    assert count_commits(repository, root, {"a": head}, {"a": alone}) == (1, 2)
