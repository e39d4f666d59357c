from itertools import pairwise
from pathlib import Path, PurePosixPath

import pytest

from carry.edit_paths import edit_paths
from carry.edits import EditFile, load_edit_file, parse_edit_file
from stack.errors import Refusal

GOOD = """\
# yaml-language-server: $schema=../../tools/carry/edits.schema.json
absent-with: megatron/training
absent-means: >-
  Whoever trains
  does without.
edits:
- pr: 1
  commit: 2
  in: C.f
  before-call: g
  count: 3
  insert: |
    x = 1
    y = 2
- {pr: 1, commit: 1, add-import: {from: .a, names: [b]}}
"""


def test_loads_every_edit_file_below_the_three_folders(tmp_path: Path) -> None:
    for name in ("megatron/core/b", "megatron/a", "tests/unit_tests/c", "tools/d", "other/e"):
        path = tmp_path / f"{name}.edits.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GOOD)
    found = [load_edit_file(tmp_path, path) for path in edit_paths(tmp_path)]
    assert [str(one.path) for one in found] == [
        "megatron/a.py",
        "megatron/core/b.py",
        "tests/unit_tests/c.py",
        "tools/d.py",
    ]
    first = found[0]
    assert first.absent_with == PurePosixPath("megatron/training")
    assert first.absent_means == "Whoever trains does without."
    assert first.layers == {(1, 1), (1, 2)}
    assert [(one.layer, one.scope, one.count, one.place) for one in first.edits] == [
        ((1, 2), "C.f", 3, "megatron/a.edits.yml:7: before-call g in C.f"),
        ((1, 1), "", 1, "megatron/a.edits.yml:15: add-import .a"),
    ]


def parse(text: str) -> EditFile:
    return parse_edit_file(PurePosixPath("megatron/x.edits.yml"), text)


DOUBLED = list(pairwise("abcdefghij"))
EDIT = "edits:\n- pr: 1\n  commit: 1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: wants a mapping, found None"),
        ("edits: " + "[" * 5000, "1: nested too deep; edits are one list of plain keys"),
        ("edits: [\n", "2: no valid YAML: expected the node content, but found '<stream end>'"),
        ("edits: []\n\0\n", "2: no valid YAML: the character U+0000; take it out"),
        ("&a\nedits: *a\n", "1: an alias names it elsewhere; write it out there"),
        ("edits: &a\n- [*a]\n", "1: an alias names it elsewhere; write it out there"),
        (
            "a: &a [x, y]\n" + "".join(f"{b}: &{b} [{f'*{a}, ' * 9}]\n" for a, b in DOUBLED),
            "1: an alias names it elsewhere; write it out there",
        ),
        ("edits:\n- 3\n", "2: edits: wants a mapping, found 3"),
        ("edits: []\n", "1: edits: is empty"),
        ("absent-with: a\nabsent-means: b\n", "1: needs `edits` as well"),
        (f"absent-with: a\n{EDIT}", "1: absent-with: needs `absent-means` as well"),
        ("edit: 1\n", "1: edit: unknown key; did you mean `edits`?"),
        ("edits:\n- pr: 1\n  remove-return: true\n", "2: edits: needs `commit` as well"),
        (EDIT + "  befor-call: g\n", "4: befor-call: unknown key; did you mean `before-call`?"),
        (
            EDIT + "  after-return: true\n  insert: x\n",
            "4: after-return: unknown key; did you mean `before-return`?",
        ),
        (EDIT + "  commit: 2\n", "4: commit: the key stands twice; keep one"),
        (EDIT + "  before-call: g\n", "2: edits: needs `insert` as well"),
        (EDIT + "  remove-call: g\n  with: x\n", "5: with: this operation takes none"),
        (EDIT + "  replace-call: g\n  insert: x\n", "5: insert: this operation takes none"),
        (EDIT + "  call: g\n", "4: call: needs `add-args` as well"),
        (EDIT + "  add-args: [a=1]\n", "4: add-args: needs `call` as well"),
        (
            EDIT + "  remove-call: g\n  remove-assign: x\n",
            "2: edits: one edit does one thing; found `remove-call` and `remove-assign`",
        ),
        (EDIT + "  remove-return: false\n", "4: remove-return: wants true, found False"),
        (
            EDIT + "  remove-call: a b\n",
            "4: remove-call: 'a b' is no name of the form this key takes",
        ),
        (EDIT + "  count: 0\n  remove-call: g\n", "4: count: wants at least 1, found 0"),
        (EDIT + "  in: f\n  add-parameters: a\n", "5: add-parameters: wants a list, found 'a'"),
        (
            EDIT + "  in: f\n  add-parameters: ['a=1', 'a=2']\n",
            "5: add-parameters: 'a' stands twice",
        ),
        (
            EDIT + "  in: f\n  add-parameters: ['*', 'a']\n",
            "5: add-parameters: '*': only plain keyword-only parameters can be added",
        ),
        (
            EDIT + "  in: f\n  add-parameters: ['**kwargs']\n",
            "5: add-parameters: '**kwargs': only plain keyword-only parameters can be added",
        ),
        (
            EDIT + "  in: f\n  add-parameters: ['a=1, b=2']\n",
            "5: add-parameters: 'a=1, b=2' is not one parameter; list each by itself",
        ),
        (
            EDIT + "  call: g\n  add-args: ['a']\n",
            "5: add-args: 'a' is not one keyword argument; write name=value, each by itself",
        ),
        (
            EDIT + "  call: g\n  add-args: ['**a']\n",
            "5: add-args: '**a': only plain keyword arguments can be added",
        ),
        (
            EDIT + "  call: g\n  add-args: ['a=1)(']\n",
            "5: add-args: 'a=1)(' is not one keyword argument; write name=value, each by itself",
        ),
        (
            EDIT + "  before-call: g\n  insert: 'x ='\n",
            "5: insert: no Python statements: invalid syntax (<unknown>, line 1)",
        ),
        (
            EDIT + f"  before-call: g\n  insert: x = {'-' * 5000}1\n",
            (
                "5: insert: no Python statements: maximum recursion depth exceeded during ast "
                "construction"
            ),
        ),
        (EDIT + "  before-call: g\n  insert: '# x'\n", "5: insert: holds no statement"),
        (
            EDIT + "  add-import: {from: a}\n",
            "4: add-import: wants either `from` with `names`, or `import`",
        ),
        (EDIT + "  add-import: {from: a, names: [b, b]}\n", "4: names: names one thing twice"),
        (
            EDIT + "  in: f\n  document-args: {a: 'x\\y'}\n",
            "5: document-args: the text of 'a' holds a backslash or three quotes",
        ),
    ],
)
def test_mistakes_are_named_by_file_line_and_key(text: str, message: str) -> None:
    with pytest.raises(Refusal) as error:
        parse(text)
    assert str(error.value) == f"megatron/x.edits.yml:{message}"
