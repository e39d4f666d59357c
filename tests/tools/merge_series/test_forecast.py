"""Every merge ahead that needs a person is told at once, and a stop tells what is new."""

import json

import pytest

NOTES = dict.fromkeys(("f", "g", "h"), "one\ntwo\nthree\n")


def changed(**lines):
    """The files whose second line is changed."""
    return {name: f"one\n{line}\nthree\n" for name, line in lines.items()}


@pytest.fixture
def stack(hand):
    """Two branches that conflict with main, two that stand on them, and one that is free."""
    hand.declare("#1 a main", "#2 b main", "#3 c #1", "#4 d #2,#3", "#5 e main")
    hand.commit("main", NOTES, "Add notes")
    hand.grow("a", "main", changed(f="a"))
    hand.grow("b", "main", changed(g="b"))
    hand.grow("c", "a", {"c": "c\n"})
    hand.grow("d", "b,c", {"d": "d\n"})
    hand.grow("e", "main", {"e": "e\n"})
    hand.f = hand.commit("main", changed(f="main"), "Change f (#77)")[:12]
    hand.g = hand.commit("main", changed(g="main"), "Change g (#78)")[:12]
    hand.desk = hand.fork / ".git/merge_series/worktree"
    return hand


def lines(ran):
    return [line.rstrip() for line in ran.err.splitlines()]


def both(mine, main):
    """Both sides of a merge of main, by their commits."""
    return f"the branch's {mine} and main's {main} both"


def ahead(world, *, also):
    """What is told of both stops and of those that wait."""
    more = " as well" if also else ""
    return [
        "a: merging main needs a person for:",
        f"  f: {both(world.named('a'), world.f + " 'Change f (#77)'")} changed line 2",
        f"b: merging main needs a person{more} for:",
        f"  g: {both(world.named('b'), world.g + " 'Change g (#78)'")} changed line 2",
        "c waits for a.",
        "d waits for b and a.",
        "Whether more merges need a person then is known only once these are settled.",
    ]


def settle(world, **files):
    world.write(changed(**files), world.desk)
    world.git("commit", "--quiet", "--all", "--no-edit", where=world.desk)
    return world.run("sync", "--continue")


def test_a_dry_run_names_all_that_need_a_person(stack):
    done = stack.run("sync", "--dry-run")
    assert done.code == 3
    assert lines(done) == [
        "a: merging main needs a person",
        "b: merging main needs a person",
        "e: merged main",
        " Branch  Merged          Allowlist  Conflicts",
        f" e       main {stack.g[:9]}             none",
        *ahead(stack, also=True),
        "Nothing was changed: this was a dry run.",
    ]


def test_a_stop_tells_what_is_new_since_the_last_one(stack):
    first = stack.run("sync")
    assert first.code == 3
    before = stack.heads()
    assert lines(first)[3:12] == [
        " Branch  Merged          Allowlist  Conflicts",
        f" e       main {stack.g[:9]}             none",
        *ahead(stack, also=True),
    ]
    second = settle(stack, f="both")
    assert second.code == 3
    made = json.loads((stack.fork / ".git/merge_series/stopped.json").read_text())["merged"]
    assert [record["branch"] for record in made] == ["e", "a", "c"]
    (a,) = [record["commit"] for record in made if record["branch"] == "a"]
    assert lines(second)[:-2] == [
        "a: merged main as a person settled it",
        "b: merging main needs a person",
        f"c: merged #1, with {stack.brought(2)}",
        " Branch  Merged          Allowlist  Conflicts",
        f" a       main {stack.g[:9]}             1 file",
        "   f",
        "     conflicted: by a person",
        f" c       #1 {a[:9]}               none",
        *ahead(stack, also=False)[2:4],
        "d waits for b.",
        "Whether more merges need a person then is known only once these are settled.",
    ]
    assert stack.heads() == before
    done = settle(stack, g="both")
    assert done.code == 0, done.err
    # The end tells all that was done, in the stack's order.
    table = [line for line in lines(done) if line.startswith(" ") and not line.startswith("  ")]
    assert [line.split()[0] for line in table] == ["Branch", "a", "b", "c", "d", "e"]
    assert stack.show("d", "f") == "one\nboth\nthree\n"


