"""``stack``: a PR more, on one dependency or several."""

import pytest


@pytest.fixture
def two(hand):
    hand.declare("#1 one main", "#2 two main")
    hand.grow("one", "main", {"one.txt": "1\n", "shared.txt": "A\nb\nc\nd\ne\n"})
    hand.grow("two", "main", {"two.txt": "1\n", "shared.txt": "a\nb\nc\nd\nE\n"})
    return hand


def add(hand, *on, number="7", branch="more", **options):
    said = {"title": "Do more", "because": "it counts what both of them do", **options}
    arguments = [part for key, value in said.items() for part in (f"--{key}", value)]
    depends = [part for one in on for part in ("--on", one)]
    return hand.run("stack", "--pr", number, "--branch", branch, *arguments, *depends)


def refused(hand, *arguments, **options):
    before, text = hand.heads(), (hand.root / "SERIES.md").read_bytes()
    done = add(hand, *arguments, **options)
    assert (hand.heads(), (hand.root / "SERIES.md").read_bytes()) == (before, text)
    return done


def test_on_one_dependency_the_branch_starts_at_its_head(two):
    done = add(two, "#1", brings="the count")
    assert done.code == 0, done.err
    heads = two.heads()
    assert heads["more"] == heads["one"]
    series = two.root / "SERIES.md"
    assert [line.rstrip() for line in done.err.splitlines()] == [
        f"{series} is changed:",
        f"--- {series}",
        f"+++ {series}",
        "@@ -6,2 +6,3 @@",
        " | #2 | `two` | main | Do two | open |",
        "+| #7 | `more` | #1 | Do more | open |",
        "",
        "@@ -14,1 +15,9 @@".replace("-14,1", "-14"),
        " Brings: what two does",
        "+",
        "+## #7 Do more",
        "+",
        "+Brings: the count",
        "+",
        "+### Why",
        "+",
        "+it counts what both of them do",
        f"more starts at {heads['one'][:12]}: the head of what it is on",
    ]
    assert two.run("sync").code == 0


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_dependency_that_another_brings_is_allowed_and_said(hand, more):
    hand.declare("#1 one main", "#2 two #1", "#3 three #2", "#4 other main")
    hand.grow("one", "main", {"one.txt": "1\n"})
    hand.grow("two", "one", {"two.txt": "1\n"})
    hand.grow("three", "two", {"three.txt": "1\n"})
    hand.grow("other", "main", {"other.txt": "1\n"})
    head = hand.heads()["three"]
    done = hand.run(
        "stack",
        "--pr=7",
        "--branch=more",
        "--title=More",
        "--because=it is",
        "--on=3",
        "--on=1",
        *more,
    )
    assert done.code == 0, done.err
    starts = "would start" if more else "starts"
    assert done.err.splitlines()[-2:] == [
        "#1 need not be named: #3 depends on it.",
        f"more {starts} at {head[:12]}: the head of what it is on",
    ]
    done = hand.run(
        "stack", "--pr=8", "--branch=most", "--title=Most", "--because=it is", "--on=2", "--on=4"
    )
    assert (done.code, "need not" in done.err) == (0, False)


def test_on_several_it_starts_at_their_merge_which_says_why(two):
    done = add(two, "1", "2")
    assert done.code == 0, done.err
    assert (
        two.graph("main", "one", "two", "more")
        == """\
*   Merge what two does from #2 (more)
|\\
| * Two 1 (two)
* | One 1 (one)
|/
* Start main (main)"""
    )
    assert (
        two.message("more")
        == """\
Merge what two does from #2

- #1 Brings: what one does
- #2 Brings: what two does

#7 needs them because it counts what both of them do

No file conflicted.

Signed-off-by: Ada Test <ada@example.org>"""
    )
    assert two.files("more") == {
        "notes.txt": "one\ntwo\nthree\n",
        "one.txt": "1\n",
        "shared.txt": "A\nb\nc\nd\nE\n",
        "two.txt": "1\n",
    }
    assert two.git("reflog", "more").count("\n") == 0
    assert [line.rstrip() for line in two.run("status").err.splitlines()][-1].endswith("up to date")


def test_a_dependency_that_another_contains_needs_no_merge(two):
    two.declare("#1 one main", "#2 two main", "#3 three #1")
    two.grow("three", "one", {"three.txt": "1\n"})
    assert add(two, "1", "3").code == 0
    assert two.heads()["more"] == two.heads()["three"]


def test_three_are_merged_one_after_the_other(two):
    two.declare("#1 one main", "#2 two main", "#3 three main")
    two.grow("three", "main", {"three.txt": "1\n"})
    assert add(two, "1", "2", "3").code == 0
    assert two.git("log", "--format=%s", "--first-parent", "more").splitlines() == [
        "Merge what three does from #3",
        "Merge what two does from #2",
        "One 1",
        "Start main",
    ]
    assert "- #1 Brings: what one does\n- #2 Brings: what two does\n- #3 Brings" in (
        two.message("more")
    )


