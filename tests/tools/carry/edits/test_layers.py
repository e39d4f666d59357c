from collections.abc import Callable

import pytest

from carry.edits import EditFile, EditMismatch, apply_layers, probe_layers
from stack.errors import Refusal

Make = Callable[[str], EditFile]

TWO = """
    commit: 1
    in: f
    before-call: g
    insert: n = h(1)

    commit: 2
    in: f
    call: h
    add-args: [ep=ep]
    """
SOURCE = b"def f():\n    g(n)\n"


def test_a_layer_acts_on_what_the_one_before_left(edit_file: Make) -> None:
    edits = edit_file(TWO)
    first = apply_layers(edits, SOURCE, [(1, 1)])
    assert first.text == b"def f():\n    n = h(1)\n    g(n)\n"
    both = apply_layers(edits, SOURCE, [(1, 1), (1, 2)])
    assert both.text == b"def f():\n    n = h(1, ep=ep)\n    g(n)\n"
    assert apply_layers(edits, first.text, [(1, 1), (1, 2)]).text == both.text
    assert [one.state for one in both.results] == ["applies", "applies"]


def test_all_layers_stand_after_a_later_one_changed_what_an_earlier_one_inserted(
    edit_file: Make,
) -> None:
    edits = edit_file(TWO)
    layers = [(1, 1), (1, 2)]
    both = apply_layers(edits, SOURCE, layers)
    again = apply_layers(edits, both.text, layers)
    assert again.text == both.text
    assert [one.state for one in again.results] == ["already applied", "already applied"]


def test_a_pr_builds_on_what_another_inserted(edit_file: Make) -> None:
    edits = edit_file(
        """
        in: f
        at-start: true
        insert: |
            if n is not None:
                return h(n)

        pr: 2
        in: f
        before-assign: size
        insert: warn()

        pr: 2
        in: f
        call: h
        add-args: [ep=ep]
        """
    )
    source = b"def f(n):\n    size = g()\n    return size\n"
    first = apply_layers(edits, source, [(1, 1)])
    assert first.text == (
        b"def f(n):\n    if n is not None:\n        return h(n)\n    size = g()\n    return size\n"
    )
    both = apply_layers(edits, first.text, [(2, 1)])
    assert both.text == (
        b"def f(n):\n    if n is not None:\n        return h(n, ep=ep)\n"
        b"    warn()\n    size = g()\n    return size\n"
    )
    assert apply_layers(edits, source, [(1, 1), (2, 1)]).text == both.text
    assert apply_layers(edits, both.text, [(1, 1), (2, 1)]).text == both.text


def test_layers_that_are_not_asked_for_are_left_out(edit_file: Make) -> None:
    assert apply_layers(edit_file(TWO), SOURCE, [(7, 1)]).text == SOURCE


def test_nothing_is_applied_where_one_edit_fails(edit_file: Make) -> None:
    edits = edit_file("in: f\nbefore-call: g\ninsert: a()\n\nin: f\nbefore-call: gg\ninsert: b()")
    with pytest.raises(EditMismatch) as error:
        apply_layers(edits, SOURCE, [(1, 1)])
    assert str(error.value) == (
        "megatron/x.py is as it was, since these edits do not land:\n"
        "  megatron/x.edits.yml:7: before-call gg in f: found 0, wanted 1; nearest: g\n"
        "Correct them there, or take a tree that has what they name (carry check tells of each, "
        "carry report of each release)."
    )


def test_probing_answers_for_every_edit_and_does_not_raise(edit_file: Make) -> None:
    edits = edit_file(
        "in: f\nbefore-call: g\ninsert: a()\n\nin: f\nbefore-call: gg\ninsert: b()\n\n"
        "commit: 2\nin: f\nafter-call: a\ninsert: c()"
    )
    assert [
        (one.found, one.wanted, one.state, one.detail)
        for one in probe_layers(edits, SOURCE, [(1, 1), (1, 2)])
    ] == [
        (1, 1, "applies", ""),
        (0, 1, "mismatch", "nearest: g"),
        (1, 1, "applies", ""),
    ]


@pytest.mark.parametrize(
    ("source", "edits", "message"),
    [
        (b"x = (\n", TWO, "is no Python: '(' was never closed (<unknown>, line 1)"),
        (b"# coding: nope\n", TWO, "cannot be decoded: unknown encoding: nope"),
        (b"\xff\n", TWO, "cannot be decoded: invalid or missing encoding declaration"),
        (
            b"g()\n",
            "before-call: g\ninsert: return 1",
            "does not compile: 'return' outside function (<edited>, line 1)",
        ),
        (
            b"# coding: latin-1\ng()\n",
            "before-call: g\ninsert: x = '\u4e00'",
            (
                "an edit brings a character its encoding lacks: 'latin-1' codec can't encode "
                "character '\\u4e00' in position 5: ordinal not in range(256)"
            ),
        ),
    ],
)
def test_what_is_no_python_is_refused(
    edit_file: Make, source: bytes, edits: str, message: str
) -> None:
    parsed = edit_file(edits)
    with pytest.raises(Refusal) as error:
        apply_layers(parsed, source, sorted(parsed.layers))
    assert str(error.value).replace("iso-8859-1", "latin-1") == f"megatron/x.py: {message}"
