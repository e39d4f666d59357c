"""Objects in and out of real repositories of both object formats, whatever the settings are."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stack.errors import Refusal
from stack.git_answers import Entry, Sha, decode, encode
from stack.repository import Repository

FORMATS = {"sha1": 40, "sha256": 64}


def git(where, *arguments):
    done = subprocess.run(["git", *arguments], cwd=where, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


@pytest.fixture(params=FORMATS)
def repository(tmp_path, request):
    git(tmp_path, "init", "--quiet", f"--object-format={request.param}", "fork")
    with Repository.open(tmp_path / "fork") as opened:
        yield opened


def commit(repository, files, *parents, message="Change"):
    tree = repository.change_tree(None, repository.write_files(files))
    return repository.commit_tree(tree, parents, message)


def listed(repository, tree):
    """Every file of a tree with its mode and bytes."""
    return {
        path: (entry.mode, repository.read_blob(entry.oid))
        for path, entry in repository.entries(tree).items()
    }


def contents(folder):
    return {
        file: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file()
    }


def refusal(call, *arguments):
    with pytest.raises(Refusal) as caught:
        call(*arguments)
    line = str(caught.value)
    assert "\n" not in line
    return line


# Trees and files


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    git(folder, "init", "--quiet")
    with Repository.open(folder) as opened:
        yield opened


names = st.binary(min_size=1, max_size=5).filter(
    # What git takes no file by: a path's separators, the two folders, and its own directory.
    lambda name: not {0, ord("/")} & {*name} and name not in {b".", b".."} and b"g" not in name
)


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(names, st.binary(max_size=9), min_size=1, max_size=5))
def test_any_path_and_any_bytes_come_back(kept, files):
    folders = ("", "a \"b'/", "\n\t/\udcff\\/")
    wanted = {
        folder + decode(name): content for folder in folders for name, content in files.items()
    }
    tree = kept.change_tree(None, kept.write_files(wanted))
    assert listed(kept, tree) == {path: ("100644", content) for path, content in wanted.items()}
    assert all(kept.read_file(tree, path) == content for path, content in wanted.items())
    assert kept.change_tree(tree, dict.fromkeys(wanted)) == kept.change_tree(None, {})


def test_a_tree_is_changed_at_the_given_paths_only(repository):
    plain = repository.write_files({"a": b"1", "d/x": b"2", "d/y": b"3", "e": b"4", "gone": b"5"})
    (link,) = repository.write_blobs([b"a"])
    before = repository.change_tree(None, {**plain, "link": Entry("120000", link)})
    changes = repository.write_files({"a": b"new", "d": b"a file now", "e/f": b"a folder now"})
    after = repository.change_tree(before, {**changes, "gone": None, "never there": None})
    assert listed(repository, after) == {
        "a": ("100644", b"new"),
        "d": ("100644", b"a file now"),
        "e/f": ("100644", b"a folder now"),
        "link": ("120000", b"a"),
    }
    assert repository.change_tree(before, {}) == before
    assert repository.entries(repository.change_tree(None, {"gone": None})) == {}


def test_a_file_with_new_bytes_keeps_its_mode(repository):
    oids = repository.write_blobs([b"1", b"2"])
    tree = repository.change_tree(
        None, {"run": Entry("100755", oids[0]), "plain": Entry("100644", oids[1])}
    )
    assert repository.change_files(tree, {}) == tree
    changed = repository.change_files(tree, {"run": b"3", "plain": b"4", "new": b"5"})
    assert listed(repository, changed) == {
        "new": ("100644", b"5"),
        "plain": ("100644", b"4"),
        "run": ("100755", b"3"),
    }


def test_no_filter_touches_what_is_stored(repository):
    where = repository.directory
    for key, value in {
        "core.autocrlf": "true",
        "core.safecrlf": "true",
        "core.eol": "crlf",
        "filter.shout.clean": "tr a-z A-Z",
        "filter.shout.required": "true",
    }.items():
        git(where, "config", key, value)
    (where / ".gitattributes").write_text("* text eol=crlf ident filter=shout\n")
    stored = [b"a\r\nb\r\n", b"a\nb\n", b"mixed\r\na\n", b"$Id: a$\n", b"", b"\xff\0", b"a\nb\n"]
    assert [repository.read_blob(oid) for oid in repository.write_blobs(stored)] == stored
    assert repository.write_blobs([]) == ()


def test_a_blob_that_is_not_there(repository, request):
    oid = Sha("1" * FORMATS[request.node.callspec.params["repository"]])
    assert refusal(repository.read_blob, oid).startswith("git cat-file failed with status 128: ")
    (other,) = repository.write_blobs([b"still read after that"])
    assert repository.read_blob(other) == b"still read after that"


def test_only_the_named_paths_are_listed_and_no_pattern_is_one(repository):
    files = {":a": b"", "a*": b"", "ab": b"", "d/x": b"", "d/y": b""}
    tree = repository.change_tree(None, repository.write_files(files))
    assert list(repository.entries(tree, ":a", "a*", "d")) == [":a", "a*", "d/x", "d/y"]
    assert repository.entry(tree, "d") is None
    assert repository.read_file(tree, "none") is None


# Commits


@pytest.mark.parametrize(
    ("message", "stored"),
    [
        ("Subject", "Subject\n\n@"),
        ("Subject\n\nBody: of\nseveral lines.\n\n", "Subject\n\nBody: of\nseveral lines.\n\n@"),
        ("Subject\n\nRelease: 1\nHelped-by: B\n", "Subject\n\nRelease: 1\nHelped-by: B\n@"),
        ("Fix: a subject is no trailer", "Fix: a subject is no trailer\n\n@"),
        ("Subject\n\n# kept\n\n  indented", "Subject\n\n# kept\n\n  indented\n\n@"),
        ("Müller", "Müller\n\n@"),
        ("Müller\n\n→", "Müller\n\n→\n\n@"),
    ],
)
def test_a_commit_is_by_the_user_and_signed_off(repository, monkeypatch, message, stored):
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Bob")
    git(repository.directory, "config", "i18n.commitEncoding", "latin1")
    git(repository.directory, "config", "i18n.logOutputEncoding", "latin1")
    first = commit(repository, {"a": b"1"})
    second = commit(repository, {"a": b"2"}, first)
    tree = repository.tree_of(second)
    made = repository.commit_tree(tree, [second, first], message)
    sign_off = "Signed-off-by: Ada Test <ada@example.org>"
    text = stored.replace("@", sign_off)
    assert decode(repository.run("cat-file", "commit", made).stdout) == (
        f"tree {tree}\nparent {second}\nparent {first}\n"
        "author Bob <ada@example.org> 1767323045 +0000\n"
        "committer Ada Test <ada@example.org> 1767323045 +0000\n"
        f"\n{text}\n"
    )
    assert repository.message(made) == text


@pytest.mark.parametrize("message", ["Subject", "Müller\n\n→", "Not UTF-8: \udcff", "\\x00"])
def test_a_commit_is_the_one_that_git_makes(repository, message):
    tree = repository.change_tree(None, {})
    first = repository.commit_tree(tree, [], message)
    made = repository.commit_tree(tree, [first], message)
    text = f"{message}\n\nSigned-off-by: Ada Test <ada@example.org>\n"
    answer = repository.run("commit-tree", "-p", first, "-F", "-", tree, stdin=encode(text))
    assert made == answer.text


def test_a_commit_that_git_does_not_take(repository):
    tree = repository.change_tree(None, {})
    assert refusal(repository.commit_tree, tree, [], "A NUL: \0") == (
        "git commit-tree failed with status 1: error: a NUL byte in commit log message not allowed."
    )


def test_commits_of_a_dry_run_whose_folder_has_gone(repository, tmp_path):
    elsewhere = tmp_path / "dry"
    elsewhere.mkdir()
    with Repository.open(repository.directory, elsewhere) as dry:
        tree = dry.change_tree(None, {})
        dry.commit_tree(tree, [], "First")
        shutil.rmtree(elsewhere)
        elsewhere.write_text("no folder")
        for _ in range(2):
            line = refusal(dry.commit_tree, tree, [], "Second")
            stores = "unpack-objects" if len(tree) == 40 else "commit-tree"
            assert line.startswith(f"git {stores} failed with status 128: ")


def test_the_environment_may_name_the_author(repository):
    tree = repository.change_tree(None, {})
    who = {"GIT_COMMITTER_NAME": "Bob", "GIT_COMMITTER_EMAIL": "bob@example.org"}
    made = repository.commit_tree(tree, [], "Subject", who)
    assert repository.message(made) == "Subject\n\nSigned-off-by: Bob <bob@example.org>"


def test_a_commit_is_signed_where_the_user_signs(repository, tmp_path):
    assert shutil.which("ssh-keygen"), "install openssh-client: this test signs with ssh-keygen"
    where = repository.directory
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "gpg.ssh.allowedSignersFile": str(signers),
        "log.showSignature": "true",
        "commit.gpgSign": "yes",
    }.items():
        git(where, "config", name, value)
    made = commit(repository, {"a": b"1"}, message="Subject")
    git(where, "verify-commit", made)
    assert repository.message(made) == "Subject\n\nSigned-off-by: Ada Test <ada@example.org>"
    key.unlink()
    assert refusal(commit, repository, {"a": b"2"}).startswith("git commit-tree failed with status")


def test_no_identity_is_told_in_one_line(repository, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    git(repository.directory, "config", "user.useConfigOnly", "true")
    assert refusal(commit, repository, {}) == (
        "git knows no identity to commit by (fatal: no email was given and auto-detection is "
        'disabled); say git config --global user.name "YOUR NAME" and git config --global '
        "user.email YOU@EXAMPLE.ORG"
    )


def test_objects_of_a_dry_run_go_elsewhere(repository, tmp_path):
    head = commit(repository, {"a": b"1"})
    before = contents(repository.directory)
    elsewhere = tmp_path / "dry"
    elsewhere.mkdir()
    with Repository.open(repository.directory, elsewhere) as dry:
        made = commit(dry, {"a": b"1", "b": b"2"}, head)
        assert listed(dry, made) == {"a": ("100644", b"1"), "b": ("100644", b"2")}
        assert dry.is_ancestor(head, made)
    assert contents(repository.directory) == before
    assert len(contents(elsewhere)) == 3  # the blob b, the tree, the commit
    assert repository.resolve(made) is None


# Revisions


def test_what_a_revision_names(repository):
    head = commit(repository, {"a": b"1"})
    git(repository.directory, "update-ref", "refs/heads/main", head)
    git(repository.directory, "tag", "-a", "-m", "Tag", "v1", head)
    assert {repository.resolve(name) for name in ("main", "HEAD", "v1", head, "main^0")} == {head}
    nothing = (
        "",
        "none",
        "^main",
        "main..main",
        "main:a",
        "main^{tree}",
        "--all",
        "-h",
        "a b",
    )
    assert {repository.resolve(name) for name in nothing} == {None}
    assert repository.commits("main") == (head,)


def test_ancestors_and_merge_bases(repository):
    root = commit(repository, {"a": b"0"})
    one = commit(repository, {"a": b"1"}, root)
    two = commit(repository, {"a": b"2"}, root)
    left = commit(repository, {"a": b"3"}, one, two)
    right = commit(repository, {"a": b"4"}, two, one)
    other = commit(repository, {"b": b"0"})
    assert repository.merge_bases(one, two) == (root,)
    assert set(repository.merge_bases(left, right)) == {one, two}
    assert repository.merge_bases(one, other) == ()
    assert repository.is_ancestor(root, left)
    assert repository.is_ancestor(root, root)
    assert not repository.is_ancestor(left, root)
    assert not repository.is_ancestor(left, right)


# Where a repository is


@pytest.mark.parametrize("name", ["a:b", 'a"b', "a\\b", "a b", "$HOME", "%TMP%", "~", "é\n", "-x"])
def test_a_folder_of_any_name(tmp_path, monkeypatch, name):
    folder = tmp_path / name
    # A command that ran in the current folder would find this repository.
    git(tmp_path, "init", "--quiet")
    monkeypatch.chdir(tmp_path)
    with Repository.create(folder, "main") as made:
        head = commit(made, {"a": b"1"})
    elsewhere = tmp_path / "dry:run"
    elsewhere.mkdir()
    with Repository.open(Path(name), elsewhere) as dry:
        assert dry.directory == folder
        assert dry.common_directory == dry.git_path("HEAD").parent == folder / ".git"
        assert listed(dry, commit(dry, {"b": b"2"}, head)) == {"b": ("100644", b"2")}
        assert dry.read_file(head, "a") == b"1"
    assert not list((tmp_path / ".git/objects").glob("??"))


def test_a_bare_repository_and_a_linked_worktree(tmp_path):
    git(tmp_path, "init", "--quiet", "--bare", "bare")
    with Repository.open(tmp_path / "bare") as bare:
        head = commit(bare, {"a": b"1"})
        git(tmp_path / "bare", "worktree", "add", "--quiet", "--detach", str(tmp_path / "w"), head)
        assert bare.directory == bare.common_directory == tmp_path / "bare"
        assert not bare.is_shallow
    with Repository.open(tmp_path / "w") as linked:
        assert linked.directory == tmp_path / "w"
        assert linked.common_directory == tmp_path / "bare"
        assert linked.resolve("HEAD") == head
        assert linked.git_path("HEAD") == tmp_path / "bare/worktrees/w/HEAD"


def test_a_repository_of_another_user(tmp_path, monkeypatch):
    git(tmp_path, "init", "--quiet")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    line = refusal(Repository.open, tmp_path)
    assert f"detected dubious ownership in repository at '{tmp_path}'" in line
    assert "git config --global --add safe.directory" in line


def test_a_broken_repository_is_not_taken_for_the_one_around_it(tmp_path):
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "init", "--quiet", "fork")
    fork = tmp_path / "fork"
    (fork / ".git/HEAD").write_text("")
    wanted = f"{fork}: not a git repository; name one with --repo"
    assert refusal(Repository.open, fork) == wanted
    (fork / ".git/HEAD").unlink()
    assert refusal(Repository.open, fork) == wanted
    assert refusal(Repository.open, fork / "no") == (
        f"{fork}/no: no such folder; name a repository with --repo (for a clone of Megatron-LM: "
        "--repo . --main upstream/main)"
    )
