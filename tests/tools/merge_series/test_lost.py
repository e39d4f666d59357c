"""Branches whose author rewrote them, and a main that lost what was synced: told and refused."""

import json
import shlex

import pytest

SYNCS = (("sync",), ("sync", "--dry-run"))
STACK = ("stack", "--pr", "8", "--branch", "new", "--title", "New", "--because", "why", "--on", "1")
FOLD = ("fold", "--pr", "8", "--branch", "new", "--title", "New", "1", "2")


@pytest.fixture
def synced(hand):
    """b on a, which changes one line, after a sync; ``authors`` has the heads that people made."""
    hand.declare("#1 a main", "#2 b #1")
    hand.grow("a", "main", {"a.txt": "1\n"}, {"shared.txt": "a\nB\nc\nd\ne\n"})
    hand.grow("b", "a", {"b.txt": "1\n"})
    hand.authors = hand.heads()
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    assert hand.run("sync").code == 0
    hand.synced = hand.heads()
    return hand


def amend(hand, branch, files):
    """What an author pushes by force who amends the last commit that they had made themselves."""
    hand.git("switch", "--quiet", "--detach", hand.authors[branch])
    hand.write(files, hand.fork)
    hand.git("add", "--all")
    hand.git("commit", "--quiet", "--amend", "--no-edit")
    hand.git("branch", "--force", branch, "HEAD")
    hand.git("switch", "--quiet", "main")


def refused(hand, *commands):
    """Run commands that have to refuse, all with one message; it is returned."""
    said = set()
    for command in commands:
        before, series = hand.contents(), (hand.root / "SERIES.md").read_bytes()
        done = hand.run(*command)
        assert (done.code, done.out) == (1, "")
        assert (hand.root / "SERIES.md").read_bytes() == series
        known = {path: value for path, value in before.items() if not path.endswith("lock")}
        after = {path: value for path, value in hand.contents().items() if path in known}
        assert after == known
        said.add(done.err)
    (line,) = said
    assert line.count("\n") == 1
    return line.removeprefix("error: ").removesuffix("\n")


def lost(hand):
    told = json.loads(hand.run("status", "--json").out)["lost"]
    plain = " ".join(hand.run("status").err.split())
    assert all(sentence in plain for sentence in told)
    return told


def test_a_branch_that_was_amended_is_refused(synced):
    old = synced.synced["a"]
    amend(synced, "a", {"shared.txt": "a\nBB\nc\nd\ne\n"})
    main = synced.synced["main"]
    text = (
        f"branch a was rewritten: it no longer holds {old[:12]}, its head after sync 1; review "
        "links into what was pushed of it broke; put it back (git branch -f a "
        f"{old[:12]}) or keep both (on it: git merge {main[:12]} && git merge -s ours {old[:12]}), "
        "then sync again"
    )
    assert refused(synced, *SYNCS, STACK, FOLD) == text
    assert lost(synced) == [text]
    synced.commit("main", {"README": "2\n"}, "Go on")
    assert refused(synced, *SYNCS) == text


def test_a_branch_that_was_put_back_is_synced(synced):
    amend(synced, "a", {"shared.txt": "a\nBB\nc\nd\ne\n"})
    synced.git("branch", "-f", "a", synced.synced["a"])
    assert lost(synced) == []
    assert synced.run("sync").code == 0
    assert synced.heads() == synced.synced


@pytest.mark.parametrize("branch", ["a", "b"])
def test_what_the_message_says_keeps_both(synced, branch):
    amend(synced, branch, {"shared.txt": "a\nBB\nc\nd\ne\n"})
    (text,) = lost(synced)
    commands = text.partition("(on it: ")[2].partition(")")[0]
    synced.git("switch", "--quiet", branch)
    for command in commands.split(" && "):
        _, *words = shlex.split(command)
        synced.git(*words)
    synced.git("switch", "--quiet", "main")
    synced.commit("main", {"README": "2\n"}, "Go on")
    done = synced.run("sync")
    assert done.code == 0, done.err
    assert synced.files("b") == {
        "README": "2\n",
        "a.txt": "1\n",
        "b.txt": "1\n",
        "notes.txt": "one\ntwo\nthree\n",
        "shared.txt": "a\nBB\nc\nd\ne\n",
    }
    assert synced.git("merge-base", branch, synced.synced[branch]) == synced.synced[branch]
    assert synced.run("verify").code == 0


def test_a_branch_that_was_rebased_is_refused_though_it_holds_main(synced):
    synced.git("switch", "--quiet", "--detach", synced.authors["b"])
    synced.git("rebase", "--quiet", "--onto", synced.synced["a"], synced.authors["a"])
    synced.git("branch", "--force", "b", "HEAD")
    synced.git("switch", "--quiet", "main")
    old = synced.synced["b"][:12]
    assert refused(synced, *SYNCS, STACK, FOLD) == (
        f"branch b was rewritten: it no longer holds {old}, its head after sync 1; review links "
        f"into what was pushed of it broke; put it back (git branch -f b {old}) or keep both (on "
        f"it: git merge -s ours {old}), then sync again"
    )


