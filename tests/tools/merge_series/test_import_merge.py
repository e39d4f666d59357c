"""Import statements of three texts merged: whole results, every refusal, what always holds."""

import ast
import warnings
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merge_series.import_checks import check_uses
from merge_series.import_layout import merge_order
from merge_series.import_merge import merge_imports
from merge_series.import_statements import NoImports, NotSettled
from merge_series.text_merge import merge_lines

USE = "\nprint({})\n"


def both_ways(base, ours, theirs):
    """The result, which must not depend on which side comes first; nothing may be left."""
    texts = [text if isinstance(text, bytes) else text.encode() for text in (base, ours, theirs)]
    one, other = merge_imports(*texts), merge_imports(texts[0], texts[2], texts[1])
    assert (one.left, other.left) == (0, 0)
    assert one.text("", "") == other.text("", "")
    return one.text("", "")


def refused(base, ours, theirs):
    reasons = []
    for sides in ((ours, theirs), (theirs, ours)):
        with pytest.raises(NotSettled) as caught:
            merge_imports(base.encode(), *(side.encode() for side in sides))
        reasons.append(str(caught.value))
    assert reasons[0] == reasons[1]
    return reasons[0]


CASES = {
    "a name from each side": (
        "from x import a\n",
        "from x import a, b\n",
        "from x import a, c\n",
        "from x import a, b, c\n",
    ),
    "one side drops what the other keeps": (
        "from x import a, b, c\n",
        "from x import b, c\n",
        "from x import a, b, c, d\n",
        "from x import b, c, d\n",
    ),
    "a flat and a parenthesised form": (
        "from x import a, b\n",
        "from x import (\n    a,\n    b,\n    c,\n)\n",
        "from x import a, b, d\n",
        "from x import a, b, c, d\n",
    ),
    "two parenthesised forms": (
        "from x import (\n    b,\n    d,\n)\n",
        "from x import (\n    b,\n    c,\n    d,\n)\n",
        "from x import (\n    b,\n    bb,\n    d,\n)\n",
        "from x import (\n    b,\n    bb,\n    c,\n    d,\n)\n",
    ),
    "statements at one place": (
        "import os\n",
        "import os\nfrom b import y\n",
        "import os\nfrom a import x\n",
        "import os\nfrom a import x\nfrom b import y\n",
    ),
    "statements of different sections at one place": (
        "import os\n",
        "import os\n\nfrom megatron.core import y\n",
        "import os\n\nimport torch\n",
        "import os\n\nimport torch\n\nfrom megatron.core import y\n",
    ),
    "relative levels are different modules": (
        "from .x import a\nfrom ..x import b\n",
        "from .x import a, c\nfrom ..x import b\n",
        "from .x import a\nfrom ..x import b, d\n",
        "from .x import a, c\nfrom ..x import b, d\n",
    ),
    "relative made absolute": (
        "from .x import a\n",
        "from pkg.x import a\n",
        "from .x import a\nfrom .x import b\n",
        "from pkg.x import a\n\nfrom .x import b\n",
    ),
    "an alias one side renamed": (
        "import numpy as np\n",
        "import numpy as onp\n",
        "import numpy as np\nimport torch as th\n",
        "import numpy as onp\nimport torch as th\n",
    ),
    "plain imports": (
        "import a\nimport c\n",
        "import a\nimport b\n",
        "import a\nimport c\nimport d\n",
        "import a\nimport b\nimport d\n",
    ),
    "several modules in one statement": (
        "import a, b\n",
        "import a, b, c\n",
        "import a, b, d\n",
        "import a\nimport b\nimport c\nimport d\n",
    ),
    "an unsorted statement keeps its order": (
        "from x import z, a\n",
        "from x import z, a, m\n",
        "from x import z, q, a\n",
        "from x import z, q, a, m\n",
    ),
    "too long for one line": (
        "from module import aaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbb\n",
        (
            "from module import aaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbb, "
            "cccccccccccccccccc\n"
        ),
        "from module import aaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbb, dddddddddddd\n",
        (
            "from module import (\n    aaaaaaaaaaaaaaaaaaaaaaaa,\n    bbbbbbbbbbbbbbbbbbbbbbbb,\n"
            "    cccccccccccccccccc,\n    dddddddddddd,\n)\n"
        ),
    ),
    "a name that one side only mentions, and another function imports for itself": (
        "from x import a, b\n\n\ndef f(): pass\n",
        ("from x import a, b, c\n\n\ndef f(): cast('a', c)\n\n\ndef g():\n    from y import a\n"),
        "from x import b, d\n\n\ndef f(): pass\n",
        (
            "from x import a, b, c, d\n\n\ndef f(): cast('a', c)\n\n\n"
            "def g():\n    from y import a\n"
        ),
    ),
    "a comment above a statement stays with it": (
        "import os\n# why\nfrom x import a\n",
        "import os\n# why\nfrom x import a, b\n",
        "import os\n# why\nfrom x import a, c\n",
        "import os\n# why\nfrom x import a, b, c\n",
    ),
    "a comment in a statement that git merges by itself": (
        "from x import (\n    a,  # first\n    m,\n    n,\n    o,\n    z,\n)\nfrom y import d\n",
        (
            "from x import (\n    a,  # first\n    b,\n    m,\n    n,\n    o,\n    z,\n)\n"
            "from y import d, e\n"
        ),
        (
            "from x import (\n    a,  # first\n    m,\n    n,\n    o,\n    z,\n    zz,\n)\n"
            "from y import d, f\n"
        ),
        (
            "from x import (\n    a,  # first\n    b,\n    m,\n    n,\n    o,\n    z,\n    zz,\n)\n"
            "from y import d, e, f\n"
        ),
    ),
    "one side has all that is wanted": (
        "from x import a\n",
        "from x import a, b\n",
        "from x import (\n    a,\n    b,\n    c,\n)\n",
        "from x import (\n    a,\n    b,\n    c,\n)\n",
    ),
    "a blank line above what the other side puts something before": (
        "import torch\nfrom z import w\n",
        "import torch\n\nfrom b import y\nfrom z import w\n",
        "import torch\nfrom a import x\nfrom z import w\n",
        "import torch\nfrom a import x\nfrom b import y\nfrom z import w\n",
    ),
    "one side reorders": (
        "from b import y\nfrom a import x\n",
        "from a import x\nfrom b import y\n",
        "from b import y, z\nfrom a import x\n",
        "from b import z\nfrom a import x\nfrom b import y\n",
    ),
    "both drop": (
        "from x import a, b, c\n",
        "from x import a\nfrom y import d\n",
        "from x import b\nfrom y import e\n",
        "from y import d, e\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_statements_are_merged_by_name(name):
    *stages, merged = (text + "\nCODE = 1\n" for text in CASES[name])
    assert both_ways(*stages).decode() == merged


def test_what_the_merged_file_still_loads_is_put_back():
    base = "from x import a, b" + 2 * "\n" + "def f():\n    return a\n\n\n# apart\n\n\nprint(b)\n"
    ours = base.replace("a, b", "b, c").replace("return a", "return c")
    theirs = base.replace("a, b", "a, b, d").replace("print(b)", "print(b, d, a)")
    assert both_ways(base, ours, theirs).decode() == (
        "from x import a, b, c, d\n\ndef f():\n    return c\n\n\n# apart\n\n\nprint(b, d, a)\n"
    )


@pytest.mark.parametrize(
    "code",
    [
        "x = '\\d'",
        "x = a is 1",
        "assert (a, 'b')",
        r"def f(): return cast('list[\'\\d\']', 1)",
        r"x: 'Literal[\'\\d\']' = 1",
    ],
)
def test_what_python_warns_of_in_a_text_is_not_told(code):
    sides = [f"from x import a{more}\n\n{code}\n" for more in ("", ", b", ", c", ", b, c")]
    with warnings.catch_warnings(record=True, action="always") as told:
        assert both_ways(*sides[:3]).decode() == sides[3]
    assert told == []


@pytest.mark.parametrize(
    "use", ["def g(v: a): pass", "def g() -> 'list[a]': pass", "__all__ = ['a']", "g: a = None"]
)
def test_annotations_and_all_are_uses(use):
    base = "from x import a, b\n\nprint(a)\n\n\n# apart\n\n\nCODE = 1\n"
    ours = base.replace("a, b", "b, c").replace("print(a)", "print(c)")
    theirs = base.replace("a, b", "a, b, d").replace("CODE = 1", use)
    assert both_ways(base, ours, theirs).startswith(b"from x import a, b, c, d\n")


@pytest.mark.parametrize(
    "use",
    [
        "def g(v): return cast('list[a]', v)",
        "g = []  # type: list[a]",
        "__all__.extend(['a'])",
        "def test_it(a): pass",
        "@pytest.fixture\ndef b2(a): pass",
    ],
)
def test_what_other_programs_look_up_is_put_back(use):
    base = "from x import a, b\n\nprint(a)\n\n\n# apart\n\n\nCODE = 1\n"
    ours = base.replace("a, b", "b, c").replace("print(a)", "print(c)")
    theirs = base.replace("a, b", "a, b, d").replace("CODE = 1", use)
    assert both_ways(base, ours, theirs).startswith(b"from x import a, b, c, d\n")


TWO_BLOCKS = """\
try:
    import one{0}
except ImportError:
    one = None

# apart

try:
    import two{1}
except ImportError:
    two = None

print({2})
"""


def test_a_name_is_not_put_back_into_another_block_of_the_same_form():
    base = TWO_BLOCKS.format("", "\n    from two import a", "a")
    ours = TWO_BLOCKS.format("\n    from one import b", "", "1")
    theirs = TWO_BLOCKS.format("\n    from one import c", "\n    from two import a", "a")
    assert refused(base, ours, theirs + "\n\nprint(2, a)\n") == (
        "the import of a has no place among what conflicts"
    )


def test_a_name_that_one_side_moved_between_two_blocks_of_the_same_form():
    base = TWO_BLOCKS.format("\n    from one import a", "", "a")
    ours = TWO_BLOCKS.format("\n    from one import b", "\n    from one import a", "a")
    theirs = TWO_BLOCKS.format("\n    from one import a, c", "\n    from two import d", "a")
    assert refused(base, ours, theirs) == "the import of a moved past other code"


def test_blocks_are_scopes_of_their_own():
    base = """\
from typing import TYPE_CHECKING

from x import a

if TYPE_CHECKING:
    from x import T

try:
    from fast import run
except ImportError:
    from slow import run


def load():
    from x import a

    return a
"""
    ours = (
        base.replace("import T\n", "import T, U\n")
        .replace("fast import run", "fast import run, stop")
        .replace("slow import run", "slow import run, stop")
        .replace("    from x import a\n", "    from x import a, b\n")
    )
    theirs = (
        base.replace("import T\n", "import S, T\n")
        .replace("fast import run", "fast import go, run")
        .replace("slow import run", "slow import go, run")
        .replace("    from x import a\n", "    from x import a, c\n")
    )
    assert both_ways(base, ours, theirs).decode() == (
        base.replace("import T\n", "import S, T, U\n")
        .replace("fast import run", "fast import go, run, stop")
        .replace("slow import run", "slow import go, run, stop")
        .replace("    from x import a\n", "    from x import a, b, c\n")
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("if A:", "else:"),
        ("for v in A:", "else:"),
        ("try:", "finally:"),
        ("try:\n    A()\nexcept ImportError:", "except OSError:"),
        ("match A:\n  case 1:", "  case _:"),
    ],
)
def test_a_name_that_one_side_moved_to_the_other_block_of_a_statement(first, second):
    base = f"{first}\n    from x import a, b\n{second}\n    from y import c\n"
    ours = f"{first}\n    from x import a\n{second}\n    from x import b\n    from y import c\n"
    theirs = base.replace("a, b", "a, b, d").replace("import c", "import c, e")
    assert both_ways(base, ours, theirs).decode() == (
        ours.replace("import a", "import a, d").replace("import c", "import c, e")
    )


def test_a_name_that_one_side_moved_to_another_block():
    base = "from x import T, a\n\nif CHECKING:\n    from y import S\n\nprint(a)\n"
    ours = base.replace("T, a", "a").replace("import S", "import S\n    from x import T")
    theirs = base.replace("T, a", "T, a, b")
    assert both_ways(base, ours, theirs).decode() == ours.replace("import a\n", "import a, b\n")


def test_a_moved_name_that_the_other_side_uses_anew_is_for_a_person():
    base = "from x import T, a\n\nif CHECKING:\n    from y import S\n\nprint(a)\n"
    ours = base.replace("T, a", "a").replace("import S", "import S\n    from x import T")
    theirs = base.replace("T, a", "T, a, b").replace("print(a)", "print(T())")
    assert refused(base, ours, theirs) == (
        "one side moved the import of T to another block and the other uses it anew"
    )


# The first place of the body is of one hunk, the last of another.
MOVED_AND_USED = """\
from x import B{0}

if T:
    import t{1}


def f(v: A):
    print({2})
    # apart
    B(v)
    # apart
    return {3}
"""


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "why"),
    [
        (
            "from x import a\n",
            "from y import a\n",
            "from z import a\n",
            "a would be bound twice",
        ),
        (
            "import os\n",
            "import os\nfrom x import a\n",
            "import os\nfrom y import b as a\n",
            "a would be bound twice",
        ),
        # The last of them counts: the first side's a is of y, the second side's of x.
        (
            "from x import b\nfrom y import c\n",
            "from x import a, b\nfrom y import a, c\n",
            "from y import d\nfrom x import b\nfrom y import c\n",
            "a is bound several times, and which one comes last is not certain",
        ),
        (
            "from x import a\nfrom y import b\n\n\ntry: pass\nexcept OSError: from x import b\n",
            (
                "from x import a\nfrom z import b\nfrom y import b\n\n\n"
                "try: pass\nexcept OSError: from x import b\n"
            ),
            "from x import c\n\n\ntry: pass\nexcept OSError:\n    from y import b\n",
            "b is bound several times, and which one comes last is not certain",
        ),
        (
            "from x import a\n\n\ndef f():\n    global a\n    a = 1\n",
            "from x import a, b\n\n\ndef f():\n    global a\n    a = 1\n\n\nprint(a, b)\n",
            "import os\n\n\ndef f():\n    global a\n    a = 1\n",
            "one side dropped one of the imports of a and the other uses it anew",
        ),
        (
            "from x import a, b\n\nif TYPE_CHECKING:\n    from x import a\n",
            "from x import b\n\nif TYPE_CHECKING:\n    from x import a\n",
            "from x import a, b, c\n\nif TYPE_CHECKING:\n    from x import a\n\n\na()\n",
            "one side dropped one of the imports of a and the other uses it anew",
        ),
        (
            "import os\nfrom x import a\n\n\ndef f():\n    a()\n",
            "import os\n\n\ndef f():\n    from x import a\n    a()\n",
            "import os\nfrom y import a\n\n\ndef f():\n    a()\n",
            "one side took the import of a to another block and the other imports it otherwise",
        ),
        (
            "from x import a\n\n\ndef f():\n    a()\n",
            "from x import a\nimport os\n\n\ndef f():\n    from x import a\n    a()\n",
            "from y import a\n\n\ndef f():\n    a()\n",
            "one side took the import of a to another block and the other imports it otherwise",
        ),
        (
            "try:\n    from x import a\nexcept OSError:\n    a = b = None\n",
            "try:\n    from y import a\nexcept OSError:\n    a = b = None\n",
            "try:\n    from x import a, b\nexcept OSError:\n    a = b = None\n",
            "one side dropped x from a try block and the other imports more of it",
        ),
        (
            "import x\nimport x.a\nimport os\n\nf('x')\n",
            "import x\nimport os\n\nf('x')\n",
            "import x.a\nimport os\n\nf('x')\n",
            "nothing would bind x, and no one import of it was dropped",
        ),
        (
            "from x import a\n",
            "import os\n",
            "from y import a, b\nfrom x import a\n",
            "a is bound several times, and which one comes last is not certain",
        ),
        (
            "from x import a, b\n",
            "from x import a, b, c\n",
            "from x import a, b, d\n\nC = 1\n\n\ndef c(): pass\n",
            "c would be bound twice",
        ),
        *(
            (
                "from x import a\n",
                "from x import a, c\n",
                f"from x import a, d\n\nC = 1\n\n\n{binding}\n",
                "c would be bound twice",
            )
            for binding in (
                "try: pass\nexcept OSError as c: pass",
                "match C:\n    case [c, *_]: pass",
                "match C:\n    case {**c}: pass",
                "def f():\n    global c\n    c = 1",
            )
        ),
        (
            "import p.a\nimport p.b\n\nC = 1\n",
            "import p.b\nimport q\n\nC = 1\n",
            "import p.a\nimport p.b\nimport r\n\nC = 1\n\n\nprint(p.a.x)\n",
            "one side dropped p.a and the other uses it",
        ),
        (
            "import a\n\nC = 1\n\n\n# apart\n",
            "import a\nimport os\nimport x\n\nC = os\n\n\n# apart\n",
            "import a\nimport y\n\nC = 1\n\n\n# apart\nimport os\n",
            "os would be used above its import",
        ),
        (
            "import a\nimport b\n\nC = 1\nimport d\n",
            "import a\nimport x\n\nC = 1\nimport b\nimport d\n",
            "import a\nimport b\nimport y\n\nC = 1\nimport c\nimport d\n",
            "the import of b moved past other code",
        ),
        (
            "from x import T, a\n\nif A:\n    from y import S\n\n\ndef f(v: T): return a\n",
            "from x import a\n\nif A:\n    from y import S, T\n\n\ndef f(v: T): return a\n",
            "from x import T, a, b\n\nif A:\n    from y import S\n\n\ndef f(v): return T(a)\n",
            "one side moved the import of T to another block and the other uses it anew",
        ),
        (
            MOVED_AND_USED.format(", A", "", "A", "v"),
            MOVED_AND_USED.format("", "\n    from x import A", "1", "v"),
            MOVED_AND_USED.format(", A, C", "", "1", "A(v)"),
            "one side moved the import of A to another block and the other uses it anew",
        ),
        (
            "import a\nimport b\n\nC = 1\n",
            "import b\nimport x\n\nC = 1\n",
            "import b\nimport y\n\nC = 1\nimport a\n",
            "one side dropped an import that the other moved",
        ),
        (
            "import a\n\nC = 1\n\nD = 2\n\nE = 3\n",
            "import a\nimport x\n\nC = 1\nimport b\n\nD = 2\n\nE = 3\n",
            "import a\nimport y\n\nC = 1\n\nD = 2\n\nE = 3\nimport b\n",
            "its statements stand where the rule does not reach them",
        ),
        (
            "import a\n\nprint(1)\nimport m\nprint(2)\n",
            "import a\nimport b\n\nprint(3)\nimport n\nprint(4)\n",
            "import a\nimport c\n\nprint(5)\nimport o\nprint(6)\n",
            "imports conflict among code as well",
        ),
        *(
            (
                "import a\nimport b\n",
                "import a\n",
                f"import a\n{comment}",
                "one side dropped a statement and the other wrote a comment there",
            )
            for comment in ("# why\nimport b\n", "import b  # why\n")
        ),
        (
            "from x import a\n",
            "from x import *\n",
            "from x import a, b\n",
            "it imports with a star",
        ),
        *(
            (
                f"from x import a  # {noqa}: F401\n",
                f"from x import a, b  # {noqa}: F401\n",
                f"from x import a, c  # {noqa}: F401\n",
                "a conflicting statement has a noqa comment",
            )
            for noqa in ("noqa", "NOQA")
        ),
        (
            "from x import a  # isort: skip\n",
            "from x import a, b  # isort: skip\n",
            "from x import a, c  # isort: skip\n",
            "it holds directives to isort",
        ),
        (
            "from x import a  # one\n",
            "from x import a, b  # one\n",
            "from x import a, c  # one\n",
            "a statement that both sides changed holds a comment",
        ),
        (
            "from x import a\n",
            "# one\nfrom x import a, b\n",
            "# two\nfrom x import a, c\n",
            "both sides changed the comments between its imports",
        ),
        (
            "if A:\n    from x import a\n",
            "if A:\n    from x import a\nfrom x import b\n",
            "if A:\n    from x import a, c\n",
            "statements of different blocks conflict with each other",
        ),
        (
            "from x import a\n",
            "from x import a, b\n",
            "from x import a, c\nreturn\n",
            "it does not compile: 'return' outside function (file, line 2)",
        ),
        (
            "from x import a, b, c\n",
            "from x import b, a, c, d\n",
            "from x import a, c, b, e\n",
            "no order of its imports agrees with both sides",
        ),
        (
            "try:\n    from x import a, b\nfinally:\n    pass\n",
            "try:\n    from x import a\nfinally:\n    pass\n",
            "try:\n    from x import b\nfinally:\n    pass\n",
            (
                "it does not compile: expected an indented block after 'try' statement on line 1 "
                "(file, line 2)"
            ),
        ),
        (
            "from x import a\n",
            "from x import a, b",
            "from x import a, c\n",
            "a conflicting statement ends the file without a line end",
        ),
        (
            "if A:\n    from x import a\n",
            "if A:\n    from x import a, b\n",
            "if A:\n  from x import a, c\n",
            "both sides indented a statement anew",
        ),
        (
            "from x import a\r\n",
            "from x import a, b\r\n",
            "from x import a, c\n",
            "conflicting statements have different line ends",
        ),
        (
            "from x import a\r",
            "from x import a, b\r",
            "from x import a, c\r",
            "it holds control characters or line ends that are not LF or CRLF",
        ),
        (
            "import a; import b\n",
            "import a; import c\n",
            "import a; import d\n",
            "no import statement is in conflict",
        ),
        (
            "import a\n\x0cimport b\n",
            "import a\n\x0cimport b, c\n",
            "import a\n\x0cimport b, d\n",
            "no import statement is in conflict",
        ),
        (
            "#!/bin/python\nimport a\n",
            "#!/bin/python\nimport b\n",
            "#!/bin/python3\nimport c\n",
            "a comment would stand by another import than it did",
        ),
        (
            "# one\nimport a\n",
            "import b\n",
            "# one\n# one\nimport c\n",
            "both sides changed the comments between its imports",
        ),
    ],
)
def test_what_is_not_certain_is_for_a_person(base, ours, theirs, why):
    assert refused(base, ours, theirs) == why


