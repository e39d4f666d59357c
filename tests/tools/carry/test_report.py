"""The report on every release of a package index, here a folder that pip reads like one."""

import io
import json
import sys
import zipfile

import pytest
from rich.console import Console

from carry.age import OLDEST
from carry.bases import Directory
from carry.carried import Carrier
from carry.checking import EditReport
from carry.index import Offer, list_offers, list_yanked
from carry.report import TreeReport, choose, exit_code, report_tree
from carry.report_view import edit_tables, nearest_candidates, tree_table

LOOP = "megatron/training/loop.py"
NAMES = "megatron/core/names.py"
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
OLDER = f"{sys.version_info.major}.{sys.version_info.minor - 1}"

LEFT_OUT = "pre-release older than another or than a release"

METADATA = "Metadata-Version: 2.1\nName: megatron-core\nVersion: {version}\n"


@pytest.fixture
def index(project, monkeypatch):
    """Offer wheels to pip, and nothing but these."""
    folder = project.root / "index/megatron-core"
    folder.mkdir(parents=True)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONSTRAINT", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", (project.root / "index").as_uri())
    monkeypatch.setenv("MEGATRON_SERIES_CACHE", str(project.root / "cache"))
    links = []

    def offer(version, python=HERE, files=None, requires="", yanked=None):
        tag = f"cp{python.replace('.', '')}"
        name = f"megatron_core-{version}-{tag}-{tag}-manylinux_2_28_x86_64.whl"
        sources = {path: text for path, text in project.base.items() if path.startswith("meg")}
        info = f"megatron_core-{version}.dist-info"
        whole = {
            f"{info}/METADATA": METADATA.format(version=version),
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}-{tag}-x\n",
            f"{info}/RECORD": "",
            **(sources if files is None else files),
        }
        with zipfile.ZipFile(folder / name, "w") as archive:
            for path, text in whole.items():
                archive.writestr(path, text)
        link(name, requires, yanked)

    def link(name, requires="", yanked=None):
        mark = "" if yanked is None else f' data-yanked="{yanked}"'
        links.append(f'<a href="{name}" data-requires-python="{requires}"{mark}>{name}</a>\n')
        (folder / "index.html").write_text("<!DOCTYPE html>\n" + "".join(links))

    offer.link = link
    offer.folder = folder
    return offer


def test_every_release_that_is_offered(index):
    index("9.1.0")
    index("9.1.0", OLDER)
    index("9.0.1", OLDER, requires=f"<{HERE}")
    index.link("megatron_core-9.0.0.tar.gz")
    index("0.9.0")
    index("0.10.0")
    index("9.2.0rc1")
    index("9.0.2", yanked="It was wrong.")
    index("9.0.3", OLDER, yanked="")
    assert list_offers() == (
        Offer("9.2.0rc1", (HERE,), is_for_here=True),
        Offer("9.1.0", (OLDER, HERE), is_for_here=True),
        Offer("9.0.1", (OLDER,), is_for_here=False),
        Offer("9.0.0", (), is_for_here=False),
        Offer("0.10.0", (HERE,), is_for_here=True),
        Offer("0.9.0", (HERE,), is_for_here=True),
    )
    assert list_yanked() == ("9.0.2",)


YANKED = """\
megatron-core 9.0.2 is yanked: its makers withdrew it, and pip installs it only where it is asked \
for by this very version
"""


@pytest.mark.parametrize("times", [1, 2])
def test_a_wheel_of_a_yanked_release_is_named_as_one(index, project, times):
    """Also where the release's wheel is in the cache, of which pip tells nothing."""
    index("9.0.1")
    index("9.0.2", yanked="It was wrong.")
    for _ in range(times):
        done = project.run("wheel", "--release", "9.0.2")
    assert done.code == 0
    assert done.err.endswith(f"changed or new\n{YANKED}" if times == 1 else f"byte\n{YANKED}")
    done = project.run("wheel", "--release", "9.0.1")
    assert done.code == 0
    assert done.err.endswith("changed or new\n")


def test_no_wheel_of_a_release_that_is_older_than_the_series_is_for(index, project):
    info = "MAJOR = 0\nMINOR = 9\nPATCH = 1\nPRE_RELEASE = ''\n"
    files = {path: text for path, text in project.base.items() if path.startswith("meg")}
    index("0.9.1", files={**files, NAMES: "", "megatron/core/package_info.py": info})
    done = project.run("wheel", "--release", "0.9.1")
    assert done.code == 4
    assert done.err.endswith(
        "\nerror: megatron-core 0.9.1: predates the code that the series changes; 0.16.1 is the "
        "oldest release that it is for; nothing was applied\n"
    )
    assert done.err.count("\n") == 2


