"""The series on a tree outside git: the whole tree after it, and a tree it left alone."""

from pathlib import Path

import pytest

from carry.apply import apply_in_place
from carry.bases import default_cache, fetch_release, read_wheel
from carry.carried import Carrier
from stack.errors import Refusal

LOOP = "megatron/training/loop.py"
ROOT = Path(__file__).parents[3]


def contents(project):
    return {path: file.content.decode() for path, file in project.files().items()}


def refused(project, *arguments, code=1):
    """Apply, and give back the message of a refusal that left the tree as it was."""
    before = project.files()
    done = project.run("apply", *arguments)
    assert (done.code, done.out) == (code, "")
    assert project.files() == before
    return done.err.partition("error: ")[2].removesuffix("\n")


def not_landing(what, *lines):
    listed = "".join(f"  {line}\n" for line in lines)
    return (
        f"{what}: nothing was applied, since these edits do not land:\n{listed}"
        "Correct them there, or take a tree that has what they name (carry check tells of each, "
        "carry report of each release)."
    )


def test_a_folder_in_place(project):
    before = project.files()
    done = project.run("apply", "tree")
    assert (done.code, done.out, done.err) == (0, "", "tree: 4 files written\n")
    after = project.files()
    assert contents(project) == {**project.base, **project.carried["top"]}
    for path in project.base.keys() - project.carried["top"].keys():
        assert after[path] == before[path]
    assert {path for path, file in after.items() if file.mode & 0o111} == {"megatron/core/names.py"}

    again = project.run("apply", "tree")
    assert (again.code, again.err) == (
        0,
        "tree: the series is applied already; nothing was changed\n",
    )
    assert project.files() == after


def test_a_series_that_went_on_is_applied_on_top(project):
    """A tree that holds a part of the series gets the rest."""
    edits = "megatron/core/sizes.edits.yml"
    whole = (project.root / edits).read_text()
    project.write({edits: "".join(whole.splitlines(keepends=True)[:2])})
    assert project.run("apply", "tree").code == 0
    assert contents(project)["megatron/core/sizes.py"] == "def own_size():\n    return 8\n"
    project.write({edits: whole})
    assert project.run("apply", "tree").code == 0
    assert contents(project) == {**project.base, **project.carried["top"]}


def test_all_edits_or_none(project):
    project.write({LOOP: "def train():\n    return other(1)\n"}, project.tree)
    assert refused(project, "tree", code=4) == not_landing(
        "tree",
        "megatron/training/loop.edits.yml:6: add-args to step in train: found 0, wanted 1",
    )


def test_every_file_that_does_not_match_is_named(project):
    project.write({LOOP: "", "megatron/core/names.py": ""}, project.tree)
    assert refused(project, "tree", code=4) == not_landing(
        "tree",
        "megatron/core/names.edits.yml:2: at-start in offset: found 0, wanted 1; "
        "no def or class offset",
        "megatron/core/names.edits.yml:3: add-args to offset in label: found 0, wanted 1; "
        "no def or class label",
        "megatron/core/names.edits.yml:5: before-return in label: found 0, wanted 1; "
        "no def or class label",
        "megatron/training/loop.edits.yml:6: add-args to step in train: found 0, wanted 1; "
        "no def or class train",
    )


def test_a_base_that_lacks_the_training_loop(project):
    (project.tree / LOOP).unlink()
    assert refused(project, "tree", code=4) == not_landing(
        "tree", f"megatron/training/loop.edits.yml: tree has no {LOOP}"
    )
    (project.tree / LOOP).parent.rmdir()
    assert project.run("apply", "tree").code == 0
    whole = {**project.base, **project.carried["top"]}
    assert contents(project) == {path: text for path, text in whole.items() if path != LOOP}


