"""Whether what a merged file imports is there in the merged tree.

One side moves a module or a name, the other imports it from where it was: git and the rule for
import statements may both be content with a result that does not import.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from merge_series.import_checks import repointed
from merge_series.import_merge import MergedImports, variants
from merge_series.import_statements import NotSettled, Parsed, namespace, parse
from merge_series.import_takers import Takers
from merge_series.module_names import bound_in, is_for_checkers
from merge_series.tree_modules import Modules, Place
from stack.git_answers import Sha, decode
from stack.merging import OURS, THEIRS, Conflict, Merge
from stack.repository import Repository


class _Target(NamedTuple):
    """What is imported.

    Attributes:
        module: The module, as it is written.
        name: The name that is taken from it, if any.
        for_checkers: Whether only type checkers see the import.
    """

    module: str
    name: str
    for_checkers: bool


@dataclass(frozen=True, slots=True)
class _Importer:
    """One side's form of a file.

    Attributes:
        tree: The side's tree.
        modules: The modules of that tree.
        path: The file's path there.
        targets: What it imports.
    """

    tree: Sha
    modules: Modules
    path: str
    targets: frozenset[_Target]


class Targets:
    """What the files of one merge import, looked up in its tree and in those of its sides.

    Args:
        repository: The fork.
        ours: The commit that is merged into.
        theirs: The commit that is merged.
        merge: What git made of them.
    """

    def __init__(self, repository: Repository, ours: Sha, theirs: Sha, merge: Merge) -> None:
        self._repository = repository
        self._tree = merge.tree
        self._sides = {
            stage: (side, Modules(repository.entries(side), repository.read_blob, {}))
            for stage, side in ((OURS, ours), (THEIRS, theirs))
        }
        known = {conflict.path: conflict for conflict in merge.conflicts}
        self._modules = Modules(repository.entries(merge.tree), repository.read_blob, known)

    def check(self, conflict: Conflict, texts: Sequence[bytes], merged: MergedImports) -> None:
        """See that a file imports nothing that is gone, and that its new names mean what they did.

        Args:
            conflict: The file.
            texts: Its texts: base, ours and theirs.
            merged: What was made of them.

        Raises:
            NotSettled: It imports what is there on the side that imports it, and not in the merged
                tree; or one side uses a name anew that the other imports from elsewhere, though it
                could still be imported from where it was; or another file takes a name from it that
                one side no longer imports.
        """
        base, ours, theirs = map(parse, texts)
        importers = [self._importer(conflict, OURS, ours), self._importer(conflict, THEIRS, theirs)]
        for text in variants(merged):
            result = parse(text)
            reasons = {self._gone(conflict.path, one, importers) for one in _targets(result)}
            if reasons - {""}:
                raise NotSettled("; ".join(sorted(reasons - {""})))
            for name, old in repointed((base, ours, theirs), result):
                targets = [_Target(*old, for_checkers) for for_checkers in (False, True)]
                if not any(self._gone(conflict.path, one, importers) for one in targets):
                    raise NotSettled(
                        f"one side imports {name} from elsewhere and the other uses it anew"
                    )
            for side, other, importer in zip(
                (ours, theirs), (theirs, ours), importers, strict=True
            ):
                dropped = _at_top(base) & _offered(other) - _offered(side) - _offered(result)
                self._check_takers(conflict.path, dropped, importer)

    def _check_takers(self, path: str, dropped: Collection[str], side: _Importer) -> None:
        """See that no other file takes what a side dropped, but where that side has it so too."""
        after = Takers(self._repository, self._tree, self._modules).of(path, dropped)
        if after:
            after -= Takers(self._repository, side.tree, side.modules).of(side.path, dropped)
        for file, name in sorted(after):
            raise NotSettled(f"one side dropped {name}, which {file} takes from here")

    def _importer(self, conflict: Conflict, stage: int, text: Parsed) -> _Importer:
        tree, modules = self._sides[stage]
        oid = conflict.stages[stage].oid
        # It is elsewhere on a side whose form of it git found by a rename.
        paths = [path for path, entry in modules.entries.items() if entry.oid == oid]
        path = paths[0] if len(paths) == 1 else conflict.path
        return _Importer(tree, modules, path, _targets(text))

    def _gone(self, path: str, target: _Target, importers: Collection[_Importer]) -> str:
        """Why a target cannot be imported in the merged tree; empty where it can or never could."""
        module, name, for_checkers = target
        holders = [one for one in importers if target in one.targets]
        places = {one.tree: one.modules.places(module, one.path) for one in holders}
        if not places or not all(places.values()):
            return ""
        here = self._modules.places(module, path)
        there = frozenset[Place]().union(*places.values())
        if not here & there:
            (place, *_) = sorted(there, key=lambda place: place.stem)
            moved = self._moved(holders[0], place)
            if not here or not module.startswith("."):
                to = f"; it moved to {place.named(moved)}" if moved else ""
                return f"the merged tree has no module {place.name}, which it would import{to}"
            if moved not in {self._modules.path(one) for one in here}:
                return f"{module} would be {min(one.name for one in here)} and is {place.name}"
        if not name or any(self._has(place, target, holders) for place in here & there or here):
            return ""
        if not all(
            any(
                one.modules.offers(place, name, for_checkers=for_checkers) is not False
                for place in places[one.tree]
            )
            for one in holders
        ):
            return ""
        found = self._found(holders[0], min(there, key=lambda place: place.stem), name)
        return f"{module} of the merged tree has no {name}, which it would import{found}"

    def _has(self, place: Place, target: _Target, holders: Collection[_Importer]) -> bool:
        """Whether a module of the merged tree has a name as a holder has it, or may have it."""
        _, name, for_checkers = target
        same = [one for one in holders if one.modules.entry(place) == self._modules.entry(place)]
        if not self._modules.has_stars(place) and any(
            not one.modules.is_inside(place, name) for one in same
        ):
            return True  # most modules are as they were, and need not be looked through
        return self._modules.offers(place, name, for_checkers=for_checkers) is not False

    def _moved(self, importer: _Importer, place: Place) -> str | None:
        """The path at which git finds a module that moved."""
        answer = self._repository.run(
            "diff-tree", "-r", "-z", "--find-renames", "--diff-filter=R", "--name-status",
            importer.tree, self._tree,
        )  # fmt: skip
        fields = [decode(one) for one in answer.stdout.split(b"\0")]
        renamed = dict(zip(fields[1::3], fields[2::3], strict=False))
        return renamed.get(importer.modules.path(place) or "")

    def _found(self, importer: _Importer, place: Place, name: str) -> str:
        """The module of the merged tree that came to define a name, as the rest of a sentence."""
        pattern = f"^((async +)?def|class) +{name} *[(:[]|^{name} *[:=]"
        before, after = (
            {
                decode(path.partition(b":")[2])
                for path in self._repository.run(
                    "grep", "-z", "-l", "-E", "-e", pattern, tree, "--", "*.py", accept=(0, 1)
                ).stdout.split(b"\0")
            }
            for tree in (importer.tree, self._tree)
        )
        fresh = after - before
        return f"; {place.named(fresh.pop())} has it" if len(fresh) == 1 else ""


def _at_top(text: Parsed) -> frozenset[str]:
    return frozenset(name.bound for name in text.names if not namespace(name.scope))


def _offered(text: Parsed) -> frozenset[str]:
    bound = bound_in(text.text, is_stub=False)
    return bound.names | bound.for_checkers


def _targets(text: Parsed) -> frozenset[_Target]:
    return frozenset(_Target(n.module, n.name, is_for_checkers(n.scope)) for n in text.names)
