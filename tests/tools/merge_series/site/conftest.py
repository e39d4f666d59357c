"""A stack whose every text tries to be more than text, on main with one sync and one to come."""

from pathlib import Path

import pytest

NASTY_TITLE = "<script>alert('title')</script> & \"both\""
NASTY_BRANCH = 'x"onload="alert(1)<b>'
NASTY_SUBJECT = "</style><script>alert('subject')</script>"
NASTY_FILE = "<img src=x onerror=alert('file')>.py"
NASTY_CODE = """\
'''</script><script>alert("code")</script>'''
x = 1  # \u202e turned \u2066
"""
NASTY_TEXT = """\
<script>alert("why")</script>

<img src=x onerror=alert(1)> and <b onclick=alert(1)>bold</b>,
[a link](javascript:alert(1)), [another](https://example.org/a?b=1&c=2) and
![a picture](https://example.org/track.png).

###### Deep

Below.

#### Less deep

| a | b |
|---|---|
| 1 | `<i>` |
"""

ROWS = f"""\
| #3 | `by-hand` | #1 | Change what only people can | open |
| #4 | `{NASTY_BRANCH}` | #2, #3 | {NASTY_TITLE} | draft |
| #5 | `gone` | main | Do what landed long ago | landed |
"""


@pytest.fixture
def nasty(world):
    """The world with #4 on #2 and #3, synced over a conflict in names.py, and main moved on."""
    series = world.root / "SERIES.md"
    row = "| #3 | `by-hand` | #1 | Change what only people can | open |\n"
    text = series.read_text().replace(row, ROWS)
    text = text.replace("# Series\n", "# Series\n\nAll of it is part of #77, below.\n")
    sections = f"\n## #4 {NASTY_TITLE}\n\n### Why\n\n{NASTY_TEXT}\n## #5 Do what landed long ago\n"
    series.write_text(text + sections)
    world.git("branch", NASTY_BRANCH, "offsets")
    desk = world.root / "desk"
    world.git("worktree", "add", "--quiet", str(desk), NASTY_BRANCH)
    world.git("merge", "--quiet", "-m", "Merge what people changed from #3", "by-hand", where=desk)
    world.git("worktree", "remove", "--force", str(desk))
    world.commit(
        NASTY_BRANCH,
        {NASTY_FILE: NASTY_CODE, "plain.txt": "no line end"},
        f"{NASTY_SUBJECT}\n\n<iframe src=//example.org></iframe>",
    )
    names = "megatron/core/names.py"
    upstream = world.names.replace("return offset(count)", "return str(offset(count))")
    world.commit("main", {names: upstream}, "Give a text")
    done = world.run("sync")
    assert done.code == 0, done.err
    world.commit("main", {"megatron/core/notes.txt": "one\nzwei\nthree\n"}, "Say it in German")
    return world


@pytest.fixture
def site(nasty) -> Path:
    """The site of the stack."""
    done = nasty.run("site", "--output", "out")
    assert done.code == 0, done.err
    return nasty.root / "out"
