"""On 80 columns everything fits, and nothing is cut."""

import re

import pytest

LONG = "somebody/pstate-b2-expert-offsets-of-every-layer-in-one-long-name-that-has-no-end"
TITLE = "Do " + LONG
UNRELATED = "sync-graph-and-log"


@pytest.fixture
def narrow(hand, monkeypatch):
    """Branches with names too long for a line, one of them behind main and on two others."""
    monkeypatch.setenv("COLUMNS", "80")
    hand.declare(f"#8045 {LONG} main", f"#8046 {UNRELATED} main", f"#8047 {LONG}/2 #8045,#8046")
    # A branch cannot lie below another: the third is renamed.
    text = (hand.root / "SERIES.md").read_text().replace(f"{LONG}/2", f"{LONG}-2")
    (hand.root / "SERIES.md").write_text(text)
    hand.grow(LONG, "main", {"one": "1\n"})
    hand.grow(UNRELATED, "main", {"two": "1\n"})
    hand.grow(f"{LONG}-2", f"{LONG},{UNRELATED}", {"three": "1\n"})
    hand.commit("main", {"README": "new\n"}, "Add a readme whose subject is long, " * 3)
    return hand


def fits(text):
    return max(map(len, text.splitlines())) <= 80


def joined(text):
    """All that is printed, without the folding."""
    return re.sub(r"[\s│├└─]+", "", text)


def test_status_fits(narrow):
    done = narrow.run("status")
    heads = {branch: head[:9] for branch, head in narrow.heads().items()}
    assert done.code == 0
    assert [line.rstrip() for line in done.err.splitlines()] == [
        f"main is at {narrow.heads()['main'][:12]}",
        " PR     Branch                  State  Head       Ahead  Against main and stack",
        f" #8045  somebody/pstate-b2-exp  open   {heads[LONG]}  1      1 behind main",
        "        ert-offsets-of-every-l",
        "        ayer-in-one-long-name-",
        "        that-has-no-end",
        f" #8046  sync-graph-and-log      open   {heads[UNRELATED]}  1      1 behind main",
        f" #8047  somebody/pstate-b2-exp  open   {heads[LONG + '-2']}  4      1 behind main",
        "        ert-offsets-of-every-l",
        "        ayer-in-one-long-name-",
        "        that-has-no-end-2",
    ]


def test_status_is_no_wider_where_more_would_fit(narrow, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert fits(narrow.run("status").err)
    monkeypatch.delenv("COLUMNS")
    assert fits(narrow.run("status").err)


def test_graph_fits_and_cuts_nothing(narrow):
    done = narrow.run("graph")
    assert fits(done.err)
    assert joined(done.err) == joined(
        f"main #8045 {LONG} {TITLE} [1 behind main] "
        f"#8046 {UNRELATED} Do {UNRELATED} [1 behind main] "
        f"#8047 {LONG}-2 {TITLE}-2 (also on #8045) [1 behind main]"
    )


def test_log_and_verify_fit_and_cut_nothing(narrow):
    assert narrow.run("sync").code == 0
    for command in ("log", "verify"):
        done = narrow.run(command)
        assert fits(done.err)
        assert "…" not in done.err
    # The last row of each branch's cell is whole, so no part before it is missing.
    cells = [line[1:27].strip() for line in done.err.splitlines()[1:]]
    assert "".join(cells).startswith(f"main{LONG}{UNRELATED}{LONG}-2")


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_links_fit(narrow, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    head = narrow.heads()[LONG]
    path = "a/very/long/path/to/a/file/whose/name/is/longer/than/any/column/of/the/table/ever.py"
    links = narrow.root / "links"
    links.write_text(f"https://github.com/o/r/blob/{head}/{path}#L1\n")
    done = narrow.run("links", str(links))
    assert done.code == 4
    assert max(map(len, done.err.splitlines())) <= min(columns, 80)
    assert "…" not in done.err
    assert "ever.py" in joined(done.err)
