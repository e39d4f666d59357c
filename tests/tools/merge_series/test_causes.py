"""Which commits a conflict is put down to: those that changed its lines, whoever brought them."""

import pytest

LINES = [f"line {number}" for number in range(1, 31)]


def text(**changed):
    """The lines with some of them changed, such as ``l3="new"``, or taken out by None."""
    lines = [changed.get(f"l{number}", line) for number, line in enumerate(LINES, 1)]
    return "".join(f"{line}\n" for line in lines if line is not None)


@pytest.fixture
def stack(hand):
    """#2 on #1 on main, none of which has touched the file yet."""
    hand.declare("#1 low main", "#2 top #1")
    hand.commit("main", {"f": text()}, "Add f (#50)")
    hand.grow("low", "main", {"low.txt": "1\n"})
    hand.grow("top", "low", {"top.txt": "1\n"})
    return hand


def told(world, path="f"):
    """What the sync that stops says of a file."""
    done = world.run("sync", "--dry-run")
    assert done.code == 3, done.err
    (line,) = [line for line in done.err.splitlines() if line.startswith(f"  {path}: ")]
    return line.removeprefix(f"  {path}: ")


def test_main_is_named_where_a_dependency_only_brings_it(stack):
    top = stack.commit("top", {"f": text(l3="top")}, "Top (#9)")
    main = stack.commit("main", {"f": text(l3="main")}, "Change f (#77)")
    stack.commit("main", {"f": text(l3="main", l20="more")}, "Change more of f (#78)")
    assert told(stack) == (
        f"the branch's {top[:12]} 'Top (#9)' and main's {main[:12]} 'Change f (#77)' "
        "both changed line 3"
    )


def test_the_pr_of_a_commit_is_read_off_the_merge_by_which_main_has_it(stack):
    low = stack.commit("low", {"f": text(l3="low")}, "Change it")
    stack.git("switch", "--quiet", "--create", "topic", "main")
    stack.commit("main", {"f": text(l3="topic")}, "Fix it")
    fixed = stack.git("rev-parse", "topic")
    stack.commit("main", {"more": "1\n"}, "Go on with it")
    stack.git("switch", "--quiet", "main")
    for branch, subject in (
        ("topic", "Merge pull request #77 from x/topic"),
        ("aside", "Merge #78"),
    ):
        stack.commit("main", {f"of-{branch}": "1\n"}, "Go on (#70)")
        if branch == "aside":
            stack.git("branch", "aside", "main~")
            stack.commit("aside", {"aside": "1\n"}, "Aside")
        stack.git("merge", "--quiet", "--no-ff", "-m", subject, branch)
    assert told(stack) == (
        f"the branch's {low[:12]} 'Change it' and main's {fixed[:12]} 'Fix it' (#77) both "
        "changed line 3"
    )


def test_a_dependency_is_named_for_what_it_did_itself(stack):
    top = stack.commit("top", {"f": text(l3="top")}, "Top changes it")
    low = stack.commit("low", {"f": text(l3="low")}, "Low changes it")
    assert told(stack) == (
        f"the branch's {top[:12]} 'Top changes it' and #1's {low[:12]} 'Low changes it' "
        "both changed line 3"
    )


def test_both_are_named_where_a_dependency_and_main_changed_the_lines(stack):
    top = stack.commit("top", {"f": text(l3="top", l4="top")}, "Top changes it")
    low = stack.commit("low", {"f": text(l3="low")}, "Low changes it")
    stack.commit("main", {"low.txt": "2\n"}, "Make low conflict by itself")
    stack.commit("main", {"low.txt": None}, "And not any more")
    main = stack.commit("main", {"f": text(l6="main")}, "Change f (#77)")
    assert told(stack) == (
        f"the branch's {top[:12]} 'Top changes it' and #1's {low[:12]} 'Low changes it' "
        "both changed lines 3-4"
    )
    stack.commit("top", {"f": text(l3="top", l4="top", l5="top", l6="top")}, "Go on")
    assert f" and main's {main[:12]} 'Change f (#77)' and #1's {low[:12]} 'Low" in told(stack)


def test_every_commit_that_changed_the_lines_counts_and_some_are_named(stack):
    low = stack.commit("low", {"f": text(l3="low")}, "Change it")
    mains = [
        stack.commit("main", {"f": text(l3=f"{number}", l9=f"{number}")}, f"Write (#{70 + number})")
        for number in range(5)
    ]
    named = ", ".join(f"{mains[n][:12]} 'Write (#{70 + n})'" for n in (4, 3, 2))
    assert told(stack) == (
        f"the branch's {low[:12]} 'Change it' and main's {named} and 2 more changed line 3"
    )


