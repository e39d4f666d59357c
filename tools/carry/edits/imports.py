"""Adds imports, where isort's black profile would put them."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from carry.edits.brackets import elements_of
from carry.edits.layout import lay_out_import, names_of
from carry.edits.model import AddImport
from carry.edits.placing import shared_line
from carry.edits.planning import Change, Order, Plan, Text, WantedImport
from carry.edits.scopes import Site, bindings_of
from carry.edits.source import Source, Splice

Import = ast.Import | ast.ImportFrom


class Section(IntEnum):
    """isort's sections, in their order."""

    FUTURE = 0
    STANDARD = 1
    THIRD_PARTY = 2
    FIRST_PARTY = 3
    LOCAL = 4


Place = tuple[Section, bool, str]


@dataclass(frozen=True, slots=True)
class NewImport:
    """A new import statement.

    Attributes:
        at: Offset it goes to.
        line: Its text.
        place: What isort sorts it by: section, plain imports first, module.
        above: Line endings to put before it.
        below: Line endings to put behind it.
    """

    at: int
    line: str
    place: Place
    above: str
    below: str


def plan_import(operation: AddImport, text: Text) -> Plan:
    """Plans an import.

    Args:
        operation: What to import.
        text: The text it acts on.

    Returns:
        The plan. Names that are imported already are left out; others are added.
    """
    plan = Plan()
    sites = [site for site in text.sites("") if not text.paths.never_runs(site.statement)]
    imports = [site for site in sites if isinstance(site.statement, Import)]
    holding = [site for site in imports if text.paths.on_every_path(site)]
    wanted = operation.names or (operation.module,)
    module = operation.module if operation.names else ""
    bound = _bound(holding)
    missing = [name for name in wanted if (module, name) not in bound.get(name, {})]
    if not missing:
        plan.standing = 1
        return plan
    plan.pending = 1
    plan.reasons = _clashes(module, missing, sites)
    same_module = [site for site in imports if operation.names and _imports(site, module)]
    lasting = [site for site in same_module if site in holding]
    if len(lasting) > 1:
        lines = ", ".join(str(site.statement.lineno) for site in lasting)
        plan.pending = len(lasting)
        plan.reasons.append(f"several statements import from {module}: lines {lines}")
    elif not lasting and same_module and not plan.reasons:
        where = text.where(same_module[0].statement)
        plan.reasons.append(f"{where}: what it imports is bound on one path only")
    statement = lasting[0].statement if lasting else None
    assert statement is None or isinstance(statement, ast.ImportFrom)  # noqa: S101 - see `_imports`
    refusal = shared_line(text.source, lasting[0]) if lasting else ""
    if statement and refusal:
        plan.reasons.append(f"{text.where(statement)}: {refusal}")
    if not plan.reasons:
        names = tuple(missing) if operation.names else ()
        plan.imports.append(WantedImport(statement, operation.module, names))
    return plan


def _clashes(module: str, names: Sequence[str], sites: Sequence[Site]) -> list[str]:
    """Why names cannot be imported: what else the module binds them to, or on which path."""
    imported = _bound(site for site in sites if isinstance(site.statement, Import))
    others: dict[str, int] = {}
    for site in sites:
        if not isinstance(site.statement, Import):
            for name in bindings_of(site.statement):
                others.setdefault(name, site.statement.lineno)
    elsewhere: list[str] = []
    reasons: list[str] = []
    for name in names:
        places = imported.get(name, {})
        top = name.partition(".")[0]
        if places.keys() - {(module, name)}:
            elsewhere.append(name)
        elif places:
            line = places[module, name]
            reasons.append(f"line {line}: it imports {name} on one path only")
        elif top in others:
            reasons.append(f"line {others[top]}: {top} is bound there to something else")
    if elsewhere:
        reasons.insert(0, f"{', '.join(elsewhere)} is imported from elsewhere already")
    return reasons


