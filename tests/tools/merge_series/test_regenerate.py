"""Files that a command of the user's makes: a real lock file, and all that may go wrong."""

import re
import shlex
import subprocess
import sys
import time
import tomllib

import pytest

SETTING = "merge-series.regenerate.{}"
LOCK = "uv.lock"

PROJECT = """\
[project]
name = "demo"
version = "1"
requires-python = ">=3.12"
dependencies = [
{}]

[tool.uv.sources]
{}"""
UV_LOCK = [sys.executable, "-m", "uv", "lock", "--offline", "--quiet", "--python", sys.executable]


def project(names):
    """A pyproject.toml that depends on packages of this repository, a line each."""
    depends = "".join(f'    "{name}",\n' for name in names)
    return PROJECT.format(
        depends, "".join(f'{name} = {{ path = "parts/{name}" }}\n' for name in names)
    )


def part(name):
    return {f"parts/{name}/pyproject.toml": f'[project]\nname = "{name}"\nversion = "1"\n'}


def uv_lock(files, folder):
    """The lock file that uv makes of a project."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    subprocess.run(UV_LOCK, cwd=folder, check=True)
    return (folder / LOCK).read_text()


def configure(world, path, command, timeout=None):
    world.git("config", SETTING.format(f"{path}.command"), command)
    if timeout is not None:
        world.git("config", SETTING.format(f"{path}.timeout"), timeout)


def python(code):
    """A command line that runs Python code."""
    return shlex.join([sys.executable, "-c", code])


def test_a_lock_file_that_conflicts_is_made_again(world, tmp_path):
    # Apart in the project file, side by side in the lock file, which is sorted.
    names = {"base": "bcx", "main": "mbcx", "by-hand": "bcxn", "merged": "mbcxn"}
    parts = {path: text for name in names["merged"] for path, text in part(name).items()}
    files = {}
    for side, depends in names.items():
        sources = {"pyproject.toml": project(depends)}
        files[side] = sources | {LOCK: uv_lock(sources | parts, tmp_path / side)}
    world.commit("main", files["base"] | parts, "Start a project")
    assert world.run("sync").code == 0
    world.commit("by-hand", files["by-hand"], "Need n")
    world.commit("main", files["main"], "Need m")
    world.git("switch", "--quiet", "--detach", "by-hand")
    said = world.git("merge", "main", check=False)
    assert [line for line in said.splitlines() if line.startswith("CONFLICT")] == [
        f"CONFLICT (content): Merge conflict in {LOCK}"
    ]
    world.git("merge", "--abort")
    world.git("switch", "--quiet", "main")
    configure(world, LOCK, shlex.join(UV_LOCK))
    done = world.run("sync")
    assert done.code == 0, done.err
    merged = {path: world.show("by-hand", path) for path in files["merged"]}
    assert merged == files["merged"]
    locked = {package["name"] for package in tomllib.loads(merged[LOCK])["package"]}
    assert locked == {"demo", *"bcmnx"}
    how = f"made again by `{shlex.join(UV_LOCK)}` from the text of #1"
    assert f"- {LOCK}: {how}\n" in world.message("by-hand")


def untimed(text):
    """What a sync said, with commands that took no time."""
    return re.sub(r" in \d+\.\d s$", " in 0 s", " ".join(text.split(" ")), flags=re.MULTILINE)


FILL = python("import os; open('made.txt', 'w').write(' '.join(sorted(os.listdir('in'))))")
MADE = "made.txt"
MOVED = "no branch has moved"
CORRECT = f"{MOVED}; correct what it finds, or git config {SETTING.format(MADE)}"


@pytest.fixture
def made(world):
    """A fork in which ``made.txt`` lists the folder ``in``."""
    world.commit("main", {MADE: "a", "in/a": "a\n"}, "List a folder")
    assert world.run("sync").code == 0
    configure(world, MADE, FILL)
    return world


def show(world, branch):
    return world.git("show", f"{branch}:{MADE}")


def test_a_file_that_merged_cleanly_is_made_again(made):
    made.commit("by-hand", {"in/b": "b\n"}, "Add b, and forget the list")
    made.commit("main", {"in/c": "c\n", MADE: "a c"}, "Add c")
    before = made.contents()
    dry = made.run("sync", "--dry-run")
    assert made.contents() == before
    done = made.run("sync")
    assert done.code == 0, done.err
    assert untimed(dry.err) == untimed(done.err) + "Nothing was changed: this was a dry run.\n"
    lines = untimed(done.err).splitlines()
    assert [line for line in lines if " in 0 s" in line] == [
        f"{branch}: {MADE} made again by `{FILL}` in 0 s"
        for branch in ("ratchet", "offsets", "by-hand")
    ]
    assert show(made, "by-hand") == "a b c"
    assert f"Merged cleanly, but made again:\n- {MADE}: made again by `" in made.message("by-hand")
    assert "made again" not in made.message("ratchet")
    assert made.run("sync").err.startswith("Every branch is up to date")


def test_where_it_conflicts_it_starts_from_what_is_merged_and_only_that_file_is_taken(made):
    configure(
        made,
        MADE,
        python("open('more', 'w').write('x'); text = open('made.txt').read(); "
               "open('in/a', 'w'); open('made.txt', 'w').write(text + '!')"),
    )  # fmt: skip
    made.commit("by-hand", {MADE: "branch"}, "Write by hand")
    made.commit("main", {MADE: "main"}, "Write on main")
    done = made.run("sync")
    assert done.code == 0, done.err
    assert show(made, "ratchet") == "main!"
    assert show(made, "by-hand") == "main!!"
    how = made.message("by-hand").splitlines()[5]
    assert how.startswith(f"- {MADE}: made again by `")
    assert how.endswith(
        "` from the text of #1; 1 line of the branch's where both sides had changed something is "
        "not in it: `branch`"
    )
    assert made.git("diff", "--name-only", "main", "by-hand", "--", "more", "in") == ""


def test_it_starts_from_gits_merge_where_that_is_clean(made):
    code = "text = open('made.txt').read() + '!'; open('made.txt', 'w').write(text)"
    configure(made, MADE, "true")
    made.commit("main", {MADE: "1\n2\n3\n4\n5\n"}, "Write lines")
    assert made.run("sync").code == 0
    configure(made, MADE, python(code))
    made.commit("ratchet", {MADE: "1\n2\n3\n4\nbranch\n"}, "Write on the branch")
    made.commit("main", {MADE: "main\n2\n3\n4\n5\n"}, "Write on main")
    done = made.run("sync")
    assert done.code == 0, done.err
    assert show(made, "ratchet") == "main\n2\n3\n4\nbranch\n!"


@pytest.mark.parametrize("side", ["main", "by-hand"])
def test_the_mode_is_that_of_the_side_that_changed_it(made, side):
    made.commit("by-hand", {"in/b": "b\n", MADE: "a b"}, "Add b")
    made.commit("main", {"in/c": "c\n", MADE: "a c"}, "Add c")
    made.git("switch", "--quiet", side)
    made.git("update-index", "--chmod=+x", MADE)
    made.git("commit", "--quiet", "-m", "Make it a program")
    made.git("switch", "--quiet", "--force", "--detach", "main")
    done = made.run("sync")
    assert done.code == 0, done.err
    assert show(made, "by-hand") == "a b c"
    assert made.git("ls-tree", "by-hand", MADE).startswith("100755 ")


def test_a_file_that_one_side_removed_stays_away(made):
    made.commit("by-hand", {MADE: None}, "Do without the list")
    made.commit("main", {"README": "new\n"}, "Add a readme")
    assert made.run("sync").code == 0
    assert made.git("ls-tree", "--name-only", "by-hand", MADE) == ""


def test_a_file_that_one_side_removed_and_one_changed_is_for_a_person(made):
    made.commit("by-hand", {MADE: None}, "Do without the list")
    made.commit("main", {"in/c": "c\n", MADE: "a c"}, "Add c")
    done = made.run("sync")
    assert done.code == 3
    main, mine = (made.named(branch) for branch in ("main", "by-hand"))
    assert f"  {MADE}: main's {main} changed it, the branch's {mine} deleted it\n" in done.err


def test_what_a_person_committed_gets_its_files_made_again_on_top(made):
    notes = "megatron/core/notes.txt"
    made.commit("main", {notes: "one\n2\nthree\n", "in/c": "c\n", MADE: "a c"}, "Change both")
    assert made.run("sync").code == 3
    desk = made.fork / ".git/merge_series/worktree"
    made.write({notes: "one\nTWO\nthree\n", MADE: "stale"}, desk)
    made.git("commit", "--quiet", "--all", "--no-edit", where=desk)
    done = made.run("sync", "--continue")
    assert done.code == 0, done.err
    assert show(made, "by-hand") == "a c"
    assert made.message("by-hand").startswith(
        "Make generated files again\n\nStale in the merge that a person committed:\n"
        f"- {MADE}: made again by `"
    )


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "print('no'); print('way'); raise SystemExit(3)",
            f"failed with status 3; {CORRECT}.command:\n  no\n  way\n",
        ),
        ("raise SystemExit(3)", f"failed with status 3 and said nothing; {CORRECT}.command\n"),
        *(
            (
                f"import os; os.remove('made.txt'){more}",
                f"left no file there; {MOVED}; correct git config {SETTING.format(MADE)}.command\n",
            )
            for more in ("", "; os.symlink('in/a', 'made.txt')")
        ),
    ],
)
def test_a_command_that_fails_is_shown_and_changes_nothing(made, code, told):
    configure(made, MADE, python(code))
    made.commit("main", {"README": "new\n"}, "Add a readme")
    before = made.heads()
    done = made.run("sync")
    assert done.code == 1
    assert done.err.replace("\n", " ").startswith("error: made.txt: `")
    assert done.err.endswith(told)
    assert made.heads() == before


def test_a_command_that_is_not_there_is_named(made):
    configure(made, MADE, "/nowhere/tool --lock")
    made.commit("main", {"README": "new\n"}, "Add a readme")
    done = made.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            "error: made.txt: `/nowhere/tool --lock` cannot be run: No such file or directory; "
            f"{MOVED}; install it, or correct git config {SETTING.format(MADE)}.command\n"
        ),
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("core.autocrlf", "true"),
        ("core.eol", "crlf"),
        ("core.sparseCheckout", "true"),
        ("core.symlinks", "false"),
    ],
)
def test_the_export_is_as_the_tree_has_it(made, name, value):
    (made.fork / "in/link").symlink_to("a")
    made.commit("main", {".gitattributes": "in/a text\n"}, "Add a link")
    made.git("config", name, value)
    (made.fork / ".git/info/sparse-checkout").write_text("/none\n")
    code = "import os; t = open('in/a', 'rb').read(), os.readlink('in/link'); "
    configure(made, MADE, python(code + "open('made.txt', 'w').write(repr(t))"))
    done = made.run("sync")
    assert done.code == 0, done.err
    assert show(made, "by-hand") == "(b'a\\n', 'a')"


def test_the_file_keeps_its_mode(made):
    (made.fork / MADE).chmod(0o755)
    made.commit("main", {"in/c": "c\n"}, "Add c, and let the list run")
    done = made.run("sync")
    assert done.code == 0, done.err
    assert made.git("ls-tree", "by-hand", MADE).startswith("100755 ")
    assert show(made, "by-hand") == "a c"


def test_a_link_in_the_place_of_the_file_is_left_alone(made):
    (made.fork / MADE).unlink()
    (made.fork / MADE).symlink_to("in/a")
    made.commit("main", {"README": "new\n"}, "Make the list a link")
    done = made.run("sync")
    assert done.code == 0, done.err
    assert made.git("ls-tree", "by-hand", MADE) == made.git("ls-tree", "main", MADE)


def test_a_git_that_a_command_runs_finds_no_repository(made, monkeypatch):
    configure(made, MADE, "git rev-parse --git-dir")
    made.commit("main", {"README": "new\n"}, "Add a readme")
    other = made.root / "other"
    other.mkdir()
    made.git("init", "--quiet", where=other)
    monkeypatch.setenv("TMPDIR", str(other))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    done = made.run("sync")
    assert done.code == 1
    assert f"failed with status 128; {CORRECT}.command:\n  fatal: not a git repository" in done.err


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(made, tmp_path):
    proof = tmp_path / "proof"
    inner = f"import time; time.sleep(4); open({str(proof)!r}, 'w')"
    code = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {inner!r}]); "
    configure(made, MADE, python(code + "print('begun', flush=True); time.sleep(60)"), "1.5")
    made.commit("main", {"README": "new\n"}, "Add a readme")
    done = made.run("sync")
    assert done.code == 1
    assert done.err.endswith(f"did not end within 1.5 seconds; {CORRECT}.timeout:\n  begun\n")
    time.sleep(4)
    assert not proof.exists()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("command", "", "no command is given; say one, such as 'uv lock'"),
        ("command", "a 'b", 'No closing quotation in "a \'b"'),
        ("input", "", "no pathspec is given; say one, such as pyproject.toml"),
        ("timeout", "x", "'x' is no number of seconds above 0; say one, such as 300"),
        ("timeout", "0", "'0' is no number of seconds above 0; say one, such as 300"),
        (
            "shell",
            "x",
            "only command, input and timeout are settings here; drop it (git config --unset {})",
        ),
    ],
)
def test_a_setting_without_a_meaning_is_refused(made, name, value, told):
    setting = f"{SETTING.format(MADE)}.{name}"
    made.git("config", setting, value)
    made.commit("main", {"README": "new\n"}, "Add a readme")
    done = made.run("sync")
    assert (done.code, done.err) == (1, f"error: git config {setting}: {told.format(setting)}\n")


@pytest.mark.parametrize("path", ["../x", "/x", "a//x", "./x"])
def test_a_setting_for_no_file_of_a_tree_is_refused(made, path):
    configure(made, path, "true")
    made.commit("main", {"README": "new\n"}, "Add a readme")
    done = made.run("sync")
    section = SETTING.format(path)
    assert (done.code, done.err) == (
        1,
        (
            f"error: git config {section}: '{path}' is no path of a file in the tree; drop it (git "
            f"config --remove-section {section})\n"
        ),
    )
    made.git("config", "--remove-section", section)
    assert made.run("sync").code == 0


def test_of_much_output_the_end_is_shown(made):
    code = "print('x' * 10_000_000, end='the end'); raise SystemExit(3)"
    configure(made, MADE, python(code))
    made.commit("main", {"README": "new\n"}, "Add a readme")
    done = made.run("sync")
    assert done.code == 1
    assert done.err.endswith("xthe end\n")
    assert len(done.err) < 10_000


def test_a_git_that_fails_is_named_by_its_command(made):
    made.commit("main", {".gitattributes": "in/* filter=broken\n"}, "Filter")
    made.git("config", "filter.broken.smudge", "false")
    made.git("config", "filter.broken.required", "true")
    done = made.run("sync")
    assert done.code == 1
    assert done.err.startswith("error: git checkout-index failed with status 128: error: external")


def test_the_allowlist_takes_no_command(made):
    configure(made, made.allowlist, "true")
    made.commit("main", {"README": "new\n"}, "Add a readme")
    done = made.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            f"error: {made.allowlist}: the program makes this file itself; drop the setting (git "
            f"config --remove-section merge-series.regenerate.{made.allowlist})\n"
        ),
    )


def test_no_shell_runs_and_no_file_of_the_tree_names_a_command(made):
    proof = made.root / "proof"
    text = f'[merge-series "regenerate.README"]\n\tcommand = touch {proof}\n'
    configure(made, MADE, f"true ; touch {proof}")
    files = {".gitconfig": text, "README": "new\n", ".git-config": text, "SERIES.md": text}
    made.commit("main", files, "Name commands")
    done = made.run("sync")
    assert done.code == 0, done.err
    assert not proof.exists()
