"""What is derived from a ``parallel_state.py``."""

import ast

import pytest

from process_groups.errors import ScanError
from process_groups.grid import Grid, derive

HEAD = """
_GROUP = None
_OTHER = None
_RANKS = None
_TABLE = {}
_COUNTER = None
_log = object()

def make(ranks, name):
    return new_group(ranks=ranks)

def setup(count):
    global _GROUP, _RANKS, _COUNTER
    for ranks in todo():
        _log.info(ranks)
        group = make(ranks, name="x")
        if rank in ranks:
            _GROUP = group
            _RANKS = ranks
    _COUNTER = count

def get():
    return _GROUP
"""


def names(source: str) -> Grid:
    return derive(ast.parse(HEAD + source)).grid


def test_groups_and_the_ranks_they_were_made_of_are_the_state() -> None:
    assert names("") == Grid(frozenset({"get"}), frozenset({"_GROUP", "_RANKS"}), frozenset())


STATE = {
    "filled by a method": "def more():\n    _TABLE.update(make([0]))",
    "filled by an item": "def more():\n    _TABLE[0] = make([0])",
    "from another variable": "def more():\n    global _TABLE\n    _TABLE = [_GROUP, _RANKS]",
    "through a function": (
        "def both():\n    return [make([0]), make([1])]\n"
        "def more():\n    global _TABLE\n    a, b = both()\n    _TABLE = b"
    ),
    "through a nested function": (
        "def more():\n    global _TABLE\n    def inner():\n        return make([0])\n"
        "    _TABLE = inner()"
    ),
}


@pytest.mark.parametrize("case", STATE)
def test_further_state(case: str) -> None:
    assert names(STATE[case]).state == {"_GROUP", "_RANKS", "_TABLE"}


ACCESSORS = {
    "rank": ("def f(): return get().rank()", True),
    "rank as an argument": ("def f(): return torch.distributed.get_rank(group=get())", True),
    "source rank": ("def f(): return _RANKS[0]", True),
    "one of a list": ("def f(): return _RANKS[(get().rank() + 1) % 4]", True),
    "first stage": ("def f(): return get().rank() == 0", True),
    "membership": ("def f(): return _RANKS is not None and 3 in _RANKS", True),
    "size, or 0": ("def f():\n    g = get()\n    return g.size() if g is not None else 0", True),
    "a table": ("def f(x):\n    t = {1: (_GROUP, 'a')}\n    g, name = t[x]\n    return g", True),
    "text": ("def f():\n    r = [get().rank()]\n    return '_'.join(map(str, r))", True),
    "lambda": ("def f(): return lambda: get()", True),
    "nested function": ("def f():\n    def g():\n        return get()\n    return g()", True),
    "an override or the size": (
        "def f():\n    if _COUNTER is not None:\n        return _COUNTER\n    return get().size()",
        True,
    ),
    "generator": ("def f():\n    yield _GROUP", True),
    "second name": ("f = get", True),
    "counter": ("def f(): return _COUNTER", False),
    "setter": ("def f(x):\n    global _RANKS\n    _RANKS = x", False),
    "teardown": ("def f():\n    global _GROUP\n    _GROUP = None", False),
    "logger": ("def f(): return _log", False),
    "maker": ("def f():\n    size = get().size()\n    return make(range(size))", False),
    "uses a group, returns none": ("def f(x):\n    get().barrier()\n    return x", False),
    "parameter of the same name": ("def f(_GROUP): return _GROUP", False),
    "local of the same name": ("def f():\n    _GROUP = 1\n    return _GROUP", False),
    "tests only": ("def f(): return 1 if get() else 0", False),
}


@pytest.mark.parametrize("case", ACCESSORS)
def test_accessor(case: str) -> None:
    source, is_accessor = ACCESSORS[case]
    assert names(source).accessors - {"get"} == ({"f"} if is_accessor else set())


TESTS = {
    "one": ("def f(): return _GROUP is not None", True),
    "any that implies it": ("def f(): return _GROUP is not None and x", True),
    "several": (
        "def f():\n    if _GROUP is None or _RANKS is None:\n        return False\n    return True",
        True,
    ),
    "several, nested": (
        "def f():\n    if _GROUP is not None: return True\n    else: return False",
        True,
    ),
    "upside down": ("def f(): return _GROUP is None", False),
    "one of two reasons": ("def f(): return _GROUP is not None or x", False),
    "never": ("def f(): return False", False),
    "always": ("def f():\n    _GROUP is None\n    return True", False),
    "in a loop": ("def f():\n    for g in [_GROUP]:\n        return True\n    return False", False),
    "not the grid": ("def f(): return _COUNTER is not None", False),
    "no answer": ("def f():\n    if _GROUP is None:\n        raise E", False),
}


@pytest.mark.parametrize("case", TESTS)
def test_grid_test(case: str) -> None:
    source, is_test = TESTS[case]
    grid = names(source)
    assert (grid.tests, grid.accessors) == ({"f"} if is_test else set(), {"get"})


def test_definitions_under_if_and_try_count() -> None:
    grid = names(
        "try:\n    def f(): return get()\nexcept E:\n    if x:\n        def g(): return f()\n"
    )
    assert grid.accessors == {"get", "f", "g"}


def test_a_module_without_groups_is_refused() -> None:
    with pytest.raises(ScanError) as error:
        derive(ast.parse("def f(): return 1"))
    assert str(error.value) == (
        "megatron/core/parallel_state.py: no function returns a process group that this module "
        "makes; the scan needs the tree's own parallel_state.py"
    )