def test_each_branch_that_was_rewritten_is_told(synced):
    for branch in ("a", "b"):
        amend(synced, branch, {"more.txt": "1\n"})
    assert [text.partition(":")[0] for text in lost(synced)] == [
        "branch a was rewritten",
        "branch b was rewritten",
    ]


def test_what_git_has_dropped_is_to_be_fetched(synced):
    amend(synced, "b", {"b.txt": "2\n"})
    synced.git("reflog", "expire", "--expire=now", "--all")
    synced.git("gc", "--quiet", "--prune=now")
    old = synced.synced["b"][:12]
    assert refused(synced, *SYNCS) == (
        f"branch b was rewritten: it no longer holds {old}, its head after sync 1; review links "
        "into what was pushed of it broke; this repository does not have that commit any more: "
        "fetch it and sync again, or go on under another name (git branch -m b NEW, and its row)"
    )


def test_who_only_adds_commits_is_not_told_anything(synced):
    synced.commit("a", {"a.txt": "2\n"}, "Go on")
    synced.git("switch", "--quiet", "b")
    synced.git("merge", "--quiet", "--no-edit", "a")
    synced.git("switch", "--quiet", "main")
    assert lost(synced) == []
    assert synced.run("sync").code == 0


def test_after_an_undo_the_heads_before_it_count(synced):
    head = synced.commit("a", {"a.txt": "2\n"}, "Go on")
    synced.commit("main", {"README": "2\n"}, "Go on")
    assert synced.run("sync").code == 0
    for command in ("undo", "redo", "undo"):
        assert synced.run(command).code == 0
        assert lost(synced) == []
    synced.git("branch", "--force", "a", synced.synced["a"])
    (text,) = lost(synced)
    assert f"it no longer holds {head[:12]}, its head before sync 2; " in text
    synced.git("branch", "--force", "a", head)
    assert synced.run("sync").code == 0


def test_several_syncs_are_taken_back(synced):
    synced.commit("main", {"README": "2\n"}, "Go on")
    assert synced.run("sync").code == 0
    for command in ("undo", "undo", "redo", "undo", "redo", "redo"):
        assert synced.run(command).code == 0
        assert lost(synced) == []
    synced.git("branch", "--force", "b", synced.synced["b"])
    assert "its head after sync 2; " in lost(synced)[0]


def test_a_branch_that_an_undo_took_away_may_be_made_again(synced):
    assert synced.run(*STACK).code == 0
    assert synced.run("undo").code == 0
    synced.git("branch", "new", "main")
    synced.declare("#1 a main", "#2 b #1", "#8 new main")
    assert lost(synced) == []
    assert synced.run("sync").code == 0


@pytest.mark.parametrize("state", ["moving", "undoing", "redoing"])
def test_a_move_under_way_is_no_rewriting(synced, state):
    record = synced.fork / ".git/merge_series/done/1.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "state": state}))
    synced.git("branch", "--force", "b", synced.authors["b"])
    assert lost(synced) == []


def test_a_name_that_another_pr_has_now_is_no_rewriting(synced):
    synced.git("branch", "-m", "a", "first")
    synced.git("branch", "a", "main")
    synced.declare("#1 first main", "#2 b #1", "#3 a main")
    synced.commit("a", {"third.txt": "1\n"}, "Begin another")
    for text in ("2\n", "3\n"):
        assert lost(synced) == []
        synced.commit("main", {"README": text}, "Go on")
        done = synced.run("sync")
        assert done.code == 0, done.err


def test_a_head_that_main_has_is_not_lost(synced):
    synced.git("merge", "--quiet", "--no-ff", "--no-edit", "a")
    synced.git("branch", "--force", "a", "main")
    assert lost(synced) == []
    assert synced.run("sync").code == 0


def test_what_landed_may_be_rewritten(synced):
    synced.squash("a", "Do a (#1)")
    assert synced.run("sync").code == 0
    assert synced.states() == ["landed", "open"]
    synced.git("branch", "--force", "a", "main")
    assert lost(synced) == []
    synced.commit("main", {"README": "2\n"}, "Go on")
    assert synced.run("sync").code == 0


# Main


def reset_main(hand, revision):
    hand.git("reset", "--quiet", "--hard", revision)


def main_row(hand):
    done = hand.run("verify", "--json")
    (row,) = [c for c in json.loads(done.out) if c["name"] == "holds what was synced"]
    assert done.code == (4 if row["found"] else 0)
    return row


def test_a_main_that_went_back_is_refused(synced):
    old = synced.git("rev-parse", "main")
    assert main_row(synced) == {
        "branch": "main", "name": "holds what was synced", "found": "", "note": "",
    }  # fmt: skip
    reset_main(synced, "main^")
    new = synced.git("rev-parse", "main")
    text = (
        f"main went back to {new[:12]} and no longer holds {old[:12]}, which sync 1 merged; put "
        f"main back, or take sync 1 back ({synced.typed('undo')}), or name another branch with "
        "--main"
    )
    assert refused(synced, *SYNCS, STACK, FOLD) == text
    assert lost(synced) == [text]
    assert main_row(synced)["found"] == text
    synced.git("update-ref", "refs/remotes/upstream/main", new)
    reset_main(synced, old)
    assert lost(synced) == []
    elsewhere = ("--main", "upstream/main")
    assert refused(synced, (*elsewhere, "sync")) == text.replace(
        "main went", "upstream/main went"
    ).replace("put main", "put upstream/main").replace(" undo)", " --main upstream/main undo)")


