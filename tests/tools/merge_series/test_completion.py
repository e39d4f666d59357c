"""What the shell is told to complete, by the protocol its script speaks; no shell is needed."""

import os
import subprocess
import sys

import pytest

SERIES = """\
# Series

| PR | Branch | Depends on | Title | State |
|---|---|---|---|---|
| #8045 | `mine/offsets` | main | Name experts | open |
| #8049 | `warnings` | #8045 | Warn of fallbacks | open |

## #8045 Name experts

## #8049 Warn of fallbacks
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "SERIES.md").write_text(SERIES)
    return tmp_path


def completed(folder, shell, words, tool="merge_series"):
    """The lines for a command line whose last word is not finished."""
    # fish hands on the word itself, the others its place.
    place = words.split(" ")[-1] if shell == "fish" else str(words.count(" "))
    done = subprocess.run(
        [sys.executable, "-m", tool],
        cwd=folder, check=True, capture_output=True, text=True,
        env={
            **os.environ,
            f"_{tool.upper()}_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": place,
        },
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1] if done.stdout != "\n" else []


@pytest.mark.parametrize(
    ("shell", "lines"),
    [
        ("bash", ["plain,8045", "plain,8049"]),
        ("zsh", ["plain", "8045", "Name experts", "plain", "8049", "Warn of fallbacks"]),
        ("fish", ["plain,8045\tName experts", "plain,8049\tWarn of fallbacks"]),
    ],
)
def test_each_shell_is_told_of_prs(folder, shell, lines):
    assert completed(folder, shell, "merge_series show 80") == lines


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("show ", ["8045", "mine/offsets", "8049", "warnings"]),
        ("show mi", ["mine/offsets"]),
        ("show x", []),
        ("describe w", ["warnings"]),
        ("publish 8045 war", ["warnings"]),
        ("--repo elsewhere show 8049", ["8049"]),
        ("fold 8045 8", ["8045", "8049"]),
        ("fold w", ["warnings"]),
        ("stack --on 8045 --on m", ["mine/offsets"]),
        ("st", ["status", "stack"]),
        ("status --", ["--json", "--help"]),
        ("--color ", ["auto", "always", "never"]),
    ],
)
def test_what_is_completed(folder, words, names):
    assert completed(folder, "bash", f"merge_series {words}") == [f"plain,{name}" for name in names]


def test_the_series_named_is_the_one_that_is_read(folder):
    (folder / "SERIES.md").rename(folder / "other.md")
    assert completed(folder, "bash", "merge_series show 80") == []
    assert completed(folder, "bash", "merge_series --series other.md show 8045") == ["plain,8045"]


@pytest.mark.parametrize("text", [b"", b"\xff", b"# Series\n\nno table\n"])
def test_a_series_that_cannot_be_read_completes_nothing(folder, text):
    (folder / "SERIES.md").write_bytes(text)
    assert completed(folder, "bash", "merge_series show 80") == []


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("carry wheel --release 0.19", ["plain,0.19.0", "plain,0.19.2"]),
        ("carry apply --release 0.17", ["plain,0.17.1"]),
        ("carry import --release 0.18", ["plain,0.18.2"]),
        ("carry check 0.19.0 0.19.2", ["plain,0.19.2"]),
        ("carry check Mega", ["dir,Mega"]),
    ],
)
def test_carry_completes_releases_and_folders(folder, words, lines):
    assert completed(folder, "bash", words, "carry") == lines


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("tool", ["merge_series", "carry"])
def test_the_script_of_a_shell_calls_the_tool(folder, shell, tool):
    done = subprocess.run(
        [sys.executable, "-m", tool],
        cwd=folder, check=True, capture_output=True, text=True,
        env={**os.environ, f"_{tool.upper()}_COMPLETE": f"{shell}_source"},
    )  # fmt: skip
    assert f"_{tool.upper()}_COMPLETE={shell}_complete" in done.stdout
