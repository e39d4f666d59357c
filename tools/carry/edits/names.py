"""What the names of a file mean to its functions, before and after edits."""

import builtins
import symtable
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

_BUILTIN = frozenset(dir(builtins))
_UNNAMED = frozenset({"lambda", "genexpr", "listcomp", "setcomp", "dictcomp"})


@dataclass(frozen=True, slots=True)
class Shift:
    """A name that a function reads and that edits give another meaning.

    Attributes:
        scope: Qualified name of the function; empty for the module level.
        name: The name.
        reason: What would happen to it.
    """

    scope: str
    name: str
    reason: str


@dataclass(slots=True)
class _Reads:
    """What one function, with the lambdas and comprehensions in it, binds and reads."""

    bound: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    from_module: set[str] = field(default_factory=set)
    from_around: set[str] = field(default_factory=set)


class Names:
    r"""The functions of a file and the names they read.

    Args:
        text: Python that compiles, with ``\n`` line endings.

    Attributes:
        functions: What each function reads, by qualified name; the module level by an empty one.
        module: The names that the module level binds.
    """

    def __init__(self, text: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            top = symtable.symtable(text, "<edited>", "exec")
        self.functions = {"": _reads_of(top)}
        self.module = {
            one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()
        }
        pending = [("", top)]
        while pending:
            prefix, table = pending.pop()
            numbers: Counter[str] = Counter()
            for child in table.get_children():
                name = child.get_name()
                numbers[name] += 1
                # Definitions of one name are told apart by their order.
                key = f"{prefix}{name}" + (f"#{numbers[name]}" if numbers[name] > 1 else "")
                pending.append((prefix if _is_unnamed(child) else f"{key}.", child))
                if child.get_type() == "function" and not _is_unnamed(child):
                    self.functions[key] = _reads_of(child)
                    self.module.update(_module_wide(child))

    def shifts(self, after: "Names") -> list[Shift]:
        """The names that existing code reads and that mean something else after edits.

        Args:
            after: The names of the file with the edits of one layer.

        Returns:
            Names from outside a function that the edits hide in it, and names that nothing binds
            any more.
        """
        found = []
        for scope in self.functions.keys() & after.functions.keys():
            was, now = self.functions[scope], after.functions[scope]
            hidden = was.from_module & (now.own | now.from_around) & (self.module | _BUILTIN)
            unbound = (was.bound | was.from_around | (was.from_module & self.module)) & (
                now.from_module - after.module - _BUILTIN
            )
            found += [
                Shift(scope, name, f"{name} is read there from outside, and would be hidden")
                for name in sorted(hidden)
            ]
            found += [
                Shift(scope, name, f"{name} is read there, and nothing would bind it any more")
                for name in sorted(unbound)
            ]
        return found


def _module_wide(table: symtable.SymbolTable) -> Iterator[str]:
    """The names that a function binds in the module, by ``global``."""
    for symbol in table.get_symbols():
        if symbol.is_declared_global() and symbol.is_assigned():
            yield symbol.get_name()


def _reads_of(table: symtable.SymbolTable) -> _Reads:
    reads = _Reads()
    is_module = table.get_type() == "module"
    pending: list[tuple[symtable.SymbolTable, frozenset[str]]] = [(table, frozenset())]
    while pending:
        inner, unnamed = pending.pop()
        own = {one.get_name() for one in inner.get_symbols() if one.is_local()}
        if inner is table and not is_module:
            reads.bound |= own
        for symbol in inner.get_symbols():
            name = symbol.get_name()
            if not symbol.is_referenced() or name in unnamed:
                continue
            if symbol.is_global() or (is_module and inner is table):
                reads.from_module.add(name)
            elif symbol.is_free():
                reads.from_around.add(name)
            elif inner is table:
                reads.own.add(name)
        hidden = unnamed if inner is table else unnamed | own
        pending += [(child, hidden) for child in inner.get_children() if _is_unnamed(child)]
    return reads


def _is_unnamed(table: symtable.SymbolTable) -> bool:
    return table.get_type() == "function" and table.get_name() in _UNNAMED
