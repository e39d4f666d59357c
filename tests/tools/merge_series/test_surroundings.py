"""Repositories, settings and names as people have them: each works, or is refused in one line.

The result is always the one of a plain repository: the same trees on every branch.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest

SERIES = """\
# Series

| PR | Branch | Depends on | Title | State |
|---|---|---|---|---|
| #1 | `first` | main | The first | open |
| #2 | `second` | #1 | The second | open |

## #1 The first

## #2 The second
"""

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"


class Fork:
    """A fork with two branches behind main, merged with one file that both sides changed."""

    def __init__(self, root, series=SERIES, branches=("first", "second"), *options):
        self.root, self.branches = root, branches
        self.folder = root / "fork"
        self.command: tuple[str, ...] = ()
        (root / "SERIES.md").write_text(series, "utf-8")
        self.git("init", "--quiet", *options, str(self.folder), where=root)
        self.commit(None, {"text": LINES, "moved": "a\nb\nc\nd\ne\n"}, "Start")
        first, second = branches
        self.commit((first, "main"), {"text": LINES.replace("two", "TWO")}, "Shout two")
        self.commit((second, first), {"new/file": "n\n"}, "Add a file")
        self.commit((second, None), {"moved": None, "was moved": "a\nb\nc\nd\nE\n"}, "Move")
        self.commit(("main", None), {"text": LINES.replace("eight", "EIGHT")}, "Shout eight")
        self.commit(("main", None), {"moved": "A\nb\nc\nd\ne\n"}, "Shout a")

    def git(self, *arguments, where=None, check=True):
        done = subprocess.run(
            ["git", *arguments], cwd=where or self.folder, check=False, capture_output=True
        )
        assert not check or not done.returncode, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def commit(self, where, files, subject):
        if where is not None:
            branch, start = where
            made = self.git("branch", "--list", branch)
            create = () if made else ("-c",)
            self.git("switch", "--quiet", *create, branch, *([start] if start and not made else []))
        for path, text in files.items():
            file = self.folder / path
            if text is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", subject)

    def run(self, *arguments):
        place = ("--series", str(self.root / "SERIES.md"), "--repo", str(self.folder))
        return subprocess.run(
            [*self.command, sys.executable, "-m", "merge_series", *place, *arguments],
            cwd=self.root, check=False, capture_output=True, text=True,
        )  # fmt: skip

    def contents(self):
        return {
            str(file): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(self.folder.rglob("*"))
            if file.is_file() and not file.is_symlink()
        }


@pytest.fixture
def fork(tmp_path):
    return Fork(tmp_path)


RESULT = [
    ["moved A b c d e", "text TWO EIGHT"],
    ["new/file n", "text TWO EIGHT", "was moved A b c d E"],
]


def result(fork):
    """What the branches hold, in short."""
    found = []
    for branch in fork.branches:
        rows = []
        for path in fork.git("ls-tree", "-r", "-z", "--name-only", branch).split("\0")[:-1]:
            words = fork.git("cat-file", "blob", f"{branch}:{path}").split()
            short = [word for word in words if path != "text" or word.isupper()]
            rows.append(" ".join([path, *short]))
        found.append(rows)
    return found


def works(fork):
    done = fork.run("sync")
    assert done.returncode == 0, done.stderr
    assert result(fork) == RESULT
    done = fork.run("verify")
    assert done.returncode == 0, done.stderr


def refused(fork, what, *arguments):
    before = fork.contents()
    heads = fork.git("for-each-ref")
    done = fork.run(*(arguments or ("sync",)))
    assert done.returncode == 1, done.stderr
    lines = done.stderr.splitlines()
    assert lines[-1].startswith("error: ")
    assert what in lines[-1]
    assert "Traceback" not in done.stderr
    assert fork.git("for-each-ref") == heads
    return before


def test_a_plain_repository(fork):
    works(fork)


# Settings


SETTINGS = {
    "line ends": {"core.autocrlf": "true", "core.eol": "crlf", "core.safecrlf": "true"},
    "merge": {
        "merge.conflictStyle": "diff3",
        "merge.renames": "false",
        "merge.renameLimit": "1",
        "merge.directoryRenames": "true",
        "merge.renormalize": "true",
        "merge.ff": "only",
        "merge.default": "union",
        "merge.verbosity": "5",
        "merge.verifySignatures": "true",
        "merge.log": "true",
        "pull.rebase": "true",
    },
    "diff": {
        "diff.renames": "false",
        "diff.renameLimit": "1",
        "diff.algorithm": "patience",
        "diff.noprefix": "true",
        "diff.external": "false",
        "diff.orderFile": "/dev/null",
        "diff.ignoreSubmodules": "all",
        "diff.interHunkContext": "9",
    },
    "index": {
        "core.splitIndex": "true",
        "core.untrackedCache": "true",
        "core.ignoreCase": "true",
        "core.fileMode": "false",
        "core.symlinks": "false",
        "index.sparse": "true",
        "feature.manyFiles": "true",
        "submodule.recurse": "true",
    },
    "output": {
        "color.ui": "always",
        "column.ui": "always",
        "core.abbrev": "4",
        "core.pager": "false",
        "log.showSignature": "true",
        "log.date": "raw",
        "log.follow": "true",
        "core.quotePath": "true",
        "i18n.logOutputEncoding": "latin1",
        "format.pretty": "oneline",
        "core.warnAmbiguousRefs": "true",
    },
    "refs": {
        "core.logAllRefUpdates": "false",
        "receive.denyNonFastForwards": "true",
        "receive.denyCurrentBranch": "refuse",
        "gc.auto": "1",
        "push.default": "nothing",
        "rerere.enabled": "true",
        "rerere.autoUpdate": "true",
        "core.hooksPath": "/nowhere",
    },
    "commit": {
        "commit.cleanup": "strip",
        "commit.template": "/nowhere",
        "commit.verbose": "true",
        "core.commentChar": "M",
        "core.editor": "false",
        "trailer.separators": "=",
        "trailer.ifexists": "doNothing",
        "format.signOff": "true",
    },
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_change_nothing(fork, name):
    for key, value in SETTINGS[name].items():
        fork.git("config", key, value)
    before = fork.contents()
    assert fork.run("sync", "--dry-run").returncode == 0
    assert fork.contents() == before
    works(fork)
    for branch in fork.branches:
        assert "Signed-off-by: Ada Test" in fork.git("log", "-1", "--format=%B", branch)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("merge.default", "union"),
        ("merge.conflictStyle", "diff3"),
        ("merge.directoryRenames", "true"),
        ("merge.directoryRenames", "false"),
    ],
)
def test_settings_change_no_conflict(fork, name, value):
    fork.commit(("main", None), {"d/one": "1\n2\n3\n", "d/two": "4\n5\n6\n"}, "Add a folder")
    assert fork.run("sync").returncode == 0
    text = LINES.replace("eight", "EIGHT")
    renamed = {"d/one": None, "d/two": None, "e/one": "1\n2\n3\n", "e/two": "4\n5\n6\n"}
    fork.commit(("main", None), {**renamed, "text": text.replace("one", "ONE")}, "Rename it")
    mine = text.replace("one", "One").replace("two", "TWO")
    fork.commit(("first", None), {"d/three": "7\n", "text": mine}, "Add to it")
    fork.git("switch", "--quiet", "main")
    fork.git("config", name, value)
    done = fork.run("sync")
    assert done.returncode == 3
    why = done.stderr.partition("needs a person for:\n")[2].partition("The merge waits")[0]
    named = ("log", "-1", "--abbrev=12", "--format=%h '%s'")
    mine, before, main = (fork.git(*named, commit) for commit in ("first", "first~2", "main"))
    assert " ".join(why.split()) == (
        f"e/three: the branch's {mine} put d/three into a directory that main's {main} renamed; "
        f"it may belong at e/three text: the branch's {mine}, {before} and main's {main} "
        "changed lines 1-2 second waits for first. Whether more merges need a person then is known "
        "only once these are settled."
    )
    desk = fork.folder / ".git/merge_series/worktree"
    assert (desk / "text").read_text() == (
        f"<<<<<<< first (#1), by {mine}, {before}\nOne\nTWO\n=======\nONE\ntwo\n"
        f">>>>>>> main, by {main}\n" + text.partition("two\n")[2]
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GIT_INTERNAL_SUPER_PREFIX", "sub/"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_NOGLOB_PATHSPECS", "1"),
        ("GIT_ATTR_SOURCE", "main"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_DIFF_OPTS", "-u9"),
        ("GIT_MERGE_VERBOSITY", "5"),
        ("GIT_REFLOG_ACTION", "other"),
        ("GIT_REPLACE_REF_BASE", "refs/other"),
        ("GIT_INDEX_VERSION", "4"),
        ("GIT_NAMESPACE", "other"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TRACE", "1"),
        ("GIT_PAGER", "false"),
        ("GIT_EDITOR", "false"),
        ("GIT_DEFAULT_HASH", "sha256"),
        ("GIT_CONFIG_PARAMETERS", "'merge.renames=false' 'merge.conflictStyle=diff3'"),
        ("LANG", "de_DE.UTF-8"),
        ("LC_ALL", "C"),
        ("TZ", "Asia/Kathmandu"),
    ],
)
def test_variables_change_nothing(fork, monkeypatch, name, value):
    with monkeypatch.context() as variables:
        variables.setenv(name, value)
        done = fork.run("sync")
    assert done.returncode == 0, done.stderr
    assert result(fork) == RESULT
    assert fork.git("log", "-1", "-g", "--format=%gs", "first").startswith("merge_series: sync")


@pytest.mark.parametrize("place", ["tree", "info", "user"])
def test_attributes_and_drivers_change_nothing(fork, tmp_path, place):
    fork.git("config", "merge.loud.driver", "echo loud >%A")
    fork.git("config", "filter.shout.clean", "tr a-z A-Z")
    fork.git("config", "filter.shout.smudge", "false")
    fork.git("config", "filter.shout.required", "true")
    text = "* merge=loud filter=shout text eol=crlf working-tree-encoding=UTF-16\n"
    if place == "tree":
        fork.git("switch", "--quiet", "--detach")
        (fork.folder / ".gitattributes").write_text(text)
    elif place == "info":
        (fork.folder / ".git/info").mkdir(exist_ok=True)
        (fork.folder / ".git/info/attributes").write_text(text)
    else:
        (tmp_path / "attributes").write_text(text)
        fork.git("config", "core.attributesFile", str(tmp_path / "attributes"))
    works(fork)


@pytest.mark.parametrize("where", ["main", "v0", "other", "unborn", "dirty", "bare"])
def test_what_is_checked_out_changes_nothing(fork, where):
    fork.git("tag", "v0", "main~2")
    fork.git("branch", "other", "second")
    if where == "unborn":
        fork.git("switch", "--quiet", "--orphan", "new")
    elif where == "dirty":
        (fork.folder / "text").write_text("unsaved\n")
        fork.git("add", "text")
        (fork.folder / "moved").unlink()
    elif where == "bare":
        fork.git("config", "core.bare", "true")
        fork.folder = fork.folder / ".git"
    else:
        fork.git("checkout", "--quiet", where)
    before = None if where in {"bare", "unborn"} else fork.git("status", "--porcelain")
    works(fork)
    assert before is None or fork.git("status", "--porcelain") == before


# Kinds of repositories


def clone(fork, *options, source=None):
    folder = fork.root / "clone"
    fork.git(
        "clone", "--quiet", *options, source or f"file://{fork.folder}", str(folder),
        where=fork.root,
    )  # fmt: skip
    original, fork.folder = fork.folder, folder
    for branch in fork.branches:
        fork.git("branch", "--no-track", branch, f"origin/{branch}")
    return original


def test_a_clone_that_borrows_objects(fork):
    original = clone(fork, "--reference", str(fork.folder))
    alternates = fork.folder / ".git/objects/info/alternates"
    relative = os.path.relpath(original / ".git/objects", fork.folder / ".git/objects")
    alternates.write_text(relative + "\n")
    before = fork.contents()
    assert fork.run("sync", "--dry-run").returncode == 0
    assert fork.contents() == before
    works(fork)


def test_a_partial_clone_fetches_what_it_needs_or_says_that_it_cannot(fork):
    fork.git("config", "uploadpack.allowFilter", "true")
    fork.git("config", "uploadpack.allowAnySHA1InWant", "true")
    original = clone(fork, "--filter=blob:none", "--no-checkout")
    away = original.with_name("away")
    original.rename(away)
    before = refused(fork, "promisor remote")
    # What was to be merged was stored before git found that it could not fetch the rest: objects
    # that nothing holds, which git prunes.
    after = fork.contents()
    assert before == {name: after[name] for name in after if name in before}
    more = {name for name in after.keys() - before.keys() if "/objects/" not in name}
    assert more <= {str(fork.folder / ".git/merge_series/lock")}, more
    away.rename(original)
    before = fork.contents()
    done = fork.run("sync", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert fork.contents() == before
    works(fork)


def test_a_shallow_clone_is_refused(fork):
    clone(fork, "--depth=1", "--no-single-branch")
    refused(fork, "a shallow clone lacks the history that merges need; run git fetch --unshallow")


def test_a_replaced_commit_is_merged_as_it_truly_is(fork):
    other = fork.git("commit-tree", "-m", "Other", "main~2^{tree}")
    fork.git("replace", "first", other)
    works(fork)


def test_a_grafted_commit_is_merged_as_it_truly_is(fork):
    first, main = fork.git("rev-parse", "first", "main").split()
    graft = fork.folder / ".git/info/grafts"
    graft.parent.mkdir(exist_ok=True)
    graft.write_text(f"{first} {main}\n")  # as if first held main already
    done = fork.run("sync")
    assert done.returncode == 0, done.stderr
    graft.unlink()
    assert result(fork) == RESULT
    assert fork.run("verify").returncode == 0


@pytest.mark.parametrize("option", ["--object-format=sha256", "--ref-format=reftable"])
def test_other_formats(tmp_path, option):
    probe = ["git", "init", "--quiet", option, str(tmp_path / "probe")]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip(f"this git has no {option}")
    fork = Fork(tmp_path, SERIES, ("first", "second"), option)
    works(fork)
    assert fork.run("undo").returncode == 0
    assert fork.run("redo").returncode == 0
    assert result(fork) == RESULT


def test_a_submodule_is_carried_along(fork):
    for branch, path in (("main", "sub"), ("first", "other")):
        fork.git("switch", "--quiet", branch)
        fork.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{path}")
        fork.git("commit", "--quiet", "-m", "Add a submodule")
    fork.git("switch", "--quiet", "main")
    assert fork.run("sync").returncode == 0
    listed = fork.git("ls-tree", "second", "sub", "other").splitlines()
    assert listed == [f"160000 commit {'1' * 40}\t{path}" for path in ("other", "sub")]
    assert fork.run("verify").returncode == 0


def test_a_submodule_that_both_sides_moved_goes_to_a_person(fork):
    for branch, digit in (("main", "1"), ("first", "2")):
        fork.git("switch", "--quiet", branch)
        fork.git("update-index", "--add", "--cacheinfo", f"160000,{digit * 40},sub")
        fork.git("commit", "--quiet", "-m", "Add a submodule")
    fork.git("switch", "--quiet", "main")
    before = fork.git("for-each-ref")
    done = fork.run("sync")
    assert done.returncode == 3, done.stderr
    assert "\n  sub: " in done.stderr
    assert fork.git("for-each-ref") == before
    assert fork.run("sync", "--abort").returncode == 0


def test_a_repository_that_may_not_be_written(fork):
    # To root nothing is read-only but where it has given up what makes it so.
    as_others = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    fork.command = as_others if os.geteuid() == 0 else ()
    if fork.command and shutil.which("setpriv") is None:
        pytest.skip("as root, needs setpriv")
    files = [file for file in (fork.folder, *fork.folder.rglob("*")) if not file.is_symlink()]
    for file in files:
        file.chmod(file.stat().st_mode & ~0o222)
    try:
        before = fork.contents()
        done = fork.run("sync")
        assert (done.returncode, done.stderr) == (
            1,
            f"error: {fork.folder}/.git/merge_series: Permission denied\n",
        )
        done = fork.run("sync", "--dry-run")
        assert done.returncode == 0, done.stderr
        assert fork.contents() == before
    finally:
        for file in files:
            file.chmod(file.stat().st_mode | 0o200)


# Names


ODD = [
    "with space",
    "quote'\"\\",
    "line\nbreak\ttab",
    "not utf-8 \udcff\udcfe",
    "-option",
    ":(glob)*",
    "$HOME `x` %s {}",
    "\u00e4/\u202e\u2028/\u00ff",
]


@pytest.mark.parametrize("path", ODD, ids=range(len(ODD)))
def test_paths_of_any_bytes(fork, path):
    for branch, text in (("main", "theirs\n"), ("first", "ours\n")):
        fork.git("switch", "--quiet", branch)
        file = fork.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        (fork.folder / f"{path} {branch}").write_text("alone\n")
        fork.git("add", "--all")
        fork.git("commit", "--quiet", "-m", "Add")
    fork.git("switch", "--quiet", "main")
    done = fork.run("sync", "--json")
    assert done.returncode == 3, done.stderr
    assert list(json.loads(done.stdout)["pending"]["unsettled"]) == [path]
    desk = fork.folder / ".git/merge_series/worktree"
    (desk / path).write_text("settled\n")
    fork.git("--literal-pathspecs", "add", "--", path, where=desk)
    done = fork.run("sync", "--continue")
    assert done.returncode == 0, done.stderr
    held = fork.git("ls-tree", "-r", "-z", "--name-only", "second").split("\0")
    assert {path, f"{path} main", f"{path} first"} <= set(held)
    assert fork.git("cat-file", "blob", f"second:{path}") == "settled"
    assert fork.run("verify").returncode == 0
    assert fork.run("log").returncode == 0


@pytest.mark.parametrize(
    "branches",
    [
        ("yx/pstate-b2", "yx/pstate-b2-next"),
        ("feature/a.b", "user@host"),
        ("\u00e4\u20ac", "it's"),
        ("main2", "HEADS"),
        ("refs/heads/odd", "heads/odd"),
    ],
)
def test_branches_of_any_name(tmp_path, branches):
    series = SERIES.replace("`first`", f"`{branches[0]}`").replace("`second`", f"`{branches[1]}`")
    works(Fork(tmp_path, series, branches))


@pytest.mark.parametrize("name", ["a b", "a\n'b\"", "$HOME", "a:b;c", "\udcff"])
def test_a_repository_in_a_folder_of_any_name(fork, name):
    folder = fork.root / name / "fork"
    folder.parent.mkdir()
    fork.folder = fork.folder.rename(folder)
    before = fork.contents()
    done = fork.run("sync", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert fork.contents() == before
    works(fork)


# A repository inside which a hook of another calls the program


def test_called_by_a_hook_of_another_repository(fork):
    other = fork.root / "other"
    fork.git("init", "--quiet", str(other), where=fork.root)
    (other / "a").write_text("a\n")
    fork.git("add", "a", where=other)
    hook = other / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!/bin/sh\nexec {sys.executable} -m merge_series --series {fork.root}/SERIES.md "
        f"--repo {fork.folder} sync\n"
    )
    hook.chmod(0o755)
    fork.git("commit", "--quiet", "-m", "Add", where=other)
    assert result(fork) == RESULT
    assert fork.git("ls-tree", "--name-only", "HEAD", where=other) == "a"
