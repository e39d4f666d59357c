"""Which names lead to a read: imports, aliases, shadowing, and where each read belongs."""

from collections.abc import Callable

import pytest

ReadsIn = Callable[[dict[str, str]], list[str]]

PS = "from megatron.core import parallel_state\n"
TP = "from megatron.core.parallel_state import tp_group\n"
PGC = "from megatron.core.process_groups_config import ProcessGroupCollection\n"

# Name of the case: source of a.py, and its reads without "a.py " and " accessor".
FOUND = {
    "module": (PS + "parallel_state.tp_group()", ["<module> tp_group"]),
    "legacy name": ("from megatron.core import mpu\nmpu.tp_rank()", ["<module> tp_rank"]),
    "from import": (TP + "tp_group()", ["<module> tp_group"]),
    "from import as": (
        "from megatron.core.parallel_state import tp_group as g\ng()",
        ["<module> tp_group"],
    ),
    "module as": (
        "import megatron.core.parallel_state as ps\nps.tp_rank()",
        ["<module> tp_rank"],
    ),
    "dotted": (
        "import megatron.core.parallel_state\nmegatron.core.parallel_state.tp_rank()",
        ["<module> tp_rank"],
    ),
    "dotted legacy name": (
        "import megatron.core\nmegatron.core.mpu.tp_rank()",
        ["<module> tp_rank"],
    ),
    "package as": ("import megatron.core as mc\nmc.mpu.tp_rank()", ["<module> tp_rank"]),
    "relative": ("from . import parallel_state as ps\nps.tp_rank()", ["<module> tp_rank"]),
    "relative from": ("from .parallel_state import tp_rank\ntp_rank()", ["<module> tp_rank"]),
    "star": ("from megatron.core.parallel_state import *\ntp_rank()", ["<module> tp_rank"]),
    "in a function": ("def f():\n    " + TP + "    return tp_group()", ["f tp_group"]),
    "under try": (
        f"try:\n    {TP}except ImportError:\n    tp_group = None\ntp_group()",
        ["<module> tp_group"],
    ),
    "under TYPE_CHECKING": (
        f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {TP}\ntp_group()",
        ["<module> tp_group"],
    ),
    "global import": (
        f"def load():\n    global tp_group\n    {TP}\ndef f():\n    tp_group()",
        ["f tp_group"],
    ),
    "nonlocal import": (
        (
            "def f():\n    tp_group = None\n    def load():\n        nonlocal tp_group\n"
            f"        {TP}    load()\n    tp_group()"
        ),
        ["f tp_group"],
    ),
    "global reaches over a local": (
        TP + "def f(tp_group):\n    def g():\n        global tp_group\n        tp_group()",
        ["f.g tp_group"],
    ),
    "module assigned": (PS + "ps = parallel_state\nps.tp_rank()", ["<module> tp_rank"]),
    "module assigned in a function": (
        PS + "def f():\n    ps = parallel_state\n    ps.tp_rank()",
        ["f tp_rank"],
    ),
    "module assigned twice over": (
        PS + "def f():\n    a = parallel_state\n    b = a\n    b.tp_rank()",
        ["f tp_rank"],
    ),
    "module handed on": (PS + "def f():\n    use(parallel_state)", ["f parallel_state"]),
    "module as an attribute": (
        PS + "class C:\n    def f(self):\n        self.ps = parallel_state",
        ["C.f parallel_state"],
    ),
    "module in a class": (PS + "class C:\n    ps = parallel_state", ["C parallel_state"]),
    "getattr with a constant": (PS + "getattr(parallel_state, 'tp_rank')()", ["<module> tp_rank"]),
    "getattr with a variable": (
        PS + "getattr(parallel_state, x)",
        ["<module> parallel_state unresolved"],
    ),
    "own getattr": (
        PS + "def getattr(a, b): ...\ngetattr(parallel_state, 'tp_rank')",
        ["<module> parallel_state unresolved"],
    ),
    "group variable": (PS + "parallel_state._TP_GROUP.size()", ["<module> _TP_GROUP"]),
    "passed on": (
        PS + "import functools\nf = functools.partial(parallel_state.tp_group, check=False)",
        ["<module> tp_group"],
    ),
    "assigned, then called": (TP + "g = tp_group\ng()\ng()", ["<module> tp_group"]),
    "assigned in a function, then called": (
        TP + "def f():\n    g = tp_group\n    g()",
        ["f tp_group"],
    ),
    "assigned to its own name, then called": (
        PS + "def f():\n    tp_group = parallel_state.tp_group\n    tp_group()",
        ["f tp_group"],
    ),
    "decorator": (TP + "@tp_group()\ndef f(): ...", ["<module> tp_group"]),
    "default": (TP + "def f(a=tp_group(), *, b=tp_group()): ...", ["<module> tp_group x2"]),
    "base class": (TP + "class C(tp_group()): ...", ["<module> tp_group"]),
    "class body": (TP + "class C:\n    a = tp_group()", ["C tp_group"]),
    "method": (TP + "class C:\n    def f(self):\n        tp_group()", ["C.f tp_group"]),
    "nested function": (TP + "def f():\n    def g():\n        tp_group()", ["f.g tp_group"]),
    "async": (TP + "async def f():\n    await g(tp_group())", ["f tp_group"]),
    "lambda": (TP + "def f():\n    return lambda: tp_group()", ["f tp_group"]),
    "comprehension": (TP + "def f():\n    [tp_group() for _ in x]", ["f tp_group"]),
    "condition": (TP + "def f():\n    return {x: 1 for x in y if tp_group()}", ["f tp_group"]),
    "first iterable": (TP + "def f():\n    [tp_group for tp_group in tp_group()]", ["f tp_group"]),
    "f-string": (TP + 'x = f"""\n\n{\ntp_group()}"""', ["<module> tp_group"]),
    "two on a line": (TP + "f(tp_group(), tp_group())", ["<module> tp_group x2"]),
    "match": (
        TP + "match x:\n    case 1 if tp_group():\n        tp_group()",
        ["<module> tp_group x2"],
    ),
    "with, for, try": (
        TP
        + "with tp_group() as a:\n    for b in tp_group():\n        try:\n            tp_group()\n"
        "        except E:\n            tp_group()\n        finally:\n            tp_group()",
        ["<module> tp_group x5"],
    ),
    "same name, told apart": (
        TP + "class C:\n    @property\n    def f(self): ...\n    @f.setter\n    def f(self, x):\n"
        "        tp_group()",
        ["C.f#2 tp_group"],
    ),
    "name that is a word elsewhere": (TP + "x.tp_group()\ny = 'tp_group'  # tp_group()", []),
    "byte order mark": ("\ufeff" + TP + "tp_group()", ["<module> tp_group"]),
    "name outside ASCII": (
        "from megatron.core.parallel_state import tp_group as gruppé\ngruppé()",
        ["<module> tp_group"],
    ),
    "Windows line ends": (TP + "\r\n\r\ntp_group()\r\n", ["<module> tp_group"]),
    "line ends of old": (TP.replace("\n", "\r") + "\r\rtp_group()", ["<module> tp_group"]),
    # Not reads.
    "import alone": (TP + PS, []),
    "setter": (PS + "parallel_state.set_tp_size(1)", []),
    "setup": (PS + "parallel_state.setup(1)", []),
    "grid test": (PS + "parallel_state.ready()", []),
    "counter": (PS + "parallel_state.stages()", []),
    "buffer": (PS + "parallel_state.buffer()", []),
    "group variable written": (PS + "parallel_state._TP_GROUP = None", []),
    "parameter": (TP + "def f(tp_group):\n    tp_group()", []),
    "star parameter": (TP + "def f(*tp_group):\n    tp_group", []),
    "lambda parameter": (TP + "f = lambda tp_group: tp_group()", []),
    "local": (TP + "def f():\n    tp_group = g()\n    return tp_group", []),
    "local of the enclosing function": (
        TP + "def f():\n    tp_group = 1\n    def g():\n        return tp_group",
        [],
    ),
    "comprehension variable": (TP + "[tp_group for tp_group in x]", []),
    "loop variable": (TP + "def f():\n    for tp_group in x:\n        tp_group()", []),
    "exception": (TP + "def f():\n    try: ...\n    except E as tp_group:\n        tp_group()", []),
    "with": (TP + "def f():\n    with x as tp_group:\n        tp_group()", []),
    "capture": (TP + "def f():\n    match x:\n        case tp_group:\n            tp_group()", []),
    "walrus": (TP + "def f():\n    [(tp_group := x) for x in y]\n    tp_group()", []),
    "own function": (TP + "def f():\n    def tp_group(): ...\n    tp_group()", []),
    "own method": (TP + "class C:\n    def tp_group(self):\n        self.tp_group()", []),
    "another module's": ("from elsewhere import tp_group\ntp_group()", []),
    "another module's, locally": (
        TP + "def f():\n    from elsewhere import tp_group\n    tp_group()",
        [],
    ),
}


