"""Where the values in one function come from, as far as its own text tells."""

import ast
from collections.abc import Iterator

from process_groups.bindings import Function, parameters_of

_FILLING_METHODS = frozenset({"add", "append", "extend", "insert", "setdefault", "update"})


class Flow:
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
            if isinstance(node, ast.Compare) and any(is_none(item) for item in node.comparators):
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


def is_none(node: ast.expr) -> bool:
    """Tell whether an expression is the constant ``None``."""
    return isinstance(node, ast.Constant) and node.value is None
