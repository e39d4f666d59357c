"""The series on an installed megatron-core, and the way back, also after a kill anywhere."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from carry.carried import Carrier
from carry.installed import Installation
from stack.errors import Refusal

INFO = "megatron_core-1.2.3.dist-info"
KEPT = f"{INFO}/series-undo.zip"
RECORD = f"{INFO}/RECORD"
LOOP = "megatron/training/loop.py"
SIZES = "megatron/core/sizes.py"

# Renames that a whole run makes: what is kept, three files and RECORD.
RENAMES = 5


def row(path, text):
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"{path},sha256={digest.rstrip('=')},{len(text.encode())}\n"


def installed(project):
    """Make the tree a site-packages folder: as pip would, with a RECORD of its own."""
    ours = {path: text for path, text in project.base.items() if path.startswith("megatron/")}
    record = "".join(row(path, text) for path, text in ours.items())
    record += "megatron/core/__pycache__/names.cpython-312.pyc,,\n"
    record += f'"megatron/core/a,b.txt",sha256=x,1\n{RECORD},,\n'
    project.write({RECORD: record, f"{INFO}/INSTALLER": "pip\n"}, project.tree)
    return record


def state(project):
    """Every file by its path: what it holds and may do, not when it was written."""
    return {path: (file.mode, file.content) for path, file in project.files().items()}


def applied(project, record):
    """All that a site-packages folder holds with the series, what is kept left out."""
    top = {
        path: text for path, text in project.carried["top"].items() if path.startswith("megatron/")
    }
    lines = []
    for line in record.splitlines(keepends=True):
        path = line.split(",")[0]
        lines.append(row(path, top.pop(path)) if path in top else line)
    new = "".join(row(path, text) for path, text in top.items())
    whole = {**project.base, f"{INFO}/INSTALLER": "pip\n"}
    whole |= {
        path: text for path, text in project.carried["top"].items() if path.startswith("megatron/")
    }
    whole[RECORD] = "".join(lines) + new + f"{KEPT},,\n"
    return {path: text.encode() for path, text in whole.items()}


def contents(project):
    return {path: file.content for path, file in project.files().items() if path != KEPT}


def test_there_and_back(project):
    record = installed(project)
    before = state(project)
    done = project.run("apply", "tree")
    assert (done.code, done.out, done.err) == (
        0,
        "",
        "tree: 3 files written; carry apply --undo tree takes it back\n",
    )
    assert contents(project) == applied(project, record)
    after = project.files()
    assert {path for path, file in after.items() if file.mode & 0o111} == {"megatron/core/names.py"}

    again = project.run("apply", "tree")
    assert (again.code, again.err) == (
        0,
        "tree: the series is applied already; nothing was changed\n",
    )
    assert project.files() == after

    project.write({"megatron/core/__pycache__/sizes.cpython-312.pyc": "compiled"}, project.tree)
    undone = project.run("apply", "--undo", "tree")
    assert (undone.code, undone.out, undone.err) == (0, "", "tree: 3 files put back\n")
    assert state(project) == before
    twice = project.run("apply", "--undo", "tree")
    assert (twice.code, twice.err) == (
        1,
        "error: tree: carry applied no series there; nothing to take back\n",
    )


def test_what_is_kept_can_be_unpacked_by_hand(project):
    record = installed(project)
    assert project.run("apply", "tree").code == 0
    changed = ["megatron/core/names.py", LOOP, RECORD]
    with zipfile.ZipFile(project.tree / KEPT) as archive:
        written = json.loads(archive.read("written.json"))
        kept = {name: archive.read(name).decode() for name in archive.namelist()[1:]}
    old = {**project.base, RECORD: record}
    assert kept == {f"before/{path}": old[path] for path in changed}
    now = contents(project)
    assert written == {path: [hashlib.sha256(now[path]).hexdigest()] for path in [*changed, SIZES]}


def test_without_a_record(project):
    """Some distributors leave RECORD out."""
    installed(project)
    (project.tree / RECORD).unlink()
    before = state(project)
    assert project.run("apply", "tree").code == 0
    assert not (project.tree / RECORD).exists()
    assert project.run("apply", "--undo", "tree").code == 0
    assert state(project) == before


def test_a_series_that_went_on_replaces_the_older_one(project):
    record = installed(project)
    before = state(project)
    project.change("megatron/core/sizes.edits.yml", "return 8", "return 16")
    project.change("SERIES.md", "Adds: `megatron/core/sizes.py`", "Adds: `megatron/core/more.py`,")
    project.change("SERIES.md", "more.py`,", "more.py`, `megatron/core/sizes.py`")
    project.write({"megatron/core/more.py": ""})
    assert project.run("apply", "tree").code == 0
    assert b"return 16" in contents(project)[SIZES]
    assert "megatron/core/more.py" in contents(project)

    project.change("megatron/core/sizes.edits.yml", "return 16", "return 8")
    project.change("SERIES.md", "`megatron/core/more.py`, ", "")
    done = project.run("apply", "tree")
    assert (done.code, done.err.split(";")[0]) == (0, "tree: 2 files written")
    assert contents(project) == applied(project, record)
    assert project.run("apply", "--undo", "tree").code == 0
    assert state(project) == before


def test_a_series_that_brings_nothing_any_more_is_taken_back(project):
    installed(project)
    before = state(project)
    assert project.run("apply", "tree").code == 0
    for edits in project.root.glob("megatron/**/*.edits.yml"):
        edits.unlink()
    project.change("SERIES.md", "Adds: `megatron/core/sizes.py`", "Nothing.")
    assert project.run("apply", "tree").err == (
        "tree: 3 files written; carry apply --undo tree takes it back\n"
    )
    assert state(project) == before


@pytest.mark.parametrize("arguments", [("tree",), ("--undo", "tree")])
def test_what_somebody_changed_since_is_left_alone(project, arguments):
    installed(project)
    assert project.run("apply", "tree").code == 0
    project.write({LOOP: "mine = 1\n"}, project.tree)
    (project.tree / SIZES).unlink()
    (project.tree / "megatron/core/names.py").unlink()
    (project.tree / "megatron/core/names.py").symlink_to("parallel_state.py")
    before = project.files()
    done = project.run("apply", *arguments)
    # A new file that was removed is as it was before the series.
    assert done.code == 1
    assert done.err == (
        f"error: tree: changed since the series was applied: megatron/core/names.py, {LOOP}; put "
        "them back as they were, or install megatron-core again "
        "(pip install --force-reinstall --no-deps)\n"
    )
    assert project.files() == before


def refused(project, *arguments, code=1):
    before = project.files()
    done = project.run("apply", *arguments)
    assert (done.code, done.out) == (code, "")
    assert project.files() == before
    return done.err


def test_what_is_refused(project):
    assert refused(project, "--undo", "tree") == (
        "error: tree: megatron-core is not installed there, and nothing is kept of another tree; "
        "in a clone, git stash --include-untracked or git restore and git clean take it back\n"
    )
    installed(project)
    project.write({LOOP: "def train():\n    pass\n"}, project.tree)
    assert refused(project, "tree", code=4).startswith(
        "error: tree: nothing was applied, since these edits do not land:\n"
        "  megatron/training/loop.edits.yml:3: add-args to step in train: found 0, wanted 1\n"
    )
    project.write({LOOP: project.base[LOOP]}, project.tree)
    project.write({SIZES: "theirs = 1\n"}, project.tree)
    assert refused(project, "tree") == (
        f"error: tree: {SIZES} is there already with other bytes; SERIES.md:23 adds it as a new "
        "file; give it another path, or change it by edits\n"
    )
    (project.tree / SIZES).unlink()
    (project.tree / SIZES).symlink_to("names.py")
    assert refused(project, "tree") == (
        f"error: tree/{SIZES}: is no plain file, and the series adds one; remove it\n"
    )
    (project.tree / SIZES).unlink()
    project.write({KEPT: "no zip"}, project.tree)
    for arguments in [("tree",), ("--undo", "tree")]:
        assert refused(project, *arguments) == (
            f"error: tree/{KEPT}: cannot be read, so nothing can be taken back (File is not a zip "
            "file); install megatron-core again (pip install --force-reinstall --no-deps)\n"
        )
    (project.tree / KEPT).unlink()
    (project.tree / "megatron_core-1.2.4.dist-info").mkdir()
    assert refused(project, "tree") == (
        "error: tree: holds more than one megatron-core (megatron_core-1.2.3.dist-info, "
        "megatron_core-1.2.4.dist-info); uninstall it until none is left, and install one\n"
    )


def test_a_record_that_is_odd(project):
    record = installed(project)
    for line, reason in (
        (b"megatron/x.py\n", "not enough values to unpack (expected 3, got 1)"),
        (b"\xff,,\n", "'utf-8' codec can't decode byte 0xff in position 448: invalid start byte"),
    ):
        (project.tree / RECORD).write_bytes(record.encode() + line)
        assert refused(project, "tree") == (
            f"error: tree/{RECORD}: is damaged ({reason}); install megatron-core again (pip "
            "install --force-reinstall --no-deps)\n"
        )
    odd = record.replace("\n", "\r\n\r\n")
    project.write({RECORD: odd}, project.tree)
    before = state(project)
    assert project.run("apply", "tree").code == 0
    assert contents(project) == applied(project, record)
    assert project.run("apply", "--undo", "tree").code == 0
    assert state(project) == before


@pytest.mark.parametrize("place", range(0, 700, 14))
def test_what_is_kept_is_damaged(project, place):
    """Whatever the damage does to the archive, it is named, or does no harm."""
    installed(project)
    before = state(project)
    apply(project)
    kept = project.tree / KEPT
    content = kept.read_bytes()
    kept.write_bytes(content[:place] + b"\x55\xaa\x01\x63\x00" + content[place + 5 :])
    after = state(project)
    try:
        installation(project).undo()
    except Refusal as refusal:
        said = str(refusal)
    else:
        said = ""
    assert "series-undo.zip: cannot be read" in said or not said
    assert state(project) == (after if said else before)


def test_where_megatron_core_is_not_or_is_not_its_own(project):
    installed(project)
    file = project.tree / "megatron/core/names.py"
    file.rename(project.root / "shared.py")
    file.symlink_to("../../../shared.py")
    assert refused(project, "tree") == (
        "error: tree/megatron/core/names.py: is a link to a file that others may use; install "
        "megatron-core with files of its own (uv pip install --link-mode copy)\n"
    )
    (project.tree / "megatron/core").rename(project.tree / "megatron/other")
    assert refused(project, "tree") == (
        "error: tree: megatron-core is installed there, and its files are not, as after pip "
        "install -e; name the clone that they are in\n"
    )
    (project.tree / "megatron/other").rename(project.tree / "megatron/core")
    (project.tree / INFO).rename(project.tree / "torch-2.0.dist-info")
    missing = (
        "packages are installed there, but megatron-core is not (there is no "
        "megatron_core-*.dist-info), so nothing could be taken back; install it again, or name a "
        "clone of Megatron-LM\n"
    )
    assert refused(project, "tree") == f"error: tree: {missing}"
    project.tree.rename(project.root / "site-packages")
    shutil.rmtree(project.root / "site-packages/torch-2.0.dist-info")
    done = project.run("apply", "site-packages")
    assert (done.code, done.err) == (1, f"error: site-packages: {missing}")


@pytest.mark.parametrize("arguments", [(), ("tree", "--output", "o"), ("tree", "--release", "1.0")])
def test_a_wrong_use(project, arguments):
    done = project.run("apply", "--undo", *arguments)
    assert (done.code, done.err.splitlines()[-1]) == (2, "Error: say --undo TREE")


# A kill at every rename, and an error there

KILLED = """\
import os, sys
from pathlib import Path

