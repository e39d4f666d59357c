"""The body of a PR: whole texts."""

from collections import Counter

import pytest

from merge_series.review.allowed import compare
from merge_series.review.markdown import reads_text
from process_groups.reads import Read

NAMES_WITH_DOC = """\
from megatron.core import parallel_state


def offset(count, size=None):
    return count // (size or parallel_state.get_group_size())


def label(count):
    return str(offset(count))
"""

BODY = """\
### Why

Why.

### What

What.

### Tests

Tests.

### Compatibility

None.

### Sync

{sync}

### Allowlist

Unchanged by this PR: 1 read.

### Stack

- #1 `ratchet` List the global reads, on main
- **#2 `offsets` Pass the size** (this PR), on #1
- #3 `by-hand` Change what only people can, on #1
- #4 `both` Build on two, on #2, #3

```mermaid
graph TD
  main(["main"])
  pr1["#1 ratchet"]
  pr2["#2 offsets"]
  pr3["#3 by-hand"]
  pr4["#4 both"]
  main --> pr1
  pr1 --> pr2
  pr1 --> pr3
  pr2 --> pr4
  pr3 --> pr4
  style pr2 stroke-width:4px
```

Part of #77.
"""


def sync_line(body):
    return body.split("### Sync\n\n")[1].split("\n\n###")[0]


def test_the_body_says_what_conflicted_and_how_it_was_settled(stack):
    old = stack.heads()["main"]
    assert stack.run("describe", "2").out == BODY.format(
        sync=f"Built on main {old[:7]} of 2026-01-02; main was not merged into it since."
    )
    main = stack.commit("main", {"megatron/core/names.py": NAMES_WITH_DOC}, "Give a text")
    stack.run("sync")
    done = stack.run("describe", "offsets")
    assert (done.code, done.err) == (0, "")
    assert done.out == BODY.format(
        sync=f"Synced with main {main[:7]} on 2026-01-02 by a merge commit, so existing commits "
        "and review links stay valid. Conflicts, and how each was settled:\n\n"
        "- `megatron/core/names.py`: the edits of #2 applied to main's text"
    )
    # The same history, read again and from a clone, gives the same text.
    stack.git("clone", "--quiet", "--no-local", str(stack.fork), str(stack.root / "clone"))
    for branch in ("ratchet", "offsets", "by-hand", "both"):
        stack.git("branch", branch, f"origin/{branch}", where=stack.root / "clone")
    assert stack.run("describe", "#2").out == done.out
    assert stack.run("--repo", str(stack.root / "clone"), "describe", "2").out == done.out


def test_a_clean_sync_is_one_line(stack, monkeypatch):
    old = stack.heads()["main"]
    begun = f"Built on main {old[:7]} of 2026-01-02; main was not merged into it since."
    assert sync_line(stack.run("describe", "4").out) == begun  # though it merged #3
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-01T23:30:00-08:00")
    main = stack.commit("main", {"README": "new\n"}, "Add a readme")
    stack.run("sync")
    assert sync_line(stack.run("describe", "1").out) == (
        f"Synced with main {main[:7]} on 2026-11-01 by a merge commit with no conflicts, "
        "so existing commits and review links stay valid."
    )
    assert sync_line(stack.run("describe", "4").out) == (
        f"Synced with main {main[:7]} on 2026-11-01 by 2 merge commits with no conflicts, "
        "so existing commits and review links stay valid."
    )


def test_a_merge_by_hand_whose_message_says_nothing_is_by_hand(world):
    world.commit("main", {"megatron/core/notes.txt": "one\nzwei\nthree\n"}, "Say it in German")
    desk = world.root / "desk"
    world.git("worktree", "add", "--quiet", str(desk), "by-hand")
    world.git("merge", "main", where=desk, check=False)
    world.write({"megatron/core/notes.txt": "one\nZWEI\nthree\n"}, desk)
    world.git("commit", "--quiet", "--all", "-m", "Merge main", where=desk)
    world.git("worktree", "remove", "--force", str(desk))
    assert sync_line(world.run("describe", "3").out).endswith(
        "\n\n- `megatron/core/notes.txt`: by hand"
    )


def test_the_allowlist_of_a_pr_is_compared_with_that_of_what_it_stands_on(stack):
    listed = "megatron/core/names.py offset get_group_size accessor 1\n"
    text = stack.show("by-hand", stack.allowlist)
    stack.commit(
        "by-hand",
        {
            stack.allowlist: text.replace(listed, ""),
            "megatron/core/names.py": "def label(count):\n    return count\n",
        },
        "Read no global group",
    )
    body = stack.run("describe", "3").out
    assert body.split("### Allowlist\n\n")[1].split("\n\n###")[0] == (
        "0 reads, 1 without this PR.\n\n"
        "| kind | without this PR | with it |\n| --- | --- | --- |\n| accessor | 1 | 0 |\n\n"
        "Removed:\n\n- `megatron/core/names.py: offset: get_group_size`, accessor"
    )
    first = stack.run("describe", "1").out
    assert first.split("### Allowlist\n\n")[1].split("\n\n###")[0] == (
        "Brings the list of global reads, with 1 read.\n\n"
        "| kind | reads |\n| --- | --- |\n| accessor | 1 |"
    )


