"""The pages as files: valid, whole, inert, and the same as what the other commands print."""

import base64
import hashlib
import html
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urldefrag, urlsplit

import html5lib

TEMPLATES = Path(__file__).parents[4] / "tools/merge_series/site/templates"
OUTSIDE = {"https://example.org/a?b=1&c=2", "https://example.org/track.png"}


def parse(page):
    """A page, in which the strict parser finds no fault."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(
        page.read_text("utf-8")
    )


def tag(element):
    """The name of an element, also of one in a picture."""
    return str(element.tag).rpartition("}")[2]


def text_of(element):
    """The text of an element as a browser shows it outside of preformatted text."""
    return " ".join("".join(element.itertext()).split())


def by_id(root, name):
    (found,) = (element for element in root.iter() if element.get("id") == name)
    return found


def section(root, name):
    """The section that the element of this id is the heading of."""
    (found,) = (e for e in root.iter("section") if e.get("aria-labelledby") == name)
    return found


def pages_of(site):
    return sorted(site.rglob("*.html"))


def changed_lines(root):
    """Every line of every difference of a page: its sign and text."""
    rows = [row for table in root.iter("table") if table.get("class") == "diff" for row in table]
    cells = [cell for body in rows for cell in body.iter("td") if cell.get("class") == "text"]
    return ["".join(cell.itertext()).removesuffix(" no line end") for cell in cells]


def lines_of_patch(printed):
    """The same of what ``show`` prints; the characters that a page shows otherwise as it does."""
    lines = []
    for hunk in re.split(r"^@@ .*\n", printed, flags=re.MULTILINE)[1:]:
        for line in hunk.splitlines():
            if line[:1] not in {" ", "+", "-"} or not line:
                if line.startswith("\\"):
                    continue
                break
            lines.append(line)
    turned = {"\u202e": "[U+202E]", "\u2066": "[U+2066]"}
    return [re.sub("[\u202e\u2066]", lambda found: turned[found[0]], line) for line in lines]


def nasty_branch(nasty):
    (branch,) = (name for name in nasty.heads() if "onload" in name)
    return branch


def check_reading(root):
    """That a page can be read without seeing it."""
    assert root.get("lang") == "en"
    assert root.find("head/title").text
    body = root.find("body")
    assert [element.tag for element in body][:4] == ["a", "header", "main", "footer"]
    assert (body[0].get("href"), body[2].get("id")) == ("#content", "content")
    levels = [int(e.tag[1]) for e in root.iter() if re.fullmatch("h[1-6]", str(e.tag))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(now - before <= 1 for before, now in itertools.pairwise(levels))
    ids = [element.get("id") for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
    for element in root.iter():
        named = element.get("aria-labelledby", "").split()
        assert set(named) <= set(ids)
    for table in root.iter("table"):
        assert list(table.iter("th"))
        assert all(cell.get("scope") for cell in table.iter("th"))
    for scrolled in (element for element in root.iter() if element.get("class") == "scroll"):
        assert (scrolled.get("tabindex"), scrolled.get("role")) == ("0", "group")
        assert scrolled.get("aria-label")
    for select in root.iter("select"):
        assert [e for e in root.iter("label") if e.get("for") == select.get("id")]


def test_every_page_is_valid_and_can_be_read_and_nothing_in_it_acts(site):
    style, script = ((TEMPLATES / name).read_text() for name in ("site.css", "site.js"))
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (script, style)
    ]
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'"
    )
    found = {"links": set(), "pages": 0}
    for page in pages_of(site):
        root = parse(page)
        metas = [meta for meta in root.iter("meta") if meta.get("http-equiv")]
        assert [meta.get("content") for meta in metas] == [policy]
        assert [element.text for element in root.iter("style")] == [style]
        assert [element.text for element in root.iter("script")] in ([], [script])
        tags = {tag(element) for element in root.iter()}
        assert not tags & {"img", "image", "iframe", "object", "embed", "link", "base", "use", "b"}
        for element in root.iter():
            assert not [name for name in element.attrib if str(name).startswith("on")]
            assert "style" not in element.attrib
            assert "src" not in element.attrib
            if "href" in element.attrib:
                found["links"].add((page, element.get("href")))
        check_reading(root)
        found["pages"] += 1
    assert found["pages"] == 15
    for page, link in found["links"]:
        address, fragment = urldefrag(link)
        if urlsplit(link).scheme:
            assert link in OUTSIDE
            continue
        target = (page.parent / address) if address else page
        assert target.resolve().is_relative_to(site.resolve())
        assert target.is_file()
        if fragment:
            assert f'id="{fragment}"' in target.read_text("utf-8")


def test_the_stack_page_says_where_each_pr_stands(nasty, site):
    root = parse(site / "index.html")
    heads = {branch: head[:9] for branch, head in nasty.heads().items()}
    title = "<script>alert('title')</script> & \"both\""
    branch = 'x"onload="alert(1)<b>'
    behind = "1 behind main"
    notes = (
        f"{behind}, 1 file would conflict. "
        "Git alone could not merge main into it now: megatron/core/notes.txt."
    )
    assert [text_of(item) for item in section(root, "list").iter("li")] == [
        f"#1 List the global reads open ratchet at {heads['ratchet']}, on main 1 behind main.",
        f"#2 Pass the size open offsets at {heads['offsets']}, on #1 {behind}, 1 conflict settled.",
        f"#3 Change what only people can open by-hand at {heads['by-hand']}, on #1 {notes}",
        f"#4 {title} draft {branch} at {heads[branch]}, on #2 and #3 {notes}",
        "#5 Do what landed long ago landed gone, which is gone, on main",
    ]
    assert text_of(by_id(root, "graph-text")) == (
        "#1 stands on main. #2 stands on #1. #3 stands on #1. #4 stands on #2 and #3. "
        "#5 stands on main."
    )
    (picture,) = (e for e in root.iter() if tag(e) == "svg")
    assert [(a.get("href"), a.get("aria-label")) for a in picture.iter() if tag(a) == "a"] == [
        ("1.html", "#1 List the global reads, open, 1 behind main"),
        ("2.html", "#2 Pass the size, open, 1 behind main, 1 conflict settled"),
        ("3.html", "#3 Change what only people can, open, 1 behind main, 1 file would conflict"),
        ("4.html", f"#4 {title}, draft, 1 behind main, 1 file would conflict"),
        ("5.html", "#5 Do what landed long ago, landed"),
    ]


def test_a_pr_page_has_its_text_its_syncs_and_its_commits_whatever_they_say(nasty, site):
    root = parse(site / "2.html")
    head, first = nasty.git("rev-list", "--first-parent", "--max-count=2", "offsets").split()
    merged = nasty.git("rev-parse", "ratchet")[:9]
    main = nasty.git("merge-base", "ratchet", "main")[:12]
    line = next(section(root, "syncs").iter("ol"))
    assert (line.get("reversed"), line.get("start")) == ("", "1")
    (item,) = line
    assert text_of(item) == (
        f"2026-01-02 Merge the list of reads from #1 {head[:9]} merged #1 at {merged} (Merge main "
        "into ratchet), and did more than git's own merge. Conflicts, and how each was settled: "
        "megatron/core/names.py: the edits of #2 applied to main's text The rest of its message "
        f"({head[:9]}) Brings 1 commit of main up to {main}. Conflicted, and how each "
        "was settled: - megatron/core/names.py: the edits of #2 applied to main's text The "
        "allowlist holds 1 read, 1 before; 0 gone, none added."
    )
    assert [text_of(section(root, f"text-{n}")) for n in range(1, 5)] == [
        "Why Why.", "What What.", "Tests Tests.", "Compatibility None."
    ]  # fmt: skip
    assert text_of(section(root, "allowlist")) == "Allowlist Unchanged by this PR: 1 read."
    assert text_of(section(root, "commits")) == (
        f"Commits Pass the size on {first[:9]} by Ada Test, 2026-01-02"
    )
    assert [a.get("href") for a in section(root, "between").iter("a")] == [
        f"2/{first[:12]}-{head[:12]}.html"
    ]
    root = parse(site / "5.html")
    assert text_of(root.find("body/main")) == (
        "#5 Do what landed long ago State landed Branch gone, which is gone Depends on main "
        "Part of #77"
    )

    check_hostile(nasty, parse(site / "4.html"))


def check_hostile(nasty, root):
    """That hostile text is shown as it is."""
    assert text_of(section(root, "text-1")) == (
        'Why <script>alert("why")</script> <img src=x onerror=alert(1)> and '
        "<b onclick=alert(1)>bold</b>, [a link](javascript:alert(1)), another and !a picture. "
        "Deep Below. Less deep a b 1 <i>"
    )
    tags = [tag(element) for element in section(root, "text-1").iter()]
    assert [name for name in tags if re.fullmatch("h[1-6]", name)] == ["h2", "h3", "h3"]
    commit = nasty.git("rev-list", "--first-parent", nasty_branch(nasty)).split()[2][:9]
    assert text_of(section(root, "commits")) == (
        f"Commits </style><script>alert('subject')</script> {commit} by Ada Test, 2026-01-02 "
        f"The rest of its message ({commit}) <iframe src=//example.org></iframe>"
    )
    assert [text_of(item) for item in section(root, "diff").iter("h3")] == [
        "<img src=x onerror=alert('file')>.py", "plain.txt"
    ]  # fmt: skip
    assert changed_lines(root) == [
        "+'''</script><script>alert(\"code\")</script>'''",
        "+x = 1  # [U+202E] turned [U+2066]",
        "+no line end",
    ]


def test_the_pages_show_what_show_prints(nasty, site):
    compared = 0
    for number, branch in enumerate(("ratchet", "offsets", "by-hand", nasty_branch(nasty)), 1):
        printed = nasty.run("show", str(number)).out
        assert changed_lines(parse(site / f"{number}.html")) == lines_of_patch(printed)
        for page in (site / str(number)).iterdir():
            old, new = page.stem.split("-")
            # As a reviewer at that head would have asked.
            nasty.git("update-ref", f"refs/heads/{branch}", new)
            printed = nasty.run("show", str(number), "--since", old).out
            root = parse(page)
            assert changed_lines(root) == lines_of_patch(printed)
            (result,) = (e for e in root.iter("p") if e.get("class") == "result")
            assert text_of(result).lower().rstrip(".") in printed.splitlines()[0]
            assert html.unescape(printed.splitlines()[-1]).split(".")[0] in text_of(root)
            compared += 1
    assert compared == 9


def test_the_same_history_gives_the_same_bytes_and_leaves_no_trace(nasty):
    before = nasty.contents()
    folders = [nasty.root / "out", nasty.root / "again" / "there"]
    for seed, folder in enumerate(folders, 1):
        where = str(folder.relative_to(nasty.root))
        # A process of its own, with an order of its own in every set.
        done = subprocess.run(
            [sys.executable, "-m", "merge_series", "--repo", "fork", "site", "--output", where],
            cwd=nasty.root,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=False,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (
            0,
            "",
            f"Wrote 15 pages; open {where}/index.html in a browser.\n",
        )
    assert nasty.contents() == before
    answers = [
        {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.*"))}
        for folder in folders
    ]
    assert answers[0] == answers[1]
    assert len(answers[0]) == 16
    assert sorted(path.name for path in nasty.root.iterdir() if path.name[0] == ".") == []
