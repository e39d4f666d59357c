"""Locks that the operating system frees when the process that holds them dies, however it dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stack.errors import ExitCode, Refusal
from stack.repository import Repository


@contextmanager
def lock(place: Path, busy: str) -> Iterator[int]:
    """Hold a file, which is made if it is not there, or a folder, in which nothing is made.

    Args:
        place: The file or folder.
        busy: What to say where another process holds it.

    Yields:
        The open file: a program that inherits it holds the lock as well, as long as it runs.

    Raises:
        Refusal: Another process holds it.
    """
    kind = os.O_RDONLY if place.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(place, kind, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refusal(f"{place}: {busy}; wait for it to end", ExitCode.BUSY) from error
        yield descriptor
    finally:
        os.close(descriptor)


def state_folder(repository: Repository) -> Path:
    """Where the tools keep what they know of a repository; it may not be there yet.

    Raises:
        Refusal: Something else stands there.
    """
    folder = repository.common_directory / "merge_series"
    if folder.exists() and not folder.is_dir():
        raise Refusal(
            f"{folder}: a file stands where merge_series keeps its state; move it away, then run "
            "again"
        )
    return folder


@contextmanager
def lock_repository(repository: Repository) -> Iterator[int]:
    """Hold a repository for one run that moves its branches.

    The git that moves refs is to inherit what is yielded: a run that finds the lock free then knows
    that no git of a killed run is still at work.

    Raises:
        Refusal: Another run holds it.
    """
    folder = state_folder(repository)
    folder.mkdir(exist_ok=True)
    busy = "another merge_series or carry is at work in this repository"
    with lock(folder / "lock", busy) as descriptor:
        yield descriptor
