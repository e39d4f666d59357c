"""What a tree's own ``parallel_state.py`` says the global grid is.

No function of it is known by name. The derivation follows values:

* A *maker* is a function that calls one of torch's functions that make a process group, directly
  or through another function of the module.
* The *state* is the module-level variables that a function assigns what a maker returned, or the
  ranks that the same function handed to a maker.
* An *accessor* is a function, no maker, whose result comes from the state or from another
  accessor: the group itself, a rank, a size, a rank list, or anything computed from them. A
  comparison with ``None`` asks only whether the grid exists and carries no value.
* A *grid test* is a function that is no accessor and answers true only where a variable of the
  state is not ``None``.

So setters and teardown (no result), the counters of virtual pipeline stages (assigned, but never
from a group) and memory buffers are none of these.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from process_groups.bindings import Function, parameters_of, statements_of
from process_groups.conditions import NO_FACTS, Facts, after, implied
from process_groups.errors import ScanError

PATH = "megatron/core/parallel_state.py"
MODULE = "megatron.core.parallel_state"

_TORCH_MAKERS = frozenset(
    {"new_group", "new_subgroups", "new_subgroups_by_enumeration", "split_group"}
)
_FILLING_METHODS = frozenset({"add", "append", "extend", "insert", "setdefault", "update"})
_EXISTS = "exists"


class Grid(NamedTuple):
    """The names of ``parallel_state.py`` that matter.

    Attributes:
        accessors: Functions whose result comes from a process group of the grid.
        state: Module-level variables that hold a process group or its ranks.
        tests: Functions that tell whether the grid exists.
    """

    accessors: frozenset[str]
    state: frozenset[str]
    tests: frozenset[str]


def derive(tree: ast.Module) -> Grid:
    """Return the grid that a parsed ``parallel_state.py`` holds.

    Raises:
        ScanError: No function of it returns a process group.
    """
    top_level = list(statements_of(tree.body, into_definitions=False))
    functions = {node.name: node for node in top_level if isinstance(node, Function)}
    flows = {name: _Flow(node) for name, node in functions.items()}
    makers = _makers(flows)
    variables = {
        item.id
        for node in top_level
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for item in ast.walk(node)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    }
    state = _state(flows, makers, variables)
    accessors = _accessors(top_level, flows, makers, state)
    if not accessors:
        raise ScanError(
            f"{PATH}: no function returns a process group that this module makes; "
            "the scan needs the tree's own parallel_state.py"
        )
    rest = {name: functions[name] for name in functions.keys() - accessors - makers}
    tests = {name for name, node in rest.items() if _is_grid_test(node, state)}
    return Grid(frozenset(accessors), frozenset(state), frozenset(tests))


class _Flow:
    """Where the values in one function come from, without regard to order."""

    def __init__(self, node: Function) -> None:
        self.parameters = {argument.arg for argument in parameters_of(node.args)}
        self.globals: set[str] = set()
        self.sources: dict[str, list[ast.expr]] = {}
        self._bound: set[str] = set()
        self.calls: list[ast.Call] = []
        self.returns: list[ast.expr] = []
        self._collect(node.body, self.returns)

    def _collect(self, body: list[ast.stmt], returns: list[ast.expr]) -> None:
        pending: list[ast.AST] = list(body)
        while pending:
            node = pending.pop()
            if isinstance(node, Function):
                inner: list[ast.expr] = []
                self._collect(node.body, inner)
                self.sources.setdefault(node.name, []).extend(inner)
                self._bound.add(node.name)
                continue
            pending.extend(ast.iter_child_nodes(node))
            if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
                returns.extend(filter(None, [node.value]))
            elif isinstance(node, ast.Global):
                self.globals.update(node.names)
            elif isinstance(node, ast.Call):
                self.calls.append(node)
                self._fill(node)
            else:
                for target, value in _assigned(node):
                    self._assign(target, value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.sources.setdefault(node.id, []).append(value)
                if isinstance(node.ctx, ast.Store):
                    self._bound.add(node.id)

    def _fill(self, call: ast.Call) -> None:
        # `groups.append(group)` and `groups.update(...)` fill what they are called on.
        method = call.func
        if (
            isinstance(method, ast.Attribute)
            and method.attr in _FILLING_METHODS
            and isinstance(method.value, ast.Name)
        ):
            self.sources.setdefault(method.value.id, []).extend(call.args)

    def is_local(self, name: str) -> bool:
        """Tell whether ``name`` is the function's own, not the module's."""
        return name not in self.globals and (name in self._bound or name in self.parameters)

    def leaves_of(self, value: ast.expr) -> Iterator[ast.expr]:
        """Yield every name and call that ``value`` may carry the value of."""
        pending, seen = [value], set()
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Compare) and any(_is_none(item) for item in node.comparators):
                continue
            if isinstance(node, ast.IfExp):
                pending += [node.body, node.orelse]
                continue
            if isinstance(node, ast.Call | ast.Name):
                yield node
            if isinstance(node, ast.Name):
                if self.is_local(node.id) and node.id not in seen:
                    seen.add(node.id)
                    pending += self.sources.get(node.id, [])
                continue
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    pending.append(child)
                elif isinstance(child, ast.keyword):
                    pending.append(child.value)


def _assigned(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Return the targets of ``node``, each with what it is given."""
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        return [] if node.value is None else [(node.target, node.value)]
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return [(node.target, node.iter)]
    if isinstance(node, ast.withitem) and node.optional_vars is not None:
        return [(node.optional_vars, node.context_expr)]
    return []


