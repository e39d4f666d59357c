"""Siblings that landed as one commit of main, which main reverts and brings again."""

import itertools

import pytest

KEEPS = list(itertools.product([True, False], repeat=2))
NOTES = {"notes.txt": "one\ntwo\nthree\n", "shared.txt": "a\nb\nc\nd\ne\n"}
BRINGS = {
    "left": {"left.txt": "left\n", "notes.txt": "ONE\ntwo\nthree\n"},
    "right": {"right.txt": "right\n", "notes.txt": "one\ntwo\nTHREE\n"},
}


@pytest.fixture
def siblings(hand):
    """Two PRs that landed as one, and PRs above the one and above both."""
    hand.declare("#1 left main", "#2 right main", "#3 on-left #1", "#4 both #1,#2")
    for branch, files in BRINGS.items():
        hand.grow(branch, "main", files)
    hand.grow("on-left", "left", {"on-left.txt": "on left\n"})
    hand.grow("both", "left,right", {"both.txt": "both\n"})
    land(hand)
    return hand


def land(hand, branches=("left", "right"), subject="Do both (#1, #2)"):
    hand.commit("main", having(branches), subject)


def having(branches):
    """The files of a tree that has what some of the two bring."""
    files = NOTES.copy()
    for branch in branches:
        files |= {path: text for path, text in BRINGS[branch].items() if path != "notes.txt"}
    first = "ONE" if "left" in branches else "one"
    third = "THREE" if "right" in branches else "three"
    return files | {"notes.txt": f"{first}\ntwo\n{third}\n"}


def synced(hand, *answers):
    done = hand.run("sync", *answers)
    assert done.code == 0, done.err
    again = hand.run("sync")
    assert (again.code, "nothing was changed" in again.err) == (0, True), again.err
    verified = hand.run("verify")
    assert verified.code == 0, verified.out


@pytest.mark.parametrize("keeps", KEEPS)
@pytest.mark.parametrize("is_absorbed", [True, False])
@pytest.mark.parametrize("relands", ["none", "both", "left"])
def test_each_pr_has_an_answer_of_its_own(siblings, keeps, is_absorbed, relands):
    hand = siblings
    if is_absorbed:
        synced(hand)
    hand.git("revert", "--no-edit", "HEAD")
    options = ["--keep-reverted" if keep else "--drop-reverted" for keep in keeps]
    synced(hand, *(f"{option}={n}" for n, option in enumerate(options, 1)))
    kept = [branch for branch, keep in zip(BRINGS, keeps, strict=True) if keep]
    left = [branch for branch in kept if branch == "left"]
    assert hand.files("both") == having(kept) | {"both.txt": "both\n"}
    assert hand.files("on-left") == having(left) | {"on-left.txt": "on left\n"}
    for branch in kept:
        assert hand.files(branch) == having([branch])
    states = ["open" if keep else "landed" for keep in keeps]
    assert hand.states() == [*states, "open", "open"]
    if relands == "none":
        return
    again = ["left", "right"] if relands == "both" else ["left"]
    land(hand, again, "Do it again (#1, #2)" if relands == "both" else "Do it again (#1)")
    synced(hand)
    assert hand.files("both") == having({*kept, *again}) | {"both.txt": "both\n"}
    assert hand.files("on-left") == having(again) | {"on-left.txt": "on left\n"}


def test_a_revert_is_of_all_that_branches_record_of_a_landing(hand):
    """Main names neither PR, and branches of one of them record that one alone."""
    hand.declare("#1 left main", "#2 right main", "#3 both #1,#2", "#4 on-left #1", "#5 beside #2")
    for branch, files in BRINGS.items():
        hand.grow(branch, "main", files)
    hand.grow("both", "left,right", {"both.txt": "both\n"})
    hand.grow("on-left", "left", {"on-left.txt": "on left\n"})
    hand.grow("beside", "right", {"beside.txt": "beside\n"})
    land(hand, subject="Do both")
    synced(hand, "--landed=1=main", "--landed=2=main")
    hand.git("revert", "--no-edit", "HEAD")
    asked = hand.run("sync")
    assert [f"#{n} landed, and main reverts it by" in asked.err for n in (1, 2)] == [True, True]
    synced(hand, "--keep-reverted=1", "--drop-reverted=2")
    assert hand.files("both") == having(["left"]) | {"both.txt": "both\n"}
    assert hand.files("on-left") == having(["left"]) | {"on-left.txt": "on left\n"}
    assert hand.files("beside") == having([]) | {"beside.txt": "beside\n"}


def test_two_of_three_are_not_kept_without_the_third(hand):
    names = ("first", "second", "third")
    hand.declare(*(f"#{n} {name} main" for n, name in enumerate(names, 1)), "#4 all #1,#2,#3")
    for name in names:
        hand.grow(name, "main", {f"{name}.txt": f"{name}\n"})
    hand.grow("all", ",".join(names), {"all.txt": "all\n"})
    hand.commit("main", {f"{name}.txt": f"{name}\n" for name in names}, "Do all (#1, #2, #3)")
    synced(hand)
    hand.git("revert", "--no-edit", "HEAD")
    heads = hand.heads()
    done = hand.run("sync", "--keep-reverted=1", "--drop-reverted=2", "--keep-reverted=3")
    assert (done.code, hand.heads()) == (1, heads)
    assert (
        f"all: {heads['main'][:12]} reverts what landed as one, so this branch cannot keep #1 and "
        "#3 and let the rest go; give the same answer for all\n"
    ) in done.err
    synced(hand, *(f"--keep-reverted={n}" for n in (1, 2, 3)))
    assert hand.files("all").keys() >= {f"{name}.txt" for name in (*names, "all")}
