"""Edits that match and yet cannot mean what they say: every operation in every such place."""

from collections.abc import Callable
from textwrap import indent

import pytest

Edited = Callable[[str, str], str]
Refused = Callable[[str, str], list[str]]

# What each operation lands on in BODY, wherever that stands; remove-return goes by another's trace.
BODY = """\
def inner(a):
    '''Does it.'''
    return a


z = g(1)
"""
OPERATIONS = {
    "before-call": "before-call: g\ninsert: new(1)",
    "after-call": "after-call: g\ninsert: new(1)",
    "replace-call": "replace-call: g\nwith: new(1)",
    "remove-call": "remove-call: g",
    "before-assign": "before-assign: z\ninsert: new(1)",
    "after-assign": "after-assign: z\ninsert: new(1)",
    "replace-assign": "replace-assign: z\nwith: new(1)",
    "remove-assign": "remove-assign: z",
    "before-return": "before-return: true\ninsert: new(1)",
    "replace-return": "replace-return: true\nwith: new(1)",
    "remove-return": "remove-return: true",
    "add-args": "call: g\nadd-args: [ep=ep]",
    "at-start": "at-start: true\ninsert: new(1)",
    "add-parameters": "add-parameters: ['ep: int = 0']",
    "document-args": "document-args: {a: The first.}",
}
IN_INNER = ("at-start", "add-parameters", "document-args")

# Code that never runs; BODY goes to the marked place.
UNREACHABLE = {
    "return": "return 1\n@",
    "raise": "raise E\n@",
    "continue": "for i in x:\n    continue\n    @",
    "break": "for i in x:\n    break\n    @",
    "behind, inside": "return 1\nif x:\n    @",
    "if and else": "if x:\n    return 1\nelse:\n    raise E\n@",
    "if, elif and else": "if x:\n    return 1\nelif y:\n    raise E\nelse:\n    return 2\n@",
    "while True": "while True:\n    work()\n@",
    "break of an inner loop": "while 1:\n    for i in x:\n        break\n@",
    "try": "try:\n    return 1\nexcept E:\n    raise\n@",
    "try, else": "try:\n    x()\nexcept E:\n    raise\nelse:\n    return 1\n@",
    "finally": "try:\n    x()\nfinally:\n    return 1\n@",
    "match": "match x:\n    case 1:\n        return 1\n    case _:\n        raise E\n@",
    "if False": "if False:\n    @",
    "else of if True": "if True:\n    x()\nelse:\n    @",
    "TYPE_CHECKING": "if TYPE_CHECKING:\n    @",
    "typing.TYPE_CHECKING": "if not typing.TYPE_CHECKING:\n    x()\nelse:\n    @",
}

# Code that may run, however little of it looks so.
REACHABLE = {
    "if": "if x:\n    return 1\n@",
    "while True, break": "while True:\n    if x:\n        break\n@",
    "while True, break in the else of an inner loop": (
        "while True:\n    for i in x:\n        y()\n    else:\n        break\n@"
    ),
    "while x": "while x:\n    return 1\n@",
    "for": "for i in x:\n    return 1\n@",
    "with": "with suppress(E):\n    raise E\n@",
    "handler": "try:\n    return x()\nexcept E:\n    y()\n@",
    "one case": "match x:\n    case 1:\n        return 1\n@",
    "guarded case": "match x:\n    case _ if y:\n        return 1\n@",
    "after a definition": "def other():\n    return 1\n@",
    "exit": "sys.exit()\n@",
    "else of a loop": "for i in x:\n    break\nelse:\n    @",
    "finally": "try:\n    return 1\nfinally:\n    @",
    "not TYPE_CHECKING": "if not TYPE_CHECKING:\n    @",
}


def placed(shape: str, body: str) -> str:
    """A function with a shape as its body, in which another body stands at the mark."""
    head, _, _ = shape.partition("@")
    margin = head.rpartition("\n")[2]
    inside = shape.replace(f"{margin}@", indent(body, margin))
    return f"def f(x, y):\n{indent(inside, '    ')}\n    last()\n"


def located(operation: str) -> str:
    return f"in: {'f.inner' if operation in IN_INNER else 'f'}\n{OPERATIONS[operation]}"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_operation_edits_code_that_never_runs(refused: Refused, operation: str) -> None:
    body = "return g()\n" if operation.endswith("-return") else BODY
    source = placed("raise E\n@", body)
    line = 3 + operation.endswith(("call", "assign", "add-args")) * 5
    assert refused(located(operation), source) == [
        f"refused 1/1: line {line}: it never runs: nothing behind line 2 is reached"
    ]