def _makers(flows: dict[str, _Flow]) -> set[str]:
    makers: set[str] = set()
    while True:
        found = {
            name
            for name, flow in flows.items()
            if any(_callee(call) in _TORCH_MAKERS | makers for call in flow.calls)
        }
        if found == makers:
            return makers
        makers = found


def _state(flows: dict[str, _Flow], makers: set[str], variables: set[str]) -> set[str]:
    state: set[str] = set()
    while True:
        before = len(state)
        for flow in flows.values():
            making = [call for call in flow.calls if _callee(call) in _TORCH_MAKERS | makers]
            ranks = {
                value.id
                for call in making
                for value in [*call.args, *(keyword.value for keyword in call.keywords)]
                if isinstance(value, ast.Name)
            }
            made = {id(call) for call in making}
            shared = {name for name in variables if not flow.is_local(name)}
            for name in (shared | flow.globals) & flow.sources.keys() - state:
                if any(
                    id(leaf) in made or (isinstance(leaf, ast.Name) and leaf.id in ranks | state)
                    for value in flow.sources.get(name, [])
                    for leaf in flow.leaves_of(value)
                ):
                    state.add(name)
        if len(state) == before:
            return state


def _accessors(
    top_level: list[ast.stmt], flows: dict[str, _Flow], makers: set[str], state: set[str]
) -> set[str]:
    accessors: set[str] = set()
    while True:
        before = len(accessors)
        for name, flow in flows.items():
            if name not in makers and any(
                isinstance(leaf, ast.Name)
                and leaf.id in state | accessors
                and not flow.is_local(leaf.id)
                for value in flow.returns
                for leaf in flow.leaves_of(value)
            ):
                accessors.add(name)
        for node in top_level:
            # A second name for an accessor.
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Name)
                and node.value.id in accessors
            ):
                accessors.update(item.id for item in node.targets if isinstance(item, ast.Name))
        if len(accessors) == before:
            return accessors


def _is_grid_test(node: Function, state: set[str]) -> bool:
    def atom(test: ast.expr, /, *, truth: bool) -> Facts:
        if isinstance(test, ast.Constant) and bool(test.value) != truth:
            return frozenset({_EXISTS})  # a constant never comes out the other way
        if (
            isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Name)
            and test.left.id in state
            and len(test.ops) == 1
            and _is_none(test.comparators[0])
            and isinstance(test.ops[0], ast.IsNot if truth else ast.Is)
        ):
            return frozenset({_EXISTS})
        return NO_FACTS

    def answers(body: list[ast.stmt], known: Facts) -> Iterator[bool]:
        for statement in body:
            if isinstance(statement, ast.Return):
                value = statement.value or ast.Constant(None)
                yield _EXISTS in known | implied(value, atom, truth=True)
            elif isinstance(statement, ast.If):
                yield from answers(
                    statement.body, known | implied(statement.test, atom, truth=True)
                )
                yield from answers(
                    statement.orelse, known | implied(statement.test, atom, truth=False)
                )
                known |= after(statement, atom)
            elif any(isinstance(inner, ast.Return) for inner in ast.walk(statement)):
                yield False

    found = list(answers(node.body, NO_FACTS))
    mentions = any(isinstance(item, ast.Name) and item.id in state for item in ast.walk(node))
    return mentions and bool(found) and all(found)


def _callee(call: ast.Call) -> str:
    if isinstance(call.func, ast.Name):
        return call.func.id
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
