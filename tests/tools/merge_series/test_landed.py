"""PRs that landed on main, in whatever form, and what their dependents become."""

import json

import pytest

PARENT = "#1 parent main"
CHILD = "#2 child #1"
START = {"notes.txt": "one\ntwo\nthree\n", "shared.txt": "a\nb\nc\nd\ne\n"}


@pytest.fixture
def pair(hand):
    """A parent of two commits, and a child on it that changes the same lines."""
    hand.declare(PARENT, CHILD)
    hand.grow(
        "parent",
        "main",
        {"notes.txt": "one\nTWO\nthree\n", "test_parent.py": "assert 1\n"},
        {"notes.txt": "one\nTWO!\nthree\n"},
    )
    hand.grow("child", "parent", {"notes.txt": "one\nTWO?\nthree\n", "test_parent.py": None})
    return hand


def lines(ran):
    return [line.rstrip() for line in ran.err.splitlines()]


def refused(hand, *arguments):
    """Run a sync that has to stop, and check that it changed nothing a user can see."""
    before, text = hand.heads(), (hand.root / "SERIES.md").read_text()
    done = hand.run("sync", *arguments)
    assert (hand.heads(), (hand.root / "SERIES.md").read_text()) == (before, text)
    return done


def test_git_alone_conflicts_and_brings_back_what_the_child_deleted(pair):
    pair.squash("parent", "Do parent (#1)")
    pair.git("switch", "--quiet", "--detach", "child")
    merged = pair.git("merge", "main", check=False)
    assert "CONFLICT (content): Merge conflict in notes.txt" in merged
    assert (pair.fork / "test_parent.py").exists()


def test_a_squashed_parent_of_several_commits_raises_no_conflict(pair):
    old = pair.heads()
    pair.commit("main", {"README": "1\n"}, "Add a readme")
    landing = pair.squash("parent", "Do parent (#1)")
    pair.commit("main", {"README": "2\n"}, "Go on")
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert pair.files("child") == {
        "README": "2\n",
        "notes.txt": "one\nTWO?\nthree\n",
        "shared.txt": START["shared.txt"],
    }
    assert (
        pair.graph("main", "child", "parent")
        == """\
*   Merge main into child (child)
|\\
| * Go on (main)
* | Record that #1 landed in main
|\\|
| * Do parent (#1)
* | Merge main into child
|\\|
| * Add a readme
* | Child 1
* | Parent 2 (parent)
* | Parent 1
|/
* Start main"""
    )
    assert pair.heads()["parent"] == old["parent"]
    assert (
        pair.message("child^")
        == f"""\
Record that #1 landed in main

Main has it as {landing[:12]}, whose files are those of merging parent
at {old["parent"][:12]} into the commit before. This branch contains both, so
it keeps its files as they are.

Absorbs: {old["parent"]}
Signed-off-by: Ada Test <ada@example.org>"""
    )
    series = pair.root / "SERIES.md"
    assert lines(done)[-10:] == [
        "3 commits stood on the branches before; 3 of them are reachable now.",
        f"#1 landed in main as {landing[:12]}; its branch is kept.",
        f"{series} is changed:",
        f"--- {series}",
        f"+++ {series}",
        "@@ -4,3 +4,3 @@",
        " |---|---|---|---|---|",
        "-| #1 | `parent` | main | Do parent | open |",
        "+| #1 | `parent` | main | Do parent | landed |",
        " | #2 | `child` | #1 | Do child | open |",
    ]


def test_a_second_sync_after_a_landing_finds_nothing(pair):
    pair.squash("parent", "Do parent (#1)")
    assert pair.run("sync").code == 0
    before = pair.contents()
    again = pair.run("sync")
    assert lines(again) == [
        "Every branch is up to date; nothing was changed.",
        "4 commits stood on the branches before; 4 of them are reachable now.",
    ]
    assert pair.contents() == before
    assert pair.run("verify").code == 0


def test_main_that_moves_on_in_the_same_lines_still_conflicts_there(pair):
    pair.squash("parent", "Do parent (#1)")
    pair.commit("main", {"notes.txt": "one\nTWO! and more\nthree\n"}, "Change what landed")
    done = pair.run("sync")
    assert done.code == 3
    landing = pair.git("rev-parse", "--short=12", "main~1")
    assert lines(done)[-1] == f"#1 landed in main as {landing}; the sync records it when it ends."
    assert pair.states() == ["open", "open"]
    desk = pair.fork / ".git/merge_series/worktree"
    merged = (desk / "notes.txt").read_text().splitlines()
    assert [line for line in merged if line[:7] not in {"<<<<<<<", ">>>>>>>"}] == [
        "one",
        "TWO?",
        "=======",
        "TWO! and more",
        "three",
    ]
    assert not (desk / "test_parent.py").exists()
    pair.write({"notes.txt": "one\nTWO? and more\nthree\n"}, desk)
    pair.git("add", "--all", where=desk)
    on = pair.run("sync", "--continue")
    assert on.code == 0, on.err
    assert pair.files("child")["notes.txt"] == "one\nTWO? and more\nthree\n"
    assert pair.states() == ["landed", "open"]


