"""What SERIES.md says otherwise than the branches: shown by status, merged or refused by sync."""

import json

import pytest

ANEW = "begin this PR anew on a branch of another name"
STAYS = "what a branch holds cannot be taken out by adding commits"


@pytest.fixture
def fan(hand):
    """Two PRs on one, and a third on both."""
    hand.declare("#1 root main", "#2 left #1", "#3 right #1", "#4 top #2,#3")
    hand.grow("root", "main", {"root.txt": "1\n"})
    hand.grow("left", "root", {"left.txt": "1\n"})
    hand.grow("right", "root", {"right.txt": "1\n"})
    hand.grow("top", "left,right", {"top.txt": "1\n"})
    return hand


def said(hand):
    return json.loads(hand.run("status", "--json").out)["changes"]


def refused(hand):
    before, files = hand.heads(), hand.contents()
    done = hand.run("sync")
    assert hand.heads() == before
    kept = {path for path in hand.contents() if "merge_series" not in path}
    assert kept == {path for path in files if "merge_series" not in path}
    return done


def test_a_stack_that_is_as_declared_has_nothing_to_say(fan):
    assert said(fan) == []
    fan.commit("main", {"README": "1\n"}, "Go on")
    assert fan.run("sync").code == 0
    assert said(fan) == []


def test_an_added_dependency_is_merged_in(fan):
    fan.grow("other", "main", {"other.txt": "1\n"})
    fan.declare("#5 other main", "#1 root main", "#2 left #1,#5", "#3 right #1", "#4 top #2,#3")
    assert said(fan) == [
        "SERIES.md:7: #2 depends on #5 now; a sync merges it into the branch",
    ]
    done = fan.run("sync")
    assert done.code == 0, done.err
    assert (
        fan.graph("main", "left", "other")
        == """\
*   Merge what other does from #5 (left)
|\\
| * Other 1 (other)
* | Left 1
* | Root 1 (root)
|/
* Start main (main)"""
    )
    assert said(fan) == []


def test_a_new_dependency_between_prs_that_shared_one_is_merged_in(fan):
    fan.declare("#1 root main", "#2 left #1", "#3 right #1,#2", "#4 top #2,#3")
    assert said(fan) == ["SERIES.md:7: #3 depends on #2 now; a sync merges it into the branch"]
    assert fan.run("sync").code == 0
    assert set(fan.files("right")) >= {"left.txt", "right.txt"}


