"""A PR alone, and what came since a reviewer read it: whole outputs."""

import hashlib
import itertools
import os
import pty
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carry.carried import Carrier
from merge_series.review.foundation import merge_reads
from merge_series.review.patches import difference
from merge_series.review.since import since
from merge_series.review.standing import own_commits, stand
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.repository import Repository

NAMES_WITH_DOC = """\
from megatron.core import parallel_state


def offset(count, size=None):
    return count // (size or parallel_state.get_group_size())


def label(count):
    return str(offset(count))
"""

OWN_LINES = """\
diff --git a/both.txt b/both.txt
new file mode 100644
index 0000000000000000000000000000000000000000..49f33a8c6e8bb31f5d7c68f9c298cac55ec7cd85
--- /dev/null
+++ b/both.txt
@@ -0,0 +1 @@
+both
"""

READING = """\
from megatron.core import parallel_state


def {name}():
    return parallel_state.get_group_size()
"""

CLASH = {"megatron/core/notes.txt": "one\nzwei\nthree\n"}


def settle_by_hand(world, text, subject):
    """Sync to a conflict in the notes and settle it as a person does, in a commit of their own."""
    assert world.run("sync").code == 3
    worktree = world.fork / ".git" / "merge_series" / "worktree"
    world.write({"megatron/core/notes.txt": text}, worktree)
    world.git("add", "--all", where=worktree)
    message = f"{subject}\n\nBoth wanted the second line.\n\nReviewed-by: Bob <bob@example.org>"
    world.git("commit", "--quiet", "-m", message, where=worktree)
    done = world.run("sync", "--continue")
    assert done.code == 0, done.err


def test_a_pr_on_two_shows_no_line_of_theirs_and_none_of_main(stack):
    stack.commit("main", {"megatron/core/names.py": NAMES_WITH_DOC}, "Give a text")
    assert stack.run("sync").code == 0
    heads = stack.heads()
    own = stack.git("log", "--format=%h", "--abbrev=12", "--first-parent", "--max-count=4", "both")
    second, first, added, merged = own.split()
    done = stack.run("show", "4")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"#4 both at {heads['both'][:12]}, against the merge of #2 at {heads['offsets'][:12]}, "
        f"#3 at {heads['by-hand'][:12]} and main at {heads['main'][:12]}\n"
        f"  {merged} Merge what people changed from #3\n"
        f"  {added} Add what stands on both\n"
        f"  {first} Merge the passed size from #2\n"
        f"  {second} Merge Change what only people can from #3\n\n{OWN_LINES}"
    )


def test_the_allowlist_below_is_merged_read_by_read(stack):
    for branch, name in (("offsets", "aa"), ("by-hand", "ab")):
        listed = stack.show(branch, stack.allowlist)
        entry = f"megatron/core/{name}.py {name} get_group_size accessor 1\n"
        files = {
            f"megatron/core/{name}.py": READING.format(name=name),
            stack.allowlist: listed.replace(
                "megatron/core/names.py", f"{entry}megatron/core/names.py"
            ),
        }
        stack.commit(branch, files, f"Read the size in {name}")
    synced = stack.run("sync")
    assert synced.code == 0, synced.err
    assert "merged #3, 1 conflict settled" in synced.err  # git left the list in conflict
    done = stack.run("show", "4")
    assert (done.code, done.err) == (0, "")
    assert done.out.partition("\n\n")[2] == OWN_LINES


def test_a_branch_that_lacks_commits_of_main_does_not_take_them_back(stack):
    old = stack.heads()
    stack.commit("main", {"README": "new\n"}, "Add a readme")
    done = stack.run("show", "#3")
    assert done.out == (
        f"#3 by-hand at {old['by-hand'][:12]}, against the merge of #1 at {old['ratchet'][:12]} "
        f"and main at {old['main'][:12]}\n"
        f"  {old['by-hand'][:12]} Shout the second\n"
        "  main has 1 commit more, which the branch lacks\n\n"
        "diff --git a/megatron/core/notes.txt b/megatron/core/notes.txt\n"
        "index 4cb29ea38f70d7c61b2a3a25b02e3bdf44905402.."
        "ddc897f039f57aa91e16efa6dfde386c4255206f 100644\n"
        "--- a/megatron/core/notes.txt\n"
        "+++ b/megatron/core/notes.txt\n"
        "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
    )


