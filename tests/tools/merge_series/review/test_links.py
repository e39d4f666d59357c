"""Review links: what becomes of their commits and lines. Whole tables."""

import hashlib
import json

import pytest

HUB = "https://github.com/NVIDIA/Megatron-LM"
NOTES = "megatron/core/notes.txt"
LONG = "".join(f"line {number} of the notes\n" for number in range(1, 21))


def run_links(world, *lines):
    file = world.root / "links.txt"
    file.write_text("".join(f"{line}\n" for line in lines))
    return world.run("links", "links.txt")


def table(ran):
    return [line.rstrip() for line in ran.err.splitlines()]


def hashed(path):
    return f"diff-{hashlib.sha256(path.encode()).hexdigest()}"


@pytest.fixture
def long(world):
    """The world whose #3 brings a file of 20 lines; the commit that did so."""
    return world.commit("by-hand", {"long.txt": LONG}, "Write a long file")


def test_lines_are_followed_to_the_head(world, long):
    text = LONG.replace("line 2 of", "line two of")
    changed = world.commit("by-hand", {"long.txt": text}, "Spell two")
    text = text.replace("line 18 of the notes\n", "")
    gone = world.commit("by-hand", {"long.txt": text}, "Drop line 18")
    world.commit("by-hand", {"long.txt": f"first\n{text}"}, "Put one above")
    done = run_links(
        world,
        f"{HUB}/commit/{long}",
        f"{HUB}/blob/{changed}/long.txt#L10-L14",
        f"{HUB}/pull/3/files/{long[:10]}..{changed[:10]}#{hashed('long.txt')}R2",
        f"{HUB}/pull/3/files/{long}..{changed}#{hashed('long.txt')}L2",
        f"{HUB}/pull/3/commits/{long}#{hashed('long.txt')}R18",
        f"[spelled]({HUB}/blob/{long}/long.txt#L1-L3), and {HUB}/commit/{gone}.",
        f"{HUB}/pull/3/commits/{changed}#{hashed('long.txt')}L20",
    )
    assert done.code == 0, done.err
    assert table(done) == [
        " From    Link                                Branch   At its head now",
        f" line 1  {long[:9]}                           by-hand  reachable",
        f" line 2  {changed[:9]} long.txt L10-L14          by-hand  moved to L11-L15",
        f" line 3  {changed[:9]} long.txt L2               by-hand  moved to L3",
        f" line 4  {long[:9]} long.txt L2               by-hand  changed by {changed[:9]}, now",
        "                                                      L3",
        f" line 5  {long[:9]} long.txt L18              by-hand  gone by {gone[:9]}",
        f" line 6  {long[:9]} long.txt L1-L3            by-hand  changed by {changed[:9]}, now",
        "                                                      L2-L4",
        f" line 6  {gone[:9]}                           by-hand  reachable",
        f" line 7  {long[:9]} long.txt L20              by-hand  same",
        "8 links: 8 stand, 0 broken, 0 not understood.",
    ]


def test_renamed_files_and_moved_blocks_are_followed(world, long):
    lines = LONG.splitlines(keepends=True)
    block = "".join(lines[15:18] + lines[:15] + lines[18:])
    world.commit("by-hand", {"long.txt": block}, "Move three lines up")
    world.commit("by-hand", {"long.txt": None, "sub dir/new.txt": block}, "Move the file")
    gone = world.commit("by-hand", {NOTES: None}, "Drop the notes")
    done = run_links(
        world,
        f"{HUB}/blob/{long}/long.txt#L16-L18",
        f"{HUB}/blob/{long}/long.txt#L5",
        f"{HUB}/blob/{long}/{NOTES}#L1",
        f"{HUB}/blob/{gone}/sub%20dir/new.txt?plain=1#L3C2-L4C9",
        f"{HUB}/blob/{gone}/sub%20dir/new.txt",
    )
    assert done.code == 0, done.err
    assert table(done) == [
        " From    Link                                Branch   At its head now",
        f" line 1  {long[:9]} long.txt L16-L18          by-hand  moved to sub dir/new.txt",
        "                                                      L1-L3",
        f" line 2  {long[:9]} long.txt L5               by-hand  moved to sub dir/new.txt",
        "                                                      L8",
        f" line 3  {long[:9]} megatron/core/notes.txt   by-hand  gone by {gone[:9]}",
        "         L1",
        f" line 4  {gone[:9]} sub dir/new.txt L3-L4     by-hand  same",
        f" line 5  {gone[:9]} sub dir/new.txt L1-L20    by-hand  same",
        "5 links: 5 stand, 0 broken, 0 not understood.",
    ]


