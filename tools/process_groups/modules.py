"""What a dotted name means in a tree: ``megatron.core.mpu`` is ``megatron.core.parallel_state``.

A name is followed through the imports, plain assignments and star imports of the modules it goes
through. Modules are parsed only when a name leads there.
"""

import ast
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from process_groups.bindings import Import, Names, Value

ROOT = "megatron/core"


class Exports(NamedTuple):
    """What a module's top level binds.

    Attributes:
        names: For each name the dotted names it was imported from; none for a name that is
            defined in the module itself.
        values: For each name the dotted names of what was assigned to it.
        stars: Modules that are imported with a star.
    """

    names: Mapping[str, tuple[str, ...]]
    values: Mapping[str, tuple[str, ...]]
    stars: tuple[str, ...]


NOTHING = Exports({}, {}, ())


def module_name(path: str) -> str:
    r"""Return the dotted name of the module in ``path``.

    A dot in a folder's own name, in which files can be run but not imported, is ``\0`` here.
    """
    return _name_of(path.removesuffix(".py").removesuffix("/__init__"))


def package_name(path: str) -> str:
    """Return the dotted name of the package that relative imports in ``path`` start from."""
    return _name_of(path.rpartition("/")[0])


def _name_of(path: str) -> str:
    return path.replace(".", "\0").replace("/", ".")


def exports_of(names: Names, path: str) -> Exports:
    """Return what a module with these top-level names gives to others."""
    module = module_name(path)
    imports: dict[str, tuple[str, ...]] = {}
    values: dict[str, tuple[str, ...]] = {}
    for name, bindings in names.bound.items():
        imports[name] = tuple(item.target for item in bindings if isinstance(item, Import))
        chains = [dotted(item.node) for item in bindings if isinstance(item, Value)]
        assigned = tuple(f"{module}.{chain}" for chain in chains if chain is not None)
        if assigned:
            values[name] = assigned
    return Exports(imports, values, tuple(names.stars))


def dotted(node: ast.expr) -> str | None:
    """Return the text of a plain dotted name, or None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


class Resolver:
    """Finds what dotted names stand for in one tree.

    Args:
        paths: Paths of the tree's modules.
        load: Gives the exports of the module in a path.
        ends: Dotted names that are followed no further. To put one of them into a variable is
            the read; what is done with the variable is not followed.
    """

    def __init__(
        self, paths: Collection[str], load: Callable[[str], Exports], ends: frozenset[str]
    ) -> None:
        self._paths = paths
        self._load = load
        self.ends = ends
        self._known: dict[str, frozenset[str]] = {}
        # Every path that an answer depended on, present or not.
        self.asked: set[str] = set()

    def resolve(self, name: str) -> frozenset[str]:
        """Return the dotted names, each at its place of definition, that ``name`` may stand for."""
        if name not in self._known:
            self._known[name] = self._resolve(name, frozenset())
        return self._known[name]

    def is_module(self, name: str) -> bool:
        """Tell whether a dotted name is that of one of the tree's modules."""
        return self._path(name) is not None

    def _resolve(self, name: str, active: frozenset[str]) -> frozenset[str]:
        first, *rest = name.split(".")
        if first != "megatron":
            return frozenset({name})
        places = {first}
        for part in rest:
            places = {end for place in places for end in self._member(place, part, active)}
        return frozenset(places)

    def _member(self, place: str, part: str, active: frozenset[str]) -> frozenset[str]:
        name = f"{place}.{part}"
        if name in self.ends:
            return frozenset({name})
        if name in active:
            return frozenset()
        active |= {name}
        found: set[str] = set()
        exports = self._exports(place)
        if part in exports.names:
            for target in exports.names[part]:
                found |= self._resolve(target, active)
            for target in exports.values.get(part, ()):
                found |= self._resolve(target, active) - self.ends
        else:
            for star in exports.stars:
                for module in self._resolve(star, active):
                    if self._offers(module, part, frozenset()):
                        found |= self._member(module, part, active)
        if not found or self._path(name) is not None:
            found.add(name)
        return frozenset(found)

    def _offers(self, module: str, part: str, seen: frozenset[str]) -> bool:
        exports = self._exports(module)
        if part in exports.names:
            return True
        seen |= {module}
        return any(
            self._offers(inner, part, seen)
            for star in exports.stars
            for inner in self._resolve(star, frozenset())
            if inner not in seen
        )

    def _exports(self, module: str) -> Exports:
        path = self._path(module)
        return NOTHING if path is None else self._load(path)

    def _path(self, module: str) -> str | None:
        if not module.startswith("megatron.core"):
            return None
        stem = module.replace(".", "/").replace("\0", ".")
        for path in (f"{stem}/__init__.py", f"{stem}.py"):
            self.asked.add(path)
            if path in self._paths:
                return path
        return None
