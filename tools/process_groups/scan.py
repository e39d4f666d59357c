"""Scans a tree: every read of the global process groups in its ``megatron/core``.

A file is parsed only if it holds a name that a read could use; of the others only the syntax is
checked. What is found is kept by blob, so the next tree costs only the files that differ, and
those whose names lead to a file that gives others something different.
"""

import gc
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from process_groups import source
from process_groups.bindings import statements_of
from process_groups.errors import ScanError
from process_groups.grid import MODULE, Grid, derive
from process_groups.grid import PATH as GRID_PATH
from process_groups.meaning import (
    FALLBACK_PATH,
    RESOLVE,
    RESOLVE_TARGET,
    SHIM,
    SHIM_TARGET,
    Meanings,
)
from process_groups.modules import (
    Exports,
    Resolver,
    exports_of,
    module_name,
    package_name,
)
from process_groups.reader import Reader
from process_groups.reads import Lines, Read
from process_groups.scope import Scope
from process_groups.source import Source, Words

__all__ = [
    "Scan",
    "ScanCache",
    "ScanError",
    "count",
    "find_tree",
    "scan_tree",
]

# They define what the others read.
_OUTSIDE = frozenset({GRID_PATH, FALLBACK_PATH, "megatron/core/process_groups_config.py"})

_MODULE_WORD = MODULE.rpartition(".")[2]


class Result(NamedTuple):
    """The reads of one file.

    Attributes:
        reads: The lines of each.
        depends: The paths on whose exports the reads depend, each with the blob it had; None for a
            path that the tree did not have.
    """

    reads: Lines
    depends: tuple[tuple[str, str | None], ...]


@dataclass
class ScanCache:
    """What earlier scans found, by path and blob.

    The reads of a file depend also on the grid, on the names looked for, and on the modules that
    its names lead to; those are kept beside them.

    Attributes:
        grids: The grid of each ``parallel_state.py``, by its blob.
        sound: Blobs whose syntax was checked.
        holds: Whether a blob holds one of some words.
        exports: What the module in a path and blob gives to others.
        aliases: Which second names a file gives to others for some words.
        results: The reads of a file.
        one_of: For each set of words the one object that stands for it: equal sets that are
            different objects are slow to compare, and every look-up would.
    """

    grids: dict[str, Grid] = field(default_factory=dict)
    sound: set[str] = field(default_factory=set)
    holds: dict[tuple[str, Words], bool] = field(default_factory=dict)
    exports: dict[tuple[str, str], Exports] = field(default_factory=dict)
    aliases: dict[tuple[str, str, Words], Words] = field(default_factory=dict)
    results: dict[tuple[str, str, Grid, Words], Result] = field(default_factory=dict)
    one_of: dict[Words, Words] = field(default_factory=dict)

    def add(self, other: "ScanCache") -> None:
        """Take over what another cache holds."""
        self.grids |= other.grids
        self.sound |= other.sound
        self.holds |= other.holds
        self.exports |= other.exports
        self.aliases |= other.aliases
        self.results |= other.results


def find_tree(
    blobs: Mapping[str, str],
    read_blob: Callable[[str], bytes],
    cache: ScanCache | None = None,
) -> Lines:
    """Return the lines of each read in a tree.

    Args:
        blobs: The blob id (anything that names a content) of every ``*.py`` file below
            ``megatron/core``, by POSIX path from the root of the tree.
        read_blob: Gives a blob's content.
        cache: What earlier scans found; it is added to.

    Raises:
        ScanError: A file is not in its encoding, does not parse or cannot be read, or the tree has
            no usable ``parallel_state.py``.
    """
    with undisturbed():
        return Scan(blobs, read_blob, ScanCache() if cache is None else cache).run()


def scan_tree(
    blobs: Mapping[str, str],
    read_blob: Callable[[str], bytes],
    cache: ScanCache | None = None,
) -> Counter[Read]:
    """Return how often each read is made in a tree; arguments and errors as for ``find_tree``."""
    return count(find_tree(blobs, read_blob, cache))


def count(lines: Lines) -> Counter[Read]:
    """Return how often each read is made."""
    return Counter({read: len(numbers) for read, numbers in lines.items()})


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold back what only costs during a scan: warnings about scanned files, garbage collection.

    Syntax trees are large and hold no cycles, so walking them for garbage doubles the time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if collects:
            gc.enable()