def test_what_a_merge_changed_is_laid_to_the_commit_that_did(world):
    old = world.heads()
    changed = world.commit("main", {NOTES: "one\ntwo\nTHREE\n"}, "Shout the third")
    world.commit("main", {NOTES: "zero\none\ntwo\nTHREE\n"}, "Count from zero")
    done = world.run("sync")
    assert done.code == 0 or "person" in done.err
    if done.code:
        worktree = world.fork / ".git" / "merge_series" / "worktree"
        world.write({NOTES: "zero\none\nTWO\nTHREE\n"}, worktree)
        world.git("add", "--all", where=worktree)
        assert world.run("sync", "--continue").code == 0
    merge = world.heads()["by-hand"]
    done = run_links(
        world,
        f"{HUB}/pull/3/commits/{old['by-hand']}#{hashed(NOTES)}R3",
        f"{HUB}/blob/{old['main']}/{NOTES}#L3",
        f"{HUB}/blob/{merge}/{NOTES}#L3",
    )
    assert done.code == 0, done.err
    data = json.loads(world.run("links", "--json", "links.txt").out)
    assert [(item["branch"], item["fate"]) for item in data["links"]] == [
        ("by-hand", {"status": "changed", "span": span(4), "by": changed}),
        ("main", {"status": "changed", "span": span(4), "by": changed}),
        ("by-hand", {"status": "same", "span": span(3), "by": None}),
    ]


def span(line):
    return {"path": NOTES, "first": line, "last": line}


