"""A conflict for a person: the worktree, --continue, --abort."""

import shlex
import shutil

import pytest

from programs import run

NOTES = "megatron/core/notes.txt"


@pytest.fixture
def stopped(world):
    """A sync that waits for a person at ``by-hand``, with the fork as it was before it."""
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second as a digit")
    world.heads_before = world.heads()
    world.refs_before = world.git("for-each-ref")
    done = world.run("sync")
    assert done.code == 3, done.err
    world.said = done.err
    world.desk = world.fork / ".git/merge_series/worktree"
    return world


def test_a_stop_says_what_waits_where_and_moves_nothing(stopped):
    said = stopped.said[stopped.said.index("by-hand: merging #1 needs a person for:") :]
    assert said.splitlines() == [
        "by-hand: merging #1 needs a person for:",
        (
            f"  {NOTES}: the branch's {stopped.named('by-hand')} and main's "
            f"{stopped.named('main')} both changed line 2"
        ),
        f"The merge waits in {stopped.desk}",
        (
            "Settle it there, git add or commit, then back in this folder run "
            f"{stopped.typed('sync --continue')} (or --abort). No branch has moved."
        ),
    ]
    assert stopped.heads() == stopped.heads_before
    assert (stopped.desk / NOTES).read_text() == (
        f"one\n<<<<<<< by-hand (#3), by {stopped.named('by-hand')}\nTWO\n=======\n2\n"
        f">>>>>>> ratchet (#1), by main's {stopped.named('main')}\nthree\n"
    )


def test_status_says_where_it_waits_and_how_it_goes_on(stopped):
    assert stopped.run("status").err.splitlines()[-1] == (
        f"A sync waits for a person at by-hand in {stopped.desk}; finish it with "
        f"{stopped.typed('sync --continue')} or drop it with {stopped.typed('sync --abort')}."
    )


def test_continue_takes_what_was_staged(stopped):
    (stopped.desk / NOTES).write_text("one\nTWO (2)\nthree\n")
    stopped.git("add", NOTES, where=stopped.desk)
    done = stopped.run("sync", "--continue")
    assert done.code == 0, done.err
    assert stopped.show("by-hand", NOTES) == "one\nTWO (2)\nthree\n"
    assert (
        stopped.message("by-hand")
        == f"""\
Merge the list of reads from #1

Brings {stopped.brought()}.

Conflicted, and how each was settled:
- {NOTES}: by a person

The allowlist holds 1 read, 1 before; 0 gone, none added.

Signed-off-by: Ada Test <ada@example.org>"""
    )
    assert (
        stopped.graph("main", "ratchet", "by-hand")
        == """\
*   Merge the list of reads from #1 (by-hand)
|\\
| *   Merge main into ratchet (ratchet)
| |\\
| | * Write the second as a digit (main)
* | | Shout the second
|/ /
* / Record the reads
|/
* Start main"""
    )
    assert stopped.git("worktree", "list").count("\n") == 0
    assert stopped.run("status").err.count("up to date") == 3
    assert stopped.run("verify").code == 0


def test_continue_takes_a_commit_made_by_plain_git(stopped):
    (stopped.desk / NOTES).write_text("one\nTWO (2)\nthree\n")
    stopped.git("commit", "--quiet", "--all", "--no-edit", where=stopped.desk)
    made = stopped.git("rev-parse", "HEAD", where=stopped.desk)
    done = stopped.run("sync", "--continue")
    assert done.code == 0, done.err
    assert stopped.heads()["by-hand"] == made
    assert (
        stopped.message("by-hand")
        == f"""\
Merge the list of reads from #1

Brings {stopped.brought()}.

Conflicted, and how each was settled:
- {NOTES}: by a person

Signed-off-by: Ada Test <ada@example.org>"""
    )
    assert stopped.run("verify").code == 0


@pytest.mark.parametrize("options", [("--no-edit",), ("--no-edit", "--signoff")])
def test_a_commit_by_plain_git_is_signed_off_once_by_who_makes_it(world, options):
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second as a digit")
    world.git("config", "user.name", "Bob Test")
    assert world.run("sync").code == 3
    desk = world.fork / ".git/merge_series/worktree"
    (desk / NOTES).write_text("one\nthree\n")
    world.git("commit", "--quiet", "--all", *options, where=desk)
    said = world.git("log", "-1", "--format=%(trailers:key=Signed-off-by)", where=desk)
    assert said.strip() == "Signed-off-by: Bob Test <ada@example.org>"