def test_dependencies_in_conflict_are_shown_as_git_left_them(stack):
    stack.commit("offsets", CLASH, "Say it in German")
    desk = stack.root / "desk"
    stack.git("worktree", "add", "--quiet", str(desk), "both")
    stack.git("merge", "--quiet", "offsets", where=desk, check=False)
    stack.write({"megatron/core/notes.txt": "one\nZWEI\nthree\n"}, desk)
    stack.git("add", "--all", where=desk)
    stack.git("commit", "--quiet", "-m", "Merge German from #2", where=desk)
    stack.git("worktree", "remove", "--force", str(desk))
    done = stack.run("show", "both")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[4] == (
        "  megatron/core/notes.txt: what #4 stands on conflicts there; the lines taken out below "
        "are git's conflict markers and both sides"
    )
    shown = [
        line[:8] for line in lines if line[:1] in {"-", "+"} and line[:3] not in {"---", "+++"}
    ]
    assert shown == ["+both", "-<<<<<<<", "-zwei", "-=======", "-TWO", "->>>>>>>", "+ZWEI"]


def test_bytes_modes_links_and_names_go_through_the_proof(stack):
    desk = stack.root / "desk"
    stack.git("worktree", "add", "--quiet", str(desk), "both")
    (desk / "blob.bin").write_bytes(bytes(range(256)) * 4)
    (desk / "crlf.txt").write_bytes(b"one\r\ntwo \r\n\tthree")
    (desk / "empty").write_bytes(b"")
    (desk / "link").symlink_to("both.txt")
    (desk / 'odd "name"\n.txt').write_bytes(b"odd\n")
    (desk / "both.txt").chmod(0o755)
    (desk / "megatron/core/notes.txt").rename(desk / "notes.txt")
    stack.git("config", "core.autocrlf", "false")
    stack.git("add", "--all", where=desk)
    stack.git("commit", "--quiet", "-m", "Add all kinds", where=desk)
    stack.git("worktree", "remove", "--force", str(desk))
    for setting in (
        ("apply.whitespace", "fix"),
        ("core.autocrlf", "true"),
        ("diff.noprefix", "true"),
        ("diff.renames", "false"),
        ("diff.external", "false"),
        ("color.ui", "always"),
    ):
        stack.git("config", *setting)
    done = stack.run("show", "4", "--since", "both^")
    assert (done.code, done.err) == (0, "")
    headers = [line for line in done.out.splitlines() if line.startswith("diff --git")]
    assert "Binary files /dev/null and b/blob.bin differ" in done.out.splitlines()
    assert headers == [
        "diff --git a/blob.bin b/blob.bin",
        "diff --git a/both.txt b/both.txt",
        "diff --git a/crlf.txt b/crlf.txt",
        "diff --git a/empty b/empty",
        "diff --git a/link b/link",
        "diff --git a/megatron/core/notes.txt b/notes.txt",
        r'diff --git "a/odd \"name\"\n.txt" "b/odd \"name\"\n.txt"',
    ]


def test_a_difference_that_is_not_the_whole_one_is_not_shown(stack, monkeypatch):
    head = stack.commit("by-hand", {"megatron/core/notes.txt": "one\nTWO \nthree\n"}, "Add a space")
    partial = ("diff-tree", "-p", "-r", "--full-index", "--ignore-all-space")
    monkeypatch.setattr("merge_series.review.patches._DIFF", partial)
    objects = stack.root / "objects"
    objects.mkdir()
    with Repository.open(stack.fork, objects) as repository:
        old, new = repository.trees_of((Sha(f"{head}^"), Sha(head)))
        with pytest.raises(Refusal, match=f"^what would be shown turns the tree {old[:12]} into"):
            difference(repository, old, new)


def test_a_commit_that_would_be_left_out_unseen_is_told(stack, monkeypatch):
    read = Sha(stack.heads()["both"])
    lost = stack.commit("both", {"more.txt": "more\n"}, "Add more")
    stack.commit("both", {"most.txt": "most\n"}, "Add most")
    carrier = Carrier.open(stack.root / "SERIES.md")
    objects = stack.root / "objects"
    objects.mkdir()
    monkeypatch.setattr(
        "merge_series.review.since.own_commits",
        lambda *given: tuple(one for one in own_commits(*given) if one.sha != lost),
    )
    with Repository.open(stack.fork, objects) as repository:
        standing = stand(repository, carrier, "main", carrier.series.pull_requests[4])
        with pytest.raises(Refusal, match=f"^{lost[:12]}: neither shown nor of any dependency"):
            since(repository, standing, read)


