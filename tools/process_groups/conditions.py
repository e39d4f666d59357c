"""What a test says about the code that runs under it.

A fact is a string. A caller gives the facts of the smallest tests (the atoms); this module knows
how ``not``, ``and`` and ``or`` combine them, and which code an early exit leaves behind.
"""

import ast
from collections.abc import Iterable
from typing import Protocol

Facts = frozenset[str]

NO_FACTS: Facts = frozenset()


class Atom(Protocol):
    """Gives the facts that hold once a smallest test has come out as ``truth``."""

    def __call__(self, test: ast.expr, /, *, truth: bool) -> Facts:
        """Return the facts."""


def implied(test: ast.expr, atom: Atom, *, truth: bool) -> Facts:
    """Return the facts that hold once ``test`` has come out as ``truth``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return implied(test.operand, atom, truth=not truth)
    if isinstance(test, ast.BoolOp):
        parts = [implied(value, atom, truth=truth) for value in test.values]
        # `and` is true, and `or` false, only if all parts are; otherwise any one part may have
        # decided, and only what they share is known.
        if isinstance(test.op, ast.And) == truth:
            return parts[0].union(*parts[1:])
        return parts[0].intersection(*parts[1:])
    if isinstance(test, ast.NamedExpr):
        return implied(test.value, atom, truth=truth)
    return atom(test, truth=truth)


def after(statement: ast.stmt, atom: Atom) -> Facts:
    """Return the facts that hold behind ``statement`` because one branch of it leaves.

    A branch that only raises tells nothing: it demands the grid, it does not do without it.
    """
    if not isinstance(statement, ast.If):
        return NO_FACTS
    facts = NO_FACTS
    if leaves(statement.body):
        facts |= implied(statement.test, atom, truth=False)
    if leaves(statement.orelse):
        facts |= implied(statement.test, atom, truth=True)
    return facts


def leaves(body: Iterable[ast.stmt]) -> bool:
    """Tell whether ``body`` always leaves the code around it, and not only by raising."""
    return _exits(body) == {"ends", "quietly"}


def _exits(body: Iterable[ast.stmt]) -> set[str]:
    """Return ``ends`` if the body never runs off its end, ``quietly`` if it may return."""
    found: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.Raise):
            return found | {"ends"}
        if isinstance(statement, ast.Return | ast.Continue | ast.Break):
            return found | {"ends", "quietly"}
        if not isinstance(statement, ast.If):
            continue
        first, second = _exits(statement.body), _exits(statement.orelse)
        found |= (first | second) & {"quietly"}
        if "ends" in first & second:
            return found | {"ends"}
    return found
