"""Merges without a worktree go by the attributes and submodules that a checkout would have."""

import subprocess

import pytest

from stack.git_answers import Entry
from stack.merging import TreeMerger, merge_trees
from stack.repository import Repository
from stack.three_way import Contents

LINES = "".join(f"{number}\n" for number in range(9))
ONE, TWO = LINES.replace("1", "one"), LINES.replace("7", "seven")  # merge cleanly as text
SAME = LINES.replace("1", "eins")  # conflicts with ONE as text
PATHS = ("x.lock", "d/y.lock", "d/e/z.lock", "t.txt")


@pytest.fixture(params=["sha1", "sha256"])
def fork(tmp_path, request):
    folder = tmp_path / "fork"
    form = f"--object-format={request.param}"
    subprocess.run(["git", "init", "--quiet", "-b", "main", form, folder], check=True)
    with Repository.open(folder) as opened:
        yield opened


def commit(fork, files, *parents):
    return fork.commit_tree(fork.change_tree(None, fork.write_files(files)), parents, "Change")


def sides(fork, attributes=(), *, ours=ONE, theirs=TWO):
    """Both sides of a merge in which every path was changed, with files of attributes."""
    more = {path: text.encode() for path, text in dict(attributes).items()}
    base = commit(fork, {**dict.fromkeys(PATHS, LINES.encode()), **more})
    return [
        commit(fork, {**dict.fromkeys(PATHS, text.encode()), **more}, base)
        for text in (ours, theirs)
    ]


def conflicts(fork, ours, theirs):
    return {c.path: c.driver for c in merge_trees(fork, ours, theirs).conflicts}


def by_git(fork, ours, theirs):
    """The paths that git itself leaves in conflict where ours is checked out."""
    fork.run("checkout", "--quiet", "--force", "--detach", ours)
    fork.run("merge", "--quiet", "--no-edit", theirs, accept=(0, 1))
    listed = fork.run("diff", "--name-only", "--diff-filter=U").text.split()
    fork.run("reset", "--quiet", "--hard")
    return set(listed)


@pytest.mark.parametrize("attribute", ["-merge", "binary", "merge=binary", "own"])
@pytest.mark.parametrize(
    ("place", "pattern", "expected"),
    [
        (".gitattributes", "*.lock", {"x.lock", "d/y.lock", "d/e/z.lock"}),
        ("d/.gitattributes", "y.lock", {"d/y.lock"}),
        ("d/e/.gitattributes", "*", {"d/e/z.lock"}),
        ("info", "x.lock", {"x.lock"}),
        ("user", "t.txt", {"t.txt"}),
    ],
)
def test_what_is_no_text_conflicts_as_git_says(  # noqa: PLR0917 - the parts of a case
    fork, tmp_path, place, pattern, expected, attribute
):
    line = f"{pattern} {attribute}\n"
    macro = "[attr]own -merge\n" if attribute == "own" else ""
    files = {".gitattributes": macro} if macro else {}
    if place.endswith("attributes"):
        files[place] = files.get(place, "") + line
    elif place == "info":
        (fork.common_directory / "info/attributes").write_text(macro + line)
    else:
        (tmp_path / "mine").write_text(macro + line)
        fork.run("config", "core.attributesFile", str(tmp_path / "mine"))
    ours, theirs = sides(fork, files)
    assert conflicts(fork, ours, theirs) == dict.fromkeys(expected, "binary")
    assert by_git(fork, ours, theirs) == expected
    merger = TreeMerger(fork)
    merger.foresee([Contents.of(*(bytes.fromhex(o) for o in oids(fork, ours, theirs)))], [ours])
    assert {c.path for c in merger.merge(ours, theirs).conflicts} == expected


def oids(fork, ours, theirs):
    base = fork.merge_bases(ours, theirs)[0]
    entries = [fork.entry(commit, "x.lock") for commit in (base, ours, theirs)]
    return [entry.oid for entry in entries if entry]


def test_the_attributes_are_those_of_the_branch_as_where_it_is_checked_out(fork):
    one, two = sides(fork)
    has = fork.change_tree(
        fork.tree_of(two), fork.write_files({".gitattributes": b"*.lock -merge\n"})
    )
    theirs = fork.commit_tree(has, [two], "Set it")
    assert conflicts(fork, one, theirs) == {}
    assert by_git(fork, one, theirs) == set()
    locks = {"x.lock": "binary", "d/y.lock": "binary", "d/e/z.lock": "binary"}
    assert conflicts(fork, theirs, one) == locks
    assert by_git(fork, theirs, one) == set(locks)


def test_what_is_checked_out_has_no_say(fork):
    ours, theirs = sides(fork)
    (fork.directory / ".gitattributes").write_text("* -merge\n")
    assert conflicts(fork, ours, theirs) == {}


@pytest.mark.parametrize("is_configured", [True, False])
@pytest.mark.parametrize("name", ["loud", "ours", "a=b.c", "text2"])
def test_a_merge_driver_is_asked_about_and_never_run(fork, name, is_configured):
    ran = fork.directory / "ran"
    if is_configured:
        fork.run("config", f"merge.{name}.driver", f"touch {ran}; true")
    files = {".gitattributes": f"*.lock merge={name}\n"}
    ours, theirs = sides(fork, files)
    locks = {path: name for path in PATHS if path.endswith("lock")}
    assert conflicts(fork, ours, theirs) == locks
    assert not ran.exists()
    ours, theirs = sides(fork, files, theirs=SAME)
    merge = merge_trees(fork, ours, theirs)
    assert {c.path: c.driver for c in merge.conflicts} == {**locks, "t.txt": ""}
    marked = f"0\n<<<<<<< {ours}\none\n=======\neins\n>>>>>>> {theirs}\n2\n".encode()
    for path in PATHS:
        assert (fork.read_file(merge.tree, path) or b"").startswith(marked)
    assert not ran.exists()


