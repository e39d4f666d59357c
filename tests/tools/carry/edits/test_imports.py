from collections.abc import Callable

import pytest

Edited = Callable[[str, str], str]
Refused = Callable[[str, str], list[str]]

NAMES = "add-import: {from: megatron.core.m, names: [get_b, get_a]}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from megatron.core.m import get_x\n",
            "from megatron.core.m import get_a, get_b, get_x\n",
        ),
        (
            "from megatron.core.m import B, CONST, get_a\n",
            "from megatron.core.m import B, CONST, get_a, get_b\n",
        ),
        (
            (
                "try:\n    from megatron.core.m import (\n        a_name,  # why\n"
                "        get_x,\n    )\n"
                "finally:\n    pass\n"
            ),
            (
                "try:\n    from megatron.core.m import (\n        a_name,  # why\n        get_a,\n"
                "        get_b,\n        get_x,\n    )\nfinally:\n    pass\n"
            ),
        ),
        (
            "from megatron.core.m import (a as b,\n                     c)\n",
            "from megatron.core.m import (a as b,\n                     c, get_a, get_b)\n",
        ),
        (
            "from megatron.core.m import a, \\\n    c\n",
            "from megatron.core.m import a, \\\n    c, get_a, get_b\n",
        ),
        (
            (
                "from megatron.core.m import a_rather_long_name_number_one, another_long_name, "
                "and_one_more\n"
            ),
            (
                "from megatron.core.m import (\n    a_rather_long_name_number_one,\n"
                "    another_long_name,\n"
                "    and_one_more,\n    get_a,\n    get_b,\n)\n"
            ),
        ),
    ],
)
def test_adds_to_the_statement_that_imports_from_the_module(
    edited: Edited, before: str, after: str
) -> None:
    assert edited(NAMES, before) == after


NEW = "from megatron.core.m import get_a, get_b\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1\n", f"{NEW}\nx = 1\n"),
        ('"""Doc."""\n\nx = 1\n', f'"""Doc."""\n\n{NEW}\nx = 1\n'),
        ("# Copyright\n\nimport os\n\nx = 1\n", f"# Copyright\n\nimport os\n\n{NEW}\nx = 1\n"),
        (
            "import os\n\nimport torch\n\nfrom .a import b\n",
            f"import os\n\nimport torch\n\n{NEW}\nfrom .a import b\n",
        ),
        ("from .a import b\n", f"{NEW}\nfrom .a import b\n"),
        (
            "from megatron.core import k\nfrom megatron.core.z import z\n",
            f"from megatron.core import k\n{NEW}from megatron.core.z import z\n",
        ),
        (
            "import os\n\nlog = os\n\nfrom megatron.core.z import z\n",
            f"import os\n\nlog = os\n\n{NEW}from megatron.core.z import z\n",
        ),
        (
            "if TYPE_CHECKING:\n    from megatron.core.m import get_a\n",
            f"{NEW}\nif TYPE_CHECKING:\n    from megatron.core.m import get_a\n",
        ),
        ("import os", f"import os\n\n{NEW}"),
        ("", NEW),
    ],
)
def test_a_new_statement_goes_where_isort_puts_it(edited: Edited, before: str, after: str) -> None:
    assert edited(NAMES, before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import os\nimport re\n", "import math\nimport os\nimport re\n"),
        ("import io\nfrom os import path\n", "import io\nimport math\nfrom os import path\n"),
        (
            "from __future__ import annotations\n",
            "from __future__ import annotations\n\nimport math\n",
        ),
        ("import torch\n", "import math\n\nimport torch\n"),
        ("import math\n", "import math\n"),
    ],
)
def test_imports_a_module(edited: Edited, before: str, after: str) -> None:
    assert edited("add-import: {import: math}", before) == after


def test_imports_of_several_edits_are_sorted_together(edited: Edited) -> None:
    edits = (
        "add-import: {from: megatron.core.z, names: [z]}\n\nadd-import: {import: math}\n\n"
        "add-import: {from: megatron.core.a, names: [b]}\n\n"
        "add-import: {from: megatron.core.a, names: [a]}"
    )
    assert edited(edits, "import os\n\nx = 1\n") == (
        "import math\nimport os\n\nfrom megatron.core.a import a, b\n"
        "from megatron.core.z import z\n\nx = 1\n"
    )


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "from megatron.core.m import a\nfrom megatron.core.m import b\n",
            "mismatch 2/1: several statements import from megatron.core.m: lines 1, 2",
        ),
        (
            "from megatron.other import get_a\n",
            "refused 1/1: get_a is imported from elsewhere already",
        ),
        (
            "from megatron.core.m import a; x = 1\n",
            "refused 1/1: line 1: it shares its line with another statement (a `;`)",
        ),
    ],
)
def test_refuses(refused: Refused, source: str, reason: str) -> None:
    assert refused(NAMES, source) == [reason]
