"""What a person settled once is not asked again, and only for the very same conflict."""

import shutil

import pytest

NOTES = "megatron/core/notes.txt"
SETTLED = "one\nTWO (2)\nthree\n"


@pytest.fixture
def settled(world):
    """A sync whose one conflict a person settled; ``before`` are the heads it started from."""
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second as a digit")
    world.before = world.heads()
    assert world.run("sync").code == 3
    world.desk = world.fork / ".git/merge_series/worktree"
    settle(world, {NOTES: SETTLED})
    done = world.run("sync", "--continue")
    assert done.code == 0, done.err
    world.made = world.heads()["by-hand"]
    return world


def settle(world, files):
    world.write(files, world.desk)
    world.git("add", "--all", where=world.desk)


def go_back(world):
    """Put every branch where it was, as an undo does."""
    for branch, head in world.before.items():
        world.git("update-ref", f"refs/heads/{branch}", head)
    shutil.rmtree(world.fork / ".git/merge_series/done")


def test_the_same_conflict_is_settled_again_and_says_by_whom(settled):
    go_back(settled)
    done = settled.run("sync")
    assert done.code == 0, done.err
    assert settled.show("by-hand", NOTES) == SETTLED
    assert (
        settled.message("by-hand")
        == f"""\
Merge the list of reads from #1

Brings {settled.brought()}.

Conflicted, and how each was settled:
- {NOTES}: as Ada Test settled it before

The allowlist holds 1 read, 1 before; 0 gone, none added.

Signed-off-by: Ada Test <ada@example.org>"""
    )


def test_it_outlives_the_merge_and_a_garbage_collection(settled):
    go_back(settled)
    settled.git("reflog", "expire", "--expire=now", "--all")
    settled.git("gc", "--quiet", "--prune=now")
    assert settled.git("cat-file", "-e", settled.made, check=False) == ""
    assert settled.run("sync").code == 0
    assert settled.show("by-hand", NOTES) == SETTLED


def test_the_same_text_on_another_path_is_asked(settled):
    other = "megatron/core/other.txt"
    settled.commit("main", {other: "one\ntwo\nthree\n"}, "Add more notes")
    assert settled.run("sync").code == 0
    settled.commit("by-hand", {other: "one\nTWO\nthree\n"}, "Shout there as well")
    settled.commit("main", {other: "one\n2\nthree\n"}, "Write a digit there as well")
    assert settled.run("sync").code == 3


def test_other_stages_are_asked(settled):
    go_back(settled)
    settled.commit("by-hand", {NOTES: "one\nTWO\nthree\nfour\n"}, "Add a line")
    assert settled.run("sync").code == 3


def test_a_commit_that_the_branch_holds_is_named(hand):
    hand.declare("#1 low main")
    hand.grow("low", "main", {"notes.txt": "one\nTWO\nthree\n"})
    hand.desk = hand.fork / ".git/merge_series/worktree"
    made = []
    for second, settling in (("2", "TWO (2)"), ("two", "TWO")):
        hand.commit("main", {"notes.txt": f"one\n{second}\nthree\n"}, f"Write {second}")
        assert hand.run("sync").code == 3
        settle(hand, {"notes.txt": f"one\n{settling}\nthree\n"})
        assert hand.run("sync", "--continue").code == 0
        made.append(hand.heads()["low"])
    hand.commit("main", {"notes.txt": "one\n2\nthree\n"}, "Write 2 again")
    done = hand.run("sync")
    assert done.code == 0, done.err
    how = f"as Ada Test settled it in {made[0][:12]}"
    assert f"- notes.txt: {how}\n" in hand.message("low")


def test_forget_asks_again(settled):
    go_back(settled)
    done = settled.run("forget", NOTES)
    assert (done.code, done.out, done.err) == (0, "", f"Dropped 1 resolution of {NOTES}.\n")
    assert settled.run("sync", "--dry-run").code == 3
    again = settled.run("forget", NOTES)
    assert (again.code, again.err) == (
        1,
        f"error: {NOTES}: no resolution of this path is kept; none is kept here\n",
    )


def test_forget_names_what_there_is(settled):
    done = settled.run("forget", "README")
    assert (done.code, done.err) == (
        1,
        f"error: README: no resolution of this path is kept; there are resolutions of {NOTES}\n",
    )


def test_a_dry_run_uses_it_and_leaves_every_byte(settled):
    go_back(settled)
    before = settled.contents()
    done = settled.run("sync", "--dry-run")
    assert done.code == 0, done.err
    assert settled.contents() == before


