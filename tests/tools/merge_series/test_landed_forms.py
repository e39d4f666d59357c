"""PRs that main has in another form than their branches, and what a branch takes over of it."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

DESK = ".git/merge_series/worktree"


def land(hand, files, subject="Do parent (#1)", *branches):
    """Land branches as one squash, with files as whoever merges them wants them."""
    for branch in branches or ("parent",):
        hand.git("merge", "--quiet", "--squash", branch)
        hand.git("commit", "--quiet", "--allow-empty", "-m", subject)
    if len(branches) > 1:
        hand.git("reset", "--quiet", "--soft", f"HEAD~{len(branches)}")
        hand.git("commit", "--quiet", "-m", subject)
    hand.write(files, hand.fork)
    hand.git("add", "--all")
    hand.git("commit", "--quiet", "--amend", "--allow-empty", "-m", subject)
    return hand.git("rev-parse", "main")


@pytest.fixture
def part(hand):
    """A parent that landed without a file and without a line, and two children."""
    hand.declare("#1 parent main", "#2 child #1", "#3 other #1")
    hand.grow("parent", "main", {"shared.txt": "a\nB\nc\nd\nE\n", "whole.txt": "1\n"})
    hand.grow("child", "parent", {"child.txt": "1\n"})
    hand.grow("other", "parent", {"other.txt": "1\n"})
    land(hand, {"shared.txt": "a\nB\nc\nd\ne\n", "whole.txt": None})
    return hand


def test_what_main_left_out_of_a_pr_is_for_a_person(part):
    before = part.heads()
    done = part.run("sync")
    assert done.code == 3
    head, landing = before["parent"][:12], before["main"][:12]
    assert done.err.splitlines()[0] == (
        f"main has #1 in another form than parent at {head}: {landing} differs in shared.txt, "
        "whole.txt; it left out something of shared.txt, whole.txt"
    )
    asked = (
        "#1 as landed lacks here what the PR seems to have brought; keep it in the branch, or let "
        "it go"
    )
    # Of each file, in both branches.
    assert " ".join(done.err.split()).count(asked) == 4, done.err
    assert part.heads() == before
    desk = part.fork / DESK
    assert (desk / "shared.txt").read_text() == (
        "a\nB\nc\nd\n<<<<<<< child (#2)\nE\n=======\ne\n>>>>>>> #1 as landed\n"
    )
    assert (desk / "whole.txt").read_text() == "1\n"
    part.write({"shared.txt": "a\nB\nc\nd\ne\n"}, desk)
    part.git("add", "--all", where=desk)
    on = part.run("sync", "--continue")
    assert on.code == 0, on.err
    both = {"notes.txt": "one\ntwo\nthree\n", "shared.txt": "a\nB\nc\nd\ne\n", "whole.txt": "1\n"}
    assert part.files("child") == both | {"child.txt": "1\n"}
    assert part.files("other") == both | {"other.txt": "1\n"}
    assert part.states() == ["landed", "open", "open"]
    assert "nothing was changed" in part.run("sync").err
    assert part.run("verify").code == 0
    message = part.message("other")
    assert "Main left out something that #1 brings:\n- shared.txt\n- whole.txt\n" in message
    assert "- shared.txt: as Ada Test settled it before\n" in message


def test_what_a_child_took_out_itself_is_not_asked_for(hand):
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"shared.txt": "a\nB\nc\nd\nE\n", "whole.txt": "1\n"})
    hand.grow("child", "parent", {"shared.txt": "a\nB\nc\nd\ne\n", "whole.txt": None})
    land(hand, {"shared.txt": "a\nB\nc\nd\ne\n", "whole.txt": None})
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.files("child") == hand.files("main")


def test_a_stop_at_what_main_left_out_is_dropped_without_a_trace(part):
    before = part.contents()
    assert part.run("sync").code == 3
    assert part.run("sync", "--abort").code == 0
    after = part.contents()
    kept = {path for path in before if not path.startswith(".git/objects/")}
    assert {path: after.get(path) for path in kept} == {path: before[path] for path in kept}


def test_a_worktree_that_is_gone_is_made_again_with_the_same_merge(part):
    assert part.run("sync").code == 3
    desk = part.fork / DESK
    text = (desk / "shared.txt").read_text()
    # Its reflogs are of the tests' time, which is long ago.
    kept = ("-c", "gc.reflogExpire=never", "-c", "gc.reflogExpireUnreachable=never")
    part.git(*kept, "gc", "--quiet", "--prune=now")
    part.git("worktree", "remove", "--force", str(desk))
    done = part.run("sync", "--continue")
    assert done.code == 3
    assert (desk / "shared.txt").read_text() == text


def test_a_dry_run_names_what_main_left_out(part):
    before = part.contents()
    done = part.run("sync", "--dry-run")
    assert done.code == 3
    assert "it left out something of shared.txt, whole.txt" in done.err
    assert part.contents() == before


def test_a_commit_that_names_a_pr_and_has_nothing_of_it_is_no_landing(hand):
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    hand.grow("child", "parent", {"child.txt": "1\n"})
    other = hand.commit("main", {"README": "1\n"}, "Prepare (#1)")
    head = hand.heads()["parent"]
    done = hand.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            f"error: main has #1 as {other[:12]} 'Prepare (#1)', but that has nothing of what "
            f"parent at {head[:12]} brings; nothing was changed. Name the commit that brought it "
            "(--landed 1=SHA); if none did, merge main by hand (git switch parent && git merge "
            f"{other[:12]})\n"
        ),
    )


def test_what_a_child_changed_in_the_same_lines_is_for_a_person(hand):
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"notes.txt": "one\nTWO\nthree\n"})
    hand.grow("child", "parent", {"notes.txt": "one\nTWO?\nthree\n"})
    land(hand, {"notes.txt": "one\nTWO!\nthree\n"})
    done = hand.run("sync")
    assert done.code == 3
    desk = hand.fork / DESK
    opening, closing = (
        f"{mark * 7} {name}, by " for mark, name in (("<", "child (#2)"), (">", "#1 as landed"))
    )
    said = (desk / "notes.txt").read_text().splitlines()
    assert [line for line in said if not line.startswith((opening, closing))] == [
        "one", "TWO?", "=======", "TWO!", "three",
    ]  # fmt: skip
    assert len(said) == 7
    hand.write({"notes.txt": "one\nTWO?!\nthree\n"}, desk)
    hand.git("commit", "--quiet", "--all", "--no-edit", where=desk)
    on = hand.run("sync", "--continue")
    assert on.code == 0, on.err
    assert hand.files("child")["notes.txt"] == "one\nTWO?!\nthree\n"
    assert hand.message("child").startswith("Merge #1 as it landed in main\n")


def test_a_file_that_a_child_took_out_and_main_edited_is_for_a_person(hand):
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"test_parent.py": "assert 1\n", "more.py": "1\n"})
    hand.grow("child", "parent", {"test_parent.py": None, "more.py": None})
    land(hand, {"test_parent.py": "assert 2\n"})
    done = hand.run("sync")
    assert done.code == 3
    desk = hand.fork / DESK
    assert (desk / "test_parent.py").exists()
    assert not (desk / "more.py").exists()


@pytest.mark.parametrize("edited", [{"notes.txt": "one\n22!\nthree\n"}, {"more.txt": "1\n"}])
def test_a_chain_of_which_two_landed_in_other_forms(hand, edited):
    hand.declare("#1 one main", "#2 two #1", "#3 three #2")
    hand.grow("one", "main", {"shared.txt": "a\nB\nc\nd\ne\n", "test_one.py": "1\n"})
    hand.grow("two", "one", {"notes.txt": "one\n22\nthree\n", "test_one.py": None})
    hand.grow("three", "two", {"three.txt": "1\n"})
    land(hand, {"shared.txt": "a\nB\nc\nd\nE\n"}, "Do one (#1)", "one")
    merged = {"notes.txt": "one\n22\nthree\n", "test_one.py": None, **edited}
    hand.write(merged, hand.fork)
    hand.git("add", "--all")
    hand.git("commit", "--quiet", "-m", "Do two (#2)")
    hand.commit("main", {"README": "1\n"}, "Go on")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.files("three") == hand.files("main") | {"three.txt": "1\n"}
    assert hand.states() == ["landed", "landed", "open"]


def test_several_prs_that_landed_as_one_edited_squash(hand):
    hand.declare("#1 one main", "#2 two #1", "#3 three #2")
    hand.grow("one", "main", {"one.txt": "1\n", "notes.txt": "1\ntwo\nthree\n"})
    hand.grow("two", "one", {"two.txt": "1\n"})
    hand.grow("three", "two", {"three.txt": "1\n", "notes.txt": "1\ntwo\n3\n"})
    landing = land(hand, {"one.txt": "1\nedited\n"}, "Do two (#2)", "two")
    done = hand.run("sync")
    assert (done.code, f"--landed 1={landing[:12]}" in done.err) == (1, True)
    done = hand.run("sync", "--landed", f"1={landing}")
    assert done.code == 0, done.err
    assert hand.files("three") == hand.files("main") | {
        "three.txt": "1\n",
        "notes.txt": "1\ntwo\n3\n",
    }
    assert hand.states() == ["landed", "landed", "open"]


def test_an_edited_rebase_is_as_long_as_its_commits(hand):
    """What main had before is main's own, and what was rebased with the last commit is not."""
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"notes.txt": "1\ntwo\nthree\n"}, {"shared.txt": "A\nb\nc\nd\ne\n"})
    hand.grow("child", "parent", {"notes.txt": "1!\ntwo\nthree\n"})
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    hand.git("cherry-pick", "parent~1")
    hand.write({"notes.txt": "1\ntwo\nthree, edited\n"}, hand.fork)
    hand.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    hand.git("cherry-pick", "parent")
    hand.git("commit", "--quiet", "--amend", "-m", "Parent 2 (#1)")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.files("child")["notes.txt"] == "1!\ntwo\nthree, edited\n"
    assert hand.git("log", "--format=%s", "--first-parent", "child", "-3").splitlines() == [
        "Merge #1 as it landed in main",
        "Merge main into child",
        "Child 1",
    ]
    assert "differs in notes.txt\n" in done.err


