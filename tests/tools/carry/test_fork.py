"""The fork that is built from releases: one commit each, and nothing of anybody's lost."""

import os

import pytest

from carry.bases import default_cache, fetch_release, read_wheel

MESSAGE = "Import megatron-core {0}\n\nRelease: {0}\nSigned-off-by: Ada Test <ada@example.org>"


@pytest.fixture(scope="module", autouse=True)
def wheels():
    """The files of the releases; once they are in the cache, no run says that it fetches them."""
    return {v: read_wheel(fetch_release(v, default_cache())) for v in ("0.19.0", "0.19.2")}


def load(project, version, code=0):
    """Import a release into the fork; what is said about it."""
    done = project.run("import", "--release", version, "--repo", "tree")
    assert (done.code, done.out) == (code, ""), done.err
    (line,) = done.err.splitlines()
    return line


@pytest.fixture
def fork(project):
    """A fork whose main holds 0.19.0 and is checked out."""
    project.tree.rename(project.root / "unused")
    said = load(project, "0.19.0")
    project.main = project.git("rev-parse", "main")
    assert said == f"tree: main is now megatron-core 0.19.0 ({project.main[:12]})"
    return project


def worktree(project):
    return {
        path: file.content for path, file in project.files().items() if not path.startswith(".git/")
    }


def test_releases_become_commits_of_main(fork, wheels):
    assert worktree(fork) == wheels["0.19.0"]
    assert load(fork, "0.19.0") == "tree: main holds megatron-core 0.19.0 already"
    assert fork.refs() == {"main": fork.main}
    load(fork, "0.19.2")
    assert worktree(fork) == wheels["0.19.2"]
    before = fork.refs()
    assert load(fork, "0.19.0") == "tree: main holds megatron-core 0.19.0 already"
    assert fork.refs() == before
    assert fork.graph("main") == (
        "* Import megatron-core 0.19.2 (main)\n* Import megatron-core 0.19.0"
    )
    for revision, version in (("main", "0.19.2"), ("main~1", "0.19.0")):
        assert fork.git("log", "-1", "--format=%B", revision).rstrip() == MESSAGE.format(version)
    assert fork.git("status", "--porcelain", "--ignored") == ""


def test_a_setting_about_trailers_adds_no_release_twice(fork):
    fork.git("config", "trailer.separators", "=")
    assert load(fork, "0.19.0") == "tree: main holds megatron-core 0.19.0 already"
    assert fork.refs() == {"main": fork.main}


@pytest.mark.parametrize("setting", ["none", "merge.autoStash", "merge.verifySignatures"])
def test_local_changes_stay(fork, setting):
    if setting != "none":
        fork.git("config", setting, "true")
    changed = "megatron/core/package_info.py"
    fork.write({changed: b"unsaved\n", "megatron/notes": b"untracked\n"}, fork.tree)
    refs, files = fork.refs(), worktree(fork)
    line = load(fork, "0.19.2", code=1)
    assert line.startswith(
        f"error: {fork.tree}: main is checked out with local changes; commit or stash them: error: "
        "Your local changes to the following files would be overwritten by merge: " + changed
    )
    assert (fork.refs(), worktree(fork)) == (refs, files)
    assert fork.git("stash", "list") == ""

    fork.git("checkout", "--quiet", "--", changed)
    load(fork, "0.19.2")
    assert worktree(fork)["megatron/notes"] == b"untracked\n"


def test_a_lock_that_a_killed_git_left_is_not_told_as_local_changes(fork):
    (fork.tree / ".git/index.lock").touch()
    line = load(fork, "0.19.2", code=1)
    assert line.startswith(
        f"error: {fork.tree}: main is checked out and git cannot move it there: error: "
        f"Unable to create '{fork.tree}/.git/index.lock': File exists. "
    )
    assert line.endswith("remove the file manually to continue.")


def test_an_empty_repository_keeps_what_lies_in_it(project, wheels):
    path = "megatron/core/package_info.py"
    project.tree.rename(project.root / "unused")
    project.write({path: b"untracked\n", "README": b"mine\n"}, project.tree)
    project.git("init", "--quiet")
    assert load(project, "0.19.0", code=1).startswith(f"error: {project.tree}: main is checked out")
    assert worktree(project) == {path: b"untracked\n", "README": b"mine\n"}
    assert project.refs() == {}
    (project.tree / path).unlink()
    load(project, "0.19.0")
    assert worktree(project) == {**wheels["0.19.0"], "README": b"mine\n"}


def test_main_that_is_checked_out_elsewhere(fork):
    fork.git("switch", "--quiet", "--detach")
    fork.git("worktree", "add", "--quiet", str(fork.root / "desk"), "main")
    assert load(fork, "0.19.2", code=1) == (
        f"error: main is checked out in {fork.root}/desk; "
        "switch it to another branch there (git switch --detach)"
    )
    fork.git("worktree", "remove", str(fork.root / "desk"))
    before = worktree(fork)
    load(fork, "0.19.2")
    assert worktree(fork) == before
    assert fork.git("log", "-1", "--format=%s", "main") == "Import megatron-core 0.19.2"
    assert fork.git("reflog", "-1", "--format=%gs", "main") == "carry: import megatron-core 0.19.2"


def test_a_folder_by_another_name(fork):
    (fork.root / "link").symlink_to("tree")
    done = fork.run("import", "--release", "0.19.2", "--repo", "link")
    assert done.code == 0, done.err
    assert fork.git("status", "--porcelain") == ""


def test_a_folder_that_holds_something_else(project):
    before = project.files()
    assert load(project, "0.19.0", code=1) == (
        "error: tree: not a git repository; name one with --repo"
    )
    assert project.files() == before


def test_a_new_fork_gets_an_identity_where_git_has_none(project, monkeypatch):
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    # The cache stands in the home folder unless it is named.
    monkeypatch.setenv("MEGATRON_SERIES_CACHE", str(default_cache()))
    monkeypatch.setenv("HOME", str(project.root / "nobody"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project.root / "nobody"))
    # A machine whose name has no domain gives git no address to fall back to; this is the same.
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.useConfigOnly")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    project.tree.rename(project.root / "unused")
    load(project, "0.19.0")
    who = project.git(
        "log", "-1", "--format=%an <%ae> %cn <%ce>%n%(trailers:key=Signed-off-by)", "main"
    )
    name = "Megatron series <series@localhost>"
    assert who.rstrip() == f"{name} {name}\nSigned-off-by: {name}"


def test_a_new_fork_is_by_the_user_where_git_knows_one(fork):
    assert os.environ["GIT_CONFIG_GLOBAL"]
    assert "user" not in (fork.tree / ".git/config").read_text()