@pytest.mark.parametrize("case", FOUND)
def test_finds(case: str, reads_in: ReadsIn) -> None:
    source, expected = FOUND[case]
    counted = [line.partition(" x") for line in expected]
    assert reads_in({"a.py": source}) == [
        f"a.py {read} accessor{x}{count}" for read, x, count in counted
    ]


def test_a_class_name_is_not_seen_in_its_methods(reads_in: ReadsIn) -> None:
    source = (
        TP + "class C:\n    tp_group = 1\n    a = tp_group\n    def f(self):\n        tp_group()"
    )
    assert reads_in({"a.py": source}) == ["a.py C.f tp_group accessor"]


SHIMS = {
    "class": (PGC + "ProcessGroupCollection.use_mpu_process_groups()", True),
    "class as": (
        (
            "from .process_groups_config import ProcessGroupCollection as P\n"
            "P.use_mpu_process_groups()"
        ),
        True,
    ),
    "module": (
        (
            "from . import process_groups_config as c\n"
            "c.ProcessGroupCollection.use_mpu_process_groups()"
        ),
        True,
    ),
    "subclass": (
        PGC + "class P(ProcessGroupCollection): ...\nP.use_mpu_process_groups()",
        True,
    ),
    "class unknown": ("def f(cls):\n    cls.use_mpu_process_groups()", True),
    "class of a value": ("type(x).use_mpu_process_groups()", True),
    "passed on": (PGC + "f(ProcessGroupCollection.use_mpu_process_groups)", True),
    "another class": (
        "class P:\n    def use_mpu_process_groups(cls): ...\nP.use_mpu_process_groups()",
        False,
    ),
    "another package": ("from elsewhere import P\nP.use_mpu_process_groups()", False),
    "class itself": (PGC + "ProcessGroupCollection()", False),
}