REPORT = """\
Asking the package index which releases of megatron-core it offers
Looking at 5 releases and 1 other tree
megatron/core/sizes.py
 #3.1 own_size: replace-return         1/1        0.9.0 to 9.1.0, tree
 #4.1 own_size: at-start               1/1        0.9.0 to 9.1.0, tree
megatron/core/names.py
 #2.1 offset: at-start                 1/1        0.9.0 to 9.1.0, tree
 #2.1 label: add-args to offset        1/1        9.0.0 to 9.1.0, tree
                                       0/1        0.9.0 to 0.10.0
 #2.1 add-import megatron.core.sizes   1/1        0.9.0 to 9.1.0, tree
 #4.1 label: before-return             1/1        9.0.0 to 9.1.0, tree
                                       0/1        0.9.0 to 0.10.0
megatron/training/loop.py
 #3.2 train: add-args to step          0/1        9.1.0
                                       not there  9.0.1
                                       1/1        9.0.0, tree
                                       absent     0.9.0 to 0.10.0

Nearest, on releases older than 0.16.1:
megatron/core/names.py
  0.9.0 to 0.10.0: #2.1 label: add-args to offset: 0/1: no def or class label
  0.9.0 to 0.10.0: #4.1 label: before-return: 0/1: no def or class label

Nearest, where the series should land:
megatron/training/loop.py
  9.1.0: #3.2 train: add-args to step: 0/1: nearest: stop
  9.0.1: not there

 Tree    Wheels for    Here  Lands     Edits  What does not
 9.1.0   {both}  yes   no        7/8    1 mismatch
 9.0.1   {old}          no    no        7/8    1 not there
 9.0.0   {here}          yes   yes       8/8
 0.10.0  {here}          yes   no (old)  5/8    2 mismatch, 1 absent
 0.9.0   {here}          yes   no (old)  5/8    2 mismatch, 1 absent
 tree                        yes       8/8

The series lands on 2 of 4 trees that count (releases from 0.16.1 on, and trees that were named). 1
release without a wheel for CPython {v} on this platform: another wheel was read. It does not land
on 9.1.0, 9.0.1.
"""


def offer_all(project, index):
    sources = {path: text for path, text in project.base.items() if path.startswith("megatron/")}
    drifted = sources | {LOOP: "def train():\n    return stop(1)\n"}
    index("9.1.0", files=drifted)
    index("9.1.0", OLDER, files=drifted)
    moved = {path: text for path, text in sources.items() if path != LOOP}
    index("9.0.1", OLDER, {**moved, "megatron/training/run.py": ""})
    index("9.0.0")
    old = moved | {NAMES: sources[NAMES].replace("def label", "def other")}
    index("0.10.0", files=old)
    index("0.9.0", files=old)


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


def test_a_report_for_people(project, index):
    offer_all(project, index)
    done = project.run("report", "tree")
    assert (done.code, done.out) == (4, "")
    expected = REPORT.format(both=f"{OLDER} to {HERE}", old=OLDER, here=HERE, v=HERE)
    assert lines(done.err) == lines(expected)


def test_it_fits_eighty_columns():
    edit = "#8749.2 FullyShardedDataParallel._init_dist_index: before-call a.b.c_" + "d" * 90
    path = "megatron/core/" + "folder/" * 20 + "file.py"
    offers = [Offer(f"9.{n}.0", ("3.8", "3.14"), is_for_here=False) for n in range(40)]
    trees = [
        TreeReport(offer.version, offer, (EditReport(path, edit, state, 0, 1, ""),), "")
        for number, offer in enumerate(offers)
        for state in [("mismatch", "already applied", "no file")[number % 3]]
    ]
    trees.append(TreeReport("/a" * 60, None, (), "a fault " * 20))
    written = io.StringIO()
    console = Console(file=written, width=80)
    for part in (*edit_tables(trees), tree_table(trees)):
        console.print(part)
    shown = written.getvalue()
    assert max(map(len, lines(shown))) <= 80
    # Once above the edits and once above the trees; elsewhere it is numbered.
    assert "".join(shown.split()).count("(41)" + "/a" * 60) == 2
    assert shown.count("(41)") > 2
    assert "…" not in shown