def test_what_main_changed_after_the_landing_elsewhere_is_kept(pair):
    pair.squash("parent", "Do parent (#1)")
    pair.commit("main", {"shared.txt": "a\nb\nC\nd\ne\n", "notes.txt": "one\nTWO!\n3\n"}, "Go on")
    done = pair.run("sync")
    assert done.code == 3  # the line beside the child's own
    pair.run("sync", "--abort")
    pair.commit("main", {"notes.txt": "one\nTWO!\nthree\n"}, "Go back")
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert pair.files("child") == {
        "notes.txt": "one\nTWO?\nthree\n",
        "shared.txt": "a\nb\nC\nd\ne\n",
    }


def test_a_dry_run_shows_the_row_and_leaves_every_byte(pair):
    pair.squash("parent", "Do parent (#1)")
    before, text = pair.contents(), (pair.root / "SERIES.md").read_bytes()
    done = pair.run("sync", "--dry-run")
    assert done.code == 0, done.err
    assert f"{pair.root / 'SERIES.md'} would change:" in lines(done)
    assert "+| #1 | `parent` | main | Do parent | landed |" in lines(done)
    assert (pair.contents(), (pair.root / "SERIES.md").read_bytes()) == (before, text)


def test_json_says_what_landed_where(pair):
    landing = pair.squash("parent", "Do parent (#1)")
    done = pair.run("sync", "--json")
    assert json.loads(done.out)["landed"] == {"1": landing}


def test_a_branch_that_went_on_after_it_landed_stops(pair, monkeypatch):
    landing = pair.squash("parent", "Do parent (#1)")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:06+00:00")
    head = pair.commit("parent", {"late.txt": "x\n", "notes.txt": "1\nTWO!\nthree\n"}, "Go on")
    done = refused(pair)
    assert done.code == 1
    assert done.err == (
        f"error: main has #1 as {landing[:12]} 'Do parent (#1)', but parent went on since with "
        f"{head[:12]} 'Go on', and they differ in late.txt, notes.txt; nothing was changed. Move "
        "what is new to a PR of its own; if main has it in another form, say so: --landed "
        f"1={landing[:12]}; if that commit is no landing of it, merge main by hand (git switch "
        f"parent && git merge {landing[:12]})\n"
    )


def test_a_squash_that_was_changed_on_the_way_is_taken_over(pair):
    head = pair.heads()["parent"]
    pair.git("merge", "--quiet", "--squash", "parent")
    pair.write({"shared.txt": "a\nb\nc\nd\nE\n", "more.txt": "1\n"}, pair.fork)
    pair.git("add", "--all")
    pair.git("commit", "--quiet", "-m", "Do parent (#1)")
    landing = pair.git("rev-parse", "main")
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert pair.files("child") == {
        "notes.txt": "one\nTWO?\nthree\n",
        "shared.txt": "a\nb\nc\nd\nE\n",
        "more.txt": "1\n",
    }
    assert lines(done)[0] == (
        f"main has #1 in another form than parent at {head[:12]}: {landing[:12]} differs in "
        "more.txt, shared.txt"
    )
    assert (
        pair.message("child")
        == f"""\
Merge #1 as it landed in main

Main has it as {landing[:12]}, whose files are not those of merging parent
at {head[:12]} into the commit before. What differs is merged here:
- more.txt
- shared.txt

Absorbs: {head}
Signed-off-by: Ada Test <ada@example.org>"""
    )
    assert (
        pair.graph("main", "child", "parent")
        == """\
*   Merge #1 as it landed in main (child)
|\\
| * Do parent (#1) (main)
* | Child 1
* | Parent 2 (parent)
* | Parent 1
|/
* Start main"""
    )
    assert pair.states() == ["landed", "open"]
    assert "nothing was changed" in pair.run("sync").err
    assert pair.run("verify").code == 0