def test_links_that_broke_and_forms_that_are_unknown_end_with_status_4(world, long):
    head = world.heads()["by-hand"]
    rewritten = world.commit("by-hand", {"more.txt": "more\n"}, "Go on")
    world.git("branch", "--force", "by-hand", head)
    both = f"{HUB}/commit/{long}#diff-{'0' * 64}L2-R4"
    done = run_links(
        world,
        f"{HUB}/pull/3/commits/{rewritten}",
        f"{HUB}/commit/{rewritten}",
        f"{HUB}/commit/{'0' * 40}",
        "",
        f"{HUB}/pull/7/commits/{long}",
        f"{HUB}/blob/{long}/none.txt#L1",
        f"{HUB}/blob/{long}/long.txt#L19-L21",
        f"{HUB}/blob/main/long.txt#L19",
        f"{HUB}/pull/3#discussion_r1",
        "see above",
        f"{HUB}/commit/{long}#comment",
        both,
    )
    assert done.code == 4
    assert table(done) == [
        " From    Link                                Branch   At its head now",
        f" line 1  {rewritten[:9]}                                    broken: no longer on",
        "                                                      by-hand",
        f" line 2  {rewritten[:9]}                                    broken: on no branch of",
        "                                                      the series",
        " line 3  000000000                                    broken: no such commit",
        "                                                      here",
        f" line 5  {long[:9]}                                    broken: #7 is not in the",
        "                                                      series",
        f" line 6  {long[:9]}                           by-hand  broken: none.txt: no such",
        "                                                      file there",
        f" line 7  {long[:9]}                           by-hand  broken: long.txt: has",
        "                                                      only 20 lines there",
        f"line 8: {HUB}/blob/main/long.txt#L19: names a branch, which moves, and no commit",
        f"line 9: {HUB}/pull/3#discussion_r1: names a pull request, but no commit of it",
        "line 10: see above: no link to a commit, a file at a commit, or a diff",
        f"line 11: {HUB}/commit/{long}#comment: #comment names no lines, or lines of both sides",
        f"line 12: {both}: #{both.partition('#')[2]} names no lines, or lines of both sides",
        "11 links: 0 stand, 6 broken, 5 not understood.",
    ]


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("blob/{long}/a%00b#L1", "names no file of a repository"),
        ("blob/{long}/../../etc/passwd", "names no file of a repository"),
        ("blob/{long}//etc/passwd", "names no file of a repository"),
        (f"blob/{{long}}/{'a/' * 3000}b", "names no file of a repository"),
        (f"blob/{{long}}/long.txt#L{'9' * 5000}", "names no lines, or lines of both sides"),
        (f"pull/{'9' * 5000}/commits/{{long}}", "names a pull request, but no commit of it"),
    ],
)
def test_an_odd_link_is_named_and_the_others_are_checked(world, long, link, why):
    done = run_links(world, f"{HUB}/{link.format(long=long)}", f"{HUB}/commit/{long}")
    assert (done.code, done.out) == (4, "")
    *_, reached, odd, last = done.err.splitlines()
    assert reached.split() == ["line", "2", long[:9], "by-hand", "reachable"]
    assert odd.startswith(f"line 1: {HUB}/")
    assert odd.endswith(why)
    assert last == "2 links: 1 stand, 0 broken, 1 not understood."


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"path": "a\0b"}, "names no file of a repository"),
        ({"path": "\ud800"}, "names no file of a repository"),
        ({"path": "/"}, "names no file of a repository"),
        ({"path": ""}, "names no file of a repository"),
        ({"original_line": 0}, "a line is a number from 1, not [0]"),
        ({"original_line": True}, "a line is a number from 1, not [true]"),
        ({"original_line": "2"}, 'a line is a number from 1, not ["2"]'),
        ({"original_start_line": -3}, "a line is a number from 1, not [-3, 2]"),
        ({"original_commit_id": "main"}, "a review comment has html_url, commit_id and path"),
        ({"original_commit_id": "a\0"}, "a review comment has html_url, commit_id and path"),
        (
            {"html_url": f"{HUB}/pull/{'9' * 5000}"},
            "a review comment has html_url, commit_id and path",
        ),
    ],
)
def test_an_odd_comment_is_named_and_the_others_are_checked(world, long, changes, why):
    sound = {
        "html_url": f"{HUB}/pull/3#discussion_r1", "original_commit_id": long, "path": "long.txt",
        "original_line": 2,
    }  # fmt: skip
    (world.root / "links.txt").write_text(json.dumps([sound | changes, sound]))
    done = world.run("links", "links.txt")
    assert (done.code, done.out) == (4, "")
    *_, same, odd, last = done.err.splitlines()
    assert same.split() == ["comment", "2", long[:9], "long.txt", "L2", "by-hand", "same"]
    assert odd.startswith("comment 1: ")
    assert odd.endswith(f": {why}")
    assert last == "2 links: 1 stand, 0 broken, 1 not understood."


def test_lines_of_a_comment_may_be_given_the_other_way_round(world, long):
    comment = {
        "html_url": f"{HUB}/pull/3#discussion_r1", "original_commit_id": long, "path": "long.txt",
        "original_start_line": 9, "original_line": 2,
    }  # fmt: skip
    (world.root / "links.txt").write_text(json.dumps([comment]))
    done = world.run("links", "--json", "links.txt")
    assert json.loads(done.out)["links"][0]["span"] == {"path": "long.txt", "first": 2, "last": 9}


def test_the_old_side_of_a_history_of_its_own(world):
    tree = world.git("rev-parse", "by-hand^{tree}")
    alone = world.git("commit-tree", tree, "-m", "Begin elsewhere")
    both = world.git("commit-tree", tree, "-p", "by-hand", "-p", alone, "-m", "Take both")
    world.git("branch", "--force", "by-hand", both)
    (world.root / "links.txt").write_text(f"{HUB}/pull/3/files/{alone}#{hashed(NOTES)}L1")
    done = world.run("links", "--json", "links.txt")
    assert (done.code, done.err) == (4, "")
    assert json.loads(done.out)["links"][0]["broken"] == (
        "it has no commit in common with what it is compared with"
    )


