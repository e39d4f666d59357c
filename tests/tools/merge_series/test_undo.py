"""undo and redo: an operation's branches moved back, and forth again, or not at all."""

import json
import subprocess
import sys

import pytest

BRANCHES = ("ratchet", "offsets", "by-hand")


@pytest.fixture
def twice(world):
    """Two syncs, with the heads before, between and after them."""
    world.states = [world.heads()]
    for number in (1, 2):
        world.commit("main", {"README": f"{number}\n"}, f"Write {number}")
        assert world.run("sync").code == 0
        world.states.append(world.heads())
    world.main = world.heads()["main"]
    return world


def stands(world, number):
    """Whether every branch stands where it stood after that many syncs, and main where it was."""
    return world.heads() == {**world.states[number], "main": world.main}


def test_undo_goes_back_one_sync_at_a_time_and_redo_forth(twice):
    one, two = twice.states[1:]
    done = twice.run("undo")
    assert done.code == 0, done.err
    assert done.err == f"Took back sync 2; {twice.typed('redo')} brings it again.\n" + "".join(
        f"  {branch}: {two[branch][:9]} -> {one[branch][:9]}\n" for branch in BRANCHES
    )
    assert stands(twice, 1)
    reflog = twice.git("reflog", "show", "--format=%gs", "offsets").splitlines()[0]
    assert reflog == "merge_series: undo of sync 2"
    assert twice.run("undo").code == 0
    assert stands(twice, 0)
    assert twice.run("verify").code == 0
    done = twice.run("undo")
    assert (done.code, done.err) == (
        1,
        (
            "error: no operation of merge_series is left to undo here; "
            f"{twice.typed('log')} lists the syncs\n"
        ),
    )
    done = twice.run("redo")
    assert done.err.splitlines()[0] == "Brought sync 1 again."
    assert stands(twice, 1)
    assert twice.run("redo").code == 0
    assert stands(twice, 2)
    assert twice.git("for-each-ref", "refs/merge_series") == ""
    done = twice.run("redo")
    assert (done.code, done.err) == (
        1,
        (
            "error: no operation was undone since the last one; there is nothing to redo; "
            f"{twice.typed('undo')} comes first\n"
        ),
    )


def test_what_was_undone_survives_a_garbage_collection(twice):
    assert twice.run("undo").code == 0
    twice.git("reflog", "expire", "--expire=now", "--all")
    twice.git("gc", "--quiet", "--prune=now")
    assert twice.run("redo").code == 0
    assert stands(twice, 2)


def test_a_new_operation_drops_what_was_undone(twice):
    assert twice.run("undo").code == 0
    twice.commit("main", {"README": "3\n"}, "Write 3")
    assert twice.run("sync").code == 0
    assert twice.git("for-each-ref", "refs/merge_series") == ""
    folder = twice.fork / ".git/merge_series/done"
    assert sorted(file.name for file in folder.iterdir()) == ["1.json", "3.json"]
    done = twice.run("redo")
    assert (done.code, "there is nothing to redo" in done.err) == (1, True)
    assert twice.run("undo").code == 0
    assert stands_but_main(twice, 1)


def stands_but_main(world, number):
    now, then = world.heads(), world.states[number]
    return all(now[branch] == then[branch] for branch in BRANCHES)


def test_a_sync_with_nothing_to_do_drops_nothing(twice):
    assert twice.run("undo").code == 0
    assert twice.run("redo").code == 0
    assert twice.run("sync").code == 0
    assert twice.run("undo").code == 0
    assert stands(twice, 1)


def test_no_undo_over_a_branch_that_moved_since(twice):
    moved = twice.commit("by-hand", {"more": "1\n"}, "Go on")
    before = twice.heads()
    done = twice.run("undo")
    assert (done.code, done.err) == (
        1,
        (
            f"error: branch by-hand stands at {moved[:12]} and no longer at "
            f"{twice.states[2]['by-hand'][:12]}, where the undo of sync 2 would move it from; "
            "nothing was moved; leave all as it is, or keep what it holds now (git branch NEW "
            "by-hand) and set it back (git branch --force by-hand "
            f"{twice.states[2]['by-hand'][:12]})\n"
        ),
    )
    assert twice.heads() == before


def test_no_redo_over_a_branch_that_moved_since(twice):
    assert twice.run("undo").code == 0
    moved = twice.commit("by-hand", {"more": "1\n"}, "Go on")
    before = twice.heads()
    done = twice.run("redo")
    assert done.code == 1
    assert done.err.startswith(f"error: branch by-hand stands at {moved[:12]} and no longer at ")
    assert twice.heads() == before