def test_after_a_merge_by_hand_and_landed_in_the_row_it_goes_on(pair):
    pair.git("merge", "--quiet", "--squash", "parent")
    pair.write({"shared.txt": "a\n"}, pair.fork)
    pair.git("commit", "--quiet", "--all", "-m", "Do parent (#1)")
    pair.git("switch", "--quiet", "child")
    pair.git("merge", "--quiet", "-X", "ours", "--no-edit", "main")
    pair.git("switch", "--quiet", "main")
    pair.declare(f"{PARENT} landed", CHILD)
    pair.commit("main", {"README": "new\n"}, "Add a readme")
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert lines(done)[0] == "child: merged main"


def test_a_landing_that_no_subject_names_is_named_by_hand(pair):
    landing = pair.squash("parent", "Do parent")
    pair.commit("main", {"README": "new\n"}, "Add a readme")
    done = pair.run("sync", "--landed", f"1={landing}")
    assert done.code == 0, done.err
    assert pair.files("child") == {
        "README": "new\n",
        "notes.txt": "one\nTWO?\nthree\n",
        "shared.txt": START["shared.txt"],
    }
    assert pair.states() == ["landed", "open"]


def test_a_named_landing_is_remembered_while_a_person_works(pair):
    landing = pair.squash("parent", "Do parent")
    pair.commit("main", {"notes.txt": "one\nTWO! and more\nthree\n"}, "Change what landed")
    assert pair.run("sync", "--landed", f"1={landing}").code == 3
    desk = pair.fork / ".git/merge_series/worktree"
    pair.write({"notes.txt": "one\nTWO? and more\nthree\n"}, desk)
    pair.git("add", "--all", where=desk)
    on = pair.run("sync", "--continue")
    assert on.code == 0, on.err
    assert pair.states() == ["landed", "open"]
    assert pair.git("log", "--format=%s", "--first-parent", "child", "-3").splitlines() == [
        "Merge main into child",
        "Record that #1 landed in main",
        "Child 1",
    ]


NAME_ONE = "; fetch it, or name one that git log --first-parent of main shows\n"


@pytest.mark.parametrize(
    ("value", "code", "said"),
    [
        ("3=main", 1, "error: --landed: SERIES.md has no PR #3 that could land; correct it\n"),
        ("1=nothing", 1, "error: --landed 1=nothing: main has no such commit" + NAME_ONE),
        ("1=child", 1, "error: --landed 1=child: main has no such commit" + NAME_ONE),
        (
            "1=main~1",
            1,
            (
                "error: --landed 1=main~1: that is none of main's own commits since the branches "
                "left it, and main lacks the head of parent; name the one that brought it, or, if "
                "it landed before, write landed in its row\n"
            ),
        ),
        ("1", 2, "1: write each PR once, like 8045=1a2b3c4d\n"),
    ],
)
def test_a_landing_named_wrongly_is_refused(pair, value, code, said):
    pair.commit("main", {"README": "new\n"}, "Add a readme")
    done = refused(pair, "--landed", value)
    assert (done.code, done.err[-len(said) :]) == (code, said)


def test_a_row_that_says_landed_needs_a_commit_that_names_it(pair):
    landing = pair.squash("parent", "Do parent")
    pair.declare(f"{PARENT} landed", CHILD)
    done = refused(pair)
    assert (done.code, done.err) == (
        1,
        (
            "error: SERIES.md:5: #1 is said to have landed and child holds it, but no commit of "
            "main since names it; say which one it is: --landed 1=SHA\n"
        ),
    )
    assert pair.run("sync", "--landed", f"1={landing[:10]}").code == 0
    pair.commit("main", {"README": "new\n"}, "Add a readme")
    assert pair.run("sync").code == 0


def test_a_row_that_says_landed_is_absorbed_all_the_same(pair):
    pair.squash("parent", "Do parent (#1)")
    pair.declare(f"{PARENT} landed", CHILD)
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert pair.files("child")["notes.txt"] == "one\nTWO?\nthree\n"
    assert "test_parent.py" not in pair.files("child")


def test_a_merged_parent_is_landed_as_it_is(pair):
    pair.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request #1 from me/parent", "parent")
    landing = pair.git("rev-parse", "main")
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert f"#1 landed in main as {landing[:12]}; its branch is kept." in lines(done)
    assert pair.states() == ["landed", "open"]
    assert (
        pair.graph("main", "child", "parent")
        == """\
*   Merge main into child (child)
|\\
| *   Merge pull request #1 from me/parent (main)
| |\\
* | | Child 1
| |/
|/|
* | Parent 2 (parent)
* | Parent 1
|/
* Start main"""
    )


def test_a_merged_parent_that_went_on_stops(pair):
    pair.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request #1 from me/parent", "parent")
    pair.commit("parent", {"late.txt": "x\n"}, "Go on")
    done = refused(pair)
    assert (done.code, "they differ in late.txt; " in done.err) == (1, True)
    assert "parent went on since with" in done.err