@pytest.fixture
def siblings(hand):
    """Two PRs on one that landed, and PRs above the one, the other and both."""
    hand.declare("#1 base main", "#2 left #1", "#3 right #1", "#4 on-left #2", "#5 both #2,#3")
    hand.grow("base", "main", {"base.txt": "1\n"})
    hand.grow("left", "base", {"shared.txt": "A\nb\nc\nd\ne\n"}, {"left.txt": "1\n"})
    hand.grow("right", "base", {"shared.txt": "a\nb\nc\nd\nE\n"}, {"right.txt": "1\n"})
    hand.grow("on-left", "left", {"shared.txt": "A!\nb\nc\nd\ne\n"})
    hand.grow("both", "left,right", {"right.txt": "1\n2\n", "shared.txt": "A\nb\nc\nd\ne!\n"})
    hand.squash("base", "Do base (#1)")
    return hand


@pytest.mark.parametrize("edited", [{}, {"new.txt": "1\n", "shared.txt": "A\nb\nC\nd\nE\n"}])
@pytest.mark.parametrize("subject", ["Do both (#2, #3)", "Do both (#2 and #3)", "Do both"])
def test_siblings_that_landed_as_one(siblings, subject, edited):
    hand = siblings
    landing = land(hand, edited, subject, "left", "right")
    hand.commit("main", {"README": "1\n"}, "Go on")
    named = [f"--landed={n}={landing}" for n in (2, 3)] if subject == "Do both" else []
    heads = hand.heads()
    done = hand.run("sync", *named)
    assert done.code == 0, done.err
    assert hand.states() == ["landed", "landed", "landed", "open", "open"]
    third = "C" if edited else "c"
    both = hand.files("main") | {"right.txt": "1\n2\n"}
    assert hand.files("both") == both | {"shared.txt": f"A\nb\n{third}\nd\ne!\n"}
    on_left = hand.files("main") | {"shared.txt": f"A!\nb\n{third}\nd\nE\n"}
    assert hand.files("on-left") == on_left
    form = (
        f"main has #2 and #3 in another form than left at {heads['left'][:12]} and right at "
        f"{heads['right'][:12]}: {landing[:12]} differs in new.txt, shared.txt"
    )
    assert [line for line in done.err.splitlines() if "another form" in line] == (
        [form] if edited else []
    )
    said = "Merge #2 and #3 as they" if edited else "Record that #2 and #3"
    assert hand.git("log", "-1", "--skip=1", "--first-parent", "--format=%s", "both") == (
        f"{said} landed in main"
    )
    assert "nothing was changed" in hand.run("sync").err
    shutil.rmtree(hand.fork / ".git/merge_series")
    verified = hand.run("verify")
    assert verified.code == 0, verified.out


