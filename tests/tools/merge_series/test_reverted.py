"""PRs that landed and that main reverts: a person is asked once, and no line goes unasked."""

import itertools
import json

import pytest

ROWS = ("#1 parent main", "#2 child #1", "#3 top #2", "#4 side main")
BROUGHT = {"parent.txt": "parent\n", "shared.txt": "A\nb\nc\nd\ne\n"}
WITHOUT = {"shared.txt": "a\nb\nc\nd\ne\n"}
ANSWERS = {"keep": "--keep-reverted", "let-go": "--drop-reverted"}


@pytest.fixture
def stack(hand):
    """A parent, what stands on it, and a branch beside them that never holds it."""
    hand.declare(*ROWS)
    hand.grow("parent", "main", {**BROUGHT, "dropped.txt": "dropped\n"})
    hand.grow("child", "parent", {"child.txt": "child\n", "dropped.txt": None})
    hand.grow("top", "child", {"top.txt": "top\n"})
    hand.grow("side", "main", {"side.txt": "side\n"})
    return hand


def revert(hand, commit="HEAD"):
    hand.git("revert", "--no-edit", commit)
    return hand.git("rev-parse", "main")


def again(hand, subject):
    """Bring again what the parent brings, as a commit of its own."""
    hand.git("restore", "--source=parent", "--staged", "--worktree", *BROUGHT, "dropped.txt")
    hand.git("commit", "--quiet", "-m", subject)


BRINGS = {
    "reverted again": revert,
    "same number": lambda hand: again(hand, "Do parent, once more (#1)"),
    "other number": lambda hand: again(hand, "Reland Do parent (#9)"),
    "reapplied": lambda hand: again(hand, 'Reapply "Do parent (#1)" (#9)'),
}


def synced(hand, answer):
    """Sync, answer where it asks, and say whether it did; a further sync does nothing."""
    heads, text = hand.heads(), (hand.root / "SERIES.md").read_text()
    done = hand.run("sync")
    is_asked = done.code == 3
    if is_asked:
        assert "main reverts it" in done.err
        assert (hand.heads(), (hand.root / "SERIES.md").read_text()) == (heads, text)
        status = " ".join(hand.run("status").err.split())
        assert "#1 landed, and main reverts it by" in status
        done = hand.run("sync", ANSWERS[answer], "1")
    assert done.code == 0, done.err
    again = hand.run("sync")
    assert (again.code, "nothing was changed" in again.err) == (0, True), again.err
    assert hand.run("verify").code == 0, hand.run("verify").err
    return is_asked


def held(hand, branch):
    """Whether a branch has what the parent brings: all of it or nothing."""
    files = hand.files(branch)
    has = {files.get(path) == text for path, text in BROUGHT.items()}
    assert len(has) == 1, files
    if has == {False}:
        assert {path: files.get(path) for path in WITHOUT} == WITHOUT
    return has == {True}


def run_plan(hand, plan, answers):
    """Carry out acts on main, some with a sync after it, and compare with the texts alone."""
    answers = iter(answers)
    main_has, dependents_have = False, True
    is_unanswered = False
    for act, is_synced in plan:
        if act == "land":
            hand.squash("parent", "Do parent (#1)")
            main_has, is_unanswered = True, False
        elif act == "revert":
            revert(hand)
            main_has, is_unanswered = False, True
        else:
            BRINGS[act](hand)
            main_has, is_unanswered = True, False
        if not is_synced:
            continue
        answer = next(answers)
        assert synced(hand, answer) == is_unanswered, (plan, act)
        if is_unanswered:
            dependents_have = answer == "keep"
            is_unanswered = False
        dependents_have |= main_has
        for branch in ("child", "top"):
            assert held(hand, branch) == dependents_have, (plan, act, branch)
            assert hand.files(branch)["child.txt"] == "child\n"
        assert held(hand, "side") == main_has
        assert hand.files("top")["top.txt"] == "top\n"
        is_open = not main_has and dependents_have
        assert hand.states()[0] == ("open" if is_open else "landed"), (plan, act)
        if is_open:
            assert held(hand, "parent")


def plans():
    """A landing, its revert and what brings it again, with syncs between them."""
    for kind in BRINGS:
        for first, second in itertools.product([True, False], repeat=2):
            if kind == "same number" or (first and second):
                yield ("land", first), ("revert", second), (kind, True)
    # In the end every branch has all of main.
    yield ("land", False), ("revert", True), ("reverted again", True), ("revert", True)