left = int(sys.argv.pop(1))
rename, unlink = Path.replace, Path.unlink

def counted(act):
    def acting(*arguments, **named):
        global left
        if left == 0:
            os._exit(9)
        left -= 1
        return act(*arguments, **named)
    return acting

Path.replace, Path.unlink = counted(rename), counted(unlink)
from carry.cli import main
main()
"""


def installation(project):
    found = Installation.at(project.tree)
    assert found is not None
    return found


def apply(project):
    installation(project).apply(Carrier.open(project.root / "SERIES.md"))


def killed(project, renames, *arguments):
    command = [sys.executable, "-c", KILLED, str(renames), "apply", *arguments]
    return subprocess.run(command, cwd=project.root, check=False, capture_output=True).returncode


@pytest.mark.parametrize("renames", range(RENAMES + 1))
def test_an_apply_that_was_killed(project, renames):
    record = installed(project)
    before = state(project)
    assert killed(project, renames, "tree") == (0 if renames == RENAMES else 9)
    if renames == 0:
        # Only what was to be renamed lies there, and the next run clears it away.
        assert contents(project).keys() - before.keys() == {
            f"{INFO}/series-new/{number}" for number in range(RENAMES)
        }
        done = project.run("apply", "--undo", "tree")
        assert (done.code, done.err) == (0, "tree: every file is as it was\n")
        assert state(project) == before
        assert killed(project, renames, "tree") == 9
        apply(project)
        assert contents(project) == applied(project, record)
        installation(project).undo()
        assert state(project) == before
    else:
        installation(project).undo()
        assert state(project) == before
        assert killed(project, renames, "tree") == (0 if renames == RENAMES else 9)
        apply(project)
        assert contents(project) == applied(project, record)


# Three renames, and two files to remove: the new one, and what was kept.
@pytest.mark.parametrize("steps", range(6))
def test_an_undo_that_was_killed(project, steps):
    record = installed(project)
    before = state(project)
    apply(project)
    assert killed(project, steps, "--undo", "tree") == (0 if steps == 5 else 9)
    if steps % 2:
        apply(project)
        assert contents(project) == applied(project, record)
    if steps < 5 or steps % 2:
        installation(project).undo()
    assert state(project) == before


@pytest.mark.parametrize("renames", range(1, 4))
def test_a_newer_series_that_was_killed_over_an_older_one(project, renames):
    """Some files stand as the older series left them, and others as the newer one does."""
    record = installed(project)
    before = state(project)
    for path in ("megatron/core/sizes.edits.yml", "megatron/training/loop.edits.yml"):
        text = (project.root / path).read_text()
        project.write({path: text.replace("return 8", "return 16").replace("size=4", "size=5")})
    apply(project)
    project.change("megatron/core/sizes.edits.yml", "return 16", "return 8")
    project.change("megatron/training/loop.edits.yml", "size=5", "size=4")
    assert killed(project, renames, "tree") == 9
    if renames == 2:
        apply(project)
        assert contents(project) == applied(project, record)
    installation(project).undo()
    assert state(project) == before


@pytest.mark.parametrize("fails_at", range(RENAMES))
def test_an_error_takes_back_what_was_done(project, fails_at, monkeypatch):
    installed(project)
    before = state(project)
    carrier = Carrier.open(project.root / "SERIES.md")
    rename = Path.replace
    calls = iter(range(100))
    place = [KEPT, "megatron/core/sizes.py", "megatron/core/names.py", LOOP, RECORD][fails_at]

    def replace(file, target):
        if next(calls) == fails_at:
            raise OSError(28, "No space left on device", str(target))
        return rename(file, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(Refusal) as refusal:
        installation(project).apply(carrier)
    assert str(refusal.value) == (
        f"{project.tree / place}: cannot be written: No space left on device; nothing was "
        "changed; see to its folder and the disk, and run again"
    )
    assert state(project) == before


def test_an_error_takes_back_what_an_undo_did(project, monkeypatch):
    """Also where one folder can never be written: nothing beside it is begun."""
    installed(project)
    apply(project)
    after = state(project)
    rename = Path.replace

    def replace(file, target):
        if target.parent.name == "training":
            raise OSError(18, "Invalid cross-device link", str(file))
        return rename(file, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(Refusal) as refusal:
        installation(project).undo()
    assert str(refusal.value) == (
        f"{project.tree / LOOP}: cannot be written: Invalid cross-device link; nothing was "
        "changed; see to its folder and the disk, and run again"
    )
    assert state(project) == after


def test_what_else_is_in_the_folder_stays(project):
    """What pip or a person adds to the folder is nobody's business here."""
    installed(project)
    assert project.run("apply", "tree").code == 0
    project.write({"megatron/bridge/own.py": "x = 1\n"}, project.tree)
    assert project.run("apply", "--undo", "tree").code == 0
    assert (project.tree / "megatron/bridge/own.py").read_text() == "x = 1\n"


