"""What reviewers read of merges that only record a landing or a successor, and change nothing."""

import html
import re

import pytest

NOTES = "notes.txt"
SYNCED = (
    "Synced with main {main} on 2026-01-02 by a merge commit with no conflicts, so existing "
    "commits and review links stay valid."
)


def short(sha):
    return sha[:12]


def sync_text(hand, pr):
    done = hand.run("describe", pr)
    assert done.code == 0, done.err
    return done.out.split("### Sync\n\n")[1].split("\n\n### Stack")[0]


def shown(hand, *arguments):
    done = hand.run("show", *arguments)
    assert (done.code, done.err) == (0, "")
    return done.out


def commits_of(text):
    """The subjects of the commits that ``show`` lists as the PR's own."""
    return [line[15:] for line in text.partition("\n\n")[0].splitlines()[1:]]


def paths_of(text):
    """The files whose lines ``show`` shows."""
    return re.findall(r"^diff --git a/(\S+)", text, re.MULTILINE)


def page(hand, name):
    """The words of a page of the site."""
    done = hand.run("site", "--output", "out")
    assert done.code == 0, done.err
    text = (hand.root / "out" / name).read_text()
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", text)).split())


@pytest.fixture
def landed(hand):
    """Three PRs that change the same line; the first landed, and the others were synced."""
    hand.declare("#1 low main", "#2 mid #1", "#3 top #2")
    hand.grow("low", "main", {NOTES: "one\nTWO\nthree\n"}, {"low.txt": "low\n"})
    hand.grow("mid", "low", {NOTES: "one\nTWO!\nthree\n"})
    hand.grow("top", "mid", {NOTES: "one\nTWO!?\nthree\n", "top.txt": "top\n"})
    hand.old = hand.heads()
    hand.landing = hand.squash("low", "Do low (#1)")
    assert hand.run("sync").code == 0
    return hand


def test_a_landing_is_recorded_without_a_conflict(landed):
    new = landed.heads()
    assert sync_text(landed, "2") == (
        f"{SYNCED.format(main=landed.landing[:7])} "
        f"Recorded that #1 landed in main as {landed.landing[:7]}, which changed no file."
    )
    assert sync_text(landed, "3") == SYNCED.format(main=landed.landing[:7])
    assert shown(landed, "2", "--since", landed.old["mid"]) == (
        f"#2 mid from {short(landed.old['mid'])} to {short(new['mid'])}: nothing to read.\n\n"
        "Merges that only record, and change no file:\n"
        f"  {short(new['mid'])} #1 landed in main as {short(landed.landing)}\n\n"
        f"Left out: 1 commit of main. Checked: with what is shown above they give the tree of "
        f"{short(new['mid'])}.\n"
    )
    assert shown(landed, "3", "--since", landed.old["top"]) == (
        f"#3 top from {short(landed.old['top'])} to {short(new['top'])}: nothing to read.\n\n"
        "Merges that are git's own, unchanged:\n"
        f"  {short(new['top'])} Merge what mid does from #2\n\n"
        f"Left out: 1 commit of main and 1 of #2. Checked: with what is shown above they give "
        f"the tree of {short(new['top'])}.\n"
    )


def test_the_site_says_so_too(landed):
    new, old = landed.heads()["mid"], landed.old["mid"]
    text = page(landed, "2.html")
    assert (
        f"2026-01-02 Record that #1 landed in main {new[:9]} merged main at "
        f"{landed.landing[:9]} (Do low (#1)), and only records that #1 landed in main as "
        f"{landed.landing[:7]}: no file changed."
    ) in text
    assert "conflicted" not in text.split("Every merge on this branch")[1].split("The rest")[0]
    (between,) = (landed.root / "out/2").glob(f"{old[:9]}*-{new[:9]}*")
    text = page(landed, f"2/{between.name}")
    assert "Nothing to read." in text
    assert (
        f"Merges that only record, and change no file {new[:9]} #1 landed in main as "
        f"{landed.landing[:7]}"
    ) in text


def test_the_commits_of_what_landed_are_nobodys_where_its_branch_is_gone(landed):
    before = shown(landed, "2")
    assert commits_of(before) == ["Mid 1", "Record that #1 landed in main"]
    landed.git("branch", "-D", "low")
    assert shown(landed, "2") == before
    done = landed.run("show", "2", "--since", f"{landed.old['mid']}~1")
    assert (done.code, done.err) == (
        1,
        (
            f"error: {landed.old['mid']}~1: is a commit of #1, on which #2 stands, so it holds "
            f"nothing of #2; read all of it: {landed.typed('show 2')}\n"
        ),
    )