@pytest.mark.parametrize("answer", ["keep", "let-go"])
@pytest.mark.parametrize("plan", list(plans()), ids=str)
def test_no_line_goes_unasked(stack, plan, answer):
    run_plan(stack, plan, itertools.repeat(answer))


def test_a_revert_with_more_in_it_loses_nothing(stack):
    landing = stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    stack.declare("#2 child main", "#3 top #2", "#4 side main")  # who landed has no row any more
    stack.git("branch", "-D", "parent")
    stack.git("revert", "--no-commit", "HEAD")
    stack.write({"shared.txt": "a\nb\nc\nd\nE\n", "more.txt": "more\n"}, stack.fork)
    stack.git("add", "--all")
    stack.git("commit", "--quiet", "-m", 'Revert "Do parent (#1)"')
    commit = stack.git("rev-parse", "main")
    asked = stack.run("sync", "--dry-run")
    assert (asked.code, asked.err) == (
        3,
        (
            f"error: #1 landed, and main reverts it by {commit[:12]} 'Revert \"Do parent (#1)\"'; "
            "nothing was merged. To keep its lines in child, top: "
            f"{stack.typed('sync --keep-reverted 1')}. To let them go with the revert: "
            f"{stack.typed('sync --drop-reverted 1')}\n"
        ),
    )
    done = stack.run("sync", "--keep-reverted", "1")
    assert done.code == 0, done.err
    assert stack.files("top") == {
        "child.txt": "child\n",
        "more.txt": "more\n",
        "notes.txt": "one\ntwo\nthree\n",
        "parent.txt": "parent\n",
        "shared.txt": "A\nb\nc\nd\nE\n",
        "top.txt": "top\n",
    }
    assert (
        stack.message("child")
        == f"""\
Keep #1, which main reverts

Main reverts #1 by {commit[:12]}. This branch keeps what #1 brought,
and takes only what that commit does beyond the revert.

Overrules: {commit} #1
Keeps: {landing}
Signed-off-by: Ada Test <ada@example.org>"""
    )
    assert (
        stack.graph("main", "child")
        == """\
*   Keep #1, which main reverts (child)
|\\
| * Revert "Do parent (#1)" (main)
* | Record that #1 landed in main
|\\|
| * Do parent (#1)
* | Child 1
* | Parent 1
|/
* Start main"""
    )
    assert stack.run("verify").code == 0


