"""The small stack with a PR on two others, written by hand, and main moved on."""

import pytest

ROW = "| #3 | `by-hand` | #1 | Change what only people can | open |\n"
ROW_BOTH = "| #4 | `both` | #2, #3 | Build on two | open |\n"
SECTION_BOTH = """
## #4 Build on two

Brings: what stands on two

### Why
Because of both.
"""


@pytest.fixture
def stack(world):
    """The world with #4 on #2 and #3, and one commit of its own."""
    series = world.root / "SERIES.md"
    text = series.read_text().replace(ROW, ROW + ROW_BOTH) + SECTION_BOTH
    series.write_text(text.replace("# Series\n", "# Series\n\nAll of it is part of #77, below.\n"))
    world.git("branch", "both", "offsets")
    desk = world.root / "desk"
    world.git("worktree", "add", "--quiet", str(desk), "both")
    subject = "Merge what people changed from #3"
    world.git("merge", "--quiet", "-m", subject, "by-hand", where=desk)
    world.git("worktree", "remove", "--force", str(desk))
    world.commit("both", {"both.txt": "both\n"}, "Add what stands on both")
    return world
