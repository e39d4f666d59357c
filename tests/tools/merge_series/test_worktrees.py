"""Branches that are checked out follow with --update-worktrees, or nothing moves at all."""

import json
import os
from pathlib import Path

import pytest

from programs import run

NOTES = "megatron/core/notes.txt"


@pytest.fixture
def desks(world):
    """Two branches checked out in worktrees, and a main that brings files and takes one."""
    world.desks = {}
    for branch in ("offsets", "by-hand"):
        world.desks[branch] = world.root / f"desk of {branch}"
        world.git("worktree", "add", "--quiet", str(world.desks[branch]), branch)
    files = {"README": "new\n", "a/b": "new\n", "megatron/core/__init__.py": "# changed\n"}
    world.commit("main", files, "Add files")
    world.old = world.heads()
    return world


def states(world):
    return {
        branch: (
            world.git("rev-parse", "HEAD", where=desk),
            world.git("status", "--porcelain", "--ignored", where=desk),
        )
        for branch, desk in world.desks.items()
    }


def refused(world, what):
    """A sync that moved nothing and wrote nothing but objects; its one line."""
    before = states(world)
    done = world.run("sync", "--update-worktrees")
    assert done.code == 1, done.err
    line = done.err.splitlines()[-1]
    assert what in line
    assert line.startswith("error: branch ")
    assert (world.heads(), states(world)) == (world.old, before)
    assert not list((world.fork / ".git/merge_series/done").glob("*"))
    return line


def test_a_worktree_follows_its_branch(desks):
    (desks.desks["offsets"] / NOTES).write_text("unsaved\n")
    (desks.desks["by-hand"] / "untracked").write_text("mine\n")
    done = desks.run("sync", "--update-worktrees")
    assert done.code == 0, done.err
    new = desks.heads()
    assert states(desks) == {
        "offsets": (new["offsets"], f" M {NOTES}"),
        "by-hand": (new["by-hand"], "?? untracked"),
    }
    assert (desks.desks["offsets"] / "a/b").read_text() == "new\n"
    assert new["offsets"] != desks.old["offsets"]
    assert desks.run("verify").code == 0


def test_a_file_that_was_only_touched_is_no_local_change(desks):
    os.utime(desks.desks["offsets"] / "megatron/core/__init__.py", (1, 1))
    done = desks.run("sync", "--update-worktrees")
    assert done.code == 0, done.err
    assert states(desks) == {branch: (desks.heads()[branch], "") for branch in desks.desks}


def test_a_dry_run_says_the_same_and_leaves_every_byte(desks):
    before = desks.contents(), states(desks)
    dry = desks.run("sync", "--dry-run", "--update-worktrees")
    assert dry.code == 0, dry.err
    assert (desks.contents(), states(desks)) == before
    done = desks.run("sync", "--update-worktrees")
    assert dry.err == done.err + "Nothing was changed: this was a dry run.\n"


def test_a_staged_change_to_another_file_is_kept(desks):
    desk = desks.desks["offsets"]
    (desk / NOTES).write_text("staged\n")
    desks.git("add", NOTES, where=desk)
    assert desks.run("sync", "--update-worktrees").code == 0
    assert states(desks)["offsets"] == (desks.heads()["offsets"], f"M  {NOTES}")


@pytest.mark.parametrize("staged", [False, True])
def test_a_local_change_stops_every_branch_and_is_kept(desks, staged):
    desk = desks.desks["by-hand"]
    (desk / "megatron/core/__init__.py").write_text("# mine\n")
    if staged:
        desks.git("add", "--all", where=desk)
    line = refused(desks, f"branch by-hand is checked out in {desk} and cannot be fast-forwarded")
    assert "megatron/core/__init__.py" in line
    assert line.endswith("; commit or stash what is changed there")
    assert (desk / "megatron/core/__init__.py").read_text() == "# mine\n"


