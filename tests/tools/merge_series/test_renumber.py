"""PRs that got another number on their hosting: seen, told, and moved by one command."""

import pytest

ROWS = ("#1 parent main", "#2 child #1", "#10 other #1,#2")


@pytest.fixture
def stack(hand):
    """PRs whose branches hold merges of each other, made by a sync."""
    hand.declare(*ROWS)
    hand.grow("parent", "main", {"parent.txt": "1\n", "dropped.txt": "dropped\n"})
    hand.grow("child", "parent", {"child.txt": "child\n", "dropped.txt": None})
    hand.grow("other", "child", {"other.txt": "other\n"})
    hand.commit("parent", {"parent.txt": "2\n"}, "Go on")
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    assert hand.run("sync").code == 0
    return hand


def texts(hand):
    return (hand.root / "SERIES.md").read_text()


def test_one_command_moves_the_row_and_all_that_names_it(stack):
    before, heads = texts(stack), stack.heads()
    dry = stack.run("renumber", "parent", "9", "--dry-run")
    assert (dry.code, texts(stack)) == (0, before), dry.err
    done = stack.run("renumber", "1", "9")
    assert done.code == 0, done.err
    series = stack.root / "SERIES.md"
    assert done.err.splitlines() == [
        f"{series} is changed:",
        *(line for line in dry.err.splitlines()[1:]),
    ]
    assert texts(stack) == before.replace("#1 ", "#9 ").replace("#1,", "#9,")
    assert stack.run("status").err.count("up to date") == 3
    assert "SERIES.md:" not in stack.run("status").err
    assert "nothing was changed" in stack.run("sync").err
    assert stack.heads() == heads
    assert stack.run("verify").code == 0


def test_a_row_that_a_person_renumbered_is_the_same_pr(stack):
    series = stack.root / "SERIES.md"
    series.write_text(texts(stack).replace("#1 ", "#9 ").replace("#1,", "#9,"))
    stack.commit("main", {"README": "2\n"}, "Go on")
    done = stack.run("sync")
    assert done.code == 0, done.err
    assert stack.message("child").startswith("Merge what parent does from #9\n")


def test_a_landing_under_another_number_is_absorbed_and_told(stack):
    landing = stack.squash("parent", "Do it all at once (#9)")
    move = stack.typed("renumber 1 9")
    said = f"'Do it all at once (#9)', under another number; to move its row: {move}."
    assert said in " ".join(stack.run("status").err.split())
    done = stack.run("sync")
    assert done.code == 0, done.err
    assert done.err.splitlines()[0] == (
        f"#1 landed as {landing[:12]} 'Do it all at once (#9)', under another number; to move its "
        f"row: {move}"
    )
    assert stack.states() == ["landed", "open", "open"]
    assert "dropped.txt" not in stack.files("child")
    assert stack.run("renumber", "1", "9").code == 0
    assert "nothing was changed" in stack.run("sync").err


def test_another_commit_on_the_same_files_is_no_landing(stack):
    stack.commit("main", {"parent.txt": "3\n", "dropped.txt": "dropped\n"}, "Do otherwise (#9)")
    assert "landed" not in stack.run("status").err


def test_edits_move_with_their_pr(world):
    edits = world.root / "megatron/core/names.edits.yml"
    before = edits.read_text()
    done = world.run("renumber", "2", "12")
    assert done.code == 0, done.err
    assert edits.read_text() == before.replace("pr: 2\n", "pr: 12\n")
    assert "| #12 | `offsets` | #1 |" in texts(world)
    assert "nothing was changed" in world.run("sync").err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("1", "2"), 1, "SERIES.md:6: there is a #2 already; #1 cannot become it"),
        (("3", "9"), 1, "3"),
        (("1", "0"), 2, "0"),
    ],
)
def test_a_number_that_cannot_be_is_refused(stack, arguments, code, said):
    before = texts(stack)
    done = stack.run("renumber", *arguments)
    assert (done.code, said in done.err, texts(stack)) == (code, True, before), done.err


def test_a_pr_that_was_rewritten_and_holds_its_older_form_may_move(stack):
    old = stack.heads()["parent"]
    stack.git("branch", "--force", "parent", "main")
    stack.commit("parent", {"parent.txt": "anew\n"}, "Write it anew")
    refused = stack.run("sync")
    assert f"git merge -s ours {old[:12]}" in refused.err
    stack.git("switch", "--quiet", "parent")
    stack.git("merge", "--quiet", "--no-edit", "-s", "ours", old)
    stack.git("switch", "--quiet", "main")
    assert stack.run("sync").code == 0
    assert stack.run("renumber", "1", "9").code == 0
    done = stack.run("sync")
    assert done.code == 0, done.err
