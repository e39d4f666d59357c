"""Reads edit files; every mistake in one is named by file, line and key."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from carry.edit_paths import SUFFIX
from carry.edits.fragments import FragmentError, check_operation
from carry.edits.model import (
    Action,
    AddArguments,
    AddImport,
    AddParameters,
    Anchor,
    DocumentArguments,
    Edit,
    EditFile,
    EditStatement,
    InsertAtStart,
    Operation,
    describe,
)
from carry.edits.schema_errors import explain
from stack.errors import Refusal

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

_ACTIONS: tuple[Action, ...] = ("before", "after", "replace", "remove")
_ANCHORS: tuple[Anchor, ...] = ("call", "assign", "return")


def load_edit_file(root: Path, path: Path) -> EditFile:
    """Loads one edit file.

    Args:
        root: The folder that paths are relative to.
        path: The edit file.

    Returns:
        The edits it declares.

    Raises:
        Refusal: The file cannot be read, is no YAML, breaks the schema, or brings what is no
            Python.
    """
    source = PurePosixPath(path.relative_to(root).as_posix())
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{source}: cannot be read as UTF-8 text: {error}") from error
    return parse_edit_file(source, text)


def parse_edit_file(source: PurePosixPath, text: str) -> EditFile:
    """Reads the text of one edit file.

    Args:
        source: Path of the edit file, ``.../NAME.edits.yml``.
        text: Its text.

    Returns:
        The edits it declares, for ``.../NAME.py``.

    Raises:
        Refusal: As for `load_edit_file`.
    """
    node, data = _read_yaml(source, text)
    lines = dict(_key_lines(node, ()))
    errors = list(_validator().iter_errors(data))
    if errors:
        worst = min(errors, key=lambda error: _rank(lines, error))
        raise Refusal(_schema_message(source, lines, worst))
    edits = tuple(_edit(source, entry, index, lines) for index, entry in enumerate(data["edits"]))
    absent_with = data.get("absent-with")
    return EditFile(
        path=source.with_name(source.name.removesuffix(SUFFIX) + ".py"),
        source=source,
        absent_with=PurePosixPath(absent_with) if absent_with else None,
        absent_means=" ".join(data.get("absent-means", "").split()),
        edits=edits,
    )


KeyPath = tuple[str | int, ...]


def _read_yaml(source: PurePosixPath, text: str) -> tuple[yaml.Node | None, Any]:
    """The composed node, which knows its lines, and the plain data of the same text."""
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Refusal(
            f"{source}:{line}: no valid YAML: the character U+{error.character:04X}; take it out"
        ) from error
    try:
        node = loader.get_single_node()
        data = loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise Refusal(
            f"{source}:{line}: no valid YAML: {error.problem or error.context}"
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        raise Refusal(f"{source}:1: no valid YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise Refusal(f"{source}:1: nested too deep; edits are one list of plain keys") from error
    finally:
        loader.dispose()
    _refuse_repeats(source, node, set())
    return node, data


def _refuse_repeats(source: PurePosixPath, node: yaml.Node | None, known: set[int]) -> None:
    """Refuse a node that an alias names again, and a key that stands twice.

    Nodes within themselves have no end, and ten levels of ten aliases have ten billion nodes. Of
    two equal keys PyYAML keeps the last without a word, which would drop an edit's text.
    """
    if id(node) in known and node is not None:
        line = node.start_mark.line + 1
        raise Refusal(f"{source}:{line}: an alias names it elsewhere; write it out there")
    known.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeats(source, item, known)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                raise Refusal(f"{source}:{line}: {key.value}: the key stands twice; keep one")
            seen.add(str(key.value))
            _refuse_repeats(source, value, known)


def _key_lines(node: yaml.Node | None, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    """Line, from 1, of every key and list item."""
    if node is None:
        return
    if not path:
        yield path, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield (*path, index), item.start_mark.line + 1
            yield from _key_lines(item, (*path, index))
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, key.value), key.start_mark.line + 1
            yield from _key_lines(value, (*path, key.value))


def _line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _rank(lines: Mapping[KeyPath, int], error: "ValidationError") -> tuple[int, bool]:
    """The first mistake of the file comes first; a misspelt key explains others beside it."""
    line = _line_of(lines, tuple(error.absolute_path))
    return line, error.validator != "additionalProperties"


def _schema_message(
    source: PurePosixPath, lines: Mapping[KeyPath, int], error: "ValidationError"
) -> str:
    path, problem = explain(error)
    key = next((f"{part}: " for part in reversed(path) if isinstance(part, str)), "")
    return f"{source}:{_line_of(lines, path)}: {key}{problem}"


@cache
def _validator() -> "Draft202012Validator":
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - takes as long as a dozen merges

    text = files("carry").joinpath("edits.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def _edit(
    source: PurePosixPath, entry: Mapping[str, Any], index: int, lines: Mapping[KeyPath, int]
) -> Edit:
    operation, key = _operation(entry)
    try:
        check_operation(operation)
    except FragmentError as error:
        line = _line_of(lines, ("edits", index, key))
        raise Refusal(f"{source}:{line}: {key}: {error}") from error
    scope = entry.get("in", "")
    where = f" in {scope}" if scope else ""
    return Edit(
        pr=entry["pr"],
        commit=entry["commit"],
        scope=scope,
        count=entry.get("count", 1),
        operation=operation,
        place=f"{source}:{_line_of(lines, ('edits', index))}: {describe(operation)}{where}",
    )


def _operation(entry: Mapping[str, Any]) -> tuple[Operation, str]:
    """The operation of a valid entry, and the key that holds the Python text it brings."""
    if "add-parameters" in entry:
        return AddParameters(tuple(entry["add-parameters"])), "add-parameters"
    if "call" in entry:
        return AddArguments(entry["call"], tuple(entry["add-args"])), "add-args"
    if "at-start" in entry:
        return InsertAtStart(entry["insert"]), "insert"
    if "add-import" in entry:
        wanted = entry["add-import"]
        module = wanted.get("from", wanted.get("import"))
        return AddImport(module, tuple(wanted.get("names", ()))), "add-import"
    if "document-args" in entry:
        return DocumentArguments(tuple(entry["document-args"].items())), "document-args"
    action, anchor = next(
        (action, anchor)
        for action in _ACTIONS
        for anchor in _ANCHORS
        if f"{action}-{anchor}" in entry
    )
    key = {"replace": "with", "remove": f"remove-{anchor}"}.get(action, "insert")
    name = "" if anchor == "return" else entry[f"{action}-{anchor}"]
    return EditStatement(
        action, anchor, name, entry.get(key, "") if key in ("insert", "with") else ""
    ), key