def test_an_identity_that_git_does_not_know_stops_no_offer(world, monkeypatch):
    """The one merge of the sync needs a person, so it is they whom git has to know."""
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second as a digit")
    for branch in ("ratchet", "offsets"):
        world.git("update-ref", f"refs/heads/{branch}", "by-hand")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    world.git("config", "user.useConfigOnly", "true")
    done = world.run("sync")
    assert done.code == 3, done.err
    desk = world.fork / ".git/merge_series/worktree"
    message = world.git("rev-parse", "--git-path", "MERGE_MSG", where=desk)
    assert (desk / message).read_text() == (
        "Merge main into ratchet\n\n"
        f"Conflicted, and how each was settled:\n- {NOTES}: by a person\n"
    )


def test_a_commit_whose_allowlist_is_stale_gets_a_refresh_on_top(stopped):
    (stopped.desk / NOTES).write_text("one\nTWO (2)\nthree\n")
    (stopped.desk / stopped.allowlist).write_text("# lost\n")
    stopped.git("commit", "--quiet", "--all", "--no-edit", where=stopped.desk)
    made = stopped.git("rev-parse", "HEAD", where=stopped.desk)
    done = stopped.run("sync", "--continue")
    assert done.code == 0, done.err
    assert stopped.git("rev-parse", "by-hand^") == made
    assert stopped.message("by-hand") == (
        "Refresh the process-group allowlist\n\n"
        "The allowlist holds 1 read, 1 before; 0 gone, none added.\n\n"
        "Signed-off-by: Ada Test <ada@example.org>"
    )
    assert stopped.run("verify").code == 0


def test_abort_leaves_every_ref_and_no_worktree(stopped):
    done = stopped.run("sync", "--abort")
    assert (done.code, done.err) == (
        0,
        "Dropped the sync that waited at by-hand; no branch moved.\n",
    )
    assert stopped.git("for-each-ref") == stopped.refs_before
    assert not stopped.desk.exists()
    assert stopped.git("worktree", "list").count("\n") == 0
    assert stopped.git("status", "--porcelain") == ""
    again = stopped.run("sync", "--abort")
    assert (again.code, again.err) == (
        1,
        f"error: no sync waits for a person here; start one with {stopped.typed('sync')}\n",
    )


def test_the_command_of_a_message_works_where_main_and_the_fork_have_other_names(world):
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second as a digit")
    world.git("branch", "--move", "main", "it's-main")
    world.fork.rename(world.root / "my fork")
    series = world.root / "SERIES.md"
    series.rename(world.root / "$my.md")
    place = ("--series", "$my.md", "--repo", "./my fork", "--color=never", "--main=it's-main")
    done = run("merge_series", *place, "sync", folder=world.root)
    typed = "merge_series --repo 'my fork' --series '$my.md' --main 'it'\"'\"'s-main' sync"
    assert (done.code, done.err.splitlines()[-1]) == (
        3,
        (
            f"Settle it there, git add or commit, then back in this folder run {typed} --continue "
            "(or --abort). No branch has moved."
        ),
    )
    again = run("merge_series", *place, "sync", folder=world.root)
    desk = world.root / "my fork/.git/merge_series/worktree"
    assert (again.code, again.err) == (
        5,
        (
            f"error: a sync waits for a person at by-hand in {desk}; "
            f"finish it with {typed} --continue or drop it with {typed} --abort\n"
        ),
    )
    (desk / NOTES).write_text("one\nTWO (2)\nthree\n")
    world.git("add", NOTES, where=desk)
    program, *words = shlex.split(f"{typed} --continue")
    assert run(program, *words, folder=world.root).code == 0


def test_a_second_sync_is_refused_while_one_waits(stopped):
    done = stopped.run("sync")
    assert done.code == 5
    assert "a sync waits for a person at by-hand in" in done.err
    assert stopped.run("sync", "--dry-run").code == 5


@pytest.mark.parametrize(
    ("prepare", "what"),
    [
        (lambda _: None, f"still in conflict: {NOTES}; edit, then git add"),
        (
            lambda w: w.git("add", NOTES, where=w.desk),
            f"{NOTES} still holds conflict markers; settle it, then git add",
        ),
        (
            lambda w: (
                (w.desk / NOTES).write_text("settled\n"),
                w.git("add", NOTES, where=w.desk),
                (w.desk / NOTES).write_text("and changed\n"),
            ),
            f"changed but not staged: {NOTES}; git add or git restore them",
        ),
        (
            lambda w: (
                (w.desk / NOTES).write_text("settled\n"),
                w.git("commit", "--quiet", "--all", "--no-edit", where=w.desk),
                (w.desk / "README").write_text("more\n"),
                w.git("add", "README", where=w.desk),
            ),
            "staged changes on top of the commit; commit or unstage them",
        ),
        (
            lambda w: (
                (w.desk / NOTES).write_text("settled\n"),
                w.git("add", NOTES, where=w.desk),
                w.git("symbolic-ref", "HEAD", "refs/heads/none", where=w.desk),
            ),
            "HEAD names no commit; check out the merge again",
        ),
    ],
)
def test_continue_says_what_is_still_open(stopped, prepare, what):
    prepare(stopped)
    done = stopped.run("sync", "--continue")
    assert (done.code, done.err) == (
        3,
        f"error: {stopped.desk}: {what}; then run {stopped.typed('sync --continue')}\n",
    )
    assert stopped.heads() == stopped.heads_before