@pytest.mark.parametrize("shape", UNREACHABLE.values(), ids=UNREACHABLE)
def test_code_that_never_runs_is_not_edited(refused: Refused, shape: str) -> None:
    found = refused(located("before-call"), placed(shape, BODY))
    assert len(found) == 1
    assert "it never runs: " in found[0]


@pytest.mark.parametrize("shape", REACHABLE.values(), ids=REACHABLE)
def test_code_that_may_run_is(edited: Edited, shape: str) -> None:
    source = placed(shape, BODY)
    assert edited(located("before-call"), source) != source


@pytest.mark.parametrize(
    ("edit", "source", "reason"),
    [
        ("after-call: g\ninsert: new(1)", "return g()", "line 2: nothing behind it ever runs"),
        ("after-call: g\ninsert: new(1)", "raise g()", "line 2: nothing behind it ever runs"),
        (
            "after-call: g\ninsert: new(1)",
            "if g():\n        return 1\n    else:\n        return 2",
            "line 2: nothing behind it ever runs",
        ),
        (
            "after-call: g\ninsert: new(1)",
            "with g():\n        return 1",
            "line 2: nothing behind it ever runs",
        ),
        (
            "after-call: g\ninsert: new(1)",
            "return 1\n    g()",
            "line 3: it never runs: nothing behind line 2 is reached",
        ),
        (
            "after-call: g\ninsert: new(1)",
            "return 1\n    g()\n    new(1)",
            "line 4: it never runs: nothing behind line 2 is reached",
        ),
        (
            "replace-call: g\nwith: new(1)",
            "if 0:\n        new(1)",
            "line 3: it never runs: the test in line 2 is always False",
        ),
        (
            "call: g\nadd-args: [ep=1]",
            "return 1\n    g(ep=1)",
            "line 3: it never runs: nothing behind line 2 is reached",
        ),
        (
            "add-parameters: [a]",
            "return 1",
            None,
        ),
    ],
)
def test_says_why(refused: Refused, edit: str, source: str, reason: str | None) -> None:
    if reason is None:
        edit, source = "in: f.h\n" + edit, f"{source}\n    def h(*, a): pass"
        reason = "line 3: it never runs: nothing behind line 2 is reached"
    else:
        edit = f"in: f\n{edit}"
    assert refused(edit, f"def f():\n    {source}\n") == [f"refused 1/1: {reason}"]


def test_what_an_edit_itself_puts_out_of_reach_is_what_it_says(edited: Edited) -> None:
    assert edited("in: f\nbefore-call: g\ninsert: return 5", "def f():\n    g()\n    h()\n") == (
        "def f():\n    return 5\n    g()\n    h()\n"
    )
    assert edited("in: f\nat-start: true\ninsert: raise E", "def f():\n    g()\n") == (
        "def f():\n    raise E\n    g()\n"
    )


def test_an_edit_that_another_puts_out_of_reach_is_refused(refused: Refused) -> None:
    edits = "in: f\nat-start: true\ninsert: return 5\n\nin: f\nbefore-call: g\ninsert: new(1)"
    assert refused(edits, "def f():\n    g()\n") == [
        "refused 1/1: line 3: it never runs: nothing behind line 2 is reached"
    ]


# Places where a call is not made once each time its statement runs.
APART = {
    "while g():\n    pass": "a loop's condition",
    "while x and g():\n    pass": "a loop's condition",
    "for a[g()] in x:\n    pass": "a loop's target",
    "[g(i) for i in x]": "a comprehension",
    "{i for i in x if g(i)}": "a comprehension",
    "{i: j for i in x for j in g(i)}": "a comprehension",
    "k(g(i) for i in x)": "a comprehension",
    "k(lambda: g())": "a lambda",
    "x and g()": "behind `and` or `or`",
    "k(x or y or not g())": "behind `and` or `or`",
    "g(1) + (x or g(2))": "behind `and` or `or`",
    "x if y else g()": "one branch of a conditional expression",
    "g() if y else x": "one branch of a conditional expression",
    "x < y < g()": "a chained comparison",
    "assert g()": "an assert",
    "assert x, g()": "an assert",
    "with x, g():\n    pass": "inside another context manager",
    "def k(a: g()):\n    pass": "an annotation",
    "def k() -> g():\n    pass": "an annotation",
    "k: g() = 1": "an annotation",
    "type K = g()": "an annotation",
    "match x:\n    case y if g():\n        pass": "an `except` or `case` line",
    "try:\n    pass\nexcept g():\n    pass": "an `except` or `case` line",
}
AT_ONCE = [
    "for i in g():\n    pass",
    "[i for i in g()]",
    "k(i for i in g(1))",
    "k(lambda a=g(): a)",
    "g() and x",
    "x if g() else y",
    "x < g() < y",
    "with g(), x:\n    pass",
    "def k(a=g()):\n    pass",
    "class K(g()):\n    pass",
    "match g():\n    case y:\n        pass",
    "k(f'{g()}')",
    "if g():\n    pass",
    "del x[g()]",
]