class Scan:
    """One scan of one tree.

    Args:
        blobs: As for ``find_tree``.
        read_blob: As for ``find_tree``.
        cache: What is known already; it is added to.

    Raises:
        ScanError: The tree has no usable ``parallel_state.py``.
    """

    def __init__(
        self, blobs: Mapping[str, str], read_blob: Callable[[str], bytes], cache: ScanCache
    ) -> None:
        self._blobs = blobs
        self._read_blob = read_blob
        self.cache = cache
        # Dropped with the scan: those of a whole tree are large.
        self._sources: dict[str, Source] = {}
        self._words: dict[str, set[bytes]] = {}
        if GRID_PATH not in blobs:
            raise ScanError(
                f"{GRID_PATH}: the tree has no such file, so what reads it cannot be told"
            )
        blob = blobs[GRID_PATH]
        if blob not in cache.grids:
            cache.grids[blob] = derive(source.parse(read_blob(blob), GRID_PATH).tree).grid
        self._grid = cache.grids[blob]
        self._functions = self._grid.accessors | self._grid.state | {SHIM, RESOLVE}

    def run(self) -> Lines:
        """Return the lines of each read."""
        words = self.first_words()
        while (more := self.more_words(self._blobs, words)) != words:
            words = more
        return self.reads_in(self._blobs, words)

    def first_words(self) -> Words:
        """Return the names that a read uses unless a module gives it another one."""
        return self._one(self._functions | {_MODULE_WORD})

    def more_words(self, paths: Collection[str], words: Words) -> Words:
        """Return ``words``, and the names under which files in ``paths`` give them to others."""
        found = [self._exported_aliases(path, words) for path in self._holding(paths, words)]
        return self._one(words.union(*found))

    def reads_in(self, paths: Collection[str], words: Words) -> Lines:
        """Return the reads in some of the tree's files."""
        holding = self._holding(paths, words)
        known = set(holding)
        for path in paths:
            blob = self._blobs[path]
            if path not in known and blob not in self.cache.sound:
                source.check_syntax(self._read_blob(blob), path)
                self.cache.sound.add(blob)
        found: Lines = {}
        for path in holding:
            if path not in _OUTSIDE:
                found |= self._reads(path, words)
        return found

    def _one(self, words: Words) -> Words:
        return self.cache.one_of.setdefault(words, words)

    def _holding(self, paths: Collection[str], words: Words) -> list[str]:
        return [path for path in paths if path != GRID_PATH and self._holds(path, words)]

    def _holds(self, path: str, words: Words) -> bool:
        key = self._blobs[path], words
        known = self.cache.holds.get(key)
        if known is None:
            if path not in self._words:
                self._words[path] = source.words_of(self._read_blob(key[0]), path)
            known = not self._words[path].isdisjoint(word.encode() for word in words)
            self.cache.holds[key] = known
        return known

    def _exported_aliases(self, path: str, words: Words) -> Words:
        key = path, self._blobs[path], words
        if key not in self.cache.aliases:
            file = self._source(path)
            top = list(statements_of(file.tree.body, into_definitions=False))
            aliases = source.aliases_in(top, words, self._functions)
            self.cache.aliases[key] = aliases & file.names.bound.keys()
        return self.cache.aliases[key]

    def _reads(self, path: str, words: Words) -> Lines:
        key = path, self._blobs[path], self._grid, words
        known = self.cache.results.get(key)
        if known is not None and all(self._gives_the_same(*item) for item in known.depends):
            return known.reads
        file = self._source(path)
        everything = list(statements_of(file.tree.body, into_definitions=True))
        local = words
        while more := source.aliases_in(everything, local, self._functions):
            local |= more
        ends = {f"{MODULE}.{name}" for name in self._grid.accessors | self._grid.state}
        resolver = Resolver(
            self._blobs, self._exports, frozenset(ends | {SHIM_TARGET, RESOLVE_TARGET})
        )
        reads = Reader(
            path,
            scope=Scope(
                file.tree,
                parent=None,
                key="",
                package=package_name(path),
                uses=file.uses,
                names=file.names,
            ),
            lines=source.lines_with(file.text, local),
            words=local,
            meanings=Meanings(module_name(path), self._grid, resolver),
        ).read(file.tree)
        depends = tuple((asked, self._blobs.get(asked)) for asked in sorted(resolver.asked))
        self.cache.results[key] = Result(reads, depends)
        return reads

    def _gives_the_same(self, path: str, blob: str | None) -> bool:
        """Tell whether a module gives others what it gave them when it had that blob.

        Most changes to a module touch nothing that others import, so they cost its own scan alone.
        """
        now = self._blobs.get(path)
        if now == blob:
            return True
        before = None if now is None or blob is None else self.cache.exports.get((path, blob))
        return before is not None and self._exports(path) == before

    def _exports(self, path: str) -> Exports:
        key = path, self._blobs[path]
        if key not in self.cache.exports:
            self.cache.exports[key] = exports_of(self._source(path).names, path)
        return self.cache.exports[key]

    def _source(self, path: str) -> Source:
        if path not in self._sources:
            self._sources[path] = source.parse(self._read_blob(self._blobs[path]), path)
        return self._sources[path]