def test_json(project, index):
    index("9.0.0", files={"megatron/core/other.py": ""})
    index("0.9.0", OLDER)
    index("0.9.1", yanked="")
    index("0.9.0rc1")
    done = project.run("report", "--json", "tree")
    assert done.code == 4
    data = json.loads(done.out)
    assert list(data) == ["trees", "left_out"]
    assert data["left_out"] == {"0.9.1": "yanked", "0.9.0rc1": LEFT_OUT}
    edits = [tree.pop("edits") for tree in data["trees"]]
    release = {
        "prerelease": False,
        "recorded": False,
        "wheels_for": [HERE],
        "wheel_for_this_python": True,
    }
    older = {
        "prerelease": False,
        "recorded": False,
        "wheels_for": [OLDER],
        "wheel_for_this_python": False,
    }
    assert data["trees"] == [
        {
            "name": "9.0.0",
            "release": {"version": "9.0.0", **release},
            "lands": False,
            "lacking": [],
            "counts": True,
            "fault": "",
        },
        {
            "name": "0.9.0",
            "release": {"version": "0.9.0", **older},
            "lands": True,
            "lacking": [],
            "counts": False,
            "fault": "",
        },
        {
            "name": "tree",
            "release": None,
            "lands": True,
            "lacking": [],
            "counts": True,
            "fault": "",
        },
    ]
    assert [len(found) for found in edits] == [8, 8, 8]
    assert edits[0][0] == {
        "path": "megatron/core/sizes.py",
        "edit": "#1.1 new file",
        "state": "applies",
        "found": 1,
        "wanted": 1,
        "detail": "",
    }
    assert edits[0][1] == {
        "path": NAMES,
        "edit": "#2.1 offset: at-start",
        "state": "no file",
        "found": 0,
        "wanted": 1,
        "detail": f"megatron-core 9.0.0 has no {NAMES}",
    }


def test_all_is_well_and_downloads_are_kept(project, index):
    index("9.0.0")
    done = project.run("report")
    assert done.code == 0
    assert " ".join(lines(done.err)).endswith(
        "  The series lands on 1 of 1 trees that count (releases from 0.16.1 on, and trees that "
        "were named)."
    )
    (kept,) = (project.root / "cache/offered").iterdir()
    for wheel in index.folder.glob("*.whl"):
        wheel.unlink()
    assert project.run("report").code == 0
    assert list((project.root / "cache/offered").iterdir()) == [kept]


def looked_at(project):
    """The report on the tree, and what people are shown of it."""
    carrier = Carrier.open(project.root / "SERIES.md")
    found = report_tree(carrier, Directory(project.tree))
    console = Console(file=io.StringIO(), width=80)
    for part in edit_tables([found]):
        console.print(part)
    return found, lines(console.file.getvalue())


def test_a_new_file_whose_place_is_taken(project):
    """As when upstream took the change in its own way."""
    project.write({"megatron/core/sizes.py": "theirs = 1\n"}, project.tree)
    found, shown = looked_at(project)
    assert found.is_drift
    row = shown.index("megatron/core/sizes.py") + 1
    assert shown[row] == " #1.1 new file                         refused    (1)"
    (paragraph, *_) = nearest_candidates([found], counts=True)
    heading, line, *_ = paragraph.splitlines()
    assert heading == "megatron/core/sizes.py"
    assert line == (
        f"  {project.tree}: #1.1 new file: refused: {project.tree}: megatron/core/sizes.py is "
        "there already with other bytes; SERIES.md:23 adds it as a new file; give it another "
        "path, or change it by edits"
    )
    assert list(nearest_candidates([found], counts=False)) == []


def test_what_is_there_already_counts_as_landed(project):
    assert project.run("apply", "tree").code == 0
    found, shown = looked_at(project)
    assert (found.lands, found.number_landing, len(found.reports)) == (True, 8, 8)
    assert {report.state for report in found.reports} == {"already applied"}
    assert sum(" applied " in line for line in shown) == 8


def test_what_cannot_be_looked_at(project, index):
    index("9.0.0")
    index.link("megatron_core-9.1.0.tar.gz")
    index("9.2.0", files={LOOP: "def train(:\n", NAMES: project.base[NAMES]})
    done = project.run("report")
    assert done.code == 1
    assert " ".join(lines(done.err)).endswith("Could not look at 9.2.0, 9.1.0.")
    assert "megatron-core 9.1.0: the index has no wheel of it" in done.err
    assert "megatron/training/loop.py: " in done.err


