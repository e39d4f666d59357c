"""A scan by several processes at once, for a tree of which little is known yet.

The files are dealt out to workers. Which names a read could use is found together, round by round,
since a module may give such a name to others under another one; then each worker reads its files.
What they found goes into the cache, from which the scan itself is then quick.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection

from process_groups.errors import ScanError
from process_groups.scan import Scan, ScanCache, undisturbed

# With fewer files to look at, starting workers costs more than it saves.
_WORTHWHILE = 100


def warm(
    blobs: Mapping[str, str],
    read_blob: Callable[[str], bytes],
    cache: ScanCache,
    processes: int | None = None,
) -> None:
    """Add to ``cache`` what a scan of the tree will ask for, found by several processes.

    Nothing is added where it would not pay, and a file that cannot be scanned is left to the scan,
    which names it.

    Args:
        blobs: As for ``find_tree``.
        read_blob: As for ``find_tree``.
        cache: What is known already.
        processes: How many workers; by default one a core that this process may use.
    """
    if processes is None:
        processes = len(os.sched_getaffinity(0)) if _may_fork() else 1
    known = cache.sound | {blob for _, blob, *_ in cache.results}
    if processes < 2 or len(set(blobs.values()) - known) < _WORTHWHILE:  # noqa: PLR2004 - one is no help
        return
    contents = {blob: read_blob(blob) for blob in set(blobs.values())}
    # The largest first, then dealt out in turn: so the shares are about equal.
    paths = sorted(blobs, key=lambda path: len(contents[blobs[path]]), reverse=True)
    try:
        scan = Scan(blobs, contents.__getitem__, ScanCache())
    except ScanError:
        return
    shares = [paths[start::processes] for start in range(processes)]
    with undisturbed():
        for found in _results(scan, shares):
            cache.add(found)


def _may_fork() -> bool:
    """Tell whether a copy of this process may go on by itself: no lock can be held then."""
    return sys.platform == "linux" and threading.active_count() == 1


def _results(scan: Scan, shares: list[list[str]]) -> list[ScanCache]:
    context = multiprocessing.get_context("fork")
    pipes: list[Connection] = []
    workers = []
    for share in shares:
        ours, theirs = context.Pipe()
        pipes.append(ours)
        # A fork has the scan already, so nothing is copied to it.
        worker = context.Process(target=_work, args=(scan, share, theirs, [*pipes]), daemon=True)
        worker.start()
        theirs.close()
        workers.append(worker)
    found = []
    # A worker that met a file it cannot scan has closed its end.
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        words = scan.first_words()
        while True:
            for pipe in pipes:
                pipe.send((words, False))
            more = words.union(*(pipe.recv() for pipe in pipes))
            if more == words:
                break
            words = more
        for pipe in pipes:
            pipe.send((words, True))
        found = [pipe.recv() for pipe in pipes]
    for pipe, worker in zip(pipes, workers, strict=True):
        pipe.close()
        worker.join()
    return found


def _work(scan: Scan, share: list[str], pipe: Connection, parents: list[Connection]) -> None:
    # The parent ends its workers; a signal to all of them is for it to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # A fork has copies of the parent's ends, and would wait for itself if it kept them.
    for end in parents:
        end.close()
    with suppress(ScanError, EOFError, BrokenPipeError):
        while True:
            words, last = pipe.recv()
            if last:
                scan.reads_in(share, words)
                pipe.send(scan.cache)
                return
            pipe.send(scan.more_words(share, words))
