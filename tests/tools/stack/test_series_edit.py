"""Changes to SERIES.md in place: the cells that are meant, and not a byte beside them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stack.errors import Refusal
from stack.series_edit import (
    NewPullRequest,
    with_dependencies,
    with_pull_request,
    with_state,
)
from stack.series_file import parse_series

# Bars and spaces as people leave them.
WHOLE = """\
# Series  \t

PR | Branch|Depends on | Title | State
---|---|---|---|---
#1|`one`|main|Take \\| apart|open
|   #2 | `two` |  #1,#3  | Two | draft   |
| #3 | `three` | main | Three | open |

## #1 Take | apart

## #2 Two
## #3 Three

Text | open |
"""


def test_one_cell_changes_and_nothing_else():
    done = with_state(WHOLE.encode(), "S", [2], "landed").decode()
    assert done == WHOLE.replace("| draft   |", "| landed   |")


def test_a_row_without_outer_bars_and_with_an_escaped_one_is_changed():
    done = with_state(WHOLE.encode(), "S", [1], "superseded").decode()
    assert done == WHOLE.replace("apart|open\n", "apart|superseded\n")


def test_dependencies_change_in_their_cell():
    done = with_dependencies(WHOLE.encode(), "S", {2: (3, 1), 1: ()}).decode()
    assert done == WHOLE.replace("#1,#3", "#3, #1")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_a_byte_order_mark_stay(end, start):
    data = start + WHOLE.encode().replace(b"\n", end)
    done = with_state(data, "S", [3], "landed")
    place = data.rindex(b"| open |" + end, 0, data.index(b"## #1"))
    assert done == data[:place] + b"| landed |" + data[place + len(b"| open |") :]


def test_a_row_and_a_section_are_added():
    new = NewPullRequest(9, "nine", (1, 2), "Take a|b", "the ninth", "### Why\n\nSo.")
    below = "\n## Known\n\n- #3 is not all of it\n"
    for end in (b"\n", b"\r\n"):
        for rest in ("", below):
            data, known = ((t.encode().replace(b"\n", end)) for t in (WHOLE + rest, rest))
            done = with_pull_request(data, "S", new)
            row = b"| #9 | `nine` | #1, #2 | Take a\\|b | open |" + end
            section = b"\n## #9 Take a|b\n\nBrings: the ninth\n\n### Why\n\nSo.\n"
            place = data.index(b"| Three | open |") + len(b"| Three | open |" + end)
            sections = data[place : len(data) - len(known)]
            assert done == data[:place] + row + sections + section.replace(b"\n", end) + known


@pytest.mark.parametrize(
    ("data", "change", "said"),
    [
        (WHOLE, lambda d: with_state(d, "S", [7], "landed"), "S: has no row for #7; add one"),
        (
            WHOLE,
            lambda d: with_dependencies(d, "S", {1: (2,)}),
            "S:5: dependencies form a cycle: #1 -> #2 -> #1; remove one of them",
        ),
        (
            WHOLE + "\n```\nnot closed\n",
            lambda d: with_pull_request(d, "S", NewPullRequest(9, "nine", (), "Nine", "", "x")),
            "S:8: #9 has no section; add `## #9 Nine`",
        ),
        (
            WHOLE,
            lambda d: with_pull_request(d, "S", NewPullRequest(9, "nine", (), "Nine #", "", "x")),
            "S:17: title 'Nine' is not the table's 'Nine #' (line 8); make them equal",
        ),
        (
            WHOLE,
            lambda d: with_pull_request(
                d, "S", NewPullRequest(9, "nine", (), "Nine", "", "## #2 Two")
            ),
            "S:19: #2 has a section already (line 12); remove one",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(data, change, said):
    with pytest.raises(Refusal) as refusal:
        change(data.encode())
    assert str(refusal.value) == said


@settings(deadline=None)  # the first parse loads the Markdown parser
@given(
    st.lists(st.sampled_from(["open", "draft", "landed", "superseded"]), min_size=1, max_size=5),
    st.data(),
)
def test_whatever_changes_reads_back_and_can_be_changed_back(states, data):
    rows = "".join(f"| #{n} | `b{n}` | main | T{n} | {s} |\n" for n, s in enumerate(states, 1))
    sections = "".join(f"\n## #{n} T{n}\n" for n in range(1, len(states) + 1))
    head = "| PR | Branch | Depends on | Title | State |\n|---|---|---|---|---|\n"
    text = (head + rows + sections).encode()
    number = data.draw(st.integers(1, len(states)))
    state = data.draw(st.sampled_from(["open", "draft", "landed", "superseded"]))
    done = with_state(text, "S", [number], state)
    assert parse_series(done.decode(), "S").pull_requests[number].state == state
    assert with_state(done, "S", [number], states[number - 1]) == text
