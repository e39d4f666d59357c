"""Adds keyword-only parameters to definitions and keyword arguments to calls."""

import ast

from carry.edits.calls import CallSite, calls
from carry.edits.fragments import parse_argument, parse_parameter_and_default
from carry.edits.model import AddArguments, AddParameters, Edit
from carry.edits.placing import shared_line
from carry.edits.planning import Addition, Plan, Text
from carry.edits.scopes import Definition, Function, Site, bindings_of, dotted, is_named, same
from carry.edits.source import Source

_PROPERTIES = frozenset({"property", "cached_property", "getter", "setter", "deleter"})


def plan_parameters(edit: Edit, operation: AddParameters, text: Text) -> Plan:
    """Plans keyword-only parameters for the definitions that the edit's scope names.

    Args:
        edit: The edit.
        operation: Its operation.
        text: The text it acts on.

    Returns:
        The plan.
    """
    plan = Plan()
    wanted = [parse_parameter_and_default(item) for item in operation.parameters]
    for node in text.definitions.get(edit.scope, []):
        if not isinstance(node, Function):
            plan.pend(node)
            plan.reasons.append(f"{text.where(node)}: {edit.scope} is a class")
            continue
        present = _parameters(node)
        clashes = [arg.arg for arg, _ in wanted if arg.arg in present]
        keyword_only = {arg.arg for arg in node.args.kwonlyargs}
        equal = [
            arg.arg in keyword_only and same([arg.annotation, default], list(present[arg.arg]))
            for arg, default in wanted
        ]
        unusable = text.paths.never_runs(node) or _not_callable(node, edit.scope, text)
        if all(equal):
            plan.stand(node, unusable)
            continue
        plan.pend(node)
        colon = header_end(text.source, node)
        if unusable:
            plan.reasons.append(f"{text.where(node)}: {unusable}")
        elif clashes:
            names = ", ".join(clashes)
            plan.reasons.append(
                f"{text.where(node)}: has a parameter {names} already, other than wanted"
            )
        elif colon is None:
            plan.reasons.append(f"{text.where(node)}: its body stands on the same line")
        else:
            start = text.source.offset(node.lineno, node.col_offset)
            at, end = _parameter_list(text.source, start, colon)
            plan.additions.append(
                Addition(at, end, operation.parameters, (start, colon), in_signature=True)
            )
    return plan


def plan_arguments(
    edit: Edit, operation: AddArguments, text: Text, inserted: frozenset[int]
) -> Plan:
    """Plans keyword arguments for calls.

    Args:
        edit: The edit.
        operation: Its operation.
        text: The text it acts on.
        inserted: Ids of the statements that edits of this commit or a later one put there; their
            calls are no candidates.

    Returns:
        The plan.
    """
    plan = Plan()
    wanted = [parse_argument(item) for item in operation.arguments]
    for site in text.sites(edit.scope):
        if id(site.statement) in inserted:
            continue
        never = text.paths.never_runs(site.statement)
        for found in calls(site):
            if not is_named(found.call.func, operation.call):
                continue
            present = {keyword.arg: keyword.value for keyword in found.call.keywords}
            clashes = [str(item.arg) for item in wanted if item.arg in present]
            if all(item.arg in present and same(item.value, present[item.arg]) for item in wanted):
                plan.stand(found.call, never)
                continue
            plan.pend(found.call)
            where = text.where(found.call)
            addition = never or _argument_list(text.source, found)
            if clashes:
                names = ", ".join(clashes)
                plan.reasons.append(f"{where}: passes {names} already, other than wanted")
            elif isinstance(addition, str):
                plan.reasons.append(f"{where}: {addition}")
            else:
                at, end, region = addition
                plan.additions.append(
                    Addition(at, end, operation.arguments, region, in_signature=False)
                )
    return plan


