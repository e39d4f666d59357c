"""PRs that landed and whose local branch is gone, as hosts delete it."""

import shutil

import pytest

LANDED = ("#1 parent main landed", "#2 child #1")
MERGED = {"notes.txt": "one\ntwo\nthree\n", "shared.txt": "a\nB\nc\nd\ne\n"}


def grow(hand, edited):
    """A parent that is about to land, a child that takes out a file of it, and the landing."""
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"shared.txt": MERGED["shared.txt"], "test_parent.py": "1\n"})
    hand.grow("child", "parent", {"test_parent.py": None, "child.txt": "1\n"})
    yield
    hand.git("merge", "--quiet", "--squash", "parent")
    hand.write(edited, hand.fork)
    hand.git("add", "--all")
    hand.git("commit", "--quiet", "-m", "Do parent (#1)")
    hand.git("branch", "--quiet", "-D", "parent")
    hand.declare(*LANDED)
    yield


def by_merge(hand):
    """The child merges what its parent got since, and the journal is lost."""
    hand.commit("parent", {"late.txt": "1\n"}, "Go on")
    assert hand.run("sync").code == 0
    shutil.rmtree(hand.fork / ".git/merge_series")


def by_journal(hand):
    """A sync moves the parent alone, before the child is declared."""
    hand.declare("#1 parent main")
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    assert hand.run("sync").code == 0


def by_remote(hand):
    hand.git("update-ref", "refs/remotes/origin/parent", "parent")


def by_nothing(hand):
    """Only the tree of the landing tells."""


@pytest.mark.parametrize("tell", [by_merge, by_journal, by_remote, by_nothing])
def test_the_head_is_found(hand, tell):
    steps = grow(hand, {})
    next(steps)
    tell(hand)
    next(steps)
    before = hand.contents()
    assert hand.run("sync", "--dry-run").code == 0
    assert hand.contents() == before
    done = hand.run("sync")
    assert done.code == 0, done.err
    files = hand.files("main")
    del files["test_parent.py"]
    assert hand.files("child") == files | {"child.txt": "1\n"}
    assert "Record that #1 landed in main" in hand.git("log", "--format=%s", "child")
    assert "nothing was changed" in hand.run("sync").err
    for command in (("status",), ("verify",), ("describe", "2"), ("changes",), ("show", "2")):
        ran = hand.run(*command)
        assert "Traceback" not in ran.err, ran.err


@pytest.mark.parametrize("tell", [by_merge, by_journal, by_remote])
def test_an_edited_landing_is_taken_over_where_the_head_is_found(hand, tell):
    steps = grow(hand, {"more.txt": "1\n"})
    next(steps)
    tell(hand)
    next(steps)
    done = hand.run("sync")
    assert done.code == 0, done.err
    files = hand.files("main")
    del files["test_parent.py"]
    assert hand.files("child") == files | {"child.txt": "1\n"}


def test_a_sync_says_what_it_needs_where_nothing_tells_of_the_head(hand):
    steps = grow(hand, {"more.txt": "1\n"})
    next(steps)
    head = hand.heads()["parent"]
    next(steps)
    before = hand.heads()
    done = hand.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            f"error: SERIES.md:5: #1 landed as {before['main'][:12]} 'Do parent (#1)', but its "
            "branch parent is gone and nothing tells where it was; nothing was changed. child may "
            "hold its commits: fetch the branch, or make it at the last of them (git branch parent "
            "COMMIT)\n"
        ),
    )
    assert hand.heads() == before
    hand.git("branch", "parent", head)
    assert hand.run("sync").code == 0
    assert "test_parent.py" not in hand.files("child")


def test_a_sync_names_the_heads_that_disagree(hand):
    steps = grow(hand, {"more.txt": "1\n"})
    next(steps)
    head = hand.heads()["parent"]
    hand.git("update-ref", "refs/remotes/origin/parent", "parent")
    other = hand.git("commit-tree", "-m", "Another", "-p", "parent~1", "parent^{tree}")
    hand.git("update-ref", "refs/remotes/fork/parent", other)
    next(steps)
    done = hand.run("sync")
    assert done.code == 1
    assert f"{head[:12]} (origin/parent)" in done.err
    assert f"{other[:12]} (fork/parent)" in done.err


def test_two_children_of_a_branch_that_is_gone_hold_what_they_may(hand):
    hand.declare("#1 parent main", "#2 one #1", "#3 two #1")
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    hand.grow("one", "parent", {"one.txt": "1\n"})
    hand.grow("two", "parent", {"two.txt": "1\n"})
    hand.squash("parent", "Do parent (#1)")
    hand.git("branch", "--quiet", "-D", "parent")
    hand.declare("#1 parent main landed", "#2 one #1", "#3 two #1")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert set(hand.files("one")) == {"notes.txt", "shared.txt", "parent.txt", "one.txt"}


OPEN = ("#1 parent main", "#2 child #1")


@pytest.mark.parametrize("tell", [by_merge, by_journal, by_remote, by_nothing])
def test_a_pr_whose_row_is_open_is_taken_as_landed(hand, tell):
    steps = grow(hand, {})
    next(steps)
    tell(hand)
    next(steps)
    hand.declare(*OPEN)
    done = hand.run("sync")
    assert done.code == 0, done.err
    files = hand.files("main")
    del files["test_parent.py"]
    assert hand.files("child") == files | {"child.txt": "1\n"}
    assert hand.message("child").startswith("Record that #1 landed in main\n")
    said = f"#1 landed in main as {hand.heads()['main'][:12]}; its branch is gone already.\n"
    assert said in done.err
    assert hand.states() == ["landed", "open"]
    assert "nothing was changed" in hand.run("sync").err


