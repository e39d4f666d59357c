import io
import re
import subprocess
import sys
import textwrap

import pytest
from rich.console import Console

from proof.cli import prove
from proof.job import Limits
from stack.errors import ExitCode, Refusal

TESTS = """
    import os, time
    import pytest
    from megatron.core import name

    def test_change(): assert name(1) == "2"
    def test_control(): assert name(0) == "0"
"""
RANKS = """
    @pytest.mark.parametrize("ranks", [1, 2, 4])
    def test_ranks(ranks):
        if int(os.environ.get("WORLD_SIZE", 1)) != ranks: pytest.skip(f"needs {ranks} ranks")
        assert name(1) == "2"
"""
NAMES = """
    @pytest.mark.parametrize("word", ["bold", "a" * 70])
    def test_name(word): assert name(1) == "2"
"""
HANGS = """
    def test_loops():
        while "RANK" not in os.environ: time.sleep(60)
        assert name(1) == "2"
    def test_last(): assert name(1) == "2"
"""
LEGEND = (
    "shown: fails on the unmodified tree and passes on the fork; control: passes on both;\n"
    "skipped: on both, not in the tables; wrong: not as it should be, or a fault of the run.\n"
)
BEFORE = "def name(index): return '0'"
AFTER = "def name(index): return str(2 * index)"
WRONG = "def name(index): return '5'"
CONTROL = "tests/unit_tests/test_a.py::test_control"


@pytest.fixture
def call(repository, monkeypatch):
    """Runs the command in the repository; returns its exit code and its output."""

    def call(before, after, *arguments, limits=None):
        monkeypatch.chdir(repository.root)
        unmodified, fork = repository.tree("before", before), repository.tree("after", after)
        output = io.StringIO()
        code = prove(
            [
                "--unmodified",
                str(unmodified),
                "--fork",
                str(fork),
                *(arguments or ["tests/unit_tests"]),
            ],
            Console(file=output, width=100),
            limits or Limits(),
        )
        text = re.sub(r" +\d+ s +\d+ s$", "  TIME  TIME", output.getvalue(), flags=re.MULTILINE)
        return code, "\n".join(line.rstrip() for line in text.splitlines())

    return call


def test_the_change_works(repository, call):
    repository.write("test_a.py", TESTS)
    repository.controls(CONTROL)
    code, output = call(BEFORE, AFTER)
    assert output == (
        "fake backend, one process\n"
        "test                        unmodified  fork\n"
        "tests/unit_tests/test_a.py\n"
        "  test_change               failed      passed\n"
        "  test_control              passed      passed  control\n"
        "\n"
        "                           shown  control  skipped  wrong  unmodified  fork\n"
        "fake backend, one process      1        1        0      0  TIME  TIME\n"
        f"{LEGEND}"
        "The change works."
    )
    assert code is ExitCode.DONE


def test_names_stand_as_they_are_and_go_on_below_themselves(repository, call):
    repository.write("test_a.py", TESTS + NAMES)
    repository.controls(CONTROL)
    _, output = call(BEFORE, AFTER)
    start = f"  test_name[{'a' * 59}"
    assert output.split("\n\n")[0] == (
        "fake backend, one process\n"
        f"{'test':73}unmodified  fork\n"
        "tests/unit_tests/test_a.py\n"
        f"{'  test_change':73}failed      passed\n"
        f"{'  test_control':73}passed      passed  control\n"
        f"{'  test_name[bold]':73}failed      passed\n"
        f"{start:73}failed      passed\n"
        f"  {'a' * 11}]"
    )


def test_tests_that_the_fork_carries(repository, call):
    """They run on both trees, with the ids that they have in the repository."""
    repository.write("test_a.py", "def test_change(): assert False")
    repository.controls(CONTROL)
    carried = repository.root.parent / "after" / "tests" / "unit_tests"
    carried.mkdir(parents=True)
    (carried / "helper.py").write_text("from megatron.core import name\n")
    text = textwrap.dedent(TESTS).replace("megatron.core", "tests.unit_tests.helper")
    (carried / "test_a.py").write_text(text)
    code, output = call(BEFORE, AFTER, str(carried))
    assert output.startswith(
        "fake backend, one process\n"
        "test                        unmodified  fork\n"
        "tests/unit_tests/test_a.py\n"
        "  test_change               failed      passed\n"
        "  test_control              passed      passed  control\n"
        "\n"
    )
    assert code is ExitCode.DONE