def test_a_read_that_changes_its_kind_is_neither_removed_nor_added():
    old, new = Read("a.py", "f", "g", "accessor"), Read("a.py", "f", "g", "fallback")
    more, gone = Read("b.py", "f", "g", "shim"), Read("c.py", "f", "g", "guarded")
    change = compare(Counter({old: 3, gone: 2}), Counter({old: 1, new: 2, more: 1}))
    assert reads_text(change) == (
        "4 reads, 5 without this PR.\n\n"
        "| kind | without this PR | with it |\n| --- | --- | --- |\n"
        "| accessor | 3 | 1 |\n| shim | 0 | 1 |\n| fallback | 0 | 2 |\n| guarded | 2 | 0 |\n\n"
        "Removed:\n\n- `c.py: f: g`, guarded (x2)\n\n"
        "Added:\n\n- `b.py: f: g`, shim\n\n"
        "Changed kind:\n\n- `a.py: f: g`: accessor is now fallback (x2)"
    )


def test_all_bodies_go_into_a_file_each(stack):
    series = stack.root / "SERIES.md"
    row = "| #9 | `gone` | main | Went in long ago | landed |\n"
    text = series.read_text().replace("| #1 |", f"{row}| #1 |", 1)
    series.write_text(text + "\n## #9 Went in long ago\n\n### What\n\nIt is on main.\n")
    before = stack.contents()
    done = stack.run("describe", "--all", "--output", "out/bodies")
    assert (done.code, done.out) == (0, "")
    assert done.err == "Wrote 5 descriptions to out/bodies.\n"
    written = {file.name: file.read_text() for file in (stack.root / "out/bodies").iterdir()}
    assert sorted(written) == ["1.md", "2.md", "3.md", "4.md", "9.md"]
    assert written["2.md"] == stack.run("describe", "2").out
    assert written["9.md"].startswith(
        "### What\n\nIt is on main.\n\n### Stack\n\n"
        "- **#9 `gone` Went in long ago** (this PR), on main, landed\n- #1 `ratchet`"
    )
    assert stack.contents() == before


def test_an_issue_is_named_once_or_not_at_all(stack):
    series = stack.root / "SERIES.md"
    text = series.read_text()
    series.write_text(text.replace("All of it is part of #77, below.\n", ""))
    assert stack.run("describe", "2").out.endswith("\n```\n")
    series.write_text(text.replace("#77, below.", "#77.\n\nIt is part of #78."))
    done = stack.run("describe", "2")
    assert (done.code, done.out, done.err) == (
        1,
        "",
        f"error: {series}:5: the series is part of #77 and of #78; name one\n",
    )


def test_describe_takes_one_pr_or_all_with_a_folder(stack):
    for arguments in ((), ("2", "--all", "--output", "out"), ("--all",), ("2", "--output", "out")):
        done = stack.run("describe", *arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.splitlines()[-1] == ("Error: name one PR, or give --all with --output DIR")
    assert not (stack.root / "out").exists()


def test_an_open_pr_without_a_branch_is_refused(stack):
    stack.git("branch", "-D", "both")
    done = stack.run("describe", "4")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: {stack.fork}: #4 has no branch both here; fetch it, or make it where your commits "
        "of it are: git branch both COMMIT\n"
    )


@pytest.mark.parametrize("open_end", ["```python\nx = 1", "<!-- not said", "<pre>\n\nx", "~~~"])
def test_a_text_without_an_end_is_refused(stack, open_end):
    """On GitHub the rest of the body would be a part of it, that of people as well."""
    series = stack.root / "SERIES.md"
    text = series.read_text()
    series.write_text(f"{text.rstrip()}\n\n{open_end}\n")
    done = stack.run("describe", "4")
    assert (done.code, done.out, done.err) == (
        1,
        "",
        (
            "error: #4: its Why in SERIES.md leaves a code block, a comment or HTML open, which "
            "would hide what stands below it; close it there\n"
        ),
    )
    assert stack.run("describe", "1").code == 0
    series.write_text(f"{text.rstrip()}\n\n- ```python\n  x = 1\n")
    assert stack.run("describe", "4").code == 0


def test_a_branch_of_any_name_is_a_label_of_the_graph(stack):
    name = 'a<b>&"#c;d'
    stack.git("branch", "-m", "both", name)
    series = stack.root / "SERIES.md"
    series.write_text(series.read_text().replace("`both`", f"`{name}`"))
    assert '  pr4["#4 a#lt;b#gt;#amp;#quot;#35;c;d"]\n' in stack.run("describe", "4").out
