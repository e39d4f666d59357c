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
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from process_groups.bindings import Function, statements_of
from process_groups.conditions import NO_FACTS, Facts, after, implied
from process_groups.errors import ScanError
from process_groups.flow import Flow, is_none

PATH = "megatron/core/parallel_state.py"
MODULE = "megatron.core.parallel_state"

_TORCH_MAKERS = frozenset(
    {"new_group", "new_subgroups", "new_subgroups_by_enumeration", "split_group"}
)
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


class Cause(NamedTuple):
    """Why a name of ``parallel_state.py`` is a maker, state or an accessor.

    Attributes:
        line: Where it shows.
        text: What stands there, as the end of a sentence that begins with the name.
        source: The name from which it follows, which has a cause of its own; None at the end of
            the chain, where torch makes the group.
    """

    line: int
    text: str
    source: str | None


Causes = dict[str, Cause]


class Derivation(NamedTuple):
    """A grid, and how it was found.

    Attributes:
        grid: The names that matter.
        makers: Functions that make process groups, each with its cause.
        state: The variables of the grid, each with its cause.
        accessors: The accessors, each with its cause.
        rest: All other functions.
    """

    grid: Grid
    makers: Causes
    state: Causes
    accessors: Causes
    rest: frozenset[str]


def derive(tree: ast.Module) -> Derivation:
    """Return the grid that a parsed ``parallel_state.py`` holds, and why.

    Raises:
        ScanError: No function of it returns a process group.
    """
    top_level = list(statements_of(tree.body, into_definitions=False))
    functions = {node.name: node for node in top_level if isinstance(node, Function)}
    flows = {name: Flow(node) for name, node in functions.items()}
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
    rest = {name: functions[name] for name in functions.keys() - accessors.keys() - makers.keys()}
    tests = {name for name, node in rest.items() if _is_grid_test(node, state)}
    grid = Grid(frozenset(accessors), frozenset(state), frozenset(tests))
    return Derivation(grid, makers, state, accessors, frozenset(rest))


def _makers(flows: Mapping[str, Flow]) -> Causes:
    makers: Causes = {}
    while True:
        found = {
            name: Cause(call.lineno, f"calls {_callee(call)}", _known(_callee(call), makers))
            for name, flow in flows.items()
            if name not in makers
            for call in flow.calls
            if _callee(call) in _TORCH_MAKERS | makers.keys()
        }
        if not found:
            return makers
        makers |= found


def _state(flows: Mapping[str, Flow], makers: Causes, variables: set[str]) -> Causes:
    state: Causes = {}
    while True:
        found: Causes = {}
        for function, flow in flows.items():
            making = [call for call in flow.calls if _callee(call) in _TORCH_MAKERS | makers.keys()]
            # Each variable that is handed to a maker, and that call.
            ranks = {
                value.id: call
                for call in making
                for value in [*call.args, *(keyword.value for keyword in call.keywords)]
                if isinstance(value, ast.Name)
            }
            shared = {name for name in variables if not flow.is_local(name)}
            for name in sorted((shared | flow.globals) & flow.sources.keys() - state.keys()):
                for value in flow.sources.get(name, []):
                    for leaf in flow.leaves_of(value):
                        cause = _state_cause(leaf, making, ranks, state)
                        if cause is not None:
                            line, text, source = cause
                            text = f"is set by {function} {text}"
                            found.setdefault(name, Cause(line or value.lineno, text, source))
        if not found:
            return state
        state |= found


def _state_cause(
    leaf: ast.expr, making: list[ast.Call], ranks: Mapping[str, ast.Call], state: Causes
) -> tuple[int, str, str | None] | None:
    """Return line, text and source if a variable that gets ``leaf`` belongs to the state."""
    for call in making:
        if leaf is call:
            return call.lineno, f"to what {_callee(call)} returns", _callee(call)
    if isinstance(leaf, ast.Name):
        if leaf.id in ranks:
            maker = _callee(ranks[leaf.id])
            return leaf.lineno, f"to the {leaf.id} given to {maker}", maker
        if leaf.id in state:
            return leaf.lineno, f"from {leaf.id}", leaf.id
    return None


def _accessors(
    top_level: list[ast.stmt], flows: Mapping[str, Flow], makers: Causes, state: Causes
) -> Causes:
    accessors: Causes = {}
    while True:
        found: Causes = {}
        for name, flow in flows.items():
            if name in makers or name in accessors:
                continue
            for value in flow.returns:
                for leaf in flow.leaves_of(value):
                    if (
                        isinstance(leaf, ast.Name)
                        and leaf.id in state.keys() | accessors.keys()
                        and not flow.is_local(leaf.id)
                    ):
                        cause = Cause(value.lineno, f"returns a value of {leaf.id}", leaf.id)
                        found.setdefault(name, cause)
        for node in top_level:
            # A second name for an accessor.
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Name)
                and node.value.id in accessors
            ):
                cause = Cause(node.lineno, f"is another name of {node.value.id}", node.value.id)
                names = {item.id for item in node.targets if isinstance(item, ast.Name)}
                found |= dict.fromkeys(names - accessors.keys(), cause)
        if not found:
            return accessors
        accessors |= found


def _known(name: str, causes: Causes) -> str | None:
    return name if name in causes else None


def _is_grid_test(node: Function, state: Causes) -> bool:
    def atom(test: ast.expr, /, *, truth: bool) -> Facts:
        if isinstance(test, ast.Constant) and bool(test.value) != truth:
            return frozenset({_EXISTS})  # a constant never comes out the other way
        if (
            isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Name)
            and test.left.id in state
            and len(test.ops) == 1
            and is_none(test.comparators[0])
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