def test_a_name_that_every_side_uses_above_its_import_is_no_matter():
    base = "if A:\n    print(z)\nimport z\n\nC = 1\nimport a\n"
    ours, theirs = base + "import b\n", base + "import c\n"
    assert both_ways(base, ours, theirs).decode() == base + "import b\nimport c\n"


@pytest.mark.parametrize(
    "ours", [b"# coding: latin-1\nimport os, sys\n", b"\xef\xbb\xbfimport os, sys\n"]
)
def test_different_encodings_are_for_a_person(ours):
    with pytest.raises(NotSettled, match="different encodings"):
        merge_imports(b"import os\n", ours, b"import os, re\n")


@pytest.mark.parametrize(
    "frame",
    [
        b"%b\nNAME = 'x'\n",
        b"\xef\xbb\xbf%b\nNAME = 'x'\n",
        b"# coding: latin-1\n%b\nNAME = '\xe9'\n",
        b"'''Text.\f\n\tmore'''\n%b\n\n\nNAME = 1",
    ],
    ids=["plain", "bom", "latin-1", "no-final-line-end"],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_every_other_byte_stays(frame, end):
    stages = [
        (frame % text).replace(b"\n", end)
        for text in (
            b"from x import a\n",
            b"from x import a, b\n",
            b"from x import a, c\n",
            b"from x import a, b, c\n",
        )
    ]
    assert both_ways(*stages[:3]) == stages[3]


def test_a_tab_indents_as_before():
    base = "def f():\n\tfrom x import (\n\t\ta,\n\t)\n\treturn a\n"
    ours = base.replace("\t\ta,\n", "\t\ta,\n\t\tb,\n")
    theirs = base.replace("\t\ta,\n", "\t\ta,\n\t\tc,\n")
    assert both_ways(base, ours, theirs).decode() == base.replace(
        "\t\ta,\n", "\t\ta,\n\t\tb,\n\t\tc,\n"
    )


BASE = "import os\nfrom x import a\n\n\ndef f():\n    return a\n"


def test_a_code_conflict_beside_is_left_alone():
    ours = BASE.replace("import a", "import a, b").replace("return a", "return a, b")
    theirs = BASE.replace("import a", "import a, c").replace("return a", "return a, c")
    merged = merge_imports(BASE.encode(), ours.encode(), theirs.encode())
    assert merged.left == 1
    assert merged.text("mine", "yours").decode() == (
        "import os\nfrom x import a, b, c\n\n\ndef f():\n<<<<<<< mine\n    return a, b\n=======\n"
        "    return a, c\n>>>>>>> yours\n"
    )


def test_what_either_side_of_a_code_conflict_loads_is_put_back():
    ours = BASE.replace("import a", "import b").replace("return a", "return b")
    theirs = BASE.replace("import a", "import a, c").replace("return a", "return a, c")
    merged = merge_imports(BASE.encode(), ours.encode(), theirs.encode())
    assert merged.text("", "").startswith(b"import os\nfrom x import a, b, c\n")


def test_names_of_conflicting_code_are_the_persons():
    base = BASE + "\n\n\n# apart\n\n\nx = 1\n\n\n# apart\n\n\ny = x\n"
    ours = base.replace("import a", "import a, b").replace("x = 1", "z = 1").replace("= x", "= z")
    theirs = base.replace("import a", "import a, c").replace("x = 1", "x = 2")
    merged = merge_imports(base.encode(), ours.encode(), theirs.encode())
    assert merged.left == 1
    assert merged.text("", "").startswith(b"import os\nfrom x import a, b, c\n")
    # Without the conflict of code no person would look at it.
    with pytest.raises(NotSettled, match="nothing would bind x"):
        merge_imports(
            base.encode(),
            ours.replace("z = 1", "").replace("= z", "= 1").encode(),
            theirs.replace("x = 2", "x = 1").replace("return a", "return x").encode(),
        )


def test_code_that_touches_an_import_is_parted_from_it():
    base = "import os\nX = 1\n"
    merged = merge_imports(base.encode(), b"import os, re\nX = 2\n", b"import os, sys\nX = 3\n")
    assert merged.text("mine", "yours").decode() == (
        "import os\nimport re\nimport sys\n<<<<<<< mine\nX = 2\n=======\nX = 3\n>>>>>>> yours\n"
    )


BESIDE_TWO_BLOCKS = """\
def g():
    from z import m{0}

    return m


if A:
    from x import a{1}
from y import b{2}
print({3})
"""


def test_statements_of_two_blocks_beside_conflicting_code_are_left_with_it():
    base = BESIDE_TWO_BLOCKS.format("", "", "", 1)
    ours = BESIDE_TWO_BLOCKS.format(", n", ", c", ", d", 2)
    theirs = BESIDE_TWO_BLOCKS.format(", o", ", e", ", f", 3)
    merged = merge_imports(base.encode(), ours.encode(), theirs.encode())
    head, mine = BESIDE_TWO_BLOCKS.format(", n, o", ", c", ", d", 2).split("if A:\n")
    yours = theirs.partition("if A:\n")[2]
    assert merged.text("O", "T").decode() == (
        f"{head}if A:\n<<<<<<< O\n{mine}=======\n{yours}>>>>>>> T\n"
    )


def test_imports_among_conflicting_code_are_code():
    base = "def f():\n    x = 1\n    import a\n    y = 1\n"
    ours = "def f():\n    x = 2\n    import b\n    y = 2\n"
    theirs = "def f():\n    x = 3\n    import c\n    y = 3\n"
    with pytest.raises(NoImports):
        merge_imports(base.encode(), ours.encode(), theirs.encode())


def test_conflicts_are_read_off_no_marker_text():
    text = '"""\n<<<<<<< x\n=======\n>>>>>>> y\n"""\n'
    base, ours, theirs = ((f"import a{m}\n" + text) for m in ("", "\nimport b", "\nimport c"))
    assert both_ways(base, ours, theirs).decode() == "import a\nimport b\nimport c\n" + text
    long = ("<" * 200 + "\n").encode()
    pieces = merge_lines(long + b"a\n", long + b"b\n", long + b"c\n")
    assert [type(piece).__name__ for piece in pieces] == ["bytes", "Hunk"]


@settings(max_examples=300)
@given(
    texts=st.tuples(*[st.lists(st.integers(0, 6), unique=True, max_size=6)] * 3),
    wanted=st.sets(st.integers(0, 7)),
)
def test_every_two_things_are_in_an_order_that_a_side_has(texts, wanted):
    _, *sides = texts
    try:
        order = merge_order(*texts, wanted, int)
    except NotSettled:
        assert any(set(one) & set(other) for one, other in [sides])
        return
    assert sorted(order) == sorted(wanted)
    assert order == merge_order(texts[0], *sides[::-1], wanted, int)
    for pair in combinations(order, 2):
        both = [side for side in sides if set(pair) <= set(side)]
        assert not both or any(tuple(one for one in side if one in pair) == pair for side in both)


# Files of a few modules with a few names, and a body that loads some of them.
MODULES, NAMES = ("m", "n", ".r"), ("a", "b", "c", "d", "Long", "CONST")


names_of_modules = st.lists(st.sampled_from(NAMES), unique=True, max_size=4)


def written(modules, exploded, used):
    lines = []
    for module, names in modules.items():
        if names and exploded:
            lines += [f"from {module} import (", *(f"    {name}," for name in names), ")"]
        elif names:
            lines.append(f"from {module} import {', '.join(names)}")
    return "\n".join(["import os", *lines, "", "", "CODE = 1", "", f"print({', '.join(used)})", ""])


@st.composite
def stages(draw):
    """A file and two that were made of it, each by changing what is taken from some modules."""
    base = {module: draw(names_of_modules) for module in draw(st.permutations(MODULES))}
    texts = []
    for changed in (0, 2, 2):
        modules = dict(base)
        for module in draw(st.lists(st.sampled_from(MODULES), min_size=changed, max_size=changed)):
            modules[module] = draw(names_of_modules)
        used = draw(st.lists(st.sampled_from(NAMES), unique=True)) if draw(st.booleans()) else []
        texts.append(written(modules, draw(st.booleans()), used))
    return texts


def imports_of(text):
    return {
        (node.level, node.module, alias.name)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def merged_or_none(base, ours, theirs):
    try:
        return merge_imports(base.encode(), ours.encode(), theirs.encode())
    except NotSettled:
        return None


@settings(max_examples=250)
@given(texts=stages())
def test_what_always_holds(texts):
    base, ours, theirs = texts
    result, mirrored = merged_or_none(base, ours, theirs), merged_or_none(base, theirs, ours)
    # Symmetric, in whether it is settled as well.
    assert (result is None) == (mirrored is None)
    if result is None or mirrored is None:
        return
    assert result.left == mirrored.left
    if result.left:
        return
    text = result.text("", "").decode()
    assert text == mirrored.text("", "").decode()
    before, mine, yours, made = map(imports_of, (base, ours, theirs, text))
    # Nothing that only one side added is lost, and nothing comes from nowhere.
    assert made >= (mine - before) | (yours - before) | (mine & yours)
    assert made <= before | mine | yours
    # What one side dropped and nothing loads stays dropped.
    loaded = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    assert {n for *_, n in made & before - (mine & yours)} <= loaded
    # Every line that is no import is as git merges it: here as one of the sides has it.
    assert text[text.index("\n\n\n") :] in {
        ours[ours.index("\n\n\n") :],
        theirs[theirs.index("\n\n\n") :],
    }
    # To merge a side again changes nothing.
    for side in (ours, theirs):
        again = merged_or_none(side, text, side)
        assert again is None or again.text("", "").decode() == text


IDLE = [
    ("a.py", "import os\n", "import os\nimport re\n", "re"),
    ("a.py", "import os\nimport re\n", "import os\n", "re"),
    ("a.py", "import os\n", "import os\nfrom x import a as b, c\n\nprint(c)\n", "b"),
    ("a.pyi", "import os\n", "import os\nimport re\n", "re"),
    ("a.py", "import os\n", "import os\n\n\ndef f():\n    import re\n", "re"),
    ("pkg/__init__.py", "import os\n", "import os\nimport re\n", None),
    ("a.py", "import os\n", "import os\nfrom x import a\n\n__all__ = ['a']\n", None),
    ("a.py", "import os\n", "import os\nimport re\n\nprint(re)\n", None),
    ("a.py", "import os\n", "import os\nimport re\n\nx: 're.Pattern'\n", None),
    ("a.py", "import os\n", "from __future__ import annotations\nimport os\n", None),
]


@pytest.mark.parametrize(("path", "one", "other", "name"), IDLE)
def test_an_import_that_one_side_alone_has_and_no_text_uses(path, one, other, name):
    for sides in ((one, other), (other, one)):
        texts = [text.encode() for text in (sides[0], *sides)]
        if name is None:
            check_uses(path, texts, texts[:1])
            continue
        with pytest.raises(NotSettled, match=f"^one side alone imports {name}, which no text uses"):
            check_uses(path, texts, [b""])
