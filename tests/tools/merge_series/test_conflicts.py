"""Every class of conflict goes to a person, with a sentence on what each side did."""

import shutil
from dataclasses import replace

import pytest

from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series.merger import Merger
from merge_series.planned import Planned, Stopped
from stack.repository import Repository

LINES = "".join(f"line {number}\n" for number in range(12))
FILES = {
    "f": LINES,
    "g": LINES.replace("line", "other"),
    "d/one": LINES.replace("line", "one"),
    "d/two": LINES.replace("line", "two"),
    "b.bin": "a\0b",
    "m.py": "import c\n",
}


def change(world, branch, action):
    """Commit what an action makes of a branch's worktree."""
    desk = world.root / "desk"
    world.git("worktree", "add", "--quiet", "--force", str(desk), branch)
    action(lambda *arguments: world.git(*arguments, where=desk), desk)
    world.git("commit", "--quiet", "-m", f"Change {branch}", where=desk)
    world.git("worktree", "remove", "--force", str(desk))


def write(path, text):
    def action(git, where):
        (where / path).parent.mkdir(parents=True, exist_ok=True)
        (where / path).write_text(text)
        git("add", path)

    return action


def remove(path):
    return lambda git, _: git("rm", "--quiet", "-r", path)


def rename(old, new):
    def action(git, where):
        (where / new).parent.mkdir(parents=True, exist_ok=True)
        git("mv", old, new)

    return action


def link(path, target):
    def action(git, where):
        (where / path).unlink(missing_ok=True)
        (where / path).symlink_to(target)
        git("add", path)

    return action


def submodule(oid):
    return lambda git, _: git("update-index", "--add", "--cacheinfo", f"160000,{oid * 40},sub")


def executable(path, text):
    def action(git, where):
        write(path, text)(git, where)
        git("update-index", "--chmod=+x", path)

    return action


def both(*actions):
    def action(git, where):
        for one in actions:
            one(git, where)

    return action


CLASSES = {
    "code": (
        write("f", LINES.replace("line 5", "A")),
        write("f", LINES.replace("line 5", "B")),
        {"f": "the branch and #1 both changed line 6"},
    ),
    "add/add": (
        write("n", "a\n"),
        write("n", "b\n"),
        {"n": "the branch and #1 both put a file here, with different content"},
    ),
    "add/add of a module": (
        write("n.py", "import a\n"),
        write("n.py", "import b\n"),
        {"n.py": "the branch and #1 both put a file here, with different content"},
    ),
    "modify/delete": (
        write("f", LINES.replace("line 5", "A")),
        remove("f"),
        {"f": "the branch changed it, #1 deleted it"},
    ),
    "delete/modify": (
        remove("f"),
        write("f", LINES.replace("line 5", "A")),
        {"f": "#1 changed it, the branch deleted it"},
    ),
    "rename/rename, one to two": (
        rename("f", "x"),
        rename("f", "y"),
        dict.fromkeys(["f", "x", "y"], "the branch renamed f to x, #1 renamed it to y"),
    ),
    "rename/rename, two to one": (
        rename("f", "x"),
        rename("g", "x"),
        {"x": "the branch and #1 both put a file here, with different content"},
    ),
    "rename/delete": (
        rename("f", "x"),
        remove("f"),
        {"x": "the branch renamed f to x, #1 deleted it"},
    ),
    "delete/rename": (
        remove("f"),
        both(rename("f", "x"), write("x", LINES.replace("line 5", "A"))),
        {"x": "#1 renamed f to x, the branch deleted it"},
    ),
    "rename/add": (
        rename("f", "x"),
        write("x", "new\n"),
        {"x": "the branch and #1 both put a file here, with different content"},
    ),
    "directory rename": (
        rename("d", "e"),
        write("d/three", "3\n"),
        {
            "e/three": (
                "#1 put d/three into a directory that the branch renamed; it may belong at e/three"
            )
        },
    ),
    "directory split": (
        both(rename("d/one", "e/one"), rename("d/two", "h/two")),
        write("d/three", "3\n"),
        {
            "d": (
                "one side put files into d, which the other split into several directories: "
                "the branch, #1"
            )
        },
    ),
    "mode": (
        executable("n", "a\n"),
        write("n", "a\n"),
        {"n": "the branch and #1 both put a file here, with different modes (100755, 100644)"},
    ),
    "mode and content": (
        executable("n", "a\n"),
        write("n", "b\n"),
        {
            "n": (
                "the branch and #1 both put a file here, with different content and modes "
                "(100755, 100644)"
            )
        },
    ),
    "symbolic link": (
        link("n", "f"),
        link("n", "g"),
        {"n": "the branch and #1 both made it a symbolic link, to different targets"},
    ),
    "symbolic link and file": (
        link("f", "g"),
        write("f", LINES.replace("line 5", "A")),
        dict.fromkeys(["f", "f~{theirs}"], "the branch has a symbolic link, #1 has a file at f"),
    ),
    "submodule": (
        submodule("1"),
        submodule("2"),
        {
            "sub": "the branch and #1 both moved the submodule, to 111111111111 and to "
            "222222222222: git update-index --cacheinfo 160000,COMMIT,sub in the worktree settles "
            "it, and the submodule's history is not here, so COMMIT is what a person finds right"
        },
    ),
    "file and directory": (
        write("n/a", "1\n"),
        write("n", "1\n"),
        {"n~{theirs}": "#1 has a file at n, the branch a directory"},
    ),
    "binary": (
        write("b.bin", "a\0c"),
        write("b.bin", "a\0d"),
        {"b.bin": "the branch and #1 both changed this binary file"},
    ),
    "no text by its attributes": (
        both(write(".gitattributes", "f -merge\n"), write("f", LINES.replace("line 1\n", "A\n"))),
        write("f", LINES.replace("line 9", "B")),
        {
            "f": "the branch and #1 both changed it, and its attributes (-merge or binary) say "
            "that it is not merged as text; the worktree has the branch's; git checkout --ours (or "
            "--theirs) -- f takes a side"
        },
    ),
    "imports of a file with a driver": (
        both(write(".gitattributes", "*.py merge=own\n"), write("m.py", "import a\nimport c\n")),
        write("m.py", "import b\nimport c\n"),
        {
            "m.py": "the branch and #1 both changed it, and its attributes give it to the merge "
            "driver own, which a sync does not run; git checkout -m -- m.py runs it if it is "
            "configured; git checkout --ours (or --theirs) -- m.py takes a side"
        },
    ),
}