def test_a_branch_without_commits_of_its_own_has_not_landed(hand):
    hand.declare("#1 parent main", "#2 child #1", "#3 other main")
    hand.grow("parent", "main", {"notes.txt": "one\n2\nthree\n"})
    hand.grow("child", "parent")
    hand.grow("other", "main")
    hand.git("merge", "--quiet", "--no-ff", "-m", "Take parent", "parent")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.states() == ["landed", "open", "open"]


def test_a_rebased_parent_is_known_by_its_patches(pair):
    pair.commit("main", {"README": "1\n"}, "Add a readme")
    pair.git("cherry-pick", "parent~1", "parent")
    landing = pair.git("rev-parse", "main")
    pair.commit("main", {"README": "2\n"}, "Go on")
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert f"#1 landed in main as {landing[:12]}; its branch is kept." in lines(done)
    assert pair.git("log", "--format=%s", "--first-parent", "child", "-4").splitlines() == [
        "Merge main into child",
        "Record that #1 landed in main",
        "Merge main into child",
        "Child 1",
    ]
    assert pair.files("child") == {
        "README": "2\n",
        "notes.txt": "one\nTWO?\nthree\n",
        "shared.txt": START["shared.txt"],
    }


def test_a_rebased_parent_is_known_by_the_number_at_the_end(pair):
    pair.git("cherry-pick", "parent~1", "parent")
    pair.git("commit", "--quiet", "--amend", "-m", "Shout louder (#1)")
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert pair.states() == ["landed", "open"]
    assert "test_parent.py" not in pair.files("child")


def test_a_part_of_a_rebased_parent_is_no_landing(pair):
    pair.git("cherry-pick", "parent~1")
    done = pair.run("sync", "--dry-run")
    assert "landed" not in done.err


def test_the_first_commits_of_a_rebased_parent_are_not_taken_for_others_of_main(hand):
    hand.declare(PARENT, CHILD)
    hand.grow("parent", "main", {"test_parent.py": "assert 1\n"}, {"notes.txt": "one\n"})
    hand.grow("child", "parent", {"test_parent.py": None})
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    hand.git("cherry-pick", "parent~1", "parent")
    done = hand.run("sync", "--landed", f"1={hand.git('rev-parse', 'main')}")
    assert done.code == 0, done.err
    assert hand.files("child") == {
        "README": "1\n",
        "notes.txt": "one\n",
        "shared.txt": START["shared.txt"],
    }


def test_a_landing_that_was_reverted_is_asked_about(pair):
    landing = pair.squash("parent", "Do parent (#1)")
    pair.git("revert", "--no-edit", landing)
    revert = pair.git("rev-parse", "main")
    done = refused(pair)
    assert (done.code, done.err) == (
        3,
        (
            f"error: #1 landed, and main reverts it by {revert[:12]} 'Revert \"Do parent (#1)\"'; "
            "nothing was merged. To keep its lines in parent, child: "
            f"{pair.typed('sync --keep-reverted 1')}. To let them go with the revert: "
            f"{pair.typed('sync --drop-reverted 1')}\n"
        ),
    )


def test_a_revert_that_its_pr_has_merged_by_hand_is_no_question(pair):
    landing = pair.squash("parent", "Do parent (#1)")
    pair.git("revert", "--no-edit", landing)
    pair.git("switch", "--quiet", "parent")
    pair.git("merge", "--quiet", "-s", "ours", "--no-edit", "main")
    pair.git("switch", "--quiet", "main")
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert pair.states() == ["open", "open"]
    assert pair.files("child")["notes.txt"] == "one\nTWO?\nthree\n"


def test_a_merged_parent_that_was_reverted_is_kept(pair):
    pair.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request #1 from me/parent", "parent")
    pair.git("revert", "--no-edit", "--mainline", "1", "main")
    revert = pair.git("rev-parse", "main")
    done = refused(pair)
    assert done.code == 3
    assert done.err.startswith(
        f"error: #1 landed, and main reverts it by {revert[:12]} 'Revert \"Merge pull request #1 "
        "from me/parent\"'; "
    )
    kept = pair.run("sync", "--keep-reverted", "1")
    assert kept.code == 0, kept.err
    assert pair.states() == ["open", "open"]
    assert pair.files("parent") == {
        **START,
        "notes.txt": "one\nTWO!\nthree\n",
        "test_parent.py": "assert 1\n",
    }
    assert pair.files("child") == {**START, "notes.txt": "one\nTWO?\nthree\n"}