def test_it_is_not_asked_again_on_the_way_up(world):
    series = world.root / "SERIES.md"
    text = series.read_text().replace(
        "\n## #1", "| #4 | `above` | #1 | Also by hand | open |\n\n## #1", 1
    )
    series.write_text(text.replace("|\n\n|", "|\n|") + "\n## #4 Also by hand\n\nText.\n")
    # Two branches with the same change, so the same conflict with what both stand on.
    world.git("branch", "above", "ratchet")
    world.commit("above", {NOTES: "one\nTWO\nthree\n"}, "Shout it here as well")
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second as a digit")
    assert world.run("sync").code == 3
    world.desk = world.fork / ".git/merge_series/worktree"
    settle(world, {NOTES: SETTLED})
    done = world.run("sync", "--continue")
    assert done.code == 0, done.err
    assert world.show("above", NOTES) == SETTLED
    assert f"- {NOTES}: as Ada Test settled it before\n" in world.message("above")


def test_a_dropped_sync_keeps_what_was_settled_in_it(world):
    world.commit("offsets", {NOTES: "one\nTwo\nthree\n"}, "Write the second large")
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second as a digit")
    assert world.run("sync").code == 3
    world.desk = world.fork / ".git/merge_series/worktree"
    settle(world, {NOTES: "one\nTwo (2)\nthree\n"})
    assert world.run("sync", "--continue").code == 3  # by-hand conflicts next
    assert world.run("sync", "--abort").code == 0
    done = world.run("sync")
    assert f"offsets: merged #1, with {world.brought()}, 1 conflict settled\n" in done.err
    assert "by-hand: merging #1 needs a person for:" in done.err


def test_a_settling_that_reaches_beyond_the_conflict_is_named_and_not_used_again(world):
    world.commit("main", {NOTES: "one\n2\nthree\n", "README": "r\n"}, "Change both")
    world.before = world.heads()
    assert world.run("sync").code == 3
    world.desk = world.fork / ".git/merge_series/worktree"
    settle(world, {NOTES: "one\nthree\n", "README": "two\n"})
    done = world.run("sync", "--continue")
    assert done.code == 0
    assert "\n   README\n     merged cleanly, changed by a person\n" in done.err
    assert world.message("by-hand").startswith(
        f"""\
Merge the list of reads from #1

Brings {world.brought()}.

Conflicted, and how each was settled:
- {NOTES}: by a person

Merged cleanly, and changed by a person:
- README
"""
    )
    go_back(world)
    assert world.run("sync", "--dry-run").code == 3


def test_a_faulty_record_is_named(settled):
    go_back(settled)
    (file,) = (settled.fork / ".git/merge_series/resolutions").glob("*.json")
    file.write_text("{}")
    done = settled.run("sync")
    assert (done.code, done.err.splitlines()[-1]) == (
        1,
        f"error: {file}: no resolution of this version of the program; move it away",
    )


def test_what_was_settled_together_is_used_together(hand):
    """One file took what the other gave up, and where only one conflicts that would be lost."""
    hand.declare("#1 first main", "#2 second main")
    hand.commit("main", {"x.py": "def f(): return 1\n", "y.py": "Y = 1\n"}, "Add f")
    hand.grow("first", "main", {"x.py": "def f(): return 2\n", "y.py": "Y = 2\n"})
    hand.grow("second", "main", {"x.py": "def f(): return 2\n"})
    hand.commit("main", {"x.py": "def f(): return 3\n", "y.py": "Y = 3\n"}, "Go on")
    assert hand.run("sync").code == 3
    hand.desk = hand.fork / ".git/merge_series/worktree"
    settle(hand, {"x.py": "# f is in y\n", "y.py": "Y = 2\n\n\ndef f(): return 2\n"})
    done = hand.run("sync", "--continue")
    assert done.code == 3, done.err
    second, main = (hand.named(branch) for branch in ("second", "main"))
    assert f"  x.py: the branch's {second} and main's {main} both changed line 1\n" in done.err
    settle(hand, {"x.py": "def f(): return 2\n"})
    assert hand.run("sync", "--continue").code == 0
    assert hand.run("undo").code == 0
    done = hand.run("sync")
    # The last settling of x.py is alone; that of y.py belongs to another.
    assert done.code == 3, done.err
    first = hand.named("first")
    assert f"  y.py: the branch's {first} and main's {main} both changed line 1\n" in done.err