def test_two_landings_one_on_the_other(landed):
    second = landed.commit("main", {NOTES: "one\nTWO!\nthree\n"}, "Do mid (#2)")
    main = landed.commit("main", {"README": "new\n"}, "Go on")
    assert landed.run("undo").code == 0
    assert landed.run("sync").code == 0
    first, *_ = landed.git("log", "--format=%H", "--merges", "--reverse", "top").splitlines()
    assert sync_text(landed, "3") == (
        f"{SYNCED.format(main=main[:7])} "
        f"Recorded that #1 landed in main as {landed.landing[:7]}, which changed no file. "
        f"Recorded that #2 landed in main as {second[:7]}, which changed no file."
    )
    text = shown(landed, "3", "--since", landed.old["top"])
    assert text.splitlines()[0].endswith(": nothing to read.")
    assert (
        "Merges that only record, and change no file:\n"
        f"  {short(first)} #1 landed in main as {short(landed.landing)}\n"
        f"  {short(landed.git('rev-parse', 'top~1'))} #2 landed in main as {short(second)}\n"
    ) in text
    # The branch of #2 was not synced between the two, so it holds #1 and no record of its landing.
    assert paths_of(shown(landed, "2")) == [NOTES]


def test_a_diamond_with_one_landed_corner(hand):
    hand.declare("#1 root main", "#2 left #1", "#3 right #1", "#4 top #2,#3")
    hand.grow("root", "main", {NOTES: "one\nTWO\nthree\n"})
    hand.grow("left", "root", {NOTES: "one\nTWO!\nthree\n"})
    hand.grow("right", "root", {"right.txt": "right\n"})
    hand.grow("top", "left,right", {"top.txt": "top\n"})
    first = hand.squash("root", "Do root (#1)")
    assert hand.run("sync").code == 0
    old = hand.heads()
    landing = hand.squash("left", "Do left (#2)")
    assert hand.run("sync").code == 0
    new = hand.heads()
    assert sync_text(hand, "3") == (
        f"{SYNCED.format(main=landing[:7])} "
        f"Recorded that #1 landed in main as {first[:7]}, which changed no file."
    )
    assert commits_of(shown(hand, "3")) == [
        "Right 1",
        "Record that #1 landed in main",
        "Merge main into right",
    ]
    both = SYNCED.format(main=landing[:7]).replace("a merge commit", "2 merge commits")
    recorded = f"Recorded that #2 landed in main as {landing[:7]}, which changed no file."
    assert sync_text(hand, "4") == f"{both} {recorded}"
    assert shown(hand, "4", "--since", old["top"]) == (
        f"#4 top from {short(old['top'])} to {short(new['top'])}: nothing to read.\n\n"
        "Merges that are git's own, unchanged:\n"
        f"  {short(new['top'])} Merge what right does from #3\n\n"
        "Merges that only record, and change no file:\n"
        f"  {short(hand.git('rev-parse', 'top^'))} #2 landed in main as {landing[:12]}\n\n"
        "Left out: 1 commit of main and 1 of #3. Checked: with what is shown above they give the "
        f"tree of {short(new['top'])}.\n"
    )
    assert shown(hand, "4").splitlines()[8:10] == [
        "diff --git a/top.txt b/top.txt",
        "new file mode 100644",
    ]