def test_two_commits_that_name_the_pr_stop(pair):
    first = pair.squash("parent", "Do parent (#1)")
    pair.commit("main", {"README": "1\n"}, "Add a readme")
    second = pair.commit("main", {"README": "2\n"}, "Mend it (#1)")
    done = refused(pair)
    assert (done.code, done.err) == (
        1,
        (
            f"error: main has 2 commits that name #1, with others between: {first[:12]} 'Do parent "
            f"(#1)' and {second[:12]} 'Mend it (#1)'; say which one ends its landing: "
            "--landed 1=SHA\n"
        ),
    )
    assert pair.run("sync", "--landed", f"1={first}").code == 0
    assert pair.files("child") == {
        "README": "2\n",
        "notes.txt": "one\nTWO?\nthree\n",
        "shared.txt": START["shared.txt"],
    }


def test_a_chain_of_which_two_landed(hand):
    hand.declare("#1 one main", "#2 two #1", "#3 three #2")
    hand.grow("one", "main", {"notes.txt": "one\n2\nthree\n", "test_one.py": "1\n"})
    hand.grow("two", "one", {"notes.txt": "one\n22\nthree\n", "test_one.py": None})
    hand.grow("three", "two", {"notes.txt": "one\n222\nthree\n"})
    hand.squash("one", "Do one (#1)")
    # The second was brought up to date on the hosting, and squashed.
    hand.git("switch", "--quiet", "--detach", "two")
    hand.git("merge", "--quiet", "-s", "ours", "--no-edit", "main")
    merged = hand.git("rev-parse", "HEAD^{tree}")
    hand.git("switch", "--quiet", "main")
    hand.git("read-tree", "-u", "--reset", merged)
    hand.git("commit", "--quiet", "-m", "Do two (#2)")
    hand.commit("main", {"shared.txt": "a\nb\nC\nd\ne\n"}, "Go on")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.states() == ["landed", "landed", "open"]
    assert hand.files("three") == {
        "notes.txt": "one\n222\nthree\n",
        "shared.txt": "a\nb\nC\nd\ne\n",
    }
    assert hand.git("log", "--format=%s", "--first-parent", "three", "-5").splitlines() == [
        "Merge main into three",
        "Record that #2 landed in main",
        "Record that #1 landed in main",
        "Three 1",
        "Two 1",
    ]


def test_a_chain_that_its_hosting_squashed_without_the_landing_below(hand):
    """Its merge of the child does not know the squash of the parent, so it keeps what is there."""
    hand.declare("#1 par main", "#2 kid #1", "#3 top #2")
    hand.grow("par", "main", {"tests/old.py": "1\n", "par.txt": "1\n"})
    hand.grow("kid", "par", {"tests/old.py": None, "kid.txt": "1\n"})
    hand.grow("top", "kid", {"top.txt": "1\n"})
    hand.squash("par", "Do par (#1)")
    hand.squash("kid", "Do kid (#2)")
    assert "tests/old.py" in hand.files("main")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.states() == ["landed", "landed", "open"]
    assert hand.files("top") == {
        name: text for name, text in hand.files("main").items() if name != "tests/old.py"
    } | {"top.txt": "1\n"}


def test_a_dependency_that_absorbed_a_landing_brings_it_along(hand):
    hand.declare("#1 par main", "#2 kid #1", "#3 top #2")
    hand.grow("par", "main", {"notes.txt": "one\n2\nthree\n"})
    hand.grow("kid", "par", {"notes.txt": "one\n22\nthree\n"})
    hand.grow("top", "kid", {"notes.txt": "one\n222\nthree\n"})
    hand.squash("par", "Do par (#1)")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert (
        hand.graph("top")
        == """\
*   Merge what kid does from #2 (top)
|\\
| *   Record that #1 landed in main (kid)
| |\\
| | * Do par (#1) (main)
* | | Top 1
|/ /
* | Kid 1
* | Par 1 (par)
|/
* Start main"""
    )


def test_a_landing_that_builds_on_another_is_none_of_who_holds_the_other_alone(hand):
    hand.declare("#1 par main", "#2 kid #1", "#3 side #1")
    hand.grow("par", "main", {"notes.txt": "one\n2\nthree\n"})
    hand.grow("kid", "par", {"kid.txt": "1\n"})
    hand.grow("side", "par", {"side.txt": "1\n"})
    hand.squash("par", "Do par (#1)")
    hand.squash("kid", "Do kid (#2)")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert (
        hand.graph("side")
        == """\
*   Merge main into side (side)
|\\
| * Do kid (#2) (main)
* | Record that #1 landed in main
|\\|
| * Do par (#1)
* | Side 1
* | Par 1 (par)
|/
* Start main"""
    )