def test_dependencies_on_different_mains_would_undo_what_a_child_did(hand):
    """One has a landing as main has it; the other holds the PR, and put back what that changed."""
    hand.declare("#1 parent main landed", "#2 other main", "#3 child #1")
    hand.grow("parent", "main", {"shared.txt": "A\nb\nc\nd\ne\n"})
    hand.grow("other", "main", {"other.txt": "1\n"})
    hand.grow("child", "parent", {"shared.txt": "a\nb\nc\nd\ne\n", "child.txt": "1\n"})
    old = hand.git("rev-parse", "main")
    new = hand.squash("parent", "Do parent (#1)")
    hand.git("switch", "--quiet", "other")
    hand.git("merge", "--quiet", "--no-edit", "main")
    hand.git("switch", "--quiet", "--detach")
    hand.git("merge", "--quiet", "--no-edit", "child")
    assert hand.show("HEAD", "shared.txt") == "A\nb\nc\nd\ne\n"  # the child's change is undone
    hand.git("switch", "--quiet", "main")
    done = refused(hand, "2", "3")
    places = f"child stands on {old[:12]} of main and other on {new[:12]}"
    assert (done.code, done.err) == (1, f"error: {places}; run {hand.typed('sync')} first\n")
    assert hand.run("sync").code == 0
    done = add(hand, "2", "3")
    assert done.code == 0, done.err
    assert hand.files("more") == {
        "child.txt": "1\n",
        "notes.txt": "one\ntwo\nthree\n",
        "other.txt": "1\n",
        "shared.txt": "a\nb\nc\nd\ne\n",
    }


@pytest.mark.parametrize("on", [("2", "3"), ("1", "2"), ("3", "4")])
def test_dependencies_behind_each_other_are_refused(hand, on):
    hand.declare("#1 root main", "#2 left #1", "#3 right main", "#4 top #2")
    hand.grow("root", "main", {"root.txt": "1\n"})
    hand.grow("left", "root", {"left.txt": "1\n"})
    hand.grow("right", "main", {"right.txt": "1\n"})
    hand.grow("top", "left", {"top.txt": "1\n"})
    hand.commit("root", {"root.txt": "2\n"}, "Go on")
    done = refused(hand, *on)
    assert (done.code, done.err) == (1, f"error: left lacks #1; run {hand.typed('sync')} first\n")
    assert hand.run("sync").code == 0
    done = add(hand, *on)
    assert done.code == 0, done.err
    assert hand.show("more", "root.txt") == "2\n"


def test_one_dependency_may_be_behind_what_it_is_on(hand):
    hand.declare("#1 root main", "#2 left #1")
    hand.grow("root", "main", {"root.txt": "1\n"})
    hand.grow("left", "root", {"left.txt": "1\n"})
    hand.commit("root", {"root.txt": "2\n"}, "Go on")
    assert add(hand, "2").code == 0
    assert hand.heads()["more"] == hand.heads()["left"]