def test_nothing_to_read_since_is_said(stack):
    read = stack.heads()["both"]
    stack.commit("main", {"megatron/core/names.py": NAMES_WITH_DOC}, "Give a text")
    stack.run("sync")
    head = stack.heads()["both"]
    first = stack.git("rev-parse", "both^")
    done = stack.run("show", "4", "--since", read)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"#4 both from {read[:12]} to {head[:12]}: nothing to read.\n\n"
        "Merges that are git's own, unchanged:\n"
        f"  {first[:12]} Merge the passed size from #2\n"
        f"  {head[:12]} Merge Change what only people can from #3\n\n"
        "Left out: 1 commit of main, 1 of #1, 1 of #2 and 1 of #3. "
        f"Checked: with what is shown above they give the tree of {head[:12]}.\n"
    )
    again = stack.run("show", "4", "--since", head)
    assert again.out == f"#4 both from {head[:12]} to {head[:12]}: nothing to read.\n"


def test_since_shows_new_commits_and_what_a_merge_did_beyond_git_in_its_own_words(world):
    read = world.heads()["by-hand"]
    new = world.commit("by-hand", {"own.txt": "own\n"}, "Add a file of its own")
    main = world.commit("main", CLASH, "Say it in German")
    settle_by_hand(world, "one\nZWEI\nthree\n", "Merge the list of reads from #1")
    head = world.heads()["by-hand"]
    ours, theirs = world.git("rev-parse", "by-hand^1", "by-hand^2").split()
    assert ours == new
    assert world.git("rev-parse", "by-hand^2^2") == main
    done = world.run("show", "3", "--since", read[:9])
    assert (done.code, done.err) == (0, "")
    notes = "a/megatron/core/notes.txt b/megatron/core/notes.txt"
    index = next(x for x in done.out.splitlines() if x[:5] == "index" and x[-7:] == " 100644")
    assert done.out == (
        f"#3 by-hand from {read[:12]} to {head[:12]}: 2 commits to read.\n\n"
        f"commit {new}\n"
        "Author: Ada Test, 2026-01-02\n\n"
        "    Add a file of its own\n\n"
        "diff --git a/own.txt b/own.txt\n"
        "new file mode 100644\n"
        f"index {'0' * 40}..{world.git('rev-parse', 'by-hand:own.txt')}\n"
        "--- /dev/null\n"
        "+++ b/own.txt\n"
        "@@ -0,0 +1 @@\n"
        "+own\n\n"
        f"merge {head} of #1 at {theirs[:12]}\n"
        "Author: Ada Test, 2026-01-02\n\n"
        "    Merge the list of reads from #1\n\n"
        "    Both wanted the second line.\n\n"
        "In conflict: megatron/core/notes.txt\n\n"
        "Beyond git's own merge:\n\n"
        f"diff --git {notes}\n"
        f"{index}\n"
        "--- a/megatron/core/notes.txt\n"
        "+++ b/megatron/core/notes.txt\n"
        "@@ -1,7 +1,3 @@\n"
        " one\n"
        f"-<<<<<<< {ours}\n"
        "-TWO\n"
        "-=======\n"
        "-zwei\n"
        f"->>>>>>> {theirs}\n"
        "+ZWEI\n"
        " three\n\n"
        "Left out: 1 commit of main and 1 of #1. "
        f"Checked: with what is shown above they give the tree of {head[:12]}.\n"
    )


