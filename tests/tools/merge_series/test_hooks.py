"""Which of the user's hooks run, what one that refuses does, and who the commits are by."""

import json
import shutil
import subprocess

import pytest

NOTES = "megatron/core/notes.txt"

HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout",
    "post-commit", "post-index-change", "post-merge", "post-rewrite", "pre-applypatch",
    "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase",
    "prepare-commit-msg", "proc-receive", "push-to-checkout", "reference-transaction",
    "sendemail-validate",
)  # fmt: skip


def write_hook(world, name, text):
    hook = world.fork / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{text}\n")
    hook.chmod(0o755)
    return hook


@pytest.fixture
def behind(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    world.before = world.heads()
    return world


@pytest.fixture
def watched(behind):
    """All hooks note their name and first argument, and what they are told of refs."""
    behind.seen = behind.root / "seen"
    for name in HOOKS:
        tail = "; sed 's/^/  /'" if name == "reference-transaction" else ""
        write_hook(behind, name, f'{{ echo "{name} $1"{tail}; }} >>{behind.seen}')
    return behind


def transaction(moves):
    said = "".join(f"  {line}\n" for line in moves)
    return f"reference-transaction prepared\n{said}reference-transaction committed\n{said}"


def test_a_sync_runs_the_hook_about_refs_alone(watched):
    assert watched.run("sync").code == 0
    old, new = watched.before, watched.heads()
    moves = [f"{old[b]} {new[b]} refs/heads/{b}" for b in ("ratchet", "offsets", "by-hand")]
    assert watched.seen.read_text() == transaction(moves)
    watched.seen.unlink()
    assert watched.run("undo").code == 0
    back = []
    for branch in ("ratchet", "offsets", "by-hand"):
        back.append(f"{new[branch]} {old[branch]} refs/heads/{branch}")
        kept = f"refs/merge_series/undone/1/{branch}"
        back.append(f"{'0' * 40} {new[branch]} {kept}")
    assert watched.seen.read_text() == transaction(back)


def test_neither_a_dry_run_nor_a_stop_nor_an_abort_runs_a_hook(watched):
    assert watched.run("sync", "--dry-run").code == 0
    assert not watched.seen.exists()
    for name in HOOKS:
        (watched.fork / ".git/hooks" / name).rename(watched.root / name)
    watched.commit("main", {NOTES: "one\n2\nthree\n"}, "Digit")
    for name in HOOKS:
        (watched.root / name).rename(watched.fork / ".git/hooks" / name)
    assert watched.run("sync").code == 3
    assert watched.run("sync", "--abort").code == 0
    assert not watched.seen.exists()


@pytest.mark.parametrize("command", ["sync", "undo", "redo"])
def test_a_hook_that_refuses_moves_nothing_and_says_so_in_one_line(behind, command):
    if command != "sync":
        assert behind.run("sync").code == 0
    if command == "redo":
        assert behind.run("undo").code == 0
    before = behind.git("for-each-ref")
    folder = behind.fork / ".git/merge_series/done"
    records = {file.name: file.read_text() for file in folder.glob("*")}
    hook = write_hook(behind, "reference-transaction", '[ "$1" != prepared ]')
    done = behind.run(command)
    assert (done.code, done.err.splitlines()[-1]) == (
        1,
        (
            "error: git update-ref failed with status 128: fatal: ref updates aborted by hook; no "
            "branch has moved; correct what it names, then run again"
        ),
    )
    assert behind.git("for-each-ref") == before
    assert {file.name: file.read_text() for file in folder.glob("*")} == records
    hook.unlink()
    done = behind.run(command)
    assert done.code == 0, done.err
    assert "Repaired" not in done.err


def test_refs_that_moved_in_part_keep_the_journal(behind, monkeypatch):
    """A git that fails halfway, as on a full disk: the next run moves the rest."""
    real = shutil.which("git")
    tools = behind.root / "bin"
    tools.mkdir()
    script = tools / "git"
    # Moves the first ref as the transaction would, and fails.
    script.write_text(
        f'#!/bin/sh\ncase " $* " in *" update-ref "*"--stdin"*)\n'
        f"  cat >{behind.root}/wanted; cut -d '' -f2 <{behind.root}/wanted >/dev/null\n"
        f"  new=$(tr '\\0' '\\n' <{behind.root}/wanted | sed -n 3p)\n"
        f"  {real} update-ref refs/heads/ratchet $new\n"
        '  echo "fatal: disk full" >&2; exit 128;;\n'
        f'*) exec {real} "$@";;\nesac\n'
    )
    script.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tools), prepend=":")
        done = behind.run("sync")
    assert (done.code, done.err.splitlines()[-1]) == (
        1,
        (
            "error: git update-ref failed with status 128: fatal: disk full; some branches have "
            "moved and some not: any merge_series command that moves branches will move the rest "
            "first"
        ),
    )
    record = behind.fork / ".git/merge_series/done/1.json"
    assert json.loads(record.read_text())["state"] == "moving"
    done = behind.run("sync")
    assert done.code == 0, done.err
    assert done.err.splitlines()[0] == (
        "Repaired: an earlier sync was killed while it moved branches; moved 2 more."
    )
    assert json.loads(record.read_text())["state"] == "done"
    assert behind.run("verify").code == 0


# Who the commits are by


def test_every_commit_is_signed_by_the_user_where_git_is_told_to(world, monkeypatch):
    assert shutil.which("ssh-keygen"), "install openssh-client: this test signs with ssh-keygen"
    key, signers = world.root / "key", world.root / "signers"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signers.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "gpg.ssh.allowedSignersFile": str(signers),
        "commit.gpgSign": "true",
    }.items():
        world.git("config", name, value)
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace Author")
    world.commit("main", {NOTES: "one\n2\nthree\n"}, "Digit")
    before = world.heads()
    assert world.run("sync").code == 3
    desk = world.fork / ".git/merge_series/worktree"
    (desk / NOTES).write_text("settled\n")
    world.git("add", NOTES, where=desk)
    done = world.run("sync", "--continue")
    assert done.code == 0, done.err
    made = 0
    for branch in ("ratchet", "offsets", "by-hand"):
        new = world.git("rev-list", branch, f"^{before[branch]}", "^main").split()
        for commit in new:
            world.git("verify-commit", commit)
            who = world.git("log", "-1", "--format=%an <%ae> by %cn <%ce>%n%(trailers)", commit)
            assert who.rstrip() == (
                "Grace Author <ada@example.org> by Ada Test <ada@example.org>\n"
                "Signed-off-by: Ada Test <ada@example.org>"
            )
            made += 1
    assert made >= 3
    heads = world.heads()
    world.commit("main", {"README": "more\n"}, "More")
    key.unlink()
    done = world.run("sync")
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("error: git commit-tree failed with status ")
    assert {**world.heads(), "main": ""} == {**heads, "main": ""}
