"""Whether what a merged file imports is there in the merged tree.

One side moves a module or a name, the other imports it from where it was: git and the rule for
import statements may both be content with a result that does not import.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from merge_series.import_checks import repointed
from merge_series.import_merge import MergedImports, variants
from merge_series.import_statements import NotSettled, Parsed, parse
from merge_series.tree_modules import Modules, Place
from stack.git_answers import Sha, decode
from stack.merging import OURS, THEIRS, Conflict, Merge
from stack.repository import Repository

Target = tuple[str, str]  # a module as it is written, and the name that is taken from it, if any


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
    targets: frozenset[Target]


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
                could still be imported from where it was.
        """
        base, ours, theirs = map(parse, texts)
        importers = [self._importer(conflict, OURS, ours), self._importer(conflict, THEIRS, theirs)]
        for text in variants(merged):
            result = parse(text)
            reasons = {self._gone(conflict.path, one, importers) for one in _targets(result)}
            if reasons - {""}:
                raise NotSettled("; ".join(sorted(reasons - {""})))
            for name, old in repointed((base, ours, theirs), result):
                if not self._gone(conflict.path, old, importers):
                    raise NotSettled(
                        f"one side imports {name} from elsewhere and the other uses it anew"
                    )

    def _importer(self, conflict: Conflict, stage: int, text: Parsed) -> _Importer:
        tree, modules = self._sides[stage]
        oid = conflict.stages[stage].oid
        # It is elsewhere on a side whose form of it git found by a rename.
        paths = [path for path, entry in modules.entries.items() if entry.oid == oid]
        path = paths[0] if len(paths) == 1 else conflict.path
        return _Importer(tree, modules, path, _targets(text))

    def _gone(self, path: str, target: Target, importers: Collection[_Importer]) -> str:
        """Why a target cannot be imported in the merged tree; empty where it can or never could."""
        module, name = target
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
        if not name or any(self._has(place, name, holders) for place in here & there or here):
            return ""
        if not all(
            any(one.modules.offers(place, name) for place in places[one.tree]) for one in holders
        ):
            return ""
        found = self._found(holders[0], min(there, key=lambda place: place.stem), name)
        return f"{module} of the merged tree has no {name}, which it would import{found}"

    def _has(self, place: Place, name: str, holders: Collection[_Importer]) -> bool:
        """Whether a module of the merged tree has a name as a holder has it, or may have it."""
        same = [one for one in holders if one.modules.entry(place) == self._modules.entry(place)]
        if not self._modules.has_stars(place) and any(
            not one.modules.is_inside(place, name) for one in same
        ):
            return True  # most modules are as they were, and need not be looked through
        return self._modules.offers(place, name) is not False

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


def _targets(text: Parsed) -> frozenset[Target]:
    return frozenset((name.module, name.name) for name in text.names)