def test_one_link_is_counted_as_one(world, long):
    done = run_links(world, f"{HUB}/commit/{long}")
    assert table(done)[-1] == "1 link: 1 stand, 0 broken, 0 not understood."


def test_an_export_of_review_comments_is_read(world, long):
    later = world.commit("by-hand", {"long.txt": f"first\n{LONG}"}, "Put one above")
    url = f"{HUB}/pull/3#discussion_r"
    comment = {
        "html_url": f"{url}1",
        "commit_id": later,
        "original_commit_id": long,
        "path": "long.txt",
        "line": 6,
        "original_line": 5,
        "start_line": 4,
        "original_start_line": 3,
        "side": "RIGHT",
    }
    comments = [
        comment,
        comment | {"html_url": f"{url}2", "line": None, "start_line": None},
        comment | {"path": NOTES, "original_line": 2, "original_start_line": None, "side": "LEFT"},
        comment | {"original_line": None, "original_start_line": None},
        comment | {"original_line": None, "line": None, "subject_type": "file"},
        {"html_url": f"{url}6"},
        7,
    ]
    text = json.dumps(comments[:2]) + "\n" + json.dumps([comments[2:]])
    (world.root / "comments.json").write_text(text)
    done = world.run("links", "--json", "comments.json")
    assert done.code == 4
    data = json.loads(done.out)
    found = [
        (item["link"]["where"], item["span"], item["fate"]["status"], item["fate"]["span"])
        for item in data["links"]
    ]

    def lines(first, last):
        return {"path": "long.txt", "first": first, "last": last}

    assert found == [
        ("comment 1", lines(3, 5), "moved", lines(4, 6)),
        ("comment 2", lines(3, 5), "moved", lines(4, 6)),
        ("comment 3", span(2), "changed", span(2)),
        ("comment 4", lines(4, 6), "same", lines(4, 6)),
        ("comment 5", lines(1, 20), "moved", lines(2, 21)),
    ]
    assert data["unread"] == [
        {
            "where": "comment 6",
            "text": f"{url}6",
            "why": "a review comment has html_url, commit_id and path",
        },
        {"where": "comment 7", "text": "7", "why": "no review comment"},
    ]


def test_input_that_is_no_list_of_links_is_refused(world):
    ask = "gh api repos/OWNER/REPO/pulls/N/comments"
    for text, said in (
        (
            '[{"html_url": }]',
            f"1: not JSON: Expecting value; give links line by line, or what {ask} answers",
        ),
        (
            "[\n" + "[" * 100_000,
            (
                "1: not JSON: maximum recursion depth exceeded while decoding a JSON array from a "
                f"unicode string; give links line by line, or what {ask} answers"
            ),
        ),
        ("\n\n", " holds no link; write one a line"),
    ):
        (world.root / "bad").write_text(text)
        done = world.run("links", "bad")
        assert (done.code, done.out, done.err) == (1, "", f"error: bad:{said}\n")


def test_a_path_that_is_no_text_is_quoted_as_git_does(world):
    name = b'caf\xe9 "a"\t1.txt'.decode("utf-8", "surrogateescape")
    head = world.commit("by-hand", {name: "one\ntwo\n"}, "Write a file")
    link = f"{HUB}/blob/{head}/caf%E9%20%22a%22%091.txt"
    done = run_links(world, f"{link}#L1", f"{link}#L3", f"{HUB}/commit/{head}")
    assert done.code == 4
    assert table(done) == [
        " From    Link                                Branch   At its head now",
        rf' line 1  {head[:9]} "caf\351 \"a\"\t1.txt"    by-hand  same',
        "         L1",
        rf' line 2  {head[:9]}                           by-hand  broken: "caf\351',
        r'                                                      \"a\"\t1.txt": has only 2',
        "                                                      lines there",
        f" line 3  {head[:9]}                           by-hand  reachable",
        "3 links: 2 stand, 1 broken, 0 not understood.",
    ]
