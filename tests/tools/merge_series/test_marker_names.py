"""The conflict markers that a person is offered: whose they are, and every byte beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merge_series.marker_names import with_names

OURS, THEIRS = "a" * 40, "b" * 40
NAMES = {OURS: ("experts (#8045)", ""), THEIRS: ("main", "by 1a2b3c4 'Drop (#7)'")}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (f"<<<<<<< {OURS}\n", "<<<<<<< experts (#8045)\n"),
        (f">>>>>>> {THEIRS}\r\n", ">>>>>>> main, by 1a2b3c4 'Drop (#7)'\r\n"),
        (f">>>>>>> {THEIRS}", ">>>>>>> main, by 1a2b3c4 'Drop (#7)'"),
        (f">>>>>>> {THEIRS}:a b\r\n", ">>>>>>> main:a b, by 1a2b3c4 'Drop (#7)'\r\n"),
        (f"<<<<<<< {OURS}:a/b.py\n", "<<<<<<< experts (#8045):a/b.py\n"),
        (f"<<<<<<<<< {OURS}:a/b.py\n", "<<<<<<<<< experts (#8045):a/b.py\n"),
    ],
)
def test_a_marker_that_the_merge_wrote_is_named(line, named):
    assert with_names(f"=======\n{line}".encode(), NAMES) == f"=======\n{named}".encode()


@pytest.mark.parametrize(
    "line",
    [
        f"# <<<<<<< {OURS}\n", f"<<<<<<< {OURS[:39]}\n", f"<<<<<<< {OURS}a\n", f"<<<<<< {OURS}\n",
        f"<<<<<<< {OURS} and more\n", f"======= {OURS}\n", "<<<<<<< HEAD\n", f"{OURS}\n",
    ],
)  # fmt: skip
def test_any_other_line_stays(line):
    assert with_names(line.encode(), NAMES) == line.encode()


@given(st.lists(st.binary(max_size=9) | st.sampled_from([
    f"\n<<<<<<< {OURS}\n".encode(), f"\n>>>>>>> {THEIRS}\r\n".encode(), OURS.encode(), b"<" * 7,
])))  # fmt: skip
def test_to_name_sides_by_their_ids_changes_nothing(parts):
    text = b"".join(parts)
    assert with_names(text, {OURS: (OURS, ""), THEIRS: (THEIRS, "")}) == text
    assert with_names(with_names(text, NAMES), NAMES) == with_names(text, NAMES)


def test_names_of_both_sides_in_the_worktree(hand):
    """Line ends, a mode, a renamed file, both sides' own markers, and a binary file."""
    hand.declare("#8 low main", "#9 top #8")
    notes = "one\r\ntwo\r\nthree\r\n"
    long = "".join(f"{number}\n" for number in range(20))
    hand.commit(
        "main", {"crlf.txt": notes, "old.txt": long, "run.sh": "a\n", "mixed.bin": "\0\n"}, "Begin"
    )
    hand.git("update-index", "--chmod=+x", "run.sh")
    hand.git("commit", "--quiet", "-m", "Make it run")
    hand.git("reset", "--quiet", "--hard")
    mine = {"crlf.txt": notes.replace("two", "ZWEI"), "run.sh": "b\n", "mixed.bin": "\0b\n"}
    quoted = f"<<<<<<< HEAD\n>>>>>>> main\n{long}"
    hand.grow("low", "main")
    hand.grow(
        "top", "low", {**mine, "old.txt": None, "new.txt": quoted.replace("\n7\n", "\nVII\n")}
    )
    hand.commit(
        "main",
        {
            "crlf.txt": notes.replace("two", "2"), "run.sh": "c\n", "mixed.bin": "\0c\n",
            "old.txt": long.replace("\n7\n", "\nseven\n"),
        },
        "Go on",
    )  # fmt: skip
    done = hand.run("sync")
    assert done.code == 3, done.err
    desk = hand.fork / ".git/merge_series/worktree"
    mine, other = f", by {hand.named('top')}", f", by main's {hand.named('main')}"
    top, low = f"<<<<<<< top (#9){mine}", f">>>>>>> low (#8){other}"
    assert (desk / "crlf.txt").read_bytes().decode() == (
        f"one\r\n{top}\r\nZWEI\r\n=======\r\n2\r\n{low}\r\nthree\r\n"
    )
    assert (desk / "run.sh").read_text() == f"{top}\nb\n=======\nc\n{low}\n"
    assert (desk / "run.sh").stat().st_mode & 0o111
    assert (desk / "new.txt").read_text() == quoted.replace(
        "7\n",
        f"<<<<<<< top (#9):new.txt{mine}\nVII\n=======\nseven\n>>>>>>> low (#8):old.txt{other}\n",
        1,
    )
    assert (desk / "mixed.bin").read_text() == "\0b\n"
    message = hand.git("rev-parse", "--git-path", "MERGE_MSG", where=desk)
    assert (desk / message).read_text().splitlines()[:5] == [
        "Merge what low does from #8",
        "",
        f"Brings {hand.brought()}.",
        "",
        "Conflicted, and how each was settled:",
    ]
    stages = hand.git("ls-files", "--unmerged", where=desk).splitlines()
    assert len(stages) == 12


@pytest.mark.parametrize("main", ["main", "upstream/main"])
def test_the_name_of_main(hand, main):
    hand.declare("#8 low main")
    hand.grow("low", "main", {"notes.txt": "one\nTWO\nthree\n"})
    hand.commit("main", {"notes.txt": "one\n2\nthree\n"}, "Write a digit")
    hand.git("update-ref", "refs/remotes/upstream/main", "main")
    assert hand.run("--main", main, "sync").code == 3
    desk = hand.fork / ".git/merge_series/worktree"
    assert (desk / "notes.txt").read_text() == (
        f"one\n<<<<<<< low (#8), by {hand.named('low')}\nTWO\n=======\n2\n"
        f">>>>>>> {main}, by {hand.named('main')}\nthree\n"
    )
    message = hand.git("rev-parse", "--git-path", "MERGE_MSG", where=desk)
    assert (desk / message).read_text() == (
        "Merge main into low\n\n"
        "Conflicted, and how each was settled:\n- notes.txt: by a person\n\n"
        "Signed-off-by: Ada Test <ada@example.org>\n"
    )
