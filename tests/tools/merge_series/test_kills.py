"""SIGKILL at every point where state is written; the next run says what it found and recovers.

The program runs in a process that counts its writes to the repository and the git commands that
write there, and kills itself at the n-th, for n from 1 until it gets to its end.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from programs import run

NOTES = "megatron/core/notes.txt"

SERIES = """\
# Series

| PR | Branch | Depends on | Title | State |
|---|---|---|---|---|
| #1 | `first` | main | The first | open |
| #2 | `second` | #1 | The second | open |

## #1 The first

## #2 The second
"""

# Kills its own process at the n-th event that may leave something in the repository.
KILLER = """\
import os, signal, sys

number, fork = int(sys.argv.pop(1)), sys.argv.pop(1)
WRITES = {"update-ref", "worktree", "read-tree", "update-index"}
left = number


def watch(event, arguments):
    global left
    if event == "subprocess.Popen":
        counts = not WRITES.isdisjoint(arguments[1])
    elif event == "open":
        path, mode, flags = arguments
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        counts = bool(writes) and str(path).startswith(fork)
    elif event in {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree"}:
        counts = str(arguments[0]).startswith(fork)
    else:
        return
    left -= counts
    if counts and not left:
        os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(watch)
from merge_series.cli import main

main()
"""


@pytest.fixture
def small(world):
    """Two branches that people write by hand, behind a main that moved."""
    world.write({"SERIES.md": SERIES}, world.root)
    (world.root / "megatron/core/names.edits.yml").unlink()
    world.git("branch", "--delete", "--force", "--quiet", "ratchet", "offsets", "by-hand")
    world.git("branch", "first")
    world.commit("first", {"first": "1\n"}, "Write the first")
    world.git("branch", "second", "first")
    world.commit("second", {NOTES: "one\nTWO\nthree\n"}, "Shout the second line")
    world.killer = world.root / "killer.py"
    world.killer.write_text(KILLER)
    return world


@pytest.fixture
def behind(small):
    small.commit("main", {"README": "new\n"}, "Add a readme")
    return small


@pytest.fixture
def stopped(small):
    """A sync that waits for a person, who has settled it."""
    small.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second line as a digit")
    assert small.run("sync").code == 3
    desk = small.fork / ".git/merge_series/worktree"
    (desk / NOTES).write_text("one\nTWO (2)\nthree\n")
    small.git("add", NOTES, where=desk)
    return small


class Kept:
    """The whole world as it stands, to be put back at the same place."""

    def __init__(self, world):
        self.world = world
        self.place = Path(tempfile.mkdtemp(dir=world.root.parent)) / "kept"
        shutil.copytree(world.root, self.place, symlinks=True)

    def put_back(self):
        shutil.rmtree(self.world.root)
        shutil.copytree(self.place, self.world.root, symlinks=True)


def killed(world, number, *arguments):
    """Run until the n-th write; False if the program came to its end."""
    place = ("--series", str(world.root / "SERIES.md"), "--repo", str(world.fork))
    done = run(
        str(world.killer), str(number), str(world.fork), *place, *arguments, folder=world.root
    )
    assert done.code in {-signal.SIGKILL, 0, 3}, done.err
    return done.code == -signal.SIGKILL


def leftovers(world):
    """Lock and temporary files in the repository, and worktrees but the main one."""
    git = world.fork / ".git"
    found = [str(file.relative_to(git)) for file in git.rglob("*") if file.is_file()]
    odd = [f for f in found if f.endswith((".lock", ".new")) or f == "packed-refs.new"]
    return odd, world.git("worktree", "list").count("\n")


def states(world):
    files = sorted((world.fork / ".git/merge_series/done").glob("*.json"))
    return {file.stem: json.loads(file.read_text())["state"] for file in files}


def kept_refs(world):
    return world.git("for-each-ref", "--format=%(refname)", "refs/merge_series")


def each_kill(world, *arguments):
    """Kill the command at its first, second, ... write; yield after each kill, until its end."""
    kept = Kept(world)
    number = 1
    while killed(world, number, *arguments):
        yield number
        kept.put_back()
        number += 1
    assert number > 4, "too few points: the killer does not see the writes"


def test_a_sync_killed_anywhere_is_finished_by_the_next(behind):
    old = behind.heads()
    kept = Kept(behind)
    assert behind.run("sync").code == 0
    new = behind.heads()
    kept.put_back()
    found = set()
    for _ in each_kill(behind, "sync"):
        assert behind.heads() in (old, new)
        done = behind.run("sync")
        assert done.code == 0, done.err
        assert behind.heads() == new
        assert leftovers(behind) == ([], 0)
        assert states(behind) == {"1": "done"}
        first = done.err.splitlines()[0]
        found |= {first} if first.startswith("Repaired") else set()
    assert behind.heads() == new
    assert found == {
        "Repaired: an earlier sync was killed before it moved any branch; it left nothing.",
        "Repaired: an earlier sync was killed while it moved branches; moved 0 more.",
    }


def test_a_sync_killed_while_it_stops_for_a_person_stops_there_again(small):
    small.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second line as a digit")
    old = small.heads()
    for _ in each_kill(small, "sync"):
        assert small.heads() == old
        waits = (small.fork / ".git/merge_series/stopped.json").exists()
        done = small.run("sync", *(["--continue"] if waits else []))
        assert done.code == 3, done.err
        desk = small.fork / ".git/merge_series/worktree"
        assert small.git("diff", "--name-only", "--diff-filter=U", where=desk) == NOTES
        assert small.run("sync", "--abort").code == 0
        assert (small.heads(), leftovers(small)) == (old, ([], 0))


def test_a_continue_killed_anywhere_loses_nothing_of_the_person(stopped):
    old = stopped.heads()
    kept = Kept(stopped)
    assert stopped.run("sync", "--continue").code == 0
    new = stopped.heads()
    kept.put_back()
    for _ in each_kill(stopped, "sync", "--continue"):
        assert stopped.heads() in (old, new)
        waits = (stopped.fork / ".git/merge_series/stopped.json").exists()
        moved = stopped.heads() == new
        done = stopped.run("sync", *(["--continue"] if waits and not moved else []))
        assert done.code == 0, done.err
        assert stopped.heads() == new
        assert leftovers(stopped) == ([], 0)
        assert states(stopped) == {"1": "done"}
        assert not (stopped.fork / ".git/merge_series/stopped.json").exists()


def test_an_abort_killed_anywhere_is_finished_by_the_next(stopped):
    old = stopped.heads()
    record = stopped.fork / ".git/merge_series/stopped.json"
    for _ in each_kill(stopped, "sync", "--abort"):
        assert stopped.heads() == old
        # The record goes last: as long as anything is left, it says so.
        assert record.exists()
        assert stopped.run("sync", "--abort").code == 0
        assert (stopped.heads(), leftovers(stopped)) == (old, ([], 0))
        assert not record.exists()


@pytest.mark.parametrize("command", ["undo", "redo"])
def test_an_undo_or_redo_killed_anywhere_is_finished_or_dropped(behind, command):
    before = behind.heads()
    assert behind.run("sync").code == 0
    after = behind.heads()
    if command == "redo":
        assert behind.run("undo").code == 0
        before, after = after, before
    for _ in each_kill(behind, command):
        assert behind.heads() in (before, after)
        done = behind.run("log")  # reads only, and repairs nothing
        assert done.code == 0, done.err
        if behind.heads() == after:
            # Killed before it moved: it is as if it had not been called.
            done = behind.run(command)
        else:
            done = behind.run("undo" if command == "redo" else "redo")
            assert done.code == 0, done.err
            assert behind.heads() == after
            done = behind.run(command)
        assert done.code == 0, done.err
        assert behind.heads() == before
        assert leftovers(behind) == ([], 0)
        assert states(behind) == {"1": "undone" if command == "undo" else "done"}
        assert kept_refs(behind).count("undone/1/") == (2 if command == "undo" else 0)


# Git itself killed


def tracer(world, command, count):
    """Put a ``git`` on the PATH that dies at its n-th rename in update-ref, and its caller then."""
    real = shutil.which("git")
    tools = world.root / "bin"
    tools.mkdir(exist_ok=True)
    script = tools / "git"
    script.write_text(
        "#!/bin/sh\n"
        f'case " $* " in *" {command} "*"merge_series"*)\n'
        f"  strace -f -o /dev/null -e trace=/rename -e inject=/rename:signal=KILL:when={count} "
        f'{real} "$@" 2>/dev/null\n'
        "  status=$?\n"
        "  [ $status = 0 ] || kill -9 $PPID\n"
        "  exit $status;;\n"
        f'*) exec {real} "$@";;\n'
        "esac\n"
    )
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}


def can_trace():
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", os.devnull, "true"], check=False).returncode == 0


@pytest.mark.skipif(not can_trace(), reason="needs strace, and leave to trace")
@pytest.mark.parametrize("command", ["sync", "undo"])
def test_a_git_killed_while_it_renames_refs_is_made_good(behind, command):
    old = behind.heads()
    if command == "undo":
        assert behind.run("sync").code == 0
    before = behind.heads()
    kept = Kept(behind)
    assert behind.run(command).code == 0
    after = behind.heads()
    partly = 0
    for count in range(1, 9):
        kept.put_back()
        place = ("--series", behind.root / "SERIES.md", "--repo", behind.fork)
        done = subprocess.run(
            [sys.executable, "-m", "merge_series", *place, command],
            cwd=behind.root, check=False, capture_output=True,
            env=tracer(behind, "update-ref", count),
        )  # fmt: skip
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        partly += behind.heads() not in (before, after)
        assert [name for name in leftovers(behind)[0] if name != "merge_series/lock"]
        ran = behind.run("sync")
        assert ran.code == 0, ran.err
        assert ran.err.startswith(f"Repaired: an earlier {command}"), ran.err
        assert leftovers(behind)[0] == []
        assert behind.heads() != old
    assert count > 2
    assert partly


def test_a_hook_that_kills_git_and_the_program_before_any_ref_moved(behind):
    old = behind.heads()
    hook = behind.fork / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        '#!/bin/sh\n[ "$1" = prepared ] || exit 0\n'
        "program=$(cut -d' ' -f4 /proc/$PPID/stat)\nkill -9 $program $PPID\n"
    )
    hook.chmod(0o755)
    assert behind.run("sync").code == -signal.SIGKILL
    hook.unlink()
    assert behind.heads() == old
    assert set(leftovers(behind)[0]) >= {"refs/heads/first.lock", "refs/heads/second.lock"}
    done = behind.run("sync")
    assert done.code == 0, done.err
    assert done.err.startswith("Repaired: an earlier sync was killed before it moved any branch")
    assert leftovers(behind) == ([], 0)


def test_a_lock_of_another_command_is_not_removed(behind):
    assert behind.run("sync").code == 0
    record = behind.fork / ".git/merge_series/done/1.json"
    data = json.loads(record.read_text())
    record.write_text(json.dumps({**data, "state": "moving"}))
    behind.git("update-ref", "refs/heads/second", data["old"]["second"])
    lock = behind.fork / ".git/refs/heads/second.lock"
    lock.write_text(f"{data['old']['first']}\n")
    done = behind.run("sync")
    assert done.code == 1
    assert f"Unable to create '{lock}': File exists." in done.err
    assert lock.exists()
    lock.unlink()
    assert behind.run("sync").code == 0


def test_the_lock_is_held_as_long_as_the_git_that_moves_refs(behind):
    """A run killed while a hook keeps git waiting: the next one leaves git's locks alone."""
    go = behind.root / "go"
    hook = behind.fork / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f'#!/bin/sh\n[ "$1" = prepared ] || exit 0\ntouch {go}.waits\n'
        f"for _ in $(seq 200); do [ -e {go} ] && break; sleep 0.05; done\n"
    )
    hook.chmod(0o755)
    place = ("--series", behind.root / "SERIES.md", "--repo", behind.fork)
    with subprocess.Popen(
        [sys.executable, "-m", "merge_series", *place, "sync"],
        cwd=behind.root, stderr=subprocess.DEVNULL,
    ) as program:  # fmt: skip
        wait_for(Path(f"{go}.waits"))
        program.kill()
    done = behind.run("sync")
    assert (done.code, "another merge_series or carry is at work" in done.err) == (5, True)
    go.touch()
    deadline = time.monotonic() + 20
    while (done := behind.run("sync")).code == 5 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert done.code == 0, done.err
    # git found nobody to tell that it was ready, and gave up.
    assert done.err.startswith("Repaired: an earlier sync was killed before it moved any branch")
    assert leftovers(behind) == ([], 0)


def wait_for(file):
    deadline = time.monotonic() + 20
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
