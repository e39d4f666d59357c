"""PRs that landed and that main reverts: a person is asked once, and no line goes unasked."""

import itertools

import pytest

ROWS = ("#1 parent main", "#2 child #1", "#3 top #2", "#4 side main")
BROUGHT = {"parent.txt": "parent\n", "notes.txt": "one\nTWO\nthree\n"}
WITHOUT = {"notes.txt": "one\ntwo\nthree\n"}
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


@pytest.mark.parametrize("answer", ["keep", "let-go"])
@pytest.mark.parametrize("plan", list(plans()), ids=str)
def test_no_line_goes_unasked(stack, plan, answer):
    run_plan(stack, plan, itertools.repeat(answer))
