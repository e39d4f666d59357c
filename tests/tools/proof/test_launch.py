import os
import sys

import pytest

from proof.job import Limits
from proof.launch import environment, run_tests
from proof.platforms import parse_platform
from proof.results import Outcome, Result, RunResult

ID = "tests/unit_tests/test_a.py::"
FAKE = parse_platform("fake")


@pytest.fixture
def run(repository):
    def run(text, core="value = 1", limits=None):
        path = repository.write("test_a.py", text)
        tree = repository.tree("tree", core)
        return run_tests(repository.root, tree, [path], FAKE, limits or Limits())

    return run


def outcomes(result):
    return {test.removeprefix(ID): str(r.outcome) for test, r in result.tests.items()}


def test_every_outcome(run):
    result = run(
        """
        import pytest
        from megatron.core import value

        @pytest.fixture
        def broken():
            raise ValueError("set-up")

        @pytest.fixture
        def unclean():
            yield
            raise ValueError("tear-down")

        def test_passes(): assert value == 1
        def test_fails(): assert value == 2
        def test_raises(): raise TypeError("unexpected keyword")
        def test_errors(broken): pass
        def test_leaves(unclean): pass
        def test_fails_and_leaves(unclean): raise TypeError("first")
        def test_skips(): pytest.skip("needs 4 ranks")
        """
    )
    assert result.faults == ()
    assert outcomes(result) == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_raises": "failed",
        "test_errors": "error",
        "test_leaves": "error",
        "test_fails_and_leaves": "failed",
        "test_skips": "skipped",
    }
    assert "assert 1 == 2" in result.tests[f"{ID}test_fails"].detail
    assert "TypeError: first" in result.tests[f"{ID}test_fails_and_leaves"].detail
    assert result.tests[f"{ID}test_skips"].detail == "Skipped: needs 4 ranks"


def test_a_file_that_cannot_be_imported_is_a_fault(run):
    result = run("from megatron.core import other\ndef test_one(): pass")
    assert result.tests == {}
    (fault,) = result.faults
    assert fault.startswith("tests/unit_tests/test_a.py: not collected\n")
    assert "cannot import name 'other'" in fault


def test_a_warning_is_an_error(run):
    result = run(
        """
        import warnings

        def test_other(): warnings.warn("something")
        def test_listed(): warnings.warn("Apex is not installed. Too bad.")
        """
    )
    assert outcomes(result) == {"test_other": "failed", "test_listed": "passed"}


def test_helpers_are_the_repositorys(repository):
    repository.write("helper.py", "def answer(): return 'repository'")
    stray = repository.tree("tree", "value = 1") / "tests" / "unit_tests"
    stray.mkdir(parents=True)
    for package in (stray.parent, stray):
        (package / "__init__.py").touch()
    (stray / "helper.py").write_text("def answer(): return 'tree'")
    path = repository.write(
        "test_a.py",
        "from tests.unit_tests.helper import answer\ndef test(): assert answer() == 'repository'",
    )
    result = run_tests(repository.root, stray.parent.parent, [path], FAKE, Limits())
    assert (outcomes(result), result.faults) == ({"test": "passed"}, ())


def test_a_tree_without_megatron_core(repository):
    path = repository.write("test_a.py", "def test_one(): pass")
    tree = repository.root.parent / "tree"
    (tree / "megatron").mkdir(parents=True)
    result = run_tests(repository.root, tree, [path], FAKE, Limits())
    assert result.tests == {}
    assert result.faults == (f"{tree}: no megatron.core there",)


def test_a_module_from_elsewhere_is_a_fault(repository, run):
    other = repository.root.parent / "elsewhere" / "megatron" / "extra.py"
    other.parent.mkdir(parents=True)
    other.touch()
    result = run(
        f"""
        import sys
        sys.path.append({str(other.parent.parent)!r})
        import megatron.extra

        def test_one(): pass
        """
    )
    tree = repository.root.parent / "tree"
    assert result.faults == (f"not from {tree}: megatron.extra ({other})",)


def test_pytest_that_finds_no_test_is_a_fault(run):
    result = run("value = 1")
    assert (result.tests, result.faults) == ({}, ("pytest ended with exit status 5",))


