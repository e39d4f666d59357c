"""What must not leak in, get lost or move: others' settings, worktrees, kills, records."""

import json
import shutil
import subprocess

import pytest

NOTES = "megatron/core/notes.txt"


def stop(world):
    """Sync until a person is needed at ``by-hand``."""
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second as a digit")
    done = world.run("sync")
    assert done.code == 3, done.err
    world.desk = world.fork / ".git/merge_series/worktree"
    world.record = world.fork / ".git/merge_series/stopped.json"


def settle(world):
    (world.desk / NOTES).write_text("one\nTWO (2)\nthree\n")
    world.git("add", NOTES, where=world.desk)


def unfinish(record):
    record.write_text(json.dumps({**json.loads(record.read_text()), "state": "moving"}))


# What moves


def test_continue_moves_no_branch_that_is_checked_out_by_now(world):
    stop(world)
    settle(world)
    world.git("switch", "--quiet", "ratchet")
    before = world.heads()
    done = world.run("sync", "--continue")
    assert done.code == 1
    assert done.err.splitlines()[-1] == (
        f"error: branch ratchet is checked out in {world.fork}; finish there or switch it to "
        "another branch (git switch --detach), then run again"
    )
    assert (world.heads(), world.git("status", "--porcelain")) == (before, "")
    world.git("switch", "--quiet", "main")
    assert world.run("sync", "--continue").code == 0


def test_a_repair_moves_no_branch_that_is_checked_out_by_now(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    old = world.heads()
    assert world.run("sync").code == 0
    unfinish(world.fork / ".git/merge_series/done/1.json")
    world.git("update-ref", "refs/heads/by-hand", old["by-hand"])
    world.git("switch", "--quiet", "by-hand")
    done = world.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            f"error: branch by-hand is checked out in {world.fork}; finish there or switch it to "
            "another branch (git switch --detach), then run again\n"
        ),
    )
    assert (world.heads()["by-hand"], world.git("status", "--porcelain")) == (old["by-hand"], "")


def test_a_branch_that_stands_for_main_does_not_move_main(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    world.git("branch", "--delete", "--force", "by-hand")
    world.git("symbolic-ref", "refs/heads/by-hand", "refs/heads/main")
    before = world.heads()
    done = world.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            "error: branch by-hand is a symbolic ref to refs/heads/main, which would move with it; "
            "make it a branch of its own\n"
        ),
    )
    assert world.heads() == before


def test_main_is_the_branch_and_not_a_tag_of_that_name(world):
    world.git("tag", "main")
    world.commit("main", {"README": "new\n"}, "Add a readme")
    assert world.run("sync").code == 0
    main = world.git("rev-parse", "refs/heads/main")
    assert world.git("merge-base", main, "offsets") == main


# What a merge is made of


def test_a_file_that_nothing_regenerates_is_not_overwritten(world):
    series = world.root / "SERIES.md"
    text = series.read_text()
    listed = f"Regenerates: `{world.allowlist}`"
    series.write_text(text.replace(listed, f"{listed}, `{NOTES}`"))
    line = text[: text.index("1. **Record the reads**")].count("\n") + 1
    world.commit("main", {"README": "new\n"}, "Add a readme")
    before = world.heads()
    done = world.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            f"error: SERIES.md:{line}: nothing here regenerates {NOTES}; "
            f"the one generated file known is {world.allowlist}\n"
        ),
    )
    assert world.heads() == before


def test_the_attributes_of_the_repository_settle_nothing(world):
    info = world.fork / ".git/info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text("* merge=union\n")
    stop(world)
    assert world.git("diff", "--name-only", "--diff-filter=U", where=world.desk) == NOTES


@pytest.mark.parametrize("attribute", ["merge=union", "merge=loud", "conflict-marker-size=9"])
def test_the_attributes_that_are_checked_out_change_no_offered_merge(world, attribute):
    world.git("config", "merge.loud.driver", "true")
    world.commit("by-hand", {".gitattributes": f"* {attribute}\n"}, "Set an attribute")
    stop(world)
    assert (world.desk / NOTES).read_text() == (
        f"one\n<<<<<<< by-hand (#3), by {world.named('by-hand~')}\nTWO\n=======\n2\n"
        f">>>>>>> ratchet (#1), by main's {world.named('main')}\nthree\n"
    )
    world.git("add", NOTES, where=world.desk)
    done = world.run("sync", "--continue")
    assert (done.code, done.err) == (
        3,
        (
            f"error: {world.desk}: {NOTES} still holds conflict markers; settle it, then git add; "
            f"then run {world.typed('sync --continue')}\n"
        ),
    )


