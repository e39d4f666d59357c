"""status, graph and verify: whole outputs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def lines(ran):
    return [line.rstrip() for line in ran.err.splitlines()]


def test_status_says_where_every_branch_stands(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    world.commit("ratchet", {"README.ratchet": "new\n"}, "Go on")
    heads = world.heads()
    done = world.run("status")
    assert done.code == 0
    assert lines(done) == [
        f"main is at {heads['main'][:12]}",
        " PR  Branch   State  Head       Ahead  Against main and stack",
        f" #1  ratchet  open   {heads['ratchet'][:9]}  2      1 behind main",
        f" #2  offsets  open   {heads['offsets'][:9]}  2      1 behind main, lacks #1",
        f" #3  by-hand  open   {heads['by-hand'][:9]}  2      1 behind main, lacks #1",
    ]
    data = json.loads(world.run("status", "--json").out)
    assert data["branches"][1] == {
        "pr": 2,
        "branch": "offsets",
        "state": "open",
        "head": heads["offsets"],
        "ahead": 2,
        "behind": 1,
        "lacks": [1],
        "summary": "1 behind main, lacks #1",
    }


@pytest.mark.parametrize("command", [["status"], ["sync"], ["sync", "--dry-run"]])
def test_a_main_of_a_remote_that_is_ahead_is_told(world, command):
    there = world.root / "there"
    world.git("clone", "--quiet", "--bare", str(world.fork), str(there))
    for name in ("behind", "upstream"):
        world.git("remote", "add", name, str(there))
        world.git("fetch", "--quiet", name)
    text = "upstream/main is 2 commits ahead of main here; to go by it instead, say --main "
    assert text not in world.run(*command).err
    for number in range(2):
        world.commit("main", {"README": f"{number}\n"}, "Move main")
    world.git("push", "--quiet", "upstream", "main")
    world.git("reset", "--quiet", "--hard", "main~2")
    told = [line for line in world.run(*command).err.splitlines() if " ahead of " in line]
    assert " ".join(" ".join(told).split()).startswith(text[:60])
    assert " ahead of " not in world.run("--main", "upstream/main", *command).err


@pytest.fixture
def tall(hand):
    """Four PRs on each other, and one beside them, all up to date."""
    hand.declare("#1 one main", "#2 two #1", "#3 three #2", "#4 four #3,#5", "#5 beside main")
    for branch, start in (("one", "main"), ("beside", "main"), ("two", "one"), ("three", "two")):
        hand.grow(branch, start, {f"{branch}.txt": "1\n"})
    hand.grow("four", "three,beside", {"four.txt": "1\n"})
    return hand


def summaries(hand):
    rows = json.loads(hand.run("status", "--json").out)["branches"]
    return {row["branch"]: row["summary"] for row in rows}


def test_what_stands_above_one_that_lacks_something_waits_for_it(tall):
    assert set(summaries(tall).values()) == {"up to date"}
    tall.commit("one", {"one.txt": "2\n"}, "Go on")
    assert summaries(tall) == {
        "one": "up to date",
        "two": "lacks #1",
        "three": "waits for #2",
        "four": "waits for #2",
        "beside": "up to date",
    }
    tall.commit("beside", {"beside.txt": "2\n"}, "Go on")
    assert summaries(tall)["four"] == "lacks #5, waits for #2"
    shown = tall.run("status").err
    assert "waits for #2" in shown
    assert "[waits for #2]" in tall.run("graph").err
    assert tall.run("sync").code == 0
    assert set(summaries(tall).values()) == {"up to date"}


def test_what_took_main_itself_waits_for_what_did_not(tall):
    tall.commit("main", {"README": "1\n"}, "Go on")
    assert set(summaries(tall).values()) == {"1 behind main"}
    tall.git("switch", "--quiet", "four")
    tall.git("merge", "--quiet", "--no-edit", "main")
    tall.git("switch", "--quiet", "main")
    assert summaries(tall)["four"] == "waits for #1, #2, #3, #5"


def test_what_stands_above_one_without_a_branch_waits_for_it(tall):
    tall.git("branch", "-D", "two")
    found = summaries(tall)
    assert (found["two"], found["three"]) == ("no branch", "waits for #2")


def test_verify_finds_nothing_before_the_first_sync(tall):
    tall.git("switch", "--quiet", "three")
    tall.git("merge", "--quiet", "--no-edit", "main")
    tall.git("switch", "--quiet", "main")
    tall.commit("one", {"one.txt": "2\n"}, "Go on")
    tall.commit("main", {"README": "1\n"}, "Go on")
    done = tall.run("verify")
    assert done.code == 0
    assert lines(done)[:7] == [
        " Branch  Check                     Result",
        " main    holds what was synced     not checked: nothing was synced yet",
        " one     old heads reachable       yes",
        "         dependencies contained    yes",
        "         merges keep both sides    yes",
        "         no conflict markers       yes",
        "         allowlist true            not checked: no allowlist on this branch",
    ]
    assert "         dependencies contained    not checked: it was not synced yet" in lines(done)
    assert lines(done)[-1] == "19 checks, 0 found something, 12 more not checked."
    assert tall.run("sync").code == 0
    tall.commit("one", {"one.txt": "3\n"}, "Go on")
    assert tall.run("verify").code == 4


def test_what_verify_found_is_told_below_the_table(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    assert world.run("sync").code == 0
    world.commit("main", {"README": "newer\n"}, "Go on")
    world.git("switch", "--quiet", "by-hand")
    world.git("merge", "--quiet", "--no-ff", "-s", "ours", "-m", "Take nothing", "main")
    merge = world.git("rev-parse", "--short=12", "HEAD")
    world.git("switch", "--quiet", "main")
    head = world.commit("ratchet", {"README.ratchet": "new\n"}, "Go on")
    done = world.run("verify")
    assert done.code == 4
    told = lines(done)
    table = [line for line in told if line.startswith(" ")]
    assert max(map(len, table)) <= 80
    assert [line for line in table if "below" in line] == [
        "          dependencies contained    no, see 1 below",
        "          dependencies contained    no, see 2 below",
        "          merges keep both sides    no, see 3 below",
    ]
    assert told[-4:-2] == [
        f"1. offsets, dependencies contained: does not contain #1 at {head[:12]}",
        f"2. by-hand, dependencies contained: does not contain #1 at {head[:12]}",
    ]
    assert told[-2].startswith(f"3. by-hand, merges keep both sides: merge {merge} drops what ")
    assert told[-1] == "17 checks, 3 found something, 2 more not checked."


def test_the_graph_shows_the_stack(world):
    done = world.run("graph")
    assert lines(done) == [
        "main",
        "└── #1 ratchet  List the global reads",
        "    ├── #2 offsets  Pass the size",
        "    └── #3 by-hand  Change what only people can",
    ]
    assert json.loads(world.run("graph", "--json").out) == {
        "#1": ["main"],
        "#2": ["#1"],
        "#3": ["#1"],
    }


def test_the_graph_marks_what_is_not_simply_open(hand):
    hand.declare("#1 one main landed", "#2 two #1 draft", "#3 three #2", "#4 four #3 draft")
    for branch, start in (("one", "main"), ("two", "one"), ("three", "two"), ("four", "three")):
        hand.grow(branch, start, {f"{branch}.txt": "1\n"})
    hand.commit("three", {"three.txt": "2\n"}, "Go on")
    assert lines(hand.run("graph")) == [
        "main",
        "└── #1 one  Do one  [landed]",
        "    └── #2 two  Do two  [draft]",
        "        └── #3 three  Do three",
        "            └── #4 four  Do four  [draft, lacks #3]",
    ]


def test_verify_finds_nothing_on_a_true_stack(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    world.run("sync")
    done = world.run("verify")
    assert done.code == 0
    assert lines(done) == [
        " Branch   Check                     Result",
        " main     holds what was synced     yes",
        " ratchet  old heads reachable       yes",
        "          dependencies contained    yes",
        "          merges keep both sides    yes",
        "          no conflict markers       yes",
        "          allowlist true            yes",
        "          tree is the carried tree  yes",
        " offsets  old heads reachable       yes",
        "          dependencies contained    yes",
        "          merges keep both sides    yes",
        "          no conflict markers       yes",
        "          allowlist true            yes",
        "          tree is the carried tree  yes",
        " by-hand  old heads reachable       yes",
        "          dependencies contained    yes",
        "          merges keep both sides    yes",
        "          no conflict markers       yes",
        "          allowlist true            yes",
        "          tree is the carried tree  not checked: holds commits written by hand",
        "18 checks, 0 found something, 1 more not checked.",
    ]


def found(world):
    done = world.run("verify", "--json")
    assert done.code == 4
    return [(c["branch"], c["name"], c["found"]) for c in json.loads(done.out) if c["found"]]


def test_verify_finds_a_head_that_was_rewritten_away(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    world.run("sync")
    old = world.heads()["by-hand"]
    world.git("branch", "--force", "by-hand", "ratchet")
    (fault,) = found(world)
    assert fault[:2] == ("by-hand", "old heads reachable")
    assert old[:12] in fault[2]


def test_verify_finds_a_dependency_that_is_not_contained(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    assert world.run("sync").code == 0
    head = world.commit("ratchet", {"README.ratchet": "new\n"}, "Go on")
    assert ("offsets", "dependencies contained", f"does not contain #1 at {head[:12]}") in found(
        world
    )


SHOWN = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
BESIDE = "docs/con\nflicts \u00e4.md"


def leave_markers(world):
    """Merge main by hand into by-hand and commit what git left in conflict."""
    world.commit("main", {"notes": "of main\n", BESIDE: "of main\n"}, "Write notes")
    world.commit("by-hand", {"notes": "of the branch\n", BESIDE: SHOWN}, "Write others")
    world.git("switch", "--quiet", "by-hand")
    world.git("merge", "--quiet", "main", check=False)
    world.write({BESIDE: f"of main\n{SHOWN}"}, world.fork)
    world.git("commit", "--quiet", "--all", "-m", "Merge main")
    world.git("switch", "--quiet", "main")


def test_verify_finds_conflict_markers_that_a_merge_left(world):
    leave_markers(world)
    assert found(world) == [("by-hand", "no conflict markers", "conflict markers in notes")]
    world.commit("by-hand", {"notes": "of both\n"}, "Settle it")
    assert world.run("verify").code == 0


def test_verify_leaves_markers_alone_that_an_author_wrote(world):
    world.commit("by-hand", {"docs/conflicts.md": SHOWN}, "Explain conflicts")
    world.commit("main", {"docs/more.md": SHOWN}, "Explain more")
    assert world.run("sync").code == 0
    assert world.run("verify").code == 0


def test_verify_finds_a_list_that_is_not_true(world):
    world.commit("by-hand", {world.allowlist: "# nothing\n"}, "Empty the list")
    assert found(world) == [("by-hand", "allowlist true", "1 reads not listed, 0 listed but gone")]


def test_verify_finds_a_carried_branch_that_is_not_its_edits(world):
    text = world.show("offsets", "megatron/core/names.py")
    world.git("branch", "keep", "offsets")
    # The subject of a carried commit over a tree that the edits do not make.
    world.commit("offsets", {"megatron/core/names.py": text + "\n"}, "Pass the size on")
    assert found(world) == [
        (
            "offsets",
            "tree is the carried tree",
            "differs from the edits applied to main in megatron/core/names.py",
        )
    ]


def test_the_tool_runs_by_its_folder(world):
    tools = Path(__file__).parents[3] / "tools"
    done = subprocess.run(
        [
            sys.executable,
            str(tools / "merge_series"),
            "--series",
            str(world.root / "SERIES.md"),
            "--repo",
            str(world.fork),
            "status",
        ],
        cwd=world.root,
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr


def test_a_reader_that_stops_reading_is_no_crash(world):
    command = [sys.executable, "-m", "merge_series", "--series", str(world.root / "SERIES.md")]
    with subprocess.Popen(
        [*command, "--repo", str(world.fork), "graph", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_a_carried_branch_that_main_merged_is_not_compared_with_itself(world):
    world.commit("offsets", {"megatron/core/sizes.py": "SIZE = 4\n"}, "Say it in another way")
    world.git("merge", "--quiet", "--no-ff", "-m", "Merge the offsets", "offsets")
    done = world.run("verify", "--json")
    checks = [row for row in json.loads(done.out) if row["name"] == "tree is the carried tree"]
    assert [(row["found"], row["note"]) for row in checks if row["branch"] == "offsets"] == [
        ("", "main holds all of it")
    ]


def test_a_branch_of_which_main_merged_an_older_head_is_no_fault(hand):
    hand.declare("#1 one main")
    hand.grow("one", "main", {"one.txt": "1\n"})
    old = hand.git("rev-parse", "one")
    hand.commit("main", {"main.txt": "1\n"}, "Go on")
    assert hand.run("sync").code == 0
    hand.git("merge", "--quiet", "--no-ff", "-m", "Merge one", old)
    done = hand.run("verify", "--json")
    notes = {row["name"]: (row["found"], row["note"]) for row in json.loads(done.out)}
    assert (done.code, notes["tree is the carried tree"]) == (
        0,
        ("", "stands on several commits of main, until it is synced"),
    )