@pytest.mark.parametrize("reflogs", ["true", "false"])
@pytest.mark.parametrize("command", ["undo", "redo"])
def test_a_branch_that_was_renamed_is_named_back_for_it(twice, command, reflogs):
    if reflogs == "false":
        (twice.fork / ".git/logs/refs/heads/by-hand").unlink()
        twice.git("config", "core.logAllRefUpdates", "false")
    if command == "redo":
        assert twice.run("undo").code == 0
    twice.git("branch", "-m", "by-hand", "by-feet")
    twice.git("branch", "other", "ratchet")
    before = twice.heads()
    done = twice.run(command)
    assert (done.code, done.err) == (
        1,
        (
            "error: branch by-hand is gone, and by-feet seems to be it under another name; the "
            f"{command} of sync 2 would move by-hand; nothing was moved; name it back (git branch "
            "-m by-feet by-hand), run this again, then rename it again (git branch -m by-hand "
            "by-feet)\n"
        ),
    )
    assert twice.heads() == before
    twice.git("branch", "-m", "by-feet", "by-hand")
    assert twice.run(command).code == 0
    twice.git("branch", "-m", "by-hand", "by-feet")
    series = twice.root / "SERIES.md"
    series.write_text(series.read_text().replace("`by-hand`", "`by-feet`"))
    assert twice.heads()["by-feet"] == twice.states[1 if command == "undo" else 2]["by-hand"]
    twice.commit("main", {"README": "3\n"}, "Write 3")
    assert twice.run("sync").code == 0


def test_a_renamed_branch_that_went_on_is_known_by_its_reflog(twice):
    twice.git("branch", "-m", "by-hand", "by-feet")
    twice.commit("by-feet", {"more": "1\n"}, "Go on")
    done = twice.run("undo")
    assert done.code == 1
    assert done.err.startswith("error: branch by-hand is gone, and by-feet seems to be it under ")


def test_a_branch_that_is_gone_has_no_other_name(twice):
    twice.git("branch", "-D", "by-hand")
    done = twice.run("undo")
    assert (done.code, done.err) == (
        1,
        (
            "error: branch by-hand is gone and no longer at "
            f"{twice.states[2]['by-hand'][:12]}, where the undo of sync 2 would move it from; "
            "nothing was moved; leave all as it is, or make it again (git branch by-hand "
            f"{twice.states[2]['by-hand'][:12]})\n"
        ),
    )


@pytest.mark.parametrize("command", ["undo", "redo"])
def test_a_branch_that_is_checked_out_is_not_moved(twice, command):
    if command == "redo":
        assert twice.run("undo").code == 0
    twice.git("switch", "--quiet", "offsets")
    before = twice.heads()
    done = twice.run(command)
    assert (done.code, done.err) == (
        1,
        (
            f"error: branch offsets is checked out in {twice.fork}; finish there or switch it to "
            "another branch (git switch --detach), then run again\n"
        ),
    )
    assert (twice.heads(), twice.git("status", "--porcelain")) == (before, "")


def test_what_was_pushed_is_not_taken_back(twice):
    twice.git("clone", "--quiet", "--bare", str(twice.fork), str(twice.root / "there"))
    twice.git("remote", "add", "origin", str(twice.root / "there"))
    twice.git("fetch", "--quiet", "origin")
    done = twice.run("undo")
    assert (done.code, done.err) == (
        1,
        (
            "error: refs/remotes/origin/by-hand holds what sync 2 made: it was pushed, and taking "
            "it back would break review links; nothing was moved; mend what is wrong by a "
            "further commit\n"
        ),
    )
    assert stands(twice, 2)
    # To set a branch back that went on would be for nothing.
    twice.commit("by-hand", {"more": "1\n"}, "Go on")
    assert twice.run("undo").err == done.err


def test_undo_waits_for_a_sync_that_waits_for_a_person(twice):
    twice.commit("main", {"megatron/core/notes.txt": "one\n2\nthree\n"}, "Digit")
    assert twice.run("sync").code == 3
    for command in ("undo", "redo"):
        done = twice.run(command)
        assert done.code == 5
        assert done.err.startswith("error: a sync waits for a person at by-hand in ")


def test_only_so_many_operations_are_kept(twice):
    folder = twice.fork / ".git/merge_series/done"
    first = json.loads((folder / "1.json").read_text())
    (folder / "2.json").rename(folder / "150.json")
    last = json.loads((folder / "150.json").read_text())
    (folder / "150.json").write_text(json.dumps({**last, "number": 150}))
    for number in range(2, 120):
        (folder / f"{number}.json").write_text(json.dumps({**first, "number": number}))
    twice.commit("main", {"README": "3\n"}, "Write 3")
    assert twice.run("sync").code == 0
    numbers = sorted(int(file.stem) for file in folder.iterdir())
    assert numbers == [*range(22, 120), 150, 151]