def test_a_later_stop_does_not_tell_again_of_what_is_still_ahead(stack):
    stack.commit("c", changed(h="c"), "Change h")
    stack.commit("main", changed(h="main"), "Change h (#79)")
    stack.declare("#1 a main", "#3 c #1", "#2 b main", "#4 d #2,#3", "#5 e main")
    first = stack.run("sync")
    assert "b: merging main needs a person as well for:" in lines(first)
    second = settle(stack, f="both")
    assert "c: merging #1 needs a person for:" in lines(second)
    assert not [line for line in lines(second) if "as well for" in line or "  g: " in line]
    third = settle(stack, h="both")
    told = lines(third)
    at = told.index("b: merging main needs a person for:")
    assert told[at + 1].startswith("  g: ")


def test_status_names_them_and_leaves_nothing_behind(stack):
    stack.git("status")
    before = stack.contents()
    done = stack.run("status")
    assert done.code == 0
    assert lines(done)[7:] == ahead(stack, also=False)
    told = json.loads(stack.run("status", "--json").out)["ahead"]
    assert [stop["branch"] for stop in told["stops"]] == ["a", "b"]
    assert told["waits"] == {"c": ["a"], "d": ["b", "a"]}
    assert stack.contents() == before


def test_status_names_them_beside_a_sync_that_waits(stack):
    assert stack.run("sync").code == 3
    assert lines(stack.run("status"))[7:-1] == ahead(stack, also=False)
    assert settle(stack, f="both").code == 3
    assert lines(stack.run("status"))[7:-1] == [
        *ahead(stack, also=False)[2:4],
        "d waits for b.",
        "Whether more merges need a person then is known only once these are settled.",
    ]


def test_status_runs_no_command_of_the_users(stack):
    stack.git("config", "merge-series.regenerate.h.command", f"touch {stack.root / 'ran'}")
    stack.commit("e", changed(h="e"), "Change h")
    stack.commit("main", changed(h="main"), "Change h (#79)")
    assert "h: " not in stack.run("status").err
    assert not (stack.root / "ran").exists()


def test_where_only_main_is_merged_no_more_is_unknown(hand):
    hand.declare("#1 a main", "#2 b main")
    hand.commit("main", NOTES, "Add notes")
    hand.grow("a", "main", changed(f="a"))
    hand.grow("b", "main", changed(g="b"))
    hand.commit("main", changed(f="main"), "Change f (#77)")
    done = hand.run("sync", "--dry-run")
    assert done.code == 3
    assert not [line for line in lines(done) if "known only" in line or "waits" in line]


def test_what_is_refused_after_a_stop_is_told_with_it(stack):
    """A refusal alone ends the sync; beside a stop it is one of the things ahead."""
    stack.git("config", "merge-series.regenerate.h.command", "false")
    stack.commit("e", changed(h="e"), "Change h")
    stack.commit("main", changed(h="main"), "Change h (#79)")
    done = stack.run("sync", "--dry-run")
    assert done.code == 3
    (refused,) = [line for line in lines(done) if line.startswith("e: refused as it stands: ")]
    assert "h: " in refused
    stack.git("branch", "--force", "a", "main")
    stack.git("branch", "--force", "c", "main")
    stack.git("branch", "--force", "b", "main")
    stack.git("branch", "--force", "d", "main")
    alone = stack.run("sync", "--dry-run")
    assert (alone.code, alone.err.splitlines()[-1]) == (
        1,
        f"error: {refused.removeprefix('e: refused as it stands: ')}",
    )


def test_a_file_that_is_settled_in_part_stands_once(hand):
    hand.declare("#1 a main")
    text = "import os\nfrom x import a\n\n\ndef f():\n    return a, os\n"
    hand.commit("main", {"m.py": text}, "Add a module")
    mine = text.replace("import a", "import a, b").replace("return a", "return b")
    hand.grow("a", "main", {"m.py": mine})
    hand.commit("main", {"m.py": mine.replace("b", "c")}, "Return c (#77)")
    done = hand.run("sync", "--dry-run")
    assert [line for line in lines(done) if "m.py" in line or "Settled" in line] == [
        (
            f"  m.py: {both(hand.named('a'), hand.named('main'))} changed line 6; its import "
            "statements merged by name, and 1 place left"
        )
    ]