@pytest.mark.parametrize("place", ["info", "user"])
def test_a_merge_driver_of_a_person_does_not_count(fork, tmp_path, place):
    ran = fork.directory / "ran"
    fork.run("config", "merge.mine.driver", f"touch {ran}; true")
    file = fork.common_directory / "info/attributes" if place == "info" else tmp_path / "mine"
    file.write_text("* merge=mine\n")
    if place == "user":
        fork.run("config", "core.attributesFile", str(file))
    ours, theirs = sides(fork)
    assert conflicts(fork, ours, theirs) == {}
    assert not ran.exists()


@pytest.mark.parametrize("name", ["text", "union", "binary"])
def test_a_driver_that_has_the_name_of_git_s_own_is_never_run(fork, name):
    ran = fork.directory / "ran"
    fork.run("config", f"merge.{name}.driver", f"touch {ran}; true")
    ours, theirs = sides(fork, {".gitattributes": f"*.lock merge={name}\n"}, theirs=SAME)
    assert set(conflicts(fork, ours, theirs)) == set(PATHS)
    ours, theirs = sides(fork)
    assert conflicts(fork, ours, theirs) == {}
    assert not ran.exists()


def test_union_joins_nothing(fork):
    files = {".gitattributes": "*.lock merge=union\n"}
    assert conflicts(fork, *sides(fork, files)) == {}
    assert conflicts(fork, *sides(fork, files, theirs=SAME)) == dict.fromkeys(PATHS, "")


def test_a_folder_that_has_the_name_of_one_of_git_s_leads_nowhere(fork):
    names = ("objects", "refs", "info", "modules", "HEAD", "config")
    files = {f"{name}/.gitattributes": "* -merge\n" for name in names}
    before = sorted(path for path in fork.common_directory.rglob(".gitattributes"))
    ours, theirs = sides(fork, files)
    assert conflicts(fork, ours, theirs) == {}
    assert sorted(path for path in fork.common_directory.rglob(".gitattributes")) == before == []


# Submodules


def git(folder, *arguments):
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture(params=["modules", "clone", "elsewhere"])
def with_submodule(tmp_path, request):
    """A repository with a submodule, and commits of the submodule by name."""
    source, folder = tmp_path / "source", tmp_path / "fork"
    for where in (source, folder):
        subprocess.run(["git", "init", "--quiet", "-b", "main", where], check=True)
    made = {}
    for name, start in (("1", None), ("2", "1"), ("3", "2"), ("side", "2")):
        if start:
            git(source, "checkout", "--quiet", "--detach", made[start])
        git(source, "commit", "--quiet", "--allow-empty", "-m", name)
        made[name] = git(source, "rev-parse", "HEAD")
    git(source, "merge", "--quiet", "-m", "Both", made["3"])
    made["both"] = git(source, "rev-parse", "HEAD")
    git(source, "checkout", "--quiet", "-B", "all")
    if request.param == "modules":
        git(folder, "submodule", "--quiet", "add", source, "sub")
    elif request.param == "clone":
        git(folder, "clone", "--quiet", source, "sub")
        git(folder, "add", "sub")
    with Repository.open(folder) as opened:
        opened.is_here = request.param != "elsewhere"
        yield opened, made


def moved(with_submodule, *names):
    """Commits that have the submodule at a commit each: the base, then both sides on it."""
    fork, made = with_submodule
    modules = fork.run("show", ":.gitmodules", accept=(0, 128))
    more = {} if modules.status else fork.write_files({".gitmodules": modules.stdout})
    trees = [fork.change_tree(None, {**more, "sub": Entry("160000", made[n])}) for n in names]
    base = fork.commit_tree(trees[0], (), "Start")
    return [fork.commit_tree(tree, [base], "Move") for tree in trees[1:]]


@pytest.mark.parametrize("names", [("1", "2", "3"), ("1", "3", "2"), ("2", "side", "both")])
def test_a_submodule_that_one_side_has_on_top_of_the_other_s_is_git_s(with_submodule, names):
    fork, made = with_submodule
    ours, theirs = moved(with_submodule, *names)
    merge = merge_trees(fork, ours, theirs)
    if not fork.is_here:
        assert next(kind for c in merge.conflicts for kind, _ in c.kinds) == (
            "CONFLICT (submodule not initialized)"
        )
        return
    assert merge.conflicts == ()
    newest = max(names, key=list(made).index)
    assert fork.entry(merge.tree, "sub") == Entry("160000", made[newest])


def test_a_submodule_that_both_sides_moved_apart_is_a_conflict(with_submodule):
    fork, made = with_submodule
    (conflict,) = merge_trees(fork, *moved(with_submodule, "1", "3", "side")).conflicts
    said = "\n".join(conflict.messages)
    assert ("possible merge resolution" in said and made["both"] in said) == fork.is_here
