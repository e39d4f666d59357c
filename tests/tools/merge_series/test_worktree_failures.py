"""What git cannot write into a worktree leaves refs, index and files as they were."""

import json
from pathlib import Path

import pytest

NOTES = "megatron/core/notes.txt"
COUNTING = "n=$(cat count); echo $((n + 1)) >count; [ $n -lt {} ] && cat"


@pytest.fixture
def desks(world):
    """Branches in worktrees of their own, and a main whose new files take a filter."""
    world.desks = {}
    for branch in ("ratchet", "offsets", "by-hand"):
        world.desks[branch] = world.root / f"desk of {branch}"
        world.git("worktree", "add", "--quiet", str(world.desks[branch]), branch)
    files = {"x.bin": "x\n", "new/y.bin": "y\n", "megatron/core/__init__.py": "# changed\n"}
    world.commit("main", {".gitattributes": "*.bin filter=big\n"}, "Set a filter")
    world.commit("main", {**files, "megatron/core/sizes.txt": "1\n"}, "Add files")
    world.git("config", "filter.big.required", "true")
    world.git("config", "filter.big.clean", "cat")
    return world


def everything(world):
    """Refs, and of each worktree its files, its index and what git says of it."""
    made = {}
    for branch, desk in world.desks.items():
        found = [p for p in desk.rglob("*") if p.is_file() and p.name not in {".git", "count"}]
        folder = world.git("rev-parse", "--absolute-git-dir", where=desk)
        made[branch] = (
            {str(p.relative_to(desk)): p.read_bytes() for p in found},
            sorted(str(p) for p in desk.rglob("*") if p.is_dir()),
            world.git("status", "--porcelain", "--ignored", where=desk).replace("?? count", ""),
            world.git("ls-files", "--stage", where=desk),
            sorted(file.name for file in Path(folder).iterdir() if file.name != "ORIG_HEAD"),
        )
    journal = sorted((world.fork / ".git/merge_series/done").glob("*"))
    return world.heads(), made, journal, world.git("worktree", "list")


def refused(world, *arguments):
    before = everything(world)
    done = world.run("sync", "--update-worktrees", *arguments)
    assert done.code == 1, done.err
    assert everything(world) == before
    return done.err.splitlines()[-1]


def test_a_filter_that_fails_moves_nothing(desks):
    desks.git("config", "filter.big.smudge", "false")
    line = refused(desks)
    assert line.startswith(
        f"error: branch ratchet is checked out in {desks.desks['ratchet']} and cannot be "
        "fast-forwarded there: error: external filter 'false' failed 1"
    )
    assert "smudge filter big failed; it is put back as it was; no branch has moved" in line
    desks.git("config", "filter.big.smudge", "cat")
    done = desks.run("sync", "--update-worktrees")
    assert done.code == 0, done.err
    assert {desks.git("status", "--porcelain", where=d) for d in desks.desks.values()} == {""}
    assert (desks.desks["by-hand"] / "new/y.bin").read_text() == "y\n"


@pytest.mark.parametrize("failing", ["offsets", "by-hand"])
def test_a_filter_that_fails_in_one_of_several_worktrees_moves_nothing(desks, failing):
    for branch, desk in desks.desks.items():
        (desk / "count").write_text("9\n" if branch == failing else "0\n")
        (desk / NOTES).write_text("mine\n")
    desks.git("config", "filter.big.smudge", COUNTING.format(9))
    line = refused(desks)
    assert f"branch {failing} is checked out in {desks.desks[failing]} and cannot" in line


def test_a_filter_that_fails_for_what_is_there_as_well_keeps_it(desks):
    desks.git("config", "filter.big.smudge", "cat")
    assert desks.run("sync", "--update-worktrees").code == 0
    desks.commit("main", {"x.bin": "x\n" * 2, "new/y.bin": None}, "Change them")
    desks.git("config", "filter.big.smudge", "false")
    assert "smudge filter big failed" in refused(desks)
    assert (desks.desks["offsets"] / "x.bin").read_text() == "x\n"
    assert (desks.desks["offsets"] / "new/y.bin").read_text() == "y\n"


def test_a_filter_process_that_fails_moves_nothing(desks):
    desks.git("config", "filter.big.process", "false")
    # Git says it is fatal or an error, by how far it came before the process was gone.
    assert "cannot be fast-forwarded there: " in refused(desks)


def test_a_filter_that_need_not_succeed_stops_nothing(desks):
    desks.git("config", "filter.big.required", "false")
    desks.git("config", "filter.big.smudge", "false")
    assert desks.run("sync", "--update-worktrees").code == 0
    assert (desks.desks["offsets"] / "x.bin").read_text() == "x\n"


def test_a_filter_of_a_file_that_is_left_out_is_not_run(desks):
    for desk in desks.desks.values():
        desks.git("sparse-checkout", "set", "--no-cone", "/megatron/", "/*.md", where=desk)
    desks.git("config", "filter.big.smudge", "false")
    assert desks.run("sync", "--update-worktrees").code == 0
    assert not (desks.desks["offsets"] / "x.bin").exists()
    assert desks.git("status", "--porcelain", where=desks.desks["offsets"]) == ""


