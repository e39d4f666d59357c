"""What git says about merges of every kind, and that no setting of a user changes it."""

import subprocess

import pytest

from stack.errors import Refusal
from stack.merging import Merge, merge_trees, parse_merge
from stack.repository import Entry, Repository, Sha

LINES = "".join(f"{number}\n" for number in range(9))
OTHERS = LINES.replace("\n", " others\n")
FIVE, FUENF, NINE = LINES.replace("5", "five"), LINES.replace("5", "fünf"), LINES + "nine\n"
MANY = {f"d/{number}": LINES + str(number) for number in range(4)}
SUBMODULE = {text: ("160000", text * 40) for text in "123"}
ODD = 'a "\n\udcff'

# A name: base, ours and theirs as path to text (or mode and text), then the conflicts in words.
CASES = {
    "clean": (
        {"a": LINES, "b": "1"},
        {"a": FIVE, "b": "1", "c": "new"},
        {"a": NINE},
        [],
    ),
    "content": (
        {"a": LINES, ODD: LINES},
        {"a": FIVE, ODD: FIVE},
        {"a": FUENF, ODD: FUENF},
        [
            f"{ODD}: 1 644 {LINES!r}, 2 644 {FIVE!r}, 3 644 {FUENF!r}: "
            f"CONFLICT (content): Merge conflict in {ODD}",
            f"a: 1 644 {LINES!r}, 2 644 {FIVE!r}, 3 644 {FUENF!r}: "
            "CONFLICT (content): Merge conflict in a",
        ],
    ),
    "add/add": (
        {},
        {"a": "1\n"},
        {"a": "2\n"},
        ["a: 2 644 '1\\n', 3 644 '2\\n': CONFLICT (add/add): Merge conflict in a"],
    ),
    "modify/delete": (
        {"a": LINES, "b": LINES},
        {"a": FIVE},
        {"b": FIVE},
        [
            f"a: 1 644 {LINES!r}, 2 644 {FIVE!r}: CONFLICT (modify/delete): a deleted in THEIRS and "
            "modified in OURS.  Version OURS of a left in tree.",
            f"b: 1 644 {LINES!r}, 3 644 {FIVE!r}: CONFLICT (modify/delete): b deleted in OURS and "
            "modified in THEIRS.  Version THEIRS of b left in tree.",
        ],
    ),
    "rename/rename of one file": (
        {"a": LINES},
        {"b": LINES},
        {"c": LINES},
        [
        ],
    ),
    "rename/rename to one name": (
        {"a": LINES, "b": OTHERS},
        {"c": LINES, "b": OTHERS},
        {"c": OTHERS, "a": LINES},
        [
        ],
    ),
    "rename/delete": (
        {"a": LINES},
        {"b": LINES},
        {},
        [
        ],
    ),
    "rename and content": (
        {"a": LINES},
        {"b": FIVE},
        {"a": FUENF},
        [],
    ),
    "directory rename": (
        MANY,
        {path.replace("d", "e"): text for path, text in MANY.items()},
        {**MANY, "d/new": "new"},
        [],
    ),
    "directory rename to two places": (
        MANY,
        {path.replace("d/", "ef"[path > "d/1"] + "/"): text for path, text in MANY.items()},
        {**MANY, "d/new": "new"},
        [],
    ),
    "two directories renamed to one": (
        {f"{folder}/{name}": folder + LINES + name for folder in "dg" for name in "123"},
        {f"e/{folder}{name}": folder + LINES + name for folder in "dg" for name in "123"},
        {f"{folder}/{name}": folder + LINES + name for folder in "dg" for name in "123"}
        | {"d/new": "d", "g/new": "g"},
        [],
    ),
    "mode": (
        {"a": LINES},
        {"a": ("100755", FIVE)},
        {"a": ("100644", FUENF)},
        [],
    ),
    "modes added": (
        {},
        {"a": ("100755", LINES)},
        {"a": ("100644", LINES)},
        [],
    ),
    "symlink": (
        {"a": ("120000", "x")},
        {"a": ("120000", "y")},
        {"a": ("120000", "z")},
        [],
    ),
    "file and symlink": (
        {"a": LINES},
        {"a": FIVE},
        {"a": ("120000", "z")},
        [],
    ),
    "file and directory": (
        {},
        {"a": LINES},
        {"a/b": LINES},
        [],
    ),
    "submodule": (
        {"a": SUBMODULE["1"]},
        {"a": SUBMODULE["2"]},
        {"a": SUBMODULE["3"]},
        [],
    ),
    "binary": (
        {"a": "1\0"},
        {"a": "2\0"},
        {"a": "3\0"},
        [],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(params=["sha1", "sha256"])
def repository(tmp_path, request):
    folder = tmp_path / "fork"
    subprocess.run(
        ["git", "init", "--quiet", f"--object-format={request.param}", folder], check=True
    )
    with Repository.open(folder) as opened:
        yield opened


def commit(repository, files, *parents, message="Change"):
    entries = {}
    for path, file in files.items():
        mode, text = file if isinstance(file, tuple) else ("100644", file)
        (oid,) = [text] if mode == "160000" else repository.write_blobs([text.encode()])
        entries[path] = Entry(mode, oid)
    return repository.commit_tree(repository.change_tree(None, entries), parents, message)


def sides(repository, case):
    base, ours, theirs = CASES[case][:3]
    if case == "submodule" and len(repository.change_tree(None, {})) > 40:
        base, ours, theirs = (
            {"a": (mode, oid[0] * 64)} for mode, oid in (s["a"] for s in (base, ours, theirs))
        )
    start = commit(repository, base)
    # The messages differ so that no side is the same commit as another.
    return (
        commit(repository, ours, start, message="Ours"),
        commit(repository, theirs, start, message="Theirs"),
    )


def told(repository, merge, ours, theirs):
    """The conflicts of a merge in words."""
    lines = []
    for conflict in merge.conflicts:
        stages = ", ".join(
            f"{stage} {entry.mode[3:]} "
            + (
                f"{entry.oid[0]}..."
                if entry.mode == "160000"
                else repr(repository.read_blob(entry.oid).decode())
            )
            for stage, entry in sorted(conflict.stages.items())
        )
        said = " | ".join(conflict.messages).replace(ours, "OURS").replace(theirs, "THEIRS")
        lines.append(f"{conflict.path}: {stages}: {said}")
    return lines


@pytest.mark.parametrize("case", CASES)
def test_what_git_says(repository, case):
    ours, theirs = sides(repository, case)
    merge = merge_trees(repository, ours, theirs)
    got= told(repository, merge, ours, theirs)
    print("GOT", case); [print("   ",g) for g in got]
    print("   tree", {p:(e.mode) for p,e in repository.entries(merge.tree).items()})
