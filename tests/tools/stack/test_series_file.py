import re
from pathlib import Path

import git
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stack.errors import ExitCode, Refusal
from stack.model import PullRequest, Series, SeriesCommit
from stack.series_file import parse_series, read_series

STACK = """\
# Series

Two sentences. | not a table |

| PR | Branch | Depends on | Title | State |
|---|---|---|---|---|
| #20 | `top/of-it` | #10, #30 | Use `both` \\| either | draft |
| #10 | `first` | main | Add a check | open |
| #30 | `by-hand` | main | By hand | landed |

## #10 Add a check

Brings: the check,
of course

Some words: not a key.

    Code: in the text.

### Why

Note: because.

| a | b |
|---|---|
| 1 | 2 |

### What
- one

  `code`

### Tests
None.

### Compatibility
Full.

### Commits

1. **Add the
   check**

   Why it is there,
   in two lines.

   - a list
     goes on

       indented code

   Note: this is text.

   ```
   Adds: `code`
   ```

   `Adds:` is code.

   Adds: `tools/check.py`,
   `tools/data/list.txt`

   Regenerates: `tools/allow.txt`

2. **Say `more`**

   Regenerates: `tools/allow.txt`
3.
   **No more**

   But a body.

## #20 Use `both` \\| either

## #30 By hand

Status: anything goes.

### Notes

1. A list.

### Notes

### Why
Why not.

## Known, not part of it

- nothing
"""

PARSED = Series(
    {
        10: PullRequest(
            number=10,
            branch="first",
            depends_on=(),
            title="Add a check",
            state="open",
            brings="the check, of course",
            texts={
                "Why": "Note: because.\n\n| a | b |\n|---|---|\n| 1 | 2 |",
                "What": "- one\n\n  `code`",
                "Tests": "None.",
                "Compatibility": "Full.",
            },
            commits=(
                SeriesCommit(
                    number=1,
                    subject="Add the check",
                    body=(
                        "Why it is there,\nin two lines.\n\n- a list\n  goes on\n\n"
                        "    indented code\n\nNote: this is text.\n\n"
                        "```\nAdds: `code`\n```\n\n`Adds:` is code."
                    ),
                    adds=("tools/check.py", "tools/data/list.txt"),
                    regenerates=("tools/allow.txt",),
                    line=41,
                ),
                SeriesCommit(
                    number=2,
                    subject="Say `more`",
                    body="",
                    adds=(),
                    regenerates=("tools/allow.txt",),
                    line=65,
                ),
                SeriesCommit(
                    number=3,
                    subject="No more",
                    body="But a body.",
                    adds=(),
                    regenerates=(),
                    line=68,
                ),
            ),
            line=8,
        ),
        30: PullRequest(
            number=30,
            branch="by-hand",
            depends_on=(),
            title="By hand",
            state="landed",
            brings="By hand",
            texts={"Why": "Why not."},
            commits=(),
            line=9,
        ),
        20: PullRequest(
            number=20,
            branch="top/of-it",
            depends_on=(10, 30),
            title="Use `both` | either",
            state="draft",
            brings="Use `both` | either",
            texts={},
            commits=(),
            line=7,
        ),
    }
)


def refusal(text: str) -> str:
    with pytest.raises(Refusal) as caught:
        parse_series(text, "SERIES.md")
    assert caught.value.exit_code is ExitCode.FAILED
    return str(caught.value)


def test_every_part_is_read() -> None:
    # In Markdown, unlike in a table, a bar in a heading needs no escape, but may have one.
    series = parse_series(
        STACK.replace("## #20 Use `both` \\|", "## #20 Use `both` |"), "SERIES.md"
    )

    assert series == PARSED
    assert list(series) == list(PARSED)
    assert series.generated == ("tools/allow.txt",)


def test_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    text = STACK.replace("## #20 Use `both` \\|", "## #20 Use `both` |")
    path = tmp_path / "SERIES.md"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())

    assert read_series(path) == PARSED