def test_a_merge_that_was_dropped_in_the_worktree_is_to_be_made_again(stopped):
    stopped.git("merge", "--abort", where=stopped.desk)
    done = stopped.run("sync", "--continue")
    assert (done.code, done.err) == (
        3,
        (
            f"error: {stopped.desk}: the merge is no longer under way and nothing was committed; "
            f"drop it with {stopped.typed('sync --abort')}, then run {stopped.typed('sync')}\n"
        ),
    )
    assert stopped.heads() == stopped.heads_before
    assert stopped.run("sync", "--abort").code == 0
    done = stopped.run("sync")
    assert "by-hand: merging #1 needs a person for:" in done.err


def test_a_commit_that_lacks_what_is_merged_is_refused(stopped):
    stopped.git("checkout", "--quiet", "--force", "HEAD", where=stopped.desk)
    stopped.git("merge", "--quit", where=stopped.desk)
    stopped.git("commit", "--quiet", "--allow-empty", "-m", "Nothing", where=stopped.desk)
    done = stopped.run("sync", "--continue")
    assert done.code == 3
    assert "does not contain" in done.err


def test_a_worktree_that_was_deleted_is_made_again(stopped):
    stopped.git("worktree", "remove", "--force", str(stopped.desk))
    done = stopped.run("sync", "--continue")
    assert done.code == 3
    assert "the worktree was gone; it is there now" in done.err
    (stopped.desk / NOTES).write_text("one\nTWO (2)\nthree\n")
    stopped.git("add", NOTES, where=stopped.desk)
    assert stopped.run("sync", "--continue").code == 0


def test_files_of_any_name_are_the_persons(stopped):
    (stopped.desk / NOTES).write_text("one\nthree\n")
    for name in ("list.new", "stopped.json", "megatron/lock.new"):
        (stopped.desk / name).write_text("mine\n")
    stopped.git("add", "--all", where=stopped.desk)
    done = stopped.run("sync", "--continue")
    assert done.code == 0, done.err
    for name in ("list.new", "stopped.json", "megatron/lock.new"):
        assert stopped.show("by-hand", name) == "mine\n"


def test_a_merge_that_by_now_needs_no_person_is_not_offered_again(stopped):
    stopped.git("worktree", "remove", "--force", str(stopped.desk))
    stopped.git("config", f"merge-series.regenerate.{NOTES}.command", "true")
    done = stopped.run("sync", "--continue")
    # The command has run, so nothing but its file was open.
    assert (done.code, done.err.partition("\n")[2]) == (
        1,
        (
            "error: by-hand: the merge of #1 no longer needs a person; drop the stopped sync with "
            f"{stopped.typed('sync --abort')} and sync again\n"
        ),
    )
    assert stopped.run("sync", "--abort").code == 0
    assert stopped.run("sync").code == 0


def test_a_branch_that_moved_meanwhile_is_not_overwritten(stopped):
    (stopped.desk / NOTES).write_text("settled\n")
    stopped.git("add", NOTES, where=stopped.desk)
    moved = stopped.commit("ratchet", {"README": "more\n"}, "Go on meanwhile")
    done = stopped.run("sync", "--continue")
    assert done.code == 1
    assert "branch ratchet moved or changed in SERIES.md since the sync stopped" in done.err
    assert stopped.heads()["ratchet"] == moved