SERIES = """\
| PR | Branch | Depends on | Title | State |
|---|---|---|---|---|
| #1 | `ours` | main | Ours | open |

## #1 Ours

Text.
"""


@pytest.fixture
def two_sides(make_world):
    """A repository with the branches main, ours and theirs, all on the same commit."""
    made = make_world()
    made.fork.mkdir()
    made.git("init", "--quiet")
    made.write(FILES, made.fork)
    made.git("add", "--all")
    made.git("commit", "--quiet", "-m", "Start")
    made.git("branch", "ours")
    made.git("branch", "theirs")
    made.write({"SERIES.md": SERIES}, made.root)
    return made


@pytest.mark.parametrize("name", CLASSES)
def test_a_person_is_told_what_each_side_did(two_sides, name):
    ours, theirs, told = CLASSES[name]
    change(two_sides, "ours", ours)
    change(two_sides, "theirs", theirs)
    carrier = Carrier.open(two_sides.root / "SERIES.md")
    (pull_request,) = carrier.series
    with Repository.open(two_sides.fork) as repository:
        heads = {branch: repository.resolve(branch) for branch in ("main", "ours", "theirs")}
        merger = Merger(repository, carrier, ReadScanner(repository), heads["main"])
        # As of another PR's branch, which the series need not name for this.
        source = replace(pull_request, number=2)
        stopped = merger.merge(Planned(pull_request, source, heads["ours"], heads["theirs"]))
    assert isinstance(stopped, Stopped)
    assert stopped.settled == ()
    # Each side by the commit with which it did so.
    mine, other = (f"{two_sides.named(branch)}" for branch in ("ours", "theirs"))
    assert {end.path: end.why for end in stopped.unsettled} == {
        path.replace("{theirs}", heads["theirs"]): why.replace(
            "the branch", f"the branch's {mine}", 1
        ).replace("#1", f"#2's {other}")
        for path, why in told.items()
    }


def test_a_settled_submodule_and_a_settled_removal_are_not_asked_again(world):
    grown = world
    grown.commit("main", {"f": LINES}, "Add a file")
    assert grown.run("sync").code == 0
    change(grown, "by-hand", both(submodule("1"), remove("f")))
    change(grown, "main", both(submodule("2"), write("f", LINES.replace("line 5", "A"))))
    assert grown.run("sync").code == 3
    desk = grown.fork / ".git/merge_series/worktree"
    grown.git("update-index", "--cacheinfo", f"160000,{'2' * 40},sub", where=desk)
    grown.git("rm", "--quiet", "f", where=desk)
    old = grown.heads()
    done = grown.run("sync", "--continue")
    assert done.code == 0, done.err
    settled = grown.heads()["by-hand"]
    for branch, head in old.items():
        if branch != "main":
            grown.git("update-ref", f"refs/heads/{branch}", head)
    shutil.rmtree(grown.fork / ".git/merge_series/done")
    done = grown.run("sync")
    assert done.code == 0, done.err
    assert grown.git("rev-parse", "by-hand^{tree}") == grown.git("rev-parse", f"{settled}^{{tree}}")
    how = "as Ada Test settled it before"
    assert f"- f: {how}\n- sub: {how}\n" in grown.message("by-hand")