@pytest.mark.parametrize("ignored", [False, True])
def test_a_file_in_the_place_of_a_new_one_is_kept(desks, ignored):
    desk = desks.desks["offsets"]
    (desk / "README").write_text("mine\n")
    if ignored:
        exclude = desks.fork / ".git/info/exclude"
        exclude.parent.mkdir(exist_ok=True)
        exclude.write_text("README\n")
    refused(desks, "README stands there and is no file of the branch")
    assert (desk / "README").read_text() == "mine\n"


@pytest.mark.parametrize("command", ["merge", "cherry-pick", "revert", "am", "rebase", "bisect"])
def test_a_worktree_with_something_under_way_stops_every_branch(desks, command):
    desk = desks.desks["by-hand"]
    desks.git("branch", "other", "main~1")
    other = desks.commit("other", {NOTES: "one\n2\nthree\n"}, "Digit")
    if command == "am":
        patch = desks.git("format-patch", "--stdout", "-1", other)
        (desks.root / "patch").write_text(patch + "\n")
    run = {
        "merge": ("merge", "other"),
        "cherry-pick": ("cherry-pick", "other"),
        "revert": ("revert", "--no-commit", "HEAD"),
        "am": ("am", str(desks.root / "patch")),
        "rebase": ("rebase", "other"),
        "bisect": ("bisect", "start", "HEAD", "HEAD~1"),
    }[command]
    desks.git(*run, where=desk, check=False)
    desks.old = desks.heads()
    refused(
        desks,
        {
            "merge": "a merge is under way there",
            "cherry-pick": "a cherry-pick is under way there",
            "revert": "a revert is under way there",
            "am": "git am is under way there",
            "rebase": "is being rebased (",
            "bisect": "is being bisected (",
        }[command],
    )


@pytest.mark.parametrize("locked", [False, True])
def test_a_worktree_that_is_away_stops_every_branch(desks, locked):
    desk = desks.desks.pop("by-hand")
    if locked:
        desks.git("worktree", "lock", str(desk))
    desk.rename(desks.root / "away")
    assert desks.run("sync").code == 1
    refused(desks, "the worktree is not there; bring it back or prune it")
    (desks.root / "away").rename(desk)
    assert desks.git("status", "--porcelain", where=desk) == ""


def test_a_worktree_with_a_git_at_work_stops_every_branch(desks):
    found = desks.git("rev-parse", "--absolute-git-dir", where=desks.desks["by-hand"])
    lock = Path(found) / "index.lock"
    lock.touch()
    line = refused(desks, "a git is at work there, or one that was killed left ")
    assert line.endswith(f"left {lock}; wait for it to end, or remove that file")
    lock.unlink()
    assert desks.run("sync", "--update-worktrees").code == 0


def test_without_the_option_nothing_moves(desks):
    done = desks.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            f"error: branch offsets is checked out in {desks.desks['offsets']}; finish there or "
            "switch it to another branch (git switch --detach), then run again, or run "
            f"{desks.typed('sync --update-worktrees')}, which fast-forwards it there\n"
        ),
    )
    assert desks.heads() == desks.old


@pytest.mark.parametrize("brought", ["nothing", "files", "index"])
def test_a_kill_before_a_worktree_followed_is_made_good(desks, brought):
    assert desks.run("sync", "--update-worktrees").code == 0
    desk, old, new = desks.desks["offsets"], desks.old["offsets"], desks.heads()["offsets"]
    record = desks.fork / ".git/merge_series/done/1.json"
    data = json.loads(record.read_text())
    worktrees = {branch: [str(folder)] for branch, folder in desks.desks.items()}
    record.write_text(json.dumps({**data, "state": "moving", "worktrees": worktrees}))
    if brought != "index":
        desks.git("read-tree", "-m", "-u", new, old, where=desk)
    if brought == "files":
        (desk / "README").write_text("new\n")
        (desk / "megatron/core/__init__.py").write_text("# changed\n")
    done = desks.run("sync", "--update-worktrees")
    assert done.code == 0, done.err
    assert done.err.startswith("Repaired: an earlier sync was killed while it moved branches")
    assert states(desks)["offsets"] == (new, "")


