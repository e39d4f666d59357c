"""Scans a tree: every read of the global process groups in its ``megatron/core``.

A file is parsed only if it holds a name that a read could use. What is found is kept by blob, so
the next tree of the same process costs only the files that differ, and those whose names lead to
a file that differs.
"""

import ast
import os
import re
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from process_groups.bindings import Names, statements_of
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
    ROOT,
    Exports,
    Resolver,
    dotted,
    exports_of,
    module_name,
    package_name,
)
from process_groups.reader import Reader
from process_groups.reads import Read
from process_groups.scope import Scope

__all__ = ["ScanCache", "ScanError", "scan_directory", "scan_tree"]

# They define what the others read.
_OUTSIDE = frozenset({GRID_PATH, FALLBACK_PATH, "megatron/core/process_groups_config.py"})

_MODULE_WORD = MODULE.rpartition(".")[2]
# Any byte above ASCII may belong to a name.
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][0-9A-Za-z_\x80-\xff]*")
_OUTWARD = re.compile(r"\b(?:global|nonlocal)\s")
_LINE_END = re.compile(r"\n")

_Words = frozenset[str]


class _Source(NamedTuple):
    """A parsed file; dropped once its scan is done, since those of a whole tree are large."""

    text: str
    tree: ast.Module
    names: Names
    inner: bool


class _Result(NamedTuple):
    reads: Counter[Read]
    # The blobs of the paths that the reads depend on; None for a path that the tree did not have.
    depends: tuple[tuple[str, str | None], ...]


@dataclass
class ScanCache:
    """What earlier scans of this process found, by path and blob.

    The reads of a file depend also on the grid, on the names looked for, and on the modules that
    its names lead to; those are kept beside them.
    """

    grids: dict[str, Grid] = field(default_factory=dict)
    holds: dict[tuple[str, _Words], bool] = field(default_factory=dict)
    exports: dict[tuple[str, str], Exports] = field(default_factory=dict)
    aliases: dict[tuple[str, str, _Words], _Words] = field(default_factory=dict)
    results: dict[tuple[str, str, Grid, _Words], _Result] = field(default_factory=dict)


def scan_tree(
    blobs: Mapping[str, str],
    read_blob: Callable[[str], bytes],
    cache: ScanCache | None = None,
) -> Counter[Read]:
    """Return the reads in a tree.

    Args:
        blobs: The blob id (anything that names a content) of every ``*.py`` file below
            ``megatron/core``, by POSIX path from the root of the tree.
        read_blob: Gives a blob's content.
        cache: What earlier scans found; it is added to.

    Raises:
        ScanError: A file is not UTF-8, does not parse or cannot be read, or the tree has no usable
            ``parallel_state.py``.
    """
    with warnings.catch_warnings():
        # An invalid escape in a scanned file is not this tool's business.
        warnings.simplefilter("ignore")
        return _Scan(blobs, read_blob, ScanCache() if cache is None else cache).run()


def scan_directory(root: Path) -> Counter[Read]:
    """Return the reads in the tree below a directory.

    Raises:
        ScanError: As ``scan_tree`` does.
    """
    paths = {path: path for path in sorted(_python_files(root))}

    def read(path: str) -> bytes:
        try:
            return (root / path).read_bytes()
        except OSError as error:
            raise ScanError(f"{path}: cannot be read: {error.strerror or error}") from error

    return scan_tree(paths, read)


def _python_files(root: Path) -> Iterator[str]:
    top = root / ROOT
    if not top.is_dir():
        raise ScanError(f"{root}: there is no {ROOT} here; name the root of a Megatron-LM tree")
    seen = set()
    # Python imports through a linked folder as well; one that leads back is not entered twice.
    for folder, folders, files in os.walk(top, followlinks=True):
        seen.add(os.path.realpath(folder))
        folders[:] = [name for name in folders if os.path.realpath(Path(folder, name)) not in seen]
        for name in files:
            if name.endswith(".py"):
                yield Path(folder, name).relative_to(root).as_posix()


