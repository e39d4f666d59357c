"""Publishing through a stand-in of ``gh`` that knows only what the real one documents."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from merge_series.review.publishing import BEGIN, END

PEOPLES = "Read me first.\r\n\r\n- [x] mine\r\n"


class Hub:
    """What GitHub holds, and the program run against it."""

    def __init__(self, world, folder, state_file):
        self.world, self.folder, self.file = world, folder, state_file

    @property
    def state(self):
        return json.loads(self.file.read_text())

    def change(self, number, **values):
        state = self.state
        state["prs"][number] |= values
        self.file.write_text(json.dumps(state))

    def fail(self, message):
        self.file.write_text(json.dumps(self.state | {"fails": message}))

    def publish(self, *arguments, answer="", text=True):
        place = ("--series", str(self.world.root / "SERIES.md"), "--repo", str(self.world.fork))
        return subprocess.run(
            [sys.executable, "-m", "merge_series", *place, "publish", *arguments],
            cwd=self.world.root,
            input=answer if text else answer.encode(),
            check=False,
            capture_output=True,
            text=text,
        )


@pytest.fixture
def hub(world, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("bin")
    shutil.copy(Path(__file__).with_name("gh.py"), folder / "gh")
    (folder / "gh").chmod(0o755)
    heads = world.heads()
    prs = {
        str(number): {
            "body": "",
            "baseRefName": "main",
            "headRefOid": heads[branch],
            "comments": [],
        }
        for number, branch in ((1, "ratchet"), (2, "offsets"), (3, "by-hand"))
    }
    prs["2"]["body"] = PEOPLES
    prs["3"]["comments"] = [{"body": f"Go on!\n/ok to test {heads['by-hand']}"}]
    state_file = folder / "state.json"
    state_file.write_text(json.dumps({"prs": prs, "calls": []}))
    monkeypatch.setenv("STAND_IN_GH", str(state_file))
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Hub(world, folder, state_file)


def test_it_asks_and_then_changes_text_base_and_comments(hub):
    heads = hub.world.heads()
    plan = (
        f"#1: its text, a comment /ok to test {heads['ratchet']}\n"
        f"#2: its text, its base, from main to ratchet, a comment /ok to test {heads['offsets']}\n"
        "#3: its text, its base, from main to ratchet\n"
        "Change this on GitHub? [y/N]: "
    )
    before = hub.state
    refused = hub.publish(answer="n\n")
    assert (refused.returncode, refused.stdout) == (0, "")
    assert refused.stderr == f"{plan}Nothing was changed.\n"
    unanswered = hub.publish()
    assert unanswered.returncode == 130
    assert hub.state == before
    done = hub.publish(answer="y\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"{plan}#1: done.\n#2: done.\n#3: done.\n"
    state = hub.state
    assert state["calls"] == [
        ["pr", "edit", "1", "--body-file", "-"],
        ["pr", "comment", "1", "--body", f"/ok to test {heads['ratchet']}"],
        ["pr", "edit", "2", "--body-file", "-", "--base", "ratchet"],
        ["pr", "comment", "2", "--body", f"/ok to test {heads['offsets']}"],
        ["pr", "edit", "3", "--body-file", "-", "--base", "ratchet"],
    ]
    text = hub.world.run("describe", "2").out
    assert state["prs"]["2"] == {
        "body": f"{PEOPLES.rstrip()}\n\n{BEGIN}\n\n{text}\n{END}\n",
        "baseRefName": "ratchet",
        "headRefOid": heads["offsets"],
        "comments": [{"body": f"/ok to test {heads['offsets']}"}],
    }
    assert state["prs"]["1"]["body"].startswith(BEGIN)


def test_only_what_stands_between_the_markers_is_written_again(hub):
    hub.publish(answer="y\n")
    body = hub.state["prs"]["2"]["body"]
    # As GitHub's editor gives it back, with a line of people's below.
    edited = body.replace("\n", "\r\n") + "Below.\r\n"
    hub.change("2", body=edited)
    done = hub.publish()
    assert (done.returncode, done.stderr) == (
        0,
        "Everything is published already; nothing was changed.\n",
    )
    hub.change("2", body=edited.replace("### Why", "### Whence"))
    done = hub.publish("2", answer="y\n")
    assert done.stderr == "#2: its text\nChange this on GitHub? [y/N]: #2: done.\n"
    begin, end = edited.index(BEGIN), edited.index(END)
    assert hub.state["prs"]["2"]["body"] == (
        edited[:begin] + body[body.index(BEGIN) : body.index(END)] + edited[end:]
    )


def test_the_printed_script_does_the_same(hub):
    before = hub.state
    printed = hub.publish("--print", text=False)
    assert (printed.returncode, printed.stderr) == (0, b"")
    assert hub.state == before
    assert hub.publish(answer="y\n").returncode == 0
    asked = hub.state
    hub.file.write_text(json.dumps(before))
    ran = subprocess.run(["sh"], input=printed.stdout, check=False, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert hub.state == asked


def test_no_token_is_printed(hub, monkeypatch):
    secret = "ghp_" + "a1B2" * 9
    monkeypatch.setenv("GH_TOKEN", "plain-secret")
    monkeypatch.setenv("GH_DEBUG", "api")
    hub.fail(f"HTTP 401: bad credentials plain-secret {secret} github_pat_{'x_' * 20}")
    done = hub.publish("--print")
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        "error: gh pr view 1 failed with status 1: HTTP 401: bad credentials *** *** ***\n",
    )


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"{END}\n{BEGIN}", "1 opening and 1 closing"),
        (f"{BEGIN}\n{BEGIN}\n{END}", "2 opening and 1 closing"),
        (BEGIN, "1 opening and 0 closing"),
    ],
)
def test_markers_that_are_no_pair_are_refused(hub, body, found):
    hub.change("1", body=body)
    done = hub.publish("1", answer="y\n")
    assert (done.returncode, done.stderr) == (
        1,
        (
            f"error: #1: its body has {found} markers of merge_series, or in the wrong order; "
            "leave one pair, or none\n"
        ),
    )
    assert hub.state["calls"] == []


def test_a_branch_that_is_not_pushed_and_a_body_that_is_too_long_are_refused(hub):
    old = hub.world.heads()["ratchet"]
    head = hub.world.commit("ratchet", {"more.txt": "more\n"}, "Go on")
    done = hub.publish(answer="y\n")
    assert (done.returncode, done.stderr) == (
        1,
        (
            f"error: #1: GitHub has its head at {old[:12]}, and ratchet is at {head[:12]}; "
            "push the branch first\n"
        ),
    )
    hub.change("1", headRefOid=head, body="x" * 65500)
    done = hub.publish("1", answer="y\n")
    assert done.returncode == 1
    assert done.stderr.endswith("GitHub takes 65536; shorten its texts in SERIES.md\n")
    assert hub.state["calls"] == []


def test_without_gh_it_says_what_to_install(hub):
    (hub.folder / "gh").unlink()
    done = hub.publish()
    assert (done.returncode, done.stderr) == (
        1,
        "error: gh: not found on the PATH; install GitHub's command line\n",
    )