def test_siblings_that_landed_as_one_and_conflict_with_each_other(hand):
    """Who landed them settled it, and so did who wrote the PR on both, otherwise."""
    hand.declare("#1 left main", "#2 right main", "#3 both #1,#2")
    hand.grow("left", "main", {"shared.txt": "L\nb\nc\nd\ne\n", "left.txt": "1\n"})
    hand.grow("right", "main", {"shared.txt": "R\nb\nc\nd\ne\n", "right.txt": "1\n"})
    hand.grow("both", "left")
    hand.git("switch", "--quiet", "both")
    hand.git("merge", "--quiet", "right", check=False)
    hand.write({"shared.txt": "L and R\nb\nc\nd\ne\n"}, hand.fork)
    hand.git("commit", "--quiet", "--all", "--no-edit")
    hand.git("switch", "--quiet", "main")
    files = {"shared.txt": "R and L\nb\nc\nd\ne\n", "left.txt": "1\n", "right.txt": "1\n"}
    hand.commit("main", files, "Do both (#1, #2)")
    done = hand.run("sync")
    assert done.code == 3, done.err
    assert "merging #1 and #2 as landed needs a person" in done.err
    desk = hand.fork / DESK
    assert "L and R\n" in (desk / "shared.txt").read_text()
    hand.write({"shared.txt": "R and L\nb\nc\nd\ne\n"}, desk)
    hand.git("add", "--all", where=desk)
    on = hand.run("sync", "--continue")
    assert on.code == 0, on.err
    assert hand.files("both") == hand.files("main")