def test_two_platforms(repository, call):
    repository.write("test_a.py", TESTS + RANKS)
    repository.controls(CONTROL)
    code, output = call(
        BEFORE, AFTER, "--platform", "gloo-2", "--platform", "fake", "tests/unit_tests"
    )
    assert output == (
        "gloo, 2 ranks\n"
        "test                        unmodified  fork\n"
        "tests/unit_tests/test_a.py\n"
        "  test_change               failed      passed\n"
        "  test_control              passed      passed  control\n"
        "  test_ranks[2]             failed      passed\n"
        "\n"
        "fake backend, one process\n"
        "test                        unmodified  fork\n"
        "tests/unit_tests/test_a.py\n"
        "  test_change               failed      passed\n"
        "  test_control              passed      passed  control\n"
        "  test_ranks[1]             failed      passed\n"
        "\n"
        "                           shown  control  skipped  wrong  unmodified  fork\n"
        "gloo, 2 ranks                  2        1        2      0  TIME  TIME\n"
        "fake backend, one process      2        1        2      0  TIME  TIME\n"
        f"{LEGEND}"
        "Tests that ran on none of these platforms: 1.\n"
        "The change works."
    )
    assert code is ExitCode.DONE


def test_a_hang_fails_and_the_other_platforms_run(repository, call):
    path = repository.write("test_a.py", TESTS + HANGS)
    repository.controls(CONTROL)
    code, output = call(
        BEFORE,
        AFTER,
        "--platform",
        "fake",
        "--platform",
        "gloo-1",
        "tests/unit_tests",
        limits=Limits(test_s=2),
    )
    output = re.sub("Current thread .*", "Current thread", output)
    assert output == (
        "fake backend, one process\n"
        "test                        unmodified  fork\n"
        "tests/unit_tests/test_a.py\n"
        "  test_change               failed      passed\n"
        "  test_control              passed      passed   control\n"
        "  test_loops                hung        hung     wrong\n"
        "  test_last                 not run     not run  wrong\n"
        "\n"
        "tests/unit_tests/test_a.py::test_loops: hung on the unmodified tree\n"
        "  still running after 2 s; it was at\n"
        "  Current thread\n"
        f'    File "{path}", line 10 in test_loops\n'
        "\n"
        "tests/unit_tests/test_a.py::test_loops: must pass on the fork: hung\n"
        "  still running after 2 s; it was at\n"
        "  Current thread\n"
        f'    File "{path}", line 10 in test_loops\n'
        "\n"
        "tests/unit_tests/test_a.py::test_last: must pass on the fork: not run\n"
        "\n"
        "gloo, 1 rank\n"
        "test                        unmodified  fork\n"
        "tests/unit_tests/test_a.py\n"
        "  test_change               failed      passed\n"
        "  test_control              passed      passed  control\n"
        "  test_loops                failed      passed\n"
        "  test_last                 failed      passed\n"
        "\n"
        "                           shown  control  skipped  wrong  unmodified  fork\n"
        "fake backend, one process      1        1        0      2  TIME  TIME\n"
        "gloo, 1 rank                   3        1        0      0  TIME  TIME\n"
        f"{LEGEND}"
        "Not proven."
    )
    assert code is ExitCode.FOUND


@pytest.mark.parametrize("platform", ["gpus", "shared-gpu-2"])
def test_no_gpu(repository, call, monkeypatch, platform):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    repository.controls()
    with pytest.raises(
        Refusal,
        match=f"^--platform {platform}: no GPU is visible to CUDA; "
        "run this on a machine with GPUs$",
    ):
        call(BEFORE, AFTER, "--platform", platform, "tests/unit_tests")


def test_needs_rich_alone():
    """Machines with GPUs often have no package registry."""
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import proof.cli\n"
        "sys.stdout.write(' '.join(name.partition('.')[0] for name in set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert set(loaded.split()) - sys.stdlib_module_names == {"proof", "stack", "rich"}


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
        prove(["--unmodified", ".", "--fork", ".", "tests/unit_tests"], Console(), Limits())


def test_tests_that_do_not_exist(repository, call):
    repository.controls()
    with pytest.raises(Refusal, match=r"^tests/gone\.py: no such test file or folder$"):
        call(BEFORE, AFTER, "tests/gone.py")


def test_tests_of_another_folder(repository, call, tmp_path):
    repository.controls()
    with pytest.raises(Refusal, match=re.escape(f"{tmp_path}: not in {repository.root}; run this")):
        call(BEFORE, AFTER, str(tmp_path))
