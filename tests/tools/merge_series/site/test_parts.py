"""What the pages are made of: text, Markdown, highlighting, differences, the picture, colours."""

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from merge_series.review.commits import Commit
from merge_series.review.patches import difference
from merge_series.site.changed import changed_files
from merge_series.site.highlight import Highlighter, highlighted
from merge_series.site.layout import HEIGHT, MAIN, WIDTH, lay_out
from merge_series.site.prose import prose
from merge_series.site.reading import MOST_HEADS, heads_of, most_of
from merge_series.site.shown import shown
from stack.git_answers import Sha
from stack.model import PullRequest, Series
from stack.repository import Repository

STYLE = Path(__file__).parents[4] / "tools/merge_series/site/templates/site.css"


def test_text_that_no_page_can_hold_is_shown_by_signs():
    text = "tab\tnew\n\r\0\x1b[1m\x7f\x85 \udcff \u202eab\u2069 \u00e9\U0001f600"
    assert shown(text) == (
        "tab\tnew\n\u240d\u2400\u241b[1m\u2421\ufffd \ufffd [U+202E]ab[U+2069] \u00e9\U0001f600"
    )
    shown("".join(map(chr, range(0x110000)))).encode("utf-8")


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("<b>x</b>\n", "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"),
        ("<script>\nx\n</script>\n", "<p>&lt;script&gt;\nx\n&lt;/script&gt;</p>\n"),
        ("[x](JavaScript:alert(1))", "<p>[x](JavaScript:alert(1))</p>\n"),
        ("[x](data:text/html,y)", "<p>[x](data:text/html,y)</p>\n"),
        ("[x](file:///etc/passwd)", "<p>[x](file:///etc/passwd)</p>\n"),
        (
            '[x](https://a.example/"b)',
            '<p><a href="https://a.example/%22b" rel="noopener noreferrer">x</a></p>\n',
        ),
        (
            "![x](https://a.example/b.png)",
            '<p>!<a href="https://a.example/b.png" rel="noopener noreferrer">x</a></p>\n',
        ),
        ("<https://a.example/>", None),
        ("##### a\n\n###### b\n\n# c\n", "<h3>a</h3>\n<h4>b</h4>\n<h3>c</h3>\n"),
        ("a\n-\n\n# b\n\n### c", "<h3>a</h3>\n<h3>b</h3>\n<h4>c</h4>\n"),
        ("```html\n<i>\n```", '<pre><code class="language-html">&lt;i&gt;\n</code></pre>\n'),
        ('```"onload="x\n```', '<pre><code class="language-&quot;onload=&quot;x"></code></pre>\n'),
    ],
)
def test_markdown_brings_no_html_no_picture_and_no_gap_in_the_headings(text, rendered):
    if rendered is None:
        rendered = (
            '<p><a href="https://a.example/" rel="noopener noreferrer">https://a.example/</a></p>\n'
        )
    assert str(prose(text, 2)) == rendered


@given(st.text(alphabet="ab#'\"\n\r\t \\\f\u2028\ufeff=()", max_size=60))
def test_highlighting_changes_no_line(text):
    content = text.encode()
    lines = highlighted("x.py", content)
    joined = "\n".join("".join(piece for _, piece in line) for line in lines)
    # Pygments makes one line end of every kind; the difference shows such a line as it is.
    assert joined == text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def test_a_name_without_a_language_and_a_large_file_are_not_highlighted():
    assert highlighted("notes.unknown", b"x = 1\n") == ()
    assert highlighted("x.py", b"x = 1\n" * 100_000) == ()
    assert highlighted("x.py", b"if 1:") == (
        (("k", "if"), ("", " "), ("mi", "1"), ("p", ":")),
    )  # fmt: skip


# Differences

NAMES = [
    b"<script>alert(1)<.py", b"tab\there.py", b'quo"te.py', "\u00e9.py".encode(), b"\xff.py",
    b"new\nline.py", b"a b.py", b"x b/y a.py", b"empty.py", b" and b.py", b"-- a.py",
]  # fmt: skip