START = "wwww"
# What stands in one place in the PR, in its child and in main's landing of the PR; main had what
# ``START`` has there.
SLOT = st.sampled_from(["aaa", "aaa", "aab", "aba", "abb", "abc", "aaw", "abw"]).map(tuple)


def text(lines):
    """Lines that stand apart, so that each is a hunk of its own, whatever diff is made."""
    return "".join(f"{line} {n}\n1 of {n}\n2 of {n}\n3 of {n}\n" for n, line in enumerate(lines))


def needs_a_person(before, base, ours, theirs):
    """Whether a line was changed by both sides, or main kept the old one and the branch did not."""
    if theirs in {base, ours}:
        return False
    return ours != base or theirs == before


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(slots=st.lists(SLOT, min_size=4, max_size=4))
def test_a_branch_gets_the_merge_of_its_text_and_mains_beyond_the_merged_pr(
    make_hand, tmp_path_factory, slots
):
    """By git merge-file of the three texts, or else a person is asked."""
    pr, child, edited = zip(*slots, strict=True)
    hand = make_hand()
    hand.declare("#1 parent main", "#2 child #1")
    hand.commit("main", {"f": text(START)}, "Add f")
    hand.grow("parent", "main", {"f": text(pr), "brought": "1\n"})
    hand.grow("child", "parent", {"f": text(child), "child": "1\n"})
    land(hand, {"f": text(edited)})
    done = hand.run("sync")
    if any(needs_a_person(before, *slot) for before, slot in zip(START, slots, strict=True)):
        assert done.code == 3, done.err
        assert hand.files("child")["f"] == text(child)
        return
    folder = tmp_path_factory.mktemp("texts")
    hand.write({"ours": text(child), "base": text(pr), "theirs": text(edited)}, folder)
    command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    merged = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    assert done.code == 0, done.err
    assert hand.files("child")["f"] == merged.stdout.decode()


@pytest.fixture
def locked(hand):
    """A fork whose lock has a row for each need, with the pin that it finds there."""
    tool = hand.root / "tool.py"
    tool.write_text(TOOL)
    command = shlex.join([sys.executable, str(tool)])
    hand.git("config", "merge-series.regenerate.x.lock.command", command)
    hand.commit("main", {"needs": "a\nb\nc\nd\ne\n", "x.lock": lock("abcde")}, "Lock")
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"needs": "a\nA\nb\nc\nd\ne\n", "x.lock": lock("Aabcde")})
    hand.grow("child", "parent", {"needs": "a\nA\nb\nc\nd\ne\nf\n", "x.lock": lock("Aabcdef")})
    return hand


TOOL = """\
import pathlib, re
text = pathlib.Path("x.lock").read_text()
pins = dict(re.findall("^(\\\\w)==([0-9])$", text, re.M))
needs = sorted(pathlib.Path("needs").read_text().split())
pathlib.Path("x.lock").write_text("".join(f"{n}=={pins.get(n, 1)}\\n" for n in needs))
"""


