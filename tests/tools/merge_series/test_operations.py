"""What is kept between runs, and what a kill leaves."""

import json
import signal
import subprocess
import sys

import pytest

HOLDER = """\
import filelock, sys, time
lock = filelock.FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def synced(world):
    """A finished sync, with the heads before it."""
    world.commit("main", {"README": "new\n"}, "Add a readme")
    world.old = world.heads()
    assert world.run("sync").code == 0
    world.new = world.heads()
    world.record = world.fork / ".git/merge_series/done/1.json"
    return world


def unfinish(world):
    data = json.loads(world.record.read_text())
    world.record.write_text(json.dumps({**data, "state": "moving"}))


def test_a_finished_sync_is_kept(synced):
    kept = json.loads(synced.record.read_text())
    assert kept["state"] == "done"
    branches = ("ratchet", "offsets", "by-hand")
    assert kept["old"] == {branch: synced.old[branch] for branch in branches}
    assert kept["new"] == {branch: synced.new[branch] for branch in branches}
    assert [record["subject"] for record in kept["merged"]] == [
        "Merge main into ratchet",
        "Merge the list of reads from #1",
        "Merge the list of reads from #1",
    ]
    reflog = synced.git("reflog", "show", "--format=%gs", "offsets").splitlines()[0]
    assert reflog == f"merge_series: sync with main {synced.new['main'][:12]}"


def test_a_kill_before_any_branch_moved_leaves_nothing(synced):
    unfinish(synced)
    for branch, head in synced.old.items():
        if branch != "main":
            synced.git("update-ref", f"refs/heads/{branch}", head)
    done = synced.run("sync")
    assert done.code == 0, done.err
    assert done.err.splitlines()[0] == (
        "Repaired: an earlier sync was killed before it moved any branch; it left nothing."
    )
    assert synced.heads() == synced.new


def test_a_kill_in_the_middle_of_writing_leaves_no_file(synced):
    state = synced.fork / ".git/merge_series"
    left = [
        state / ".stopped.json.new",
        state / "done/.2.json.new",
        state / "resolutions/.1.json.new",
    ]
    for file in left:
        file.parent.mkdir(exist_ok=True)
        file.write_text("{")
    assert synced.run("sync").code == 0
    assert not any(file.exists() for file in left)


def test_a_kill_in_the_middle_is_told_by_status_and_finished(synced):
    unfinish(synced)
    synced.git("update-ref", "refs/heads/by-hand", synced.old["by-hand"])
    said = " ".join(synced.run("status").err.split())
    assert said.endswith(
        "An earlier sync was killed while it moved branches; the next command that moves any "
        "finishes or drops it first."
    )
    done = synced.run("sync")
    assert done.code == 0, done.err
    assert done.err.splitlines()[0] == (
        "Repaired: an earlier sync was killed while it moved branches; moved 1 more."
    )
    assert synced.heads() == synced.new


def test_a_kill_after_all_moved_is_finished(synced):
    unfinish(synced)
    done = synced.run("sync")
    assert done.err.splitlines()[0] == (
        "Repaired: an earlier sync was killed while it moved branches; moved 0 more."
    )
    assert json.loads(synced.record.read_text())["state"] == "done"


def test_a_branch_that_stands_elsewhere_after_a_kill_is_left_to_a_person(synced):
    unfinish(synced)
    moved = synced.commit("by-hand", {"README": "other\n"}, "Go on")
    done = synced.run("sync")
    assert done.code == 1
    assert f"and by-hand stands at {moved} now" in done.err
    assert synced.heads()["by-hand"] == moved


def test_a_process_that_was_killed_holds_no_lock(world):
    folder = world.fork / ".git/merge_series"
    folder.mkdir(exist_ok=True)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLDER,
            str(folder / "lock"),
        ],
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert world.run("sync").code == 5
        holder.send_signal(signal.SIGKILL)
    assert world.run("sync").code == 0


def test_a_record_that_is_no_json_is_named(synced):
    synced.record.write_text("{")
    done = synced.run("log")
    assert done.code == 1
    assert done.err.startswith(f"error: {synced.record}: not JSON (")


def test_the_log_shows_each_sync_and_what_is_reachable(synced):
    done = synced.run("log")
    assert done.code == 0
    assert [line.rstrip() for line in done.err.splitlines()] == [
        f"main at {synced.new['main'][:9]} Add a readme",
        " Branch   Merged          Allowlist  Conflicts",
        f" ratchet  main {synced.new['main'][:9]}  1 -> 1     none",
        f" offsets  #1 {synced.new['ratchet'][:9]}    1 -> 1     none",
        f" by-hand  #1 {synced.new['ratchet'][:9]}    1 -> 1     none",
        "3 commits stood on the branches before; 3 of them are reachable now.",
    ]


def test_the_log_counts_what_a_rewrite_lost(synced):
    synced.git("branch", "--force", "by-hand", "main")
    done = synced.run("log")
    assert done.err.splitlines()[-1] == (
        "3 commits stood on the branches before; 1 of them is reachable now."
    )