# Operations that make branches and write files, as other commands ask for them

MAKE = """\
import sys
from pathlib import Path
from merge_series.operations import Operations
from merge_series.journal import FileChange
from stack.repository import Repository

with Repository.open(Path(sys.argv[1])) as repository:
    operations = Operations(repository)
    head = repository.resolve("offsets")
    file = FileChange(sys.argv[2], "before\\n", "after\\n")
    with operations.lock():
        operations.move("fold", head, {"made": None}, {"made": head}, (), (file,))
"""


@pytest.fixture
def made(twice):
    """An operation that made a branch and wrote a file."""
    twice.file = twice.root / "notes.md"
    twice.file.write_text("before\n")
    twice.file.chmod(0o640)
    script = twice.root / "make.py"
    script.write_text(MAKE)
    subprocess.run([sys.executable, script, twice.fork, twice.file], check=True)
    assert twice.file.read_text() == "after\n"
    return twice


def diff(file, old, new):
    return f"--- {file}\n+++ {file}\n@@ -1 +1 @@\n-{old}\n+{new}\n"


def changed(file, old, new, is_kept="is changed"):
    return f"{file} {is_kept}:\n{diff(file, old, new)}"


@pytest.mark.parametrize(
    ("command", "old", "new"), [("undo", "after", "before"), ("redo", "before", "after")]
)
def test_a_dry_run_shows_what_a_file_would_become(made, command, old, new):
    if command == "redo":
        assert made.run("undo").code == 0
    done = made.run(command, "--dry-run")
    assert done.err.endswith(changed(made.file, old, new, "would change")), done.err
    assert made.file.read_text() == f"{old}\n"


def test_a_branch_that_was_made_goes_and_comes_back_with_the_file(made):
    head = made.heads()["made"]
    done = made.run("undo")
    assert (done.code, done.err) == (
        0,
        f"Took back fold 3; {made.typed('redo')} brings it again.\n"
        f"  made: {head[:9]} -> gone\n" + changed(made.file, "after", "before"),
    )
    assert stands(made, 2)
    assert made.file.read_text() == "before\n"
    done = made.run("redo")
    assert (done.code, done.err) == (
        0,
        f"Brought fold 3 again.\n  made: new -> {head[:9]}\n"
        + changed(made.file, "before", "after"),
    )
    assert made.heads()["made"] == head
    assert (made.file.read_text(), made.file.stat().st_mode & 0o777) == ("after\n", 0o640)
    assert sorted(file.name for file in made.root.glob("*notes.md*")) == ["notes.md"]


def test_a_file_that_changed_since_stops_an_undo(made):
    before = made.heads()
    for text, said in (
        ("a person's\n", diff(made.file, "after", "a person's")),
        ("after", "only the ends of its lines differ\n"),
    ):
        made.file.write_text(text)
        done = made.run("undo")
        assert (done.code, done.err) == (
            1,
            (
                f"error: {made.file}: changed since fold 3; nothing was moved; put it back as it "
                f"was first, without this change:\n{said}"
            ),
        )
        assert (made.heads(), made.file.read_text()) == (before, text)


@pytest.mark.parametrize(("found", "left"), [("before\n", "after\n"), ("mine\n", "mine\n")])
def test_a_kill_between_the_branches_and_the_file_writes_the_file(made, found, left):
    record = made.fork / ".git/merge_series/done/3.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "state": "moving"}))
    made.file.write_text(found)
    done = made.run("sync")
    assert done.err.splitlines()[0] == (
        "Repaired: an earlier fold was killed while it moved branches; moved 0 more."
    )
    assert made.file.read_text() == left


def test_a_file_that_is_gone_stops_an_undo(made):
    before = made.heads()
    made.file.unlink()
    done = made.run("undo")
    assert (done.code, done.err) == (
        1,
        (
            f"error: {made.file}: gone since fold 3; nothing was moved; put it back as it was "
            "then, and run again\n"
        ),
    )
    assert (made.heads(), made.file.exists()) == (before, False)


def test_a_kill_before_a_file_that_is_gone_leaves_it_so(made):
    record = made.fork / ".git/merge_series/done/3.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "state": "moving"}))
    made.file.unlink()
    done = made.run("sync")
    assert done.err.splitlines()[0] == (
        "Repaired: an earlier fold was killed while it moved branches; moved 0 more."
    )
    assert not made.file.exists()
