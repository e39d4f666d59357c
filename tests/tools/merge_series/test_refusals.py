"""Bad input: one line, its exit code, and the repository exactly as it was."""

import os
import shutil
from pathlib import Path

import pytest

from programs import run


def refused(world, *arguments, code=1):
    """Run, and give back the one line of a refusal that changed nothing."""
    before = world.contents() if world.fork.exists() else None
    done = world.run(*arguments)
    assert done.code == code, done.err
    after = world.contents() if world.fork.exists() else None
    if before is not None:
        # The lock file is the one thing that a run which never began may leave.
        after.pop(".git/merge_series/lock", None)
        before.pop(".git/merge_series/lock", None)
        assert after == before
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    return lines[0]


def test_no_series_file(world):
    (world.root / "SERIES.md").unlink()
    assert refused(world, "sync").startswith(f"error: {world.root / 'SERIES.md'}: no such file")


def test_no_repository(world):
    shutil.rmtree(world.fork)
    assert refused(world, "status") == (
        f"error: {world.fork}: no such folder; name a repository with --repo (for a clone of "
        "Megatron-LM: --repo . --main upstream/main)"
    )
    world.fork.mkdir()
    assert refused(world, "status") == (
        f"error: {world.fork}: not a git repository; name one with --repo"
    )


def test_no_main(world):
    assert refused(world, "--main", "upstream/main", "sync") == (
        f"error: {world.fork}: no commit is named 'upstream/main'; name main with --main "
        "(for a clone of Megatron-LM: --main upstream/main)"
    )


@pytest.mark.parametrize("name", ["offsets", "refs/heads/offsets", "heads/offsets", "HEAD", "@"])
def test_main_as_a_branch_of_the_series(world, name):
    world.git("switch", "--quiet", "offsets")
    assert refused(world, "--main", name, "sync") == (
        "error: SERIES.md:6: #2 has the branch offsets, which is main here; main is never moved, "
        "so give the PR a branch of its own, or name another main with --main"
    )


def test_the_environment_of_another_repository_is_not_taken(world, monkeypatch):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    done = world.run("sync")
    assert done.code == 0, done.err


def test_no_branch(world):
    world.git("branch", "-D", "offsets")
    assert refused(world, "sync") == (
        f"error: {world.fork}: #2 has no branch offsets here; build it (carry --series "
        f"{world.root / 'SERIES.md'} build --repo {world.fork}) or fetch it"
    )


def test_branches_that_people_write_and_that_are_not_here(world):
    world.git("branch", "-D", "by-hand")
    assert refused(world, "sync") == (
        f"error: {world.fork}: #3 has no branch by-hand here; fetch it, or make it where your "
        "commits of it are: git branch by-hand COMMIT"
    )
    world.git("update-ref", "refs/remotes/origin/by-hand", "ratchet")
    assert refused(world, "sync") == (
        f"error: {world.fork}: #3 has no branch by-hand here; make what was fetched a branch: "
        "git branch by-hand origin/by-hand"
    )


