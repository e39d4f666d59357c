"""Finds the reads in one file.

Each read has a kind, by the tests it runs under:

``guarded``
    It runs only where a grid test of ``parallel_state.py`` came out true: in the branch of an
    ``if`` or a conditional expression, behind ``and``, or after an early exit
    (``if not parallel_state.is_initialized(): return``).
``fallback``
    It runs only where the caller gave no group: a parameter of an enclosing function that is
    named like a group, a collection, a rank or a size (``*group*``, ``pg``, ``*pg_collection*``,
    ``*_rank``, ``*_size``) was ``None`` or false. The same forms count: a branch, ``group or f()``,
    ``group if group is not None else f()``, and an early exit for callers that gave one.
``accessor``, ``shim``
    Everything else.

A test may stand in a local variable that is assigned once. A read under both is guarded. An
``assert``, or a branch that only raises, is no test in this sense: it demands the grid instead of
doing without it. A test of an attribute (``self.group is None``, ``hasattr(pg_collection, "tp")``)
says nothing about what the caller gave.

A function that is passed on without a call is a read, and so is one that is assigned to another
name; what is done with that name afterwards is not counted again. The module itself, handed on as
a value, is a read of ``parallel_state``: whoever gets it may read anything.
"""

import ast
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from process_groups.bindings import (
    Comprehension,
    Definition,
    Function,
    Import,
    Names,
    Other,
    ScopeNode,
    Value,
    outside_of,
)
from process_groups.conditions import NO_FACTS, Facts, after, implied
from process_groups.grid import MODULE, Grid
from process_groups.modules import Resolver, dotted, module_name, package_name
from process_groups.reads import Read

SHIM = "use_mpu_process_groups"
_COLLECTION = "ProcessGroupCollection"
SHIM_TARGET = f"megatron.core.process_groups_config.{_COLLECTION}.{SHIM}"
_SHIM_FUNCTION = f"{_COLLECTION}.{SHIM}"

_GRID_EXISTS = "guarded"
_NOTHING_GIVEN = "fallback"
_GROUP_NAME = re.compile(r".*group.*|pg|.*pg_collection.*|.*_rank|.*_size")


