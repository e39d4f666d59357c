"""push: the branches of the series alone, to one remote, all or none, by fast-forwards."""

import hashlib
import shutil

import pytest

BRANCHES = ("ratchet", "offsets", "by-hand")
LINKS = (
    "Every commit that origin had stays on its branch, so review links to commits stay valid; "
    "comments on lines that a merge changed may show as outdated.\n"
)

IS_MAIN = (
    "error: branch trunk is main on origin; main is never pushed; give the PR a branch of its own "
    "in SERIES.md"
)


@pytest.fixture
def remote(world):
    """A bare remote that has main and the branches as they are before a sync, and two others."""
    world.there = world.root / "there"
    world.git("branch", "of-somebody-else", "main")
    world.git("clone", "--quiet", "--bare", str(world.fork), str(world.there))
    world.git("remote", "add", "origin", str(world.there))
    world.git("branch", "not-of-the-series", "main")
    world.git("tag", "-a", "-m", "Tag", "v1", "main")
    world.old = refs(world)
    world.commit("main", {"README": "new\n"}, "Add a readme")
    assert world.run("sync").code == 0
    return world


def refs(world):
    form = "--format=%(refname:short) %(objectname)"
    listed = world.git("for-each-ref", form, where=world.there)
    return dict(line.split() for line in listed.splitlines())


def everything(world):
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for place in (world.fork, world.there)
        for file in sorted(place.rglob("*"))
        if file.is_file() and file.name != "lock"
    }


def moves(world):
    new = world.heads()
    return to(world) + "".join(f"{b}: {world.old[b][:9]} -> {new[b][:9]}\n" for b in BRANCHES)


def to(world):
    return f"To origin ({world.there}):\n"


def refused(world, *arguments):
    """The one line of a push that moved nothing there."""
    before = refs(world)
    done = world.run("push", *arguments)
    assert done.code == 1, done.err
    assert refs(world) == before
    assert done.err.count("\n") == 1, done.err
    return done.err.removesuffix("\n")


def test_the_branches_of_the_series_alone_are_pushed(remote):
    remote.git("config", "push.followTags", "true")
    remote.git("config", "push.gpgSign", "true")
    done = remote.run("push")
    assert (done.code, done.err) == (0, moves(remote) + LINKS)
    new = remote.heads()
    assert refs(remote) == {**remote.old, **{branch: new[branch] for branch in BRANCHES}}
    done = remote.run("push")
    assert (done.code, done.err) == (
        0,
        f"{to(remote)}origin has these already: {', '.join(BRANCHES)}\nNothing is to be pushed.\n",
    )


def test_a_dry_run_changes_nothing_on_either_side(remote):
    before = everything(remote)
    done = remote.run("push", "--dry-run")
    assert (done.code, done.err) == (
        0,
        moves(remote) + LINKS + "Nothing was pushed: this was a dry run.\n",
    )
    assert everything(remote) == before


def test_a_branch_that_the_remote_lacks_is_made_there(remote):
    remote.git("branch", "--delete", "--force", *BRANCHES, where=remote.there)
    new = remote.heads()
    done = remote.run("push")
    made = "".join(f"{b}: new {new[b][:9]}\n" for b in BRANCHES)
    assert (done.code, done.err) == (0, to(remote) + made)
    assert refs(remote) == {**remote.old, **{branch: new[branch] for branch in BRANCHES}}


@pytest.mark.parametrize("fetched", [False, True])
def test_a_remote_with_commits_that_a_branch_lacks(remote, fetched):
    other = remote.root / "other"
    remote.git("clone", "--quiet", "--branch", "by-hand", str(remote.there), str(other))
    remote.git("commit", "--quiet", "--allow-empty", "-m", "Somebody's", where=other)
    remote.git("push", "--quiet", where=other)
    if fetched:
        remote.git("fetch", "--quiet")
    why = "non-fast-forward" if fetched else "fetch first"
    assert refused(remote) == (
        f"error: origin has commits on by-hand that the branch here lacks ([rejected] ({why})); "
        "fetch and merge them first; nothing was pushed"
    )


def test_a_remote_that_moves_between_the_question_and_the_push(remote, monkeypatch):
    """The expected old values hold also where the push would still be a fast-forward."""
    middle = remote.git("rev-parse", "offsets^2")
    # The objects must be there already for a ref to be set.
    remote.git("push", "--quiet", "--no-verify", "origin", f"{middle}:refs/heads/parked")
    real = shutil.which("git")
    script = remote.root / "bin/git"
    script.parent.mkdir()
    script.write_text(
        '#!/bin/sh\ncase " $* " in *" --atomic "*)\n'
        f"  {real} -C {remote.there} update-ref refs/heads/offsets {middle};;\n"
        f'esac\nexec {real} "$@"\n'
    )
    script.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(script.parent), prepend=":")
        done = remote.run("push")
    assert done.code == 1, done.err
    assert done.err.startswith("error: origin took nothing: ")
    assert "offsets: [rejected] (stale info)" in done.err
    assert done.err.endswith("; nothing was pushed\n")
    assert refs(remote) == {**remote.old, "parked": middle, "offsets": middle}
    assert remote.run("push").code == 0


