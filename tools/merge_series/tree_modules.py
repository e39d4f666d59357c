"""Which modules a tree holds, and which names each of them binds.

What cannot be told is held to be there: what is compiled, a link or a submodule has any name, and a
text that may bind more than can be read off it has each name that it mentions.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from merge_series.generated_files import FILE_MODES
from merge_series.module_names import Bound, bound_in, merged, takes
from stack.git_answers import Entry, Sha
from stack.merging import BASE, OURS, THEIRS, Conflict

_SOURCES = (".pyi", ".py", "__init__.pyi", "__init__.py")  # of several the last counts
_COMPILED = (".pyx", ".so", ".pyd")
_STAR = re.compile(rb"\bimport\s*\*")


@dataclass(frozen=True, slots=True)
class Place:
    """A module in a tree.

    Attributes:
        root: The folder that its name starts from; empty for the tree's own.
        name: Its whole name from there.
    """

    root: str
    name: str

    @property
    def stem(self) -> str:
        """Its path without an ending, or its folder."""
        return "/".join(filter(None, (self.root, *self.name.split("."))))

    def named(self, path: str) -> str:
        """The name that the module at a path has, from the same folder where it is in that."""
        return stem_of(path).removeprefix(f"{self.root}/").replace("/", ".")


class Modules:
    """The modules of one tree.

    Args:
        entries: Its files by path.
        read: Gives the bytes of a blob.
        conflicts: What is in conflict in it, by path.

    Attributes:
        entries: Its files by path.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        read: Callable[[Sha], bytes],
        conflicts: Mapping[str, Conflict],
    ) -> None:
        self.entries = entries
        self._read = read
        self._conflicts = conflicts
        self._files: dict[str, str] = {}
        self._folders: set[str] = set()
        self._opaque: set[str] = set()
        self._ends: dict[str, list[str]] = {}
        for path, entry in self.entries.items():
            conflict = self._conflicts.get(path)
            if conflict is not None and not _stays(conflict):
                continue
            self._folders.update(_above(path))
            stem, is_text = _parted(path)
            if entry.mode not in FILE_MODES:
                self._opaque.add(stem)
            elif is_text:
                self._files[stem] = max(path, self._files.get(stem, path), key=_rank)
            elif path.endswith(_COMPILED):
                self._opaque.add(stem)
        for stem in self._files.keys() | self._folders | self._opaque:
            self._ends.setdefault(stem.rpartition("/")[2], []).append(stem)

    def places(self, module: str, importer: str) -> frozenset[Place]:
        """Where a module may be that a file imports.

        Args:
            module: Its name, with the dots of a relative import.
            importer: The file's path.
        """
        folders = _above(importer)
        name = module.lstrip(".")
        level = len(module) - len(name)
        if level:
            place = _relative(folders, level, name)
            return frozenset((place,)) if place is not None and self._has(place) else frozenset()
        near = frozenset(place for f in folders if self._has(place := Place(f, name)))
        return near or frozenset(self._elsewhere(name))

    def offers(self, place: Place, name: str, *, for_checkers: bool) -> bool | None:
        """Whether a module has a name; None where that cannot be told.

        Args:
            place: The module.
            name: The name.
            for_checkers: Whether it is enough that type checkers find it.
        """
        return self._offers(place, name, frozenset(), for_checkers=for_checkers)

    def is_inside(self, place: Place, name: str) -> bool:
        """Whether a package holds a module of a name."""
        return self._is_there(f"{place.stem}/{name}")

    def is_beside(self, path: str, name: str) -> bool:
        """Whether a file is a package's, which holds a module of a name."""
        is_package = path.rpartition("/")[2].startswith("__init__.")
        return is_package and self._is_there(f"{stem_of(path)}/{name}")

    def has_stars(self, place: Place) -> bool:
        """Whether a module may import all that others have."""
        entry = self.entry(place)
        return entry is not None and _STAR.search(self._read(entry.oid)) is not None

    def path(self, place: Place) -> str | None:
        """The path of a module's text, if it has one."""
        return self._files.get(place.stem)

    def entry(self, place: Place) -> Entry | None:
        """What the tree holds as a module's text."""
        return self.entries.get(self.path(place) or "")

    def _offers(
        self, place: Place, name: str, active: frozenset[Place], *, for_checkers: bool
    ) -> bool | None:
        if self.is_inside(place, name):
            return True
        path = self.path(place)
        if path is None:
            # A folder alone binds nothing; of a link or a compiled module nothing is known.
            return None if place.stem not in self._folders else False
        bound = self.bound(path)
        if bound is None:
            return None
        if name in bound.names or (for_checkers and name in bound.for_checkers):
            return True
        answers = {
            self._from_star(star, path, name, active | {place}, for_checkers=for_checkers)
            for star in bound.stars
            if place not in active
        }
        if True in answers:
            return True
        return None if None in answers or (bound.is_open and name in bound.words) else False

    def _from_star(
        self, module: str, importer: str, name: str, active: frozenset[Place], *, for_checkers: bool
    ) -> bool | None:
        places = self.places(module, importer)
        if not places:
            # Of another project: it may have what the text that takes all of it speaks of.
            bound = self.bound(importer)
            return None if bound is None or name in bound.words else False
        answers = set()
        for place in places - active:
            path = self.path(place)
            bound = None if path is None else self.bound(path)
            both = {
                self._offers(place, name, active, for_checkers=for_checkers),
                None if bound is None else takes(bound, name),
            }
            answers.add(False if False in both else None if None in both else True)
        return True if True in answers else None if None in answers else False

    def bound(self, path: str) -> Bound | None:
        """What a file binds at its top level; None where its conflict does not tell."""
        found = [bound_in(text, is_stub=path.endswith(".pyi")) for text in self.texts(path)]
        return merged(*found) if len(found) > 1 else found[0] if found else None

    def texts(self, path: str) -> list[bytes]:
        """A file's text; of one in conflict base, ours and theirs, or none without both sides."""
        conflict = self._conflicts.get(path)
        if conflict is None:
            return [self._read(self.entries[path].oid)]
        stages = conflict.stages
        if not {OURS, THEIRS} <= set(stages):
            return []
        return [
            self._read(stages[stage].oid) if stage in stages else b""
            for stage in (BASE, OURS, THEIRS)
        ]

    def _has(self, place: Place) -> bool:
        return self._is_there(place.stem) or any(
            stem in self._opaque for stem in _above(place.stem)
        )

    def _is_there(self, stem: str) -> bool:
        return stem in self._files or stem in self._folders or stem in self._opaque

    def _elsewhere(self, name: str) -> Iterator[Place]:
        end = name.replace(".", "/")
        for stem in self._ends.get(end.rpartition("/")[2], ()):
            if stem == end or stem.endswith(f"/{end}"):
                yield Place(stem[: len(stem) - len(end)].rstrip("/"), name)


def stem_of(path: str) -> str:
    """A path without its ending, or of a package its folder."""
    return _parted(path)[0]


def _parted(path: str) -> tuple[str, bool]:
    """A path without its ending, of a package its folder, and whether it is Python's text."""
    folder, _, name = path.rpartition("/")
    if name in _SOURCES:
        return folder, True
    stem, _, ending = name.partition(".")
    return "/".join(filter(None, (folder, stem))), f".{ending}" in _SOURCES


def _rank(path: str) -> int:
    return max(number for number, ending in enumerate(_SOURCES) if path.endswith(ending))


def _stays(conflict: Conflict) -> bool:
    """Whether a path in conflict is there in the end, unless a person decides otherwise."""
    return BASE not in conflict.stages or {OURS, THEIRS} <= set(conflict.stages)


def _above(path: str) -> list[str]:
    """The folders that a path is in, the innermost first; the last is the tree's own, empty."""
    names = path.split("/")
    return ["/".join(names[:end]) for end in range(len(names) - 1, -1, -1)]


def _relative(folders: Sequence[str], level: int, name: str) -> Place | None:
    if level > len(folders):
        return None
    return Place("", ".".join(filter(None, (*folders[level - 1].split("/"), name))))
