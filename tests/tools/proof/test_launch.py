import os
import sys

import pytest

from proof.launch import Limits, environment, run_tests
from proof.results import Outcome

ID = "tests/unit_tests/test_a.py::"


@pytest.fixture
def run(repository):
    def run(text, core="value = 1", limits=None):
        path = repository.write("test_a.py", text)
        tree = repository.tree("tree", core)
        return run_tests(repository.root, tree, [path], limits or Limits())

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
    result = run_tests(repository.root, stray.parent.parent, [path], Limits())
    assert (outcomes(result), result.faults) == ({"test": "passed"}, ())


def test_a_tree_without_megatron_core(repository):
    path = repository.write("test_a.py", "def test_one(): pass")
    tree = repository.root.parent / "tree"
    (tree / "megatron").mkdir(parents=True)
    result = run_tests(repository.root, tree, [path], Limits())
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


def test_a_hang_is_a_failure_with_its_name_and_the_rest_runs(run):
    result = run(
        """
        import time

        def test_hangs():
            try:
                time.sleep(60)
            except Exception:
                pass
        def test_next(): pass
        """,
        limits=Limits(test_s=0.5),
    )
    assert result.faults == ()
    assert outcomes(result) == {"test_hangs": "hung", "test_next": "passed"}
    assert "still running after 0.5 s" in result.tests[f"{ID}test_hangs"].detail


def test_a_hang_that_cannot_be_interrupted_ends_the_run(run):
    result = run(
        """
        import signal, time

        def test_first(): pass
        def test_hangs():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            time.sleep(60)
        def test_next(): pass
        """,
        limits=Limits(test_s=0.5),
    )
    assert outcomes(result) == {
        "test_first": "passed",
        "test_hangs": "hung",
        "test_next": "not run",
    }
    assert "in test_hangs" in result.tests[f"{ID}test_hangs"].detail  # where it hung
    (fault,) = result.faults
    assert fault.startswith("the run did not come to its end: exit status 1\n")


def test_a_run_ends_when_its_time_is_up(run):
    result = run("import time\ndef test_hangs(): time.sleep(60)", limits=Limits(test_s=60, run_s=3))
    assert outcomes(result) == {"test_hangs": "hung"}
    (fault,) = result.faults
    assert fault.startswith("the run did not come to its end: ended after 3 s")


def test_the_tree_stays_as_it_is(repository, run):
    run("import megatron.core\ndef test_one(): pass")
    tree = repository.root.parent / "tree"
    assert [p.name for p in tree.rglob("*")] == ["megatron", "core", "__init__.py"]


def test_environment(monkeypatch, tmp_path):
    for name in ("RANK", "WORLD_SIZE", "PYTEST_ADDOPTS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PYTHONPATH", "tools")
    kept = {
        k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "PYTEST_ADDOPTS")
    }
    assert environment(tmp_path) == kept | {
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def test_the_interpreter_is_this_one(run):
    result = run(f"import sys\ndef test_one(): assert sys.executable == {sys.executable!r}")
    assert outcomes(result) == {"test_one": str(Outcome.PASSED)}
