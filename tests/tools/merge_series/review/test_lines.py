"""Lines carried over from one text to another."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from merge_series.hunks import Hunk, parse_hunks
from merge_series.review.lines import Span, carry_over, find_block

texts = st.lists(st.sampled_from("abcdef"), max_size=12)


def hunks_between(old, new):
    """The hunks in git's numbering: of an empty side, the line before."""
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Hunk(a + (b > a), b - a, c + (d > c), d - c)


@given(old=texts, new=texts, data=st.data())
def test_untouched_lines_keep_their_text_and_touched_ones_lie_around_what_was_kept(old, new, data):
    if not old:
        return
    first = data.draw(st.integers(1, len(old)))
    last = data.draw(st.integers(first, len(old)))
    hunks = tuple(hunks_between(old, new))
    found, touched = carry_over(hunks, Span("f", first, last))
    if not touched:
        assert new[found.first - 1 : found.last] == old[first - 1 : last]
        return
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    kept = [
        block.b + i + 1
        for block in blocks
        for i in range(block.size)
        if first <= block.a + i + 1 <= last
    ]
    if found is None:
        assert kept == []
    else:
        assert 1 <= found.first <= found.last <= len(new)
        assert all(found.first <= line <= found.last for line in kept)


def test_hunks_are_read_as_git_writes_them():
    text = b"--- a/f\n+++ b/f\n@@ -1 +1,2 @@ def f\n-a\n+b\n+c\n@@ -3,0 +5,2 @@\n+d\n+@@ -9 +9 @@\n"
    assert parse_hunks(text) == (Hunk(1, 1, 1, 2), Hunk(3, 0, 5, 2))


def test_a_block_is_found_only_where_it_is_alone_and_says_something():
    old = b"first\n}\nsecond\nthird\n"
    assert find_block(old, b"third\nfirst\n", Span("f", 4, 4)) == Span("f", 1, 1)
    assert find_block(old, b"third\nthird\n", Span("f", 4, 4)) is None
    assert find_block(old, b"}\n", Span("f", 2, 2)) is None
    assert find_block(old, b"second\n}\nthird\n", Span("f", 3, 4)) is None
