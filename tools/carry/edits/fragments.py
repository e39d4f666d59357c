"""Checks the Python text that edits bring, before any file is touched."""

import ast
import textwrap
from functools import cache

from carry.edits.model import (
    AddArguments,
    AddParameters,
    DocumentArguments,
    EditStatement,
    InsertAtStart,
    Operation,
)


class FragmentError(Exception):
    """Python text of an edit that cannot be used, with the reason."""


def check_operation(operation: Operation) -> None:
    """Checks the Python text of an operation.

    Args:
        operation: What the edit does.

    Raises:
        FragmentError: Some text is no Python or not what the operation takes.
    """
    match operation:
        case AddParameters(parameters=parameters):
            _refuse_repeats([parse_parameter(text).arg for text in parameters])
        case AddArguments(arguments=arguments):
            _refuse_repeats([str(parse_argument(text).arg) for text in arguments])
        case InsertAtStart(text=text):
            parse_statements(text)
        case DocumentArguments(entries=entries):
            for name, said in entries:
                if "\\" in said or '"""' in said or "'''" in said:
                    raise FragmentError(f"the text of {name!r} holds a backslash or three quotes")
        case EditStatement(text=text) if operation.action != "remove":
            parse_statements(text)
        case _:
            pass


@cache
def parse_statements(text: str) -> list[ast.stmt]:
    """The statements of a text.

    Args:
        text: Statements from column 0.

    Returns:
        At least one statement.

    Raises:
        FragmentError: The text is no Python or holds no statement.
    """
    if text.startswith((" ", "\t")) and textwrap.dedent(text) != text:
        raise FragmentError("the statements must start in column 0")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise FragmentError(f"no Python statements: {error}") from error
    if not body:
        raise FragmentError("holds no statement")
    return body


def parse_parameter(text: str) -> ast.arg:
    """The one keyword-only parameter that a text declares.

    Args:
        text: ``name: annotation = default``; annotation and default may be missing.

    Returns:
        The parameter.

    Raises:
        FragmentError: The text is anything else.
    """
    return parse_parameter_and_default(text)[0]


@cache
def parse_parameter_and_default(text: str) -> tuple[ast.arg, ast.expr | None]:
    """As `parse_parameter`, with the default.

    Args:
        text: ``name: annotation = default``.

    Returns:
        The parameter and its default, None where it has none.

    Raises:
        FragmentError: The text is anything but one plain parameter on one line.
    """
    if text.lstrip().startswith(("*", "/")):
        raise FragmentError(f"{text!r}: only plain keyword-only parameters can be added")
    tree = _parse_in(f"def _(*, {text}): pass", text)
    definition = tree.body[0]
    if len(tree.body) != 1 or not isinstance(definition, ast.FunctionDef):
        raise FragmentError(f"{text!r} is not one parameter")
    arguments = definition.args
    others = arguments.args or arguments.posonlyargs or arguments.vararg or arguments.kwarg
    if others or len(arguments.kwonlyargs) != 1 or len(definition.body) != 1:
        raise FragmentError(f"{text!r} is not one parameter; list each by itself")
    return arguments.kwonlyargs[0], arguments.kw_defaults[0]


@cache
def parse_argument(text: str) -> ast.keyword:
    """The one keyword argument that a text passes.

    Args:
        text: ``name=value``.

    Returns:
        The argument.

    Raises:
        FragmentError: The text is anything else; a positional argument could not be told from those
            that stand already.
    """
    tree = _parse_in(f"_({text})", text)
    statement = tree.body[0]
    if len(tree.body) != 1 or not (
        isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call)
    ):
        raise FragmentError(f"{text!r} is not one keyword argument")
    if not isinstance(call.func, ast.Name) or call.args or len(call.keywords) != 1:
        raise FragmentError(
            f"{text!r} is not one keyword argument; write name=value, each by itself"
        )
    keyword = call.keywords[0]
    if keyword.arg is None:
        raise FragmentError(f"{text!r}: only plain keyword arguments can be added")
    return keyword


def _parse_in(wrapped: str, text: str) -> ast.Module:
    if "\n" in text or "\r" in text:
        raise FragmentError(f"{text!r} must be one line")
    try:
        return ast.parse(wrapped)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise FragmentError(f"{text!r} is no Python here: {error}") from error


def _refuse_repeats(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise FragmentError(f"{name!r} stands twice")