def test_the_place_of_a_new_file_is_taken(project):
    new = project.tree / "megatron/core/sizes.py"
    new.write_text("theirs = 1\n")
    assert refused(project, "tree") == (
        "tree: megatron/core/sizes.py is there already with other bytes; "
        "SERIES.md:23 adds it as a new file; give it another path, or change it by edits"
    )
    new.unlink()
    new.symlink_to("names.py")
    taken = f"tree/{new.relative_to(project.tree)}: is no plain file, and the series adds one; "
    assert refused(project, "tree") == taken + "remove it"
    new.unlink()
    (new / "below").mkdir(parents=True)
    assert refused(project, "tree") == taken + "remove it"
    (new / "below").rmdir()
    new.rmdir()
    (project.tree / "tools").write_text("a file\n")
    assert refused(project, "tree") == (
        "tree/tools/process_groups/allowlist.txt: cannot be written: Not a directory; nothing was "
        "changed; see to its folder and the disk, and run again"
    )


@pytest.mark.parametrize("fails_at", range(4))
@pytest.mark.parametrize("error", [OSError(13, "Permission denied"), KeyboardInterrupt()])
def test_a_run_that_fails_half_way_takes_back_what_it_did(project, fails_at, error, monkeypatch):
    before = project.files()
    rename = Path.replace
    left = [fails_at]

    def replace(file, target):
        left[0] -= 1
        if left[0] == -1:
            raise error
        return rename(file, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises((Refusal, KeyboardInterrupt)):
        apply_in_place(Carrier.open(project.root / "SERIES.md"), project.tree)
    after = project.files()
    assert {path: file[::2] for path, file in after.items()} == {
        path: file[::2] for path, file in before.items()
    }
    assert not (project.tree / "tools").exists()


def test_the_name_of_the_scratch_folder_is_taken(project):
    project.write({".carry-new": "a file of a person's\n"}, project.tree)
    assert refused(project, "tree") == (
        "tree/.carry-new: is no folder, and carry needs its name; move it away"
    )


def test_a_file_that_is_no_python(project):
    project.write({LOOP: "def train(:\n"}, project.tree)
    assert refused(project, "tree").startswith(f"{LOOP}: ")


@pytest.mark.parametrize(
    "arguments", [(), ("tree", "--output", "new"), ("--release", "0.19.2"), ("--output", "new")]
)
def test_a_wrong_use(project, arguments):
    done = project.run("apply", *arguments)
    assert done.code == 2
    assert done.err.endswith("Error: say TREE, or --release VERSION with --output DIR\n")


def test_a_folder_that_is_no_tree(project):
    assert refused(project, "megatron/core") == (
        "megatron/core: holds no megatron/; name the root of a Megatron tree"
    )
    assert refused(project, "none") == (
        "none: holds no megatron/; name the root of a Megatron tree"
    )


def installed(project, place):
    """Where the tree stands once it is moved to a place."""
    tree = project.root / place
    tree.parent.mkdir(parents=True, exist_ok=True)
    return project.tree.rename(tree)


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("lib/site-packages", "lib/site-packages"),
        ("lib/dist-packages", "lib/dist-packages"),
        ("lib/site-packages", "link"),
        ("lib/site-packages", "lib/site-packages/megatron"),
        ("lib/site-packages", "lib/site-packages/megatron/core"),
        ("target", "target"),
    ],
)
def test_what_pip_installed_is_not_changed(project, place, named):
    packages = installed(project, place)
    if place == "target":
        project.write({"megatron_core-1.2.3.dist-info/RECORD": ""}, packages)
    (project.root / "link").symlink_to(place)
    before = written(packages)
    done = project.run("apply", named)
    assert (done.code, done.out, done.err) == (
        1,
        "",
        (
            f"error: {named}: holds what pip installed; to change that, make a wheel with the "
            "series (carry wheel --release VERSION) and install it with pip\n"
        ),
    )
    assert written(packages) == before