@pytest.mark.parametrize(("settled", "code"), [("one\n2\nthree\n", 0), (None, 3)])
def test_a_landing_in_which_a_conflict_was_settled_asks_where_it_was_settled_otherwise(
    hand, settled, code
):
    """Its tree may be that of git's merge, which has the file whole, and yet that merge is none."""
    hand.declare("#1 par main", "#2 kid #1")
    hand.grow("par", "main", {"notes.txt": None, "par.txt": "1\n"})
    hand.grow("kid", "par", {"kid.txt": "1\n"})
    hand.commit("main", {"notes.txt": "one\n2\nthree\n"}, "Write the second as a digit")
    hand.git("merge", "--quiet", "--squash", "par", check=False)
    hand.git("add", "notes.txt")
    hand.git("commit", "--quiet", "-m", "Do par (#1)")
    assert refused(hand).code == 3
    desk = hand.fork / ".git/merge_series/worktree"
    hand.write({"notes.txt": settled}, desk)
    hand.git("add", "--all", where=desk)
    done = hand.run("sync", "--continue")
    assert done.code == code, done.err
    if code:
        assert "notes.txt" in done.err
        assert hand.git("ls-files", "--unmerged", where=desk).endswith("3\tnotes.txt")
        hand.git("rm", "--quiet", "notes.txt", where=desk)
        assert hand.run("sync", "--continue").code == 0
    assert hand.files("kid").get("notes.txt") == settled
    assert hand.files("kid")["par.txt"] == hand.files("kid")["kid.txt"] == "1\n"


def test_the_list_of_a_landing_is_compared_as_it_is_made_again(world):
    """Main reads more by then, so the landing has another list than git's merge."""
    names = "megatron/core/names.py"
    more = world.names.replace("_size())", "_size(), parallel_state.get_group())")
    world.commit("main", {names: more}, "Read the group as well")
    start = world.git("rev-parse", "ratchet")
    assert world.run("sync").code == 0
    listed = world.show("ratchet", world.allowlist)
    assert world.run("undo").code == 0
    assert world.git("rev-parse", "ratchet") == start
    world.git("merge", "--quiet", "--squash", "ratchet")
    assert (world.fork / world.allowlist).read_text() != listed
    landing = world.commit("main", {world.allowlist: listed}, "List the global reads (#1)")
    done = world.run("sync")
    assert done.code == 0, done.err
    assert f"#1 landed in main as {landing[:12]}; its branch is kept." in lines(done)
    assert world.show("offsets", world.allowlist) == listed
    assert world.run("verify").code == 0


def test_siblings_that_touch_the_same_file_keep_what_they_did(hand):
    hand.declare("#1 parent main", "#2 left #1", "#3 right #1", "#4 top #2,#3")
    hand.grow("parent", "main", {"shared.txt": "a\nB\nc\nd\ne\n", "test_parent.py": "1\n"})
    hand.grow("left", "parent", {"shared.txt": "A\nB\nc\nd\ne\n", "test_parent.py": None})
    hand.grow("right", "parent", {"shared.txt": "a\nB\nc\nd\nE\n"})
    hand.grow("top", "left,right", {"top.txt": "x\n"})
    hand.squash("parent", "Do parent (#1)")
    hand.commit("main", {"notes.txt": "one\n2\nthree\n"}, "Go on")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.files("left") == {"notes.txt": "one\n2\nthree\n", "shared.txt": "A\nB\nc\nd\ne\n"}
    assert hand.files("right") == {
        "notes.txt": "one\n2\nthree\n",
        "shared.txt": "a\nB\nc\nd\nE\n",
        "test_parent.py": "1\n",
    }
    assert hand.files("top") == {
        "notes.txt": "one\n2\nthree\n",
        "shared.txt": "A\nB\nc\nd\nE\n",
        "top.txt": "x\n",
    }
    assert hand.run("verify").code == 0


def test_what_main_undid_after_a_landing_stays_undone_beside_an_open_dependency(hand):
    """The open dependency brings main with it, so the landing is absorbed before that is merged."""
    hand.declare("#1 open main", "#2 gone main", "#3 child #1,#2")
    hand.grow("open", "main", {"open.txt": "1\n"})
    hand.grow("gone", "main", {"gone.txt": "1\n", "kept.txt": "1\n"})
    hand.grow("child", "open,gone", {"child.txt": "1\n"})
    hand.squash("gone", "Do gone (#2)")
    hand.commit("main", {"gone.txt": None}, "Drop what was not needed")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert set(hand.files("child")) == {*START, "open.txt", "kept.txt", "child.txt"}
    assert (
        hand.graph("child")
        == """\
*   Merge what open does from #1 (child)
|\\
| *   Merge main into open (open)
| |\\
| | * Drop what was not needed (main)
* | |   Record that #2 landed in main
|\\ \\ \\
| | |/
| |/|
| * | Do gone (#2)
* | | Child 1
* | |   Merge branch 'gone' into child
|\\ \\ \\
| |_|/
|/| |
| * | Gone 1 (gone)
| |/
* / Open 1
|/
* Start main"""
    )