def add_imports(source: Source, wanted: Sequence[WantedImport]) -> list[Change]:
    """The splices that add imports.

    Args:
        source: The file.
        wanted: The imports of all edits, in any order.

    Returns:
        Splices that do not overlap.
    """
    changes: list[Change] = []
    extended: dict[int, tuple[ast.ImportFrom, dict[str, None]]] = {}
    fresh: dict[tuple[str, bool], dict[str, None]] = {}
    for item in wanted:
        if item.statement:
            _, names = extended.setdefault(id(item.statement), (item.statement, {}))
        else:
            names = fresh.setdefault((item.module, bool(item.names)), {})
        names |= dict.fromkeys(item.names)
    for statement, names in extended.values():
        changes += _extend(source, statement, sorted(names, key=sort_key))
    places: dict[int, list[NewImport]] = {}
    for (module, _), names in fresh.items():
        new = _new_statement(source, module, sorted(names, key=sort_key))
        places.setdefault(new.at, []).append(new)
    changes += [_joined(news) for news in places.values()]
    return changes


def _joined(news: Sequence[NewImport]) -> Change:
    """New statements at one place, in order and with a blank line between sections."""
    ordered = sorted(news, key=lambda new: new.place)
    text = ordered[0].above
    for previous, new in zip([None, *ordered], ordered, strict=False):
        text += "\n" if previous and previous.place[0] != new.place[0] else ""
        text += f"{new.line}\n"
    at = ordered[0].at
    return Change(Splice(at, at, text + ordered[-1].below), Order.AFTER)


def _module(statement: ast.ImportFrom) -> str:
    return "." * statement.level + (statement.module or "")


def _imports(site: Site, module: str) -> bool:
    statement = site.statement
    return (
        isinstance(statement, ast.ImportFrom)
        and _module(statement) == module
        and statement.names[0].name != "*"
    )


def _bound(sites: Iterable[Site]) -> dict[str, dict[tuple[str, str], int]]:
    """What each imported name is, and in which line: the module and the name there.

    A module itself has no module around it.
    """
    bound: dict[str, dict[tuple[str, str], int]] = {}
    for site in sites:
        statement = site.statement
        assert isinstance(statement, Import)  # noqa: S101 - the caller chose imports
        module = _module(statement) if isinstance(statement, ast.ImportFrom) else ""
        for alias in statement.names:
            places = bound.setdefault(alias.asname or alias.name, {})
            places.setdefault((module, alias.name), statement.lineno)
    return bound


