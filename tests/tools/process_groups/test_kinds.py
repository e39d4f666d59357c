"""The kind of a read, by the tests it runs under."""

from collections.abc import Callable
from textwrap import indent

import pytest

ReadsIn = Callable[[dict[str, str]], list[str]]

IMPORTS = (
    "from megatron.core import parallel_state as ps\n"
    "from megatron.core.process_group_fallback import (\n"
    "    resolve_process_groups, warn_process_group_fallback as warn\n"
    ")\n"
)

# A function body, and the kind of the one read in it.
KINDS = {
    # Guarded: only where the grid exists.
    "if": ("if ps.ready():\n    ps.tp_rank()", "guarded"),
    "else of not": ("if not ps.ready():\n    pass\nelse:\n    ps.tp_rank()", "guarded"),
    "elif": ("if a:\n    pass\nelif ps.ready():\n    ps.tp_rank()", "guarded"),
    "and": ("return ps.ready() and ps.tp_rank()", "guarded"),
    "and in the test": ("if ps.ready() and ps.tp_rank():\n    pass", "guarded"),
    "and with more": ("if a and ps.ready():\n    ps.tp_rank()", "guarded"),
    "or of not": ("return not ps.ready() or ps.tp_rank()", "guarded"),
    "conditional expression": ("return ps.tp_rank() if ps.ready() else 0", "guarded"),
    "early return": ("if not ps.ready():\n    return\nps.tp_rank()", "guarded"),
    "early continue": (
        "for a in x:\n    if not ps.ready():\n        continue\n    ps.tp_rank()",
        "guarded",
    ),
    "early break": (
        "while True:\n    if not ps.ready():\n        break\n    ps.tp_rank()",
        "guarded",
    ),
    "early return of the other branch": (
        "if ps.ready():\n    pass\nelse:\n    return\nps.tp_rank()",
        "guarded",
    ),
    "early return in both of two": (
        "if not ps.ready():\n    if a:\n        return 1\n    else:\n        return\nps.tp_rank()",
        "guarded",
    ),
    "early return or error": (
        "if not ps.ready():\n    if a:\n        return 1\n    raise E\nps.tp_rank()",
        "guarded",
    ),
    "while": ("while ps.ready():\n    ps.tp_rank()", "guarded"),
    "comprehension": ("[ps.tp_rank() for a in x if ps.ready()]", "guarded"),
    "match guard": ("match a:\n    case 1 if ps.ready():\n        ps.tp_rank()", "guarded"),
    "nested function": ("if ps.ready():\n    def g():\n        ps.tp_rank()", "guarded"),
    "lambda": ("if ps.ready():\n    g = lambda: ps.tp_rank()", "guarded"),
    "variable": ("there = ps.ready()\nif there:\n    ps.tp_rank()", "guarded"),
    "variable of a combination": ("on = a and ps.ready()\nif on:\n    ps.tp_rank()", "guarded"),
    "walrus": ("if there := ps.ready():\n    ps.tp_rank()", "guarded"),
    "both": ("if tp_group is None and ps.ready():\n    ps.tp_rank()", "guarded"),
    # Fallback: only where the caller gave no group.
    "is None": ("if tp_group is None:\n    ps.tp_rank()", "fallback"),
    "None is": ("if None is tp_group:\n    ps.tp_rank()", "fallback"),
    "== None": ("if tp_group == None:\n    ps.tp_rank()", "fallback"),
    "else of is not None": ("if pg is not None:\n    pass\nelse:\n    ps.tp_rank()", "fallback"),
    "not": ("if not pg_collection:\n    ps.tp_rank()", "fallback"),
    "or": ("return tp_group or ps.tp_group()", "fallback"),
    "if else expression": (
        "return tp_rank if tp_rank is not None else ps.tp_rank()",
        "fallback",
    ),
    "early return for a group": (
        "if process_groups is not None:\n    return\nps.tp_rank()",
        "fallback",
    ),
    "early return for either": (
        "if ep_rank is not None or ep_size is not None:\n    return\nps.tp_rank()",
        "fallback",
    ),
    "either": ("if tp_group is None or pg is None:\n    ps.tp_rank()", "fallback"),
    "both of them": ("if tp_group is None and pg is None:\n    ps.tp_rank()", "fallback"),
    "or another reason, and given": ("if a and tp_group is None:\n    ps.tp_rank()", "fallback"),
    "parameter of the enclosing function": (
        "def g():\n    if tp_group is None:\n        ps.tp_rank()",
        "fallback",
    ),
    "variable of a parameter": ("own = tp_group is None\nif own:\n    ps.tp_rank()", "fallback"),
    # Warned: a fallback behind a warning on every way there.
    "warning before it": ("if pg is None:\n    warn()\n    ps.tp_rank()", "warned"),
    "warning before the test": ("warn()\nif pg is None:\n    ps.tp_rank()", "warned"),
    "warning behind an exit": ("if pg:\n    return\nwarn()\nps.tp_rank()", "warned"),
    "warning around a loop": (
        "if pg is None:\n    warn()\n    for a in x:\n        ps.tp_rank()",
        "warned",
    ),
    "warning, and the grid exists": (
        "if pg is None and ps.ready():\n    warn()\n    ps.tp_rank()",
        "guarded",
    ),
    "resolve": ("return resolve_process_groups(pg)", "warned"),
    "resolve under a test": ("if pg is None:\n    resolve_process_groups(pg)", "warned"),
    "resolve where the grid exists": (
        "if ps.ready():\n    resolve_process_groups(pg)",
        "guarded",
    ),
    "warning after it": ("if pg is None:\n    ps.tp_rank()\n    warn()", "fallback"),
    "warning in one branch": (
        "if pg is None:\n    if a:\n        warn()\n    ps.tp_rank()",
        "fallback",
    ),
    "warning in the other branch": (
        "if pg is not None:\n    warn()\nelse:\n    ps.tp_rank()",
        "fallback",
    ),
    "warning under the same test again": (
        "if pg is None:\n    warn()\nif pg is None:\n    ps.tp_rank()",
        "fallback",
    ),
    "warning in a loop that may not run": (
        "if pg is None:\n    for a in x:\n        warn()\n    ps.tp_rank()",
        "fallback",
    ),
    "warning in try": (
        "if pg is None:\n    try:\n        warn()\n    finally:\n        ps.tp_rank()",
        "fallback",
    ),
    "warning in an inner function": (
        "if pg is None:\n    def g():\n        warn()\n    ps.tp_rank()",
        "fallback",
    ),
    "warning not called": ("if pg is None:\n    warn\n    ps.tp_rank()", "fallback"),
    "warning that may be another": (
        "def g(warn):\n    if pg is None:\n        warn()\n        ps.tp_rank()",
        "fallback",
    ),
    "other warning": (
        "if pg is None:\n    warnings.warn('')\n    ps.tp_rank()",
        "fallback",
    ),
    # None of these.
    "plain": ("ps.tp_rank()", "accessor"),
    "in the test itself": ("if ps.tp_rank():\n    pass", "accessor"),
    "left of and": ("return ps.tp_rank() and ps.ready()", "accessor"),
    "behind or": ("return ps.ready() or ps.tp_rank()", "accessor"),
    "wrong branch": ("if ps.ready():\n    pass\nelse:\n    ps.tp_rank()", "accessor"),
    "wrong branch of a group": ("if tp_group is not None:\n    ps.tp_rank()", "accessor"),
    "after the if": ("if ps.ready():\n    pass\nps.tp_rank()", "accessor"),
    "before the exit": ("ps.tp_rank()\nif not ps.ready():\n    return", "accessor"),
    "exit of one branch in two": (
        "if not ps.ready():\n    if a:\n        return\nps.tp_rank()",
        "accessor",
    ),
    "exit of an inner function": (
        "def g():\n    if not ps.ready():\n        return\nps.tp_rank()",
        "accessor",
    ),
    "exit under try": (
        "try:\n    if not ps.ready():\n        return\nexcept E:\n    pass\nps.tp_rank()",
        "accessor",
    ),
    "or with more": ("if a or ps.ready():\n    ps.tp_rank()", "accessor"),
    "or of a group and more": ("if a or tp_group is None:\n    ps.tp_rank()", "accessor"),
    "warning without a test": ("warn()\nps.tp_rank()", "accessor"),
    "assert": ("assert ps.ready()\nps.tp_rank()", "accessor"),
    "raise": ("if not ps.ready():\n    raise E\nps.tp_rank()", "accessor"),
    "torch's test": ("if torch.distributed.is_initialized():\n    ps.tp_rank()", "accessor"),
    "test not called": ("if ps.ready:\n    ps.tp_rank()", "accessor"),
    "parameter of another name": ("if config is None:\n    ps.tp_rank()", "accessor"),
    "attribute": ("if self.tp_group is None:\n    ps.tp_rank()", "accessor"),
    "attribute of a parameter": ("if pg_collection.tp is None:\n    ps.tp_rank()", "accessor"),
    "hasattr": ("if not hasattr(pg_collection, 'tp'):\n    ps.tp_rank()", "accessor"),
    "local": ("own_group = None\nif own_group is None:\n    ps.tp_rank()", "accessor"),
    "chained comparison": ("if tp_group is None is a:\n    ps.tp_rank()", "accessor"),
    "two parameters": ("if tp_group is pg:\n    ps.tp_rank()", "accessor"),
    "variable set twice": (
        "there = ps.ready()\nthere = True\nif there:\n    ps.tp_rank()",
        "accessor",
    ),
    "variable set from itself": (
        "there = there and x\nif there:\n    ps.tp_rank()",
        "accessor",
    ),
}


