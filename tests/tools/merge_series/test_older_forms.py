"""PRs that were rebased or amended under others, and what these take over of it."""

import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

START = "wwww"
# What stands in one place in the older form of a PR, in a child that stands on it, in the PR as it
# is now and in the main on which that stands: kept, taken back, edited, and each touched as well by
# the child or by main.
SLOT = st.sampled_from(
    [
        "aaaw", "aaww", "aabw", "abaw", "abww", "abbw", "abcw",  # what the PR brings
        "wwww", "wbww", "wwbw", "wwmm", "wbmm", "wmmm",  # what it does not
    ]
).map(tuple)  # fmt: skip


def text(lines):
    """Lines that stand apart, so that each is a hunk of its own, whatever diff is made."""
    return "".join(f"{line} {n}\n1 of {n}\n2 of {n}\n3 of {n}\n" for n, line in enumerate(lines))


def rebase(hand, files, branch="parent", onto="main"):
    """Write a PR anew on main, of one commit with the author, date and subject that it had."""
    hand.git("switch", "--quiet", "--detach", onto)
    hand.write(files, hand.fork)
    hand.git("add", "--all")
    hand.git("commit", "--quiet", "--reuse-message", branch)
    hand.git("branch", "--force", branch)
    hand.git("switch", "--quiet", "main")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    slots=st.lists(SLOT, min_size=4, max_size=4),
    main=st.sampled_from(["stays", "moves", "is in the child"]),
    children=st.integers(1, 2),
)
def test_a_branch_gets_what_its_parent_did_since_the_form_that_it_stands_on(
    make_hand, tmp_path_factory, slots, main, children
):
    """By git merge-file of the three texts, or else a person is asked."""
    older, child, now, newer = (list(side) for side in zip(*slots, strict=True))
    if main == "stays":
        now = [w if m == "m" else n for n, m, w in zip(now, newer, START, strict=True)]
    newer = [line if line == "m" else w for line, w in zip(newer, START, strict=True)]
    hand = make_hand()
    hand.declare("#1 parent main", *(f"#{n} child{n} #1" for n in range(2, 2 + children)))
    hand.commit("main", {"f": text(START)}, "Add f")
    hand.grow("parent", "main", {"f": text(older), "brought": "1\n"})
    for number in range(2, 2 + children):
        hand.grow(f"child{number}", "parent", {"f": text(child), f"child{number}": "1\n"})
    if main != "stays":
        hand.commit("main", {"f": text(newer), "main": "1\n"}, "Go on")
    if main == "is in the child":
        hand.git("switch", "--quiet", "child2")
        done = subprocess.run(
            ["git", "merge", "--quiet", "--no-edit", "main"], cwd=hand.fork, check=False
        )
        if done.returncode:
            return  # main and the PR conflict; whoever settled it has what they settled
        child = [line.split()[0] for line in hand.show("child2", "f").splitlines()[::4]]
        hand.git("switch", "--quiet", "main")
    rebase(hand, {"f": text(now), "brought": "1\n"})
    before = hand.heads()
    base = older
    if main == "is in the child":
        base = [
            m if m == "m" and o == w else o for o, m, w in zip(older, newer, START, strict=True)
        ]
    done = hand.run("sync")
    folder = tmp_path_factory.mktemp("texts")
    hand.write({"ours": text(child), "base": text(base), "theirs": text(now)}, folder)
    command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    merged = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if merged.returncode:
        assert done.code == 3, done.err
        assert hand.heads() == before
        return
    assert done.code == 0, done.err
    assert hand.files("child2")["f"] == merged.stdout.decode()
    for head in (before["parent"], before["child2"]):
        assert hand.git("merge-base", "--is-ancestor", head, "child2") == ""
    assert hand.run("verify").code == 0