def test_a_clone_that_lies_among_packages_is_no_package(project):
    project.fork()
    clone = installed(project, "lib/site-packages/clone")
    assert project.run("apply", str(clone)).err == f"{clone}: 4 files written\n"


# With a release and the series of this repository


def written(folder):
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_a_release_with_the_series_and_without(project):
    series = ("--series", str(ROOT / "SERIES.md"))
    done = project.run(*series, "export", "--release", "0.19.2", "--output", "a/plain")
    assert (done.code, done.err.splitlines()[-1]) == (
        0,
        "a/plain: megatron-core 0.19.2, unmodified",
    )
    plain = read_wheel(fetch_release("0.19.2", default_cache()))
    assert written(project.root / "a/plain") == plain

    done = project.run(*series, "apply", "--release", "0.19.2", "--output", "a/with")
    assert done.code == 0, done.err
    made = written(project.root / "a/with")
    changed = {path for path in made if made[path] != plain.get(path)}
    assert plain.keys() - made.keys() == set()
    assert done.err.splitlines()[-1] == (
        f"a/with: megatron-core 0.19.2 with the series, {len(changed)} files changed or new"
    )
    folders = (ROOT / "megatron", ROOT / "tests")
    edit_files = (f.relative_to(ROOT) for folder in folders for f in folder.rglob("*.edits.yml"))
    edited = {str(file).replace(".edits.yml", ".py") for file in edit_files}
    assert changed & plain.keys() == edited & plain.keys()
    new = changed - plain.keys() - edited - {"tools/process_groups/allowlist.txt"}
    assert {path: made[path] for path in new} == {path: (ROOT / path).read_bytes() for path in new}
    assert {folder.name for folder in (project.root / "a").iterdir()} == {"plain", "with"}

    # In place, the same tree comes about.
    done = project.run(*series, "apply", "a/plain")
    assert done.code == 0, done.err
    assert written(project.root / "a/plain") == made


@pytest.fixture
def nowhere(project, monkeypatch):
    """No release is kept, and no index has one."""
    monkeypatch.setenv("MEGATRON_SERIES_CACHE", str(project.root / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", (project.root / "none").as_uri())
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("command", ["export", "apply"])
@pytest.mark.usefixtures("nowhere")
def test_an_output_that_exists_is_refused_before_anything_is_fetched(project, command):
    before = project.files()
    done = project.run(command, "--release", "0.19.2", "--output", "tree")
    assert (done.code, done.err) == (
        1,
        "error: tree: exists already; name a folder that does not\n",
    )
    assert project.files() == before
    (project.root / "link").symlink_to("nowhere")
    done = project.run(command, "--release", "0.19.2", "--output", "link")
    assert (done.code, done.err) == (
        1,
        "error: link: exists already; name a folder that does not\n",
    )
    assert not (project.root / "cache").exists()


def test_it_says_that_it_fetches_only_where_it_does(project, request):
    kept = project.run("export", "--release", "0.19.2", "--output", "new")
    assert (kept.code, kept.err) == (0, "new: megatron-core 0.19.2, unmodified\n")
    request.getfixturevalue("nowhere")
    done = project.run("export", "--release", "0.19.2", "--output", "newer")
    assert done.code == 1
    assert done.err == (
        "Fetching megatron-core 0.19.2\n"
        "error: megatron-core 0.19.2: pip reached no package index that has megatron-core; check "
        f"the network and pip's settings, or put the wheel into {project.root}/cache\n"
    )


def test_an_output_that_an_edit_refuses_is_not_begun(project):
    done = project.run("apply", "--release", "0.19.2", "--output", "new/tree")
    assert done.code == 4
    assert done.err == (
        not_landing(
            "error: megatron-core 0.19.2",
            "megatron/core/names.edits.yml: megatron-core 0.19.2 has no megatron/core/names.py",
            f"megatron/training/loop.edits.yml: megatron-core 0.19.2 has no {LOOP}",
        )
        + "\n"
    )
    assert not (project.root / "new").exists()
