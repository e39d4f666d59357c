"""Finds the reads in one file.

A function that is passed on without a call is a read, and so is one that is assigned to another
name; what is done with that name afterwards is not counted again. A second name for the module
(``mpu = parallel_state``) is followed like an import.

*Unresolved* is a read of ``parallel_state`` where what is read cannot be told: the module handed on
as a value (``getattr(parallel_state, name)``, ``self.mpu = parallel_state``), its ``__dict__``, and
a text that names it or what it has (``import_module("megatron.core.parallel_state")``,
``globals()["parallel_state"]``) or that is Python which uses them (``eval("parallel_state.f()")``).
So is one of its names that is asked of what may be anything: an attribute, an item, a result, or
for the module itself a parameter (``self.core.parallel_state.f()``, ``modules[0].f()``). No test
makes it milder: who holds the module may read it later.

Default values, decorators and base classes belong to the scope around their definition, where
they run.
"""

import ast
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from process_groups.bindings import Comprehension, Definition, outside_of
from process_groups.conditions import NO_FACTS, Facts
from process_groups.grid import MODULE
from process_groups.kinds import Kinds
from process_groups.meaning import Meanings
from process_groups.modules import dotted
from process_groups.reads import MODULE_SCOPE, Lines, Read
from process_groups.scope import Scope
from process_groups.texts import mentions, names, uses

_MODULE_NAME = MODULE.rpartition(".")[2]
# What hands out everything that the module has.
_WHOLE_MODULE = frozenset({"__dict__", "__getattribute__"})


