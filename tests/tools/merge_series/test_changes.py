"""What SERIES.md says otherwise than the branches: shown by status, merged or refused by sync."""

import json

import pytest

ANEW = "begin this PR anew on a branch of another name"
STAYS = "what a branch holds cannot be taken out by adding commits"


@pytest.fixture
def fan(hand):
    """Two PRs on one, and a third on both."""
    hand.declare("#1 root main", "#2 left #1", "#3 right #1", "#4 top #2,#3")
    hand.grow("root", "main", {"root.txt": "1\n"})
    hand.grow("left", "root", {"left.txt": "1\n"})
    hand.grow("right", "root", {"right.txt": "1\n"})
    hand.grow("top", "left,right", {"top.txt": "1\n"})
    return hand


def said(hand):
    return json.loads(hand.run("status", "--json").out)["changes"]


def refused(hand):
    before, files = hand.heads(), hand.contents()
    done = hand.run("sync")
    assert hand.heads() == before
    kept = {path for path in hand.contents() if "merge_series" not in path}
    assert kept == {path for path in files if "merge_series" not in path}
    return done


def test_a_stack_that_is_as_declared_has_nothing_to_say(fan):
    assert said(fan) == []
    fan.commit("main", {"README": "1\n"}, "Go on")
    assert fan.run("sync").code == 0
    assert said(fan) == []


def test_an_added_dependency_is_merged_in(fan):
    fan.grow("other", "main", {"other.txt": "1\n"})
    fan.declare("#5 other main", "#1 root main", "#2 left #1,#5", "#3 right #1", "#4 top #2,#3")
    assert said(fan) == [
        "SERIES.md:7: #2 depends on #5 now; a sync merges it into the branch",
    ]
    done = fan.run("sync")
    assert done.code == 0, done.err
    assert (
        fan.graph("main", "left", "other")
        == """\
*   Merge what other does from #5 (left)
|\\
| * Other 1 (other)
* | Left 1
* | Root 1 (root)
|/
* Start main (main)"""
    )
    assert said(fan) == []


def test_a_new_dependency_between_prs_that_shared_one_is_merged_in(fan):
    fan.declare("#1 root main", "#2 left #1", "#3 right #1,#2", "#4 top #2,#3")
    assert said(fan) == ["SERIES.md:7: #3 depends on #2 now; a sync merges it into the branch"]
    assert fan.run("sync").code == 0
    assert set(fan.files("right")) >= {"left.txt", "right.txt"}