GOOD = """\
| PR | Branch | Depends on | Title | State |
|---|---|---|---|---|
| #1 | `one` | main | First | open |
| #2 | `two` | #1 | Second | open |
| #3 | `three` | #2 | Third | open |

## #1 First

Brings: the first

### Why
a
### What
b
### Tests
c
### Compatibility
d
### Commits
1. **Subject one**

   Body.

   Adds: `a/one.py`, `a/two.py`

   Regenerates: `a/list.txt`
2. **Subject two**

## #2 Second
Text.
## #3 Third
Text.
## Known
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "Depends on |",
            "Needs |",
            "1: no table of the stack; its columns are PR, Branch, Depends on, Title, State",
            id="other columns",
        ),
        pytest.param(
            "## Known",
            "| PR | Branch | Depends on | Title | State |\n|---|---|---|---|---|\n",
            "33: second table of the stack; join it to the first",
            id="second table",
        ),
        pytest.param(
            "| #2 | `two` |",
            "| 2 | `two` |",
            "4: '2' is no PR number; write it like #8045",
            id="number without its sign",
        ),
        pytest.param(
            "| #2 | `two` |",
            "| #02 | `two` |",
            "4: '#02' is no PR number; write it like #8045",
            id="number with a zero before it",
        ),
        pytest.param(
            "| #2 | `two` |",
            "| #\u0662 | `two` |",
            "4: '#\u0662' is no PR number; write it like #8045",
            id="number in other digits",
        ),
        pytest.param(
            "| #2 | `two` |",
            "| #1 | `two` |",
            "4: #1 has a row already (line 3); remove one",
            id="PR twice",
        ),
        pytest.param(
            "`three`",
            "`one`",
            "5: branch `one` belongs to #1 already (line 3); choose another name",
            id="branch twice",
        ),
        pytest.param(
            "`three`",
            "`one/more`",
            "5: git cannot hold branch `one/more` beside `one` (line 3); choose another name",
            id="branch below a branch",
        ),
        pytest.param(
            "`one`",
            "`three/more`",
            "5: git cannot hold branch `three` beside `three/more` (line 3); choose another name",
            id="branch above a branch",
        ),
        pytest.param(
            "`two`",
            "two",
            "4: 'two' is no branch; write one name in backticks, like `pg-ratchet`",
            id="branch without backticks",
        ),
        pytest.param(
            "`two`",
            "`two`, `too`",
            "4: '`two`, `too`' is no branch; write one name in backticks, like `pg-ratchet`",
            id="two branches",
        ),
        pytest.param(
            "`two`",
            "",
            "4: '' is no branch; write one name in backticks, like `pg-ratchet`",
            id="no branch",
        ),
        pytest.param(
            "`two`",
            "`two..three`",
            "4: git takes no branch named `two..three`; choose another name",
            id="name git refuses",
        ),
        pytest.param(
            "`two`",
            "`-two`",
            "4: git takes no branch named `-two`; choose another name",
            id="name like an option",
        ),
        pytest.param(
            "`two`",
            "`@{-1}`",
            "4: git takes no branch named `@{-1}`; choose another name",
            id="name that stands for another",
        ),
        pytest.param(
            "| #1 | Second",
            "| #4 | Second",
            "4: #2 depends on #4, which has no row; add one or write main",
            id="unknown dependency",
        ),
        pytest.param(
            "| #2 | `two` |",
            f"| #{'9' * 5000} | `two` |",
            f"4: '#{'9' * 39}...' is no PR number; write it like #8045",
            id="number of 5000 digits",
        ),
        pytest.param(
            "`a/two.py`",
            "`a/.Git/hooks/post-checkout`",
            "24: path `a/.Git/hooks/post-checkout` lies in a git directory; choose another",
            id="path in a git directory",
        ),
        pytest.param(
            "| #1 | Second",
            "| main, #1 | Second",
            "4: 'main' is no PR number; write it like #8045",
            id="main beside a PR",
        ),
        pytest.param(
            "| #1 | Second",
            "| | Second",
            "4: '' is no PR number; write it like #8045",
            id="no dependency",
        ),
        pytest.param(
            "| #1 | Second",
            "| #1, #1 | Second",
            "4: dependency #1 stands there twice; remove one",
            id="dependency twice",
        ),
        pytest.param(
            "| #1 | Second",
            "| #3 | Second",
            "4: dependencies form a cycle: #2 -> #3 -> #2; remove one of them",
            id="cycle",
        ),
        pytest.param(
            "| main | First",
            "| #3 | First",
            "3: dependencies form a cycle: #1 -> #3 -> #2 -> #1; remove one of them",
            id="longer cycle",
        ),
        pytest.param(
            "| #1 | Second",
            "| #2 | Second",
            "4: dependencies form a cycle: #2 -> #2; remove one of them",
            id="PR on itself",
        ),
        pytest.param(
            "| Second | open",
            "| | open",
            "4: title is empty; write the PR's title",
            id="no title",
        ),
        pytest.param(
            "| Second | open",
            "| Second | merged",
            "4: unknown state 'merged'; write one of open, draft, landed, superseded",
            id="unknown state",
        ),
        pytest.param(
            "| Second | open |",
            "| Second |",
            "4: unknown state ''; write one of open, draft, landed, superseded",
            id="short row",
        ),
        pytest.param(
            "## #2 Second\n",
            "",
            "4: #2 has no section; add `## #2 Second`",
            id="no section",
        ),
        pytest.param(
            "## #2 Second",
            "# #2 Second",
            "4: #2 has no section; add `## #2 Second`",
            id="section's heading too high",
        ),
        pytest.param(
            "## Known",
            "## #4 Fourth",
            "33: #4 has no row in the table; add one or remove this",
            id="section without a row",
        ),
        pytest.param(
            "## Known",
            "## #2 Second",
            "33: #2 has a section already (line 29); remove one",
            id="section twice",
        ),
        pytest.param(
            "## Known",
            "## #4a Fourth",
            "33: '#4a' is no PR number; write it like #8045",
            id="malformed number in a heading",
        ),
        pytest.param(
            "## #2 Second",
            "## #2 The second",
            "29: title 'The second' is not the table's 'Second' (line 4); make them equal",
            id="other title",
        ),
        pytest.param(
            "Brings: the first",
            "Brings:",
            "9: Brings: is empty; say what a merge brings",
            id="brings nothing",
        ),
        pytest.param(
            "Brings: the first",
            "Brings: the first\n\nBrings: more",
            "11: second Brings: of the section; remove one",
            id="brings twice",
        ),
        pytest.param(
            "Brings: the first",
            "Bring: the first",
            "9: unknown key Bring:; a section has Brings",
            id="unknown key",
        ),
        pytest.param(
            "### What\nb\n",
            "",
            "7: #1 has commits but no text for What; write it",
            id="no What",
        ),
        pytest.param(
            "### Tests\nc\n",
            "### Tests\n",
            "15: #1 has commits but no text for Tests; write it",
            id="empty Tests",
        ),
        pytest.param(
            "### Tests",
            "### Testing",
            "15: unknown heading 'Testing'; a PR with commits has Why, What, Tests, Compatibility "
            "and Commits",
            id="unknown heading",
        ),
        pytest.param(
            "### Tests",
            "### What",
            "15: #1 has What already (line 13); join the two",
            id="heading twice",
        ),
        pytest.param(
            "### Commits\n",
            "### Commits\nFirst:\n",
            "20: under Commits stands one numbered list and nothing else; make it so",
            id="text before the commits",
        ),
        pytest.param(
            GOOD[GOOD.index("1. **") : GOOD.index("## #2")],
            "- **Subject one**\n",
            "20: under Commits stands one numbered list and nothing else; make it so",
            id="commits without numbers",
        ),
        pytest.param(
            "## #2",
            "- three\n## #2",
            "29: under Commits stands one numbered list and nothing else; make it so",
            id="list after the commits",
        ),
        pytest.param(
            "## #2",
            "3) **Three**\n## #2",
            "29: under Commits stands one numbered list and nothing else; make it so",
            id="second list of commits",
        ),
        pytest.param(
            GOOD[GOOD.index("1. **") : GOOD.index("## #2")],
            "",
            "19: under Commits stands one numbered list and nothing else; make it so",
            id="no commits",
        ),
        pytest.param(
            "2. **Sub",
            "3. **Sub",
            "27: commit is numbered 3, expected 2; edits name commits by number",
            id="number left out",
        ),
        pytest.param(
            "1. **Sub",
            "0. **Sub",
            "20: commit is numbered 0, expected 1; edits name commits by number",
            id="numbers from zero",
        ),
        pytest.param(
            "2. **Subject two**",
            "2. Subject two",
            "27: commit 2 begins with no subject; write it alone and in bold, "
            "with an empty line after it",
            id="subject not bold",
        ),
        pytest.param(
            "2. **Subject two**",
            "2. **Subject two**\n   Body.",
            "27: commit 2 begins with no subject; write it alone and in bold, "
            "with an empty line after it",
            id="subject runs into the body",
        ),
        pytest.param(
            "2. **Subject two**",
            "2. **Subject** two",
            "27: commit 2 begins with no subject; write it alone and in bold, "
            "with an empty line after it",
            id="subject half bold",
        ),
        pytest.param(
            "2. **Subject two**",
            "2. # **Subject two**",
            "27: commit 2 begins with no subject; write it alone and in bold, "
            "with an empty line after it",
            id="subject a heading",
        ),
        pytest.param(
            "2. **Subject two**",
            "2.",
            "27: commit 2 begins with no subject; write it alone and in bold, "
            "with an empty line after it",
            id="empty commit",
        ),
        pytest.param(
            "2. **Subject two**",
            "2. - **Subject two**",
            "27: commit 2 begins with no subject; write it alone and in bold, "
            "with an empty line after it",
            id="subject in a list",
        ),
        pytest.param(
            "Subject two",
            "x" * 73,
            "27: subject of commit 2 is 73 columns long; shorten it to 72",
            id="long subject",
        ),
        pytest.param(
            "Regenerates: `a/list.txt`",
            "Regenerates: `a/list.txt`\n\n   More body.",
            "28: text after Adds:; move it above, into the body",
            id="text after the paths",
        ),
        pytest.param(
            "Regenerates: `a/list.txt`",
            "Renames: `a/list.txt`",
            "26: unknown key Renames:; a commit has Adds and Regenerates",
            id="unknown key of a commit",
        ),
        pytest.param(
            "Regenerates: `a/list.txt`",
            "Adds: `a/list.txt`",
            "26: second Adds: of the commit; join the two",
            id="Adds twice",
        ),
        pytest.param(
            "Adds: `a/one.py`, `a/two.py`",
            "Adds: `a/one.py` `a/two.py`",
            "24: Adds: is no list of paths; write Adds: `path`, `path` in its own paragraph",
            id="no comma",
        ),
        pytest.param(
            "Adds: `a/one.py`, `a/two.py`",
            "Adds: `a/one.py`, `a/two.py`,",
            "24: Adds: is no list of paths; write Adds: `path`, `path` in its own paragraph",
            id="comma at the end",
        ),
        pytest.param(
            "Adds: `a/one.py`, `a/two.py`",
            "Adds: a/one.py",
            "24: Adds: is no list of paths; write Adds: `path`, `path` in its own paragraph",
            id="path without backticks",
        ),
        pytest.param(
            "Adds: `a/one.py`, `a/two.py`",
            "Adds: also `a/one.py`",
            "24: Adds: is no list of paths; write Adds: `path`, `path` in its own paragraph",
            id="words before the path",
        ),
        pytest.param(
            "Adds: `a/one.py`, `a/two.py`",
            "Adds: `a/one.py`, and `a/two.py`",
            "24: Adds: is no list of paths; write Adds: `path`, `path` in its own paragraph",
            id="words between the paths",
        ),
        pytest.param(
            "Adds: `a/one.py`, `a/two.py`",
            "Adds:",
            "24: Adds: is no list of paths; write Adds: `path`, `path` in its own paragraph",
            id="no path",
        ),
        pytest.param(
            "Adds: `a/one.py`, `a/two.py`",
            "Adds: `a/one.py`, *`a/two.py`*",
            "24: Adds: is no list of paths; write Adds: `path`, `path` in its own paragraph",
            id="emphasised path",
        ),
        pytest.param(
            "`a/two.py`\n\n",
            "`a/two.py`\n",
            "24: Adds: is no list of paths; write Adds: `path`, `path` in its own paragraph",
            id="two keys in one paragraph",
        ),
        pytest.param(
            "`a/two.py`",
            "`a/one.py`",
            "24: Adds: names `a/one.py` twice; remove one",
            id="path twice in a commit",
        ),
        pytest.param(
            "2. **Subject two**",
            "2. **Subject two**\n\n   Adds: `a/one.py`",
            "27: `a/one.py` is added by commit 1 of #1 already; a later commit changes it by edits",
            id="path twice in the series",
        ),
        *(
            pytest.param(
                "`a/two.py`",
                f"`{path}`",
                f"24: path `{path}` is not plain; write it from the root, with no `.` or `..`",
                id=f"path {path}",
            )
            for path in [
                "/a/two.py",
                "../two.py",
                "a/../two.py",
                "./two.py",
                "a//two.py",
                "a/",
                ".",
            ]
        ),
    ],
)
def test_a_fault_is_named_with_its_line(old: str, new: str, message: str) -> None:
    assert GOOD.count(old) == 1

    assert refusal(GOOD.replace(old, new)) == f"SERIES.md:{message}"


def test_the_series_the_faults_are_put_into_is_sound() -> None:
    assert [pr.name for pr in parse_series(GOOD, "SERIES.md")] == ["#1", "#2", "#3"]


def test_a_path_is_added_by_one_pr_only() -> None:
    texts = "### Why\na\n### What\na\n### Tests\na\n### Compatibility\na\n"
    commits = "### Commits\n1. **Add it again**\n\n   Adds: `a/two.py`\n"
    text = GOOD.replace("## #2 Second\nText.\n", f"## #2 Second\n{texts}{commits}")

    assert refusal(text) == (
        "SERIES.md:39: `a/two.py` is added by commit 1 of #1 already; "
        "a later commit changes it by edits"
    )


@pytest.mark.parametrize("text", ["", "# Series\n\nNothing yet.\n"])
def test_a_text_without_a_table(text: str) -> None:
    assert refusal(text) == (
        "SERIES.md:1: no table of the stack; its columns are PR, Branch, Depends on, Title, State"
    )


def test_another_table() -> None:
    assert refusal("# Series\n\n| PR | Branch |\n|---|---|\n") == (
        "SERIES.md:3: no table of the stack; its columns are PR, Branch, Depends on, Title, State"
    )


def test_a_name_that_git_takes_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In this repository the name stands for the branch that was checked out before.
    with git.Repo.init(tmp_path, initial_branch="main") as repo:
        identity = ["-c", "user.name=A", "-c", "user.email=a@b"]
        repo.git.execute(["git", *identity, "commit", "--allow-empty", "-qm", "First"])
        repo.git.checkout("-b", "other")
        repo.git.checkout("main")
        monkeypatch.chdir(tmp_path)
        assert repo.git.check_ref_format("@{-1}", branch=True) == "other"

        message = refusal(GOOD.replace("`two`", "`@{-1}`"))

    assert message == "SERIES.md:4: git takes no branch named `@{-1}`; choose another name"


def test_a_table_without_rows() -> None:
    assert refusal("\n" + "".join(GOOD.splitlines(keepends=True)[:2])) == (
        "SERIES.md:2: table of the stack has no rows; add a PR"
    )


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "SERIES.md"
    with pytest.raises(Refusal) as caught:
        read_series(path)
    assert str(caught.value) == (
        f"{path}: no such file; go to the folder that holds it or name it with --series"
    )


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        read_series(tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory; name a readable file"


def test_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "SERIES.md"
    path.write_bytes(GOOD.replace("Body", "B\u00f6dy").encode("latin-1"))
    with pytest.raises(Refusal) as caught:
        read_series(path)
    assert str(caught.value) == f"{path}:22: not UTF-8; save the file as UTF-8"


def test_a_body_line_that_is_indented_less_keeps_its_words() -> None:
    text = GOOD.replace("   Body.", "   Body goes\non here.\n\n     and there.")

    assert parse_series(text, "SERIES.md").pull_requests[1].commits[0].body == (
        "Body goes\non here.\n\n  and there."
    )


# Titles that mean the same in a table cell and in a heading; the rest is the examples' part.
TITLES = st.from_regex(
    re.compile(r"[A-Z][a-z]{0,8}( [a-z0-9,-]{1,8}){0,4}", re.ASCII), fullmatch=True
)


@st.composite
def stacks(draw: st.DrawFn) -> list[PullRequest]:
    numbers = draw(st.lists(st.integers(1, 99999), min_size=1, max_size=6, unique=True))
    # Dependencies point to earlier ones, so there is no cycle; the table's order is another.
    pull_requests = [
        PullRequest(
            number=number,
            branch=f"b{number}",
            depends_on=tuple(
                draw(st.lists(st.sampled_from(numbers[:place]), unique=True)) if place else ()
            ),
            title=(title := draw(TITLES)),
            state=draw(st.sampled_from(["open", "draft", "landed", "superseded"])),
            brings=title,
            texts={},
            commits=(),
            line=0,
        )
        for place, number in enumerate(numbers)
    ]
    return draw(st.permutations(pull_requests))


def rendered(pull_requests: list[PullRequest]) -> str:
    rows = "".join(
        f"| {pr.name} | `{pr.branch}` | "
        f"{', '.join(f'#{number}' for number in pr.depends_on) or 'main'} | "
        f"{pr.title} | {pr.state} |\n"
        for pr in pull_requests
    )
    sections = "".join(f"\n## {pr.name} {pr.title}\n" for pr in reversed(pull_requests))
    return f"| PR | Branch | Depends on | Title | State |\n|-|-|-|-|-|\n{rows}{sections}"


@given(stacks())
def test_a_stack_comes_back_in_topological_order(pull_requests: list[PullRequest]) -> None:
    series = parse_series(rendered(pull_requests), "SERIES.md")

    lines = {pr.number: line for line, pr in enumerate(pull_requests, start=3)}
    declared = {pr.number: pr for pr in pull_requests}
    assert {
        pr.number: (pr.line, pr.branch, pr.depends_on, pr.title, pr.state) for pr in series
    } == {
        pr.number: (lines[pr.number], pr.branch, pr.depends_on, pr.title, pr.state)
        for pr in pull_requests
    }
    # The order: the first declared of those whose dependencies stand before it, again and again.
    expected: list[int] = []
    while len(expected) < len(declared):
        expected.append(
            next(
                number
                for number, pr in declared.items()
                if number not in expected and set(pr.depends_on) <= set(expected)
            )
        )
    assert [pr.number for pr in series] == expected


def test_the_series_of_this_repository() -> None:
    series = read_series(Path(__file__).parents[3] / "SERIES.md")

    assert [(pr.name, pr.branch, pr.depends_on, pr.brings, len(pr.commits)) for pr in series] == [
        ("#6258", "pg-ratchet", (), "the process-group ratchet", 2),
        ("#8045", "expert-offsets", (6258,), "the integer FSDP-DTensor expert offsets", 5),
        ("#8049", "pg-fallback-warning", (6258,), "the fallback warning helpers", 1),
        ("#8749", "fsdp-fallback-warnings", (8045, 8049), "the FSDP fallback warnings", 8),
    ]
    assert series.generated == ("tools/process_groups/allowlist.txt",)
