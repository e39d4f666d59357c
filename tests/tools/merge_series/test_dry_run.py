"""--dry-run: objects, refs, index, configuration and worktrees stay byte for byte as they were."""

import pytest

NOTES = "megatron/core/notes.txt"

SETTINGS = ("none", "core.splitIndex", "core.fsmonitor", "core.untrackedCache", "gc.auto")


@pytest.fixture(params=SETTINGS)
def watched(world, request):
    """A fork with a dirty worktree and a hook that would leave a file, and a linked worktree."""
    if request.param != "none":
        world.git("config", request.param, "1" if request.param == "gc.auto" else "true")
    world.git("worktree", "add", "--quiet", "--detach", str(world.root / "fork/desk"), "main")
    hook = world.fork / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {world.fork}/.git/hook-ran\n")
    (world.fork / "megatron/core/__init__.py").write_text("# unsaved\n")
    world.hook = hook
    return world


def unchanged(world, *arguments, code=0):
    world.git("status", "--porcelain")  # git refreshes its index here, once
    world.hook.chmod(0o755)
    before = world.contents()
    folders = sorted(str(path) for path in world.fork.rglob("*"))
    done = world.run(*arguments)
    assert done.code == code, done.err
    assert world.contents() == before
    assert sorted(str(path) for path in world.fork.rglob("*")) == folders
    world.hook.chmod(0o644)
    return done


def test_a_sync(watched):
    watched.git("stash", "--quiet")
    # A read more on main makes the allowlist stale, so that trees are written by way of an index.
    more = "from megatron.core import parallel_state\n\nSIZE = parallel_state.get_group_size()\n"
    watched.commit("main", {"megatron/core/more.py": more}, "Read the group once more")
    watched.git("stash", "pop", "--quiet")
    first = unchanged(watched, "sync", "--dry-run")
    second = unchanged(watched, "sync", "--dry-run", "--update-worktrees")
    assert first.err == second.err
    assert "merged cleanly but stale: regenerated from the merged tree" in first.err


def test_a_sync_that_would_stop(world):
    world.hook = world.fork / ".git/description"
    world.hook.write_text("\n")
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Digit")
    done = unchanged(world, "sync", "--dry-run", code=3)
    assert done.err.splitlines()[-1] == "Nothing was changed: this was a dry run."


def test_a_sync_beside_one_that_waits(world):
    world.hook = world.fork / ".git/description"
    world.hook.write_text("\n")
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Digit")
    assert world.run("sync").code == 3
    unchanged(world, "sync", "--dry-run", code=5)


def test_undo_and_redo(watched):
    watched.git("stash", "--quiet")
    watched.commit("main", {"README": "new\n"}, "Move on")
    watched.git("stash", "pop", "--quiet")
    synced = watched.run("sync")
    assert synced.code == 0, synced.err
    for command, would, did in (
        (
            "undo",
            "Would take back sync 1:",
            f"Took back sync 1; {watched.typed('redo')} brings it again.",
        ),
        ("redo", "Would bring sync 1 again:", "Brought sync 1 again."),
    ):
        dry = unchanged(watched, command, "--dry-run").err.splitlines()
        done = watched.run(command).err.splitlines()
        assert (dry[0], done[0]) == (would, did)
        assert dry[1:] == done[1:]
        assert len(done) == 4


def test_an_undo_that_is_refused(world):
    world.hook = world.fork / ".git/description"
    world.hook.write_text("\n")
    world.commit("main", {"README": "new\n"}, "Move on")
    assert world.run("sync").code == 0
    world.git("checkout", "--quiet", "offsets")
    dry = unchanged(world, "undo", "--dry-run", code=1)
    assert dry.err == world.run("undo").err
    assert "is checked out" in dry.err