def sort_key(name: str) -> tuple[int, list[tuple[int, int, str]], str]:
    """Isort's order of names: constants, classes, the rest; numbers by value, case last."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, _natural(name), name


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", name.lower())
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]


def _extend(source: Source, statement: ast.stmt, missing: Sequence[str]) -> list[Change]:
    assert isinstance(statement, ast.ImportFrom)  # noqa: S101 - the caller chose those
    start, end = source.span(statement)
    indent = source.indentation(source.line_of(start))
    present = names_of(statement)
    names = _sorted_in(present, missing)
    module = _module(statement)
    old = source.between(start, end)
    if old == lay_out_import(module, present, indent, source.indent_unit):
        return [
            Change(Splice(start, end, lay_out_import(module, names, indent, source.indent_unit)))
        ]
    return _extend_locally(source, statement, missing)


def _sorted_in(present: Sequence[str], missing: Sequence[str]) -> list[str]:
    """The names with the missing ones before the first that sorts behind them."""
    names = list(present)
    for name in missing:
        index = next(
            (i for i, other in enumerate(names) if sort_key(other) > sort_key(name)), len(names)
        )
        names.insert(index, name)
    return names


def _extend_locally(
    source: Source, statement: ast.ImportFrom, missing: Sequence[str]
) -> list[Change]:
    """Adds names to a statement that has a layout of its own, and touches no other part of it."""
    start, end = source.span(statement)
    if source.text[end - 1] != ")":
        names = ", ".join(missing)
        return [Change(Splice(end, end, f", {names}"))]
    at = next(token.start for token in source.tokens(start, end) if token.string == "(")
    present = elements_of(source, at, end - 1)
    lines = [source.line_of(element.start) for element in present]
    exploded = len(set(lines)) == len(lines) and lines[0] > source.line_of(at)
    last = present[-1]
    if not exploded:
        return [Change(Splice(last.end, last.end, f", {', '.join(missing)}"))]
    texts = [source.text[element.start : element.end] for element in present]
    changes = []
    for name in missing:
        index = next((i for i, other in enumerate(texts) if sort_key(other) > sort_key(name)), None)
        indent = source.indentation(lines[0])
        if index is not None:
            offset = source.line_start(lines[index])
            changes.append(Change(Splice(offset, offset, f"{indent}{name},\n")))
            continue
        if last.comma is None:
            changes.append(Change(Splice(last.end, last.end, ",")))
        offset = source.line_start(source.line_of(last.comma or last.end) + 1)
        changes.append(Change(Splice(offset, offset, f"{indent}{name},\n")))
    return changes


def _section(statement: Import) -> Section:
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return Section.LOCAL
    module = statement.module if isinstance(statement, ast.ImportFrom) else statement.names[0].name
    return section_of(module or "")


def section_of(module: str) -> Section:
    """The section that isort puts a module in; leading dots make it relative."""
    if module.startswith("."):
        return Section.LOCAL
    top = module.partition(".")[0]
    if top == "__future__":
        return Section.FUTURE
    if top in sys.stdlib_module_names:
        return Section.STANDARD
    return Section.FIRST_PARTY if top == "megatron" else Section.THIRD_PARTY


def _place(statement: Import) -> Place:
    """Where a statement sorts: section, plain imports first, then the module."""
    if isinstance(statement, ast.ImportFrom):
        return _section(statement), True, _module(statement).lower()
    return _section(statement), False, statement.names[0].name.lower()


def _new_statement(source: Source, module: str, names: Sequence[str]) -> NewImport:
    line = lay_out_import(module, names, "", source.indent_unit) if names else f"import {module}"
    place = (section_of(module), bool(names), module.lower())
    runs = list(_runs(source))
    if not runs:
        return _first_import(source, line, place)
    # A file may go on importing behind other statements; the section's own imports lead.
    run = next((run for run in runs if any(_place(one)[0] == place[0] for one in run)), runs[0])
    earlier = [statement for statement in run if _place(statement) < place]
    if not earlier:
        below = "\n" if _place(run[0])[0] != place[0] else ""
        return NewImport(_start(source, run[0]), line, place, "", below)
    # Behind the last one that sorts before it, so that an unsorted block keeps its order.
    anchor = earlier[-1]
    following = run[run.index(anchor) + 1 :]
    fresh_section = _place(anchor)[0] != place[0]
    if fresh_section and following and _place(following[0])[0] == place[0]:
        return NewImport(_start(source, following[0]), line, place, "", "")
    at = source.line_start(source.line_of(source.span(anchor)[1] - 1) + 1)
    above = "\n" if fresh_section else ""
    if source.text[at - 1 : at] not in ("\n", "\r"):
        # The file ends without a line ending behind its last import.
        return NewImport(at, line, place, f"\n{above}", "")
    return NewImport(at, line, place, above, "")


def _runs(source: Source) -> Iterator[list[Import]]:
    """Runs of imports at the top level, with nothing else between them."""
    run: list[Import] = []
    for statement in source.tree.body:
        if isinstance(statement, Import):
            run.append(statement)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _start(source: Source, statement: ast.stmt) -> int:
    return source.line_start(source.line_of(source.span(statement)[0]))


def _first_import(source: Source, line: str, place: Place) -> NewImport:
    """A file's first import: behind its docstring, or before its first statement."""
    body = source.tree.body
    if ast.get_docstring(source.tree, clean=False) is not None:
        at = source.line_start(source.line_of(source.span(body[0])[1] - 1) + 1)
        ended = source.text[at - 1] in "\r\n"
        return NewImport(at, line, place, "\n" if ended else "\n\n", "")
    if not body:
        at = len(source.text)
        ended = not source.text or source.text[-1] in "\r\n"
        return NewImport(at, line, place, "" if ended else "\n", "")
    return NewImport(_start(source, body[0]), line, place, "", "\n")