def test_what_a_clean_merge_slipped_in_is_shown(stack):
    read = stack.heads()["by-hand"]
    stack.commit("main", {"README": "new\n"}, "Add a readme")
    desk = stack.root / "desk"
    stack.git("worktree", "add", "--quiet", str(desk), "by-hand")
    stack.git("merge", "--quiet", "--no-commit", "main", where=desk)
    stack.write({"slipped.txt": "in\n"}, desk)
    stack.git("add", "--all", where=desk)
    stack.git("commit", "--quiet", "-m", "Merge main into by-hand", where=desk)
    stack.git("worktree", "remove", "--force", str(desk))
    done = stack.run("show", "3", "--since", read)
    lines = done.out.splitlines()
    assert lines[0].endswith(": 1 commit to read.")
    assert lines[7:10] == ["Beyond git's own merge:", "", "diff --git a/slipped.txt b/slipped.txt"]
    assert [line for line in lines if line.startswith("+")] == ["+++ b/slipped.txt", "+in"]


def test_side_branches_of_the_pr_are_its_own_also_in_an_octopus(world):
    read = world.heads()["by-hand"]
    sides = []
    for name in ("left", "right"):
        world.git("branch", name, read)
        sides.append(world.commit(name, {f"{name}.txt": f"{name}\n"}, f"Go {name}"))
    desk = world.root / "desk"
    world.git("worktree", "add", "--quiet", str(desk), "by-hand")
    world.git("merge", "--quiet", "--no-ff", "-m", "Take both", "left", "right", where=desk)
    world.git("worktree", "remove", "--force", str(desk))
    world.git("branch", "-D", "left", "right")
    head = world.heads()["by-hand"]
    assert world.git("rev-parse", "by-hand^@").split() == [read, *sides]
    done = world.run("show", "3", "--since", read)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"#3 by-hand from {read[:12]} to {head[:12]}: 2 commits to read."
    assert sorted(line for line in lines if line.startswith("commit ")) == sorted(
        f"commit {side}" for side in sides
    )
    assert lines[-4:] == [
        "Merges that are git's own, unchanged:",
        f"  {head[:12]} Take both",
        "",
        (
            "Left out: nothing. Checked: with what is shown above they give the tree of "
            f"{head[:12]}."
        ),
    ]