def test_an_edited_landing_of_a_pr_whose_row_is_open_is_taken_over(hand):
    steps = grow(hand, {"more.txt": "1\n"})
    next(steps)
    by_remote(hand)
    next(steps)
    hand.declare(*OPEN)
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.message("child").startswith("Merge #1 as it landed in main\n")
    assert hand.states() == ["landed", "open"]


def test_a_pr_that_nothing_stands_on_is_taken_as_landed(hand):
    hand.declare("#1 parent main")
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    by_remote(hand)
    hand.squash("parent", "Do parent (#1)")
    hand.git("branch", "--quiet", "-D", "parent")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.states() == ["landed"]


@pytest.mark.parametrize("stands_on_it", [True, False])
def test_a_sync_says_that_main_seems_to_have_what_is_gone(hand, stands_on_it):
    hand.declare("#1 parent main", f"#2 child {'#1' if stands_on_it else 'main'}")
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    hand.grow("child", "parent" if stands_on_it else "main", {"child.txt": "1\n"})
    hand.git("merge", "--quiet", "--squash", "parent")
    hand.write({"more.txt": "1\n"}, hand.fork)
    hand.git("add", "--all")
    hand.git("commit", "--quiet", "-m", "Do parent (#1)")
    hand.git("branch", "--quiet", "-D", "parent")
    before = hand.contents()
    done = hand.run("sync", "--dry-run")
    landing = hand.heads()["main"][:12]
    expected = (
        f"error: SERIES.md:5: #1 seems to have landed as {landing} 'Do parent (#1)', but its "
        "branch parent is gone and nothing tells where it was; nothing was changed. child may hold "
        "its commits: fetch the branch, or make it at the last of them (git branch parent COMMIT)\n"
        if stands_on_it
        else f"error: SERIES.md:5: #1 has no branch parent here, and main seems to have it as "
        f"{landing} 'Do parent (#1)'; nothing was changed. If that is its landing, write landed in "
        "its row; if not, fetch the branch, or make it at its last commit (git branch parent "
        "COMMIT)\n"
    )
    assert (done.code, done.err) == (1, expected)
    assert hand.contents() == before


def test_a_pr_that_main_does_not_name_has_only_no_branch(hand):
    hand.declare(*OPEN)
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    hand.grow("child", "parent", {"child.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "See to #1 (#11)")
    hand.git("branch", "--quiet", "-D", "parent")
    done = hand.run("sync")
    assert (done.code, "#1 has no branch parent here; fetch it" in done.err) == (1, True)


def land_together(hand, tell):
    """Two siblings that land as one, and whose branches the host deletes; one PR on both."""
    hand.declare("#1 left main", "#2 right main", "#3 both #1,#2")
    hand.grow("left", "main", {"left.txt": "1\n"})
    hand.grow("right", "main", {"right.txt": "1\n"})
    hand.grow("both", "left,right", {"both.txt": "1\n"})
    if tell:
        for branch in ("left", "right"):
            hand.git("update-ref", f"refs/remotes/origin/{branch}", branch)
    hand.commit("main", {"left.txt": "1\n", "right.txt": "1\n"}, "Do both (#1, #2)")
    hand.git("branch", "--quiet", "-D", "left", "right")


def test_prs_that_landed_as_one_are_taken_as_landed(hand):
    land_together(hand, tell=True)
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.states() == ["landed", "landed", "open"]
    assert hand.files("both") == hand.files("main") | {"both.txt": "1\n"}
    assert hand.git("log", "-1", "--format=%s", "both") == "Record that #1 and #2 landed in main"
    assert "nothing was changed" in hand.run("sync").err


def test_the_merge_of_prs_that_landed_as_one_is_the_head_of_none(hand):
    land_together(hand, tell=False)
    before = hand.contents()
    done = hand.run("sync", "--dry-run")
    landing = hand.heads()["main"][:12]
    expected = "".join(
        f"SERIES.md:{line}: #{n} seems to have landed as {landing} 'Do both (#1, #2)', but its "
        f"branch {branch} is gone and nothing tells where it was; nothing was changed. both may "
        "hold its commits: fetch the branch, or make it at the last of them (git branch "
        f"{branch} COMMIT)\n"
        for line, n, branch in ((5, 1, "left"), (6, 2, "right"))
    )
    assert (done.code, done.err) == (1, f"error: {expected}")
    assert hand.contents() == before


def test_a_head_that_the_journal_knows_only_without_its_commits_is_found_above_it(hand):
    hand.declare("#1 other main")
    hand.grow("other", "main", {"other.txt": "1\n"})
    stack = ("stack", "--pr", "2", "--branch", "parent", "--title", "Do parent", "--because", "why")
    assert hand.run(*stack, "--on", "main").code == 0
    hand.commit("parent", {"parent.txt": "1\n"}, "Parent 1")
    hand.git("branch", "child", "parent")
    hand.commit("child", {"child.txt": "1\n"}, "Child 1")
    hand.declare("#1 other main", "#2 parent main", "#3 child #2")
    landing = hand.squash("parent", "Do parent (#2)")
    hand.git("branch", "-D", "parent")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert "child: merged #2 as landed\n" in done.err
    assert hand.states() == ["open", "landed", "open"]
    assert hand.git("rev-parse", "child^2") == landing