def test_a_removed_dependency_that_was_merged_in_is_refused(fan):
    fan.commit("right", {"right.txt": "2\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.declare("#1 root main", "#2 left #1", "#3 right #1", "#4 top #2")
    text = (
        "SERIES.md:8: #4 holds #3, which was merged into it, and does not depend on it now; "
        f"{STAYS}: write the dependency again, or {ANEW}"
    )
    assert said(fan) == [text]
    done = refused(fan)
    assert (done.code, done.err) == (1, f"error: {text}\n")


def test_a_removed_dependency_that_the_branch_began_at_is_refused(fan):
    head = fan.heads()["root"]
    fan.declare("#1 root main", "#2 left main", "#3 right #1", "#4 top #2,#3")
    text = (
        f"SERIES.md:{{}}: {{}} holds {head[:12]} 'Root 1', as #1 and #2 do, none of which depends "
        f"on another or on a PR that brings it; {STAYS}: write the dependency that is missing, or "
        f"{ANEW}"
    )
    assert said(fan) == [text.format(5, "#1"), text.format(6, "#2")]
    done = refused(fan)
    assert (done.code, done.err) == (1, f"error: {text.format(5, '#1')}\n")


def test_a_removed_dependency_is_refused_also_where_another_branch_merged_it(fan):
    first = fan.git("rev-parse", "root")
    fan.commit("root", {"root.txt": "2\n"}, "Go on")
    fan.git("switch", "--quiet", "-c", "five", "left")
    fan.git("merge", "--quiet", "-m", "Merge what root does from #1", "root")
    fan.git("switch", "--quiet", "main")
    fan.declare("#1 root main", "#2 left main", "#3 right #1", "#4 top #2,#3", "#5 five #2,#1")
    text = (
        f"SERIES.md:5: #1 holds {first[:12]} 'Root 1', as #1 and #2 do, none of which depends on "
        f"another or on a PR that brings it; {STAYS}: write the dependency that is missing, or "
        "begin this PR anew on a branch of another name"
    )
    assert text in said(fan)
    done = refused(fan)
    assert (done.code, done.err.splitlines()[-1]) == (1, f"error: {text}")


def test_a_removed_pr_whose_branch_others_contain_is_refused(fan):
    fan.commit("main", {"README": "1\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.declare("#1 root main", "#2 left #1", "#4 top #2")
    merged = (
        "SERIES.md:7: #4 holds #3, which was merged into it, and SERIES.md has no such PR now; "
        f"{STAYS}: give it its row again (with the state landed or superseded, if it is), or "
        f"{ANEW}"
    )
    there = (
        f"SERIES.md:7: #4 holds the branch right at {fan.heads()['right'][:12]}, which no row "
        f"names; if it is a PR of the stack, {STAYS}: give it its row (with the state landed or "
        "superseded, if it is)"
    )
    assert said(fan) == [merged, there]
    done = refused(fan)
    assert (done.code, done.err) == (1, f"error: {merged}\n")


def test_a_removed_pr_that_one_branch_began_at_is_refused(hand):
    hand.declare("#1 par main")
    hand.grow("par", "main", {"par.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    assert hand.run("sync").code == 0
    hand.grow("kid", "par", {"kid.txt": "1\n"})
    hand.declare("#2 kid main")
    done = hand.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            f"error: SERIES.md:5: #2 holds the branch par at {hand.heads()['par'][:12]}, which no "
            "row names; if it is a PR of the stack, what a branch holds cannot be taken out by "
            "adding commits: give it its row (with the state landed or superseded, if it is)\n"
        ),
    )


def test_a_removed_pr_that_nothing_contains_is_no_matter(fan):
    fan.commit("main", {"README": "1\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.declare("#1 root main", "#2 left #1", "#3 right #1")
    assert said(fan) == []
    assert fan.run("sync").code == 0


def test_a_copy_of_a_branch_is_shown_and_no_hindrance(fan):
    head = fan.heads()["left"]
    fan.git("branch", "copy", "left")
    fan.commit("left", {"left.txt": "2\n"}, "Go on")
    assert said(fan) == [
        (
            f"SERIES.md:6: #2 holds the branch copy at {head[:12]}, which no row names; if it is "
            f"a PR of the stack, {STAYS}: give it its row (with the state landed or superseded, if "
            "it is)"
        )
    ]
    assert fan.run("sync").code == 0


def test_prs_in_another_order_are_refused(fan):
    fan.commit("left", {"left.txt": "2\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.declare("#1 root main", "#4 top #1,#3", "#2 left #4", "#3 right #1")
    done = refused(fan)
    assert (done.code, done.err) == (
        1,
        (
            "error: SERIES.md:6: #4 holds #2, which was merged into it, and does not depend on it "
            f"now; {STAYS}: write the dependency again, or {ANEW}\n"
        ),
    )


def test_a_row_with_another_branch_name_says_how_to_rename(fan):
    fan.declare("#1 root main", "#2 links #1", "#3 right #1", "#4 top #2,#3")
    head = fan.heads()["left"][:12]
    text = (
        f"SERIES.md:6: #2 has no branch links here; left at {head} is of this stack and in no row: "
        "if the branch was renamed, run git branch -m left links"
    )
    assert said(fan)[0] == text
    done = refused(fan)
    assert (done.code, done.err) == (1, f"error: {text}\n")
    fan.git("branch", "-m", "left", "links")
    assert said(fan) == []
    assert fan.run("sync").code == 0


def test_a_renamed_branch_that_nothing_contains_is_known_from_the_log(fan):
    fan.commit("main", {"README": "1\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.declare("#1 root main", "#2 left #1", "#3 right #1", "#4 tip #2,#3")
    assert said(fan) == [
        (
            f"SERIES.md:8: #4 has no branch tip here; top at {fan.heads()['top'][:12]} is of this "
            "stack and in no row: if the branch was renamed, run git branch -m top tip"
        )
    ]


def test_a_carried_branch_is_known_by_its_commits(world):
    text = (world.root / "SERIES.md").read_text()
    (world.root / "SERIES.md").write_text(text.replace("`offsets`", "`sizes`"))
    assert said(world) == [
        (
            f"SERIES.md:6: #2 has no branch sizes here; offsets at {world.heads()['offsets'][:12]} "
            "is of this stack and in no row: if the branch was renamed, run git branch -m offsets "
            "sizes"
        )
    ]


def test_the_row_of_a_landed_pr_may_go_when_its_branches_have_absorbed_it(fan):
    fan.squash("root", "Do root (#1)")
    fan.commit("main", {"README": "1\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.git("branch", "-D", "root")
    fan.declare("#2 left main", "#3 right main", "#4 top #2,#3")
    assert said(fan) == []
    fan.commit("main", {"README": "2\n"}, "Go on")
    done = fan.run("sync")
    assert done.code == 0, done.err
