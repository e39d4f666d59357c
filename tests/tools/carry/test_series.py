"""The series of this repository: it names every file it carries, and lands on every release."""

from pathlib import Path

import pytest

from carry.bases import ReleaseTree, default_cache, fetch_release
from carry.carried import Carrier
from carry.checking import check
from carry.releases import RELEASES

ROOT = Path(__file__).parents[3]
CARRIED = ("megatron", "tests/unit_tests", "tools/process_groups")
OURS = "tools/process_groups/py.typed"  # of the installed package; upstream installs none


@pytest.fixture(scope="module")
def carrier():
    return Carrier.open(ROOT / "SERIES.md")


def test_every_new_file_is_named_by_a_commit(carrier):
    there = {
        file.relative_to(ROOT).as_posix()
        for folder in CARRIED
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and ".edits." not in file.name
    }
    named = {path for pr in carrier.series for commit in pr.commits for path in commit.adds}
    assert named == there - {OURS}


@pytest.mark.parametrize("version", RELEASES)
def test_every_edit_matches_as_often_as_it_should(carrier, version):
    base = ReleaseTree(version, fetch_release(version, default_cache()))
    reports = [r for r in check(carrier, base) if r.state != "absent"]
    assert {report.state for report in reports} == {"applies"}
    assert [report.found for report in reports] == [report.wanted for report in reports]


@pytest.mark.parametrize("version", RELEASES)
def test_edits_are_absent_only_where_the_training_loop_is(carrier, version):
    base = ReleaseTree(version, fetch_release(version, default_cache()))
    absent = {report.path for report in check(carrier, base) if report.state == "absent"}
    assert absent == ({"megatron/training/checkpointing.py"} if version == "0.16.1" else set())
