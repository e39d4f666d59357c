"""How often each edit matches: as a table for people, as JSON for programs."""

import json

import pytest

LOOP = "megatron/training/loop.py"
NAMES = "megatron/core/names.py"
INFO = "megatron/core/package_info.py"

TABLE = """\
 Edit                                      tree      old
 megatron/core/names.py
   #2.1 offset: at-start                    1/1      1/1
   #2.1 label: add-args to offset           1/1      1/1
   #2.1 add-import megatron.core.sizes      1/1      1/1
   #4.1 label: before-return                1/1      1/1
 megatron/core/sizes.py
   #3.1 own_size: replace-return            1/1      1/1
   #4.1 own_size: at-start                  1/1      1/1
 megatron/training/loop.py
   #3.2 train: add-args to step             1/1   absent
"""

LACK = (
    "old has no megatron/training/loop.py, so it lacks a part of #3. Whoever runs the loop sets "
    "its step by hand."
)

NARROW = """\
 (2) a/long/way/to/the/tree
 Edit                     tree      (2)
 megatron/core/names.py
   #2.1 offset:            1/1  applied
   at-start
   #2.1 label:             1/1  applied
   add-args to offset
   #2.1 add-import         1/1  applied
   megatron.core.
   sizes
   #4.1 label:             1/1  applied
   before-return
 megatron/core/sizes.py
   #3.1 own_size:          1/1  applied
   replace-return
   #4.1 own_size:          1/1  applied
   at-start
 megatron/training/loop.py
   #3.2 train:             1/1  applied
   add-args to step
7 edits on 2 trees; 0 do not match.
"""


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


def test_a_table_of_two_trees(project):
    old = project.root / "old"
    project.write({path: text for path, text in project.base.items() if path != LOOP}, old)
    done = project.run("check", "tree", "old")
    assert (done.code, done.out) == (0, "")
    assert lines(done.err) == [*lines(TABLE), LACK, "7 edits on 2 trees; 0 do not match."]


def test_a_narrow_terminal_and_a_long_name(project, monkeypatch):
    far = "a/long/way/to/the/tree"
    project.write(project.base, project.root / far)
    assert project.run("apply", far).code == 0
    monkeypatch.setenv("COLUMNS", "40")
    done = project.run("check", "tree", far)
    assert lines(done.err) == lines(NARROW)


def test_an_edit_that_does_not_match(project):
    project.write({LOOP: "def train():\n    step(0)\n    return step(1)\n"}, project.tree)
    done = project.run("check", "tree")
    assert done.code == 4
    (row,) = [line for line in lines(done.err) if line.startswith("   #3.2")]
    assert row.split() == ["#3.2", "train:", "add-args", "to", "step", "2/1"]
    *_, fault, summary = lines(done.err)
    assert fault == f"tree: {LOOP}: #3.2 train: add-args to step: at lines 2, 3"
    assert summary == "7 edits on 1 tree; 1 do not match."


def test_an_edit_that_matches_nothing_and_is_like_nothing(project):
    project.write({LOOP: "def train():\n    return other(1)\n"}, project.tree)
    *_, fault, _ = lines(project.run("check", "tree").err)
    assert fault == (f"tree: {LOOP}: #3.2 train: add-args to step: found 0, and nothing like it")


def test_json(project):
    project.write({LOOP: "def train():\n    return stop(1)\n"}, project.tree)
    done = project.run("check", "--json", "tree")
    assert (done.code, done.err) == (4, "")
    data = json.loads(done.out)
    assert list(data) == ["tree"]
    *good, bad = data["tree"]
    assert {(report["state"], report["found"], report["wanted"]) for report in good} == {
        ("applies", 1, 1)
    }
    detail = bad.pop("detail")
    assert bad == {
        "path": LOOP,
        "edit": "#3.2 train: add-args to step",
        "state": "mismatch",
        "found": 0,
        "wanted": 1,
    }
    assert "stop" in detail  # the nearest candidate


def test_a_file_that_is_missing_though_its_folder_is_there(project):
    (project.tree / LOOP).rename(project.tree / "megatron/training/other.py")
    done = project.run("check", "tree")
    assert done.code == 4
    assert lines(done.err)[-2:] == [
        f"tree: {LOOP}: not there, for 1 edit",
        "7 edits on 1 tree; 1 do not match.",
    ]


def package_info(version, more=""):
    parts = zip(("MAJOR", "MINOR", "PATCH"), version, strict=True)
    return "".join(f"{name} = {number}\n" for name, number in parts) + more


OLD = "tree (megatron-core {}): predates the code that the series changes; 0.16.1 is the \
oldest release that it is for"


@pytest.mark.parametrize(
    ("info", "version"),
    [
        (package_info((0, 15, 3), "PRE_RELEASE = ''\nVERSION = (MAJOR, MINOR)\n"), "0.15.3"),
        (package_info((0, 16, 1), "PRE_RELEASE = 'rc0'\n"), "0.16.1rc0"),
    ],
)
def test_a_tree_that_is_older_than_the_series_is_for(project, info, version):
    project.write({INFO: info, NAMES: "def other():\n    return 1\n"}, project.tree)
    old = OLD.format(version)
    done = project.run("check", "tree")
    assert done.code == 4
    assert lines(done.err)[-2:] == [old, "7 edits on 1 tree; 3 do not match."]
    before = project.files()
    done = project.run("apply", "tree")
    assert (done.code, done.err) == (4, f"error: {old}; nothing was applied\n")
    assert project.files() == before


def test_an_older_tree_on_which_all_lands_is_none_to_speak_of(project):
    project.write({INFO: package_info((0, 15, 3))}, project.tree)
    done = project.run("check", "tree")
    assert (done.code, lines(done.err)[-1]) == (0, "7 edits on 1 tree; 0 do not match.")
    assert project.run("apply", "tree").code == 0


@pytest.mark.parametrize(
    "info",
    [
        package_info((0, 16, 1)),
        package_info((1, 0, 0), "PRE_RELEASE = 'rc0'\n"),
        package_info(("int(0)", 1, 1)),
        package_info(("'a'", 1, 1)),
        "MAJOR = 0\n",
        "MAJOR = \n",
    ],
)
def test_a_tree_that_is_not_older_or_does_not_say_how_old_it_is(project, info):
    project.write({INFO: info, NAMES: "def other():\n    return 1\n"}, project.tree)
    said = lines(project.run("check", "tree").err)
    assert [line.partition(": #")[0] for line in said if ": #" in line] == [f"tree: {NAMES}"] * 3


def test_what_cannot_be_checked_is_told_in_one_line(project):
    done = project.run("check", "9.9.9")
    assert done.code == 1
    assert done.err.startswith("error: megatron-core 9.9.9: not a recorded release (recorded: ")
    assert len(lines(done.err)) == 1
    done = project.run("check", "none")
    assert done.err.startswith("error: 'none': neither a release's version nor a folder here; ")
    assert project.run("check").code == 2


def test_a_series_that_cannot_be_read(project):
    series = project.root / "SERIES.md"
    series.write_bytes(b"# \xff\n")
    done = project.run("check", "tree")
    assert done.code == 1
    assert done.err.startswith("error: SERIES.md")
    assert len(lines(done.err)) == 1
    series.unlink()
    series.mkdir()
    done = project.run("check", "tree")
    assert done.code == 1
    assert done.err.startswith("error: SERIES.md")
    assert len(lines(done.err)) == 1
    done = project.run("--series", "none.md", "check", "tree")
    assert (done.code, done.err.startswith("error: none.md: no such file")) == (1, True)
