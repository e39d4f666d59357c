"""Scans the tree in a directory."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from process_groups.errors import ScanError
from process_groups.modules import ROOT
from process_groups.reads import Lines, Read
from process_groups.scan import ScanCache, count, find_tree
from process_groups.workers import warm


def find_directory(root: Path) -> Lines:
    """Return the lines of each read in the tree below a directory.

    Raises:
        ScanError: As ``find_tree`` does.
    """
    paths = {path: path for path in sorted(_python_files(root))}

    def read(path: str) -> bytes:
        try:
            return (root / path).read_bytes()
        except OSError as error:
            raise ScanError(f"{path}: cannot be read: {error.strerror or error}") from error

    cache = ScanCache()
    warm(paths, read, cache)
    return find_tree(paths, read, cache)


def scan_directory(root: Path) -> Counter[Read]:
    """Return how often each read is made below a directory; errors as for ``find_directory``."""
    return count(find_directory(root))


def _python_files(root: Path) -> Iterator[str]:
    top = root / ROOT
    if not top.is_dir():
        raise ScanError(f"{root}: there is no {ROOT} here; name the root of a Megatron-LM tree")
    seen = set()
    # Python imports through a linked folder as well; one that leads back is not entered twice.
    for folder, folders, files in os.walk(top, followlinks=True, onerror=_refuse_folder(root)):
        seen.add(os.path.realpath(folder))
        folders[:] = [name for name in folders if os.path.realpath(Path(folder, name)) not in seen]
        for name in files:
            path = Path(folder, name)
            if name.endswith(".py") and _may_be_module(path):
                yield path.relative_to(root).as_posix()


def _may_be_module(path: Path) -> bool:
    """Tell whether there is a file; a link that leads nowhere, an editor's lock say, is none."""
    try:
        return path.is_file()
    except OSError:
        return True  # to read it will say what is wrong


def _refuse_folder(root: Path) -> Callable[[OSError], NoReturn]:
    """What to do with a folder that cannot be listed: its files would be missed in silence."""

    def refuse(error: OSError) -> NoReturn:
        path = Path(error.filename).relative_to(root).as_posix()
        raise ScanError(f"{path}: cannot be read: {error.strerror or error}") from error

    return refuse