@pytest.mark.parametrize(("source", "place"), APART.items(), ids=APART)
@pytest.mark.parametrize("operation", ["before-call", "after-call", "replace-call", "remove-call"])
def test_a_call_that_is_made_apart_is_no_anchor(
    refused: Refused, operation: str, source: str, place: str
) -> None:
    found = refused(OPERATIONS[operation], f"k()\n{source}\n")
    assert len(found) == 1
    assert found[0].startswith("refused 1/1: line 2: the call stands ")
    assert place in found[0]
    if operation == "before-call":
        assert refused(OPERATIONS[operation], f"k()\nnew(1)\n{source}\n")[0].startswith(
            "refused 1/1: line 2: the call stands "
        )


@pytest.mark.parametrize("source", AT_ONCE)
@pytest.mark.parametrize("operation", ["before-call", "after-call"])
def test_a_call_that_is_made_with_its_statement_is_one(
    edited: Edited, operation: str, source: str
) -> None:
    text = edited(OPERATIONS[operation], f"k()\n{source}\n")
    assert "new(1)" in text


@pytest.mark.parametrize("source", APART)
def test_arguments_go_to_a_call_wherever_it_stands(edited: Edited, source: str) -> None:
    if "g(1)" in source:
        return
    assert "ep=1)" in edited("call: g\nadd-args: [ep=1]", f"k()\n{source}\n")


# Assignments of x and of something else.
SHARED = {
    "a, x = y": "a",
    "[x, a.b] = y": "a.b",
    "a = x = y": "a",
    "x, *a = y": "a",
    "(x, (a, b)) = y": "a, b",
    "x, a[i] = y": "a[i]",
    "x = a[i].b = y": "a[i].b",
    "x = y(a := 1)": "a",
    "x += (a := y)": "a",
}


@pytest.mark.parametrize(("source", "lost"), SHARED.items(), ids=SHARED)
@pytest.mark.parametrize("operation", ["replace-assign: x\nwith: x = 5", "remove-assign: x"])
def test_an_assignment_does_not_go_for_one_of_its_targets(
    refused: Refused, operation: str, source: str, lost: str
) -> None:
    assert refused(operation, f"y = 1\n{source}\n") == [
        f"refused 1/1: line 2: it assigns {lost} as well, which would go with it"
    ]


@pytest.mark.parametrize("source", SHARED)
@pytest.mark.parametrize("action", ["before", "after"])
def test_an_assignment_of_several_targets_is_an_anchor(
    edited: Edited, action: str, source: str
) -> None:
    pair = (source, "new(1)") if action == "after" else ("new(1)", source)
    assert edited(f"{action}-assign: x\ninsert: new(1)", f"y = 1\n{source}\n") == (
        f"y = 1\n{pair[0]}\n{pair[1]}\n"
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a, x = y", "a, x = z"),
        ("a = x = y", "x = a = 5"),
        ("a, x = y", "a = y[0]\n  x = 5"),
        ("x = x = y", "x = 5"),
        ("x: int = y", "x = 5"),
        ("x += y", "x = 5"),
    ],
)
def test_what_assigns_the_others_too_may_take_its_place(
    edited: Edited, source: str, text: str
) -> None:
    after = text.replace("\n  ", "\n")
    assert edited(f"replace-assign: x\nwith: |\n  {text}", f"{source}\n") == f"{after}\n"


@pytest.mark.parametrize("source", ["x: int", "for x in y:\n    pass", "with y as x:\n    pass"])
def test_what_assigns_nothing_by_itself_is_no_assignment(refused: Refused, source: str) -> None:
    found = refused("replace-assign: x\nwith: x = 5", f"{source}\n")
    assert len(found) == 1
    assert found[0].startswith("mismatch 0/1")