@pytest.mark.parametrize("case", SHIMS)
def test_finds_the_shim(case: str, reads_in: ReadsIn) -> None:
    source, is_read = SHIMS[case]
    found = [line.split()[2:] for line in reads_in({"a.py": source})]
    assert found == ([["ProcessGroupCollection.use_mpu_process_groups", "shim"]] if is_read else [])


# Name of the case: the files between, and what a.py says.
REEXPORTS = {
    "function": ({"b.py": TP}, "from megatron.core.b import tp_group\ntp_group()"),
    "function as": (
        {"b.py": "from .parallel_state import tp_group as g"},
        "from .b import g\ng()",
    ),
    "module": ({"b.py": PS}, "from .b import parallel_state\nparallel_state.tp_group()"),
    "module as": (
        {"b.py": "from . import parallel_state as q"},
        "from .b import q\nq.tp_group()",
    ),
    "module of a module": ({"b.py": PS}, "from . import b\nb.parallel_state.tp_group()"),
    "star": ({"b.py": "from .parallel_state import *"}, "from .b import tp_group\ntp_group()"),
    "star of a star of a star": (
        {"b.py": "from .c import *", "c.py": "from .d import *", "d.py": "from .c import *\n" + TP},
        "from .b import *\ntp_group()",
    ),
    "star of a star": (
        {"b.py": "from .c import *", "c.py": TP},
        "from .b import *\ntp_group()",
    ),
    "stars in a circle": (
        {"b.py": "from .c import *", "c.py": "from .b import *\n" + TP},
        "from .b import tp_group\ntp_group()",
    ),
    "package": (
        {
            "p/__init__.py": "from .q import tp_group",
            "p/q.py": "from ..parallel_state import tp_group",
        },
        "from .p import tp_group\ntp_group()",
    ),
    "folder without __init__": ({"n/q.py": TP}, "from .n.q import tp_group\ntp_group()"),
    "second name twice over": (
        {"b.py": "from .c import h as g", "c.py": "from .parallel_state import tp_group as h"},
        "from .b import g as f\nf()",
    ),
    "module whose name its package binds otherwise": (
        {"p/__init__.py": "from elsewhere import q", "p/q.py": "from ..parallel_state import *"},
        "from .p.q import tp_group\ntp_group()",
    ),
    "module found through names alone": (
        {"b.py": "from . import c as d", "c.py": TP},
        "from .b import d\nd.tp_group()",
    ),
}


@pytest.mark.parametrize("case", REEXPORTS)
def test_follows_names_through_modules(case: str, reads_in: ReadsIn) -> None:
    files, source = REEXPORTS[case]
    assert reads_in(files | {"a.py": source}) == ["a.py <module> tp_group accessor"]


def test_an_import_in_a_circle_ends(reads_in: ReadsIn) -> None:
    files = {"a.py": "from .b import tp_group\ntp_group()", "b.py": "from .a import tp_group"}
    assert reads_in(files) == []


def test_star_imports_in_a_circle_end(reads_in: ReadsIn) -> None:
    files = {
        "a.py": "from .b import tp_group\ntp_group()",
        "b.py": "from .c import *",
        "c.py": "from .b import *",
    }
    assert reads_in(files) == []


def test_a_function_put_into_a_variable_is_read_there_and_not_where_it_is_imported(
    reads_in: ReadsIn,
) -> None:
    files = {
        "a.py": "from .b import tp_group, g\ntp_group()\ng()",
        "b.py": PS + "tp_group = parallel_state.tp_group\ng = tp_group",
    }
    assert reads_in(files) == ["b.py <module> tp_group accessor"]


def test_the_files_that_define_the_grid_are_outside(reads_in: ReadsIn) -> None:
    source = TP + "def use(): return tp_group()"
    assert reads_in({"process_groups_config.py": source}) == []