def test_who_names_no_main_but_synced_with_a_remotes_is_told_its_name(synced):
    old = synced.git("rev-parse", "main")
    synced.git("update-ref", "refs/remotes/upstream/main", old)
    reset_main(synced, "main^")
    new = synced.git("rev-parse", "main")
    assert refused(synced, *SYNCS) == (
        f"main is at {new[:12]} and no longer holds {old[:12]}, which sync 1 merged and "
        "upstream/main holds; if upstream/main is main, say --main upstream/main, else put main "
        f"back, or take sync 1 back ({synced.typed('undo')})"
    )


def test_a_commit_of_main_that_no_branch_took_may_go(synced):
    synced.commit("main", {"README": "2\n"}, "Go on")
    assert synced.run(*STACK).code == 0
    reset_main(synced, "main^")
    assert lost(synced) == []
    assert synced.run("sync").code == 0


@pytest.fixture
def replaced(synced):
    """Main was pushed by force: another commit stands in place of the one that was synced."""
    synced.old = synced.git("rev-parse", "main")
    reset_main(synced, "main^")
    synced.new = synced.commit("main", {"OTHER": "1\n"}, "Add something else")
    return synced


def test_a_main_that_was_replaced_is_refused(replaced):
    text = (
        f"main was rewritten: it is at {replaced.new[:12]} and no longer holds "
        f"{replaced.old[:12]}, which sync 1 merged; put main back, or take sync 1 back "
        f"({replaced.typed('undo')}), or merge main by hand into a, where what it no longer has is "
        "to be settled, then sync again"
    )
    assert refused(replaced, *SYNCS, STACK, FOLD) == text
    assert lost(replaced) == [text]
    assert main_row(replaced)["found"] == text


def test_with_the_sync_taken_back_the_new_main_is_synced(replaced):
    assert replaced.run("undo").code == 0
    assert lost(replaced) == []
    assert replaced.run("sync").code == 0
    assert set(replaced.files("b")) == {"OTHER", "a.txt", "b.txt", "notes.txt", "shared.txt"}


def test_with_the_new_main_merged_by_hand_it_is_synced(replaced):
    replaced.git("switch", "--quiet", "a")
    replaced.git("merge", "--quiet", "--no-edit", "main")
    replaced.git("switch", "--quiet", "main")
    assert lost(replaced) == []
    done = replaced.run("sync")
    assert done.code == 0, done.err
    assert main_row(replaced)["found"] == ""
    assert lost(replaced) == []


def test_before_the_first_sync_main_may_be_anything(hand):
    hand.declare("#1 a main")
    hand.grow("a", "main", {"a.txt": "1\n"})
    assert main_row(hand)["note"] == "nothing was synced yet"
    assert lost(hand) == []


@pytest.fixture
def merged(synced):
    """A sync has merged what an author added to a, and did not move a itself."""
    synced.grown = synced.commit("a", {"a.txt": "2\n"}, "Go on")
    assert synced.run("sync").code == 0
    assert synced.heads()["a"] == synced.grown
    return synced


def test_a_branch_that_lacks_what_was_merged_of_it_is_refused(merged):
    merged.git("branch", "-f", "a", merged.synced["a"])
    new = merged.grown[:12]
    text = (
        f"branch a was rewritten: it no longer holds {new}, its head after sync 2; review links "
        f"into what was pushed of it broke; put it back (git branch -f a {new}) or keep both (on "
        f"it: git merge -s ours {new}), then sync again"
    )
    assert refused(merged, *SYNCS) == text
    assert lost(merged) == [text]


def test_a_branch_that_is_gone_comes_back_with_all_that_was_merged_of_it(merged):
    merged.git("branch", "-D", "a")
    new = merged.grown[:12]
    assert refused(merged, *SYNCS) == (
        f"{merged.fork}: #1 has no branch a here; bring it back as it was after sync 2: "
        f"git branch a {new}"
    )
    merged.git("branch", "a", new)
    assert lost(merged) == []
    assert merged.run("undo").code == 0
    merged.git("branch", "-D", "a")
    assert refused(merged, *SYNCS) == (
        f"{merged.fork}: #1 has no branch a here; bring it back as it was before sync 2: "
        f"git branch a {new}"
    )


def test_a_branch_that_was_renamed_after_an_undo_has_lost_nothing(hand):
    hand.declare("#1 one main", "#2 two #1")
    hand.grow("one", "main", {"one.txt": "1\n"})
    hand.grow("two", "one", {"two.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    assert hand.run("sync").code == 0
    assert hand.run("undo").code == 0
    hand.git("branch", "-m", "one", "first")
    hand.declare("#1 first main", "#2 two #1")
    hand.commit("first", {"one.txt": "2\n"}, "Go on")
    done = hand.run("sync")
    assert done.code == 0, done.err
