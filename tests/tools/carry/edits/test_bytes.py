"""What holds for every source: other bytes stay, twice is once, order means nothing."""

import codecs
import random
from pathlib import PurePosixPath

from hypothesis import given, settings
from hypothesis import strategies as st

from carry.edits import EditFile, apply_layers, parse_edit_file

EDITS = """\
- {pr: 1, commit: 1, in: f, add-parameters: ["ep: int = 0"]}
- {pr: 1, commit: 1, in: f, before-call: g, insert: "first(ep)"}
- {pr: 1, commit: 1, in: f, call: g, add-args: [ep=ep]}
- {pr: 1, commit: 1, in: f, after-assign: mark, insert: "second(ep)"}
- {pr: 1, commit: 1, in: f, replace-assign: old, with: "new = 1"}
- {pr: 1, commit: 1, in: f, remove-assign: gone}
- {pr: 1, commit: 1, in: f, at-start: true, insert: "zero(ep)"}
- {pr: 1, commit: 1, add-import: {from: megatron.m, names: [zero]}}
"""

TEXT = st.sampled_from(["''", "'é\u4e00'", '"""x\n# y\n"""', "f'{a}('", "b''", "(1,\n   2)"])
LINE = st.one_of(
    st.builds("v = {}".format, TEXT),
    st.just(""),
    st.just("# комментарий"),
    st.builds("h({})  # é".format, TEXT),
    st.builds("if {}: pass".format, TEXT),
    st.just("for i in a:\n\tpass"),
    st.just("def inner(x):\n\treturn x\n"),
    st.just("x = 1; y = 2"),
)
BLOCK = st.lists(LINE, max_size=4)


@st.composite
def sources(draw: st.DrawFn) -> str:
    """A function with what the edits name, among lines they do not name; levels are tabs."""
    signature = draw(st.sampled_from(["", "a", "a, /, b=(1, 2)", "*, a", "*a, **k", "\n\ta,\n"]))
    call = draw(
        st.sampled_from(["g()", "v = g(a)", "g(a, **k)", "h(g('é', a))", "g(\n\ta,  # b\n\tb,\n)"])
    )
    named = ["mark = 1  # é", call, "old = 2", "gone = 3"]
    order = draw(st.permutations(named))
    body = [line for one in order for line in [*draw(BLOCK), one]] + draw(BLOCK) + ["return 1"]
    top = draw(st.sampled_from(["", "import os\n\n", "from megatron.m import x\n\n", "# é\n"]))
    head = f"{top}class C:\n\tpass\n\n\ndef f({signature}):\n"
    inside = []
    in_string = False
    for one in body:
        for line in one.split("\n"):
            inside.append(line if in_string or not line else f"\t{line}")
            in_string ^= line.count('"""') % 2 == 1
    tail = draw(st.sampled_from(["", "\n", "\n\n\nlast = f\n"]))
    return head + "\n".join(inside) + tail


def in_form(text: str, newline: str, unit: str, *, bom: bool) -> bytes:
    data = text.replace("\t", unit).replace("\n", newline).encode()
    return codecs.BOM_UTF8 + data if bom else data


FORMS = st.tuples(
    st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["    ", "\t", "  "]), st.booleans()
)


def edit_file_of(entries: list[str]) -> EditFile:
    return parse_edit_file(PurePosixPath("megatron/x.edits.yml"), "edits:\n" + "\n".join(entries))


@settings(max_examples=60)
@given(sources(), FORMS, st.randoms(use_true_random=False))
def test_untouched_lines_stay_and_twice_is_once_in_any_order(
    source: str, form: tuple[str, str, bool], rng: random.Random
) -> None:
    newline, unit, bom = form
    entries = EDITS.splitlines()
    before = in_form(source, newline, unit, bom=bom)
    after = apply_layers(edit_file_of(entries), before, [(1, 1)]).text

    again = apply_layers(edit_file_of(entries), after, [(1, 1)])
    assert again.text == after
    assert {one.state for one in again.results} == {"already applied"}

    rng.shuffle(entries)
    assert apply_layers(edit_file_of(entries), before, [(1, 1)]).text == after

    assert after.startswith(codecs.BOM_UTF8) == bom
    assert (after[-1:] in b"\r\n") == (before[-1:] in b"\r\n")
    ends = newline.encode()
    assert after.count(b"\n") + after.count(b"\r") == after.count(ends) * len(ends)
    untouched = [
        line
        for line in before.removeprefix(codecs.BOM_UTF8).split(ends)
        if not any(
            name in line
            for name in (b"def f", b"g(", b"old", b"gone", b"import", b"a,", b"b,", b")")
        )
    ]
    lines = iter(after.removeprefix(codecs.BOM_UTF8).split(ends))
    assert all(line in lines for line in untouched)