@pytest.fixture
def odd(tmp_path):
    """A repository with two commits, and between them every kind of change to oddly named files."""
    folder = os.fsencode(tmp_path)

    def git(*arguments):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    def write(name, content):
        path = os.path.join(folder, name)  # noqa: PTH118 - names that are no text
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120 - the same
        Path(os.fsdecode(path)).write_bytes(content)

    git("init", "--quiet")
    write(b"gone.py", b"x = 1\n-- foo\n")
    write(b"mode.sh", b"a\n")
    write(b"old name.txt", b"".join(b"%d\n" % n for n in range(9)))
    write(b"kind", b"file\n")
    write(b"middle.py", b"a\n\nb\n\n-- removed\n\nc")
    write(b"binary.bin", b"\0\1")
    git("add", "--all")
    git("commit", "--quiet", "-m", "One")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "mode.sh").chmod(0o755)
    (tmp_path / "old name.txt").rename(tmp_path / "new name.txt")
    (tmp_path / "kind").unlink()
    (tmp_path / "kind").symlink_to("middle.py")
    write(b"middle.py", b"a\n\nb\r\n\n++ added\n@@ -1 +1 @@\n\x0c\nc\x85\xe2\x80\xa8z\rq\xff\n")
    write(b"binary.bin", b"\0\2")
    for name in NAMES:
        write(name, b"" if name == b"empty.py" else b"diff --git a/x b/x\n")
    git("add", "--all")
    git("commit", "--quiet", "-m", "Two")
    with Repository.open(tmp_path) as repository:
        yield repository


def test_a_difference_is_read_whole_whatever_its_files_are_called(odd):
    old, new = (odd.tree_of(odd.resolve(name)) for name in ("HEAD^", "HEAD"))
    patch = difference(odd, old, new)
    files = changed_files(odd, Highlighter(odd), patch)
    told = [(file.path, file.notes, file.added, file.removed) for file in files]
    named = [(os.fsdecode(name), ("new file",), int(name != b"empty.py"), 0) for name in NAMES]
    assert sorted(told) == sorted(
        [
            *named,
            ("gone.py", ("file removed",), 0, 2),
            ("mode.sh", ("mode 100644 is now 100755",), 0, 0),
            ("new name.txt", ("renamed from old name.txt",), 0, 0),
            ("kind", ("file removed",), 0, 1),
            ("kind", ("new symbolic link",), 1, 0),
            ("middle.py", (), 5, 4),
            ("binary.bin", ("binary, not shown",), 0, 0),
        ]
    )
    pieces = {
        (file.path, line.sign): line.pieces
        for file in files
        for hunk in file.hunks
        for line in hunk.lines[:1]
    }
    assert pieces["gone.py", "-"] == (
        ("n", "x"), ("", " "), ("o", "="), ("", " "), ("mi", "1")
    )  # fmt: skip
    assert pieces["a b.py", "+"][:2] == (("n", "diff"), ("", " "))
    printed = patch.text.decode("utf-8", "surrogateescape")
    hunks = re.split(r"^@@ .*\n", printed, flags=re.MULTILINE)[1:]
    expected = [
        line
        for hunk in hunks
        for line in itertools.takewhile(
            lambda text: text[:1] in {" ", "+", "-", "\\"}, hunk.split("\n")
        )
    ]
    shown_lines = []
    for line in (line for file in files for hunk in file.hunks for line in hunk.lines):
        shown_lines.append(line.sign + "".join(piece for _, piece in line.pieces))
        if line.is_open:
            shown_lines.append("\\ No newline at end of file")
    assert shown_lines == expected


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(alphabet="+-@ \\a\r\n", max_size=24), min_size=2, max_size=2))
def test_the_lines_of_a_difference_are_those_of_the_files(odd, texts):
    trees = [odd.change_tree(None, odd.write_files({"x.py": t.encode()})) for t in texts]
    files = changed_files(odd, Highlighter(odd), difference(odd, *trees))
    lines = [line for file in files for hunk in file.hunks for line in hunk.lines]
    for text, signs, side in ((texts[0], " -", "old"), (texts[1], " +", "new")):
        said = {
            getattr(line, side): "".join(piece for _, piece in line.pieces)
            for line in lines
            if line.sign in signs
        }
        whole = dict(enumerate(text.removesuffix("\n").split("\n"), 1))
        assert said.items() <= whole.items()
    before, after = (text.encode().count(b"\n") + (text[-1:] not in {"", "\n"}) for text in texts)
    added, removed = (sum(line.sign == sign for line in lines) for sign in "+-")
    assert after - before == added - removed


# Heads


def commits(merges):
    """A line of commits; a letter m is a merge."""
    return tuple(
        Commit(
            Sha(f"{number:040x}"),
            (Sha("1" * 40),) * (2 if kind == "m" else 1),
            "Ada",
            "2026-01-02",
            "2026-01-02",
            f"{kind}{number}",
            (),
            (),
            "",
            "",
        )
        for number, kind in enumerate(merges)
    )


