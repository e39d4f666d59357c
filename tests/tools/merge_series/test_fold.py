"""``fold``: PRs superseded by one, with a commit for each."""

import json

import pytest


@pytest.fixture
def diamond(hand):
    """A diamond of four PRs, and one more on two of them."""
    hand.declare("#1 root main", "#2 left #1", "#3 right #1", "#4 top #2,#3", "#5 user #2,#4")
    hand.grow("root", "main", {"shared.txt": "a\nB\nc\nd\ne\n", "root.txt": "1\n"})
    hand.grow("left", "root", {"shared.txt": "A\nB\nc\nd\ne\n"}, {"left.txt": "1\n"})
    hand.grow("right", "root", {"shared.txt": "a\nB\nc\nd\nE\n"})
    hand.grow("top", "left,right", {"root.txt": None, "top.txt": "1\n"})
    hand.grow("user", "top", {"user.txt": "1\n"})
    return hand


def fold(hand, *numbers, pr="9", branch="whole"):
    return hand.run("fold", "--pr", pr, "--branch", branch, "--title", "Do it all", *numbers)


def refused(hand, *numbers, **options):
    before, text = hand.heads(), (hand.root / "SERIES.md").read_bytes()
    done = fold(hand, *numbers, **options)
    assert (hand.heads(), (hand.root / "SERIES.md").read_bytes()) == (before, text)
    return done


def test_a_whole_diamond_becomes_a_commit_a_pr(diamond):
    old = diamond.heads()
    done = fold(diamond, "4", "#1", "left", "3")
    assert done.code == 0, done.err
    now = diamond.heads()
    assert (
        diamond.graph("main", "whole")
        == """\
* Do top (whole)
* Do right
* Do left
* Do root
* Start main (main)"""
    )
    assert (
        diamond.message("whole~2")
        == """\
Do left

Brings what left does.

Originally #2.

Signed-off-by: Ada Test <ada@example.org>"""
    )
    assert diamond.files("whole") == diamond.files("top")
    assert diamond.files("whole~1")["shared.txt"] == "A\nB\nc\nd\nE\n"
    assert {b: now[b] for b in ("root", "left", "right", "top")} == {
        b: old[b] for b in ("root", "left", "right", "top")
    }
    assert diamond.files("user") == {**diamond.files("top"), "user.txt": "1\n"}
    assert (
        diamond.message("user")
        == f"""\
Record that #9 supersedes #1, #2, #3 and #4

The files of whole at {now["whole"][:12]} are those of merging what it
supersedes, all of which this branch contains, so it keeps its files as
they are.

Absorbs: {old["root"]}
Absorbs: {old["left"]}
Absorbs: {old["right"]}
Absorbs: {old["top"]}
Signed-off-by: Ada Test <ada@example.org>"""
    )
    assert (diamond.root / "SERIES.md").read_text().splitlines()[4:10] == [
        "| #1 | `root` | main | Do root | superseded |",
        "| #2 | `left` | #1 | Do left | superseded |",
        "| #3 | `right` | #1 | Do right | superseded |",
        "| #4 | `top` | #2, #3 | Do top | superseded |",
        "| #5 | `user` | #9 | Do user | open |",
        "| #9 | `whole` | main | Do it all | open |",
    ]
    assert (
        (diamond.root / "SERIES.md")
        .read_text()
        .endswith("\n\n## #9 Do it all\n\nSupersedes #4, #1, #2, #3, with a commit for each.\n")
    )


@pytest.fixture
def write_as(hand, monkeypatch):
    """Commits as another author."""

    def write(name, branch, files, message):
        with monkeypatch.context() as there:
            there.setenv("GIT_AUTHOR_NAME", name)
            there.setenv("GIT_AUTHOR_EMAIL", f"{name.split()[0].lower()}@example.org")
            hand.commit(branch, files, message)

    return write


