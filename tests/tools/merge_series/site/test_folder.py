"""What the site is written over, what it is not, and what is left when writing fails."""

import pytest

from merge_series.site.folder import MARKER, check_folder, write_folder
from stack.errors import Refusal

NO_SITE = "is not empty and holds no site of merge_series; name another folder"
NO_FILE = (
    "is no file of the site that stands there; move it elsewhere, "
    "since the whole folder is replaced"
)
OLD = [("index.html", b"old"), ("1/a.html", b"a")]
NEW = [("index.html", b"new"), ("2/b.html", b"b")]


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


OLD_SITE = {"index.html": b"old", "1/a.html": b"a", MARKER: b"1/a.html\nindex.html\n"}
NEW_SITE = {"index.html": b"new", "2/b.html": b"b", MARKER: b"2/b.html\nindex.html\n"}


def test_a_site_replaces_an_earlier_one_and_nothing_else_is_left(tmp_path):
    site = tmp_path / "deep" / "site"
    assert write_folder(site, OLD) == 2
    assert files_of(site) == OLD_SITE
    assert write_folder(site, NEW) == 2
    assert files_of(site) == NEW_SITE
    assert [path.name for path in site.parent.iterdir()] == ["site"]


def test_an_empty_folder_and_one_behind_a_link_are_taken(tmp_path):
    (tmp_path / "empty" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to("empty")
    write_folder(tmp_path / "link", OLD)
    assert (tmp_path / "link").is_symlink()
    assert files_of(tmp_path / "empty") == OLD_SITE


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"notes.txt": "mine"}, f"{{site}}: {NO_SITE}"),
        (
            {"index.html": "", MARKER: "index.html\n", "1/notes.txt": "mine"},
            f"{{site}}/1/notes.txt: {NO_FILE}",
        ),
    ],
)
def test_a_folder_with_anything_else_is_refused(tmp_path, files, said):
    site = tmp_path / "site"
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    before = files_of(tmp_path)
    for call in (lambda: check_folder(site), lambda: write_folder(site, NEW)):
        with pytest.raises(Refusal) as refused:
            call()
        assert str(refused.value) == said.format(site=site)
    assert files_of(tmp_path) == before


def test_a_file_or_a_link_to_nowhere_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "link"):
        with pytest.raises(Refusal) as refused:
            check_folder(tmp_path / name)
        assert str(refused.value) == f"{tmp_path / name}: is no folder; name another one"


def test_a_marker_that_is_a_link_makes_no_site(tmp_path):
    (tmp_path / "list").write_text("mine.txt\n")
    site = tmp_path / "site"
    site.mkdir()
    (site / "mine.txt").write_text("mine")
    (site / MARKER).symlink_to("../list")
    with pytest.raises(Refusal, match="holds no site"):
        check_folder(site)


def failing():
    yield NEW[0]
    raise OSError(28, "No space left on device")


def test_what_fails_on_the_way_leaves_the_earlier_site(tmp_path):
    site = tmp_path / "site"
    write_folder(site, OLD)
    with pytest.raises(OSError, match="No space left"):
        write_folder(site, failing())
    assert files_of(site) == OLD_SITE
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_file_that_comes_meanwhile_is_not_lost(tmp_path):
    site = tmp_path / "site"
    write_folder(site, OLD)

    def files():
        yield from NEW
        (site / "mine.txt").write_text("mine")

    with pytest.raises(Refusal, match=r"mine\.txt: is no file of the site"):
        write_folder(site, files())
    assert files_of(site) == {**OLD_SITE, "mine.txt": b"mine"}


def test_the_command_asks_nothing_of_git_before_it_knows_the_folder(hand):
    (hand.root / "out").mkdir()
    (hand.root / "out" / "mine.txt").write_text("mine")
    done = hand.run("--series", "nowhere.md", "site", "--output", "out")
    assert (done.code, done.out, done.err) == (
        1,
        "",
        f"error: out: {NO_SITE}\n",
    )


def test_an_open_pr_without_a_branch_is_refused_and_leaves_no_folder(hand):
    hand.declare("#1 one main")
    done = hand.run("site", "--output", "out")
    assert (done.code, done.out, done.err) == (
        1,
        "",
        (
            f"error: {hand.fork}: #1 has no branch one here; fetch it, or make it where your "
            "commits of it are: git branch one COMMIT\n"
        ),
    )
    assert not (hand.root / "out").exists()


def test_of_many_heads_the_site_says_which_it_leaves_out(hand):
    hand.declare("#1 one main")
    hand.grow("one", "main", {"one.txt": "1\n"})
    head, tree = (hand.git("rev-parse", name) for name in ("one", "one^{tree}"))
    main = hand.git("rev-parse", "main")
    for number in range(17):
        parents = ("-p", head, "-p", main)
        head = hand.git("commit-tree", *parents, "-m", f"Merge main, time {number}", tree)
    hand.git("update-ref", "refs/heads/one", head)
    done = hand.run("site", "--output", "out")
    assert (done.code, done.err.splitlines()) == (
        0,
        [
            "Wrote 122 pages; open out/index.html in a browser.",
            "#1: 2 of its heads are left out: the first and the newest are there, 16 in all.",
        ],
    )
    assert len(list((hand.root / "out" / "1").iterdir())) == 16 * 15 // 2
    assert "2 heads between the first and the newest" in (hand.root / "out" / "1.html").read_text()


def test_a_branch_with_nothing_of_its_own_has_a_page(hand):
    hand.declare("#1 one main", "#2 two #1 superseded")
    hand.grow("one", "main")
    hand.grow("two", "one", {"two.txt": "2\n"})
    done = hand.run("site", "--output", "out")
    assert (done.code, done.err) == (0, "Wrote 3 pages; open out/index.html in a browser.\n")
    one, two = ((hand.root / "out" / name).read_text() for name in ("1.html", "2.html"))
    for said in (
        "It changes nothing beyond them.",
        "It has no commit of its own.",
        "The branch has stood nowhere else",
    ):
        assert said in one
    assert "Two 1" in two