class Reader:
    """Reads one file.

    Args:
        path: POSIX path from the root of the tree.
        scope: The file's outermost scope.
        lines: Sorted numbers of the lines that hold one of ``words``; the rest of the file is
            passed over.
        words: The names that a read could use.
        meanings: Follows the names of the file.
    """

    def __init__(
        self,
        path: str,
        *,
        scope: Scope,
        lines: Sequence[int],
        words: frozenset[str],
        meanings: Meanings,
    ) -> None:
        self._path = path
        self._scope = scope
        self._lines = lines
        self._words = words
        self._meanings = meanings
        self._kinds = Kinds(meanings)
        self._found: dict[Read, list[int]] = {}
        self._notes = 0
        self._in_text = False

    def read(self, tree: ast.Module) -> Lines:
        """Return the lines of each of the file's reads."""
        self._body(tree.body, self._scope, NO_FACTS)
        return {read: tuple(sorted(lines)) for read, lines in self._found.items()}

    def _body(self, body: Sequence[ast.stmt], scope: Scope, facts: Facts) -> None:
        if not body or not self._touched(_first_line(body[0]), body[-1].end_lineno):
            return
        for statement in body:
            if self._touched(_first_line(statement), statement.end_lineno):
                self._statement(statement, scope, facts)
            facts |= self._kinds.after(statement, scope)

    def _statement(self, node: ast.stmt, scope: Scope, facts: Facts) -> None:
        if isinstance(node, Definition):
            for part in outside_of(node):
                self._expression(part, scope, facts)
            self._body(node.body, scope.inside(node), facts)
        elif isinstance(node, ast.If | ast.While):
            # A loop's `else` runs when its test came out false.
            self._expression(node.test, scope, facts)
            self._body(node.body, scope, facts | self._implied(node.test, scope, truth=True))
            self._body(node.orelse, scope, facts | self._implied(node.test, scope, truth=False))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            if isinstance(scope.node, ast.ClassDef):
                self._attributes(node, scope, facts)
        elif not self._is_second_name(node, scope) and not _is_text(node) and not _exports(node):
            self._fields(node, scope, facts)

    def _attributes(self, node: ast.Import | ast.ImportFrom, scope: Scope, facts: Facts) -> None:
        """Look at an import that gives a class attributes, which any object may be asked for."""
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            if bound != "*":
                self._name(ast.copy_location(ast.Name(bound, ast.Load()), node), scope, facts)

    def _is_second_name(self, node: ast.stmt, scope: Scope) -> bool:
        """Tell whether this gives the module a second name. In a class it makes an attribute."""
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            return False
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return (
            not isinstance(scope.node, ast.ClassDef)
            and all(isinstance(target, ast.Name) for target in targets)
            and MODULE in self._meanings.of(node.value, scope)
        )

    def _fields(self, node: ast.AST, scope: Scope, facts: Facts) -> None:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                self._body(value, scope, facts)
                continue
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, ast.Constant):
                    self._constant(item, scope, is_asked=field == "slice")
                elif isinstance(item, ast.expr):
                    self._expression(item, scope, facts)
                elif isinstance(item, ast.match_case):
                    self._case(item, scope, facts)
                elif isinstance(item, ast.AST):
                    self._fields(item, scope, facts)

    def _case(self, node: ast.match_case, scope: Scope, facts: Facts) -> None:
        for pattern in ast.walk(node.pattern):
            # It asks whatever is matched for attributes.
            if isinstance(pattern, ast.MatchClass) and not self._meanings.names.isdisjoint(
                pattern.kwd_attrs
            ):
                self._note(pattern, scope, _MODULE_NAME, "unresolved")
        self._fields(node.pattern, scope, facts)
        if node.guard is not None:
            self._expression(node.guard, scope, facts)
            facts |= self._implied(node.guard, scope, truth=True)
        self._body(node.body, scope, facts)

    def _expression(self, node: ast.expr, scope: Scope, facts: Facts) -> None:  # noqa: C901 - one branch a form
        if not self._touched(node.lineno, node.end_lineno):
            return
        if isinstance(node, ast.Name | ast.Attribute):
            self._name(node, scope, facts)
        elif isinstance(node, ast.Constant):
            self._constant(node, scope, is_asked=False)
        elif isinstance(node, ast.IfExp):
            self._expression(node.test, scope, facts)
            for part, truth in ((node.body, True), (node.orelse, False)):
                self._expression(part, scope, facts | self._implied(node.test, scope, truth=truth))
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                self._expression(value, scope, facts)
                facts |= self._implied(value, scope, truth=isinstance(node.op, ast.And))
        elif isinstance(node, ast.Lambda | Comprehension):
            self._inner(node, scope, facts)
        elif isinstance(node, ast.Call):
            self._call(node, scope, facts)
        elif isinstance(node, ast.JoinedStr):
            # Before Python 3.12 the parts of an f-string have no lines of their own.
            outer, self._in_text = self._in_text, True
            self._fields(node, scope, facts)
            self._in_text = outer
        else:
            self._fields(node, scope, facts)

    def _constant(self, node: ast.Constant, scope: Scope, *, is_asked: bool) -> None:
        """Look at a text; a name of one word counts only where something is asked for it."""
        text, words = node.value, self._meanings.names
        if isinstance(text, str) and (
            self._meanings.are_named_by(text)
            or ((is_asked or not text.isidentifier()) and names(text, words))
            # A part of a text that is put together is no whole text.
            or (not self._in_text and uses(text, words))
        ):
            self._note(node, scope, _MODULE_NAME, "unresolved")

    def _call(self, node: ast.Call, scope: Scope, facts: Facts) -> None:
        asked = _asked_attribute(node, scope)
        if asked is None:
            before = self._notes
            given = list(_given([*node.args, *(keyword.value for keyword in node.keywords)]))
            texts = [part for part in given if isinstance(part, ast.Constant)]
            for part in [node.func, *(part for part in given if part not in texts)]:
                self._expression(part, scope, facts)
            for part in texts:
                # What is asked for a name and was noted itself is not counted again.
                self._constant(part, scope, is_asked=before == self._notes)
            runs = before == self._notes and self._meanings.runs_texts(node.func, scope)
            if runs and mentions(node, self._words):
                self._note(node, scope, _MODULE_NAME, "unresolved")
            return
        # To ask whether there is a function is not to read it.
        if isinstance(node.func, ast.Name) and node.func.id == "getattr":
            self._name(asked, scope, facts)
        elif not dotted(asked.value):
            self._expression(asked.value, scope, facts)
        for default in node.args[2:]:
            self._expression(default, scope, facts)

    def _inner(self, node: ast.Lambda | Comprehension, scope: Scope, facts: Facts) -> None:
        """Look into an expression that has a scope of its own."""
        inside = scope.inside(node)
        if isinstance(node, ast.Lambda):
            for default in outside_of(node):
                self._expression(default, scope, facts)
            self._expression(node.body, inside, facts)
            return
        for number, generator in enumerate(node.generators):
            # The first iterable is evaluated outside.
            self._expression(generator.iter, inside if number else scope, facts)
            for test in generator.ifs:
                self._expression(test, inside, facts)
                facts |= self._implied(test, inside, truth=True)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in parts:
            self._expression(part, inside, facts)

    def _name(self, node: ast.Name | ast.Attribute, scope: Scope, facts: Facts) -> None:
        last = node.id if isinstance(node, ast.Name) else node.attr
        function = None
        if last in self._words and isinstance(node.ctx, ast.Load):
            function = self._meanings.read_by(node, scope)
        if function == _MODULE_NAME:
            self._note(node, scope, function, "unresolved")
        elif function is not None:
            self._note(node, scope, function, self._kinds.kind(function, facts))
        elif isinstance(node, ast.Attribute):
            if MODULE not in self._meanings.of(node.value, scope):
                self._owner(node, scope, facts)
            elif node.attr in _WHOLE_MODULE:
                self._note(node, scope, _MODULE_NAME, "unresolved")

    def _owner(self, node: ast.Attribute, scope: Scope, facts: Facts) -> None:
        """Look at what is asked for an attribute, and at the attribute if that may be anything."""
        before = self._notes
        self._expression(node.value, scope, facts)
        if before == self._notes and self._meanings.may_hide(node, scope):
            self._note(node, scope, node.attr, "unresolved")

    def _note(self, node: ast.expr | ast.pattern, scope: Scope, function: str, kind: str) -> None:
        read = Read(self._path, scope.key or MODULE_SCOPE, function, kind)
        self._found.setdefault(read, []).append(node.lineno)
        self._notes += 1

    def _implied(self, test: ast.expr, scope: Scope, *, truth: bool) -> Facts:
        return self._kinds.implied(test, scope, truth=truth)

    def _touched(self, first: int, last: int | None) -> bool:
        """Tell whether a line worth looking at lies in this span."""
        if self._in_text:
            return True
        number = bisect_left(self._lines, first)
        return number < len(self._lines) and self._lines[number] <= (last or first)


def _asked_attribute(node: ast.Call, scope: Scope) -> ast.Attribute | None:
    """Return the attribute that ``getattr`` or ``hasattr`` with a constant name asks for."""
    if not isinstance(node.func, ast.Name) or node.func.id not in {"getattr", "hasattr"}:
        return None
    if scope.find(node.func.id) or len(node.args) < 2:  # noqa: PLR2004 - the object and the name
        return None
    owner, name = node.args[:2]
    if not isinstance(name, ast.Constant):
        return None
    return ast.copy_location(ast.Attribute(owner, str(name.value), ast.Load()), node)


def _is_text(node: ast.stmt) -> bool:
    """Tell whether a statement is a docstring, or a text that stands there alone like one."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _given(parts: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """Yield what a call is given, and for a list or tuple what is in it."""
    for part in parts:
        if isinstance(part, ast.List | ast.Tuple):
            yield from _given(part.elts)
        else:
            yield part


def _exports(node: ast.stmt) -> bool:
    """Tell whether a statement only says in ``__all__`` what the module gives to others."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        method = node.value.func
        targets = [method.value] if isinstance(method, ast.Attribute) else []
    else:
        targets = []
    return bool(targets) and all(dotted(target) == "__all__" for target in targets)


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])
