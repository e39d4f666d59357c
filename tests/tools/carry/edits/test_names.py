"""Edits that give a name another meaning for the code around them."""

from collections.abc import Callable

import pytest

Edited = Callable[[str, str], str]
Refused = Callable[[str, str], list[str]]

RANK = "def rank():\n    return 0\n\n\n"
HIDDEN = {
    "parameter": (
        "in: f\nadd-parameters: ['rank: int = 0']",
        f"{RANK}def f():\n    return rank()\n",
    ),
    "parameter, read in a lambda": (
        "in: f\nadd-parameters: ['rank: int = 0']",
        f"{RANK}def f():\n    return lambda x: rank() + x\n",
    ),
    "parameter, read in a function inside": (
        "in: f\nadd-parameters: ['rank: int = 0']",
        f"{RANK}def f():\n    def k():\n        return [rank() for i in x]\n    return k\n",
    ),
    "parameter named like a builtin": (
        "in: f\nadd-parameters: ['max: int = 0']",
        "def f():\n    return max(1, 2)\n",
    ),
    "assignment": (
        "in: f\nafter-call: g\ninsert: rank = 1",
        f"{RANK}def f():\n    g()\n    return rank()\n",
    ),
    "assignment above": (
        "in: f\nat-start: true\ninsert: |\n  for rank in x:\n      pass",
        f"{RANK}def f():\n    return rank()\n",
    ),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_a_name_that_is_read_from_outside_is_not_hidden(refused: Refused, case: str) -> None:
    edit, source = HIDDEN[case]
    name = "max" if "builtin" in case else "rank"
    scope = "f.k" if "function inside" in case else "f"
    found = refused(edit, source)
    assert f"refused 1/1: {scope}: {name} is read there from outside, and would be hidden" in found


UNBOUND = {
    "removed": ("in: f\nremove-assign: n\n\nin: f\nbefore-call: g\ninsert: new(1)", "n = 1"),
    "removed by a call": ("in: f\nremove-call: h\n\nin: f\nbefore-call: g\ninsert: k()", "n = h()"),
    "replaced by a call": ("in: f\nreplace-call: h\nwith: new(1)", "m, n = h()"),
    "replaced": ("in: f\nreplace-assign: n\nwith: new(1)", "n = 1"),
}


@pytest.mark.parametrize("case", UNBOUND)
@pytest.mark.parametrize("use", ["n", "[n for i in x]", "lambda: n"])
def test_a_name_that_is_read_stays_bound(refused: Refused, case: str, use: str) -> None:
    edit, statement = UNBOUND[case]
    assert refused(edit, f"def f(x):\n    {statement}\n    g()\n    return {use}\n") == [
        "refused 1/1: f: n is read there, and nothing would bind it any more"
    ]


def test_a_name_that_a_function_inside_reads_stays_bound(refused: Refused) -> None:
    source = "def f():\n    n = h()\n    def k():\n        return n\n    return k\n"
    assert refused("in: f\nreplace-call: h\nwith: new(1)", source) == [
        "refused 1/1: f.k: n is read there, and nothing would bind it any more"
    ]


def test_a_name_of_the_module_stays_bound(refused: Refused) -> None:
    edit = "replace-assign: N\nwith: M = 1"
    for use in ("def f():\n    return N\n", "k(N)\n", "class C:\n    def f(self):\n        N\n"):
        (found,) = refused(edit, f"N = 1\n{use}")
        assert found.endswith("N is read there, and nothing would bind it any more")


@pytest.mark.parametrize(
    ("edit", "source"),
    [
        # What is read elsewhere, or only looks the same.
        ("in: f\nadd-parameters: [rank]", f"{RANK}def f():\n    return x.rank()\n"),
        ("in: f\nadd-parameters: [rank]", f"{RANK}def f():\n    return [rank for rank in x]\n"),
        ("in: f\nadd-parameters: [rank]", f"{RANK}def f():\n    rank = 1\n    return rank\n"),
        ("in: f\nadd-parameters: [rank]", f"{RANK}def f():\n    pass\n\n\nrank()\n"),
        ("in: f\nadd-parameters: [rank]", "def f():\n    return rank\n"),
        ("in: C\nat-start: true\ninsert: rank = 1", f"{RANK}class C:\n    f = 1\n"),
        # What is bound elsewhere too, or not read any more.
        ("in: f\nreplace-call: h\nwith: n()", "def f(n):\n    n = h()\n    return n\n"),
        ("in: f\nreplace-assign: n\nwith: k()", "n = 0\n\n\ndef f():\n    n = 1\n    return n\n"),
        ("in: f\nreplace-assign: n\nwith: k()", "def f():\n    n = 1\n    return m\n"),
        ("in: f\nreplace-assign: max\nwith: k()", "def f():\n    max = 1\n    return max\n"),
        ("replace-assign: N\nwith: from m import N", "N = 1\n\n\ndef f():\n    return N\n"),
        (
            "in: f\nreplace-assign: n\nwith: k()",
            "def f():\n    global n\n    n = 1\n    n\n\n\nn = 2\n",
        ),
    ],
)
def test_what_keeps_its_meaning_is_edited(edited: Edited, edit: str, source: str) -> None:
    assert edited(edit, source) != source
