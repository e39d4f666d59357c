"""Which megatron.core a Python imports from a folder, and whether the series is in it."""

import os
import sys

import pytest

from programs import run

INFO = "MAJOR = 1\nMINOR = 2\nPATCH = 3\nPRE_RELEASE = ''\n"


@pytest.fixture
def at(project, monkeypatch):
    """What ``carry where`` says in a folder, of a Python that has a package of megatron-core."""
    packages = project.root / "packages"
    project.write({**project.base, "megatron_core-1.2.3+series.7.dist-info/METADATA": ""}, packages)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], str(packages)]))
    project.write({"megatron/core/package_info.py": INFO}, project.tree)
    (project.root / "empty").mkdir()

    def said(folder="empty", *options):
        series = ("--series", str(project.root / "SERIES.md"))
        done = run("carry", *series, "where", *options, folder=project.root / folder)
        assert done.out == ""
        return done.code, done.err

    return said


def install_with_series(project):
    """Leave what a wheel with the series does."""
    project.write(project.carried["top"], project.root / "packages")


def core(project, folder):
    return project.root / folder / "megatron/core"


def test_a_package(project, at):
    packages = core(project, "packages")
    without = f"{packages}: megatron-core 1.2.3+series.7 without the series\n"
    assert at() == (4, without)
    install_with_series(project)
    assert at() == (0, without.replace("without", "with"))


def test_a_clone_here_shadows_a_package(project, at):
    install_with_series(project)
    line = (
        f"{core(project, 'tree')}: megatron-core 1.2.3 without the series; it stands in the "
        "current folder and shadows megatron-core 1.2.3+series.7 with the series in "
        f"{project.root / 'packages'}; run elsewhere, or with PYTHONSAFEPATH=1, to import that\n"
    )
    assert at("tree") == (4, line)
    assert project.run("apply", "tree").code == 0
    assert at("tree") == (0, line.replace("without", "with"))
    project.write(project.base, project.root / "packages")
    (core(project, "packages") / "sizes.py").unlink()
    swapped = line.replace("without", "with").replace("7 with the", "7 without the")
    assert at("tree") == (0, swapped)


def test_a_python_that_does_not_look_here(project, at, monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    assert at("tree") == (
        4,
        f"{core(project, 'packages')}: megatron-core 1.2.3+series.7 without the series\n",
    )


def test_a_folder_without_the_package_itself_shadows_nothing(project, at):
    """As the one that holds the series: its ``megatron`` holds edits."""
    assert (project.root / "megatron/core").is_dir()
    code, said = at(".")
    assert code == 4
    assert said.startswith(f"{core(project, 'packages')}: megatron-core 1.2.3+series.7 without")


def test_a_part_of_the_series(project, at):
    assert project.run("apply", "tree").code == 0
    names = core(project, "tree") / "names.py"
    names.write_text(project.base["megatron/core/names.py"])
    code, said = at("tree")
    assert code == 4
    assert said.startswith(
        f"{core(project, 'tree')}: megatron-core 1.2.3 with a part or another form of the series "
        "(4 of 8 edits); it stands"
    )


def test_a_release_that_never_had_a_file_does_not_miss_it(project, at):
    install_with_series(project)
    (project.root / "packages/megatron/training/loop.py").unlink()
    (project.root / "packages/megatron/training").rmdir()
    assert at()[0] == 0


def test_nothing_to_import(at, monkeypatch):
    monkeypatch.delenv("PYTHONPATH")
    python = sys.executable
    assert at() == (4, f"{python}: imports no megatron.core from here\n")


@pytest.mark.parametrize(
    ("python", "why"),
    [
        (
            "nowhere/python",
            "cannot be run: No such file or directory; name a Python interpreter by",
        ),
        (".", "cannot be run: Permission denied; name a Python interpreter by its path"),
        ("/bin/false", "cannot say what it imports (no message)"),
        ("/bin/echo", "cannot say what it imports (no message)"),
    ],
)
def test_what_is_no_python(at, python, why):
    code, said = at("empty", "--python", python)
    assert (code, said.startswith(f"error: {python}: {why}")) == (1, True), said
    assert said.count("\n") == 1
