"""What a file with merged imports may not be, although it compiles and every name is bound.

Each check compares it with the three texts it was made of: base, ours and theirs.
"""

from collections.abc import Collection, Iterator

from merge_series.bound_names import ASSIGNED, chains, loads, meanings, mentioned, uses
from merge_series.import_statements import Imported, NotSettled, Parsed, Scope, namespace, parse
from merge_series.text_merge import one_sided

Stages = tuple[Parsed, Parsed, Parsed]


def check_moves(stages: Stages, result: Parsed) -> None:
    """Where one side took an import to another block, the other may not use it more or change it.

    Raises:
        NotSettled: A definition of the result uses it more often, or it is imported otherwise.
    """
    base, *sides = stages
    places = {(name.bound, name.scope) for name in base.names}
    for mover, other in (sides, sides[::-1]):
        gone, fresh = _changed(base, mover)
        blocks = {(name.bound, name.scope) for name in gone}
        anew = {(name.bound, name.scope) for name in fresh}
        more = {name for name, _, _ in loads(result.tree) - loads(mover.tree)}
        used = sorted({bound for bound, _ in blocks} & {b for b, _ in anew - blocks} & more)
        if used:
            raise NotSettled(
                f"one side moved the import of {', '.join(used)} to another block and the "
                "other uses it anew"
            )
        taken = {bound for bound, _ in places} & {bound for bound, _ in anew - places}
        theirs = _changed(base, other)
        changed = sorted(
            bound
            for bound in taken
            if all(_of(bound, names) for names in theirs)
            and _of(bound, theirs[1]) != _of(bound, fresh)
        )
        if changed:
            raise NotSettled(
                f"one side took the import of {', '.join(changed)} to another block and the other "
                "imports it otherwise"
            )


def check_meanings(stages: Stages, result: Parsed, scopes: Collection[Scope]) -> None:
    """A name that is bound several times is bound to what the sides say, the last one last.

    Args:
        stages: The three texts.
        result: What was made of them.
        scopes: The blocks whose statements were merged.

    Raises:
        NotSettled: It is not, or one side dropped one of them and the other uses the name anew.
    """
    base, ours, theirs = (meanings(stage.tree) for stage in stages)
    after = meanings(result.tree)
    anew = [{name for name, _, _ in loads(result.tree) - loads(one.tree)} for one in stages[1:]]
    inside = {namespace(scope) for scope in scopes}
    for place in sorted({*ours, *theirs, *after}):
        found, before, *sides = (text.get(place, ()) for text in (after, base, ours, theirs))
        bound, *known = ({one.source for one in text} for text in (found, before, *sides))
        if len(bound) > 1 and not any(bound <= sources for sources in known):
            raise NotSettled(f"{place[1]} would be bound twice")
        several = any(len(sources) > 1 for sources in (bound, *known))
        if several and place[0] in inside and found != one_sided(before, *sides):
            raise NotSettled(
                f"{place[1]} is bound several times, and which one comes last is not certain"
            )
        for side, used in zip(sides, anew, strict=True):
            # What is left may be bound for type checkers alone, or later.
            if side and set(side) < set(before) and place[1] in used:
                raise NotSettled(
                    f"one side dropped one of the imports of {place[1]} and the other uses it anew"
                )


def repointed(stages: Stages, result: Parsed) -> Iterator[tuple[str, tuple[str, str]]]:
    """Names that one side imports from elsewhere and the other uses anew.

    Args:
        stages: The three texts.
        result: What was made of them.

    Yields:
        The name, and what it no longer is: a module and a name in it; ``ASSIGNED`` where that is
            unclear.
    """
    base, *sides = (meanings(stage.tree) for stage in stages)
    for side, other, text in zip(sides, sides[::-1], stages[1:], strict=True):
        used = {name for name, _, _ in loads(result.tree) - loads(text.tree)}
        used |= mentioned(result.text) - mentioned(text.text)
        for place in sorted(base.keys() & side.keys()):
            before, now, beside = (
                {one.source for one in text.get(place, ())} for text in (base, side, other)
            )
            is_imported = before | now != {ASSIGNED}
            if place[1] in used and is_imported and not now <= before | beside:
                for old in sorted(before - now) or [ASSIGNED]:
                    yield place[1], old


def check_tries(stages: Stages, result: Parsed) -> None:
    """What one side no longer tries to import may not come back beside what it tries now.

    Raises:
        NotSettled: It would, and the names of both would depend on both modules.
    """
    base, *sides = (_tried(stage) for stage in stages)
    for side in sides:
        back = sorted((base - side) & _tried(result))
        if back:
            raise NotSettled(
                f"one side dropped {back[0][1]} from a try block and the other imports more of it"
            )


def check_submodules(stages: Stages, result: Parsed) -> None:
    """``import a.b`` may not go for good where the result uses a.b and the dropping side not.

    Raises:
        NotSettled: It would; the name a may well be bound by another import.
    """
    there = {name.module for name in result.names}
    for name in {n for stage in stages for n in stage.names if not (n.name or n.alias)}:
        if name.module in there or name.module not in chains(result.tree):
            continue
        for side in stages[1:]:
            if name not in side.names and name.module not in chains(side.tree):
                raise NotSettled(f"one side dropped {name.module} and the other uses it")


def check_uses(path: str, texts: Collection[bytes], results: Collection[bytes]) -> None:
    """What one side alone imports is used by it or the result; a package imports for others.

    Args:
        path: The file's path.
        texts: Its texts: base, ours and theirs.
        results: What was made of them, a text for each way in which it may end.

    Raises:
        NotSettled: It may be a leftover, or there for what it does or for others: no text tells.
    """
    if path.rpartition("/")[2].startswith("__init__."):
        return
    _, *sides = map(parse, texts)
    used = frozenset[str]().union(*map(uses, results))
    ours, theirs = ({(namespace(n.scope), n.bound) for n in side.names} for side in sides)
    for side, alone in zip(sides, (ours - theirs, theirs - ours), strict=True):
        told = {name.bound for name in side.names if name.module == "__future__"}
        idle = sorted({name for _, name in alone} - uses(side.text) - used - told)
        if idle:
            raise NotSettled(f"one side alone imports {', '.join(idle)}, which no text uses")


def _tried(text: Parsed) -> set[tuple[Scope, str]]:
    """The modules imported in try blocks, each with its block."""
    return {(name.scope, name.module) for name in text.names if "try" in name.scope}


def _changed(base: Parsed, side: Parsed) -> tuple[set[Imported], set[Imported]]:
    """The names that a side imports no longer, and those that it imports anew."""
    return set(base.names) - set(side.names), set(side.names) - set(base.names)


def _of(bound: str, names: Collection[Imported]) -> set[Imported]:
    return {name for name in names if name.bound == bound}
