"""Lock files as uv makes them, of wheels that the tests make: it keeps the pins that it finds."""

import io
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile

import pytest

LOCK, PROJECT = "uv.lock", "pyproject.toml"
UV = [
    *(sys.executable, "-m", "uv", "lock", "--quiet", "--python", sys.executable),
    *("--offline", "--no-index", "--find-links", "wheels"),
]
FIRST = ("apple", "banana", "cherry", "elder", "grape")  # what main needs to begin with
OTHERS = ("damson", "date", "ale")
NEEDS = {"ale": "Requires-Dist: grape\n"}


def wheel(name, version):
    """The bytes of a wheel that brings nothing."""
    about = f"{name}-{version}.dist-info"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{NEEDS.get(name, '')}"
    tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as files:
        for file, text in (("METADATA", head), ("WHEEL", tags), ("RECORD", "")):
            files.writestr(zipfile.ZipInfo(f"{about}/{file}"), text)
    return made.getvalue()


def write_project(needs):
    listed = "".join(f'    "{name}",\n' for name in needs)
    head = '[project]\nname = "demo"\nversion = "1"\nrequires-python = ">=3.12"\n'
    return f"{head}dependencies = [\n{listed}]\n"


@pytest.fixture
def project(hand):
    """A fork whose main has its first needs locked at 1.0, and two branches beside that."""
    folder = hand.fork / "wheels"
    folder.mkdir()
    for name in (*FIRST, *OTHERS):
        for version in ("1.0", "1.1"):
            (folder / f"{name}-{version}-py3-none-any.whl").write_bytes(wheel(name, version))
    hand.git("config", f"merge-series.regenerate.{LOCK}.command", shlex.join(UV))
    for pathspec in (PROJECT, "wheels"):
        hand.git("config", "--add", f"merge-series.regenerate.{LOCK}.input", pathspec)
    change(hand, "main", FIRST, **dict.fromkeys(FIRST, "1.0"))
    hand.declare("#1 a main", "#2 b #1")
    hand.grow("a", "main", {"a.py": "A = 1\n"})
    hand.grow("b", "a", {"b.py": "B = 1\n"})
    return hand


def change(world, branch, needs, **pins):
    """Commit to a branch what it needs, and what uv makes of its lock file with other pins."""
    desk = world.root / "lock"
    desk.mkdir(exist_ok=True)
    (desk / "wheels").unlink(missing_ok=True)
    (desk / "wheels").symlink_to(world.fork / "wheels")
    before = world.git("show", f"{branch}:{LOCK}", check=False)
    (desk / LOCK).unlink(missing_ok=True)
    if before:
        (desk / LOCK).write_text(f"{before}\n")
    (desk / PROJECT).write_text(write_project(needs))
    raised = [f"--upgrade-package={name}=={version}" for name, version in pins.items()]
    subprocess.run([*UV, *raised], cwd=desk, check=True)
    files = {PROJECT: write_project(needs), LOCK: (desk / LOCK).read_text()}
    world.commit(branch, files, f"Need {' '.join(needs)}, with {' '.join(pins)}")


def pins(world, revision):
    packages = tomllib.loads(world.show(revision, LOCK))["package"]
    return {one["name"]: one["version"] for one in packages if one["name"] != "demo"}


def synced(world):
    done = world.run("sync")
    assert done.code == 0, done.err
    return done.err


def test_a_branch_that_never_touched_it_has_what_main_raised_and_uv_does_not_run(project):
    change(project, "main", FIRST, banana="1.1", grape="1.1")
    said = synced(project)
    expected = dict.fromkeys(FIRST, "1.0") | {"banana": "1.1", "grape": "1.1"}
    for branch in ("a", "b"):
        assert pins(project, branch) == expected
    assert "made again" not in said


def test_without_inputs_it_has_what_main_raised_as_well(project):
    project.git("config", "--unset-all", f"merge-series.regenerate.{LOCK}.input")
    change(project, "main", FIRST, banana="1.1", grape="1.1")
    said = synced(project)
    for branch in ("a", "b"):
        assert project.show(branch, LOCK) == project.show("main", LOCK)
        assert f"{branch}: {LOCK} made again by `{shlex.join(UV)}` in " in said


def test_a_branch_that_needs_one_more_has_it_and_what_main_raised(project):
    change(project, "a", ("ale", *FIRST), ale="1.0")
    change(project, "main", FIRST, **dict.fromkeys(FIRST, "1.1"))
    synced(project)
    for branch in ("a", "b"):
        assert pins(project, branch) == dict.fromkeys(FIRST, "1.1") | {"ale": "1.0"}


def test_both_sides_raise_pins_apart(project):
    change(project, "a", FIRST, apple="1.1")
    change(project, "main", FIRST, grape="1.1")
    synced(project)
    expected = dict.fromkeys(FIRST, "1.0") | {"apple": "1.1", "grape": "1.1"}
    for branch in ("a", "b"):
        assert pins(project, branch) == expected
    assert project.message("a").splitlines()[2] == "No file conflicted."


def test_both_sides_need_another_one_at_one_place_of_the_lock_file(project):
    change(project, "a", ("damson", *FIRST), damson="1.0")
    change(project, "main", (*FIRST, "date"), date="1.0", apple="1.1")
    said = synced(project)
    how = (
        f"made again by `{shlex.join(UV)}` from the text of main; 1 line of the branch's where "
        'both sides had changed something is not in it: `{ path = "damson-1.0-py3-none-any.whl" },`'
    )
    assert f"Conflicted, and how each was settled:\n- {LOCK}: {how}\n" in project.message("a")
    assert len(re.findall(r" in \d+\.\d s\n", said)) == 1  # b has a's, made already
    for branch in ("a", "b"):
        assert pins(project, branch) == pins(project, "main") | {"damson": "1.1"}


def test_main_drops_what_a_package_of_the_branch_needs(project):
    # git merges that cleanly, into a text that uv refuses to read: ale needs a grape it lacks.
    change(project, "a", ("ale", *FIRST), ale="1.0")
    change(project, "main", FIRST[:-1], elder="1.1")
    project.git("switch", "--quiet", "--detach", "a")
    project.git("merge", "--quiet", "main")
    merged = subprocess.run(UV, cwd=project.fork, check=False, capture_output=True, text=True)
    assert f"Failed to parse `{LOCK}`" in merged.stderr
    project.git("switch", "--quiet", "main")
    synced(project)
    expected = dict.fromkeys(FIRST, "1.0") | {"elder": "1.1", "ale": "1.1", "grape": "1.1"}
    for branch in ("a", "b"):
        assert pins(project, branch) == expected
    how = (
        f"made again by `{shlex.join(UV)}` from the text of main; 2 lines that only the branch had "
        'changed are not in it: `version = "1.0"`, `{ path = "ale-1.0-py3-none-any.whl" },`'
    )
    assert f"Merged cleanly, but made again:\n- {LOCK}: {how}\n" in project.message("a")
