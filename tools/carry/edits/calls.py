"""Finds the calls of a statement, and says which of them it does not make just once."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from carry.edits.scopes import Site

_Part = tuple[ast.AST, str]
_REASONS = {
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
        "the call stands in a comprehension, which repeats it",
    ),
    ast.Lambda: "the call stands in a lambda, which runs when it is called",
    ast.BoolOp: "the call stands behind `and` or `or`, which may skip it",
    ast.IfExp: "the call stands in one branch of a conditional expression",
    ast.Compare: "the call stands in a chained comparison, which may skip it",
    ast.arg: "the call stands in an annotation, which may never be evaluated",
}


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call and the statement that contains it.

    Attributes:
        call: The call.
        site: The innermost statement around it.
        part: The part of a compound statement that holds the call, where it is not the statement's
            own first line: an ``except``, a ``case`` or a decorator.
        in_string: Whether it stands in an f-string.
        apart: Why it may be made at another time than the statement runs, or not as often; empty
            where it is made once each time the statement runs.
    """

    call: ast.Call
    site: Site
    part: ast.AST | None
    in_string: bool
    apart: str


def calls(site: Site) -> Iterator[CallSite]:
    """The calls of one statement, without those of the statements inside it."""
    for node, apart in _parts(site.statement):
        is_part = isinstance(node, ast.ExceptHandler | ast.match_case)
        decorators: list[ast.expr] = getattr(site.statement, "decorator_list", [])
        part = node if is_part or node in decorators else None
        pending = [(node, apart, False)]
        while pending:
            inner, why, in_string = pending.pop()
            if isinstance(inner, ast.Call):
                yield CallSite(inner, site, part, in_string, why)
            in_string = in_string or isinstance(inner, ast.JoinedStr)
            children = reversed(list(_children(inner)))
            pending += [(child, why or reason, in_string) for child, reason in children]


def _parts(statement: ast.stmt) -> Iterator[_Part]:
    """The parts of a statement that are no statements, each with why it is evaluated apart."""
    for field, value in ast.iter_fields(statement):
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, ast.AST) and not isinstance(item, ast.stmt):
                yield item, _apart_in(statement, field, index)


def _apart_in(statement: ast.stmt, field: str, index: int) -> str:  # noqa: PLR0911 - a case each
    match statement, field:
        case (_, "handlers" | "cases"):
            return "the call stands in an `except` or `case` line"
        case (ast.While(), "test"):
            return "the call stands in a loop's condition, which every round evaluates"
        case (ast.For() | ast.AsyncFor(), "target"):
            return "the call stands in a loop's target, which every round evaluates"
        case (ast.With() | ast.AsyncWith(), "items") if index:
            return "the call stands inside another context manager of its `with`"
        case (ast.Assert(), _):
            return "the call stands in an assert, which `python -O` leaves out"
        case (_, "annotation" | "returns" | "type_params") | (ast.TypeAlias(), _):
            return "the call stands in an annotation, which may never be evaluated"
        case _:
            return ""


def _children(node: ast.AST) -> Iterator[_Part]:
    """The nodes inside one, without statements, each with why it is evaluated apart from it."""
    reason = _REASONS.get(type(node), "")
    at_once = _at_once(node) if reason else []
    for child in ast.iter_child_nodes(node):
        is_clause = isinstance(child, ast.comprehension)
        for part in ast.iter_child_nodes(child) if is_clause else [child]:
            if not isinstance(part, ast.stmt):
                yield part, "" if part in at_once else reason


def _at_once(node: ast.AST) -> Sequence[ast.AST]:
    """What is evaluated whenever such a node is, and just once."""
    match node:
        case ast.Lambda(args=args):
            return [args]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return [node.generators[0].iter]
        case ast.BoolOp(values=values):
            return values[:1]
        case ast.IfExp(test=test):
            return [test]
        case ast.Compare(left=left, comparators=comparators):
            return [left, comparators[0]]
        case _:
            return []
