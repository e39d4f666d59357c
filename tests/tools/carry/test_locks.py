"""Two runs on one tree or one fork, and runs that are killed while they hold it."""

import fcntl
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

BUSY = "another carry is at work in this tree; wait for it to end\n"
REPOSITORY_BUSY = (
    "another merge_series or carry is at work in this repository; wait for it to end\n"
)
BRANCHES = ("root", "left", "right", "top")


@contextmanager
def held(place):
    descriptor = os.open(place, os.O_RDWR if place.is_file() else os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def contents(project):
    return {path: file.content.decode() for path, file in project.files().items()}


def test_a_tree_that_another_run_changes(project):
    before = project.files()
    with held(project.tree):
        done = project.run("apply", "tree")
    assert (done.code, done.out, done.err) == (5, "", f"error: tree: {BUSY}")
    assert project.files() == before
    assert project.run("apply", "tree").code == 0
    assert contents(project) == {**project.base, **project.carried["top"]}


HOLDER = """\
import sys, time
from pathlib import Path
from stack.lock import lock
with lock(Path(sys.argv[1]), "held"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_goes_with_the_process_that_held_it(project):
    command = [sys.executable, "-c", HOLDER, str(project.tree)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert project.run("apply", "tree").code == 5
        holder.kill()
    assert project.run("apply", "tree").code == 0


def test_runs_at_once(project):
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "carry", "apply", "tree"],
            cwd=project.root, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    ended = [(process.communicate()[1], process.returncode) for process in started]
    for said, code in ended:
        assert code in {0, 5}, said
        assert (BUSY in said) == (code == 5)
    assert [said for said, _ in ended].count("tree: 4 files written\n") == 1
    assert contents(project) == {**project.base, **project.carried["top"]}


def test_a_tree_whose_apply_was_killed_is_whole_after_the_next(project):
    project.write({".carry-new/0": "of a run that was killed\n"}, project.tree)
    half = {"megatron/core/names.py": project.carried["top"]["megatron/core/names.py"]}
    project.write(half, project.tree)
    assert project.run("apply", "tree").code == 0
    assert contents(project) == {**project.base, **project.carried["top"]}


# The fork


@pytest.fixture
def fork(project):
    project.main = project.fork()
    return project


def test_a_fork_that_another_run_moves(fork):
    lock = fork.tree / ".git/merge_series/lock"
    lock.parent.mkdir()
    lock.touch()
    before = fork.refs()
    with held(lock):
        built = fork.run("build", "--repo", "tree")
        moved = fork.run("import", "--release", "0.19.2", "--repo", "tree")
    assert (built.code, built.err) == (5, f"error: {lock}: {REPOSITORY_BUSY}")
    assert (moved.code, moved.err) == (5, f"error: {lock}: {REPOSITORY_BUSY}")
    assert fork.refs() == before


# Kills the run whose git this is, and lets that git wait for a word, for some time.
HOOK = """\
#!/bin/sh
[ "$1" = prepared ] || exit 0
read -r _ _ _ run _ < /proc/$PPID/stat
kill -KILL "$run"
turns=6000
while [ ! -e "{0}/go" ] && [ $((turns -= 1)) -gt 0 ]; do touch "{0}/waits"; sleep 0.01; done
"""


@pytest.mark.skipif(sys.platform != "linux", reason="finds a process's parent in /proc")
@pytest.mark.parametrize("command", ["build", "import"])
def test_a_run_that_is_killed_while_its_git_moves_branches(fork, command):
    """The lock goes on until that git has ended; it moved every branch, or none."""
    fork.git("checkout", "--quiet", "--detach")
    hook = fork.tree / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK.format(fork.root))
    hook.chmod(0o755)
    release = ("--release", "0.19.2") if command == "import" else ()
    arguments = (command, "--repo", "tree", *release)
    killed = subprocess.run(
        [sys.executable, "-m", "carry", *arguments],
        cwd=fork.root, check=False, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert killed.returncode == -9
    while not (fork.root / "waits").exists():
        time.sleep(0.01)
    assert fork.refs() == {"main": fork.main}
    assert fork.run(*arguments).code == 5
    hook.unlink()
    (fork.root / "go").touch()
    while (again := fork.run(*arguments)).code == 5:
        time.sleep(0.01)
    assert again.code == 0, again.err
    if command == "build":
        assert fork.refs().keys() == {"main", *BRANCHES}
        assert fork.run(*arguments).err == "tree: every branch exists; nothing was changed\n"
    else:
        assert fork.git("rev-parse", "main^") == fork.main
        assert fork.run(*arguments).err == "tree: main holds megatron-core 0.19.2 already\n"