def test_every_author_of_what_is_folded_is_named(diamond, write_as):
    write_as(
        "Eve Right", "right", {"right.txt": "1\n"},
        "Go on\n\nReviewed-by: Zoe <zoe@example.org>\nCo-Authored-By: Kim K <KIM@example.org>\n"
        "Co-authored-by: Ada Again <ada@example.org>",
    )  # fmt: skip
    write_as("Bob Last", "right", {"right.txt": "2\n"}, "Go on again")
    write_as(
        "Eve R.", "right", {"right.txt": "3\n"},
        "And again\n\nCo-authored-by: Kim <kim@example.org>\nCo-authored-by: Al <al@example.org>",
    )  # fmt: skip
    write_as("Pat Root", "root", {"root.txt": "2\n"}, "Go on")
    write_as("Mia Main", "main", {"README": "1\n"}, "Add a readme")
    assert diamond.run("sync").code == 0
    done = fold(diamond, "2", "3")
    assert done.code == 0, done.err
    assert (
        diamond.message("whole")
        == """\
Do right

Brings what right does.

Originally #3.

Co-authored-by: Eve Right <eve@example.org>
Co-authored-by: Kim K <KIM@example.org>
Co-authored-by: Bob Last <bob@example.org>
Co-authored-by: Al <al@example.org>
Signed-off-by: Ada Test <ada@example.org>"""
    )
    assert diamond.message("whole^") == (
        "Do left\n\nBrings what left does.\n\nOriginally #2.\n\n"
        "Signed-off-by: Ada Test <ada@example.org>"
    )


def test_authors_of_what_landed_are_not_those_of_what_builds_on_it(hand, write_as):
    hand.declare("#1 parent main", "#2 child #1")
    hand.git("branch", "parent")
    write_as("Pat Parent", "parent", {"parent.txt": "1\n"}, "Parent 1")
    hand.git("branch", "child", "parent")
    write_as("Cem Child", "child", {"child.txt": "1\n"}, "Child 1")
    hand.squash("parent", "Do parent (#1)")
    assert hand.run("sync").code == 0
    hand.git("branch", "-D", "parent")
    done = fold(hand, "2")
    assert done.code == 0, done.err
    assert hand.git("log", "-1", "--format=%(trailers)", "whole") == (
        "Co-authored-by: Cem Child <cem@example.org>\nSigned-off-by: Ada Test <ada@example.org>"
    )


def test_after_a_fold_the_stack_goes_on(diamond):
    assert fold(diamond, "1", "2", "3", "4").code == 0
    diamond.commit("main", {"README": "1\n"}, "Go on")
    diamond.commit("whole", {"shared.txt": "A\nBB\nc\nd\nE\n"}, "Review")
    done = diamond.run("sync")
    assert done.code == 0, done.err
    assert diamond.files("user") == {
        "README": "1\n",
        "left.txt": "1\n",
        "notes.txt": "one\ntwo\nthree\n",
        "shared.txt": "A\nBB\nc\nd\nE\n",
        "top.txt": "1\n",
        "user.txt": "1\n",
    }
    assert diamond.run("verify").code == 0
    assert '"changes": []' in diamond.run("status", "--json").out


def test_a_part_of_the_stack_is_folded_onto_what_it_depends_on(diamond):
    done = fold(diamond, "2", "3")
    assert done.code == 0, done.err
    assert (
        diamond.graph("main", "root", "whole")
        == """\
* Do right (whole)
* Do left
* Root 1 (root)
* Start main (main)"""
    )
    assert diamond.files("whole") == {
        "left.txt": "1\n",
        "notes.txt": "one\ntwo\nthree\n",
        "root.txt": "1\n",
        "shared.txt": "A\nB\nc\nd\nE\n",
    }
    rows = (diamond.root / "SERIES.md").read_text().splitlines()[4:10]
    assert rows[3:] == [
        "| #4 | `top` | #9 | Do top | open |",
        "| #5 | `user` | #9, #4 | Do user | open |",
        "| #9 | `whole` | #1 | Do it all | open |",
    ]
    assert diamond.run("sync").code == 0
    assert diamond.files("top") == {
        "left.txt": "1\n",
        "notes.txt": "one\ntwo\nthree\n",
        "shared.txt": "A\nB\nc\nd\nE\n",
        "top.txt": "1\n",
    }


def test_a_fold_onto_several_starts_at_their_merge(diamond):
    assert fold(diamond, "4").code == 0
    assert (
        diamond.git("log", "--format=%s", "--first-parent", "whole", "-2").splitlines()[0]
        == "Do top"
    )
    assert diamond.files("whole") == diamond.files("top")
    # The merge at which the folded branch itself starts.
    assert diamond.git("rev-parse", "whole^") == diamond.git("rev-parse", "top^")


