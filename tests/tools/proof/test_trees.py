import textwrap
from pathlib import Path

import pytest

from proof.trees import STAMP, main

# Writes as carry does, and notes that it ran.
CARRY = """
    import sys
    from pathlib import Path

    words = sys.argv[1:]
    with Path("calls.txt").open("a") as calls:
        calls.write(" ".join(words) + "\\n")
    core = Path(words[-1], "megatron", "core")
    core.mkdir(parents=True)
    (core / "names.py").write_text(words[0])
"""
CALLS = (
    "export --release 0.19.2 --output build/trees.new/unmodified\n"
    "apply --release 0.19.2 --output build/trees.new/fork\n"
)
FOLDER = Path("build/trees")
MADE = "build/trees: megatron-core 0.19.2, unmodified and with the series\n"
KEPT = "build/trees: made from this checkout already\n"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with another program in the place of carry; holds build/trees after the first."""
    monkeypatch.chdir(tmp_path)
    for folder in ("megatron/core", "tests/unit_tests", "tools/carry", "build"):
        Path(folder).mkdir(parents=True)
    Path("SERIES.md").write_text("# Series\n")
    Path("megatron/core/names.edits.yml").write_text("edits: []\n")
    Path("tools/carry/__main__.py").write_text(textwrap.dedent(CARRY))
    return tmp_path


@pytest.fixture
def make(checkout, capsys):  # noqa: ARG001 - main works in the checkout
    def make(release="0.19.2"):
        main([release, str(FOLDER)])
        return capsys.readouterr().err

    return make


def calls():
    return Path("calls.txt").read_text()


def test_trees_are_made_once(make):
    assert (make(), make(), calls()) == (MADE, KEPT, CALLS)
    assert sorted(
        str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file()
    ) == [
        "fork/megatron/core/names.py",
        STAMP,
        "unmodified/megatron/core/names.py",
    ]


def test_compiled_files_do_not_count(make):
    make()
    for parent in ("megatron", "build/trees/fork"):
        cache = Path(parent, "__pycache__")
        cache.mkdir()
        (cache / "names.pyc").touch()
    assert make() == KEPT


def edit_series():
    Path("SERIES.md").write_text("# Another series\n")


def edit_the_change():
    Path("megatron/core/names.edits.yml").write_text("edits:\n")


def rename_the_change():
    Path("megatron/core/names.edits.yml").rename("megatron/core/other.edits.yml")


def edit_a_test():
    Path("tests/unit_tests/test_a.py").touch()


def edit_a_tool():
    Path("tools/carry/other.py").touch()


def edit_a_tree():
    (FOLDER / "fork" / "megatron" / "core" / "names.py").write_text("by hand")


def lose_a_tree():
    (FOLDER / "unmodified").rename("elsewhere")


def lose_the_stamp():
    (FOLDER / STAMP).unlink()


@pytest.mark.parametrize(
    "change",
    [
        edit_series,
        edit_the_change,
        rename_the_change,
        edit_a_test,
        edit_a_tool,
        edit_a_tree,
        lose_a_tree,
        lose_the_stamp,
    ],
)
def test_trees_of_another_checkout_are_made_anew(make, change):
    make()
    change()
    assert (make(), make(), calls()) == (MADE, KEPT, 2 * CALLS)


def test_trees_of_another_release_are_made_anew(make):
    make("0.19.0")
    assert make() == MADE


def test_trees_that_cannot_be_made(make):
    make()
    before = {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
    Path("tools/carry/__main__.py").write_text("import no_such_package")
    with pytest.raises(SystemExit) as caught:
        make()
    assert caught.value.code == (
        "error: build/trees: not made from this checkout, and cannot be made here "
        "(ModuleNotFoundError: No module named 'no_such_package'); "
        "run nox -s trees where PyPI can be reached, and copy the folder here"
    )
    assert {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()} == before


def test_a_failure_that_says_nothing(make):
    Path("tools/carry/__main__.py").write_text("raise SystemExit(3)")
    with pytest.raises(SystemExit, match=r"cannot be made here \(exit status 3\); run nox"):
        make()
