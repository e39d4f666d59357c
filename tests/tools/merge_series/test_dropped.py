"""verify on merges that dropped what a side brought, and on those that only look like it."""

import json
import shutil

import pytest


@pytest.fixture
def stack(hand):
    """b on a, synced once; main has gone on in two files, one of which a changes elsewhere."""
    hand.declare("#1 a main", "#2 b #1")
    hand.grow("a", "main", {"a.txt": "1\n", "shared.txt": "A\nb\nc\nd\ne\n"})
    hand.grow("b", "a", {"b.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    assert hand.run("sync").code == 0
    hand.commit("main", {"README": "2\n", "shared.txt": "a\nb\nc\nd\nE\n"}, "Go on")
    return hand


def merge(hand, branch, *arguments):
    """Merge by hand, with whatever options; the merge is returned."""
    hand.git("switch", "--quiet", branch)
    hand.git("merge", "--quiet", *arguments, check=False)
    made = hand.git("rev-parse", "HEAD")
    hand.git("switch", "--quiet", "main")
    return made


def changed_merge(hand, branch, source, message, change):
    """Merge by hand, and change the result before it is committed."""
    hand.git("switch", "--quiet", branch)
    hand.git("merge", "--quiet", "--no-ff", "--no-commit", source, check=False)
    change()
    hand.git("commit", "--quiet", "-m", message)
    made = hand.git("rev-parse", "HEAD")
    hand.git("switch", "--quiet", "main")
    return made


def dropped(hand):
    done = hand.run("verify", "--json")
    assert done.code in {0, 4}, done.err
    rows = [row for row in json.loads(done.out) if row["name"] == "merges keep both sides"]
    assert [row["branch"] for row in rows][:2] == ["a", "b"]
    return {row["branch"]: row["found"] for row in rows if row["found"]}


def said(made, name, files):
    count = f"{files.count(',') + 1} file{'s' if ',' in files else ''}"
    return (
        f"merge {made[:12]} drops what {name} has in {count}: {files}; bring it back, or leave "
        f"it, in a commit whose message names {made[:12]}"
    )


def test_main_merged_by_ours_is_told_on_the_first_branch_that_holds_it(stack):
    made = merge(stack, "a", "--no-edit", "-s", "ours", "main")
    expected = {"a": said(made, "main", "README, shared.txt")}
    assert dropped(stack) == expected
    stack.commit("main", {"OTHER": "1\n"}, "Go on")
    assert stack.run("sync").code == 0
    assert dropped(stack) == expected


def test_a_dependency_merged_by_ours_is_told(stack):
    stack.commit("a", {"a.txt": "2\n"}, "Go on")
    made = merge(stack, "b", "--no-edit", "-s", "ours", "a")
    assert dropped(stack) == {"b": said(made, "#1", "a.txt")}


def test_both_at_once_merged_by_ours_are_told(stack):
    stack.commit("a", {"a.txt": "2\n"}, "Go on")
    made = merge(stack, "b", "--no-edit", "-s", "ours", "a", "main")
    told = (said(made, "#1", "a.txt"), said(made, "main", "README, shared.txt"))
    assert dropped(stack) == {"b": "; ".join(told)}


def test_one_file_kept_out_of_a_merge_is_told(stack):
    made = changed_merge(
        stack, "a", "main", "Merge main", lambda: stack.git("checkout", "HEAD", "--", "README")
    )
    assert dropped(stack) == {"a": said(made, "main", "README")}


def test_a_branch_dropped_for_main_is_told(stack):
    made = changed_merge(
        stack, "a", "main", "Merge main", lambda: stack.git("read-tree", "-u", "--reset", "main")
    )
    assert dropped(stack) == {"a": said(made, "a", "a.txt, shared.txt")}


def test_many_files_are_counted(stack):
    stack.commit("main", {f"{number}.txt": "1\n" for number in range(7)}, "Add many")
    made = merge(stack, "a", "--no-edit", "-s", "ours", "main")
    (text,) = dropped(stack).values()
    assert text.startswith(
        f"merge {made[:12]} drops what main has in 9 files: 0.txt, 1.txt, 2.txt, 3.txt, 4.txt and "
        "4 more; bring"
    )


def test_a_file_that_the_message_names_is_meant(stack):
    merge(stack, "a", "-s", "ours", "-m", "Merge main\n\nWithout its README, shared.txt.", "main")
    assert dropped(stack) == {}


def test_another_file_of_such_a_name_is_not_named(stack):
    made = merge(
        stack, "a", "-s", "ours", "-m", "Merge main\n\nWithout doc/README, README.md,\nshared.txt.",
        "main",
    )  # fmt: skip
    assert dropped(stack) == {"a": said(made, "main", "README")}


def test_a_commit_that_names_the_merge_ends_it(stack):
    made = merge(stack, "a", "--no-edit", "-s", "ours", "main")
    stack.commit("a", {"README": "2\n"}, f"Bring back what {made[:12]} dropped")
    assert dropped(stack) == {}


def test_a_merge_that_brings_nothing_drops_nothing(stack):
    stack.run("sync")
    stack.git("commit", "--quiet", "--allow-empty", "-m", "Nothing")
    merge(stack, "a", "--no-edit", "-s", "ours", "main")
    stack.commit("b", {"README": "3\n"}, "Write it")
    stack.commit("main", {"README": "3\n"}, "Write the same")
    merge(stack, "b", "--no-edit", "main")
    assert stack.git("rev-parse", "b^{tree}") == stack.git("rev-parse", "b^^{tree}")
    assert dropped(stack) == {}


def test_who_settles_a_conflict_may_take_a_side(stack):
    stack.commit("a", {"README": "of a\n"}, "Write it")
    for branch, side in (("a", "--ours"), ("b", "--theirs")):
        changed_merge(
            stack, branch, "main" if branch == "a" else "a", "Merge",
            lambda side=side: (
                stack.git("checkout", side, "--", "README", check=False),
                stack.git("add", "README"),
            ),
        )  # fmt: skip
    assert stack.show("b", "README") == "of a\n"
    assert dropped(stack) == {}


def waiting(stack):
    """A sync that waits at a with README in conflict; its worktree."""
    stack.commit("a", {"README": "of a\n"}, "Write it")
    assert stack.run("sync").code == 3
    desk = stack.fork / ".git/merge_series/worktree"
    stack.write({"README": "of both\n"}, desk)
    stack.git("checkout", "HEAD", "--", "shared.txt", where=desk)
    stack.git("add", "--all", where=desk)
    return desk


def test_what_a_person_committed_in_the_worktree_is_checked(stack):
    desk = waiting(stack)
    stack.git("commit", "--quiet", "--no-edit", where=desk)
    assert stack.run("sync", "--continue").code == 0
    made = stack.git("rev-parse", "a")
    assert dropped(stack) == {"a": said(made, "main", "shared.txt")}


def test_what_a_person_staged_in_the_worktree_is_named_by_the_message(stack):
    waiting(stack)
    assert stack.run("sync", "--continue").code == 0
    assert dropped(stack) == {}


def forget(hand):
    """As in another clone: nothing is known of what the program did."""
    shutil.rmtree(hand.fork / ".git/merge_series")


def test_recorded_landings_are_no_fault_in_another_clone(stack):
    # Without the record, git would bring back what b has removed.
    stack.commit("b", {"a.txt": None}, "Do without it")
    assert stack.run("sync").code == 0
    stack.squash("a", "Do a (#1)")
    stack.commit("main", {"README": "3\n"}, "Go on")
    assert stack.run("sync").code == 0
    assert "Absorbs: " in stack.message("b^")
    forget(stack)
    done = json.loads(stack.run("verify", "--json").out)
    assert [row["found"] for row in done] == [""] * len(done)


def test_recorded_successors_are_no_fault_in_another_clone(stack):
    stack.declare("#1 a main", "#2 b #1", "#3 c #2")
    stack.grow("c", "b", {"c.txt": "1\n"})
    assert stack.run("sync").code == 0
    done = stack.run("fold", "--pr", "9", "--branch", "ab", "--title", "Both", "1", "2")
    assert done.code == 0, done.err
    forget(stack)
    done = json.loads(stack.run("verify", "--json").out)
    assert [row["found"] for row in done] == [""] * len(done)


def test_what_the_program_settled_is_no_fault_in_another_clone(world):
    settled = world.names.replace("return offset(count)", "return str(offset(count))")
    world.commit("main", {"megatron/core/names.py": settled}, "Label with text")
    assert world.run("sync").code == 0
    world.commit("main", {"README": "1\n"}, "Go on")
    assert world.run("sync").code == 0
    forget(world)
    done = json.loads(world.run("verify", "--json").out)
    assert [row["found"] for row in done] == [""] * len(done)


def test_a_generated_file_is_no_matter_of_sides(world):
    listed = world.show("ratchet", world.allowlist)
    world.commit("ratchet", {world.allowlist: f"{listed}# more\n"}, "Change the list")
    changed_merge(
        world, "by-hand", "ratchet", "Merge #1",
        lambda: world.git("checkout", "HEAD", "--", world.allowlist),
    )  # fmt: skip
    assert world.show("by-hand", world.allowlist) == listed
    rows = json.loads(world.run("verify", "--json").out)
    kept = {row["branch"]: row["found"] for row in rows if row["name"] == "merges keep both sides"}
    assert kept == {"ratchet": "", "offsets": "", "by-hand": ""}


@pytest.fixture
def rewritten(stack):
    """a was amended as it was before the sync, without what main had brought."""
    stack.old = stack.git("rev-parse", "a")
    stack.git("switch", "--quiet", "--detach", "a^1")
    stack.write({"a.txt": "2\n"}, stack.fork)
    stack.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    stack.git("branch", "--force", "a", "HEAD")
    stack.git("switch", "--quiet", "main")
    return stack


def test_the_old_form_of_a_branch_may_be_recorded_in_it(rewritten):
    merge(rewritten, "a", "--no-edit", "main")
    merge(rewritten, "a", "--no-edit", "-s", "ours", rewritten.old)
    assert rewritten.run("sync").code == 0
    assert dropped(rewritten) == {}


def test_what_its_old_form_had_of_main_may_not_be_dropped_with_it(rewritten):
    made = merge(rewritten, "a", "--no-edit", "-s", "ours", rewritten.old)
    assert dropped(rewritten) == {"a": said(made, "main", "README")}


def test_an_unrelated_history_is_taken_as_it_is(stack):
    stack.git("switch", "--quiet", "--orphan", "other")
    stack.commit("main", {"other.txt": "elsewhere\n"}, "Begin elsewhere")
    stack.git("switch", "--quiet", "main")
    for branch in ("main", "a"):
        merge(stack, branch, "--no-edit", "--allow-unrelated-histories", "-s", "ours", "other")
    assert stack.run("sync").code == 0
    assert dropped(stack) == {}


def test_a_merge_made_on_main_that_keeps_the_branch_alone_is_told(stack):
    tree = stack.git("rev-parse", "a^{tree}")
    made = stack.git("commit-tree", tree, "-p", "main", "-p", "a", "-m", "Merge a")
    stack.git("branch", "--force", "a", made)
    assert dropped(stack) == {"a": said(made, "main", "README, shared.txt")}


def test_what_a_folded_pr_removed_is_no_fault_of_who_merged_it(hand):
    hand.commit("main", {"f.txt": "1\n"}, "Add f")
    hand.declare("#1 a main", "#2 b #1", "#3 c main")
    hand.grow("a", "main", {"f.txt": None})
    hand.grow("b", "main~1", {"b.txt": "1\n"})
    hand.grow("c", "main", {"c.txt": "1\n"})
    merge(hand, "b", "--no-edit", "a")
    assert dropped(hand) == {}
    done = hand.run("fold", "--pr", "9", "--branch", "all", "--title", "All", "1", "3")
    assert done.code == 0, done.err
    rows = json.loads(hand.run("verify", "--json").out)
    assert [row["found"] for row in rows if row["found"]] == []


def landed_otherwise(hand):
    """A landing with a line that its child has otherwise, and with a file that nobody asked for."""
    hand.commit("b", {"a.txt": "of b\n"}, "Change it")
    hand.git("merge", "--quiet", "--squash", "a")
    hand.write({"a.txt": "2\n", "README": "3\n"}, hand.fork)
    hand.git("add", "--all")
    hand.git("commit", "--quiet", "-m", "Do a (#1)")
    return hand.run("sync")


def reverted_otherwise(hand):
    """A revert that changes more: a line that a branch has otherwise, and another file."""
    hand.squash("a", "Do a (#1)")
    assert hand.run("sync").code == 0
    hand.declare("#2 b main")
    hand.commit("b", {"notes.txt": "one\nof b\nthree\n"}, "Note it")
    hand.git("revert", "--no-commit", "HEAD")
    hand.write({"notes.txt": "one\nof main\nthree\n", "README": "3\n"}, hand.fork)
    hand.git("add", "--all")
    hand.git("commit", "--quiet", "-m", 'Revert "Do a (#1)"')
    return hand.run("sync", "--keep-reverted", "1")


OTHERWISE = pytest.mark.parametrize(
    ("begin", "subject"),
    [
        (landed_otherwise, "Merge #1 as it landed in main"),
        (reverted_otherwise, "Keep #1, which main reverts"),
    ],
)


def found_in(hand, branch):
    """What verify finds of dropped changes on a branch."""
    rows = json.loads(hand.run("verify", "--json").out)
    checks = [r for r in rows if r["name"] == "merges keep both sides" and r["branch"] == branch]
    return "; ".join(row["found"] for row in checks)


def settle(hand, *, drops):
    """Settle the merge that waits; leave main's README out of it or not. What b has then."""
    desk = hand.fork / ".git/merge_series/worktree"
    for path in hand.git("diff", "--name-only", "--diff-filter=U", where=desk).split():
        hand.write({path: "settled\n"}, desk)
    if drops:
        hand.git("checkout", "HEAD", "--", "README", where=desk)
    hand.git("add", "--all", where=desk)
    hand.git("commit", "--quiet", "--no-edit", where=desk)
    made = hand.git("rev-parse", "HEAD", where=desk)
    done = hand.run("sync", "--continue")
    assert done.code == 0, done.err
    return made


@OTHERWISE
def test_what_a_person_dropped_where_main_has_a_pr_otherwise_is_told(stack, begin, subject):
    done = begin(stack)
    assert done.code == 3, done.err
    made = settle(stack, drops=True)
    assert stack.git("log", "-1", "--format=%s", made) == subject
    assert found_in(stack, "b") == said(made, "main", "README")


@OTHERWISE
def test_what_a_person_settled_where_main_has_a_pr_otherwise_is_no_fault(stack, begin, subject):
    assert begin(stack).code == 3
    made = settle(stack, drops=False)
    assert stack.git("log", "-1", "--format=%s", made) == subject
    assert not found_in(stack, "b")
    forget(stack)
    assert not found_in(stack, "b")


def test_landings_in_other_forms_are_no_fault_in_another_clone(stack):
    stack.commit("b", {"a.txt": None}, "Do without it")
    stack.git("merge", "--quiet", "--squash", "a")
    stack.write({"more.txt": "1\n"}, stack.fork)
    stack.git("add", "--all")
    stack.git("commit", "--quiet", "-m", "Do a (#1)")
    stack.commit("main", {"README": "3\n"}, "Go on")
    done = stack.run("sync")
    assert done.code == 0, done.err
    assert "Merge #1 as it landed" in stack.message("b^")
    forget(stack)
    assert not found_in(stack, "b")


def test_a_merge_that_only_claims_to_record_is_checked(stack):
    head = stack.git("rev-parse", "a")
    message = f"Record that #1 landed in main\n\nAbsorbs: {head}"
    made = merge(stack, "b", "-s", "ours", "-m", message, "main")
    assert found_in(stack, "b") == said(made, "main", "README, shared.txt")
