"""Where long text goes on in the next line."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from stack.folding import Folded, fold, labels

PATH = "megatron/core/distributed/fsdp/mcore_fsdp_adapter.py"


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 10, []),
        (PATH, 60, [PATH]),
        (PATH, 44, ["megatron/core/distributed/fsdp/", "mcore_fsdp_adapter.py"]),
        (PATH, 21, ["megatron/core/", "distributed/fsdp/", "mcore_fsdp_adapter.py"]),
        (f"in {PATH}", 44, ["in", "megatron/core/distributed/fsdp/", "mcore_fsdp_adapter.py"]),
        ("#1.1 Model._init_index: at-start", 18, ["#1.1", "Model._init_index:", "at-start"]),
        ("#1.1 Model._init_index: at-start", 11, ["#1.1", "Model._", "init_index:", "at-start"]),
        ("abcdef", 4, ["abcd", "ef"]),
        ("  two  words", 20, ["  two  words"]),
    ],
)
def test_names_are_divided_at_their_separators(text, width, lines):
    assert fold(text, width) == lines


@given(st.text("ab/._ -"), st.integers(1, 12))
def test_nothing_is_lost_and_nothing_too_long(text, width):
    lines = fold(text, width)
    assert max(map(len, lines), default=0) <= width
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_cell_and_a_line():
    console = Console(file=io.StringIO(), width=30)
    table = Table(box=None, show_header=False, padding=0)
    table.add_row(Folded(PATH), "1/1")
    console.print(table, Folded(PATH, indent=2))
    assert [line.rstrip() for line in console.file.getvalue().splitlines()] == [
        "megatron/core/distributed/ 1/1",
        "fsdp/mcore_fsdp_adapter.py",
        "  megatron/core/distributed/",
        "  fsdp/mcore_fsdp_adapter.py",
    ]


def test_long_names_are_numbered():
    short, legend = labels(["0.19.2", "path/to/Megatron-LM", "tree"], 7)
    assert short == ["0.19.2", "(2)", "tree"]
    assert legend == [Folded("(2) path/to/Megatron-LM", indent=1)]