def test_a_dependent_on_one_of_the_folded_gets_the_others(diamond):
    diamond.declare("#1 root main", "#2 left #1", "#3 right #1", "#6 aside #2")
    diamond.grow("aside", "left", {"aside.txt": "1\n"})
    assert fold(diamond, "2", "3").code == 0
    assert diamond.files("aside") == {**diamond.files("whole"), "aside.txt": "1\n"}
    assert diamond.git("log", "--format=%s", "--first-parent", "aside", "-3").splitlines() == [
        "Record that #9 supersedes #2 and #3",
        "Merge what right does from #3",
        "Aside 1",
    ]


def test_a_dry_run_shows_it_and_changes_nothing(diamond):
    before, text = diamond.contents(), (diamond.root / "SERIES.md").read_bytes()
    done = diamond.run(
        "fold", "--dry-run", "--pr", "9", "--branch", "whole", "--title", "All", "1", "2", "3", "4"
    )
    assert done.code == 0, done.err
    assert "+| #4 | `top` | #2, #3 | Do top | superseded |" in done.err
    assert (diamond.contents(), (diamond.root / "SERIES.md").read_bytes()) == (before, text)


def test_what_does_not_make_one_successor_is_refused(diamond):
    for numbers, said in (
        (("1", "4"), (
            "SERIES.md:6: #2 depends on #1 and another folded PR depends on #2, so the successor "
            "would depend on itself; fold #2 as well\n"
        )),
        (("8",), (
            "8: no PR or branch of the series; it has #1 root, #2 left, #3 right, #4 top, #5 user\n"
        )),
    ):  # fmt: skip
        done = refused(diamond, *numbers)
        assert (done.code, done.err) == (1, f"error: {said}")
    done = refused(diamond, "2", pr="3")
    assert done.err == "error: SERIES.md:7: #3 has a row already; take another number\n"
    done = refused(diamond, "2", branch="top")
    assert done.err.endswith("the branch top exists, so top cannot be made; choose another name\n")


def test_only_open_prs_are_folded(diamond):
    diamond.declare("#1 root main", "#2 left #1 superseded", "#3 right #1")
    done = refused(diamond, "2", "3")
    assert (done.code, done.err) == (
        1,
        (
            f"error: {diamond.root}/SERIES.md:6: #2 is superseded; only an open PR can be folded; "
            "leave it out\n"
        ),
    )


def test_a_pr_that_changes_nothing_more_is_to_be_left_out(hand):
    hand.declare("#1 left main", "#2 right main")
    hand.grow("left", "main", {"left.txt": "1\n"})
    hand.grow("right", "main", {"left.txt": "1\n"})
    done = refused(hand, "1", "2")
    assert (done.code, done.err) == (
        1,
        "error: #2 changes nothing beyond what the others bring; leave it out of the fold\n",
    )


def test_a_successor_that_is_not_the_merge_of_the_heads_is_refused(hand):
    """``other`` does again what ``right`` did and ``top`` takes back: the order would matter."""
    hand.declare("#1 left main", "#2 right main", "#3 other #1", "#4 top #1,#2")
    hand.grow("left", "main", {"left.txt": "1\n"})
    hand.grow("right", "main", {"notes.txt": "one\nTWO\nthree\n"})
    hand.grow("other", "left", {"notes.txt": "one\nTWO\nthree\n", "other.txt": "1\n"})
    hand.grow("top", "left,right", {"notes.txt": "one\ntwo\nthree\n"})
    done = refused(hand, "1", "2", "3", "4")
    assert (done.code, done.err) == (
        1,
        (
            "error: whole would not hold what merging the folded PRs does: they differ in "
            f"notes.txt; nothing was changed. Run {hand.typed('sync')} first, or fold fewer PRs\n"
        ),
    )


def test_branches_out_of_step_are_refused(diamond):
    diamond.commit("left", {"left.txt": "2\n"}, "Go on")
    done = refused(diamond, "1", "2", "3", "4")
    assert (done.code, done.err) == (
        1,
        f"error: top lacks #2; run {diamond.typed('sync')} first\n",
    )


def test_a_merge_that_needs_a_person_is_refused(diamond):
    diamond.declare("#1 root main", "#2 left #1", "#3 right #1")
    diamond.commit("right", {"shared.txt": "AA\nB\nc\nd\nE\n"}, "Take the first line as well")
    done = refused(diamond, "2", "3")
    assert done.code == 1
    assert done.err.startswith("error: whole: merging #3 needs a person for shared.txt: ")


