"""Jobs of two ranks, started by torchrun."""

import concurrent.futures
import socket

from proof.job import Limits
from proof.launch import run_tests
from proof.platforms import parse_platform
from proof.results import Outcome, Result

TWO = parse_platform("gloo-2")
FOLDER = "tests/unit_tests"


def test_what_ranks_answer_and_how_they_break_off(repository):
    # A rank may be seconds behind the other.
    repository.write(
        "ranks.py",
        """
        import os, time
        from pathlib import Path

        RANK, SIZE = int(os.environ["RANK"]), os.environ["WORLD_SIZE"]

        def meet(place):
            for rank in (RANK, 1 - RANK):
                path = Path(place).with_suffix(f".{rank}")
                if rank == RANK: path.touch()
                while not path.exists(): time.sleep(0.01)
        """,
    )
    first = repository.write(
        "test_a.py",
        """
        import time
        import pytest
        from tests.unit_tests.ranks import RANK, SIZE, meet

        def test_ranks(): assert (RANK in (0, 1), SIZE, meet(__file__)) == (True, "2", None)
        def test_all_fail(): raise ValueError("all")
        def test_one_fails():
            if RANK == 1: raise ValueError("one")
        def test_all_skip(): pytest.skip("needs 4 ranks")
        def test_one_skips():
            if RANK == 1: pytest.skip("no")
        def test_hangs():
            if RANK == 0: wait()
            raise ValueError("alone")
        def test_next():
            wait()
        def test_last(): pass
        def wait(): time.sleep(60)
        """,
    )
    second = repository.write(
        "test_b.py",
        """
        import os, time
        from tests.unit_tests.ranks import RANK, meet

        def test_dies():
            meet(__file__)
            if RANK == 1: os._exit(3)
            time.sleep(60)
        def test_last(): pass
        """,
    )
    third = repository.write("test_c.py", "def test_passes(): pass")
    tree = repository.tree("tree", "value = 1")
    result = run_tests(repository.root, tree, [first, second, third], TWO, Limits(test_s=4))
    assert result.faults == ()
    answers = {test.removeprefix(f"{FOLDER}/"): answer for test, answer in result.tests.items()}
    assert {test: str(answer.outcome) for test, answer in answers.items()} == {
        "test_a.py::test_ranks": "passed",
        "test_a.py::test_all_fail": "failed",
        "test_a.py::test_one_fails": "failed",
        "test_a.py::test_all_skip": "skipped",
        "test_a.py::test_one_skips": "failed",
        "test_a.py::test_hangs": "hung",
        "test_a.py::test_next": "hung",
        "test_a.py::test_last": "not run",
        "test_b.py::test_dies": "died",
        "test_b.py::test_last": "not run",
        "test_c.py::test_passes": "passed",
    }
    assert answers["test_a.py::test_one_fails"].detail.startswith("rank 0: passed\nrank 1: failed")
    hung = answers["test_a.py::test_hangs"].detail
    assert hung.startswith("rank 0: hung\nstill running after 4 s; it was at\nCurrent thread ")
    assert f'  File "{first}", line 19 in wait\n  File "{first}", line 14 in test_hangs\n' in hung
    assert "rank 1: failed\n" in hung
    assert 'ValueError("alone")' in hung
    waiting = answers["test_a.py::test_next"].detail
    assert waiting.startswith("rank 0: not run\nrank 1: hung\nstill running after 4 s; it was at\n")
    assert f'File "{first}", line 19 in wait\n  File "{first}", line 17 in test_next' in waiting
    died = answers["test_b.py::test_dies"].detail
    assert died.startswith("rank 0: died\nrank 1 ended with exit status 3; it was at\n")
    assert f'File "{second}", line 8 in test_dies\n' in died
    assert died.endswith("rank 1: died\nrank 1 ended with exit status 3; it left no stack")


def test_two_jobs_at_once_where_the_usual_port_is_taken(repository):
    path = repository.write(
        "test_a.py",
        """
        import torch.distributed as dist

        def test_gather():
            dist.init_process_group("gloo")
            ranks = [None, None]
            dist.all_gather_object(ranks, dist.get_rank())
            dist.destroy_process_group()
            assert ranks == [0, 1]
        """,
    )
    tree = repository.tree("tree", "value = 1")
    with (
        socket.create_server(("localhost", 29500)),
        concurrent.futures.ThreadPoolExecutor() as pool,
    ):
        jobs = [
            pool.submit(run_tests, repository.root, tree, [path], TWO, Limits()) for _ in range(2)
        ]
    for job in jobs:
        assert job.result().faults == ()
        assert job.result().tests == {f"{FOLDER}/test_a.py::test_gather": Result(Outcome.PASSED)}