def test_a_branch_that_is_checked_out_elsewhere(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    desk = world.root / "my desk"
    world.git("worktree", "add", "--quiet", str(desk), "offsets")
    (desk / "megatron/core/notes.txt").write_text("unsaved\n")
    assert refused(world, "sync") == (
        f"error: branch offsets is checked out in {desk}; finish there or switch it to another "
        "branch (git switch --detach), then run again, or run "
        f"{world.typed('sync --update-worktrees')}, which fast-forwards it there"
    )
    assert (desk / "megatron/core/notes.txt").read_text() == "unsaved\n"


def test_a_checked_out_branch_that_need_not_move_is_no_obstacle(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    assert world.run("sync").code == 0
    world.git("switch", "--quiet", "offsets")
    assert world.run("sync").code == 0


def test_a_branch_that_is_being_rebased(world):
    world.commit("main", {"megatron/core/notes.txt": "one\n2\nthree\n"}, "Digit")
    desk = world.root / "desk"
    world.git("worktree", "add", "--quiet", str(desk), "by-hand")
    world.git("rebase", "main", where=desk, check=False)
    line = refused(world, "sync")
    assert line.startswith("error: branch by-hand is being rebased (")
    assert line.endswith("; finish that there (git rebase --continue or --abort), then run again")


def test_a_branch_that_is_being_bisected(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    desk = world.root / "desk"
    world.git("worktree", "add", "--quiet", str(desk), "by-hand")
    # Until a bad and a good commit are known, the branch is also checked out.
    for start in (("start",), ("start", "by-hand", "main~1")):
        world.git("bisect", *start, where=desk)
        line = refused(world, "sync")
        assert line.startswith("error: branch by-hand is being bisected (")
        assert line.endswith("; finish that there (git bisect reset), then run again")


@pytest.mark.parametrize(
    "command",
    [
        ("sync",), ("sync", "--dry-run"), ("status",), ("graph",), ("verify",), ("log",),
        ("push",), ("push", "--dry-run"), ("describe", "1"), ("show", "1"), ("links", "SERIES.md"),
        ("publish",), ("site", "--output", "out"),
        ("stack", "--pr=9", "--branch=new", "--title=New", "--on=1", "--because=It is."),
        ("fold", "2", "3", "--pr=9", "--branch=new", "--title=New"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_shallow_clone(world, command):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    shallow = world.root / "shallow"
    world.git(
        "clone", "--quiet", "--depth=1", "--no-single-branch", f"file://{world.fork}", str(shallow),
        where=world.root,
    )  # fmt: skip
    for branch in ("ratchet", "offsets", "by-hand"):
        world.git("branch", branch, f"origin/{branch}", where=shallow)
    done = world.run("--repo", str(shallow), *command)
    assert (done.code, done.out, done.err) == (
        1,
        "",
        (
            f"error: {shallow}: a shallow clone lacks the history that merges need; "
            "run git fetch --unshallow first\n"
        ),
    )


def test_a_git_that_is_too_old(world, monkeypatch):
    tools = world.root / "bin"
    tools.mkdir()
    script = tools / "git"
    real = shutil.which("git")
    script.write_text(
        f'#!/bin/sh\ncase "$*" in version) echo git version 2.38.1;; *) exec {real} "$@";; esac\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    assert refused(world, "sync") == (
        "error: git: version 2.38.1 is too old; install git 2.39 or newer"
    )


def test_another_run_holds_the_lock(world):
    filelock = pytest.importorskip("filelock")
    folder = world.fork / ".git/merge_series"
    folder.mkdir(exist_ok=True)
    with filelock.FileLock(folder / "lock"):
        done = world.run("sync")
    assert done.code == 5
    assert done.err == (
        f"error: {folder / 'lock'}: another merge_series or carry is at work in this repository; "
        "wait for it to end\n"
    )


def test_a_dirty_worktree_on_main_is_left_alone(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    (world.fork / "megatron/core/notes.txt").write_text("unsaved\n")
    assert world.run("sync").code == 0
    assert world.git("status", "--porcelain") == " M megatron/core/notes.txt"


def test_an_unknown_option_is_a_usage_error(world):
    done = world.run("sync", "--force")
    assert done.code == 2
    assert "No such option" in done.err


@pytest.mark.parametrize(
    ("tool", "words", "option", "right"),
    [
        ("merge_series", "sync --repo .", "--repo", "--repo . sync"),
        (
            "merge_series",
            "--main main show 2 --series=S.md --since abc --repo .",
            "--series",
            "--main main --series=S.md --repo . show 2 --since abc",
        ),
        ("carry", "build --repo x --series S.md", "--series", "--series S.md build --repo x"),
    ],
)
def test_an_option_of_the_tool_after_the_command(tmp_path, tool, words, option, right):
    done = run(tool, *words.split(), folder=tmp_path)
    assert (done.code, done.err.splitlines()[-1]) == (
        2,
        f"Error: {option} goes before the command: {tool} {right}",
    )


def test_a_cycle_in_the_series_is_refused_by_line(world):
    series = world.root / "SERIES.md"
    series.write_text(series.read_text().replace("| `ratchet` | main |", "| `ratchet` | #2 |"))
    assert refused(world, "sync").startswith(f"error: {Path(series)}:")


def test_a_hook_that_refuses_the_transaction_leaves_every_ref(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    hook = world.fork / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" != prepared ]\n')
    hook.chmod(0o755)
    before = world.heads()
    done = world.run("sync")
    assert done.code == 1
    assert world.heads() == before
    hook.unlink()
    assert world.run("sync").code == 0