def test_what_more_a_revert_does_may_conflict_and_the_answer_is_remembered(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    stack.declare("#2 child main", "#3 top #2", "#4 side main")
    stack.git("branch", "-D", "parent")
    stack.git("revert", "--no-commit", "HEAD")
    stack.write({"child.txt": "main\n"}, stack.fork)
    stack.git("add", "--all")
    stack.git("commit", "--quiet", "-m", 'Revert "Do parent (#1)"')
    value = f"{stack.git('rev-parse', 'main')} #1"
    assert stack.run("sync", "--keep-reverted", "1").code == 3
    desk = stack.fork / ".git/merge_series/worktree"
    assert (desk / "parent.txt").read_text() == "parent\n"
    stack.write({"child.txt": "both\n"}, desk)
    stack.git("add", "--all", where=desk)
    stack.git("commit", "--quiet", "-m", "Settle it in words of my own", where=desk)
    done = stack.run("sync", "--continue")
    assert (done.code, done.err) == (
        3,
        (
            f"error: {desk}: the commit's message no longer records 'Overrules: {value}', by "
            "which nobody is asked again; add it there (git commit --amend --no-edit --trailer "
            f"'Overrules: {value}'), then run {stack.typed('sync --continue')}\n"
        ),
    )
    trailer = f"Overrules: {value}"
    stack.git("commit", "--quiet", "--amend", "--no-edit", "--trailer", trailer, where=desk)
    done = stack.run("sync", "--continue")
    assert done.code == 0, done.err
    assert stack.files("top")["child.txt"] == "both\n"
    assert stack.files("top")["parent.txt"] == "parent\n"
    assert "nothing was changed" in stack.run("sync").err


def test_status_says_of_a_sync_that_waits_that_it_was_answered(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    stack.commit("child", {"new.txt": "child\n"}, "Add a file")
    stack.commit("main", {"new.txt": "main\n"}, "Add it too")
    asked = "To let them go with the revert"
    assert asked in " ".join(stack.run("status").err.split())
    assert stack.run("sync", "--drop-reverted", "1").code == 3
    told = " ".join(stack.run("status").err.split())
    assert asked not in told
    assert "A sync waits for a person at child" in told


def test_commands_that_status_names_stay_whole(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    said = stack.run("status").err.splitlines()
    for option in ("--keep-reverted", "--drop-reverted"):
        assert any(stack.typed(f"sync {option} 1") in line for line in said), said


def test_undo_takes_an_answer_back_and_redo_brings_it_again(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    before = stack.heads()
    assert stack.run("sync", "--keep-reverted", "1").code == 0
    after = stack.heads()
    assert stack.states() == ["open"] * 4
    assert stack.run("undo").code == 0
    assert (stack.heads(), stack.states()) == (before, ["landed", "open", "open", "open"])
    assert stack.run("sync").code == 3
    assert stack.run("redo").code == 0
    assert (stack.heads(), stack.states()) == (after, ["open"] * 4)
    assert "nothing was changed" in stack.run("sync").err


def test_one_commit_may_revert_two_prs_with_an_answer_each(hand):
    hand.declare("#1 one main", "#2 two #1", "#3 three #2")
    hand.grow("one", "main", {"one.txt": "1\n"})
    hand.grow("two", "one", {"two.txt": "2\n"})
    hand.grow("three", "two", {"three.txt": "3\n"})
    for branch, number in (("one", 1), ("two", 2)):
        hand.squash(branch, f"Do {branch} (#{number})")
        assert hand.run("sync").code == 0
    hand.git("revert", "--no-commit", "HEAD", "HEAD~1")
    ids = "\n".join(f"This reverts commit {hand.git('rev-parse', r)}." for r in ("HEAD", "HEAD~1"))
    hand.git("commit", "--quiet", "-m", f"Take both back\n\n{ids}")
    asked = hand.run("sync", "--keep-reverted", "1")
    assert (asked.code, "#2 landed, and" in asked.err, "#1 landed, and" in asked.err) == (
        3,
        True,
        False,
    )
    done = hand.run("sync", "--keep-reverted", "1", "--drop-reverted", "2")
    assert done.code == 0, done.err
    assert hand.states() == ["open", "landed", "open"]
    assert hand.files("one").keys() == {"notes.txt", "shared.txt", "one.txt"}
    assert hand.files("three").keys() == {"notes.txt", "shared.txt", "one.txt", "three.txt"}
    assert "nothing was changed" in hand.run("sync").err


@pytest.mark.parametrize("parent", ["#1", "main"])
def test_one_commit_may_revert_two_prs_that_are_both_kept(hand, parent):
    on = "#2" if parent == "#1" else "#1,#2"
    hand.declare("#1 one main", f"#2 two {parent}", f"#3 three {on}")
    hand.grow("one", "main", {"one.txt": "1\n"})
    hand.grow("two", "one" if parent == "#1" else "main", {"two.txt": "2\n"})
    hand.grow("three", "one", {"three.txt": "3\n"})
    hand.git("switch", "--quiet", "three")
    hand.git("merge", "--quiet", "--no-edit", "two")
    hand.git("switch", "--quiet", "main")
    landed = [hand.squash(branch, f"Do {branch} (#{n})") for branch, n in (("one", 1), ("two", 2))]
    assert hand.run("sync").code == 0
    hand.git("revert", "--no-commit", *reversed(landed))
    ids = "\n".join(f"This reverts commit {sha}." for sha in reversed(landed))
    hand.git("commit", "--quiet", "-m", f"Take both back\n\n{ids}")
    done = hand.run("sync", "--keep-reverted", "1", "--keep-reverted", "2")
    assert done.code == 0, done.err
    notes = {"notes.txt", "shared.txt"}
    two = {"two.txt", "one.txt"} if parent == "#1" else {"two.txt"}
    assert hand.files("one").keys() == notes | {"one.txt"}
    assert hand.files("two").keys() == notes | two
    assert hand.files("three").keys() == notes | {"one.txt", "two.txt", "three.txt"}
    assert "nothing was changed" in hand.run("sync").err


@pytest.mark.parametrize(
    "title",
    [
        'Revert "Do two (#2)" and "Do one (#1)" (#77)',
        'Revert "Do two", "Do one"',
        "Revert #2 and #1 (#77)",
        "Back out #1, #2: they break CI (#77)",
    ],
)
def test_a_title_may_name_several_prs(hand, title):
    hand.declare("#1 one main", "#2 two #1", "#3 three #2")
    hand.grow("one", "main", {"one.txt": "1\n"})
    hand.grow("two", "one", {"two.txt": "2\n"})
    hand.grow("three", "two", {"three.txt": "3\n"})
    for branch, number in (("one", 1), ("two", 2)):
        hand.squash(branch, f"Do {branch} (#{number})")
    assert hand.run("sync").code == 0
    hand.git("revert", "--no-commit", "HEAD", "HEAD~1")
    hand.git("commit", "--quiet", "-m", title)
    asked = hand.run("sync")
    assert (asked.code, "#1 landed, and" in asked.err, "#2 landed, and" in asked.err) == (
        3,
        True,
        True,
    )


@pytest.mark.parametrize("place", ["HEAD", "HEAD~1"])
@pytest.mark.parametrize("is_absorbed", [True, False])
def test_a_revert_of_one_of_two_commits(hand, place, is_absorbed):
    hand.declare("#1 parent main", "#2 child #1")
    files = {"first.txt": "1\n", "second.txt": "2\n"}
    hand.grow("parent", "main", *({name: text} for name, text in files.items()))
    hand.grow("child", "parent", {"first.txt": None, "child.txt": "child\n"})
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    hand.git("cherry-pick", "parent~1", "parent")
    if is_absorbed:
        assert hand.run("sync").code == 0
    revert(hand, place)
    assert hand.run("sync").code == 3
    done = hand.run("sync", "--keep-reverted", "1")
    assert done.code == 0, done.err
    assert hand.states() == ["open", "open"]
    start = {**hand.files("main~3"), "README": "1\n"}
    assert hand.files("parent") == {**start, **files}
    assert hand.files("child") == {**start, "second.txt": "2\n", "child.txt": "child\n"}
    assert "nothing was changed" in hand.run("sync").err


def test_a_dependency_that_never_held_the_pr_takes_nothing_out(hand):
    hand.declare("#1 parent main", "#2 side main", "#3 both #2,#1")
    hand.grow("parent", "main", BROUGHT)
    hand.grow("side", "main", {"side.txt": "side\n"})
    hand.grow("both", "side,parent", {"both.txt": "both\n"})
    hand.squash("parent", "Do parent (#1)")
    assert hand.run("sync").code == 0
    revert(hand)
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    done = hand.run("sync", "--keep-reverted", "1")
    assert done.code == 0, done.err
    assert [held(hand, branch) for branch in ("parent", "side", "both")] == [True, False, True]
    assert hand.files("both")["README"] == "1\n"
    assert "nothing was changed" in hand.run("sync").err


def test_a_landing_between_a_revert_and_a_reland_takes_nothing_out(stack):
    """To absorb it, the branches take main as it was before it: without what was reverted."""
    stack.declare(*ROWS[:3], "#4 side main", "#5 on #3,#4")
    stack.grow("on", "top,side", {"on.txt": "on\n"})
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    stack.squash("side", "Do side (#4)")
    again(stack, "Do parent, once more (#1)")
    done = stack.run("sync")
    assert done.code == 0, done.err
    assert [held(stack, branch) for branch in ("child", "top", "on")] == [True] * 3
    assert "dropped.txt" not in stack.files("on")
    assert "nothing was changed" in stack.run("sync").err


def test_an_answer_that_a_colleague_gave_is_true_for_a_branch_that_lags(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    stack.git("branch", "late", "child")
    revert(stack)
    assert stack.run("sync", "--keep-reverted", "1").code == 0
    stack.declare(*ROWS, "#5 late #2")
    done = stack.run("sync")
    assert done.code == 0, done.err
    assert held(stack, "late")


def test_a_branch_that_is_gone_is_made_again_to_be_open(stack):
    head = stack.heads()["parent"]
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    stack.git("branch", "-D", "parent")
    revert(stack)
    make = f"git branch parent {head[:12]}"
    assert f"open again: {make} && {stack.typed('sync --keep')}" in stack.run("sync").err
    done = stack.run("sync", "--keep-reverted", "1")
    assert (done.code, done.err) == (
        1,
        (
            f"error: {stack.fork}: #1 is to be open again, and its branch parent is not here; "
            f"make it where its commits are: {make}, then run this again\n"
        ),
    )
    stack.git("branch", "parent", head)
    assert stack.run("sync", "--keep-reverted", "1").code == 0
    assert [held(stack, branch) for branch in ("parent", "top")] == [True, True]


def test_an_author_who_went_on_after_the_revert_loses_nothing(stack):
    stack.squash("parent", "Do parent (#1)")
    revert(stack)
    stack.commit("parent", {"mend.txt": "mend\n"}, "Mend it")
    assert stack.run("sync").code == 3
    done = stack.run("sync", "--keep-reverted", "1")
    assert done.code == 0, done.err
    stack.squash("parent", "Do parent, mended (#1)")
    done = stack.run("sync")
    assert done.code == 0, done.err
    assert held(stack, "top")
    assert stack.files("top")["mend.txt"] == "mend\n"
    assert "dropped.txt" not in stack.files("top")


def back_out(hand, files, subject):
    """Bring files back to what they were before the parent landed, without a word of it."""
    hand.git("restore", "--source=:/Start main", "--staged", "--worktree", *files)
    hand.git("commit", "--quiet", "-m", subject)


def in_steps(hand):
    back_out(hand, ["parent.txt", "dropped.txt"], "Remove what nobody uses (#7)")
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    back_out(hand, ["shared.txt"], "And the rest (#8)")
    return 2


def on_a_side(hand):
    hand.git("switch", "--quiet", "--create", "back")
    back_out(hand, [*BROUGHT, "dropped.txt"], "Take it out")
    hand.git("switch", "--quiet", "main")
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    hand.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request #60 from x/side", "back")
    return 1


def at_once(hand):
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    back_out(hand, [*BROUGHT, "dropped.txt"], "Simplify (#7)")
    return 1


def after_a_revert_of_a_part(hand):
    hand.git("revert", "--no-commit", "HEAD")
    hand.git("restore", "--source=HEAD", "--staged", "--worktree", "parent.txt")
    hand.git("commit", "--quiet", "-m", 'Revert "Do parent (#1)"')
    back_out(hand, ["parent.txt"], "Remove what nobody uses (#7)")
    return 2


@pytest.mark.parametrize("answer", ["keep", "let-go"])
@pytest.mark.parametrize("back", [at_once, in_steps, on_a_side, after_a_revert_of_a_part])
def test_what_main_takes_out_without_a_word_is_asked_about(stack, back, answer):
    stack.commit("top", {"shared.txt": "A\nb\nc\nd\nTOP\n"}, "Change what it stands on")
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    count = back(stack)
    said = stack.run("status").err
    assert said.count("#1 landed, and main reverts it by") == 1
    assert said.split("#1 landed")[1].split(";")[0].count(" and ") == count
    assert synced(stack, answer)
    first = "A" if answer == "keep" else "a"
    files = stack.files("top")
    assert ("parent.txt" in files) == (answer == "keep")
    assert files["shared.txt"] == f"{first}\nb\nc\nd\nTOP\n"
    assert held(stack, "child") == (answer == "keep")
    assert stack.states()[0] == ("open" if answer == "keep" else "landed")
    again(stack, "Do parent, once more (#1)")
    assert not synced(stack, answer)
    assert [held(stack, branch) for branch in ("child", "side")] == [True, True]
    assert stack.files("top")["shared.txt"] == "A\nb\nc\nd\nTOP\n"
    assert stack.states()[0] == "landed"


def test_a_rest_that_main_takes_out_later_has_the_answer_of_the_revert(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    stack.git("revert", "--no-commit", "HEAD")
    stack.git("restore", "--source=HEAD", "--staged", "--worktree", "parent.txt")
    stack.git("commit", "--quiet", "-m", 'Revert "Do parent (#1)"')
    assert synced(stack, "keep")
    back_out(stack, ["parent.txt"], "Remove what nobody uses (#7)")
    assert not synced(stack, "keep")
    assert [held(stack, branch) for branch in ("parent", "child", "top")] == [True] * 3


@pytest.mark.parametrize("is_first_merged", [True, False])
def test_what_main_takes_out_in_part_is_a_change_like_any_other(stack, is_first_merged):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    back_out(stack, ["parent.txt", "dropped.txt"], "Remove what nobody uses (#7)")
    stack.commit("main", {"shared.txt": "A\nb\nc\nd\nE\n"}, "Change the end")
    if is_first_merged:
        assert not synced(stack, "keep")
        assert "parent.txt" not in stack.files("child")
    stack.commit("main", {"shared.txt": "a\nb\nc\nd\nE\n"}, "Change the beginning back")
    assert synced(stack, "keep")
    files = stack.files("child")
    assert files["shared.txt"] == "A\nb\nc\nd\nE\n"
    assert ("parent.txt" in files) != is_first_merged


def test_a_landing_of_several_commits_that_is_taken_out_without_a_word(hand):
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"parent.txt": "1\n"}, {"parent.txt": "1\n2\n"})
    hand.grow("child", "parent", {"child.txt": "child\n"})
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    hand.git("cherry-pick", "parent~1", "parent")
    assert hand.run("sync").code == 0
    hand.commit("main", {"parent.txt": None}, "Remove what nobody uses (#7)")
    assert synced(hand, "keep")
    assert hand.files("child")["parent.txt"] == "1\n2\n"


def test_what_main_takes_out_of_a_file_that_it_renamed_is_kept_there(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    stack.git("mv", "shared.txt", "moved.txt")
    stack.git("commit", "--quiet", "-m", "Rename it")
    stack.write({"moved.txt": WITHOUT["shared.txt"], "parent.txt": None}, stack.fork)
    stack.write({"dropped.txt": None}, stack.fork)
    stack.git("commit", "--quiet", "--all", "-m", "Simplify (#7)")
    assert synced(stack, "keep")
    for branch in ("parent", "child", "top"):
        assert stack.files(branch)["moved.txt"] == BROUGHT["shared.txt"]


def test_a_file_that_main_renames_or_rewrites_is_not_taken_out(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    stack.git("mv", "parent.txt", "moved.txt")
    stack.git("commit", "--quiet", "-m", "Rename it")
    stack.commit("main", {"shared.txt": "Z\nb\nc\nd\ne\n"}, "Rewrite it")
    assert not synced(stack, "keep")


def test_what_main_took_out_without_a_word_and_somebody_merged_by_hand_is_found(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    in_steps(stack)
    desk = stack.root / "desk"
    stack.git("worktree", "add", "--quiet", str(desk), "child")
    stack.git("merge", "--quiet", "--no-edit", "main", where=desk)
    (found,) = [
        check["found"]
        for check in json.loads(stack.run("verify", "--json").out)
        if check["name"] == "revert of #1 is meant"
    ]
    commit = stack.git("rev-parse", "--short=12", "main")
    assert found.startswith(f"merged {commit}, which reverts #1 on main, and lost by that what #1")


@pytest.mark.parametrize(
    "message",
    [
        'Revert "Do parent (#1)"',
        'Revert "Do parent (#1)" (#5)',
        "Revert Do parent",
        "Back out #1: it breaks CI (#5)",
        "Take it back\n\nThis backs out commit {landing}.",
        "[core] revert: Do parent (#1)",
        "Take it back (#5)\n\nReverts NVIDIA/Megatron-LM#1",
        "Take it back\n\nThis reverts commit {landing}.",
        'Merge pull request #5 from ada/back\n\nRevert "Do parent (#1)"',
    ],
)
def test_a_revert_is_known_by_what_messages_say(stack, message):
    landing = stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    stack.git("revert", "--no-commit", "HEAD")
    stack.git("commit", "--quiet", "-m", message.format(landing=landing))
    subject = message.partition("\n")[0]
    commit = stack.git("rev-parse", "--short=12", "main")
    said = f"#1 landed, and main reverts it by {commit} '{subject}'; nothing was merged. To keep"
    assert " ".join(stack.run("status").err.split()).count(said) == 1
    assert stack.run("sync").code == 3


def test_a_message_that_only_quotes_a_revert_is_none(stack):
    landing = stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    message = f"Do more (#5)\n\n* Try without\n\nThis reverts commit {landing}.\n\n* Put it back"
    stack.commit("main", {"README": "1\n"}, message)
    done = stack.run("sync")
    assert done.code == 0, done.err
    assert held(stack, "top")


def test_a_revert_that_somebody_merged_by_hand_is_found(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    commit = revert(stack)[:12]
    desk = stack.root / "desk"
    stack.git("worktree", "add", "--quiet", str(desk), "child")
    stack.git("merge", "--quiet", "--no-edit", "main", where=desk)
    assert not held(stack, "child")
    (check,) = [
        check
        for check in json.loads(stack.run("verify", "--json").out)
        if check["name"] == "revert of #1 is meant"
    ]
    assert (check["branch"], check["found"]) == (
        "child",
        (
            f"merged {commit}, which reverts #1 on main, and lost by that what #1 brought to "
            f"parent.txt, shared.txt; bring it back (git revert {commit}), or leave it, in a "
            f"commit whose message names {commit}"
        ),
    )
    stack.git("revert", "--no-edit", commit, where=desk)
    stack.git("worktree", "remove", "--force", str(desk))
    assert held(stack, "child")
    done = stack.run("sync", "--keep-reverted", "1")  # for what is on the branch
    assert done.code == 0, done.err
    assert held(stack, "top")
    assert stack.run("verify").code == 0


def test_a_merge_through_a_branch_that_keeps_nothing_is_not_meant(stack):
    """What a branch that never had the PR records is no answer of one that lost it."""
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    stack.git("branch", "late", "child")
    assert stack.run("sync", "--keep-reverted", "1").code == 0
    stack.declare(*ROWS, "#5 late main", "#6 under main")
    stack.git("branch", "under", "main~2")
    stack.commit("under", {"under.txt": "under\n"}, "Do under")
    desk = stack.root / "desk"
    stack.git("worktree", "add", "--quiet", str(desk), "under")
    message = f"Merge main into under\n\nOverrules: {stack.git('rev-parse', 'main')} #1"
    stack.git("merge", "--quiet", "-m", message, "main", where=desk)
    stack.git("switch", "--quiet", "late", where=desk)
    stack.git("merge", "--quiet", "--no-edit", "under", where=desk)
    assert not held(stack, "late")
    found = {
        check["branch"]: check["found"]
        for check in json.loads(stack.run("verify", "--json").out)
        if check["name"] == "revert of #1 is meant"
    }
    assert [branch for branch, text in found.items() if text] == ["late"]


def test_a_clone_without_the_branch_finds_no_fault_in_what_a_sync_kept(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    assert stack.run("sync", "--keep-reverted", "1").code == 0
    again(stack, "Do parent, once more (#1)")
    assert stack.run("sync").code == 0
    clone = stack.root / "clone"
    stack.git("clone", "--quiet", str(stack.fork), str(clone))
    for branch in ("child", "top", "side"):
        stack.git("branch", "--quiet", branch, f"origin/{branch}", where=clone)
    stack.git("remote", "remove", "origin", where=clone)
    stack.fork.rename(stack.root / "old")
    clone.rename(stack.fork)
    done = stack.run("verify")
    assert done.code == 0, done.err


def test_a_row_that_is_open_by_hand_answers_nothing_where_its_branch_is_at_main(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    stack.git("branch", "--force", "parent", "main")
    stack.declare(*ROWS)
    before = stack.heads()
    assert (stack.run("sync").code, stack.heads()) == (3, before)
    assert stack.run("sync", "--keep-reverted", "1").code == 0
    assert [held(stack, branch) for branch in ("child", "top")] == [True, True]
    assert stack.run("verify").code == 0


def test_a_pr_that_relands_with_more_is_kept_whole(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    assert stack.run("sync", "--drop-reverted", "1").code == 0
    stack.git("restore", "--source=parent", "--staged", "--worktree", *BROUGHT, "dropped.txt")
    stack.write({"parent.txt": "parent\nmore\n"}, stack.fork)
    stack.git("commit", "--quiet", "--all", "-m", "Reland Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    done = stack.run("sync", "--keep-reverted", "1")
    assert done.code == 0, done.err
    for branch in ("parent", "child", "top"):
        assert stack.files(branch)["parent.txt"] == "parent\nmore\n"
    assert "nothing was changed" in stack.run("sync").err


def test_a_landed_branch_that_was_rebased_is_kept_as_it_is(stack):
    stack.commit("main", {"README": "1\n"}, "Add a readme")
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    desk = stack.root / "desk"
    stack.git("worktree", "add", "--quiet", str(desk), "parent")
    stack.git("rebase", "--quiet", "main~2", where=desk)
    stack.git("worktree", "remove", "--force", str(desk))
    mine = stack.heads()["parent"]
    done = stack.run("sync", "--keep-reverted", "1")
    assert done.code == 0, done.err
    assert stack.git("merge-base", mine, "parent") == mine
    assert [held(stack, branch) for branch in ("parent", "child")] == [True, True]


def test_a_branch_with_other_commits_than_the_prs_loses_none_to_the_advice(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    landed = stack.git("rev-parse", "parent")
    revert(stack)
    stack.git("branch", "--force", "parent", "main")
    stack.commit("parent", {"other.txt": "other\n"}, "Do something else")
    done = stack.run("sync", "--keep-reverted", "1")
    assert done.code == 1
    advice = f"git switch parent && git merge {landed[:12]}"
    assert f"{advice}, then run this again" in done.err


def test_who_lets_a_pr_go_is_told_which_prs_stood_on_it(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    done = stack.run("sync", "--drop-reverted", "1")
    assert done.code == 0, done.err
    assert done.err.splitlines()[0] == (
        "#1: what it brought goes from #2 child, #3 top; see that they work without it"
    )


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (
            ("--keep-reverted", "1"),
            1,
            "error: #1: no revert on main waits for an answer",
        ),
        (("--keep-reverted", "one"), 2, "one: write the number of a PR, like 8045"),
        (("--keep-reverted", "1", "--drop-reverted", "1"), 2, "is either kept or let go"),
        (("--continue", "--drop-reverted", "1"), 2, "belongs to the sync that began"),
    ],
)
def test_an_answer_to_no_question_is_refused(stack, options, code, said):
    stack.squash("parent", "Do parent (#1)")
    done = stack.run("sync", *options)
    assert (done.code, said in " ".join(done.err.split())) == (code, True), done.err


@pytest.mark.parametrize("is_synced", [True, False])
def test_a_reland_that_says_nothing_of_it_is_known_by_its_patch(stack, is_synced):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    if is_synced:
        assert stack.run("sync", "--keep-reverted", "1").code == 0
    again(stack, "Try another title (#9)")
    done = stack.run("sync")
    assert done.code == 0, done.err
    assert held(stack, "top")
    assert "dropped.txt" not in stack.files("top")
    assert stack.states() == ["landed", "open", "open", "open"]
    assert "nothing was changed" in stack.run("sync").err


def test_a_revert_of_what_nobody_holds_is_told_and_asks_nothing(hand):
    hand.declare("#1 parent main", "#2 side main")
    hand.grow("parent", "main", BROUGHT)
    hand.grow("side", "main", {"side.txt": "side\n"})
    hand.squash("parent", "Do parent (#1)")
    assert hand.run("sync").code == 0
    commit = revert(hand)[:12]
    assert hand.run("status").err.splitlines()[-1] == (
        f"#1 landed, and main reverts it by {commit} 'Revert \"Do parent (#1)\"'; to bring it "
        "again, write open in its row."
    )
    assert hand.run("sync").code == 0
    hand.declare("#1 parent main open", "#2 side main")
    assert hand.run("sync").code == 3
    assert hand.run("sync", "--keep-reverted", "1").code == 0
    assert held(hand, "parent")


def test_who_let_a_pr_go_and_opens_its_row_is_told_how_to_bring_it_again(stack):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    commit = revert(stack)[:12]
    assert stack.run("sync", "--drop-reverted", "1").code == 0
    stack.declare(*ROWS)
    done = stack.run("sync")
    assert (done.code, done.err.splitlines()[0]) == (
        0,
        (
            f"#1 landed, and main reverts it by {commit} 'Revert \"Do parent (#1)\"', which its "
            "branches follow; to bring it again, first merge main into its branch by hand"
        ),
    )
    desk = stack.root / "desk"
    stack.git("worktree", "add", "--quiet", str(desk), "parent")
    stack.git("merge", "--quiet", "--no-edit", "main", where=desk)
    stack.git("worktree", "remove", "--force", str(desk))
    stack.declare(*ROWS)
    done = stack.run("sync")
    assert done.code == 0, done.err
    assert stack.states() == ["open"] * 4
    assert [held(stack, branch) for branch in ("parent", "child")] == [True, False]


def test_what_whoever_merged_it_added_is_kept_as_well(stack):
    stack.git("merge", "--quiet", "--squash", "parent")
    stack.write({"parent.txt": "parent\nedited\n"}, stack.fork)
    stack.git("commit", "--quiet", "--all", "-m", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    done = stack.run("sync", "--keep-reverted", "1")
    assert done.code == 0, done.err
    for branch in ("parent", "child", "top"):
        assert stack.files(branch)["parent.txt"] == "parent\nedited\n"
    assert "nothing was changed" in stack.run("sync").err


def test_what_relands_is_taken_beside_a_file_of_the_same_text(stack):
    """To git such a file may be the PR's under another name."""
    stack.commit("child", {"same.txt": BROUGHT["parent.txt"]}, "Add a file")
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    revert(stack)
    assert synced(stack, "let-go")
    again(stack, "Do parent, once more (#1)")
    assert not synced(stack, "let-go")
    assert [held(stack, branch) for branch in ("child", "top", "side")] == [True] * 3


@pytest.mark.parametrize("state", ["gone", "main", "older main"])
def test_keeping_needs_a_branch_that_holds_the_pr(stack, state):
    stack.squash("parent", "Do parent (#1)")
    assert stack.run("sync").code == 0
    landed = stack.git("rev-parse", "parent")
    revert(stack)
    stack.git("branch", "-D", "parent")
    if state != "gone":
        stack.git("branch", "parent", {"main": "main", "older main": "main~2"}[state])
    before = stack.heads()
    done = stack.run("sync", "--keep-reverted", "1")
    assert (done.code, stack.heads()) == (1, before), done.err
    force = "" if state == "gone" else "--force "
    command = f"git branch {force}parent {landed[:12]}"
    assert f"{command}, then run this again" in done.err
    stack.git(*command.split()[1:])
    assert stack.run("sync", "--keep-reverted", "1").code == 0
    assert held(stack, "parent")
    assert held(stack, "child")
