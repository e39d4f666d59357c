"""Refs that move together or not at all, and branches that somebody else has a hand on."""

import subprocess

import pytest

from stack.errors import Refusal
from stack.git_answers import Sha
from stack.refs import Update, busy_branches, heads, move, refuse_busy
from stack.repository import Repository

ODD = "o\udcff\u2028dd"


def git(where, *arguments, check=True):
    done = subprocess.run(["git", *arguments], cwd=where, check=check, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


@pytest.fixture(params=["sha1", "sha256"])
def repository(tmp_path, request):
    """A bare repository with the branches main, one and two, and commits in ``.made``."""
    git(tmp_path, "init", "--quiet", "--bare", f"--object-format={request.param}", "fork")
    with Repository.open(tmp_path / "fork") as opened:
        tree = opened.change_tree(None, {})
        opened.made = [opened.commit_tree(tree, [], f"Commit {number}") for number in range(3)]
        for branch in ("main", "one", "two"):
            git(opened.directory, "update-ref", f"refs/heads/{branch}", opened.made[0])
        yield opened


def refs(repository):
    form = "--format=%(refname) %(objectname)"
    listed = git(repository.directory, "for-each-ref", form).split("\n")
    return {
        name: repository.made.index(oid)
        for name, _, oid in (line.partition(" ") for line in listed)
    }


def test_all_refs_move_in_one_transaction_with_a_reflog(repository):
    old, new, _ = repository.made
    hook = repository.directory / "hooks/reference-transaction"
    hook.write_text("#!/bin/sh\necho $1 >>seen\ncat >>seen\n")
    hook.chmod(0o755)
    updates = [
        Update("refs/heads/one", old, new),
        Update(f"refs/heads/{ODD}", None, new),
        Update("refs/kept/two", None, old),
    ]
    move(repository, updates, "carry: a test of é")
    assert refs(repository) == {
        "refs/heads/main": 0,
        "refs/heads/one": 1,
        f"refs/heads/{ODD}": 1,
        "refs/heads/two": 0,
        "refs/kept/two": 0,
    }
    zero = "0" * len(old)
    moves = [f"{u.old or zero} {u.new} {u.ref}" for u in updates]
    seen = (repository.directory / "seen").read_bytes().decode("utf-8", "surrogateescape")
    assert seen == "\n".join(["prepared", *moves, "committed", *moves, ""])
    for ref in ("refs/heads/one", f"refs/heads/{ODD}", "refs/kept/two"):
        log = git(repository.directory, "log", "-1", "-g", "--format=%gs", ref)
        assert log == "carry: a test of é"
    move(repository, [], "carry: nothing")


@pytest.mark.parametrize(
    ("ref", "old", "new", "said"),
    [
        ("refs/heads/two", 1, 2, "is at"),  # it stands elsewhere by now
        ("refs/heads/two", None, 2, "reference already exists"),
        ("refs/heads/none", 0, 2, "unable to resolve reference 'refs/heads/none'"),
        ("refs/heads/one/more", None, 2, "'refs/heads/one' exists; cannot create"),
        ("refs/heads/bad..name", None, 2, "invalid ref format: refs/heads/bad..name"),
        ("refs/heads/one", 0, 2, "multiple updates for ref 'refs/heads/one' not allowed"),
        ("refs/heads/two", 0, "missing", "nonexistent object"),
    ],
)
def test_one_move_that_fails_moves_nothing(repository, ref, old, new, said):
    before = refs(repository)
    value = Sha("1" * len(repository.made[0])) if new == "missing" else repository.made[new]
    updates = [
        Update("refs/heads/main", repository.made[0], repository.made[1]),
        Update("refs/heads/one", repository.made[0], repository.made[1]),
        Update(ref, None if old is None else repository.made[old], value),
    ]
    with pytest.raises(Refusal) as caught:
        move(repository, updates, "carry: a test")
    line = str(caught.value)
    assert line.startswith("git update-ref failed with status 128: fatal: ")
    assert said in line
    assert refs(repository) == before


def test_heads_of_the_branches_that_exist(repository):
    old, new, _ = repository.made
    updates = [Update(f"refs/heads/{name}", None, new) for name in ("a/b", "topic/c", ODD)]
    move(repository, updates, "carry: a test")
    git(repository.directory, "tag", "tagged", old)
    asked = [ODD, "two", "none", "topic", "a/b", "main", "tagged"]
    assert list(heads(repository, asked).items()) == [
        (ODD, new),
        ("two", old),
        ("a/b", new),
        ("main", old),
    ]
    assert heads(repository, []) == {}


# Who else has a hand on a branch


@pytest.fixture(params=["main", "linked"])
def desk(tmp_path, request):
    """A worktree on ``topic``, which conflicts with ``main``; ``top`` stands on ``topic``."""
    fork, linked = tmp_path / "fork", tmp_path / "my\ndesk "
    git(tmp_path, "init", "--quiet", "fork")
    for branch, text in (("main", "0"), ("topic", "1"), ("top", "2"), ("main", "3")):
        exists = git(fork, "branch", "--list", branch)
        git(fork, "switch", "--quiet", *([] if exists else ["-c"]), branch)
        (fork / "a").write_text(text)
        git(fork, "add", "a")
        git(fork, "commit", "--quiet", "-m", f"Write {text}")
    if request.param == "main":
        git(fork, "switch", "--quiet", "topic")
        return fork
    git(fork, "switch", "--quiet", "--detach")
    git(fork, "worktree", "add", "--quiet", str(linked), "topic")
    return linked


def held(desk):
    """The held branches as both the main and the linked worktree see them."""
    found = []
    for place in (desk, desk.parent / "fork"):
        with Repository.open(place) as repository:
            found.append(busy_branches(repository))
    assert found[0] == found[1]
    return found[0]


def private(desk):
    """Where git keeps what is under way in a worktree."""
    return desk / ".git" if desk.name == "fork" else desk.parent / "fork/.git/worktrees/my-desk-"


def test_a_branch_that_is_checked_out(desk):
    assert held(desk) == {"refs/heads/topic": f"is checked out in {desk}"}
    with Repository.open(desk) as repository:
        refuse_busy(repository, {"main": None, "none": None})
        with pytest.raises(Refusal) as caught:
            refuse_busy(repository, {"main": None, "topic": None})
    assert str(caught.value) == (
        f"branch topic is checked out in {desk}; finish there or switch it to another branch "
        "(git switch --detach), then run again"
    )
    git(desk, "switch", "--quiet", "--detach")
    assert held(desk) == {}


@pytest.mark.parametrize("backend", ["merge", "apply"])
def test_a_branch_that_is_being_rebased(desk, backend):
    git(desk, "rebase", f"--{backend}", "main", check=False)
    file = private(desk) / f"rebase-{backend}/head-name"
    assert held(desk) == {"refs/heads/topic": f"is being rebased ({file})"}
    git(desk, "rebase", "--abort")
    assert held(desk) == {"refs/heads/topic": f"is checked out in {desk}"}


def test_branches_that_a_rebase_moves_at_its_end(desk):
    git(desk, "switch", "--quiet", "top")
    git(desk, "rebase", "--update-refs", "main", check=False)
    folder = private(desk) / "rebase-merge"
    assert held(desk) == {
        "refs/heads/top": f"is being rebased ({folder}/head-name)",
        "refs/heads/topic": f"is being rebased ({folder}/update-refs)",
    }


def test_a_branch_that_is_being_bisected(desk):
    git(desk, "bisect", "start", "topic", "main~1")
    git(desk, "switch", "--quiet", "--detach")
    file = private(desk) / "BISECT_START"
    assert held(desk) == {"refs/heads/topic": f"is being bisected ({file})"}
    git(desk, "bisect", "reset", "HEAD")
    assert held(desk) == {}


def test_a_bare_repository_holds_no_branch_but_its_worktrees_do(repository, tmp_path):
    assert busy_branches(repository) == {}
    git(repository.directory, "worktree", "add", "--quiet", str(tmp_path / "a b"), "one")
    assert busy_branches(repository) == {"refs/heads/one": f"is checked out in {tmp_path}/a b"}
