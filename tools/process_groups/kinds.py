"""The kind of a read, by the tests it runs under.

``guarded``
    It runs only where a grid test of ``parallel_state.py`` came out true: in the branch of an
    ``if`` or a conditional expression, behind ``and``, or after an early exit
    (``if not parallel_state.is_initialized(): return``).
``fallback``
    It runs only where the caller gave no group: a parameter of an enclosing function that is
    named like a process group, a collection, or a rank or size in one (``tp_group``, ``pg``,
    ``pg_collection``, ``ep_rank``, ``tensor_model_parallel_size``; not ``param_group`` or
    ``hidden_size``) was ``None`` or false; a rank ``None``, for 0 is one. The same forms count: a
    branch, ``group or f()``, ``group if group is not None else f()``, and an early exit for
    callers that gave one. A parameter that may have been assigned by then (further up, in the
    loop around both, or anywhere if the test stands in an inner function) is no longer what the
    caller gave, unless it was assigned another such parameter, or under that very test.
``warned``
    A fallback that says so: a statement that calls ``warn_process_group_fallback`` of
    ``process_group_fallback.py`` comes before it on every way there, in its own block or in one
    around it. A call to ``resolve_process_groups`` of that module is always one.
``accessor``, ``shim``
    Everything else.

A read under a grid test is guarded, whatever else holds. A test may stand in a local variable that
is assigned once. An ``assert``, or a branch that only raises, is no test in this sense: it demands
the grid instead of doing without it. A test of anything but a parameter (``self.group is None``,
``config.pg_collection is None``, ``hasattr(pg_collection, "tp")``) says nothing about what the
caller gave.
"""

import ast
import re

from process_groups.bindings import Function, Value, statements_of
from process_groups.conditions import NO_FACTS, Facts, after, implied
from process_groups.meaning import RESOLVE, SHIM, Meanings
from process_groups.scope import Scope

_GUARDED = "guarded"
_FALLBACK = "fallback"
_WARNED = "warned"
_GROUP_NAME = re.compile(
    # Groups of parameters, buckets and tokens are none of processes.
    r"(?:.*_)?(?<!param_)(?<!bucket_)(?<!num_)(?<!model_)(?<!main_)groups?"
    r"|(?:.*_)?(?:pg|pgs|pg_collections?)"
    # A rank or size counts if it is one along a dimension of a grid.
    r"|(?:.*_)?(?:tp|cp|pp|dp|ep|mp|etp|edp|expt|gtp|fsdp|(?<!virtual_pipeline_model_)parallel)"
    r"(?:_group|_world|_remat)?_(?:rank|size)"
    r"|(?:world|group|process_group)_size|(?:global_)?rank"
)


class Kinds:
    """Tells what the tests of one file say about the reads under them.

    Args:
        meanings: Follows the names of the file.
    """

    def __init__(self, meanings: Meanings) -> None:
        self._meanings = meanings
        self._asked: list[str] = []

    def kind(self, function: str, facts: Facts) -> str:
        """Return the kind of a read of ``function`` (see ``Read.function``) under ``facts``."""
        if _GUARDED in facts:
            return _GUARDED
        if function == RESOLVE or {_FALLBACK, _WARNED} <= facts:
            return _WARNED
        if _FALLBACK in facts:
            return _FALLBACK
        return "shim" if function.endswith(SHIM) else "accessor"

    def implied(self, test: ast.expr, scope: Scope, *, truth: bool) -> Facts:
        """Return the facts that hold once ``test`` has come out as ``truth``."""
        return implied(test, _AtomHere(self, scope), truth=truth)

    def after(self, statement: ast.stmt, scope: Scope) -> Facts:
        """Return the facts that hold behind ``statement``.

        One branch of it leaves, or it is a warning.
        """
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            warns = self._meanings.is_warning(statement.value.func, scope)
            return frozenset({_WARNED}) if warns else NO_FACTS
        return after(statement, _AtomHere(self, scope))

    def atom(self, test: ast.expr, scope: Scope, *, truth: bool) -> Facts:
        """Return the facts of a test that is no combination of others."""
        if isinstance(test, ast.Call):
            exists = truth and self._meanings.is_grid_test(test.func, scope)
            return frozenset({_GUARDED}) if exists else NO_FACTS
        absent = not truth
        if isinstance(test, ast.Compare):
            name = _compared_with_none(test)
            absent = isinstance(test.ops[0], ast.Is | ast.Eq) == truth
        else:
            name = test.id if isinstance(test, ast.Name) else None
            # A caller that gave rank 0 gave one.
            absent = absent and not (name or "").endswith("rank")
        if name is None:
            return NO_FACTS
        if _is_group_parameter(name, test, scope):
            return frozenset({_FALLBACK}) if absent else NO_FACTS
        return NO_FACTS if isinstance(test, ast.Compare) else self._of_variable(name, scope, truth)

    def _of_variable(self, name: str, scope: Scope, truth: bool) -> Facts:  # noqa: FBT001 - internal
        place = scope.find(name)
        bindings = scope.bindings(name)
        # A variable that is set from itself says nothing.
        if place is None or len(bindings) != 1 or name in self._asked:
            return NO_FACTS
        binding = bindings[0]
        if not isinstance(binding, Value):
            return NO_FACTS
        self._asked.append(name)
        facts = self.implied(binding.node, place, truth=truth)
        self._asked.pop()
        return facts