def test_a_pr_in_the_middle_of_a_diamond_lands_after_its_parent(hand):
    hand.declare("#1 root main", "#2 left #1", "#3 right #1", "#4 top #2,#3")
    hand.grow("root", "main", {"shared.txt": "a\nB\nc\nd\ne\n"})
    hand.grow("left", "root", {"shared.txt": "A\nB\nc\nd\ne\n", "test_left.py": "1\n"})
    hand.grow("right", "root", {"shared.txt": "a\nB\nc\nd\nE\n"})
    hand.grow("top", "left,right", {"test_left.py": None, "top.txt": "x\n"})
    hand.squash("root", "Do root (#1)")
    assert hand.run("sync").code == 0
    hand.squash("left", "Do left (#2)")
    hand.commit("main", {"notes.txt": "one\n2\nthree\n"}, "Go on")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert hand.states() == ["landed", "landed", "open", "open"]
    assert hand.files("right") == {
        "notes.txt": "one\n2\nthree\n",
        "shared.txt": "A\nB\nc\nd\nE\n",
        "test_left.py": "1\n",
    }
    assert hand.files("top") == {
        "notes.txt": "one\n2\nthree\n",
        "shared.txt": "A\nB\nc\nd\nE\n",
        "top.txt": "x\n",
    }


def test_a_landing_that_brought_its_open_parent_with_it_stops(hand):
    hand.declare("#1 root main", "#2 left #1", "#3 right #1")
    hand.grow("root", "main", {"shared.txt": "a\nB\nc\nd\ne\n"})
    hand.grow("left", "root", {"shared.txt": "A\nB\nc\nd\ne\n", "test_left.py": "1\n"})
    hand.grow("right", "root", {"shared.txt": "a\nB\nC\nd\nE\n"})
    landing = hand.squash("left", "Do left (#2)")
    done = refused(hand)
    assert (done.code, done.err) == (
        1,
        (
            f"error: #2 landed as {landing[:12]} with all of #1, which it holds; if #1 has landed "
            f"by that, say so: --landed 1={landing[:12]}\n"
        ),
    )
    done = hand.run("sync", "--landed", f"1={landing[:12]}")
    assert done.code == 0, done.err
    assert hand.states() == ["landed", "landed", "open"]
    # The sibling held a part of what landed: with the rest merged, nothing conflicts.
    assert hand.files("right") == {
        "notes.txt": START["notes.txt"],
        "shared.txt": "A\nB\nC\nd\nE\n",
        "test_left.py": "1\n",
    }


def test_a_child_that_lags_behind_its_parent_gets_all_of_it_first(pair):
    pair.commit("parent", {"late.txt": "x\n"}, "Go on")
    pair.squash("parent", "Do parent (#1)")
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert pair.files("child")["late.txt"] == "x\n"
    assert "test_parent.py" not in pair.files("child")
    assert pair.git("log", "--format=%s", "--first-parent", "child", "-3").splitlines() == [
        "Record that #1 landed in main",
        "Merge what parent does from #1",
        "Child 1",
    ]


def test_status_says_what_seems_to_have_landed(pair):
    landing = pair.squash("parent", "Do parent (#1)")
    before = pair.contents()
    done = pair.run("status")
    assert f"#1 seems to have landed in main as {landing[:12]} 'Do parent (#1)'." in lines(done)
    assert pair.contents() == before


def test_undo_takes_the_row_back_with_the_branches(pair):
    before, text = pair.heads(), (pair.root / "SERIES.md").read_bytes()
    pair.squash("parent", "Do parent (#1)")
    assert pair.run("sync").code == 0
    done = pair.run("undo")
    assert done.code == 0, done.err
    assert {**pair.heads(), "main": before["main"]} == before
    assert (pair.root / "SERIES.md").read_bytes() == text