@pytest.fixture
def adopted(hand):
    """A child that stands on what its parent was before it was rebased, and lost a line."""
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"shared.txt": "a\nB\nc\nD\ne\n"})
    hand.grow("child", "parent", {"child.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "Go on")
    rebase(hand, {"shared.txt": "a\nB\nc\nd\ne\n"})
    return hand


def test_what_a_rebased_parent_took_back_goes_from_its_child(adopted):
    before = adopted.heads()
    done = adopted.run("sync")
    assert done.code == 0, done.err
    assert adopted.files("child") == adopted.files("parent") | {"child.txt": "1\n"}
    assert (
        adopted.graph("child")
        == """\
*   Merge what parent does from #1 (child)
|\\
| * Parent 1 (parent)
| * Go on (main)
* | Child 1
* | Parent 1
|/
* Start main"""
    )
    older = adopted.git("rev-parse", f"{before['child']}~1")
    assert adopted.message("child").splitlines()[:9] == [
        "Merge what parent does from #1",
        "",
        f"This branch stood on #1 as it was at {older[:12]}. What #1 has beyond",
        "that is merged here: what it took back since goes from this branch as well.",
        "",
        f"Brings {adopted.brought()}.",
        "",
        f"Replaces: {older}",
        adopted.message("child").splitlines()[8],
    ]
    assert "nothing was changed" in adopted.run("sync").err
    # Nor is a line lost that the parent brings again, or the child.
    adopted.commit("parent", {"shared.txt": "a\nB\nc\nD\ne\n"}, "Bring it again")
    adopted.commit("child", {"shared.txt": "a\nB!\nc\nd\ne\n"}, "Go on")
    assert adopted.run("sync").code == 0
    assert adopted.files("child")["shared.txt"] == "a\nB!\nc\nD\ne\n"


def test_a_clone_without_the_journal_knows_what_was_replaced(adopted):
    before = adopted.heads()["child"]
    adopted.commit("child", {"notes.txt": "one\nTWO\nthree\n"}, "Shout")
    assert adopted.run("sync").code == 0
    shutil.rmtree(adopted.fork / ".git" / "merge_series")
    done = adopted.run("verify")
    assert done.code == 0, done.out
    merge = adopted.git("rev-parse", "child")
    now, older = adopted.git("rev-parse", "parent", f"{before}~1").splitlines()
    shown = adopted.run("show", "2", "--since", f"{merge}~1")
    assert f"  {merge[:12]} #1 as {now[:12]} replaces what it was at {older[:12]}\n" in shown.out, (
        shown.out
    )
    assert "shared.txt" not in shown.out


def test_a_parent_that_was_rebased_twice(adopted):
    assert adopted.run("sync").code == 0
    # Where the sync was made, a branch that loses what it left there is refused.
    shutil.rmtree(adopted.fork / ".git" / "merge_series")
    adopted.commit("main", {"README": "2\n"}, "Go on more")
    rebase(adopted, {"shared.txt": "a\nb\nc\nd\nE\n"})
    assert adopted.run("sync").code == 0
    assert adopted.files("child") == adopted.files("parent") | {"child.txt": "1\n"}
    assert adopted.run("verify").code == 0


def test_a_branch_two_above_gets_it_too(adopted):
    adopted.declare("#1 parent main", "#2 child #1", "#3 top #2", "#4 side #1", "#5 roof #3,#4")
    adopted.grow("top", "child", {"top.txt": "1\n"})
    adopted.grow("side", "child~1", {"side.txt": "1\n"})
    adopted.grow("roof", "top,side", {"roof.txt": "1\n"})
    done = adopted.run("sync")
    assert done.code == 0, done.err
    for branch in ("child", "top", "side", "roof"):
        assert adopted.files(branch)["shared.txt"] == "a\nB\nc\nd\ne\n"
    assert adopted.run("verify").code == 0


def test_a_whole_stack_that_was_rebased_below_one_that_was_not(hand):
    hand.declare("#1 low main", "#2 mid #1", "#3 top #2")
    hand.grow("low", "main", {"shared.txt": "a\nB\nc\nd\ne\n"})
    hand.grow("mid", "low", {"notes.txt": "1\ntwo\n3\n"})
    hand.grow("top", "mid", {"top.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "Go on")
    rebase(hand, {"shared.txt": "a\nb\nc\nD\ne\n"}, "low")
    rebase(hand, {"notes.txt": "1\ntwo\nthree\n"}, "mid", "low")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.files("top") == hand.files("mid") | {"top.txt": "1\n"}


def test_what_may_be_the_branchs_own_is_for_a_person(hand):
    """Between two commits of the older form stands one that is nobody's."""
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"one.txt": "1\n"}, {"two.txt": "1\n"}, {"three.txt": "1\n"})
    hand.grow("child", "parent", {"child.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "Go on")
    hand.git("switch", "--quiet", "parent")
    hand.git("rebase", "--quiet", "--onto", "parent~2", "parent~1")
    hand.git("rebase", "--quiet", "main")
    hand.git("switch", "--quiet", "main")
    done = hand.run("sync")
    assert done.code == 3, done.err
    asked = "#1 lacks here what the PR seems to have brought; keep it in the branch, or let it go"
    assert f"two.txt: {asked}" in " ".join(done.err.split()), done.err
    desk = hand.fork / ".git/merge_series/worktree"
    assert (desk / "two.txt").read_text() == "1\n"
    hand.git("add", "--all", where=desk)
    on = hand.run("sync", "--continue")
    assert on.code == 0, on.err
    assert hand.files("child") == hand.files("parent") | {"child.txt": "1\n", "two.txt": "1\n"}
    assert "nothing was changed" in hand.run("sync").err


def test_what_a_parent_stood_on_once_stays_where_a_branch_depends_on_it(hand):
    hand.declare("#1 other main", "#2 parent #1", "#3 child #1,#2")
    hand.grow("other", "main", {"other.txt": "1\n"})
    hand.grow("parent", "other", {"parent.txt": "1\n"})
    hand.grow("child", "parent", {"child.txt": "1\n"})
    hand.declare("#1 other main", "#2 parent main", "#3 child #1,#2")
    rebase(hand, {"parent.txt": "2\n"})
    done = hand.run("sync")
    assert done.code in {0, 3}, done.err
    if done.code == 3:
        assert "other.txt" in done.err
        assert (hand.fork / ".git/merge_series/worktree/other.txt").exists()
    else:
        assert hand.files("child")["other.txt"] == "1\n"


def test_a_commit_that_moved_down_into_the_parent_takes_nothing_with_it(hand):
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    hand.grow("child", "parent", {"child.txt": "1\n"}, {"moved.txt": "1\n"}, {"more.txt": "1\n"})
    hand.git("switch", "--quiet", "parent")
    hand.git("cherry-pick", "child~1")
    hand.git("switch", "--quiet", "main")
    before = hand.files("child")
    done = hand.run("sync")
    assert done.code == 3, done.err
    desk = hand.fork / ".git/merge_series/worktree"
    assert {path: (desk / path).read_text() for path in before} == before


@pytest.mark.parametrize("edited", [False, True])
def test_a_rebased_parent_that_landed_before_its_child_saw_it(adopted, edited):
    adopted.squash("parent", "Do parent (#1)")
    if edited:
        adopted.write({"shared.txt": "a\nB\nc\nd\ne!\n"}, adopted.fork)
        adopted.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    done = adopted.run("sync")
    assert done.code == 0, done.err
    assert adopted.files("child") == adopted.files("main") | {"child.txt": "1\n"}
    assert adopted.states() == ["landed", "open"]
    assert "nothing was changed" in adopted.run("sync").err
    assert adopted.run("verify").code == 0


def test_what_several_stand_on_that_is_like_nothing_now_is_for_a_person(hand):
    """Whether the parent was written anew, or a dependency is missing, nothing tells."""
    hand.declare("#1 parent main", "#2 child #1", "#3 other #1")
    older = hand.grow("older", "main", {"older.txt": "1\n"})
    hand.grow("child", "older", {"child.txt": "1\n"})
    hand.grow("other", "older", {"other.txt": "1\n"})
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    hand.git("branch", "--delete", "--force", "older")
    done = hand.run("sync")
    assert done.code == 3, done.err
    assert f"{older[:12]} 'Older 1', which #1 does not: it is taken as an older form" in done.err
    assert "older.txt: #1 lacks here what the PR seems" in " ".join(done.err.split())


def test_a_form_that_somebody_merged_by_hand_is_merged_as_ever(hand):
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"shared.txt": "a\nB\nc\nd\ne\n"})
    hand.grow("child", "parent", {"child.txt": "1\n"})
    rebase(hand, {"shared.txt": "a\nB\nc\nd\ne\n", "more.txt": "1\n"})
    hand.git("switch", "--quiet", "child")
    hand.git("merge", "--quiet", "--no-edit", "parent")
    hand.git("switch", "--quiet", "main")
    hand.commit("parent", {"shared.txt": "a\nB\nc\nD\ne\n"}, "Go on")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert "Replaces" not in hand.message("child")
    assert hand.show("child", "shared.txt") == "a\nB\nc\nD\ne\n"


def test_commits_of_one_second_with_one_subject_are_no_forms_of_one_another(hand):
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    hand.grow("child", "parent", {"child.txt": "1\n"})
    hand.commit("child", {"child.txt": "2\n"}, "Format")
    hand.commit("parent", {"parent.txt": "2\n"}, "Format")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert "Replaces" not in hand.message("child")