def test_settings_that_forbid_an_unsigned_merge_do_not_keep_it_from_a_person(world):
    world.git("config", "merge.verifySignatures", "true")
    stop(world)
    settle(world)
    assert world.run("sync", "--continue").code == 0


def test_a_marker_that_a_parent_had_excuses_no_other(world):
    world.commit("by-hand", {NOTES: "one\nTWO\nthree\n>>>>>>> ratchet (#1)\n"}, "Quote a marker")
    stop(world)
    world.git("add", NOTES, where=world.desk)
    assert world.run("sync", "--continue").code == 3
    half = "one\nTWO (2)\n>>>>>>> ratchet (#1)\nthree\n>>>>>>> ratchet (#1)\n"
    (world.desk / NOTES).write_text(half)
    world.git("add", NOTES, where=world.desk)
    assert world.run("sync", "--continue").code == 3
    (world.desk / NOTES).write_text("one\nTWO (2)\nthree\n>>>>>>> ratchet (#1)\n")
    world.git("add", NOTES, where=world.desk)
    assert world.run("sync", "--continue").code == 0


@pytest.mark.parametrize(
    "name", ["GIT_ICASE_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS"]
)
def test_how_the_user_reads_paths_changes_nothing(world, monkeypatch, name):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    monkeypatch.setenv(name, "1")
    done = world.run("sync")
    assert done.code == 0, done.err


# What is kept


def test_other_worktrees_that_are_away_are_not_forgotten(world):
    usb, away = world.root / "usb", world.root / "away"
    world.git("worktree", "add", "--quiet", "--detach", str(usb), "main")
    usb.rename(away)
    stop(world)
    assert world.run("sync", "--abort").code == 0
    away.rename(usb)
    assert world.git("status", "--porcelain", where=usb) == ""


@pytest.mark.parametrize("locked", [False, True])
def test_an_abort_without_the_worktree_leaves_nothing_in_the_way(world, locked):
    stop(world)
    if locked:
        world.git("worktree", "lock", str(world.desk))
    shutil.rmtree(world.desk)
    assert world.run("sync", "--abort").code == 0
    assert world.git("worktree", "list").count("\n") == 0
    done = world.run("sync")
    assert done.code == 3, done.err


def test_a_worktree_that_is_broken_is_removed(world):
    stop(world)
    (world.desk / ".git").unlink()
    assert world.run("sync", "--abort").code == 0
    assert (world.git("worktree", "list").count("\n"), world.desk.exists()) == (0, False)


def test_a_kill_while_the_worktree_was_made_offers_the_merge_again(world):
    stop(world)
    record = json.loads(world.record.read_text())
    assert record["state"] == "waiting"
    world.record.write_text(json.dumps({**record, "state": "preparing"}))
    world.git("reset", "--quiet", "--hard", where=world.desk)
    done = world.run("sync", "--continue")
    assert (done.code, done.err) == (
        3,
        (
            f"error: {world.desk}: the worktree was not made to its end; it is there now with the "
            "merge of #1 into by-hand: settle it, git add, then back in this folder run "
            f"{world.typed('sync --continue')}\n"
        ),
    )
    settle(world)
    assert world.run("sync", "--continue").code == 0


def test_a_kill_after_the_branches_moved_leaves_no_sync_that_waits(world):
    stop(world)
    kept = world.record.read_text()
    settle(world)
    assert world.run("sync", "--continue").code == 0
    world.record.write_text(kept)
    done = world.run("sync")
    assert (done.code, done.err.splitlines()[0]) == (
        0,
        "Repaired: an earlier sync was killed after it had moved every branch.",
    )
    assert not world.record.exists()


def test_what_a_stopped_sync_made_survives_a_garbage_collection(world, monkeypatch):
    monkeypatch.delenv("GIT_COMMITTER_DATE")  # git drops what its reflogs noted a month ago
    stop(world)
    settle(world)
    world.git("gc", "--quiet", "--prune=now")
    done = world.run("sync", "--continue")
    assert done.code == 0, done.err


def test_heads_that_are_gone_are_told_by_verify_and_log(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    assert world.run("sync").code == 0
    lost = world.git("rev-parse", "by-hand^")
    world.git("branch", "--force", "by-hand", "main")
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "--quiet", "--prune=now")
    done = world.run("verify")
    assert done.code == 4, done.err
    assert "no longer contains its earlier heads" in done.err
    done = world.run("log")
    assert done.code == 0, done.err
    assert f"by-hand: its head {lost[:12]} is no longer in the repository." in done.err