def test_a_successor_is_recorded(hand):
    hand.declare("#1 low main", "#2 mid #1", "#3 top #2")
    hand.grow("low", "main", {NOTES: "one\nTWO\nthree\n"})
    hand.grow("mid", "low", {"mid.txt": "mid\n"})
    hand.grow("top", "mid", {NOTES: "one\nTWO!\nthree\n"})
    old = hand.heads()
    folded = hand.run("fold", "1", "2", "--pr", "9", "--branch", "all", "--title", "All")
    assert folded.code == 0, folded.err
    new = hand.heads()
    assert sync_text(hand, "3") == (
        f"Built on main {old['main'][:7]} of 2026-01-02; main was not merged into it since. "
        "Recorded that #9 supersedes #1 and #2, which changed no file."
    )
    assert commits_of(shown(hand, "3")) == ["Top 1", "Record that #9 supersedes #1 and #2"]
    assert shown(hand, "3", "--since", old["top"]) == (
        f"#3 top from {short(old['top'])} to {short(new['top'])}: nothing to read.\n\n"
        "Merges that only record, and change no file:\n"
        f"  {short(new['top'])} #9 supersedes #1 and #2\n\n"
        "Left out: 2 commits of #9. Checked: with what is shown above they give the tree of "
        f"{short(new['top'])}.\n"
    )
    for pr, own in (("1", ["Low 1"]), ("2", ["Mid 1"]), ("9", ["Do low", "Do mid"])):
        assert commits_of(shown(hand, pr)) == own
    # What is superseded still stands on what it stood on, also where that branch is gone.
    against = f"#2 mid at {short(old['mid'])}, against"
    low, main = short(old["low"]), short(old["main"])
    assert shown(hand, "2").splitlines()[0] == (
        f"{against} the merge of #1 at {low} and main at {main}"
    )
    assert paths_of(shown(hand, "2")) == ["mid.txt"]
    hand.git("branch", "-D", "low")
    assert shown(hand, "2").splitlines()[0] == f"{against} main at {main}"
    assert paths_of(shown(hand, "2")) == ["mid.txt", NOTES]


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({"README": "more\n"}, {}),  # main's commit brings more than the PR
        ({}, {"README": "mine\n"}),  # the merge itself changes a file
    ],
)
def test_what_only_claims_to_record_is_read_as_a_merge(hand, more, kept):
    hand.declare("#1 low main landed", "#2 mid #1")
    head = hand.grow("low", "main", {NOTES: "one\nTWO\nthree\n"})
    old = hand.grow("mid", "low", {"mid.txt": "mid\n"})
    hand.commit("main", {NOTES: "one\nTWO\nthree\n", **more}, "Do low (#1)")
    desk = hand.root / "desk"
    hand.git("worktree", "add", "--quiet", str(desk), "mid")
    hand.git("merge", "--quiet", "--no-commit", "--strategy=ours", "main", where=desk)
    hand.write(kept, desk)
    hand.git("add", "--all", where=desk)
    message = f"Record that #1 landed in main\n\nAbsorbs: {head}"
    hand.git("commit", "--quiet", "-m", message, where=desk)
    hand.git("worktree", "remove", "--force", str(desk))
    text = shown(hand, "2", "--since", old)
    assert text.splitlines()[0].endswith(": 1 commit to read.")
    assert ("-more\n" if more else "+mine\n") in text
    assert "Merges that only record" not in text
    assert "Recorded" not in sync_text(hand, "2")


def test_generated_files_do_not_keep_a_landing_from_being_one(world):
    """The allowlist of main is another one than that of the PR, merged."""
    series = world.root / "SERIES.md"
    world.commit("main", {"megatron/core/more.py": "x = 1\n"}, "Add a module")
    world.git("merge", "--quiet", "--squash", "ratchet")
    world.write(
        {world.allowlist: "# other words\n" + world.show("ratchet", world.allowlist)}, world.fork
    )
    world.git("add", "--all")
    world.git("commit", "--quiet", "-m", "List the global reads (#1)")
    old = world.heads()
    done = world.run("sync")
    assert done.code == 0, done.err
    assert "| landed |" in series.read_text()
    text = shown(world, "2", "--since", old["offsets"])
    assert text.splitlines()[0].endswith(": nothing to read.")
    assert "#1 landed in main as " in text
    assert "- `" not in sync_text(world, "2").partition("###")[0]


def edit(hand, files):
    """Two PRs that change the same line; the lower one landed with files as others wanted them."""
    hand.declare("#1 low main", "#2 mid #1")
    hand.grow("low", "main", {NOTES: "one\nTWO\nthree\n"}, {"low.txt": "low\n"})
    hand.grow("mid", "low", {NOTES: "one\nTWO!\nthree\n"})
    hand.old = hand.heads()
    hand.squash("low", "Do low (#1)")
    hand.write(files, hand.fork)
    hand.git("add", "--all")
    hand.git("commit", "--quiet", "--amend", "--no-edit")
    hand.landing = hand.git("rev-parse", "main")


def test_a_landing_in_another_form_is_nothing_to_read(hand):
    edit(hand, {"low.txt": "low, edited\n"})
    assert hand.run("sync").code == 0
    old, new = hand.old["mid"], hand.heads()["mid"]
    assert shown(hand, "2", "--since", old) == (
        f"#2 mid from {short(old)} to {short(new)}: nothing to read.\n\n"
        "Merges of what main has in another form, unchanged:\n"
        f"  {short(new)} #1 landed in main in another form as {short(hand.landing)}\n\n"
        f"Left out: 1 commit of main. Checked: with what is shown above they give the tree of "
        f"{short(new)}.\n"
    )
    assert sync_text(hand, "2") == SYNCED.format(main=hand.landing[:7])
    text = page(hand, "2.html")
    assert (
        f"{new[:9]} merged main at {hand.landing[:9]} (Do low (#1)), where #1 landed in main in "
        f"another form as {hand.landing[:7]}. No file conflicted."
    ) in text
    (between,) = (hand.root / "out/2").glob(f"{old[:9]}*-{new[:9]}*")
    text = page(hand, f"2/{between.name}")
    assert (
        f"Merges of what main has in another form, unchanged {new[:9]} #1 landed in main in "
        f"another form as {hand.landing[:7]}"
    ) in text
    hand.git("branch", "-D", "low")
    assert commits_of(shown(hand, "2")) == ["Mid 1", "Merge #1 as it landed in main"]
    assert paths_of(shown(hand, "2")) == [NOTES]