class _AtomHere:
    """``Kinds.atom`` in one scope."""

    def __init__(self, kinds: Kinds, scope: Scope) -> None:
        self._kinds = kinds
        self._scope = scope

    def __call__(self, test: ast.expr, /, *, truth: bool) -> Facts:
        return self._kinds.atom(test, self._scope, truth=truth)


def _is_group_parameter(name: str, test: ast.expr, scope: Scope) -> bool:
    if not _GROUP_NAME.fullmatch(name):
        return False
    place = scope.find(name)
    if place is None or name not in place.names.parameters:
        return False
    # The parameter itself comes first; what is bound by a loop or `with` has no value to place.
    _, *later = place.names.bound[name]
    return all(
        isinstance(item, Value)
        and (not _may_precede(item.node, test, scope, place) or _is_callers(item.node, place))
        for item in later
    )


def _may_precede(value: ast.expr, test: ast.expr, scope: Scope, place: Scope) -> bool:
    """Tell whether ``value`` may be assigned to a parameter of ``place`` before ``test`` runs."""
    if _span(value)[1] <= _span(test)[0]:
        return True
    if _holds(value, test):
        return False
    body = place.node.body if isinstance(place.node, Function) else ()
    around = [
        item
        for item in statements_of(body, into_definitions=True)
        if isinstance(item, ast.If | ast.While | ast.For | ast.AsyncFor) and _holds(item, value)
    ]
    if any(isinstance(item, ast.If | ast.While) and _holds(item.test, test) for item in around):
        return False
    in_a_loop = any(not isinstance(item, ast.If) and _holds(item, test) for item in around)
    return in_a_loop or _runs_later(scope, place)


def _runs_later(scope: Scope, place: Scope) -> bool:
    """Tell whether ``scope`` is that of a function inside ``place``, or stands in one."""
    at: Scope | None = scope
    while at is not None and at is not place:
        if isinstance(at.node, Function | ast.Lambda):
            return True
        at = at.parent
    return False


def _holds(outer: ast.stmt | ast.expr, inner: ast.expr) -> bool:
    """Tell whether the text of ``inner`` lies in that of ``outer``."""
    first, last = _span(outer)
    start, end = _span(inner)
    return first <= start and end <= last


def _span(node: ast.stmt | ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where a node starts and ends: line and column."""
    start = node.lineno, node.col_offset
    return start, (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _is_callers(value: ast.expr, scope: Scope) -> bool:
    """Tell whether a value is another group that the caller gave."""
    return isinstance(value, ast.Name) and _is_group_parameter(value.id, value, scope)


def _compared_with_none(test: ast.Compare) -> str | None:
    if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        return None
    sides = [test.left, test.comparators[0]]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    nones = [side for side in sides if isinstance(side, ast.Constant) and side.value is None]
    return names[0] if len(names) == len(nones) == 1 else None
