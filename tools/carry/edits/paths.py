"""Which statements run, and on which paths, as far as the syntax of a file tells."""

import ast
from collections.abc import Iterator, Sequence

from carry.edits.scopes import Definition, Site, blocks

_Loop = ast.For | ast.AsyncFor | ast.While


class Paths:
    """The ways through a file that its syntax rules out.

    A call that never returns, such as ``sys.exit()``, counts as one that returns, and a ``with`` as
    one that may swallow an error: only what no run can do is ruled out.

    Args:
        tree: The file's tree.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._leaving: set[int] = set()
        for statement in reversed(list(_statements(tree))):
            # What stands inside a statement comes behind it, so its own answer is there already.
            if self._leaves(statement):
                self._leaving.add(id(statement))
        self._unreachable = dict(self._find_unreachable(tree))

    def never_runs(self, node: ast.stmt) -> str:
        """Why a statement is never reached; empty where it may be."""
        reason = self._unreachable.get(id(node))
        return f"it never runs: {reason}" if reason else ""

    def nothing_after(self, site: Site) -> str:
        """Why what is put right behind a statement would never run; empty where it may."""
        unreachable = self.never_runs(site.statement)
        if not unreachable and (id(site.statement) in self._leaving or self._left_by_with(site)):
            return "nothing behind it ever runs"
        return unreachable

    def on_every_path(self, site: Site) -> bool:
        """Whether no run of a module, class or function comes past a statement in it."""
        inside: Site | None = site
        while inside and not isinstance(inside.parent, Definition):
            if not self._always_entered(inside.parent, inside.block):
                return False
            inside = inside.outer
        return True

    def _left_by_with(self, site: Site) -> bool:
        """Whether a run comes behind a ``with`` only by an error it swallows, as nobody expects."""
        match site.statement:
            case ast.With(body=body) | ast.AsyncWith(body=body):
                return site.index + 1 == len(site.block) and self._ends(body)
            case _:
                return False

    def _leaves(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
                return True
            case ast.If(test=test, body=body, orelse=orelse):
                always = _truth(test)
                return (always is False or self._ends(body)) and (
                    always is True or self._ends(orelse)
                )
            case ast.While(test=test):
                return _truth(test) is True and not _breaks(statement)
            case ast.Try() | ast.TryStar():
                return self._ends(statement.finalbody) or (
                    (self._ends(statement.body) or self._ends(statement.orelse))
                    and self._all_end(statement.handlers)
                )
            case ast.Match(cases=cases):
                return _is_irrefutable(cases[-1]) and self._all_end(cases)
            case _:
                return False

    def _ends(self, block: Sequence[ast.stmt]) -> bool:
        return any(id(statement) in self._leaving for statement in block)

    def _all_end(self, parts: Sequence[ast.ExceptHandler] | Sequence[ast.match_case]) -> bool:
        return all(self._ends(part.body) for part in parts)

    def _find_unreachable(self, tree: ast.Module) -> Iterator[tuple[int, str]]:
        pending: list[tuple[ast.AST, str]] = [(tree, "")]
        while pending:
            node, outer = pending.pop()
            for _, block in blocks(node):
                reason = outer or _never_entered(node, block)
                for statement in block:
                    if reason:
                        yield id(statement), reason
                    pending.append((statement, reason))
                    if not reason and id(statement) in self._leaving:
                        reason = f"nothing behind line {statement.lineno} is reached"

    def _always_entered(self, parent: ast.AST, block: list[ast.stmt]) -> bool:
        match parent:
            case ast.Module():
                return True
            case ast.If(test=test, body=body, orelse=orelse):
                is_body = block is body
                return _truth(test) is is_body or self._ends(orelse if is_body else body)
            case ast.Try() | ast.TryStar():
                return block is parent.finalbody or self._all_end(parent.handlers)
            case _:
                return False


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements inside a node, each before those inside it."""
    pending = [node]
    while pending:
        for _, block in blocks(pending.pop()):
            yield from block
            pending += block


def _breaks(loop: ast.While) -> bool:
    """Whether a ``break`` inside a loop ends that loop and not one within it."""
    pending = [*loop.body]
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, _Loop):
            pending += statement.orelse
        elif not isinstance(statement, Definition):
            pending += [inner for _, block in blocks(statement) for inner in block]
    return False


def _is_irrefutable(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and not case.pattern.pattern


def _never_entered(node: ast.AST, block: list[ast.stmt]) -> str:
    """Why a block of a statement is never entered; empty where it may be."""
    if not isinstance(node, ast.If | ast.While):
        return ""
    truth = _truth(node.test)
    if truth is None or truth is (block is node.body):
        return ""
    return f"the test in line {node.lineno} is always {truth}"


def _truth(test: ast.expr) -> bool | None:
    """What a test always is; None where that is not known. At runtime nobody is type checking."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _truth(operand)
            return None if inner is None else not inner
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return False
        case _:
            return None