def test_a_terminal_gets_colours_unless_it_wants_none(world, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    shown = {}
    for wanted in ("", "1"):
        monkeypatch.setenv("NO_COLOR", wanted)
        ours, theirs = pty.openpty()
        series = str(world.root / "SERIES.md")
        command = ("--series", series, "--repo", str(world.fork), "show", "3")
        subprocess.run([sys.executable, "-m", "merge_series", *command], check=True, stdout=theirs)
        os.close(theirs)
        shown[wanted] = os.read(ours, 1 << 16).decode().splitlines()
        os.close(ours)
    hunk = ["@@ -1,3 +1,3 @@", " one", "-two", "+TWO", " three"]
    assert shown["1"][-5:] == hunk
    assert shown[""][-5:] == [
        "\x1b[36m@@ -1,3 +1,3 @@\x1b[m",
        " one",
        "\x1b[31m-two\x1b[m",
        "\x1b[32m+TWO\x1b[m",
        " three",
    ]
    assert world.run("--color=always", "show", "3").out.splitlines()[-5:] == shown[""][-5:]
    assert world.run("show", "3").out.splitlines()[-5:] == hunk


def test_show_leaves_the_repository_as_it_was(stack):
    read = stack.heads()["both"]
    stack.commit("main", {"megatron/core/names.py": NAMES_WITH_DOC}, "Give a text")
    stack.run("sync")
    before = stack.contents()
    assert stack.run("show", "4").code == 0
    assert stack.run("show", "4", "--since", read).code == 0
    assert stack.contents() == before


def test_a_commit_that_was_not_read_on_this_pr_is_refused(stack):
    old = stack.heads()
    stack.commit("by-hand", {"own.txt": "own\n"}, "Go on")
    rewritten = stack.heads()["by-hand"]
    stack.git("branch", "--force", "by-hand", old["by-hand"])
    cases = {
        old["offsets"]: (
            "3",
            (
                "is on #2 offsets, not on #3 by-hand; run "
                f"{stack.typed('show 2 --since')} {old['offsets']}"
            ),
        ),
        old["ratchet"]: (
            "3",
            (
                "is a commit of #1, on which #3 stands, so it holds nothing of #3; "
                f"read all of it: {stack.typed('show 3')}"
            ),
        ),
        old["main"]: (
            "4",
            (
                "is a commit of main, on which #4 stands, so it holds nothing of #4; "
                f"read all of it: {stack.typed('show 4')}"
            ),
        ),
        rewritten: (
            "3",
            (
                "is not on by-hand, which was rewritten or never had it, so what is new cannot be "
                f"told; read the whole PR: {stack.typed('show 3')}"
            ),
        ),
        "0123456": (
            "3",
            f"no such commit in {stack.fork}; fetch the branch it was on, or check it",
        ),
    }
    for commit, (pr, said) in cases.items():
        done = stack.run("show", pr, "--since", commit)
        assert (done.code, done.out, done.err) == (1, "", f"error: {commit}: {said}\n")


def test_an_id_that_several_commits_begin_with_is_refused(stack):
    tree = stack.git("rev-parse", "main^{tree}")
    seen: dict[str, bytes] = {}
    for number in itertools.count():
        text = f"tree {tree}\nauthor A <a> {number} +0000\ncommitter A <a> 1 +0000\n\nx\n".encode()
        sha = hashlib.sha1(b"commit %d\0%s" % (len(text), text)).hexdigest()  # noqa: S324 - git's ids
        if sha[:6] in seen:
            break
        seen[sha[:6]] = text
    first = seen[sha[:6]]
    for content in (first, text):
        file = stack.root / "commit"
        file.write_bytes(content)
        stack.git("hash-object", "-t", "commit", "-w", str(file))
    other = hashlib.sha1(b"commit %d\0%s" % (len(first), first)).hexdigest()  # noqa: S324 - git's ids
    ids = sorted((sha, other))
    done = stack.run("show", "4", "--since", sha[:6])
    assert (done.code, done.err) == (
        1,
        (
            f"error: {sha[:6]}: 2 commits begin with it ({ids[0][:12]}, {ids[1][:12]}); "
            "give more of the id\n"
        ),
    )


@pytest.mark.parametrize("name", ["5", "#5", "nothing"])
def test_a_pr_that_the_series_lacks_is_refused(stack, name):
    done = stack.run("show", name)
    assert (done.code, done.out, done.err) == (
        1,
        "",
        (
            f"error: {name}: no PR or branch of the series; it has #1 ratchet, #2 offsets, "
            "#3 by-hand, #4 both\n"
        ),
    )


@given(*[st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3)) for _ in range(3)])
def test_allowlists_merge_as_texts_do(base, ours, theirs):
    base, ours, theirs = Counter(base), Counter(ours), Counter(theirs)
    merged = merge_reads(base, ours, theirs)
    assert merged == merge_reads(base, theirs, ours)
    assert all(count > 0 for count in merged.values())
    for read in "abcd":
        if ours[read] == base[read]:
            assert merged[read] == theirs[read]
        if ours[read] == theirs[read]:
            assert merged[read] == ours[read]


def test_a_clone_in_which_branches_are_only_fetched(stack):
    clone = stack.root / "clone"
    stack.git("clone", "--quiet", "--no-local", str(stack.fork), str(clone))
    place = ("--repo", str(clone))
    done = stack.run(*place, "show", "1")
    assert done.err == (
        f"error: {clone}: #1 has no branch ratchet here; make what was fetched a branch: git "
        "branch ratchet origin/ratchet\n"
    )
    stack.git("branch", "both", "origin/both", where=clone)
    said = (
        f"error: {clone}: #1 has no branch ratchet and #2 has no branch offsets and #3 has no "
        "branch by-hand here; make what was fetched a branch: "
    )
    commands = " && ".join(f"git branch {b} origin/{b}" for b in ("ratchet", "offsets", "by-hand"))
    for command in (("show", "4"), ("show", "both", "--since", "both~1"), ("describe", "4")):
        done = stack.run(*place, *command)
        assert (done.code, done.out, done.err) == (1, "", f"{said}{commands}\n")
    for command in commands.split(" && "):
        stack.git(*command.split(" ")[1:], where=clone)
    assert stack.run(*place, "show", "4").out == stack.run("show", "4").out
    stack.git("branch", "-D", "ratchet", where=clone)
    stack.git("remote", "remove", "origin", where=clone)
    done = stack.run(*place, "show", "4")
    assert (done.code, done.err) == (
        1,
        (
            f"error: {clone}: #1 has no branch ratchet here; build it (carry --series "
            f"{stack.root / 'SERIES.md'} build --repo {clone}) or fetch it\n"
        ),
    )