def test_a_dry_run_shows_it_and_changes_nothing(two):
    before, text = two.contents(), (two.root / "SERIES.md").read_bytes()
    done = two.run(
        "stack", "--pr", "7", "--branch", "more", "--title", "Do more", "--because", "why",
        "--on", "1", "--on", "2", "--dry-run",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "+| #7 | `more` | #1, #2 | Do more | open |" in done.err
    assert (two.contents(), (two.root / "SERIES.md").read_bytes()) == (before, text)


def test_a_conflict_between_dependencies_is_refused(two):
    two.commit("two", {"shared.txt": "AA\nb\nc\nd\nE\n"}, "Take the first line as well")
    done = refused(two, "1", "2", title="Count `a|b` | more")
    assert done.code == 1
    assert done.err.startswith("error: more: merging #2 needs a person for shared.txt: ")
    row, heading = (
        "| #7 | `more` | #1, #2 | Count `a\\|b` \\| more | open |",
        "## #7 Count `a|b` | more",
    )
    assert done.err.endswith(
        "; nothing was changed. To settle it, type git switch -c more one, then git merge two, "
        f"git commit what you settled, and add the row {row} and a section {heading} to "
        "SERIES.md\n"
    )
    two.git("switch", "--quiet", "-c", "more", "one")
    two.git("merge", "two", check=False)
    two.write({"shared.txt": "AA\nb\nc\nd\nE\n"}, two.fork)
    two.git("commit", "--quiet", "--all", "--no-edit")
    two.git("switch", "--quiet", "main")
    text = (two.root / "SERIES.md").read_text().replace("two | open |\n", f"two | open |\n{row}\n")
    (two.root / "SERIES.md").write_text(f"{text}\n{heading}\n")
    two.commit("main", {"main.txt": "1\n"}, "Go on")
    assert two.run("sync").code == 0
    assert two.run("verify").code == 0


@pytest.mark.parametrize(
    ("on", "options", "said"),
    [
        ("1", {"number": "2"}, "SERIES.md:6: #2 has a row already; take another number\n"),
        ("7", {}, "error: 7: no PR or branch of the series; it has #1 one, #2 two\n"),
        ("more", {}, "error: more: no PR or branch of the series; it has #1 one, #2 two\n"),
        ("1", {"branch": "two"}, "so two cannot be made; choose another name\n"),
        ("1", {"branch": "two/more"}, "so two/more cannot be made; choose another name\n"),
        ("1", {"branch": "main"}, "so main cannot be made; choose another name\n"),
        (
            "1",
            {"branch": "no..name"},
            "git takes no branch named `no..name`; choose another name\n",
        ),
        ("1", {"title": "Two\nlines"}, "#7: the title is not one line; write it on one\n"),
    ],
)
def test_what_cannot_be_added_is_refused(two, on, options, said):
    done = refused(two, on, **options)
    assert (done.code, said in done.err) == (1, True), done.err


def test_a_title_with_markdown_in_it_is_kept(two):
    assert add(two, "1", title="Count `a|b` | more").code == 0
    assert two.run("graph").err.splitlines()[-2].rstrip().endswith("Count `a|b` | more")


def test_on_a_pr_that_landed_is_refused(two):
    two.declare("#1 one main landed", "#2 two main")
    done = add(two, "1")
    assert (done.code, done.err) == (
        1,
        (
            f"error: {two.root / 'SERIES.md'}:5: #1 is landed; main has it, so leave it out, or "
            "say --on main\n"
        ),
    )


def test_on_main_alone_the_branch_starts_at_mains_commit(two):
    main = two.commit("main", {"main.txt": "1\n"}, "Go on")
    done = add(two, "main")
    assert (done.code, two.heads()["more"]) == (0, main), done.err
    said = done.err.splitlines()
    assert "+| #7 | `more` | main | Do more | open |" in said
    assert said[-1] == f"more starts at {main[:12]}: the head of what it is on"
    assert two.run("log").err.splitlines()[0].rstrip() == (
        f"stack 1: new branch more at {main[:9]}, the head of what it is on"
    )
    assert two.run("sync").code == 0
    assert two.heads()["more"] == main
    done = refused(two, "main", "1", number="8", branch="most")
    assert (done.code, done.err.splitlines()[-1]) == (
        2,
        "Error: a PR on others is on main through them; leave --on main out",
    )


def test_a_dependency_is_named_by_its_number_or_its_branch(two):
    assert add(two, "one", "#1", "two").code == 0
    assert "| #7 | `more` | #1, #2 | Do more | open |" in (two.root / "SERIES.md").read_text()


def test_a_file_that_cannot_be_written_moves_no_branch(two):
    two.root.chmod(0o500)
    try:
        done = add(two, "1")
    finally:
        two.root.chmod(0o700)
    # The superuser may write there all the same.
    assert (done.code == 0) == ("more" in two.heads())


@pytest.mark.parametrize("on", [("1",), ("1", "2")])
def test_what_was_added_is_taken_back_with_its_row(two, on):
    before, text = two.heads(), (two.root / "SERIES.md").read_bytes()
    assert add(two, *on).code == 0
    done = two.run("undo")
    assert done.code == 0, done.err
    assert (two.heads(), (two.root / "SERIES.md").read_bytes()) == (before, text)


@pytest.mark.parametrize("on", [("1",), ("1", "2")], ids=["no commit", "a merge"])
@pytest.mark.parametrize("is_pushed", [True, False])
def test_a_branch_that_was_pushed_is_not_taken_back(two, on, is_pushed):
    there = two.root / "there"
    two.git("clone", "--quiet", "--bare", str(two.fork), str(there))
    two.git("remote", "add", "origin", str(there))
    assert add(two, *on).code == 0
    if is_pushed:
        two.git("push", "--quiet", "origin", "more")
    two.git("fetch", "--quiet", "origin")
    done = two.run("undo")
    said = "refs/remotes/origin/more holds what stack 1 made: it was pushed" in done.err
    assert (done.code, said, "more" in two.heads()) == (int(is_pushed), is_pushed, is_pushed)


def test_the_log_says_where_a_branch_began(two):
    heads = two.heads()
    assert add(two, "1").code == 0
    assert add(two, "2", "7", number="8", branch="both").code == 0
    made = two.heads()["both"]
    done = two.run("log")
    assert (done.code, [line.rstrip() for line in done.err.splitlines()]) == (
        0,
        [
            f"stack 1: new branch more at {heads['one'][:9]}, the head of what it is on",
            f"stack 2: new branch both at {made[:9]}, begun at {heads['two'][:9]}",
            " Branch  Merged        Allowlist  Conflicts",
            f" both    #7 {heads['one'][:9]}             none",
            "3 commits stood on the branches before; 3 of them are reachable now.",
        ],
    )
