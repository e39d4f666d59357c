"""The branches of a series as they are built: the whole graph, every tree, every message."""

import pytest

BRANCHES = ("root", "left", "right", "top")
EXECUTABLE = "megatron/core/names.py"


@pytest.fixture
def fork(project):
    project.main = project.fork()
    return project


def build(fork, *arguments):
    return fork.run("build", "--repo", "tree", *arguments)


def kept(files):
    """What is the user's: neither objects that nothing names, nor the lock of the tools."""
    ours = (".git/objects", ".git/merge_series/")
    return {path: file for path, file in files.items() if not path.startswith(ours)}


def refused(fork, *arguments, code=1):
    """Build, and give back the message of a refusal that moved nothing."""
    before = fork.refs(), fork.files()
    done = build(fork, *arguments)
    assert (done.code, done.out) == (code, "")
    assert fork.refs() == before[0]
    assert kept(fork.files()) == kept(before[1])
    return done.err.partition("error: ")[2].removesuffix("\n")


def whole(fork, branch):
    """All files of a branch; names.py is executable in the base and stays so."""
    files = {**fork.base, **fork.carried.get(branch, {})}
    return {path + "*" * (path == EXECUTABLE): text for path, text in files.items()}


def test_a_diamond(fork):
    done = build(fork)
    assert done.code == 0, done.err
    heads = {branch: fork.git("rev-parse", "--short=12", branch) for branch in BRANCHES}
    assert done.err == (
        "Building root (#1)\n"
        "Building left (#2)\n"
        "Building right (#3)\n"
        "Building top (#4)\n"
        f"root: 2 commits, now at {heads['root']}\n"
        f"left: 1 commit, now at {heads['left']}\n"
        f"right: 2 commits, now at {heads['right']}\n"
        f"top: 1 commit, now at {heads['top']}\n"
    )
    assert fork.graph(*BRANCHES) == (
        "* Use both (top)\n"
        "*   Merge what go right brings from #3\n"
        "|\\\n"
        "| * Train with it (right)\n"
        "| * Double the size\n"
        "* | Pass the size (left)\n"
        "|/\n"
        "* List the reads (root)\n"
        "* Add sizes\n"
        "* Start main (main)"
    )
    for branch in ("main", *BRANCHES):
        assert fork.committed(branch) == whole(fork, branch)
    assert fork.committed("top~1") == {
        **whole(fork, "right"),
        f"{EXECUTABLE}*": fork.carried["left"][EXECUTABLE],
    }
    assert fork.git("diff", "--name-only", "root~1", "root") == "tools/process_groups/allowlist.txt"
    sign_off = "\n\nSigned-off-by: Ada Test <ada@example.org>"
    assert fork.git("log", "-1", "--format=%B", "root~1").rstrip() == (
        f"Add sizes\n\nThey are needed.{sign_off}"
    )
    assert fork.git("log", "-1", "--format=%B", "top~1").rstrip() == (
        "Merge what go right brings from #3\n\n#4 builds on it. No file conflicted." + sign_off
    )
    assert fork.git("reflog", "show", "--format=%gs", "top") == "carry: build the series"
    assert fork.git("status", "--porcelain") == ""


def test_what_exists_is_left_as_it_is(fork):
    assert build(fork).code == 0
    before = fork.refs()
    again = build(fork)
    assert (again.code, again.err) == (0, "tree: every branch exists; nothing was changed\n")
    fork.git("branch", "-D", "right", "top")
    assert build(fork).code == 0
    assert fork.refs() == before  # dates are fixed in tests, so the same commits come again


def by_hand(fork, branch, files, subject="Change by hand"):
    fork.git("switch", "--quiet", branch)
    fork.write(files, fork.tree)
    fork.git("add", "--all")
    fork.git("commit", "--quiet", "-m", subject)
    fork.git("switch", "--quiet", "main")


