"""Publishing through a stand-in of ``gh`` that knows only what the real one documents."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from merge_series.review.publishing import BEGIN, END

PATCH = ["--silent", "--hostname", "github.com", "--method", "PATCH"]
BODY = ["--field", "body=@-"]
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

    def without_gh(self):
        """A folder with the programs that the tools need, and no gh."""
        folder = self.folder / "without"
        folder.mkdir()
        (folder / "git").symlink_to(shutil.which("git"))
        return folder

    def command(self, *arguments, main=None):
        place = ["--series", str(self.world.root / "SERIES.md"), "--repo", str(self.world.fork)]
        if main is not None:
            place += ["--main", main]
        return [sys.executable, "-m", "merge_series", *place, "publish", *arguments]

    def publish(self, *arguments, answer="", main=None):
        return subprocess.run(
            self.command(*arguments, main=main),
            cwd=self.world.root,
            input=answer,
            check=False,
            capture_output=True,
            text=True,
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
            "isCrossRepository": False,
            "url": f"https://github.com/NVIDIA/Megatron-LM/pull/{number}",
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
        ["api", "repos/NVIDIA/Megatron-LM/pulls/1", *PATCH, *BODY],
        ["pr", "comment", "1", "--body", f"/ok to test {heads['ratchet']}"],
        ["api", "repos/NVIDIA/Megatron-LM/pulls/2", *PATCH, *BODY, "--raw-field", "base=ratchet"],
        ["pr", "comment", "2", "--body", f"/ok to test {heads['offsets']}"],
        ["api", "repos/NVIDIA/Megatron-LM/pulls/3", *PATCH, *BODY, "--raw-field", "base=ratchet"],
    ]
    text = hub.world.run("describe", "2").out
    assert state["prs"]["2"] == {
        "body": f"{PEOPLES.rstrip()}\n\n{BEGIN}\n\n{text}\n{END}\n",
        "baseRefName": "ratchet",
        "headRefOid": heads["offsets"],
        "comments": [{"body": f"/ok to test {heads['offsets']}"}],
        "isCrossRepository": False,
        "url": "https://github.com/NVIDIA/Megatron-LM/pull/2",
    }
    assert state["prs"]["1"]["body"].startswith(BEGIN)


def test_what_people_write_while_it_asks_stays(hub):
    """And what nobody agreed to is not done."""
    with subprocess.Popen(
        hub.command("2", "3"),
        cwd=hub.world.root,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        said = b""
        while not said.endswith(b"[y/N]: "):
            said += process.stderr.read(1)
        hub.change("2", body=f"{PEOPLES}Written meanwhile.\r\n")
        hub.change("3", baseRefName="ratchet")
        _, rest = process.communicate(b"y\n")
    assert (process.returncode, rest.decode()) == (
        1,
        (
            "#2: done.\nerror: #3: changed on GitHub since this was shown; run again to see what "
            "is left to do\n"
        ),
    )
    assert hub.state["prs"]["2"]["body"].startswith(f"{PEOPLES}Written meanwhile.\n\n{BEGIN}")
    assert hub.state["prs"]["3"]["body"] == ""


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


@pytest.mark.parametrize(
    ("body", "above", "below"),
    [
        (" \r\n\n", "", "\n"),
        ("it's `$(mine)` \\n & \u00e4", "it's `$(mine)` \\n & \u00e4\n\n", "\n"),
        (f"Above.\n{BEGIN}\nold & \\1\n{END}\nBelow.\n\n\n", "Above.\n", "\nBelow.\n\n\n"),
    ],
    ids=["blank", "no line end", "an older text"],
)
def test_what_is_peoples_of_a_body_stays_byte_for_byte(hub, body, above, below):
    hub.change("2", body=body)
    assert hub.publish("2", answer="y\n").returncode == 0
    text = hub.world.run("describe", "2").out
    assert hub.state["prs"]["2"]["body"] == f"{above}{BEGIN}\n\n{text}\n{END}{below}"
    done = hub.publish("2")
    assert done.stderr == "Everything is published already; nothing was changed.\n"


def test_a_change_that_github_refuses_is_named(hub):
    hub.change("1", refuses=True)
    done = hub.publish("1", answer="y\n")
    assert (done.returncode, done.stderr.partition("[y/N]: ")[2]) == (
        1,
        (
            "error: gh api repos/NVIDIA/Megatron-LM/pulls/1 failed with status 1: "
            "gh: Validation Failed (HTTP 422)\n"
        ),
    )


def test_a_pr_from_a_fork_stays_on_main(hub):
    hub.change("2", isCrossRepository=True, baseRefName="old")
    done = hub.publish("2", answer="y\n")
    assert "its base, from old to main," in done.stderr
    assert hub.state["prs"]["2"]["baseRefName"] == "main"


def test_of_a_pr_that_is_no_longer_open_only_the_text_is_published(hub):
    series = hub.world.root / "SERIES.md"
    text = series.read_text()
    for title in ("List the global reads", "Pass the size"):
        text = text.replace(f"{title} | open |", f"{title} | superseded |")
    series.write_text(text)
    for fork in (False, True):
        hub.change("2", body="", baseRefName="ratchet", isCrossRepository=fork)
        done = hub.publish("2", answer="y\n")
        assert done.stderr == "#2: its text\nChange this on GitHub? [y/N]: #2: done.\n"
        assert hub.state["prs"]["2"]["baseRefName"] == "ratchet"
        assert hub.state["prs"]["2"]["comments"] == []


def test_the_base_is_the_whole_name_of_mains_branch(hub):
    git, base = hub.world.git, "release/0.19"
    git("remote", "add", "up/stream", "https://example.org/repository")
    git("update-ref", f"refs/remotes/up/stream/{base}", "main")
    git("branch", base, "main")
    names = (f"up/stream/{base}", f"refs/remotes/up/stream/{base}", base, f"refs/heads/{base}")
    for name in names:
        done = hub.publish("1", answer="n\n", main=name)
        assert f"#1: its text, its base, from main to {base}, a comment" in done.stderr
    commit = git("rev-parse", "main")
    done = hub.publish("1", main=commit)
    assert (done.returncode, done.stderr) == (
        1,
        (
            f"error: {hub.world.fork}: --main {commit} names no branch, so no PR can have it as "
            "its base; name one (for a clone of Megatron-LM: --main upstream/main)\n"
        ),
    )


def test_no_token_is_printed(hub, monkeypatch):
    secret = "ghp_" + "a1B2" * 9
    monkeypatch.setenv("GH_TOKEN", "plain-secret")
    monkeypatch.setenv("GH_DEBUG", "api")
    hub.fail(f"HTTP 401: bad credentials plain-secret {secret} github_pat_{'x_' * 20}")
    done = hub.publish()
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


@pytest.mark.parametrize(
    "answer",
    [{"body": None}, {"headRefOid": 1}, {"comments": None}, {"comments": [{"body": None}]}],
)
def test_an_answer_that_is_not_gh_s(hub, answer):
    hub.change("2", **answer)
    done = hub.publish("2", answer="y\n")
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        (
            "error: gh pr view 2: its answer has no "
            "baseRefName,body,comments,headRefOid,isCrossRepository,url; is this GitHub's gh, 2.0 "
            "or newer?\n"
        ),
    )
    assert hub.state["calls"] == []


def test_without_gh_it_says_what_to_install(hub, monkeypatch):
    monkeypatch.setenv("PATH", str(hub.without_gh()))
    done = hub.publish()
    assert (done.returncode, done.stderr) == (
        1,
        (
            "error: gh: not found on the PATH; install GitHub's command line, "
            "https://cli.github.com\n"
        ),
    )