# With a release and the series of this repository


def test_pip_takes_all_of_it_away(project, tmp_path):
    env = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    (packages,) = env.glob("lib/*/site-packages")
    python = str(env / "bin/python")

    def pip(*arguments):
        command = [sys.executable, "-m", "pip", "--python", python, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def all_of_it():
        return {f: f.read_bytes() for f in packages.rglob("*") if f.is_file()}

    cache = Path(os.environ.get("MEGATRON_SERIES_CACHE", "~/.cache/megatron-series")).expanduser()
    (wheel,) = cache.glob("megatron_core-0.19.2-cp312-*.whl")
    pip("install", "--no-index", "--no-deps", str(wheel))
    before = all_of_it()
    series = ("--series", str(Path(__file__).parents[3] / "SERIES.md"))
    done = project.run(*series, "apply", str(packages))
    assert done.code == 0, done.err
    changed = {file for file, text in all_of_it().items() if before.get(file) != text}
    number = len(changed) - 2  # besides RECORD and what is kept
    assert done.err.startswith(f"{packages}: {number} files written; carry apply --undo")
    assert project.run("apply", "--undo", str(packages)).code == 0
    assert all_of_it() == before

    assert project.run(*series, "apply", str(packages)).code == 0
    pip("uninstall", "--yes", "megatron-core")
    assert all_of_it() == {}
    with pytest.raises(Refusal):
        Installation(packages, "megatron_core-0.19.2.dist-info").undo()