def test_a_branch_is_built_on_what_people_made_of_its_dependency(fork):
    assert build(fork).code == 0
    fork.git("branch", "-D", "left", "right", "top")
    by_hand(fork, "root", {"README": "by hand\n"})
    fork.change("SERIES.md", "| `top` | #2, #3 |", "| `top` | #2 |")
    assert build(fork).code == 0
    assert fork.committed("left") == {**whole(fork, "left"), "README": "by hand\n"}


@pytest.mark.parametrize("changed", ["root", "right"])
def test_a_merge_never_drops_what_people_made_of_a_dependency(fork, changed):
    assert build(fork).code == 0
    fork.git("branch", "-D", "left", "top")
    if changed == "root":
        fork.git("branch", "-D", "right")
    by_hand(fork, changed, {"README": "by hand\n"})
    assert refused(fork) == (
        f"branch {changed} holds other files than the series carries on {fork.main[:12]}, so it "
        "cannot be merged into top unseen; make top by hand: merge what #4 depends on"
    )


def test_a_dependency_on_another_main(fork):
    assert build(fork).code == 0
    fork.git("branch", "-D", "left", "right", "top")
    by_hand(fork, "main", {"README": "newer\n"})
    newer = fork.git("rev-parse", "--short=12", "main")
    assert refused(fork) == (
        f"branch root does not contain {newer} of main; sync it first (merge_series --repo tree "
        "sync), then build left on it"
    )
    assert build(fork, "--main", fork.main).code == 0
    assert fork.committed("top") == whole(fork, "top")


def test_a_dependency_without_a_branch(fork):
    fork.change("SERIES.md", "### Commits\n1. **Pass the size**", "")
    fork.change("megatron/core/names.edits.yml", "pr: 2", "pr: 3")
    assert refused(fork) == (
        "SERIES.md:8: #4 depends on #2, whose branch left does not exist; fetch it first"
    )


def test_a_commit_that_would_change_nothing(fork):
    by_hand(
        fork,
        "main",
        {"megatron/training/loop.py": fork.carried["right"]["megatron/training/loop.py"]},
    )
    line = refused(fork)
    assert line.startswith("SERIES.md:")
    assert ": commit 2 of #3 changes nothing on " in line


def test_an_edit_that_matches_twice_moves_nothing(fork):
    path = "megatron/training/loop.py"
    by_hand(fork, "main", {path: "def train():\n    step(0)\n    return step(1)\n"})
    message = refused(fork, code=4)
    first, rest = message.split(": nothing", 1)
    assert first.startswith(f"{fork.tree}:")
    assert f": nothing{rest}" == (
        ": nothing was applied, since these edits do not land:\n"
        "  megatron/training/loop.edits.yml:6: add-args to step in train: found 2, wanted 1; "
        "at lines 2, 3\n"
        "Correct them there, or take a tree that has what they name (carry check tells of each, "
        "carry report of each release)."
    )


def test_a_new_file_that_the_base_has_already(fork):
    by_hand(fork, "main", {"megatron/core/sizes.py": "theirs = 1\n"})
    newer = fork.git("rev-parse", "main")
    assert refused(fork) == (
        f"{fork.tree}:{newer}: megatron/core/sizes.py is there already with other bytes; "
        "SERIES.md:23 adds it as a new file; give it another path, or change it by edits"
    )


def test_a_new_file_that_links_out_of_the_series(fork):
    (fork.root.parent / "secret").write_text("secret\n")
    file = fork.root / "megatron/core/sizes.py"
    file.unlink()
    file.symlink_to(fork.root.parent / "secret")
    assert refused(fork) == (
        f"SERIES.md:23: the new file megatron/core/sizes.py is a link out of {fork.root}; "
        "put the file itself there"
    )


def test_a_new_file_that_is_missing_here(fork):
    (fork.root / "megatron/core/sizes.py").unlink()
    assert refused(fork) == (
        "SERIES.md:23: the new file megatron/core/sizes.py cannot be read: No such file or "
        f"directory; it should stand at {fork.root}/megatron/core/sizes.py"
    )