def test_what_the_program_could_settle_is_staged_for_the_person(world):
    names = "megatron/core/names.py"
    world.commit("offsets", {NOTES: "one\nTWO\nthree\n"}, "Shout the second")
    settled = world.names.replace("return offset(count)", "return str(offset(count))")
    world.commit("main", {NOTES: "one\n2\nthree\n", names: settled}, "Change both")
    done = world.run("sync")
    assert done.code == 3
    desk = world.fork / ".git/merge_series/worktree"
    assert (
        f"offsets: merging #1 needs a person for:\n"
        f"  {NOTES}: the branch's {world.named('offsets')} and main's {world.named('main')} both "
        "changed line 2\n"
        "Settled already:\n"
        f"  {names}: the edits of #2 applied to main's text\n"
        "by-hand: merging #1 needs a person as well for:\n"
        f"  {NOTES}: the branch's {world.named('by-hand')} and main's {world.named('main')} both "
        "changed line 2\n"
        f"The merge waits in {desk}\n"
    ) in done.err
    assert "str(offset(count, size=own_size()))" in (desk / names).read_text()
    assert world.git("diff", "--name-only", "--diff-filter=U", where=desk) == NOTES
    assert set(world.git("diff", "--name-only", where=desk).splitlines()) == {NOTES}


def test_what_was_settled_is_kept_where_a_branch_moved_meanwhile(stopped):
    (stopped.desk / NOTES).write_text("one\nTWO (2)\nthree\n")
    stopped.git("add", NOTES, where=stopped.desk)
    stopped.commit("offsets", {"README": "more\n"}, "Go on meanwhile")
    assert stopped.run("sync", "--continue").code == 1
    assert stopped.run("sync", "--abort").code == 0
    done = stopped.run("sync")
    assert done.code == 0, done.err
    assert stopped.show("by-hand", NOTES) == "one\nTWO (2)\nthree\n"


def test_a_new_file_that_is_not_staged_is_not_dropped(stopped):
    (stopped.desk / NOTES).write_text("one\nthree\n")
    (stopped.desk / f"{NOTES}.orig").write_text("as a merge tool leaves it\n")
    (stopped.desk / "two.txt").write_text("TWO (2)\n")
    stopped.git("add", NOTES, where=stopped.desk)
    done = stopped.run("sync", "--continue")
    assert (done.code, done.err) == (
        3,
        (
            f"error: {stopped.desk}: new and not staged: two.txt; git add or remove them; then "
            f"run {stopped.typed('sync --continue')}\n"
        ),
    )
    stopped.git("add", "two.txt", where=stopped.desk)
    assert stopped.run("sync", "--continue").code == 0
    assert stopped.show("by-hand", "two.txt") == "TWO (2)\n"


def settle(stopped):
    (stopped.desk / NOTES).write_text("one\nTWO (2)\nthree\n")
    stopped.git("add", NOTES, where=stopped.desk)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            "| #3 | `by-hand` | main |",
            (
                "error: SERIES.md:7: #3 does not depend on #1 now, which the stopped sync merged "
                "into by-hand; write the dependency again, or drop that sync with {} and sync "
                "again\n"
            ),
        ),
        (
            "| #3 | `other` | #1 |",
            (
                "error: {}/SERIES.md has no branch by-hand; name the SERIES.md with which the sync "
                "began, put the row back, or drop the sync with {}\n"
            ),
        ),
    ],
)
def test_a_series_that_lost_what_was_merged_goes_on_once_it_is_put_back(stopped, row, said):
    settle(stopped)
    series = stopped.root / "SERIES.md"
    text = series.read_text()
    series.write_text(text.replace("| #3 | `by-hand` | #1 |", row))
    done = stopped.run("sync", "--continue")
    place = (stopped.root,) if said.count("{}") > 1 else ()
    assert (done.code, done.err) == (1, said.format(*place, stopped.typed("sync --abort")))
    assert stopped.git("for-each-ref") == stopped.refs_before
    series.write_text(text)
    assert stopped.run("sync", "--continue").code == 0


def test_a_series_that_no_sync_would_begin_with_is_not_gone_on_with(hand):
    hand.declare("#1 a main", "#2 b #1", "#3 c #2")
    hand.grow("a", "main", {"a.txt": "a\n"})
    hand.grow("b", "a", {"notes.txt": "one\nTWO\nthree\n"})
    hand.grow("c", "b", {"c.txt": "c\n"})
    hand.commit("main", {"notes.txt": "one\n2\nthree\n"}, "Write a digit")
    assert hand.run("sync").code == 3
    before = hand.heads()
    desk = hand.fork / ".git/merge_series/worktree"
    hand.write({"notes.txt": "one\nTWO (2)\nthree\n"}, desk)
    hand.git("add", "--all", where=desk)
    hand.declare("#1 a main", "#2 b #1", "#3 c #1")
    done = hand.run("sync", "--continue")
    assert done.code == 1
    assert "write the dependency that is missing" in done.err
    assert hand.heads() == before