def lock(names, **pins):
    return "".join(f"{name}=={pins.get(name, 1)}\n" for name in names)


def test_a_lock_that_main_made_again_is_merged_and_no_other_form(locked):
    land(locked, {"x.lock": lock("Aabcde", c=2)})
    done = locked.run("sync")
    assert done.code == 0, done.err
    assert "another form" not in done.err
    assert locked.show("child", "x.lock") == lock("Aabcdef", c=2)
    assert locked.states() == ["landed", "open"]
    assert locked.run("verify").code == 0


def test_a_lock_in_a_landing_that_was_edited(locked):
    land(locked, {"x.lock": lock("Aabcde", c=2), "notes.txt": "one\n2\nthree\n"})
    done = locked.run("sync")
    assert done.code == 0, done.err
    assert "differs in notes.txt, x.lock\n" in done.err
    assert locked.show("child", "x.lock") == lock("Aabcdef", c=2)
    assert locked.show("child", "notes.txt") == "one\n2\nthree\n"


def test_a_branch_that_went_on_after_main_made_the_lock_again(locked):
    """Its new commit is no reason to doubt a landing that has all the rest as it was."""
    land(locked, {"x.lock": lock("Aabcde", c=2)})
    env = {**os.environ, "GIT_COMMITTER_DATE": "2030-01-01T00:00:00Z"}
    desk = locked.root / "later"
    locked.git("worktree", "add", "--quiet", str(desk), "parent")
    command = ["git", "commit", "--quiet", "--allow-empty", "-m", "Say more"]
    subprocess.run(command, cwd=desk, env=env, check=True)
    locked.git("worktree", "remove", str(desk))
    done = locked.run("sync")
    assert done.code == 0, done.err
    assert locked.show("child", "x.lock") == lock("Aabcdef", c=2)


MERGE = """\
import a
import b
{}
import y
import z


def all_of_them():
    return a, b, c, d, e, f, g, y, z
"""


@pytest.mark.parametrize("at_once", [False, True])
def test_an_import_block_that_main_edited(hand, at_once):
    """What both added there is settled as in any other merge; what is at odds is asked."""
    hand.declare("#1 parent main", "#2 child #1")
    hand.commit("main", {"f.py": MERGE.format("import c")}, "Add f")
    hand.grow("parent", "main", {"f.py": MERGE.format("import c\nimport d")})
    hand.grow("child", "parent", {"f.py": MERGE.format("import c\nimport d\nimport f")})
    land(hand, {"f.py": MERGE.format("import c\nimport d\nimport e")})
    if at_once:
        hand.commit(
            "main", {"f.py": MERGE.format("import c\nimport d\nimport e\nimport g")}, "Go on"
        )
    done = hand.run("sync")
    assert done.code == 0, done.err
    more = "\nimport g" if at_once else ""
    whole = "import c\nimport d\nimport e\nimport f" + more
    assert hand.show("child", "f.py") == MERGE.format(whole)


def test_a_file_with_carried_edits_that_main_edited(world):
    names = "megatron/core/names.py"
    world.git("merge", "--quiet", "--squash", "ratchet")
    world.git("commit", "--quiet", "-m", "List the global reads (#1)")
    edited = world.names.replace("return offset(count)", "return offset(count or 1)")
    world.write({names: edited}, world.fork)
    world.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    done = world.run("sync")
    assert done.code == 0, done.err
    assert f"differs in {names}\n" in done.err
    assert "return offset(count or 1, size=own_size())" in world.show("offsets", names)
    assert "the edits of #2 applied to main's text" in world.message("offsets~1") + world.message(
        "offsets"
    )
    assert world.run("verify").code == 0


def test_a_landing_that_was_edited_to_read_more_brings_its_reads(world):
    names = "megatron/core/names.py"
    more = world.names.replace("_size())", "_size(), parallel_state.get_group())")
    world.git("merge", "--quiet", "--squash", "ratchet")
    world.write({names: more}, world.fork)
    row = f"{names} offset get_group_size accessor 1\n"
    listed = (world.fork / world.allowlist).read_text()
    listed = listed.replace(row, row.replace("_size", "") + row)
    world.commit("main", {world.allowlist: listed}, "List the global reads (#1)")
    done = world.run("sync")
    assert done.code == 0, done.err
    assert world.run("verify").code == 0
    assert world.show("by-hand", world.allowlist) == listed
    assert world.show("offsets", world.allowlist) == listed