def test_a_conflict_that_a_branch_settled_where_it_starts_is_taken_from_there(hand):
    hand.declare("#1 left main", "#2 right main", "#3 top #1,#2")
    hand.grow("left", "main", {"notes.txt": "one\nL\nthree\n"})
    hand.grow("right", "main", {"notes.txt": "one\nR\nthree\n"})
    hand.git("switch", "--quiet", "-c", "top", "left")
    hand.git("merge", "--quiet", "right", check=False)
    hand.write({"notes.txt": "one\nL R\nthree\n"}, hand.fork)
    hand.git("commit", "--quiet", "--all", "-m", "Join left and right")
    hand.git("switch", "--quiet", "main")
    hand.commit("top", {"top.txt": "1\n"}, "Top 1")
    done = fold(hand, "1", "2", "3")
    assert done.code == 0, done.err
    assert [hand.show(f"whole~{back}", "notes.txt") for back in (2, 1, 0)] == [
        "one\nL\nthree\n",
        "one\nL R\nthree\n",
        "one\nL R\nthree\n",
    ]


def test_a_dependent_that_is_checked_out_is_refused(diamond):
    diamond.git("worktree", "add", "--quiet", str(diamond.root / "desk"), "user")
    done = refused(diamond, "1", "2", "3", "4")
    assert done.code == 1
    assert done.err.startswith("error: branch user is checked out in ")


def test_carried_prs_are_folded_with_their_generated_file(world):
    done = fold(world, "1", "2")
    assert done.code == 0, done.err
    assert world.git("rev-parse", "whole^{tree}") == world.git("rev-parse", "offsets^{tree}")
    assert world.git("log", "--format=%s", "whole").splitlines() == [
        "Pass the size",
        "List the global reads",
        "Start main",
    ]
    assert world.message("whole") == (
        "Pass the size\n\nWhat.\n\nOriginally #2.\n\nSigned-off-by: Ada Test <ada@example.org>"
    )
    world.commit("main", {"README": "1\n"}, "Go on")
    done = world.run("sync")
    assert done.code == 0, done.err
    assert world.run("verify").code == 0


def test_a_fold_is_taken_back_with_its_rows_and_brought_again(diamond):
    before, text = diamond.heads(), (diamond.root / "SERIES.md").read_bytes()
    assert fold(diamond, "1", "2", "3", "4").code == 0
    after, written = diamond.heads(), (diamond.root / "SERIES.md").read_bytes()
    done = diamond.run("undo")
    assert done.code == 0, done.err
    assert (diamond.heads(), (diamond.root / "SERIES.md").read_bytes()) == (before, text)
    done = diamond.run("redo")
    assert done.code == 0, done.err
    assert (diamond.heads(), (diamond.root / "SERIES.md").read_bytes()) == (after, written)


def test_a_dependent_on_an_older_main_is_synced_first(hand):
    """The folded branch has a landing as main has it, which the dependent put back in part."""
    hand.declare("#1 low main landed", "#2 mid main", "#3 top #1,#2")
    hand.grow("low", "main", {"shared.txt": "A\nb\nc\nd\ne\n"})
    hand.grow("mid", "main", {"mid.txt": "mid\n"})
    hand.grow("top", "low,mid", {"shared.txt": "a\nb\nc\nd\ne\n"})
    old = hand.git("rev-parse", "main")
    new = hand.squash("low", "Do low (#1)")
    hand.git("switch", "--quiet", "mid")
    hand.git("merge", "--quiet", "--no-edit", "main")
    hand.git("switch", "--quiet", "main")
    before = hand.heads()
    done = hand.run("fold", "--pr", "9", "--branch", "all", "--title", "All", "2")
    places = f"top stands on {old[:12]} of main and mid on {new[:12]}"
    assert (done.code, done.err) == (1, f"error: {places}; run {hand.typed('sync')} first\n")
    assert hand.heads() == before


def test_the_log_says_what_a_branch_was_made_of(diamond):
    old = diamond.heads()
    assert fold(diamond, "2", "3").code == 0
    new = diamond.heads()
    done = diamond.run("log")
    assert (done.code, [line.rstrip() for line in done.err.splitlines()]) == (
        0,
        [
            f"fold 1: new branch whole at {new['whole'][:9]}, begun at {old['root'][:9]}",
            " Branch  Merged        Allowlist  Conflicts",
            f" whole   #2 {old['left'][:9]}             none",
            f"         #3 {old['right'][:9]}             none",
            f" top     #9 {new['whole'][:9]}             none",
            f" user    #9 {new['whole'][:9]}             none",
            "9 commits stood on the branches before; 9 of them are reachable now.",
        ],
    )