def test_a_ref_that_cannot_move_leaves_the_worktrees_as_well(desks):
    desks.git("config", "filter.big.smudge", "cat")
    hook = desks.fork / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n[ $1 != prepared ] || ! grep -q refs/heads/\n")
    hook.chmod(0o755)
    line = refused(desks)
    assert "no branch has moved" in line
    hook.unlink()
    assert desks.run("sync", "--update-worktrees").code == 0


@pytest.mark.parametrize("brought", ["nothing", "one", "all", "files"])
def test_worktrees_that_a_kill_left_ahead_of_their_refs_are_brought_back(desks, brought):
    desks.git("config", "filter.big.smudge", "cat")
    before = everything(desks)
    old = desks.heads()
    assert desks.run("sync", "--update-worktrees").code == 0
    new = desks.heads()
    record = desks.fork / ".git/merge_series/done/1.json"
    data = json.loads(record.read_text())
    worktrees = {branch: [str(folder)] for branch, folder in desks.desks.items()}
    record.write_text(json.dumps({**data, "state": "moving", "worktrees": worktrees}))
    for number, (branch, desk) in enumerate(desks.desks.items()):
        desks.git("update-ref", f"refs/heads/{branch}", old[branch])
        if brought == "nothing" or (brought == "one" and number):
            desks.git("read-tree", "-m", "-u", new[branch], old[branch], where=desk)
        if brought == "files":  # some, and the index is not written yet
            desks.git("read-tree", "-m", "-u", new[branch], old[branch], where=desk)
            kept = Path(desks.git("rev-parse", "--absolute-git-dir", where=desk))
            kept /= "merge_series.before/files/megatron/core"
            kept.mkdir(parents=True)
            (desk / "megatron/core/__init__.py").rename(kept / "__init__.py")
            (desk / "x.bin").write_text("x\n")
    done = desks.run("sync")
    assert done.code == 1  # after the repair: branches are checked out
    assert "an earlier sync was killed before it moved any branch" in done.err
    assert everything(desks) == before


@pytest.fixture
def stopping(world):
    """A sync that will need a person, in a worktree where a filter fails."""
    world.commit("main", {".gitattributes": "*.bin filter=big\n"}, "Set a filter")
    files = {NOTES: "one\n2\nthree\n", "x.bin": "x\n"}
    world.commit("main", files, "Write the second as a digit")
    world.git("config", "filter.big.required", "true")
    world.git("config", "filter.big.clean", "cat")
    world.git("config", "filter.big.smudge", "false")
    world.desks = {}
    return world


def test_a_merge_that_cannot_be_checked_out_for_a_person_stops_nothing(stopping):
    line = refused(stopping)
    assert line.startswith(
        "error: by-hand: merging #1 needs a person, and git cannot check it out in "
        f"{stopping.fork}/.git/merge_series/worktree: git read-tree failed with status 128: "
    )
    assert line.endswith(
        "smudge filter big failed; no branch has moved; correct what it names, then run "
        f"{stopping.typed('sync')}"
    )
    assert not (stopping.fork / ".git/merge_series/stopped.json").exists()
    stopping.git("config", "filter.big.smudge", "cat")
    assert stopping.run("sync").code == 3


def test_what_a_person_settled_is_kept_where_the_next_merge_cannot_be_checked_out(hand):
    hand.declare("#1 one main", "#2 two #1")
    hand.grow("one", "main", {"notes.txt": "ONE\ntwo\nthree\n"})
    hand.grow("two", "one", {"notes.txt": "ONE\nTWO\nthree\n"})
    hand.commit("main", {"notes.txt": "1\ntwo\nthree\n"}, "Digit")
    assert hand.run("sync").code == 3
    desk = hand.fork / ".git/merge_series/worktree"
    (desk / "notes.txt").write_text("ONE (1)\n2\nthree\n")
    hand.git("add", "notes.txt", where=desk)
    (hand.fork / ".git/info").mkdir(exist_ok=True)
    (hand.fork / ".git/info/attributes").write_text("shared.txt filter=big\n")
    hand.git("config", "filter.big.required", "true")
    hand.git("config", "filter.big.clean", "cat")
    hand.git("config", "filter.big.smudge", "false")
    before = hand.heads()
    done = hand.run("sync", "--continue")
    assert done.code == 1
    assert done.err.endswith(f"correct what it names, then run {hand.typed('sync --continue')}\n")
    assert hand.heads() == before
    hand.git("config", "filter.big.smudge", "cat")
    assert hand.run("sync", "--continue").code == 3
    (desk / "notes.txt").write_text("both\n")
    hand.git("add", "notes.txt", where=desk)
    assert hand.run("sync", "--continue").code == 0
    assert hand.show("one", "notes.txt") == "ONE (1)\n2\nthree\n"
