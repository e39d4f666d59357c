"""Documents arguments in Google-style docstrings."""

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from carry.edits.model import DocumentArguments, Edit
from carry.edits.planning import Change, Plan, Text
from carry.edits.scopes import Definition, docstring_of
from carry.edits.source import Source, Splice
from carry.edits.wrapping import LIMIT

_ARGS = re.compile(r"[ \t]*(Args|Arguments|Parameters):[ \t]*$")
_BEHIND_ARGS = re.compile(r"[ \t]*(Returns?|Yields?|Raises):")
_ENTRY = re.compile(r"[ \t]*(?P<name>\\?\*{0,2}\w+)[ \t]*(\([^)]*\))?[ \t]*:(?P<text>.*)$")
_OPENING = re.compile(r"[rRuU]?(\"\"\"|''')")


@dataclass(frozen=True, slots=True)
class Section:
    """The ``Args:`` section of a docstring, in lines of the file from 0.

    Attributes:
        header: The line that says ``Args:``.
        last: The last line that is not blank.
        entries: First line, name and text of each entry.
        indent: Indentation of the entries.
    """

    header: int
    last: int
    entries: tuple[tuple[int, str, str], ...]
    indent: str


def plan_documentation(edit: Edit, operation: DocumentArguments, text: Text) -> Plan:
    """Plans entries in the ``Args:`` sections of the definitions that the edit's scope names.

    Args:
        edit: The edit.
        operation: Its operation.
        text: The text it acts on.

    Returns:
        The plan.
    """
    plan = Plan()
    source = text.source
    for node in text.definitions.get(edit.scope, []):
        docstring = docstring_of(node)
        refusal = "has no docstring" if docstring is None else _unusable(source, docstring)
        never = text.paths.never_runs(node)
        if docstring is None or refusal or never:
            plan.pend(node)
            plan.reasons.append(f"{text.where(node)}: {never or f'{edit.scope} {refusal}'}")
            continue
        section = _section(source, docstring)
        present = {name.lstrip("\\*"): said for _, name, said in section.entries} if section else {}
        if all(present.get(name) == _joined(said) for name, said in operation.entries):
            plan.stand(docstring, _not_taken(node, operation))
            continue
        plan.pend(node)
        clashes = [name for name, _ in operation.entries if name in present]
        if clashes:
            names = ", ".join(clashes)
            plan.reasons.append(
                f"{text.where(docstring)}: documents {names} already, other than wanted"
            )
        elif section:
            plan.changes.append(_add_entries(source, docstring, section, operation))
        else:
            plan.changes.append(_add_section(source, docstring, operation))
    return plan


def _not_taken(node: Definition, operation: DocumentArguments) -> str:
    """Why entries are about nothing: a function has no such parameters."""
    if isinstance(node, ast.ClassDef) or node.args.kwarg:
        return ""
    taken = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
    missing = [name for name, _ in operation.entries if name not in taken]
    return f"{', '.join(missing)} is no parameter of {node.name}" if missing else ""


def _unusable(source: Source, docstring: ast.Constant) -> str:
    start, end = source.span(docstring)
    literal = source.text[start:end]
    opening = _OPENING.match(literal)
    tokens = [token for token in source.tokens(start, end) if token.string != "\\"]
    if not opening or len(tokens) != 1:
        return "has a docstring that is not one triple-quoted string"
    return ""


def _section(source: Source, docstring: ast.Constant) -> Section | None:
    first, last = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
    header = next(
        (
            line
            for line in range(first + 1, last + 1)
            if _ARGS.match(_inner(source, line, docstring))
        ),
        None,
    )
    if header is None:
        return None
    width = len(source.indentation(header))
    end = header
    entries: list[tuple[int, str, list[str]]] = []
    indent = ""
    for line in range(header + 1, last + 1):
        content = _inner(source, line, docstring)
        if not content.strip():
            continue
        if len(source.indentation(line)) <= width:
            break
        end = line
        indent = indent or source.indentation(line)
        entry = _ENTRY.match(content)
        if entry and source.indentation(line) == indent:
            entries.append((line, entry["name"], [entry["text"]]))
        elif entries:
            entries[-1][2].append(content)
    found = tuple((line, name, _joined(" ".join(said))) for line, name, said in entries)
    unit = source.indentation(header) + source.indent_unit
    return Section(header, end, found, indent or unit)


def _inner(source: Source, line: int, docstring: ast.Constant) -> str:
    """A line of a docstring, without the quotes that end it."""
    content = source.content(line)
    if line == (docstring.end_lineno or 0) - 1:
        end = source.span(docstring)[1] - source.line_start(line)
        content = content[: end - 3]
    return content


def _joined(text: str) -> str:
    return " ".join(text.split())


def _entries(operation: DocumentArguments, indent: str, unit: str) -> list[str]:
    lines: list[str] = []
    for name, said in operation.entries:
        lines += textwrap.wrap(
            f"{name}: {_joined(said)}",
            width=LIMIT,
            initial_indent=indent,
            subsequent_indent=indent + unit,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def _add_entries(
    source: Source, docstring: ast.Constant, section: Section, operation: DocumentArguments
) -> Change:
    lines = _entries(operation, section.indent, source.indent_unit)
    starred = next(
        (line for line, name, _ in section.entries if name.lstrip("\\").startswith("**")), None
    )
    if starred is not None:
        at = source.line_start(starred)
        return Change(Splice(at, at, _block(lines)))
    return _behind_line(source, docstring, section.last, lines)


def _add_section(source: Source, docstring: ast.Constant, operation: DocumentArguments) -> Change:
    first, last = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
    indent = source.indentation(first)
    unit = source.indent_unit
    section = [f"{indent}Args:", *_entries(operation, indent + unit, unit)]
    for line in range(first + 1, last + 1):
        if _BEHIND_ARGS.match(_inner(source, line, docstring)):
            at = source.line_start(line)
            return Change(Splice(at, at, f"{_block(section)}\n"))
    filled = [line for line in range(first, last + 1) if _inner(source, line, docstring).strip()]
    return _behind_line(source, docstring, filled[-1], ["", *section])


def _behind_line(
    source: Source, docstring: ast.Constant, line: int, lines: Sequence[str]
) -> Change:
    """Lines behind a line of the docstring, also where its closing quotes stand on that line."""
    last = (docstring.end_lineno or docstring.lineno) - 1
    if line < last:
        at = source.line_start(line + 1)
        return Change(Splice(at, at, _block(lines)))
    end = source.span(docstring)[1] - 3
    at = end - (len(source.text[:end]) - len(source.text[:end].rstrip(" \t")))
    indent = source.indentation(docstring.lineno - 1)
    return Change(Splice(at, end, f"\n{_block(lines)}{indent}"))


def _block(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