IMPORT = "add-import: {from: m, names: [n]}"
GUARDED = {
    "try": "try:\n    @\nexcept ImportError:\n    a = None\n",
    "try, one handler leaves": "try:\n    @\nexcept A:\n    raise\nexcept B:\n    pass\n",
    "except": "try:\n    import fast\nexcept ImportError:\n    @\n",
    "else of try": "try:\n    import fast\nexcept ImportError:\n    pass\nelse:\n    @\n",
    "if": "if x:\n    @\n",
    "else": "if x:\n    a = 1\nelse:\n    @\n",
    "elif": "if x:\n    a = 1\nelif y:\n    @\n",
    "with": "with suppress(ImportError):\n    @\n",
    "for": "for x in y:\n    @\n",
    "else of for": "for x in y:\n    pass\nelse:\n    @\n",
    "while": "while x:\n    @\n",
    "case": "match x:\n    case 1:\n        @\n",
    "if in try": "try:\n    if x:\n        @\nfinally:\n    pass\n",
}
HELD = {
    "module": "@\n",
    "finally": "try:\n    pass\nfinally:\n    @\n",
    "try, finally": "try:\n    @\nfinally:\n    pass\n",
    "try, all handlers leave": "try:\n    @\nexcept A as a:\n    raise E from a\n",
    "else behind a raise": "if x:\n    raise E\nelse:\n    @\n",
    "if before a raise": "if x:\n    @\nelse:\n    raise E\n",
    "if not TYPE_CHECKING": "if not TYPE_CHECKING:\n    @\n",
}


@pytest.mark.parametrize("shape", GUARDED.values(), ids=GUARDED)
def test_an_import_on_one_path_gets_no_name(refused: Refused, shape: str) -> None:
    before, _, _ = shape.partition("@")
    line = before.count("\n") + 1
    assert refused(IMPORT, shape.replace("@", "from m import a")) == [
        f"refused 1/1: line {line}: what it imports is bound on one path only"
    ]
    assert refused(IMPORT, shape.replace("@", "from m import n")) == [
        f"refused 1/1: line {line}: it imports n on one path only"
    ]
    assert refused("add-import: {import: m.o}", shape.replace("@", "import m.o")) == [
        f"refused 1/1: line {line}: it imports m.o on one path only"
    ]


@pytest.mark.parametrize("shape", HELD.values(), ids=HELD)
def test_an_import_on_every_path_does(edited: Edited, shape: str) -> None:
    wanted = shape.replace("@", "from m import a, n")
    assert edited(IMPORT, shape.replace("@", "from m import a")) == wanted


def test_of_two_imports_the_one_on_every_path_gets_the_name(edited: Edited) -> None:
    source = "from m import a\n\ntry:\n    from m import b\nexcept ImportError:\n    b = None\n"
    assert edited(IMPORT, source) == source.replace("import a", "import a, n")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def n():\n    pass\n", 1),
        ("class n:\n    pass\n", 1),
        ("n = 1\n", 1),
        ("if x:\n    n: int = 1\n", 2),
        ("for n in x:\n    pass\n", 1),
        ("with x as n:\n    pass\n", 1),
        ("try:\n    pass\nexcept E as n:\n    pass\n", 1),
        ("match x:\n    case [*n]:\n        pass\n", 1),
        ("k(n := 1)\n", 1),
        ("del n\n", 1),
    ],
)
def test_a_name_that_the_module_binds_otherwise_is_not_imported(
    refused: Refused, source: str, line: int
) -> None:
    assert refused(IMPORT, source) == [
        f"refused 1/1: line {line}: n is bound there to something else"
    ]
    assert refused("add-import: {import: n.o}", source) == [
        f"refused 1/1: line {line}: n is bound there to something else"
    ]


@pytest.mark.parametrize(
    "source", ["[n for n in x]\n", "def f(n):\n    n = 1\n", "k.n = 1\n", "k(lambda n: n)\n"]
)
def test_a_name_of_another_scope_is_no_other_binding(edited: Edited, source: str) -> None:
    assert edited(IMPORT, source) == f"from m import n\n\n{source}"


def test_a_module_is_not_imported_under_a_name_that_is_another(refused: Refused) -> None:
    assert refused("add-import: {import: n}", "from m import n\n") == [
        "refused 1/1: n is imported from elsewhere already"
    ]