def header_end(source: Source, statement: ast.stmt) -> int | None:
    """Offset behind the colon of a compound statement; None if its body is on the same line."""
    start = source.offset(statement.lineno, statement.col_offset)
    if isinstance(statement, ast.Match):
        pattern = statement.cases[0].pattern
        inner = source.line_start(pattern.lineno - 1)
    else:
        first: ast.stmt = getattr(statement, "body")[0]  # noqa: B009 - no one type has a body
        inner = source.span(first)[0]
    depth, colon = 0, None
    for token in source.tokens(start, inner):
        if token.string in ("(", "[", "{"):
            depth += 1
        elif token.string in (")", "]", "}"):
            depth -= 1
        elif token.string == ":" and depth == 0:
            colon = token.end
    assert colon is not None  # noqa: S101 - a compound statement has a colon
    return colon if source.line_of(colon - 1) < source.line_of(inner) else None


def _not_callable(node: Function, scope: str, text: Text) -> str:
    """Why no caller could count on a new parameter; empty where callers can."""
    for decorator in node.decorator_list:
        if dotted(decorator).rpartition(".")[2] in _PROPERTIES:
            return "it is a property, to which nothing is passed"
    around = text.sites(scope.rpartition(".")[0])
    (site,) = [site for site in around if site.statement is node]
    if text.paths.on_every_path(site):
        return ""
    for other in around:
        statement = other.statement
        beside = _definition_around(other) is _definition_around(site)
        if beside and not isinstance(statement, Function) and node.name in bindings_of(statement):
            return f"on another path {node.name} is what line {statement.lineno} binds"
    return ""


def _definition_around(site: Site) -> ast.AST | None:
    inside: Site | None = site
    while inside and not isinstance(inside.parent, Definition):
        inside = inside.outer
    return inside.parent if inside else None


def _parameters(node: Function) -> dict[str, tuple[ast.expr | None, ast.expr | None]]:
    """Annotation and default of every parameter."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = list(zip(plain, defaults, strict=True))
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    pairs += [(arg, None) for arg in (arguments.vararg, arguments.kwarg) if arg]
    return {arg.arg: (arg.annotation, default) for arg, default in pairs}


def _parameter_list(source: Source, start: int, colon: int) -> tuple[int, int]:
    """Offsets of the brackets around the parameters; those of type parameters come before them."""
    depth, at = 0, -1
    for token in source.tokens(start, colon):
        if token.string in ("(", "[", "{"):
            if token.string == "(" and depth == 0:
                at = token.start
            depth += 1
        elif token.string in (")", "]", "}"):
            depth -= 1
            if depth == 0 and at >= 0:
                return at, token.start
    raise AssertionError("a definition has a parameter list")


def _argument_list(
    source: Source, found: CallSite
) -> tuple[int, int, tuple[int, int] | None] | str:
    """Offsets of a call's brackets and of the logical line around it, or why it stays as it is."""
    if found.in_string:
        return "it stands in an f-string"
    call = found.call
    start, end = source.span(call)
    opened: list[int] = []
    at = -1
    for token in source.tokens(start, end):
        if token.string in ("(", "[", "{"):
            opened.append(token.start)
        elif token.string in (")", "]", "}"):
            at = opened.pop()
    if (
        len(call.args) == 1
        and isinstance(call.args[0], ast.GeneratorExp)
        and source.span(call.args[0])[0] == at
    ):
        return "its one argument is a bare generator expression"
    region = _region(source, found)
    return region if isinstance(region, str) else (at, end - 1, region)


def _region(source: Source, found: CallSite) -> tuple[int, int] | str | None:
    site = found.site
    statement = site.statement
    compound = hasattr(statement, "body") or hasattr(statement, "cases")
    if found.part is not None:
        return None
    if compound:
        end = header_end(source, statement)
        if end is None:
            return "it stands in a one-line compound statement"
        return source.offset(statement.lineno, statement.col_offset), end
    return shared_line(source, site) or source.span(statement)