@pytest.mark.parametrize("mode", ["--cone", "--no-cone"])
def test_a_person_gets_every_file_where_the_checkout_is_sparse(world, mode):
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Write the second as a digit")
    world.git("sparse-checkout", "set", mode, "nothing")
    patterns = (world.fork / ".git/info/sparse-checkout").read_text()
    assert world.run("sync").code == 3
    desk = world.fork / ".git/merge_series/worktree"
    assert "<<<<<<< by-hand (#3)" in (desk / NOTES).read_text()
    (desk / NOTES).write_text("one\nTWO (2)\nthree\n")
    world.git("add", NOTES, where=desk)
    assert world.run("sync", "--continue").code == 0
    assert (world.fork / ".git/info/sparse-checkout").read_text() == patterns
    assert not (world.fork / NOTES).exists()


def test_what_a_person_changed_beside_the_conflict_is_told(stopped):
    settle(stopped)
    (stopped.desk / "two.txt").write_text("TWO (2)\n")
    stopped.git("add", "two.txt", where=stopped.desk)
    done = stopped.run("sync", "--continue")
    assert [line.strip() for line in done.err.splitlines() if "by a person" in line] == [
        "conflicted: by a person",
        "merged cleanly, changed by a person",
    ]


def test_a_repository_that_was_moved_says_how_to_find_the_worktree_again(stopped):
    settle(stopped)
    fork = stopped.root / "elsewhere"
    stopped.fork.rename(fork)
    desk = fork / ".git/merge_series/worktree"
    series = ("--series", str(stopped.root / "SERIES.md"))
    there = ("--repo", str(fork), *series)
    done = run("merge_series", *there, "sync", "--continue", folder=stopped.root)
    repair = f"git -C {fork} worktree repair {desk}"
    assert (done.code, done.err) == (
        3,
        (
            f"error: {desk}: git finds no repository from there; run {repair}; then run "
            f"merge_series {shlex.join(there)} sync --continue\n"
        ),
    )
    stopped.git(*shlex.split(repair)[1:], where=stopped.root)
    done = run("merge_series", *there, "sync", "--continue", folder=stopped.root)
    assert done.code == 0, done.err


def test_a_copy_of_the_repository_takes_nothing_of_the_others_worktree(stopped):
    settle(stopped)
    fork = stopped.root / "copy"
    shutil.copytree(stopped.fork, fork, symlinks=True)
    there = ("--repo", str(fork), "--series", str(stopped.root / "SERIES.md"))
    done = run("merge_series", *there, "sync", "--continue", folder=stopped.root)
    assert (done.code, done.err) == (
        3,
        (
            f"error: {fork}/.git/merge_series/worktree: it is a worktree of {stopped.fork}/.git, "
            "of which this repository is a copy; go on there, or drop the sync here with "
            f"merge_series {shlex.join(there)} sync --abort\n"
        ),
    )
    assert run("merge_series", *there, "sync", "--abort", folder=stopped.root).code == 0
    assert stopped.run("sync", "--continue").code == 0


def test_a_main_that_went_back_meanwhile_is_not_gone_on_with(stopped):
    settle(stopped)
    old = stopped.git("rev-parse", "main")
    stopped.git("reset", "--quiet", "--hard", "HEAD~1")
    refs, new = stopped.git("for-each-ref"), stopped.git("rev-parse", "main")
    done = stopped.run("sync", "--continue")
    assert (done.code, done.err) == (
        1,
        (
            f"error: main is at {new[:12]} and no longer holds {old[:12]}, with which the sync "
            f"began; put it back, or drop that sync with {stopped.typed('sync --abort')} and sync "
            "again\n"
        ),
    )
    assert stopped.git("for-each-ref") == refs
    stopped.git("merge", "--quiet", "--ff-only", old)
    stopped.commit("main", {"README": "new\n"}, "Go on")
    assert stopped.run("sync", "--continue").code == 0


@pytest.mark.parametrize("option", ["--continue", "--abort"])
@pytest.mark.parametrize("place", ["folder", "repo"])
def test_a_sync_is_not_ended_in_the_worktree_that_goes_with_it(stopped, option, place):
    settle(stopped)
    inside = stopped.desk / "megatron"
    folder, repo = (inside, stopped.fork) if place == "folder" else (stopped.root, stopped.desk)
    there = ("--repo", str(repo), "--series", str(stopped.root / "SERIES.md"))
    done = run("merge_series", *there, "sync", option, folder=folder)
    assert (done.code, done.err) == (
        3,
        (
            f"error: {stopped.desk}: this worktree is removed before the sync goes on or ends, so "
            f"neither run this in it nor name it with --repo; go to {stopped.fork}\n"
        ),
    )
    assert stopped.git("for-each-ref") == stopped.refs_before
    assert stopped.run("sync", "--continue").code == 0