def test_a_read_that_the_change_itself_brings(fork):
    listed = "1. **Use both**\n\n   Regenerates: `tools/process_groups/allowlist.txt`"
    fork.change("SERIES.md", "1. **Use both**", listed)
    fork.change("megatron/core/sizes.edits.yml", "joined = True", "joined = get_group_size()")
    imported = (
        "- pr: 4\n  commit: 1\n"
        "  add-import: {from: megatron.core.parallel_state, names: [get_group_size]}\n"
    )
    with (fork.root / "megatron/core/sizes.edits.yml").open("a") as file:
        file.write(imported)
    assert refused(fork) == (
        "top: the change itself reads the global process groups at "
        "megatron/core/sizes.py:own_size: get_group_size; pass the collection there instead"
    )


def test_an_edit_of_a_commit_that_is_not_declared(fork):
    fork.change("megatron/training/loop.edits.yml", "commit: 2", "commit: 3")
    line = refused(fork)
    assert "loop.edits.yml:6" in line
    assert line.endswith("SERIES.md declares no commit 3 of #3; add it there or correct the edit")


def test_another_generated_file(fork):
    fork.change(
        "SERIES.md", "Regenerates: `tools/process_groups/allowlist.txt`", "Regenerates: `uv.lock`"
    )
    assert "nothing here regenerates uv.lock" in refused(fork)


def test_no_main_and_no_fork(fork):
    assert refused(fork, "--main", "upstream/main") == (
        "tree: no commit is named 'upstream/main'; import a release first (carry import) or name "
        "main with --main"
    )
    done = fork.run("build")
    assert (done.code, done.err) == (
        1,
        (
            "error: build/fork: no such folder; name a repository with --repo (for a clone of "
            "Megatron-LM: --repo . --main upstream/main)\n"
        ),
    )
    assert not (fork.root / "build").exists()


def land_root(fork):
    """Main has root's commits as one, and SERIES.md says so."""
    assert build(fork).code == 0
    fork.git("merge", "--quiet", "--squash", "root")
    fork.git("commit", "--quiet", "-m", "Start (#1)")
    fork.git("branch", "-D", *BRANCHES)
    fork.change("SERIES.md", "| main | Start | open |", "| main | Start | landed |")


def test_a_pr_that_landed_is_not_built_and_others_start_on_main(fork):
    land_root(fork)
    done = build(fork)
    assert done.code == 0, done.err
    assert fork.graph("left", "right", "top") == (
        "* Use both (top)\n"
        "*   Merge what go right brings from #3\n"
        "|\\\n"
        "| * Train with it (right)\n"
        "| * Double the size\n"
        "* | Pass the size (left)\n"
        "|/\n"
        "* Start (#1) (main)\n"
        "* Start main"
    )
    assert "root" not in fork.refs()
    assert fork.committed("top") == whole(fork, "top")


def test_what_main_changed_in_a_landed_file_is_kept(fork):
    land_root(fork)
    fork.write({"megatron/core/sizes.py": "def own_size():\n    return 4\n\n\nX = 1\n"}, fork.tree)
    fork.git("commit", "--quiet", "--all", "-m", "Go on")
    done = build(fork)
    assert done.code == 0, done.err
    assert fork.committed("right")["megatron/core/sizes.py"] == (
        "def own_size():\n    return 8\n\n\nX = 1\n"
    )


def test_a_superseded_pr_is_not_built_and_nothing_is_built_on_it(fork):
    fork.change("SERIES.md", "| #1 | Go left | open |", "| #1 | Go left | superseded |")
    assert refused(fork) == (
        "SERIES.md:8: #4 depends on #2, which is superseded; write its successor there"
    )
    fork.change("SERIES.md", "| #2, #3 | Join |", "| #3 | Join |")
    build(fork)
    assert "left" not in fork.refs()