def test_what_a_person_settled_of_a_landing_in_another_form_is_to_be_read(hand):
    edit(hand, {NOTES: "one\nTWO?\nthree\n", "low.txt": "low, edited\n"})
    assert hand.run("sync").code == 3
    desk = hand.fork / ".git/merge_series/worktree"
    hand.write({NOTES: "one\nTWO?!\nthree\n"}, desk)
    hand.git("add", "--all", where=desk)
    assert hand.run("sync", "--continue").code == 0
    new = hand.heads()["mid"]
    text = shown(hand, "2", "--since", hand.old["mid"])
    assert text.startswith(
        f"#2 mid from {short(hand.old['mid'])} to {short(new)}: 1 commit to read."
    )
    assert "\nIn conflict: notes.txt\n" in text
    assert "\nBeyond the merge of what main has otherwise than #1 merged into it:\n" in text
    assert paths_of(text) == [NOTES]
    patch = text.partition("\n@@")[2].splitlines()
    changed = [line for line in patch if line[:1] in {"+", "-"}]
    assert [line for line in changed if not line.startswith(("-<<<<<<<", "->>>>>>>"))] == [
        "-TWO!",
        "-=======",
        "-TWO?",
        "+TWO?!",
    ]
    assert sync_text(hand, "2") == (
        f"{SYNCED.format(main=hand.landing[:7])} Conflicts, and how each was settled:\n\n"
        "- `notes.txt`: by a person"
    ).replace(" with no conflicts", "")


def test_a_message_that_lists_other_files_is_no_measure_of_a_landing(hand):
    edit(hand, {"low.txt": "low, edited\n"})
    assert hand.run("sync").code == 0
    message = hand.message("mid").replace("- low.txt", "- other.txt")
    hand.git("switch", "--quiet", "mid")
    hand.git("commit", "--quiet", "--amend", "-m", message)
    text = shown(hand, "2", "--since", hand.old["mid"])
    assert "Beyond git's own merge:\n" in text
    assert paths_of(text) == ["low.txt", NOTES]


def test_two_landings_in_other_forms_one_on_the_other(hand):
    hand.declare("#1 low main", "#2 mid #1", "#3 top #2")
    hand.grow("low", "main", {NOTES: "one\nTWO\nthree\n", "low.txt": "low\n"})
    hand.grow("mid", "low", {NOTES: "one\nTWO!\nthree\n", "mid.txt": "mid\n"})
    old = hand.grow("top", "mid", {NOTES: "one\nTWO!?\nthree\n"})
    first = hand.commit("main", {NOTES: "one\nTWO\nthree\n", "low.txt": "LOW\n"}, "Do low (#1)")
    second = hand.commit("main", {NOTES: "one\nTWO!\nthree\n", "mid.txt": "MID\n"}, "Do mid (#2)")
    assert hand.run("sync").code == 0
    top = hand.heads()["top"]
    assert shown(hand, "3", "--since", old) == (
        f"#3 top from {short(old)} to {short(top)}: nothing to read.\n\n"
        "Merges of what main has in another form, unchanged:\n"
        f"  {hand.git('rev-parse', 'top~1')[:12]} #1 landed in main in another form as "
        f"{short(first)}\n"
        f"  {short(top)} #2 landed in main in another form as {short(second)}\n\n"
        f"Left out: 2 commits of main. Checked: with what is shown above they give the tree of "
        f"{short(top)}.\n"
    )


@pytest.mark.parametrize("more", [{}, {"more.txt": "more\n"}])
def test_a_revert_that_a_branch_keeps_out_is_nothing_to_read(hand, more):
    edit(hand, {})
    assert hand.run("sync").code == 0
    old = hand.heads()["mid"]
    hand.git("revert", "--no-commit", "HEAD")
    hand.write(more, hand.fork)
    hand.git("add", "--all")
    hand.git("commit", "--quiet", "-m", 'Revert "Do low (#1)"')
    revert = hand.git("rev-parse", "main")
    hand.declare("#2 mid main")  # what landed has no row any more
    assert hand.run("sync", "--keep-reverted", "1").code == 0
    new = hand.heads()["mid"]
    assert shown(hand, "2", "--since", old) == (
        f"#2 mid from {short(old)} to {short(new)}: nothing to read.\n\n"
        "Merges of what main has in another form, unchanged:\n"
        f"  {short(new)} #1 stays, which main reverts by {short(revert)}\n\n"
        f"Left out: 1 commit of main. Checked: with what is shown above they give the tree of "
        f"{short(new)}.\n"
    )
    assert sync_text(hand, "2").startswith(SYNCED.format(main=revert[:7]))