def test_a_removed_dependency_that_was_merged_in_is_refused(fan):
    fan.commit("right", {"right.txt": "2\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.declare("#1 root main", "#2 left #1", "#3 right #1", "#4 top #2")
    text = (
        "SERIES.md:8: #4 holds #3, which was merged into it, and does not depend on it now; "
        f"{STAYS}: write the dependency again, or {ANEW}"
    )
    assert said(fan) == [text]
    done = refused(fan)
    assert (done.code, done.err) == (1, f"error: {text}\n")


def test_a_removed_dependency_that_the_branch_began_at_is_refused(fan):
    head = fan.heads()["root"]
    fan.declare("#1 root main", "#2 left main", "#3 right #1", "#4 top #2,#3")
    text = (
        f"SERIES.md:{{}}: {{}} holds {head[:12]} 'Root 1', as #1 and #2 do, none of which depends "
        f"on another or on a PR that brings it; {STAYS}: write the dependency that is missing, or "
        f"{ANEW}"
    )
    assert said(fan) == [text.format(5, "#1"), text.format(6, "#2")]
    done = refused(fan)
    assert (done.code, done.err) == (1, f"error: {text.format(5, '#1')}\n")


def test_a_removed_dependency_is_refused_also_where_another_branch_merged_it(fan):
    first = fan.git("rev-parse", "root")
    fan.commit("root", {"root.txt": "2\n"}, "Go on")
    fan.git("switch", "--quiet", "-c", "five", "left")
    fan.git("merge", "--quiet", "-m", "Merge what root does from #1", "root")
    fan.git("switch", "--quiet", "main")
    fan.declare("#1 root main", "#2 left main", "#3 right #1", "#4 top #2,#3", "#5 five #2,#1")
    text = (
        f"SERIES.md:5: #1 holds {first[:12]} 'Root 1', as #1 and #2 do, none of which depends on "
        f"another or on a PR that brings it; {STAYS}: write the dependency that is missing, or "
        "begin this PR anew on a branch of another name"
    )
    assert text in said(fan)
    done = refused(fan)
    assert (done.code, done.err.splitlines()[-1]) == (1, f"error: {text}")


def test_a_removed_pr_whose_branch_others_contain_is_refused(fan):
    fan.commit("main", {"README": "1\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.declare("#1 root main", "#2 left #1", "#4 top #2")
    merged = (
        "SERIES.md:7: #4 holds #3, which was merged into it, and SERIES.md has no such PR now; "
        f"{STAYS}: give it its row again (with the state landed or superseded, if it is), "
        "under its number of now, or "
        f"{ANEW}"
    )
    there = (
        f"SERIES.md:7: #4 holds the branch right at {fan.heads()['right'][:12]}, which no row "
        f"names; if it is a PR of the stack, {STAYS}: give it its row (with the state landed or "
        "superseded, if it is)"
    )
    assert said(fan) == [merged, there]
    done = refused(fan)
    assert (done.code, done.err) == (1, f"error: {merged}\n")


def test_a_removed_pr_that_one_branch_began_at_is_refused(hand):
    hand.declare("#1 par main")
    hand.grow("par", "main", {"par.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "Add a readme")
    assert hand.run("sync").code == 0
    hand.grow("kid", "par", {"kid.txt": "1\n"})
    hand.declare("#2 kid main")
    done = hand.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            f"error: SERIES.md:5: #2 holds the branch par at {hand.heads()['par'][:12]}, which no "
            "row names; if it is a PR of the stack, what a branch holds cannot be taken out by "
            "adding commits: give it its row (with the state landed or superseded, if it is)\n"
        ),
    )


def test_a_removed_pr_that_nothing_contains_is_no_matter(fan):
    fan.commit("main", {"README": "1\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.declare("#1 root main", "#2 left #1", "#3 right #1")
    assert said(fan) == []
    assert fan.run("sync").code == 0


def test_a_copy_of_a_branch_is_shown_and_no_hindrance(fan):
    head = fan.heads()["left"]
    fan.git("branch", "copy", "left")
    fan.commit("left", {"left.txt": "2\n"}, "Go on")
    assert said(fan) == [
        (
            f"SERIES.md:6: #2 holds the branch copy at {head[:12]}, which no row names; if it is "
            f"a PR of the stack, {STAYS}: give it its row (with the state landed or superseded, if "
            "it is)"
        )
    ]
    assert fan.run("sync").code == 0


def test_prs_in_another_order_are_refused(fan):
    fan.commit("left", {"left.txt": "2\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.declare("#1 root main", "#4 top #1,#3", "#2 left #4", "#3 right #1")
    done = refused(fan)
    assert (done.code, done.err) == (
        1,
        (
            "error: SERIES.md:6: #4 holds #2, which was merged into it, and does not depend on it "
            f"now; {STAYS}: write the dependency again, or {ANEW}\n"
        ),
    )


def test_a_row_with_another_branch_name_says_how_to_rename(fan):
    fan.declare("#1 root main", "#2 links #1", "#3 right #1", "#4 top #2,#3")
    head = fan.heads()["left"][:12]
    text = (
        f"SERIES.md:6: #2 has no branch links here; left at {head} is of this stack and in no row: "
        "if the branch was renamed, run git branch -m left links"
    )
    assert said(fan)[0] == text
    done = refused(fan)
    assert (done.code, done.err) == (1, f"error: {text}\n")
    fan.git("branch", "-m", "left", "links")
    assert said(fan) == []
    assert fan.run("sync").code == 0


def test_a_renamed_branch_that_nothing_contains_is_known_from_the_log(fan):
    fan.commit("main", {"README": "1\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.declare("#1 root main", "#2 left #1", "#3 right #1", "#4 tip #2,#3")
    assert said(fan) == [
        (
            f"SERIES.md:8: #4 has no branch tip here; top at {fan.heads()['top'][:12]} is of this "
            "stack and in no row: if the branch was renamed, run git branch -m top tip"
        )
    ]


def test_a_carried_branch_is_known_by_its_commits(world):
    text = (world.root / "SERIES.md").read_text()
    (world.root / "SERIES.md").write_text(text.replace("`offsets`", "`sizes`"))
    assert said(world) == [
        (
            f"SERIES.md:6: #2 has no branch sizes here; offsets at {world.heads()['offsets'][:12]} "
            "is of this stack and in no row: if the branch was renamed, run git branch -m offsets "
            "sizes"
        )
    ]


def test_the_row_of_a_landed_pr_may_go_when_its_branches_have_absorbed_it(fan):
    fan.squash("root", "Do root (#1)")
    fan.commit("main", {"README": "1\n"}, "Go on")
    assert fan.run("sync").code == 0
    fan.git("branch", "-D", "root")
    fan.declare("#2 left main", "#3 right main", "#4 top #2,#3")
    assert said(fan) == []
    fan.commit("main", {"README": "2\n"}, "Go on")
    done = fan.run("sync")
    assert done.code == 0, done.err


@pytest.fixture
def adopted(hand):
    """Two PRs that stand on what their parent was before it was rebased on the newer main."""
    hand.declare("#1 par main", "#2 left #1", "#3 right #1", "#4 top #2,#3")
    hand.grow("par", "main", {"par.txt": "1\n"}, {"more.txt": "1\n"})
    hand.grow("left", "par", {"left.txt": "1\n"})
    hand.grow("right", "par", {"right.txt": "1\n"})
    hand.grow("top", "left,right", {"top.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "Go on")
    return hand


def rebase(hand, branch="par"):
    hand.git("switch", "--quiet", branch)
    hand.git("rebase", "--quiet", "main")
    hand.git("switch", "--quiet", "main")


def rewrite(hand, branch, *commits):
    """Make a branch anew: a subject and files each, by another author at another time."""
    hand.git("switch", "--quiet", "--detach", "main")
    for subject, files in commits:
        hand.write(files, hand.fork)
        hand.git("add", "--all")
        hand.git("commit", "--quiet", "-m", subject, "--author=B <b@x.org>", "--date=2020-01-01")
    hand.git("branch", "--force", branch)
    hand.git("switch", "--quiet", "main")


def taken(hand, old, *, first="#2", line=6):
    one, other = hand.git("rev-parse", f"{old}~1", old).splitlines()
    return (
        f"SERIES.md:{line}: {first} and #3 hold {one[:12]} 'Par 1' and {other[:12]} 'Par 2', which "
        "#1 does not: they are taken as an older form of #1, and a sync merges #1 as it is now "
        "into them"
    )


def test_what_a_parent_was_before_it_was_rebased_is_told_once_and_merged(adopted):
    old = adopted.heads()["par"]
    rebase(adopted)
    text = taken(adopted, old)
    assert said(adopted) == [text]
    before = adopted.heads()
    assert text in adopted.run("sync", "--dry-run").err
    assert adopted.heads() == before
    done = adopted.run("sync")
    assert (done.code, done.err.splitlines()[0]) == (0, text)
    assert (
        adopted.graph("right")
        == """\
*   Merge what par does from #1 (right)
|\\
| * Par 2 (par)
| * Par 1
| * Go on (main)
* | Right 1
* | Par 2
* | Par 1
|/
* Start main"""
    )
    assert said(adopted) == []
    adopted.commit("par", {"par.txt": "2\n"}, "Go on")
    adopted.commit("main", {"README": "2\n"}, "Go on more")
    assert said(adopted) == []
    again = adopted.run("sync")
    assert (again.code, "older form" in again.err) == (0, False), again.err
    assert adopted.run("verify").code == 0


@pytest.mark.parametrize(
    "commits",
    [
        [("Do par in one", {"par.txt": "1\n", "more.txt": "1\n", "new.txt": "1\n"})],
        [("Par 1", {"par.txt": "1\n"}), ("Another end", {"more.txt": "2\n"})],
    ],
    ids=["squashed", "amended"],
)
def test_what_a_parent_was_before_it_was_written_anew_is_told_and_taken(adopted, commits):
    old = adopted.heads()["par"]
    rewrite(adopted, "par", *commits)
    assert said(adopted) == [taken(adopted, old)]


def test_what_a_parent_was_before_only_its_last_commit_was_amended_is_taken(adopted):
    old = adopted.heads()["par"]
    adopted.git("switch", "--quiet", "par")
    adopted.git("commit", "--quiet", "--amend", "--no-edit", "--allow-empty")
    adopted.write({"more.txt": "2\n"}, adopted.fork)
    adopted.git("commit", "--quiet", "--amend", "--all", "--no-edit")
    adopted.git("switch", "--quiet", "main")
    assert said(adopted) == [
        (
            f"SERIES.md:6: #2 and #3 hold {old[:12]} 'Par 2', which #1 does not: it is taken as an "
            "older form of #1, and a sync merges #1 as it is now into them"
        )
    ]


def test_older_forms_of_two_prs_below_are_named_both(adopted):
    adopted.grow("low", "main~1", {"low.txt": "1\n"})
    adopted.grow("as-it-was", "low", {"par.txt": "1\n"})
    adopted.git("branch", "--force", "par", "as-it-was")
    for name in ("left", "right"):
        adopted.git("branch", "-D", name)
        adopted.grow(name, "par", {f"{name}.txt": "1\n"})
    adopted.git("branch", "-D", "top", "as-it-was")
    adopted.declare("#4 low main", "#1 par #4", "#2 left #1", "#3 right #1")
    rebase(adopted, "low")
    adopted.git("switch", "--quiet", "par")
    adopted.git("rebase", "--quiet", "low")
    adopted.git("switch", "--quiet", "main")
    assert [sentence.partition(": they are ")[2] for sentence in said(adopted)] == [
        "taken as an older form of #1 and #4, and a sync merges #1 and #4 as they are now into them"
    ]
    assert adopted.run("sync").code == 0


def test_a_dependency_that_nobody_declared_is_no_older_form(adopted):
    between = adopted.grow("between", "par", {"between.txt": "1\n"})
    for name in ("left", "right", "top"):
        adopted.git("branch", "-D", name)
    adopted.grow("left", "between", {"left.txt": "1\n"})
    adopted.grow("right", "between", {"right.txt": "1\n"})
    adopted.git("branch", "-D", "between")
    adopted.declare("#1 par main", "#2 left #1", "#3 right #1")
    text = (
        f"holds {between[:12]} 'Between 1', as #2 and #3 do, none of which depends on another or "
        f"on a PR that brings it; {STAYS}: write the dependency that is missing, or {ANEW}"
    )
    assert said(adopted) == [f"SERIES.md:6: #2 {text}", f"SERIES.md:7: #3 {text}"]
    assert refused(adopted).code == 1


def made_on(hand, parent):
    """Two PRs that hold a commit of ``parent`` and say that they stand on #1."""
    for name in ("left", "right", "top"):
        hand.git("branch", "-D", name)
    hand.grow("left", parent, {"left.txt": "1\n"}, {"left.txt": "2\n"})
    hand.grow("right", "left~1", {"right.txt": "1\n"})
    hand.declare("#1 par main", "#2 left #1", "#3 right #1")
    first = hand.heads()["left"]
    return hand.git("rev-parse", f"{first}~1").strip()


def held(hand):
    return [sentence for sentence in said(hand) if "as #2 and #3 do" in sentence]


def undeclared(commit, subject, of=""):
    text = (
        f"holds {commit[:12]} '{subject}', as #2 and #3 do, none of which depends on another or on "
        f"a PR that brings it{of}; {STAYS}: write the dependency that is missing, or {ANEW}"
    )
    return [f"SERIES.md:6: #2 {text}", f"SERIES.md:7: #3 {text}"]


@pytest.mark.parametrize("third", ["#9 other main", "#9 other #1"])
def test_what_stands_above_an_older_form_is_no_part_of_it(adopted, third):
    left = made_on(adopted, "par")
    # A third PR stands on the older form alone: it is held by others than what stands above.
    adopted.grow("other", "par", {"other.txt": "1\n"})
    rebase(adopted)
    adopted.declare("#1 par main", "#2 left #1", "#3 right #1", third)
    assert held(adopted) == undeclared(left, "Left 1")
    assert refused(adopted).code == 1


def test_what_a_pr_was_on_which_no_holder_depends_is_a_missing_dependency(adopted):
    other = adopted.grow("other", "main~1", {"other.txt": "1\n"})
    for name in ("left", "right", "top"):
        adopted.git("branch", "-D", name)
    adopted.grow("left", "other", {"left.txt": "1\n"})
    adopted.grow("right", "other", {"right.txt": "1\n"})
    adopted.declare("#1 par main", "#2 left #1", "#3 right #1", "#4 other main")
    rebase(adopted, "other")
    has = " (#4 has it in another form)"
    assert held(adopted) == undeclared(other, "Other 1", has)
    assert refused(adopted).code == 1
    adopted.declare("#1 par main", "#4 other main", "#2 left #1,#4", "#3 right #1,#4")
    assert adopted.run("sync").code == 0


def test_a_pr_that_is_whole_in_another_is_no_older_form(adopted):
    left = adopted.heads()["left"]
    rewrite(adopted, "par", ("Do par in one", {"par.txt": "2\n"}))
    adopted.grow("five", "left", {"five.txt": "1\n"})
    adopted.declare("#1 par main", "#2 left #1", "#5 five #1")
    assert said(adopted)[0] == (
        f"SERIES.md:6: #2 holds {left[:12]} 'Left 1', as #2 and #5 do, none of which depends on "
        f"another or on a PR that brings it; {STAYS}: write the dependency that is missing, or "
        f"{ANEW}"
    )
    assert refused(adopted).code == 1


@pytest.fixture
def stale(hand):
    """Two PRs that hold a newer main than the fork's own."""
    hand.declare("#1 par main", "#2 left #1", "#3 right #1")
    hand.grow("par", "main", {"par.txt": "1\n"})
    hand.grow("left", "par", {"left.txt": "1\n"})
    hand.grow("right", "par", {"right.txt": "1\n"})
    hand.commit("main", {"README": "1\n"}, "Go on")
    hand.commit("main", {"README": "2\n"}, "Go on more")
    hand.git("switch", "--quiet", "--detach")
    return hand


def brought(hand, name, *branches, subject=None):
    for branch in branches:
        hand.git("switch", "--quiet", branch)
        hand.git("merge", "--quiet", *(("-m", subject) if subject else ("--no-edit",)), name)
    hand.git("switch", "--quiet", "--detach", "main~2")


@pytest.mark.parametrize("branches", [("left", "right"), ("par", "right")])
def test_commits_of_a_main_that_was_fetched_are_no_pr_of_the_stack(stale, branches):
    if "par" in branches:
        stale.declare("#1 par main", "#3 right main")
        stale.git("branch", "-D", "left", "right")
        stale.grow("right", "main~2", {"right.txt": "1\n"})
    head = stale.heads()["main"]
    brought(stale, "main", *branches, subject="Bring in what is new")
    stale.git("remote", "add", "origin", "nowhere")
    stale.git("update-ref", "refs/remotes/origin/main", head)
    stale.git("branch", "--force", "main", "main~2")
    done = refused(stale)
    assert done.code == 1
    assert done.err.endswith(
        ", and main has such commits: main here is older than origin/main; bring it up to date "
        "(git fetch origin main:main), or say --main origin/main\n"
    )
    assert f"'Go on' and {head[:12]} 'Go on more', as #" in done.err
    assert "write the dependency" not in "".join(said(stale))


def test_commits_that_were_merged_as_main_are_known_by_the_merges(stale):
    brought(stale, "main", "left", "right")
    stale.git("branch", "--force", "main", "main~2")
    stale.git("remote", "add", "upstream", "nowhere")
    done = refused(stale)
    assert done.err.endswith(
        ", as #2 and #3 do, and main has such commits: main here is older than the main "
        "that the branches have; bring it up to date (git fetch upstream main:main)\n"
    )


def test_shared_commits_on_main_itself_may_be_those_of_a_newer_main(stale):
    stale.declare("#2 left main", "#3 right main")
    for branch in ("left", "right"):
        stale.git("branch", "--force", branch, "main")
        stale.commit(branch, {f"{branch}.txt": "1\n"}, branch)
    stale.git("branch", "-D", "par")
    stale.git("branch", "--force", "main", "main~2")
    assert refused(stale).err.endswith(f"write the dependency that is missing, or {ANEW}\n")
    stale.git("remote", "add", "origin", "nowhere")
    assert refused(stale).err.endswith(
        f"write the dependency that is missing, or {ANEW}; if main has it by now, bring main up to "
        "date first (git fetch origin main:main)\n"
    )