@pytest.mark.parametrize("text", ["{}", "[]", '"x"', "null", '{"merged": []}'])
def test_a_record_of_another_shape_is_named(world, text):
    stop(world)
    world.record.write_text(text)
    for command in (("sync", "--abort"), ("status",)):
        done = world.run(*command)
        assert done.code == 1
        assert done.err.startswith(f"error: {world.record}: not a record of this version")
        assert done.err.count("\n") == 1


def test_a_file_beside_the_records_is_no_record(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    assert world.run("sync").code == 0
    (world.fork / ".git/merge_series/done/notes.json").write_text("{}")
    assert world.run("log").code == 0


def test_a_dependency_that_left_the_series_is_told(world):
    stop(world)
    settle(world)
    for file in (world.root / "SERIES.md", world.root / "megatron/core/names.edits.yml"):
        file.write_text(file.read_text().replace("#1", "#9"))
    done = world.run("sync", "--continue")
    assert (done.code, done.err) == (
        1,
        f"error: SERIES.md no longer has #1; drop the sync with {world.typed('sync --abort')}\n",
    )


def test_words_between_colons_are_shown_as_they_are(world):
    series = world.root / "SERIES.md"
    title = "Change what only people can"
    series.write_text(series.read_text().replace(title, "Change :bug: only"))
    assert "Change :bug: only" in world.run("graph").err


def test_no_repository_of_git_is_needed_to_be_plain(world):
    """A clone made with ``--separate-git-dir`` and a path with odd letters works like any other."""
    odd = world.root / "a\n'b\" \u00e4"
    subprocess.run(
        ["git", "clone", "--quiet", "--separate-git-dir", str(odd) + ".git", world.fork, odd],
        check=True,
    )
    for branch in ("ratchet", "offsets", "by-hand"):
        world.git("branch", branch, f"origin/{branch}", where=odd)
    world.write({NOTES: "one\n2\nthree\n"}, odd)
    world.git("commit", "--quiet", "--all", "-m", "Digit", where=odd)
    done = world.run("--repo", str(odd), "sync")
    assert done.code == 3, done.err
    assert world.run("--repo", str(odd), "sync", "--abort").code == 0


def test_an_object_that_was_cut_off_is_told(hand):
    hand.declare("#1 one main", "#2 two main")
    hand.grow("one", "main", {"one.txt": "1\n"})
    hand.grow("two", "main", {"two.txt": "1\n"})
    hand.commit("main", {"three.txt": "1\n"}, "Go on")
    tree = hand.git("rev-parse", "main^{tree}")
    file = hand.fork / ".git/objects" / tree[:2] / tree[2:]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:20])
    for arguments in (("sync", "--dry-run"), ("sync",)):
        done = hand.run(*arguments)
        assert done.code == 1
        assert done.err.splitlines()[-1].startswith("error: git cat-file failed with status 128:")
        assert tree in done.err


@pytest.mark.parametrize("command", ["status", "sync", "undo", "verify"])
def test_a_file_where_the_state_is_kept_is_named(hand, command):
    hand.declare("#1 one main")
    hand.grow("one", "main", {"one.txt": "1\n"})
    state = hand.fork / ".git/merge_series"
    state.write_text("mine\n")
    done = hand.run(command)
    assert (done.code, done.err) == (
        1,
        (
            f"error: {state}: a file stands where merge_series keeps its state; move it away, then "
            "run again\n"
        ),
    )
    assert state.read_text() == "mine\n"


@pytest.mark.parametrize("command", ["status", "sync", "verify"])
def test_a_branch_that_stands_at_a_tag_is_named(hand, command):
    hand.declare("#1 one main")
    head = hand.grow("one", "main", {"one.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    hand.git("tag", "-a", "-m", "First", "v1", "one")
    (hand.fork / ".git/refs/heads/one").write_text(hand.git("rev-parse", "v1") + "\n")
    done = hand.run(command)
    assert (done.code, done.err) == (
        1,
        (
            "error: branch one stands at a tag and not at a commit; set it to the commit "
            "(git update-ref refs/heads/one refs/heads/one^0)\n"
        ),
    )
    hand.git("update-ref", "refs/heads/one", "refs/heads/one^0")
    assert hand.heads()["one"] == head
    assert hand.run(command).code == 0