def test_no_index(project, monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", (project.root / "none").as_uri())
    done = project.run("report")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == (
        "error: megatron-core: pip reached no package index that has it; check the network and "
        "pip's settings (pip config list)"
    )


@pytest.mark.parametrize(
    ("version", "fault", "code"), [(OLDEST, "", 4), ("0.16.0", "", 0), (OLDEST, "why", 1)]
)
def test_the_exit_code(version, fault, code):
    misses = () if fault else (EditReport("a.py", "#1.1 edit", "mismatch", 0, 1, ""),)
    missed = TreeReport(version, Offer(version, (), is_for_here=False), misses, fault)
    lands = TreeReport("tree", None, (), "")
    assert exit_code([lands]) == 0
    assert exit_code([lands, missed]) == code


# The user's own wheel


def test_the_wheel_of_an_interpreter(project, index):
    index("9.0.0", OLDER)
    refused = project.run("wheel", "--release", "9.0.0")
    assert refused.code == 1
    line = refused.err.splitlines()[-1]
    assert line.startswith(
        "error: megatron-core 9.0.0: pip finds no wheel for this interpreter and platform ("
    )
    assert line.endswith(
        "); carry report lists the releases and the interpreters they have wheels for"
    )
    index("9.0.0")
    index("9.0.0+series.1")
    done = project.run("wheel", "--release", "9.0.0")
    assert done.code == 0, done.err
    (made,) = (project.root / "dist").iterdir()
    tag = f"cp{HERE.replace('.', '')}"
    assert made.name.startswith("megatron_core-9.0.0+series.5")
    assert made.name.endswith(f"-{tag}-{tag}-manylinux_2_28_x86_64.whl")
    first = made.read_bytes()
    made.unlink()
    (index.folder / "index.html").unlink()
    assert project.run("wheel", "--release", "9.0.0").code == 0
    assert made.read_bytes() == first


def test_a_recorded_wheel_with_other_bytes(project, index):
    if HERE != "3.12":
        pytest.skip("0.19.2 is recorded for CPython 3.12")
    index("0.19.2")
    done = project.run("wheel", "--release", "0.19.2")
    assert done.code == 1
    (kept,) = (project.root / "cache/offered").iterdir()
    assert done.err.splitlines()[-1].startswith(f"error: {kept}: its sha256 is ")


# What is left out, and pre-releases


def test_of_the_pre_releases_the_newest_is_looked_at():
    def chosen(*versions):
        offers = [Offer(version, (HERE,), is_for_here=True) for version in versions]
        found, left_out = choose(offers, ["9.0.1"])
        assert left_out.pop("9.0.1") == "yanked"
        assert set(left_out.values()) <= {LEFT_OUT}
        return [offer.version for offer in found], [*left_out]

    assert chosen("9.2.0rc1", "9.2.0rc0", "9.1.0", "9.1.0rc0") == (
        ["9.2.0rc1", "9.1.0"],
        ["9.2.0rc0", "9.1.0rc0"],
    )
    assert chosen("9.1.0", "9.1.0rc0", "9.0.0.dev1") == (["9.1.0"], ["9.1.0rc0", "9.0.0.dev1"])
    assert chosen() == ([], [])


def test_a_pre_release_is_marked_and_counts(project, index):
    index("9.1.0rc1", files={"megatron/core/other.py": ""})
    index("9.1.0rc0")
    index("9.0.1", yanked="")
    index("9.0.0")
    done = project.run("report")
    assert done.code == 4
    *_, first, second, _, one, two = lines(done.err)
    assert first.split() == [
        *["9.1.0rc1", "(pre)", HERE, "yes", "no", "3/8"],
        *["4", "not", "there,", "1", "absent"],
    ]
    assert second.split() == ["9.0.0", HERE, "yes", "yes", "8/8"]
    assert f"{one} {two}" == (
        "The series lands on 1 of 2 trees that count (releases from 0.16.1 on, and trees that were "
        "named). It does not land on 9.1.0rc1. Left out: 9.0.1 (yanked); 1 pre-release (not the "
        "newest of all)."
    )


def test_a_release_that_lacks_a_part(project, index):
    """The series lands there all the same: the file is none that the release would have."""
    index("9.0.0", files={p: t for p, t in project.base.items() if p.startswith("megatron/core")})
    done = project.run("report")
    assert done.code == 0
    text = (
        "9.0.0 has no megatron/training/loop.py, so it lacks a part of #3. Whoever runs the loop "
        "sets its step by hand."
    )
    told = lines(done.err)
    assert " ".join(told[told.index(next(t for t in told if t.startswith("9.0.0 has"))) :]) == text
    (row,) = (line for line in told if line.startswith(" 9.0.0"))
    assert row.split()[-5:] == ["in", "part", "7/8", "1", "absent"]
    (tree,) = json.loads(project.run("report", "--json").out)["trees"]
    assert (tree["lands"], tree["lacking"]) == (True, [text])
