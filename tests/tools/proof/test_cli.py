import io
import re

import pytest
from rich.console import Console

from proof.cli import prove
from stack.errors import ExitCode, Refusal

TESTS = """
    from megatron.core import name

    def test_change(): assert name(1) == "2"
    def test_control(): assert name(0) == "0"
"""
BEFORE = "def name(index): return '0'"
AFTER = "def name(index): return str(2 * index)"
WRONG = "def name(index): return '5'"
CONTROL = "tests/unit_tests/test_a.py::test_control"


@pytest.fixture
def call(repository, monkeypatch):
    """Runs the command in the repository; returns its exit code and its output."""

    def call(before, after, *tests):
        monkeypatch.chdir(repository.root)
        unmodified, fork = repository.tree("before", before), repository.tree("after", after)
        output = io.StringIO()
        code = prove(
            [
                "--unmodified",
                str(unmodified),
                "--fork",
                str(fork),
                *(tests or ["tests/unit_tests"]),
            ],
            Console(file=output, width=100),
        )
        return code, "\n".join(line.rstrip() for line in output.getvalue().splitlines())

    return call


def test_the_change_works(repository, call):
    repository.write("test_a.py", TESTS)
    repository.controls(CONTROL)
    code, output = call(BEFORE, AFTER)
    assert output == (
        "test                        unmodified  fork\n"
        "tests/unit_tests/test_a.py\n"
        "  test_change               failed      passed\n"
        "  test_control              passed      passed  control\n"
        "\n"
        "The change works. Tests that fail on the unmodified tree and pass on the fork: 1; "
        "controls: 1;\n"
        "skipped: 0; not as it should be: 0."
    )
    assert code is ExitCode.DONE


def test_a_test_that_does_not_need_the_change(repository, call):
    repository.write("test_a.py", TESTS)
    repository.controls()
    code, output = call(BEFORE, AFTER)
    assert "test_control: must fail on the unmodified tree: passed" in output
    assert "Not proven" in output
    assert code is ExitCode.FOUND


def test_a_fork_that_is_wrong(repository, call):
    repository.write("test_a.py", TESTS)
    repository.controls(CONTROL)
    code, output = call(BEFORE, WRONG)
    assert "test_change: must pass on the fork: failed" in output
    assert "AssertionError: assert '5' == '2'" in output
    assert "test_control: must pass on the fork: failed" in output
    assert code is ExitCode.FOUND


def test_a_file_that_cannot_be_imported_on_the_unmodified_tree(repository, call):
    repository.write("test_a.py", TESTS)
    repository.controls(CONTROL)
    code, output = call("", AFTER)
    assert "unmodified: tests/unit_tests/test_a.py: not collected" in output
    assert code is ExitCode.FOUND


def test_an_entry_that_matches_nothing(repository, call):
    repository.write("test_a.py", TESTS)
    repository.controls(CONTROL, "tests/unit_tests/test_a.py::test_gone")
    with pytest.raises(Refusal, match=r"^tests/controls\.txt:2: no test matches"):
        call(BEFORE, AFTER)


def test_a_folder_that_is_no_tree(repository, monkeypatch):
    repository.write("test_a.py", TESTS)
    monkeypatch.chdir(repository.root)
    with pytest.raises(Refusal, match=r"^\.: not a Megatron tree"):
        prove(["--unmodified", ".", "--fork", ".", "tests/unit_tests"], Console())


def test_tests_that_do_not_exist(repository, call):
    repository.controls()
    with pytest.raises(Refusal, match=r"^tests/gone\.py: no such test file or folder$"):
        call(BEFORE, AFTER, "tests/gone.py")


def test_tests_of_another_folder(repository, call, tmp_path):
    repository.controls()
    with pytest.raises(Refusal, match=re.escape(f"{tmp_path}: not in {repository.root}; run this")):
        call(BEFORE, AFTER, str(tmp_path))
