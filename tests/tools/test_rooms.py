"""How the modules of the tools hang together."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"


def modules():
    """Every module of the tools by its name."""
    for file in TOOLS.rglob("*.py"):
        parts = file.relative_to(TOOLS).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


def imported(file):
    """What a module imports when it is imported itself."""
    for statement in ast.parse(file.read_text()).body:
        match statement:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)


def test_imports_go_one_way():
    """So that whichever module is imported first, the others can be."""
    known = dict(modules())
    graph = {name: known.keys() & set(imported(file)) - {name} for name, file in known.items()}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("stack.model") < order.index("merge_series.plan")
    assert set(order) == known.keys()