@pytest.mark.parametrize("name", ["pre-receive", "update"])
def test_a_remote_whose_hook_refuses(remote, name):
    hook = remote.there / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\necho "not today" >&2\n[ "$1" = refs/heads/ratchet ]\n')
    hook.chmod(0o755)
    line = refused(remote)
    assert line.startswith("error: origin took nothing: ")
    assert {"pre-receive": "pre-receive hook declined", "update": "hook declined"}[name] in line
    assert "remote: not today" in line
    assert line.endswith("; nothing was pushed")


def test_a_hook_of_the_users_that_refuses(remote):
    hook = remote.fork / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\necho "tests fail" >&2\nexit 1\n')
    hook.chmod(0o755)
    assert refused(remote) == "error: origin took nothing: tests fail; nothing was pushed"


def test_a_remote_that_is_not_there(remote):
    remote.git("remote", "set-url", "origin", str(remote.root / "none"))
    line = refused(remote)
    assert line.startswith("error: origin was not reached: fatal: ")
    assert "does not appear to be a git repository" in line


def test_no_password_is_shown(remote):
    remote.git("remote", "set-url", "origin", "http://ada:secret@127.0.0.1:9/x.git")
    line = refused(remote)
    assert "127.0.0.1:9" in line
    assert "secret" not in line
    remote.git("config", "branch.offsets.pushRemote", "http://ada:secret@127.0.0.1:9/x.git")
    there = f"error: {remote.fork}: git's settings name "
    assert refused(remote) == (
        f"{there}http://127.0.0.1:9/x.git for some branches and none for ratchet, by-hand; "
        "say --remote NAME"
    )
    remote.git("config", "remote.pushDefault", "origin")
    assert refused(remote) == f"{there}http://127.0.0.1:9/x.git, origin; say --remote NAME"
    remote.git("config", "remote.pushDefault", "http://ada:secret@127.0.0.1:9/x.git")
    line = refused(remote)
    assert "no remote is named 'http://127.0.0.1:9/x.git'" in line


# Where to


def test_which_remote_is_taken(remote):
    remote.git("remote", "add", "mine", str(remote.there))
    assert refused(remote) == (
        f"error: {remote.fork}: no setting says where to push, and there is mine, origin; "
        "say --remote NAME"
    )
    remote.git("config", "branch.offsets.pushRemote", "mine")
    assert refused(remote) == (
        f"error: {remote.fork}: git's settings name mine for some branches and none for ratchet, "
        "by-hand; say --remote NAME"
    )
    for branch in BRANCHES:
        remote.git("config", f"branch.{branch}.pushRemote", "mine")
    assert "mine had" in remote.run("push", "--dry-run").err
    for branch in BRANCHES:
        remote.git("config", "--unset", f"branch.{branch}.pushRemote")
    remote.git("config", "remote.pushDefault", "mine")
    assert "mine had" in remote.run("push", "--dry-run").err
    assert "origin had" in remote.run("push", "--dry-run", "--remote", "origin").err
    remote.git("config", "branch.offsets.pushRemote", "origin")
    assert "git's settings name mine, origin;" in refused(remote)
    assert refused(remote, "--remote", "none") == (
        f"error: {remote.fork}: no remote is named 'none'; there is mine, origin; say --remote NAME"
    )


def test_the_remote_that_main_comes_from_is_not_taken_unasked(remote):
    remote.git("remote", "add", "upstream", str(remote.there))
    remote.git("update-ref", "refs/remotes/upstream/main", "main")
    remote.git("config", "remote.pushDefault", "upstream")
    before = refs(remote)
    done = remote.run("--main", "upstream/main", "push")
    assert done.code == 1
    assert done.err == (
        f"error: {remote.fork}: git's settings would push to upstream, which upstream/main comes "
        "from; say --remote origin, or --remote upstream if it is meant\n"
    )
    assert refs(remote) == before
    asked = remote.run("--main", "upstream/main", "push", "--dry-run", "--remote", "upstream")
    assert asked.err.startswith(f"To upstream ({remote.there}):\n")


def test_a_remote_of_several_places_is_not_atomic(remote):
    remote.git("remote", "set-url", "--add", "--push", "origin", str(remote.there))
    remote.git("remote", "set-url", "--add", "--push", "origin", str(remote.root / "b"))
    assert refused(remote) == (
        "error: origin has 2 push URLs, and no push to several places is atomic; "
        "name a remote with one"
    )


def test_a_mirror_is_told_by_git(remote):
    remote.git("config", "remote.origin.mirror", "true")
    assert "mirror" in refused(remote)


def test_main_is_never_pushed_under_any_name(remote):
    remote.git("update-ref", "refs/remotes/upstream/trunk", "main")
    remote.git("branch", "trunk", "by-hand")
    series = remote.root / "SERIES.md"
    series.write_text(series.read_text().replace("`by-hand`", "`trunk`"))
    before = refs(remote)
    done = remote.run("--main", "upstream/trunk", "push")
    assert (done.code, done.err) == (
        1,
        f"{IS_MAIN}\n",
    )
    remote.git("branch", "trunk", "main", where=remote.there)
    remote.git("symbolic-ref", "HEAD", "refs/heads/trunk", where=remote.there)
    before = refs(remote)
    assert refused(remote) == IS_MAIN
    assert refs(remote) == before
