"""What scans of a repository found, kept in its git directory for the next run.

The file is a cache and nothing else: it is written whole and moved into place, so concurrent runs
and kills leave a whole one; its first line holds the version of what wrote it and the checksum of
the rest, and a file that does not match is not read but made again. It holds a bounded number of
files, those of the latest scans first.
"""

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import process_groups
from process_groups.grid import Grid
from process_groups.modules import Exports
from process_groups.reads import Read
from process_groups.scan import Result, ScanCache

# A path with the blob that a tree has there, if it has one.
_File = tuple[str, str | None]

# About eight trees that share nothing; it takes a few milliseconds to read.
MOST_FILES = 4000

# A temporary file of this age was left by a run that was killed.
_LEFT_BEHIND = 3600.0  # seconds


class KeptReads:
    """The cache file of one repository.

    Args:
        path: Where it is, or will be.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._order: list[_File] = []

    def load(self) -> ScanCache:
        """What was kept; empty if that is nothing, damaged, or of another version."""
        try:
            head, _, body = self._path.read_bytes().partition(b"\n")
            if head != _head(body):
                return ScanCache()
            data = json.loads(body)
            files = [(path, blob) for path, blob in data["files"]]
            known = _decoded(data, files)
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            # Nothing kept, or a file that only looks like one: a cache is never worth an error.
            return ScanCache()
        self._order = files[: data["own"]]
        return known

    def save(self, found: ScanCache, latest: Iterable[tuple[str, str]]) -> None:
        """Keep what was found, as far as there is room.

        Args:
            found: What ``load`` gave, and what scans added.
            latest: Path and blob of every file of the trees scanned in this run.
        """
        order = list(dict.fromkeys([*latest, *self._order]))[:MOST_FILES]
        data = _encoded(found, order)
        body = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()
        # A repository that cannot be written to is scanned all the same.
        with suppress(OSError):
            self._path.parent.mkdir(exist_ok=True)
            self._remove_left_behind()
            handle, name = tempfile.mkstemp(".new", f"{self._path.name}-", self._path.parent)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(_head(body) + b"\n" + body)
                Path(name).replace(self._path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        self._order = order

    def _remove_left_behind(self) -> None:
        for file in self._path.parent.glob(f"{self._path.name}-*.new"):
            with suppress(OSError):
                if file.stat().st_mtime < time.time() - _LEFT_BEHIND:
                    file.unlink()


def _head(body: bytes) -> bytes:
    return f"{_version()} {hashlib.sha256(body).hexdigest()}".encode()


@cache
def _version() -> str:
    """A text that differs where the same files could be read differently."""
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    scanner = Path(process_groups.__file__).parent
    for source in [*sorted(scanner.glob("*.py")), Path(__file__)]:
        digest.update(source.read_bytes())
    return digest.hexdigest()


class _Table[T]:
    """Things by number, each numbered when it is first asked for."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}

    def number(self, thing: T) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    @property
    def things(self) -> list[T]:
        return list(self._numbers)


def _encoded(found: ScanCache, order: list[_File]) -> dict[str, Any]:
    """The entries of ``found`` on files in ``order``, which all others refer to by number."""
    numbers = {file: number for number, file in enumerate(order)}
    by_blob = {blob: number for number, (_, blob) in enumerate(order) if blob is not None}
    files = _Table[_File]()
    for file in order:
        files.number(file)
    words = _Table[frozenset[str]]()
    grids = _Table[Grid]()
    holds: dict[int, tuple[list[int], list[int]]] = {}
    for (blob, looked_for), held in found.holds.items():
        if blob in by_blob:
            sides = holds.setdefault(words.number(looked_for), ([], []))
            sides[held].append(by_blob[blob])
    results = [
        [
            numbers[path, blob],
            grids.number(grid),
            words.number(looked_for),
            [[read.scope, read.function, read.kind, lines] for read, lines in result.reads.items()],
            [files.number(file) for file in result.depends],
        ]
        for (path, blob, grid, looked_for), result in found.results.items()
        if (path, blob) in numbers
    ]
    aliases = [
        [numbers[path, blob], words.number(looked_for), sorted(names)]
        for (path, blob, looked_for), names in found.aliases.items()
        if (path, blob) in numbers
    ]
    return {
        "files": files.things,
        "own": len(order),
        "words": [sorted(item) for item in words.things],
        "grids": [[sorted(names) for names in grid] for grid in grids.things],
        "grid_of": [
            [by_blob[blob], grids.number(grid)]
            for blob, grid in found.grids.items()
            if blob in by_blob and grid in grids.things
        ],
        "sound": [by_blob[blob] for blob in found.sound if blob in by_blob],
        "holds": list(holds.items()),
        "aliases": aliases,
        "exports": [
            [numbers[file], exports] for file, exports in found.exports.items() if file in numbers
        ],
        "results": results,
    }


def _decoded(data: dict[str, Any], files: list[_File]) -> ScanCache:
    """What ``_encoded`` was given, as far as it kept it."""
    known = ScanCache()
    words = [frozenset(names) for names in data["words"]]
    known.one_of = {names: names for names in words}
    grids = [Grid(*map(frozenset, names)) for names in data["grids"]]
    blobs = [blob or "" for _, blob in files]
    known.grids = {blobs[number]: grids[grid] for number, grid in data["grid_of"]}
    known.sound = {blobs[number] for number in data["sound"]}
    for looked_for, sides in data["holds"]:
        for held, numbers in enumerate(sides):
            key = words[looked_for]
            known.holds |= {(blobs[number], key): bool(held) for number in numbers}
    known.aliases = {
        (files[number][0], blobs[number], words[looked_for]): frozenset(names)
        for number, looked_for, names in data["aliases"]
    }
    for number, (names, values, stars) in data["exports"]:
        known.exports[files[number][0], blobs[number]] = Exports(
            {name: tuple(targets) for name, targets in names.items()},
            {name: tuple(targets) for name, targets in values.items()},
            tuple(stars),
        )
    for number, grid, looked_for, reads, depends in data["results"]:
        path = files[number][0]
        known.results[path, blobs[number], grids[grid], words[looked_for]] = Result(
            {Read(path, *names): tuple(lines) for *names, lines in reads},
            tuple(files[file] for file in depends),
        )
    return known