def test_what_landed_is_synced_first(diamond):
    landing = diamond.squash("root", "Do root (#1)")
    before = diamond.heads()
    done = fold(diamond, "1", "2")
    assert (done.code, done.err) == (
        1,
        (
            f"error: #1 seems to have landed in main as {landing[:12]} 'Do root (#1)'; run "
            f"{diamond.typed('sync')} first, which absorbs it\n"
        ),
    )
    assert diamond.heads() == before


def test_what_a_successor_is_on_is_not_dropped(hand):
    hand.declare("#1 one main", "#2 two main", "#3 three #2", "#4 four #1")
    for branch, on in (("one", "main"), ("two", "main"), ("three", "two"), ("four", "one")):
        hand.grow(branch, on, {f"{branch}.txt": "1\n"})
    assert fold(hand, "1", "3").code == 0
    series = hand.root / "SERIES.md"
    text = series.read_text()
    assert "| #9 | `whole` | #2 |" in text
    assert hand.run("sync").code == 0
    series.write_text(text.replace("| #9 | `whole` | #2 |", "| #9 | `whole` | main |"))
    before = hand.heads()
    done = hand.run("sync")
    first = hand.git("rev-parse", "--short=12", "two")
    assert (done.code, done.err) == (
        1,
        (
            f"error: SERIES.md:6: #2 holds {first} 'Two 1', as #2 and #9 do, none of which depends "
            "on another or on a PR that brings it; what a branch holds cannot be taken out by "
            "adding commits: write the dependency that is missing, or begin this PR anew on a "
            "branch of another name\n"
        ),
    )
    assert hand.heads() == before


def left_behind(branch, commits, more, *, on="whole"):
    return (
        f"{branch} got {more} since #9 superseded #{'2' if branch == 'left' else '3'}, which {on} "
        f"lacks: {commits[0][:12]} 'Go on'{' and 1 more' if len(commits) > 1 else ''}; take it "
        f"over (git switch {on} && git cherry-pick -x {' '.join(c[:12] for c in commits)}), or say "
        "by its id in the message of a commit there that it is left out"
    )


@pytest.mark.parametrize("dependents", [True, False])
def test_commits_on_a_branch_that_was_folded_are_told(diamond, monkeypatch, dependents):
    numbers = ("2", "3") if dependents else ("2", "3", "4", "5")
    assert fold(diamond, *numbers).code == 0
    assert "left got" not in diamond.run("sync").err
    assert diamond.run("verify").code == 0
    # Where no branch on it records the heads, the time of the fold has to tell.
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:06+00:00")
    first = diamond.commit("left", {"left.txt": "2\n"}, "Go on")
    second = diamond.commit("left", {"left.txt": "3\n"}, "Go on again")
    said = left_behind("left", [first, second], "2 commits")
    assert said in diamond.run("status").err.splitlines()
    assert said in diamond.run("sync").err.splitlines()
    assert json.loads(diamond.run("status", "--json").out)["changes"] == [said]
    done = diamond.run("verify", "--json")
    assert (done.code, [check for check in json.loads(done.out) if check["found"]]) == (
        4,
        [{"branch": "whole", "name": "holds all of #2", "found": said, "note": ""}],
    )
    diamond.git("switch", "--quiet", "whole")
    diamond.git("cherry-pick", "-x", first)
    diamond.git("switch", "--quiet", "main")
    assert "left got 1 commit since #9" in diamond.run("status").err
    diamond.commit("whole", {"more.txt": "1\n"}, f"Leave out what {second} does")
    assert "left got" not in diamond.run("status").err


def test_one_fold_after_another_takes_nothing_from_a_branch_between(hand):
    hand.declare("#1 one main", "#2 two #1", "#3 three #2")
    for branch, on in (("one", "main"), ("two", "one"), ("three", "two")):
        hand.grow(branch, on, {f"{branch}.txt": "1\n"})
    assert fold(hand, "1").code == 0
    assert hand.run("sync").code == 0
    assert fold(hand, "3", pr="10", branch="other").code == 0
    series = (hand.root / "SERIES.md").read_text()
    assert "| #2 | `two` | #9 | Do two | open |" in series
    # What #2 holds of #1 came into #3 with #2, and is none of what #2 has to keep.
    done = hand.run("sync")
    assert (done.code, done.err) == (
        0,
        (
            "Every branch is up to date; nothing was changed.\n"
            "5 commits stood on the branches before; 5 of them are reachable now.\n"
        ),
    )