def test_a_hang_ends_its_file_and_the_next_one_runs(repository):
    first = repository.write(
        "test_a.py",
        """
        import time

        def test_first(): pass
        def test_hangs(): time.sleep(60)
        def test_next(): pass
        """,
    )
    second = repository.write("test_b.py", "def test_other(): pass")
    tree = repository.tree("tree", "value = 1")
    result = run_tests(repository.root, tree, [first, second], FAKE, Limits(test_s=1))
    assert result.faults == ()
    assert outcomes(result) == {
        "test_first": "passed",
        "test_hangs": "hung",
        "test_next": "not run",
        "tests/unit_tests/test_b.py::test_other": "passed",
    }
    head, thread, place, *_ = result.tests[f"{ID}test_hangs"].detail.splitlines()
    assert head == "still running after 1 s; it was at"
    assert thread.startswith("Current thread ")
    assert place == f'  File "{first}", line 5 in test_hangs'


def test_a_hang_that_heeds_nothing_is_ended(run, monkeypatch):
    monkeypatch.setattr("proof.job._GRACE_S", 0.5)
    result = run(
        """
        import signal, time

        def test_hangs():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            time.sleep(60)
        """,
        limits=Limits(test_s=1),
    )
    assert result.tests == {
        f"{ID}test_hangs": Result(Outcome.HUNG, "still running after 1 s; it left no stack")
    }


def test_a_process_that_does_not_end(run):
    result = run(
        """
        import atexit, time

        def test_passes(): atexit.register(time.sleep, 60)
        """,
        limits=Limits(exit_s=1),
    )
    assert result.tests == {f"{ID}test_passes": Result(Outcome.PASSED)}
    (fault,) = result.faults
    assert fault.startswith(
        "the run did not come to its end: still there 1 s after the last test\n"
    )


def test_a_process_that_dies(run):
    result = run(
        """
        import os

        def test_first(): pass
        def test_dies(): os._exit(3)
        def test_next(): pass
        """
    )
    assert result == RunResult(
        {
            f"{ID}test_first": Result(Outcome.PASSED),
            f"{ID}test_dies": Result(
                Outcome.DIED, "the process ended with exit status 3; it left no stack"
            ),
            f"{ID}test_next": Result(Outcome.NOT_RUN),
        },
        faults=(),
    )


def test_a_process_that_crashes_leaves_its_stack(run):
    result = run("import ctypes\ndef test_crashes(): ctypes.string_at(0)")
    (answer,) = result.tests.values()
    assert answer.outcome is Outcome.DIED
    assert answer.detail.startswith("the process ended with exit status -11; it was at\nFatal Pyt")
    assert "line 2 in test_crashes" in answer.detail


def test_a_run_ends_when_its_time_is_up(repository):
    first = repository.write("test_a.py", "import time\ndef test_hangs(): time.sleep(60)")
    second = repository.write("test_b.py", "def test_other(): pass")
    tree = repository.tree("tree", "value = 1")
    result = run_tests(repository.root, tree, [first, second], FAKE, Limits(test_s=60, run_s=3))
    assert outcomes(result) == {
        "test_hangs": "hung",
        "tests/unit_tests/test_b.py::test_other": "not run",
    }
    detail = result.tests[f"{ID}test_hangs"].detail
    assert detail.startswith("the run was ended after 3 s; it was at\n")


def test_the_tree_stays_as_it_is(repository, run):
    run("import megatron.core\ndef test_one(): pass")
    tree = repository.root.parent / "tree"
    assert [p.name for p in tree.rglob("*")] == ["megatron", "core", "__init__.py"]


@pytest.mark.parametrize(
    ("platform", "changed"),
    [
        ("fake", {"CUDA_VISIBLE_DEVICES": ""}),
        ("gloo-2", {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}),
        ("gpus", {"OMP_NUM_THREADS": "1"}),
        ("shared-gpu-4", {"CUDA_VISIBLE_DEVICES": "5", "OMP_NUM_THREADS": "1"}),
    ],
)
def test_environment(monkeypatch, tmp_path, platform, changed):
    monkeypatch.setattr("proof.platforms.count_gpus", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,3")
    dropped = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "PYTEST_ADDOPTS")
    for name in dropped:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PYTHONPATH", "tools")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    assert environment(tmp_path, parse_platform(platform)) == kept | changed | {
        "PYTHONPATH": str(tmp_path),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def test_ranks_share_the_first_gpu_where_nobody_chose_one(monkeypatch, tmp_path):
    monkeypatch.setattr("proof.platforms.count_gpus", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found = environment(tmp_path, parse_platform("shared-gpu-2"))
    assert found["CUDA_VISIBLE_DEVICES"] == "0"


def test_the_interpreter_is_this_one(run):
    result = run(f"import sys\ndef test_one(): assert sys.executable == {sys.executable!r}")
    assert outcomes(result) == {"test_one": str(Outcome.PASSED)}
