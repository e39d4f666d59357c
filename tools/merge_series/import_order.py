"""The order of a merged file's imports: one that the sides have, or isort's where both keep that.

What is imported first may matter: a package imports what its modules expect of it, a module patches
another.
"""

import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from merge_series.bound_names import meanings
from merge_series.generated_files import FILE_MODES
from merge_series.import_merge import MergedImports, variants
from merge_series.import_statements import NotSettled, Parsed, Scope, namespace, parse
from stack.lazy import Lazy
from stack.merging import THEIRS, Merge
from stack.repository import Repository

if TYPE_CHECKING:
    import isort
else:
    isort = Lazy("isort")

# Where isort looks for its settings, in each folder above a file.
_SETTINGS = (".isort.cfg", "pyproject.toml", "setup.cfg", "tox.ini", ".editorconfig")

Sort = Callable[[Parsed], bytes | None]
_Order = dict[tuple[Scope, str, str], int]


def in_order(
    repository: Repository, merge: Merge, path: str, texts: Sequence[bytes], merged: MergedImports
) -> MergedImports:
    """A file's merged imports in an order that is certain.

    Args:
        repository: The fork.
        merge: What git made of the merge; the settings for isort in its tree count.
        path: The file's path.
        texts: Its texts: base, ours and theirs.
        merged: What was made of them.

    Returns:
        The same, sorted by isort where it leaves both sides as they are.

    Raises:
        NotSettled: Two imports are in an order that the sides do not have, and isort does not
            account for it.
    """
    base, *sides = map(parse, texts)
    results = [parse(text) for text in variants(merged)]
    with _sorting(repository, merge, path, [*sides, *results]) as sort:
        if not merged.left and all(sort(side) == side.text for side in sides):
            return _sorted(merged, results[0], sort)
        if all(_is_ordered(side, sort) for side in sides):
            if not all(_is_ordered(result, sort) for result in results):
                raise NotSettled("both sides are in isort's order, and the result would not be")
            return merged
    for result in results:
        for reason in _strange(result, base, sides):
            raise NotSettled(reason)
    return merged


def _sorted(merged: MergedImports, result: Parsed, sort: Sort) -> MergedImports:
    """The merged imports as isort has them, who may not change what any name means."""
    text = sort(result)
    if text is None or not merged.are_in(text):
        raise NotSettled("isort, by which both sides are sorted, does not sort the result")
    if meanings(parse(text).tree) != meanings(result.tree):
        raise NotSettled("isort, by which both sides are sorted, would bind other names")
    return MergedImports((text,), merged.scopes)


def _is_ordered(text: Parsed, sort: Sort) -> bool:
    """Whether isort would import in the same order, however it lays that out."""
    made = sort(text)
    return made is not None and parse(made).names == text.names


def _strange(result: Parsed, base: Parsed, sides: Collection[Parsed]) -> Iterator[str]:
    """Which two imports are in an order that no side has, or not in the one that a side made."""
    before, *orders = (_order(text) for text in (base, *sides))
    for one, other in combinations(_order(result), 2):
        known = [order[one] < order[other] for order in orders if one in order and other in order]
        is_right = any(known) or not known
        if len(set(known)) > 1 and one in before and other in before:
            is_right = before[one] > before[other]
        if not is_right and one[0] == other[0]:
            names = [".".join(filter(None, names)) for _, *names in (one, other)]
            yield (
                f"{names[0]} would be imported before {names[1]}, which is not what the sides have"
            )


def _order(text: Parsed) -> _Order:
    """What a text imports, by what runs it, in the order in which that is done first."""
    order: _Order = {}
    for name in text.names:
        order.setdefault((namespace(name.scope), name.module, name.name), len(order))
    return order


@contextmanager
def _sorting(
    repository: Repository, merge: Merge, path: str, texts: Collection[Parsed]
) -> Iterator[Sort]:
    """Gives what sorts a text as the merged tree sets; None is what isort does not sort.

    It looks for settings and for the project's own packages in folders, so there is one that has
    the settings above the file and empty files for the modules that may be imported.
    """
    known = {name.module.partition(".")[0] for text in texts for name in text.names}
    settings = {str(PurePosixPath(f, n)) for f in PurePosixPath(path).parents for n in _SETTINGS}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / ".git").mkdir()  # it looks no further up
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        entries = repository.entries(merge.tree)
        # With conflict markers it holds no settings: those of what is merged in are the newer ones.
        entries |= {c.path: c.stages[THEIRS] for c in merge.conflicts if THEIRS in c.stages}
        for file, entry in entries.items():
            parts = file.removesuffix(".py").split("/")
            is_module = file.endswith(".py") and not known.isdisjoint(parts)
            if (is_module or file in settings) and entry.mode in FILE_MODES and ".." not in parts:
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                text = repository.read_blob(entry.oid) if file in settings else b""
                (root / file).write_bytes(text)

        def sort(text: Parsed) -> bytes | None:
            with warnings.catch_warnings(action="ignore"):
                try:
                    found = isort.Config(
                        settings_path=(root / path).parent, quiet=True, verbose=False
                    )
                    return isort.code(text.text.decode(text.encoding), config=found).encode(
                        text.encoding
                    )
                except Exception:  # noqa: BLE001 - as settings that it does not expect make it fail
                    return None

        yield sort
