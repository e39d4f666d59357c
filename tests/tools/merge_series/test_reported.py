"""What users of other stack tools reported as going wrong, each on a small stack here."""

import pytest

SERIES = """\
# Series

| PR | Branch | Depends on | Title | State |
|---|---|---|---|---|
| #1 | `a` | main | The a | open |
| #2 | `b` | main | The b | open |
| #3 | `c` | #1, #2 | The c | open |

## #1 The a

## #2 The b

## #3 The c
"""

BRANCHES = ("a", "b", "c")


@pytest.fixture
def stack(world):
    """c on a and b, which know nothing of each other."""
    world.write({"SERIES.md": SERIES}, world.root)
    (world.root / "megatron/core/names.edits.yml").unlink()
    world.git("branch", "--delete", "--force", "--quiet", "ratchet", "offsets", "by-hand")
    for branch in ("a", "b"):
        world.git("branch", branch)
        world.commit(branch, {branch: f"{branch}\n"}, f"Write {branch}")
    world.git("branch", "c", "a")
    world.desk = world.root / "desk"
    world.git("worktree", "add", "--quiet", str(world.desk), "c")
    world.git("merge", "--quiet", "-m", "Bring b", "b", where=world.desk)
    world.git("worktree", "remove", str(world.desk))
    world.commit("c", {"c": "c\n"}, "Write c")
    return world


def test_no_push_ever_needs_force(stack):
    there = stack.root / "there"
    stack.git("clone", "--quiet", "--bare", str(stack.fork), str(there))
    stack.git("config", "receive.denyNonFastForwards", "true", where=there)
    stack.git("remote", "add", "origin", str(there))
    for number in range(3):
        stack.commit("main", {"README": f"{number}\n"}, f"Write {number}")
        stack.commit("b", {"b": f"b {number}\n"}, f"Change b {number}")
        assert stack.run("sync").code == 0
        before = stack.git("for-each-ref", "--format=%(objectname)", where=there).split()
        # Plain git, without force, takes every branch; so does push.
        stack.git("push", "--quiet", "--dry-run", "origin", *BRANCHES)
        assert stack.run("push").code == 0
        for head in before:
            assert stack.git("branch", "--all", "--contains", head) != ""
    assert stack.git("rev-parse", "main", where=there) != stack.git("rev-parse", "main")


def test_files_of_one_name_and_different_content_stop_for_a_person(stack):
    stack.commit("a", {"both": "of a\n"}, "Add a file")
    stack.commit("main", {"both": "of main\n"}, "Add a file of that name")
    before = stack.heads()
    done = stack.run("sync")
    assert done.code == 3
    mine, main = (stack.named(branch) for branch in ("a", "main"))
    assert f"  both: the branch's {mine} and main's {main} both put a file here" in done.err
    assert stack.heads() == before


def test_two_independent_branches_stay_independent(stack):
    stack.commit("main", {"README": "new\n"}, "Add a readme")
    assert stack.run("sync").code == 0
    assert stack.git("merge-base", "--is-ancestor", "a", "b", check=False) == ""
    assert stack.git("ls-tree", "--name-only", "b", "a") == ""
    assert stack.git("ls-tree", "--name-only", "a", "b") == ""
    assert stack.git("ls-tree", "--name-only", "c", "a", "b", "c").split() == ["a", "b", "c"]
    assert (
        stack.graph("a", "b")
        == """\
*   Merge main into a (a)
|\\
* | Write a
| | *   Merge main into b (b)
| | |\\
| | |/
| |/|
| * | Add a readme (main)
|/ /
| * Write b
|/
* Start main"""
    )


def test_main_may_be_checked_out_anywhere(stack):
    stack.commit("main", {"README": "new\n"}, "Add a readme")
    stack.git("switch", "--quiet", "--detach")
    stack.git("worktree", "add", "--quiet", str(stack.desk), "main")
    main = stack.git("rev-parse", "main")
    assert stack.run("sync").code == 0
    assert stack.git("rev-parse", "main") == main
    assert stack.git("status", "--porcelain", where=stack.desk) == ""


def test_a_branch_under_another_worktree_is_refused_readably(stack):
    stack.commit("main", {"README": "new\n"}, "Add a readme")
    stack.git("worktree", "add", "--quiet", str(stack.desk), "b")
    before = stack.heads()
    done = stack.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            f"error: branch b is checked out in {stack.desk}; finish there or switch it to another "
            "branch (git switch --detach), then run again, or run "
            f"{stack.typed('sync --update-worktrees')}, which fast-forwards it there\n"
        ),
    )
    assert stack.heads() == before


def conflict(stack):
    stack.commit("c", {"README": "of c\n"}, "Write a readme")
    stack.commit("main", {"README": "of main\n"}, "Write another")
    before = stack.git("for-each-ref")
    assert stack.run("sync").code == 3
    return before, stack.fork / ".git/merge_series/worktree"


def test_an_abort_restores_every_tip(stack):
    before, desk = conflict(stack)
    (desk / "README").write_text("half done\n")
    stack.git("add", "README", where=desk)
    stack.git("commit", "--quiet", "-m", "Half", where=desk)
    assert stack.run("sync", "--abort").code == 0
    assert stack.git("for-each-ref") == before
    assert not desk.exists()


FINISHES = {
    "git add": (),
    "git commit": (("commit", "--quiet", "--no-edit"),),
    "git commit -m": (("commit", "--quiet", "-m", "In my words"),),
    "git merge --continue": (("-c", "core.editor=true", "merge", "--continue"),),
    "git commit --amend": (
        ("commit", "--quiet", "--no-edit"),
        ("commit", "--quiet", "--amend", "-m", "In better words"),
    ),
    "two commits": (
        ("commit", "--quiet", "--no-edit"),
        ("commit", "--quiet", "--allow-empty", "-m", "And one more"),
    ),
    "the merge made again": (
        ("merge", "--abort"),
        ("merge", "--quiet", "--strategy-option=ours", "-m", "Again", "THEIRS"),
    ),
}


@pytest.mark.parametrize("tool", FINISHES)
def test_a_person_finishes_with_any_command_of_git(stack, tool):
    _, desk = conflict(stack)
    old = stack.heads()
    theirs = stack.git("rev-parse", "MERGE_HEAD", where=desk)
    (desk / "README").write_text("of both\n")
    stack.git("add", "README", where=desk)
    for command in FINISHES[tool]:
        stack.git(*(theirs if word == "THEIRS" else word for word in command), where=desk)
    done = stack.run("sync", "--continue")
    assert done.code == 0, done.err
    for branch in BRANCHES:
        stack.git("merge-base", "--is-ancestor", old[branch], branch)
        stack.git("merge-base", "--is-ancestor", "main", branch)
    expected = "of c\n" if tool == "the merge made again" else "of both\n"
    assert stack.show("c", "README") == expected
    assert stack.run("verify").code == 0
    assert not desk.exists()


def test_a_sync_neither_moves_nor_pushes_main(stack):
    there = stack.root / "there"
    stack.git("clone", "--quiet", "--bare", str(stack.fork), str(there))
    stack.git("remote", "add", "origin", str(there))
    stack.commit("main", {"README": "new\n"}, "Add a readme")
    main, before = stack.git("rev-parse", "main"), stack.git("for-each-ref", where=there)
    assert stack.run("sync").code == 0
    assert (stack.git("rev-parse", "main"), stack.git("for-each-ref", where=there)) == (
        main,
        before,
    )