def test_a_change_made_after_a_kill_is_kept_and_told(desks):
    assert desks.run("sync", "--update-worktrees").code == 0
    desk, old, new = desks.desks["offsets"], desks.old["offsets"], desks.heads()["offsets"]
    record = desks.fork / ".git/merge_series/done/1.json"
    data = json.loads(record.read_text())
    record.write_text(
        json.dumps({**data, "state": "moving", "worktrees": {"offsets": [str(desk)]}})
    )
    desks.git("read-tree", "-m", "-u", new, old, where=desk)
    changed = desk / "megatron/core/__init__.py"
    changed.write_text("# mine\n")
    done = desks.run("sync", "--update-worktrees")
    assert done.code == 1
    assert done.err == (
        f"error: branch offsets is checked out in {desk} and cannot be fast-forwarded there: "
        "error: Entry 'megatron/core/__init__.py' not uptodate. Cannot merge.; the branch has "
        "moved already: keep your change elsewhere, git restore that file, and run again before "
        "you commit there\n"
    )
    assert changed.read_text() == "# mine\n"
    desks.git("restore", "megatron/core/__init__.py", where=desk)
    assert desks.run("sync", "--update-worktrees").code == 0
    assert states(desks)["offsets"] == (new, "")


def test_a_series_that_its_branch_brings_as_well_stops_every_branch(hand):
    hand.declare("#1 parent main", "#2 child #1")
    series = (hand.root / "SERIES.md").read_text()
    hand.commit("main", {"SERIES.md": series}, "Track the series")
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    hand.grow("child", "parent", {"child.txt": "1\n"})
    hand.commit("main", {"SERIES.md": f"{series}\nMore words.\n"}, "Say more")
    hand.squash("parent", "Do parent (#1)")
    hand.git("switch", "--quiet", "child")
    before = hand.heads()
    tracked = hand.fork / "SERIES.md"
    place = ("--repo", str(hand.fork), "--series", str(tracked))
    done = run("merge_series", *place, "sync", "--update-worktrees", folder=hand.root)
    assert (done.code, done.err.splitlines()[-1]) == (
        1,
        (
            f"error: branch child is checked out in {hand.fork} and cannot be fast-forwarded "
            f"there: {tracked} would be written, and the branch brings it in another form as well; "
            "switch to no branch there (git switch --detach)"
        ),
    )
    assert (hand.heads(), hand.git("status", "--porcelain")) == (before, "")
    hand.git("switch", "--quiet", "--detach")
    done = run("merge_series", *place, "sync", folder=hand.root)
    assert done.code == 0, done.err
    assert hand.git("diff", "--name-only") == "SERIES.md"


@pytest.mark.parametrize(
    ("begun", "continued"),
    [("--update-worktrees", None), (None, "--update-worktrees")],
    ids=["as it began", "as it goes on"],
)
def test_a_continued_sync_brings_them_along_as_well(desks, begun, continued):
    desks.git("worktree", "remove", str(desks.desks.pop("by-hand")))
    desks.commit("main", {NOTES: "one\n2\nthree\n"}, "Digit")
    desk = desks.desks["offsets"]
    if begun is None:
        desks.git("switch", "--quiet", "--detach", where=desk)
    assert desks.run("sync", *filter(None, [begun])).code == 3
    if begun is None:
        desks.git("switch", "--quiet", "offsets", where=desk)
    waits = desks.fork / ".git/merge_series/worktree"
    (waits / NOTES).write_text("settled\n")
    desks.git("add", NOTES, where=waits)
    done = desks.run("sync", "--continue", *filter(None, [continued]))
    assert done.code == 0, done.err
    assert states(desks) == {"offsets": (desks.heads()["offsets"], "")}