@dataclass
class Scope:
    """A scope of the file, with the scopes around it.

    Attributes:
        node: What makes the scope.
        parent: The scope around it; None for the module.
        key: Dotted names of the enclosing definitions.
        names: What it binds.
    """

    node: ScopeNode
    parent: "Scope | None"
    key: str
    package: str
    inner: bool
    _names: Names | None = field(default=None, repr=False)

    @property
    def names(self) -> Names:
        """What the scope binds, collected on first use: most scopes are never asked."""
        if self._names is None:
            self._names = Names(self.node, self.package, inner=self.inner)
        return self._names

    def inside(self, node: ScopeNode) -> "Scope":
        """Return the scope that ``node`` opens in this one."""
        key = self.key
        if isinstance(node, Definition):
            twins = self.definitions_named(node.name)
            number = next(i for i, twin in enumerate(twins, start=1) if twin is node)
            name = node.name if number == 1 else f"{node.name}#{number}"
            key = f"{key}.{name}" if key else name
        return Scope(node, self, key, self.package, self.inner)

    def definitions_named(self, name: str) -> list[Definition]:
        """Return the definitions of one name here, in their order."""
        return self.names.definitions.get(name, [])

    def find(self, name: str) -> "Scope | None":
        """Return the scope whose ``name`` is meant here; None for a builtin or a star import."""
        scope: Scope | None = self
        first = True
        while scope is not None:
            # The names of a class are seen in its own body only.
            if first or not isinstance(scope.node, ast.ClassDef):
                if name in scope.names.globals:
                    return scope.module()
                if name in scope.names.bound:
                    return scope
            first = False
            scope = scope.parent
        return None

    def module(self) -> "Scope":
        """Return the file's outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Reader:
    """Reads one file.

    Args:
        path: POSIX path from the root of the tree.
        tree: The parsed file.
        names: What the file's top level binds.
        lines: Sorted numbers of the lines that hold a name worth looking at; the rest of the file
            is passed over.
        words: Those names.
        grid: The names of ``parallel_state.py``.
        resolver: Finds what dotted names stand for.
        inner: Whether the file uses ``global`` or ``nonlocal``.
    """

    def __init__(  # noqa: PLR0913 - all keyword-only, and made in one place
        self,
        *,
        path: str,
        tree: ast.Module,
        names: Names,
        lines: Sequence[int],
        words: frozenset[str],
        grid: Grid,
        resolver: Resolver,
        inner: bool,
    ) -> None:
        self._path = path
        self._module = module_name(path)
        self._tree = tree
        self._lines = lines
        self._words = words
        self._grid = grid
        self._resolver = resolver
        self._scope = Scope(tree, None, "", package_name(path), inner, names)
        self._found: Counter[Read] = Counter()
        self._asked: list[str] = []
        self._in_text = False

    def read(self) -> Counter[Read]:
        """Return the file's reads."""
        self._body(self._tree.body, self._scope, NO_FACTS)
        return self._found

    # Statements.

    def _body(self, body: Sequence[ast.stmt], scope: Scope, facts: Facts) -> None:
        if not body or not self._touched(_first_line(body[0]), body[-1].end_lineno):
            return

        def atom(test: ast.expr, truth: bool) -> Facts:  # noqa: FBT001 - see conditions.implied
            return self._atom(test, truth, scope)

        for statement in body:
            if self._touched(_first_line(statement), statement.end_lineno):
                self._statement(statement, scope, facts)
            facts |= after(statement, atom)

    def _statement(self, node: ast.stmt, scope: Scope, facts: Facts) -> None:
        if isinstance(node, Definition):
            for part in outside_of(node):
                self._expression(part, scope, facts)
            self._body(node.body, scope.inside(node), facts)
            return
        if isinstance(node, ast.If | ast.While):
            self._expression(node.test, scope, facts)
            self._body(node.body, scope, facts | self._implied(node.test, True, scope))
            # A loop's `else` runs when its test came out false.
            self._body(node.orelse, scope, facts | self._implied(node.test, False, scope))
            return
        if isinstance(node, ast.Assign | ast.AnnAssign) and self._is_alias(node, scope):
            return
        for _, value in ast.iter_fields(node):
            self._field(value, scope, facts)

    def _field(self, value: object, scope: Scope, facts: Facts) -> None:
        if isinstance(value, list):
            if value and isinstance(value[0], ast.stmt):
                self._body(value, scope, facts)
            else:
                for item in value:
                    self._field(item, scope, facts)
        elif isinstance(value, ast.expr):
            self._expression(value, scope, facts)
        elif isinstance(value, ast.match_case):
            known = facts
            if value.guard is not None:
                self._expression(value.guard, scope, facts)
                known |= self._implied(value.guard, True, scope)
            self._field(value.pattern, scope, facts)
            self._body(value.body, scope, known)
        elif isinstance(value, ast.AST):
            for _, inner in ast.iter_fields(value):
                self._field(inner, scope, facts)

    def _is_alias(self, node: ast.Assign | ast.AnnAssign, scope: Scope) -> bool:
        """Tell whether this gives the module a second name, which is followed like an import."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return (
            node.value is not None
            and not isinstance(scope.node, ast.ClassDef)
            and all(isinstance(target, ast.Name) for target in targets)
            and dotted(node.value) is not None
            and MODULE in self._meanings(node.value, scope)
        )

    # Expressions.

    def _expression(self, node: ast.expr, scope: Scope, facts: Facts) -> None:
        if not self._touched(node.lineno, node.end_lineno):
            return
        if isinstance(node, ast.Name | ast.Attribute):
            self._name(node, scope, facts)
        elif isinstance(node, ast.IfExp):
            self._expression(node.test, scope, facts)
            self._expression(node.body, scope, facts | self._implied(node.test, True, scope))
            self._expression(node.orelse, scope, facts | self._implied(node.test, False, scope))
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                self._expression(value, scope, facts)
                facts |= self._implied(value, isinstance(node.op, ast.And), scope)
        elif isinstance(node, ast.Lambda):
            for part in outside_of(node):
                self._expression(part, scope, facts)
            self._expression(node.body, scope.inside(node), facts)
        elif isinstance(node, Comprehension):
            self._comprehension(node, scope, facts)
        elif isinstance(node, ast.Call) and self._is_getattr(node, scope):
            attribute = ast.Attribute(node.args[0], _string(node.args[1]), ast.Load())
            self._name(ast.copy_location(attribute, node), scope, facts)
            for argument in node.args[2:]:
                self._expression(argument, scope, facts)
        elif isinstance(node, ast.JoinedStr):
            outer, self._in_text = self._in_text, True
            for part in node.values:
                self._expression(part, scope, facts)
            self._in_text = outer
        else:
            for _, value in ast.iter_fields(node):
                self._field(value, scope, facts)

    def _comprehension(self, node: Comprehension, scope: Scope, facts: Facts) -> None:
        inside = scope.inside(node)
        for number, generator in enumerate(node.generators):
            # The first iterable is evaluated outside.
            self._expression(generator.iter, inside if number else scope, facts)
            for test in generator.ifs:
                self._expression(test, inside, facts)
                facts |= self._implied(test, True, inside)
        if isinstance(node, ast.DictComp):
            self._expression(node.key, inside, facts)
            self._expression(node.value, inside, facts)
        else:
            self._expression(node.elt, inside, facts)

    def _name(self, node: ast.Name | ast.Attribute, scope: Scope, facts: Facts) -> None:
        if not isinstance(node.ctx, ast.Load):
            if isinstance(node, ast.Attribute):
                self._below(node, scope, facts)
            return
        last = node.id if isinstance(node, ast.Name) else node.attr
        function = None
        if last in self._words:
            function = self._function(node, scope)
        if function is not None:
            kind = "shim" if function == _SHIM_FUNCTION else "accessor"
            for fact in (_GRID_EXISTS, _NOTHING_GIVEN):
                if fact in facts:
                    kind = fact
                    break
            self._found[Read(self._path, scope.key or "<module>", function, kind)] += 1
        elif isinstance(node, ast.Attribute):
            self._below(node, scope, facts)

    def _below(self, node: ast.Attribute, scope: Scope, facts: Facts) -> None:
        """Look into what an attribute that is no read itself is taken from."""
        if MODULE not in self._meanings(node.value, scope):
            self._expression(node.value, scope, facts)

    def _function(self, node: ast.Name | ast.Attribute, scope: Scope) -> str | None:
        """Return the function that a name reads, or None if it is no read."""
        for meaning in sorted(self._meanings(node, scope)):
            if meaning == MODULE:
                return MODULE.rpartition(".")[2]
            if meaning == SHIM_TARGET:
                return _SHIM_FUNCTION
            module, _, name = meaning.rpartition(".")
            if module == MODULE and name in self._grid.accessors | self._grid.state:
                return name
        if isinstance(node, ast.Attribute) and node.attr == SHIM:
            return None if self._is_other_shim(node, scope) else _SHIM_FUNCTION
        return None

    def _is_other_shim(self, node: ast.Attribute, scope: Scope) -> bool:
        """Tell whether a method of the shim's name is known to be another class's.

        Where the class cannot be told (a parameter, ``cls``, ``type(x)``), it may be the shim.
        """
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        place = scope.find(root.id)
        bindings = place.names.bound.get(root.id, []) if place is not None else []
        for binding in bindings:
            if isinstance(binding, Import):
                if any(name.startswith("megatron.") for name in self._meanings(node, scope)):
                    return False
            elif not (
                isinstance(binding, Other)
                and isinstance(binding.node, ast.ClassDef)
                and any(isinstance(m, Function) and m.name == SHIM for m in binding.node.body)
            ):
                return False
        return bool(bindings)

    def _is_getattr(self, node: ast.Call, scope: Scope) -> bool:
        return (
            isinstance(node.func, ast.Name)
            and node.func.id == "getattr"
            and scope.find("getattr") is None
            and len(node.args) > 1
            and isinstance(node.args[1], ast.Constant)
            and isinstance(node.args[1].value, str)
        )

    # What names and tests mean.

    def _meanings(self, node: ast.expr, scope: Scope) -> frozenset[str]:
        """Return the places of definition that a dotted name may mean."""
        chain = dotted(node)
        if chain is None:
            return frozenset()
        root, _, rest = chain.partition(".")
        found: set[str] = set()
        for target in self._targets(root, scope, frozenset()):
            found |= self._resolver.resolve(f"{target}.{rest}" if rest else target)
        return frozenset(found)

    def _targets(self, name: str, scope: Scope, active: frozenset[str]) -> Iterable[str]:
        place = scope.find(name)
        if place is None or place.parent is None:
            # The module's own names, and what its star imports bring.
            yield f"{self._module}.{name}"
            return
        for binding in place.names.bound.get(name, []):
            if isinstance(binding, Import):
                yield binding.target
            elif isinstance(binding, Value) and name not in active:
                chain = dotted(binding.node)
                if chain is not None:
                    root, _, rest = chain.partition(".")
                    for target in self._targets(root, place, active | {name}):
                        yield from (
                            self._resolver.resolve(f"{target}.{rest}" if rest else target)
                            - self._resolver.ends
                        )

    def _implied(self, test: ast.expr, truth: bool, scope: Scope) -> Facts:  # noqa: FBT001 - see there
        return implied(test, truth, lambda part, answer: self._atom(part, answer, scope))

    def _atom(self, test: ast.expr, truth: bool, scope: Scope) -> Facts:  # noqa: FBT001 - see conditions.implied
        if isinstance(test, ast.Call):
            return (
                frozenset({_GRID_EXISTS}) if truth and self._is_grid_test(test, scope) else NO_FACTS
            )
        if isinstance(test, ast.Compare):
            name = _compared_with_none(test)
            is_none = isinstance(test.ops[0], ast.Is | ast.Eq)
            if name is not None and is_none == truth and self._is_group_parameter(name, scope):
                return frozenset({_NOTHING_GIVEN})
            return NO_FACTS
        if not isinstance(test, ast.Name):
            return NO_FACTS
        if self._is_group_parameter(test.id, scope):
            return NO_FACTS if truth else frozenset({_NOTHING_GIVEN})
        place = scope.find(test.id)
        bindings = place.names.bound.get(test.id, []) if place is not None else []
        if place is None or len(bindings) != 1 or test.id in self._asked:
            return NO_FACTS
        binding = bindings[0]
        if not isinstance(binding, Value):
            return NO_FACTS
        # A variable that is set from itself says nothing.
        self._asked.append(test.id)
        facts = self._implied(binding.node, truth, place)
        self._asked.pop()
        return facts

    def _is_grid_test(self, call: ast.Call, scope: Scope) -> bool:
        meanings = self._meanings(call.func, scope)
        return bool(meanings) and meanings <= {f"{MODULE}.{name}" for name in self._grid.tests}

    def _is_group_parameter(self, name: str, scope: Scope) -> bool:
        if not _GROUP_NAME.fullmatch(name):
            return False
        place = scope.find(name)
        return place is not None and name in place.names.parameters

    def _touched(self, first: int, last: int | None) -> bool:
        """Tell whether a line worth looking at lies in this span."""
        # Before Python 3.12 the parts of an f-string have no lines of their own.
        number = bisect_left(self._lines, first)
        return self._in_text or number < len(self._lines) and self._lines[number] <= (last or first)


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _compared_with_none(test: ast.Compare) -> str | None:
    if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        return None
    left, right = test.left, test.comparators[0]
    if isinstance(left, ast.Constant) and left.value is None:
        left, right = right, left
    if isinstance(left, ast.Name) and isinstance(right, ast.Constant) and right.value is None:
        return left.id
    return None


def _string(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
