"""Work on a stack: what is independent at the same time, the results in the stack's order."""

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from stack.model import PullRequest


def in_order[R](
    pull_requests: Sequence[PullRequest],
    below: Mapping[int, Sequence[PullRequest]],
    work: Callable[[PullRequest], Sequence[R]],
    threads: int,
) -> Generator[tuple[PullRequest, Sequence[R]]]:
    """Work on each PR after those below it, and give the results in the order of the PRs.

    Who closes the iterator, or lets an exception pass, has no further work begun.

    Args:
        pull_requests: The PRs, dependencies first.
        below: By number, those of the PRs that have to be done before it.
        work: What is done with a PR.
        threads: How many PRs are worked on at once; if 1, in the thread that takes the results,
            each when it is asked for.

    Raises:
        Exception: What ``work`` raised for the first PR for which it raised anything.
    """
    if threads == 1:
        for pull_request in pull_requests:
            yield pull_request, work(pull_request)
        return
    done: dict[int, Future[Sequence[R]]] = {}

    def begin(pull_request: PullRequest) -> Sequence[R]:
        # These began earlier, so that one of them is always at work.
        for source in below[pull_request.number]:
            done[source.number].result()
        return work(pull_request)

    pool = ThreadPoolExecutor(threads)
    try:
        for pull_request in pull_requests:
            done[pull_request.number] = pool.submit(begin, pull_request)
        for pull_request in pull_requests:
            yield pull_request, done[pull_request.number].result()
    finally:
        pool.shutdown(cancel_futures=True)