class _Scan:
    """One scan of one tree."""

    def __init__(
        self, blobs: Mapping[str, str], read_blob: Callable[[str], bytes], cache: ScanCache
    ) -> None:
        self._blobs = blobs
        self._read_blob = read_blob
        self._cache = cache
        self._sources: dict[str, _Source] = {}
        if GRID_PATH not in blobs:
            raise ScanError(
                f"{GRID_PATH}: the tree has no such file, so what reads it cannot be told"
            )
        blob = blobs[GRID_PATH]
        if blob not in cache.grids:
            cache.grids[blob] = derive(self._parse(GRID_PATH)[1]).grid
        self._grid = cache.grids[blob]
        self._functions = self._grid.accessors | self._grid.state | {SHIM, RESOLVE}

    def run(self) -> Counter[Read]:
        words, paths = self._words()
        found: Counter[Read] = Counter()
        for path in paths:
            if path not in _OUTSIDE:
                found.update(self._reads(path, words))
        return found

    def _words(self) -> tuple[_Words, list[str]]:
        """Return the names that a read could use, and the files that hold one of them.

        An import that gives such a name to other modules under another name adds that one.
        """
        words = self._functions | {_MODULE_WORD}
        while True:
            paths = [path for path in self._blobs if path != GRID_PATH and self._holds(path, words)]
            more = words.union(*(self._exported_aliases(path, words) for path in paths))
            if more == words:
                return words, paths
            words = more

    def _holds(self, path: str, words: _Words) -> bool:
        key = self._blobs[path], words
        known = self._cache.holds.get(key)
        if known is None:
            data = self._read_blob(key[0])
            _decode(data, path)
            known = not words.isdisjoint(_words_of(data))
            self._cache.holds[key] = known
        return known

    def _exported_aliases(self, path: str, words: _Words) -> _Words:
        key = path, self._blobs[path], words
        if key not in self._cache.aliases:
            source = self._source(path)
            top = list(statements_of(source.tree.body, into_definitions=False))
            aliases = _aliases(top, words, self._functions)
            self._cache.aliases[key] = aliases & source.names.bound.keys()
        return self._cache.aliases[key]

    def _reads(self, path: str, words: _Words) -> Counter[Read]:
        key = path, self._blobs[path], self._grid, words
        known = self._cache.results.get(key)
        if known is not None and all(self._blobs.get(p) == blob for p, blob in known.depends):
            return known.reads
        source = self._source(path)
        everything = list(statements_of(source.tree.body, into_definitions=True))
        local = words
        while True:
            more = local | _aliases(everything, local, self._functions)
            if more == local:
                break
            local = more
        ends = {f"{MODULE}.{name}" for name in self._grid.accessors | self._grid.state}
        resolver = Resolver(
            self._blobs, self._exports, frozenset(ends | {SHIM_TARGET, RESOLVE_TARGET})
        )
        reads = Reader(
            path,
            scope=Scope(
                source.tree,
                parent=None,
                key="",
                package=package_name(path),
                inner=source.inner,
                names=source.names,
            ),
            lines=_lines_with(source.text, local),
            words=local,
            meanings=Meanings(module_name(path), self._grid, resolver),
        ).read(source.tree)
        depends = tuple((asked, self._blobs.get(asked)) for asked in sorted(resolver.asked))
        self._cache.results[key] = _Result(reads, depends)
        return reads

    def _exports(self, path: str) -> Exports:
        key = path, self._blobs[path]
        if key not in self._cache.exports:
            self._cache.exports[key] = exports_of(self._source(path).names, path)
        return self._cache.exports[key]

    def _source(self, path: str) -> _Source:
        if path not in self._sources:
            text, tree = self._parse(path)
            inner = _OUTWARD.search(text) is not None
            names = Names(tree, package_name(path), inner=inner)
            self._sources[path] = _Source(text, tree, names, inner)
        return self._sources[path]

    def _parse(self, path: str) -> tuple[str, ast.Module]:
        text = _decode(self._read_blob(self._blobs[path]), path)
        try:
            return text, ast.parse(text)
        except SyntaxError as error:
            raise ScanError(f"{path}:{error.lineno or 1}: is no Python: {error.msg}") from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise ScanError(f"{path}: cannot be parsed: {error}") from error


def _decode(data: bytes, path: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScanError(f"{path}:{line}: is not UTF-8: {error.reason}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _words_of(data: bytes) -> set[str]:
    return {word.decode() for word in set(_WORD.findall(data))}


def _lines_with(text: str, words: _Words) -> list[int]:
    """Return the numbers of the lines that hold one of ``words``, sorted."""
    here = sorted(words & _words_of(text.encode()))
    if not here:
        return []
    ends = [match.start() for match in _LINE_END.finditer(text)]
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, here))})\b")
    return sorted({bisect_left(ends, match.start()) + 1 for match in pattern.finditer(text)})


def _aliases(statements: list[ast.stmt], words: _Words, functions: _Words) -> _Words:
    """Return the second names that statements give to one of ``words``.

    A function that is assigned is read there and then, so its variable is no second name.
    """
    found = set()
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.asname and alias.name.rpartition(".")[2] in words:
                    found.add(alias.asname)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            chain = dotted(node.value)
            if chain is not None and chain.rpartition(".")[2] in words - functions:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update(target.id for target in targets if isinstance(target, ast.Name))
    return frozenset(found) - words