def test_what_took_lines_out_is_named_and_what_changed_the_line_beside_is_not(stack):
    low = stack.commit("low", {"f": text(l10="low", l11="low")}, "Change two")
    gone = stack.commit("main", {"f": text(l10=None, l11=None)}, "Take two out (#77)")
    stack.commit("main", {"f": text(l8="beside", l10=None, l11=None)}, "Change one near (#78)")
    stack.commit("main", {"f": text(l8="beside", l10=None, l11=None, l13="x")}, "Another (#79)")
    assert told(stack) == (
        f"the branch's {low[:12]} 'Change two' and main's {gone[:12]} 'Take two out (#77)' "
        "both changed lines 10-11"
    )
    back = stack.commit("low", {"f": text(l10=None, l11="low")}, "Take one out as well")
    assert told(stack) == (
        f"the branch's {back[:12]} 'Take one out as well', {low[:12]} 'Change two' and main's "
        f"{gone[:12]} 'Take two out (#77)' changed line 10"
    )


def test_what_a_branch_took_out_before_it_merged_main_is_its_own(stack):
    low = stack.commit("low", {"f": text(l10=None)}, "Take one out")
    stack.commit("main", {"f": text(l20="main")}, "Change f (#76)")
    assert stack.run("sync").code == 0
    main = stack.commit("main", {"f": text(l10="main", l20="main")}, "Change f (#77)")
    assert told(stack) == (
        f"the branch's {low[:12]} 'Take one out' and main's {main[:12]} 'Change f (#77)' "
        "both changed line 9"
    )


def test_a_merge_that_settled_the_lines_is_named_as_one(stack):
    low = stack.commit("low", {"f": text(l3="low")}, "Change it")
    stack.commit("main", {"f": text(l3="main")}, "Change f (#77)")
    assert stack.run("sync").code == 3
    desk = stack.fork / ".git/merge_series/worktree"
    (desk / "f").write_text(text(l3="both"))
    stack.git("add", "f", where=desk)
    assert stack.run("sync", "--continue").code == 0
    main = stack.commit("main", {"f": text(l3="again")}, "Change f (#78)")
    settled = stack.git("rev-parse", "low")[:12]
    assert told(stack) == (
        f"the branch's merge {settled} 'Merge main into low', {low[:12]} 'Change it' and main's "
        f"{main[:12]} 'Change f (#78)' changed line 3"
    )


def test_what_both_did_alike_and_what_one_did_elsewhere_is_no_cause(stack):
    stack.commit("low", {"f": text(l3="same")}, "Change one")
    low = stack.commit("low", {"f": text(l3="same", l20="low")}, "Change another")
    stack.commit("main", {"f": text(l3="same")}, "Change it alike (#76)")
    stack.commit("main", {"f": text(l3="same", l9="main")}, "Change a third (#77)")
    main = stack.commit("main", {"f": text(l3="same", l9="main", l20="main")}, "Change (#78)")
    assert told(stack) == (
        f"the branch's {low[:12]} 'Change another' and main's {main[:12]} 'Change (#78)' "
        "both changed line 20"
    )


def test_all_places_are_told_up_to_some(stack):
    wanted = {f"l{number}": "low" for number in (2, 3, 8, 13, 18, 23)}
    stack.commit("low", {"f": text(**wanted)}, "Change it")
    stack.commit("main", {"f": text(**dict.fromkeys(wanted, "main"))}, "Change f (#77)")
    assert told(stack).endswith(" both changed lines 2-3, 8, 13 and 2 more")


def test_a_file_that_one_side_renamed_is_followed(stack):
    stack.commit("low", {"f": None, "g": text()}, "Rename it")
    low = stack.commit("low", {"g": text(l3="low")}, "Change it")
    main = stack.commit("main", {"f": text(l3="main")}, "Change f (#77)")
    assert told(stack, "g") == (
        f"the branch's {low[:12]} 'Change it' and main's {main[:12]} 'Change f (#77)' "
        "both changed line 3"
    )


def test_lines_put_at_the_same_place(stack):
    low = stack.commit("low", {"f": text(l3="line 3\nlow")}, "Add one")
    main = stack.commit("main", {"f": text(l3="line 3\nmain")}, "Add another (#77)")
    assert told(stack) == (
        f"the branch's {low[:12]} 'Add one' and main's {main[:12]} 'Add another (#77)' "
        "both changed line 4"
    )


def test_who_changed_and_who_deleted_a_file(stack):
    low = stack.commit("low", {"f": text(l3="low")}, "Change it")
    stack.commit("main", {"f": text(l9="main")}, "Change f (#77)")
    main = stack.commit("main", {"f": None}, "Do without it (#78)")
    stack.commit("main", {"g": "1\n"}, "Go on (#79)")
    assert told(stack) == (
        f"the branch's {low[:12]} 'Change it' changed it, main's {main[:12]} "
        "'Do without it (#78)' deleted it"
    )


def test_the_markers_of_a_file_that_both_put_there_name_the_commits(stack):
    stack.commit("low", {"new": "low\n"}, "Add one")
    stack.commit("main", {"new": "main\n"}, "Add another (#77)")
    low, main = stack.named("low"), stack.named("main")
    assert stack.run("sync").code == 3
    assert (stack.fork / ".git/merge_series/worktree/new").read_text() == (
        f"<<<<<<< low (#1), by {low}\nlow\n=======\nmain\n>>>>>>> main, by {main}\n"
    )