@pytest.mark.parametrize("case", KINDS)
def test_kind(case: str, reads_in: ReadsIn) -> None:
    body, kind = KINDS[case]
    head = (
        "def f(a, tp_group, pg, pg_collection, process_groups, tp_rank, ep_rank, ep_size, config):"
    )
    source = f"{IMPORTS}{head}\n{indent(body, '    ')}\n"
    assert [line.split()[3] for line in reads_in({"a.py": source})] == [kind]


def test_a_shim_under_a_test_is_milder_too(reads_in: ReadsIn) -> None:
    source = (
        "from megatron.core.process_groups_config import ProcessGroupCollection as P\n"
        "def f(pg_collection=None):\n"
        "    return pg_collection or P.use_mpu_process_groups()\n"
        "def g(pg_collection=None):\n"
        "    return P.use_mpu_process_groups()\n"
    )
    assert reads_in({"a.py": source}) == [
        "a.py f ProcessGroupCollection.use_mpu_process_groups fallback",
        "a.py g ProcessGroupCollection.use_mpu_process_groups shim",
    ]


def test_a_warning_is_found_where_it_is_imported_from_elsewhere(reads_in: ReadsIn) -> None:
    config = (
        "from megatron.core.process_group_fallback import resolve_process_groups\n"
        "from megatron.core.process_group_fallback import warn_process_group_fallback\n"
    )
    source = (
        "from megatron.core import config, parallel_state\n"
        "from .config import resolve_process_groups as resolve\n"
        "def f(pg=None):\n"
        "    if pg is None:\n"
        "        config.warn_process_group_fallback(['tp'], caller='f')\n"
        "        return parallel_state.tp_group()\n"
        "    return resolve(pg, ['tp'], caller='f').tp\n"
    )
    assert reads_in({"a.py": source, "config.py": config}) == [
        "a.py f resolve_process_groups warned",
        "a.py f tp_group warned",
    ]


def test_the_module_that_warns_is_outside(reads_in: ReadsIn) -> None:
    source = f"{IMPORTS}def f(pg=None):\n    return ps.tp_group()\n"
    assert reads_in({"process_group_fallback.py": source}) == []


def test_another_modules_test_guards_nothing(reads_in: ReadsIn) -> None:
    source = (
        f"{IMPORTS}from elsewhere import ready\ndef f():\n    if ready():\n        ps.tp_rank()\n"
    )
    assert reads_in({"a.py": source}) == ["a.py f tp_rank accessor"]