def test_a_child_that_main_has_left_empty_is_reported(hand):
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"notes.txt": "one\n2\nthree\n"})
    hand.grow("child", "parent", {"shared.txt": "A\nb\nc\nd\ne\n"})
    hand.commit("parent", {"shared.txt": "A\nb\nc\nd\ne\n"}, "Take the child's change")
    done = hand.run("sync")
    assert lines(done)[:2] == [
        "child: merged #1",
        "child: holds nothing that #1 does not; if nothing is to come, its PR can be closed",
    ]
    assert "holds nothing" not in hand.run("sync").err


def test_a_dependency_that_has_a_landing_as_main_has_it_undoes_nothing(hand):
    """The diamond's other corner never held the parent, so it takes main as it is."""
    hand.declare(PARENT, "#2 other main", "#3 both #1,#2")
    edited = {"shared.txt": "a\nB\nc\nd\ne\n", "test_parent.py": "assert 1\n"}
    hand.grow("parent", "main", edited)
    hand.grow("other", "main", {"other.txt": "other\n"})
    back = {"shared.txt": START["shared.txt"], "test_parent.py": None}
    hand.grow("both", "other,parent", back)
    landing = hand.squash("parent", "Do parent (#1)")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert lines(done)[:3] == [
        "other: merged main",
        "both: merged #1 as landed",
        "both: merged #2",
    ]
    assert hand.files("both") == {**START, "other.txt": "other\n"}
    assert hand.git("merge-base", "both", "main") == landing
    assert "nothing was changed" in hand.run("sync").err


def test_a_branch_without_commits_did_not_land_with_what_it_began_at(hand):
    hand.declare("#1 one main", "#2 two main")
    hand.grow("one", "main", {"one.txt": "1\n"})
    hand.git("branch", "two", "one")
    hand.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request #1 from ada/one", "one")
    assert hand.run("sync").code == 0
    rows = (hand.root / "SERIES.md").read_text()
    assert "| #1 | `one` | main | Do one | landed |" in rows
    assert "| #2 | `two` | main | Do two | open |" in rows


def test_the_head_of_a_landed_branch_that_is_gone_is_found(pair):
    pair.commit("main", {"README": "1\n"}, "Add a readme")
    assert pair.run("sync").code == 0
    head = pair.heads()["parent"]
    main = pair.squash("parent", "Do parent (#1)")
    pair.git("branch", "-D", "parent")
    done = pair.run("sync")
    assert done.code == 0, done.err
    assert f"Absorbs: {head}" in pair.git("log", "--format=%B", "child", f"^{main}")
    assert pair.states() == ["landed", "open"]
    assert "parent" not in pair.heads()


def test_a_stopped_sync_goes_on_though_what_landed_is_no_dependency_any_more(hand):
    hand.declare("#1 parent main", "#2 child #1")
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    hand.grow("child", "parent", {"notes.txt": "1\n2\nthree\n"})
    hand.commit("parent", {"parent.txt": "2\n"}, "Go on")
    hand.squash("parent", "Do parent (#1)")
    hand.commit("main", {"notes.txt": "one\nTWO\nthree\n"}, "Write otherwise")
    series = hand.root / "SERIES.md"
    text = series.read_text().replace("| Do parent | open |", "| Do parent | landed |")
    series.write_text(text.replace("| #2 | `child` | #1 |", "| #2 | `child` | main |"))
    assert hand.run("sync").code == 3
    desk = hand.fork / ".git/merge_series/worktree"
    (desk / "notes.txt").write_text("1\nTWO\nthree\n")
    hand.git("add", "notes.txt", where=desk)
    done = hand.run("sync", "--continue")
    assert done.code == 0, done.err
    assert hand.git("log", "--format=%s", "--first-parent", "child", "-4").splitlines() == [
        "Merge main into child",
        "Record that #1 landed in main",
        "Merge what parent does from #1",
        "Child 1",
    ]


def test_what_lands_beside_a_branch_on_the_same_landed_pr_is_mains_there(hand):
    hand.declare("#1 parent main", "#2 left #1", "#3 right #1", "#4 above #2")
    hand.grow("parent", "main", {"parent.txt": "1\n"})
    hand.grow("left", "parent", {"left.txt": "1\n"})
    hand.grow("right", "parent", {"right.txt": "1\n"})
    hand.grow("above", "left", {"above.txt": "1\n"})
    hand.squash("parent", "Do parent (#1)")
    assert hand.run("sync").code == 0
    landing = hand.squash("left", "Do left (#2)")
    done = hand.run("sync")
    assert done.code == 0, done.err
    assert "right: merged main\n" in done.err
    assert "above: merged #2 as landed\n" in done.err
    own = hand.git("log", "--no-merges", "--format=%s", "main..right").splitlines()
    assert own == ["Right 1", "Parent 1"]
    assert hand.git("rev-parse", "right^2") == landing
