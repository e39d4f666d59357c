"""Work on a stack: nothing before what it is on, and the results as if done one by one."""

import threading
import time
from contextlib import closing

import pytest

from merge_series.in_order import in_order
from stack.model import PullRequest

# 2 and 3 are on 1, 4 on both, 5 on nothing.
ON = {1: (), 2: (1,), 3: (1,), 4: (2, 3), 5: ()}
STACK = {
    number: PullRequest(number, f"b{number}", on, "Title", "open", "it", {}, (), 1)
    for number, on in ON.items()
}
BELOW = {number: tuple(STACK[below] for below in on) for number, on in ON.items()}


def results(work, threads):
    return in_order(tuple(STACK.values()), BELOW, work, threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_nothing_begins_before_what_it_is_on(threads):
    begun, done = [], set()

    def work(pull_request):
        assert done.issuperset(pull_request.depends_on)
        begun.append(pull_request.number)
        time.sleep(0.1)  # long enough for others to begin that should not
        done.add(pull_request.number)
        return [pull_request.number * 10]

    found = [(pr.number, list(result)) for pr, result in results(work, threads)]
    assert found == [(1, [10]), (2, [20]), (3, [30]), (4, [40]), (5, [50])]
    assert sorted(begun) == [1, 2, 3, 4, 5]


def test_independent_ones_are_under_way_at_once():
    both = threading.Barrier(2, timeout=20)

    def work(pull_request):
        if pull_request.number in {2, 3}:
            both.wait()  # it breaks where one of them waits for the other
        return []

    assert len(list(results(work, 2))) == 5


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_first_failure_in_the_order_is_the_one_that_is_told(threads):
    later = threading.Event()

    def work(pull_request):
        if pull_request.number == 2:
            if threads == 5:
                later.wait(20)
            raise LookupError("2")
        if pull_request.number == 5:
            later.set()
            raise LookupError("5")
        return [pull_request.number]

    found = []
    with pytest.raises(LookupError, match="2"):
        found += results(work, threads)
    taken = []
    with pytest.raises(LookupError, match="2"):
        taken.extend(number for _, (number,) in results(work, threads))
    assert taken == [1]


@pytest.mark.parametrize("threads", [1, 2])
def test_who_closes_it_has_no_more_begun(threads):
    begun = []
    go_on = threading.Event()

    def work(pull_request):
        begun.append(pull_request.number)
        if pull_request.number > 1:
            go_on.wait(20)
        return []

    with closing(results(work, threads)) as found:
        next(found)
        while threads > 1 and set(begun) != {1, 2, 3}:
            time.sleep(0.01)
        # It is closed by now, and waits for the two that are under way.
        threading.Timer(1, go_on.set).start()
    assert set(begun) == ({1} if threads == 1 else {1, 2, 3})