@pytest.mark.parametrize(
    ("line", "heads"),
    [
        ("", ""),
        ("c", "0"),
        ("ccc", "2"),
        ("ccm", "1 2"),
        ("mcm", "0 1 2"),
        ("ccmmccmc", "1 2 3 5 6 7"),
    ],
)
def test_the_heads_are_where_merges_began_the_merges_and_the_last(line, heads):
    assert " ".join(commit.subject[1:] for commit in heads_of(commits(line))) == heads


def test_of_many_heads_the_first_and_the_newest_are_kept():
    heads = commits("c" + "m" * 20)
    assert most_of(heads[:MOST_HEADS]) == heads[:MOST_HEADS]
    assert most_of(heads) == (heads[0], *heads[-15:])


# The picture


@st.composite
def stacks(draw):
    count = draw(st.integers(1, 9))
    numbers = range(1, count)
    below = [draw(st.sets(st.integers(1, number), max_size=3)) for number in numbers]
    return stack_of((), *(tuple(sorted(on)) for on in below))


def stack_of(*depends_on):
    return Series(
        {
            n: PullRequest(n, f"b{n}", on, "T", "open", "T", {}, (), n)
            for n, on in enumerate(depends_on, start=1)
        }
    )


@settings(max_examples=60)
@given(stacks())
# Which grandalf alone lays out with two boxes over each other.
@example(stack_of((), (), (), (1, 2, 3), (1, 2, 4), (1, 2, 4), (), (3, 5), (6,)))
def test_boxes_lie_apart_and_below_what_they_stand_on_and_no_line_crosses_one(series):
    layout = lay_out(series)
    assert layout == lay_out(series)
    assert set(layout.boxes) == {MAIN, *series.pull_requests}
    for one, other in itertools.combinations(layout.boxes.values(), 2):
        assert abs(one.x - other.x) >= WIDTH or abs(one.y - other.y) >= HEIGHT
    for box in layout.boxes.values():
        assert 0 <= box.x <= layout.width - WIDTH
        assert 0 <= box.y <= layout.height - HEIGHT
    assert set(layout.lines) == {
        (above, pr.number) for pr in series for above in pr.depends_on or (MAIN,)
    }
    for (above, below), line in layout.lines.items():
        assert layout.boxes[above].y + HEIGHT < layout.boxes[below].y
        numbers = [int(number) for number in re.findall("-?[0-9]+", line)]
        start, end = layout.boxes[above], layout.boxes[below]
        assert numbers[:2] == [start.x + WIDTH // 2, start.y + HEIGHT]
        assert numbers[-2:] == [end.x + WIDTH // 2, end.y]
        # Where a line passes a layer it runs straight down, beside every box.
        assert line.count("V") == len({b.y for b in layout.boxes.values() if start.y < b.y < end.y})
        for x, y in re.findall(r" (-?[0-9]+) (-?[0-9]+) V", line):
            for box in layout.boxes.values():
                assert not (box.x < int(x) < box.x + WIDTH and box.y <= int(y) <= box.y + HEIGHT)


# Colours

TEXT, SHAPE = 4.5, 3.0  # WCAG 2.2, level AA: 1.4.3 and 1.4.11
CODE = ("text", "quiet", "keyword", "name", "string", "number", "comment")
STATES = ("open", "draft", "landed", "superseded", "behind")


def luminance(colour):
    """Relative luminance as WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_measured_as_wcag_does():
    assert contrast("#000000", "#ffffff") == 21
    assert round(contrast("#777777", "#ffffff"), 2) == 4.48


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_contrast_in_both_schemes(scheme):
    blocks = re.findall(r":root \{(.*?)\}", STYLE.read_text(), re.DOTALL)
    assert len(blocks) == 2
    colours = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", blocks[scheme]))
    assert set(colours) == {
        "page", "raised", "add", "del", "link", "focus", "line", *CODE, *STATES
    }  # fmt: skip
    wanted = [
        *((text, on, TEXT) for text in CODE for on in ("page", "add", "del")),
        *(
            (text, on, TEXT)
            for text in ("link", "text", "quiet", *STATES)
            for on in ("page", "raised")
        ),
        *((shape, on, SHAPE) for shape in ("focus", "line", *STATES) for on in ("page", "raised")),
    ]
    low = {
        (text, on): round(contrast(colours[text], colours[on]), 2)
        for text, on, least in wanted
        if contrast(colours[text], colours[on]) < least
    }
    assert low == {}
