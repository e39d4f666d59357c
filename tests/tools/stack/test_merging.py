"""What git says about merges of every kind, and that no setting of a user changes it."""

import subprocess
from textwrap import fill

import pytest

from stack.errors import Refusal
from stack.git_answers import Entry, Sha
from stack.merging import TreeMerger, merge_trees, parse_merge
from stack.repository import Repository
from stack.three_way import Contents

LINES = "".join(f"{number}\n" for number in range(9))
OTHERS = LINES.replace("\n", " others\n")
FIVE, FUENF, NINE = LINES.replace("5", "five"), LINES.replace("5", "fünf"), LINES + "nine\n"
MANY = {f"d/{number}": LINES + str(number) for number in range(4)}
ODD = 'a "\n\udcff'


def moved(files, folders, text=""):
    """Files in other folders; a text added to names and contents makes them other files."""
    return {
        f"{folder}/{path[2:]}{text}": text + content
        for folder, (path, content) in zip(folders, files.items(), strict=True)
    }


# The three sides by name: files as path to text, or to mode and text.
CASES = {
    "clean": ({"a": LINES, "b": "1"}, {"a": FIVE, "b": "1", "c": "new"}, {"a": NINE}),
    "content": ({"a": LINES, ODD: LINES}, {"a": FIVE, ODD: FIVE}, {"a": FUENF, ODD: FUENF}),
    "add/add": ({}, {"a": "ours"}, {"a": "theirs"}),
    "modify/delete": ({"a": LINES, "b": LINES}, {"a": FIVE}, {"b": FIVE}),
    "rename/rename of one file": ({"a": LINES}, {"b": LINES}, {"c": LINES}),
    "rename/rename to one name": (
        {"a": LINES, "b": OTHERS},
        {"c": LINES, "b": OTHERS},
        {"c": OTHERS, "a": LINES},
    ),
    "rename/delete": ({"a": LINES}, {"b": LINES}, {}),
    "rename and content": ({"a": LINES}, {"b": FIVE}, {"a": FUENF}),
    "many renames": (MANY, moved(MANY, "efgh", "more\n"), {**MANY, "d/0": FIVE + "0"}),
    "line ends": tuple(
        {".gitattributes": "* text\n", "a": text}
        for text in (LINES.replace("\n", "\r\n"), LINES, FIVE.replace("\n", "\r\n"))
    ),
    "directory rename": (MANY, moved(MANY, "eeee"), {**MANY, "d/new": "new"}),
    "directory rename to two places": (MANY, moved(MANY, "eeff"), {**MANY, "d/new": "new"}),
    "two directories renamed to one": (
        {**MANY, **moved(MANY, "gggg", "more")},
        {**moved(MANY, "eeee"), **moved(MANY, "eeee", "more")},
        {**MANY, **moved(MANY, "gggg", "more"), "d/new": "d", "g/new": "g"},
    ),
    "mode": ({"a": LINES}, {"a": ("100755", FIVE)}, {"a": FUENF}),
    "one file's mode": ({"a": LINES, "b": LINES}, {"a": ("100755", LINES)}, {"a": LINES}),
    "a mode of ours and contents": ({"a": LINES}, {"a": ("100755", FIVE)}, {"a": NINE}),
    "a mode of theirs and contents": ({"a": LINES}, {"a": FIVE}, {"a": ("100755", NINE)}),
    "a file for a directory that moved into it": (
        {"s": LINES, "d": OTHERS},
        {"s": NINE, "d": OTHERS},
        {"d/s": LINES},
    ),
    "the same": ({"a": LINES}, {"a": FIVE, "b": "1"}, {"a": FIVE, "c": "1"}),
    "modes added": ({}, {"a": ("100755", LINES)}, {"a": LINES}),
    "symlink": tuple({"a": ("120000", target)} for target in ("base", "ours", "theirs")),
    "file and symlink": ({"a": LINES}, {"a": FIVE}, {"a": ("120000", "theirs")}),
    "file and directory": ({}, {"a": LINES}, {"a/b": LINES}),
    "submodule": tuple({"a": ("160000", digit)} for digit in "123"),
    "binary": ({"a": "base\0"}, {"a": "ours\0"}, {"a": "theirs\0"}),
}

NAMES = {LINES: "lines", OTHERS: "others", FIVE: "five", FUENF: "fünf"}

CONFLICTS = """\
clean:
content:
    a
        1 100644 lines
        2 100644 five
        3 100644 fünf
        CONFLICT (content): Merge conflict in a
    ODD
        1 100644 lines
        2 100644 five
        3 100644 fünf
        CONFLICT (content): Merge conflict in ODD
add/add:
    a
        2 100644 'ours'
        3 100644 'theirs'
        CONFLICT (add/add): Merge conflict in a
modify/delete:
    a
        1 100644 lines
        2 100644 five
        CONFLICT (modify/delete): a deleted in THEIRS and modified in OURS.  Version OURS
            of a left in tree.
    b
        1 100644 lines
        3 100644 five
        CONFLICT (modify/delete): b deleted in OURS and modified in THEIRS.  Version
            THEIRS of b left in tree.
rename/rename of one file:
    a
        1 100644 lines
        CONFLICT (rename/rename): a renamed to b in OURS and to c in THEIRS.
    b
        2 100644 lines
        CONFLICT (rename/rename): a renamed to b in OURS and to c in THEIRS.
    c
        3 100644 lines
        CONFLICT (rename/rename): a renamed to b in OURS and to c in THEIRS.
rename/rename to one name:
    c
        2 100644 lines
        3 100644 others
        CONFLICT (add/add): Merge conflict in c
rename/delete:
    b
        1 100644 lines
        2 100644 lines
        CONFLICT (rename/delete): a renamed to b in OURS, but deleted in THEIRS.
rename and content:
    b
        1 100644 lines
        2 100644 five
        3 100644 fünf
        CONFLICT (content): Merge conflict in b
many renames:
line ends:
    a
        1 100644 '0\\r\\n1\\r\\n2\\r\\n3\\r\\n4\\r\\n5\\r\\n6\\r\\n7\\r\\n8\\r\\n'
        2 100644 lines
        3 100644 '0\\r\\n1\\r\\n2\\r\\n3\\r\\n4\\r\\nfive\\r\\n6\\r\\n7\\r\\n8\\r\\n'
        CONFLICT (content): Merge conflict in a
directory rename:
    e/new
        3 100644 'new'
        CONFLICT (file location): d/new added in THEIRS inside a directory that was
            renamed in OURS, suggesting it should perhaps be moved to e/new.
directory rename to two places:
    d
        CONFLICT (directory rename split): Unclear where to rename d to; it was renamed to
            multiple other directories, with no destination getting a majority of the
            files.
two directories renamed to one:
    e/new
        CONFLICT (implicit dir rename): Cannot map more than one path to e/new; implicit
            directory renames tried to put these paths there: d/new, g/new
mode:
    a
        1 100644 lines
        2 100755 five
        3 100644 fünf
        CONFLICT (content): Merge conflict in a
one file's mode:
a mode of ours and contents:
a mode of theirs and contents:
a file for a directory that moved into it:
the same:
modes added:
    a
        2 100755 lines
        3 100644 lines
        CONFLICT (add/add): Merge conflict in a
symlink:
    a
        1 120000 'base'
        2 120000 'ours'
        3 120000 'theirs'
        CONFLICT (content): Merge conflict in a
file and symlink:
    a
        3 120000 'theirs'
        CONFLICT (distinct types): a had different types on each side; renamed one of them
            so each can be recorded somewhere.
    a~OURS
        1 100644 lines
        2 100644 five
        CONFLICT (distinct types): a had different types on each side; renamed one of them
            so each can be recorded somewhere.
file and directory:
    a~OURS
        2 100644 lines
        CONFLICT (file/directory): directory in the way of a from OURS; moving it to
            a~OURS instead.
submodule:
    a
        1 160000 111
        2 160000 222
        3 160000 333
        Failed to merge submodule a (not checked out)
        CONFLICT (submodule): Merge conflict in a
binary:
    a
        1 100644 'base\\x00'
        2 100644 'ours\\x00'
        3 100644 'theirs\\x00'
        warning: Cannot merge binary files: a (OURS vs. THEIRS)
        CONFLICT (content): Merge conflict in a
"""


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
        oid = repository.write_blobs([text.encode()])[0]
        # A submodule's commit is in another repository: any id will do.
        entries[path] = Entry(mode, Sha(text * len(oid)) if mode == "160000" else oid)
    return repository.commit_tree(repository.change_tree(None, entries), parents, message)


def sides(repository, case):
    base, ours, theirs = CASES[case]
    start = commit(repository, base)
    # The messages differ so that no side is the same commit as another.
    return (
        commit(repository, ours, start, message="Ours"),
        commit(repository, theirs, start, message="Theirs"),
    )


def content(repository, entry):
    if entry.mode == "160000":
        return entry.oid[0] * 3
    text = repository.read_blob(entry.oid).decode()
    return NAMES.get(text, repr(text))


def told(repository, case):
    """The conflicts of a merge in words."""
    ours, theirs = sides(repository, case)
    merge = merge_trees(repository, ours, theirs)
    text = f"{case}:\n"
    for conflict in merge.conflicts:
        text += f"    {conflict.path}\n"
        for stage, entry in sorted(conflict.stages.items()):
            text += f"        {stage} {entry.mode} {content(repository, entry)}\n"
        for said in conflict.messages:
            text += f"        {said}\n"
    for name, word in ((ours, "OURS"), (theirs, "THEIRS"), (ODD, "ODD")):
        text = text.replace(name, word)
    return (
        "\n".join(fill(line, 90, subsequent_indent=" " * 12) for line in text.splitlines()) + "\n"
    )


def test_what_git_says(repository):
    assert "".join(told(repository, case) for case in CASES) == CONFLICTS


def test_a_clean_merge_holds_both_sides(repository):
    merge = merge_trees(repository, *sides(repository, "clean"))
    entries = repository.entries(merge.tree).items()
    assert {path: repository.read_blob(entry.oid).decode() for path, entry in entries} == {
        "a": FIVE + "nine\n",
        "c": "new",
    }


def test_what_is_known_of_the_commits_changes_no_merge(repository):
    merges = {case: sides(repository, case) for case in CASES}
    plain = {case: merge_trees(repository, *merges[case]) for case in CASES}
    for case, (ours, theirs) in merges.items():
        repository.read_ancestry(theirs, [ours])
        (base,) = repository.merge_bases(ours, theirs)
        merger = TreeMerger(repository)
        files = [repository.entries(side) for side in (base, ours, theirs)]
        paths = set.intersection(*map(set, files)) if len(base) == 40 else ()
        paths = [path for path in paths if files[0][path].mode != "160000"]
        texts = [[bytes.fromhex(side[path].oid) for side in files] for path in paths]
        merger.foresee((Contents.of(*text) for text in texts if len(set(text)) == 3), ())
        assert merger.merge(ours, theirs) == plain[case], case


def without_ids(repository, merge):
    """A merge with its sides' names in place of their ids, in texts and in paths."""

    def named(text):
        for ours, theirs in merge.sides:
            text = text.replace(ours, "OURS").replace(theirs, "THEIRS")
        return text

    files = {
        named(path): (e.mode, named(text))
        for path, e in repository.entries(merge.tree).items()
        for text in [e.oid if e.mode == "160000" else repository.read_blob(e.oid).decode()]
    }
    return files, [(named(conflict.path), conflict.stages) for conflict in merge.conflicts]


def test_a_base_that_is_given_counts_whatever_the_histories_are(repository):
    """Neither that the sides share nothing nor that one contains the other makes a difference."""
    for case, files in CASES.items():
        start, ours, theirs = (commit(repository, side, message=case) for side in files)
        plain = without_ids(repository, merge_trees(repository, *sides(repository, case)))
        assert without_ids(repository, merge_trees(repository, ours, theirs, start)) == plain
        later = commit(repository, files[2], ours)
        assert without_ids(repository, merge_trees(repository, ours, later, start)) == plain


def test_a_base_that_is_given_and_missing_is_told(repository):
    ours, theirs = sides(repository, "content")
    missing = Sha("1" * len(ours))
    with pytest.raises(Refusal) as caught:
        merge_trees(repository, ours, theirs, missing)
    assert missing in str(caught.value)


def test_only_text_conflicts_are_about_content(repository):
    def about_content(case):
        merge = merge_trees(repository, *sides(repository, case))
        return all(conflict.is_content for conflict in merge.conflicts)

    about = {case for case in CASES if about_content(case)}
    assert about == {
        "clean",
        "content",
        "rename and content",
        "binary",
        "many renames",
        "line ends",
        "one file's mode",
        "a mode of ours and contents",
        "a mode of theirs and contents",
        "a file for a directory that moved into it",
        "the same",
    }


# Settings that would change the result of some case, or its conflict markers.
SETTINGS = [
    ("merge.renames", "false"),
    ("merge.directoryRenames", "false"),
    ("merge.directoryRenames", "true"),
    ("merge.conflictStyle", "diff3"),
    ("merge.renormalize", "true"),
    ("merge.renameLimit", "1"),
    ("merge.default", "union"),
    ("merge.verbosity", "0"),
    ("merge.tool", "vimdiff"),
    ("diff.renames", "false"),
    ("diff.algorithm", "patience"),
    ("core.autocrlf", "true"),
    ("color.ui", "always"),
]


def test_no_setting_changes_a_result(repository, tmp_path):
    merges = {case: sides(repository, case) for case in CASES}

    def results():
        return {case: merge_trees(repository, *merges[case]) for case in CASES}

    plain = results()
    (tmp_path / "attributes").write_text("* merge=union conflict-marker-size=9\n")
    for setting, value in [*SETTINGS, ("core.attributesFile", str(tmp_path / "attributes"))]:
        repository.run("config", setting, value)
        assert results() == plain, setting
        repository.run("config", "--unset", setting)


@pytest.mark.parametrize("name", ["union", "loud"])
def test_no_merge_driver_changes_a_merge(repository, name):
    """Attributes name them: in a file that is checked out, or for this one clone."""
    driver = repository.directory / "driver"
    driver.write_text("#!/bin/sh\necho settled >$1\n")
    driver.chmod(0o755)
    repository.run("config", "--global", "merge.loud.driver", f"{driver} %A")
    files = {"a": LINES, "d/a": LINES, ".gitattributes": f"* merge={name}\n"}
    start = commit(repository, files)
    ours = commit(repository, {**files, "a": FIVE, "d/a": FIVE}, start)
    theirs = commit(repository, {**files, "a": FUENF, "d/a": FUENF}, start)
    before = merge_trees(repository, ours, theirs)
    repository.run("read-tree", "--reset", "-u", ours)
    assert merge_trees(repository, ours, theirs) == before
    (repository.common_directory / "info/attributes").write_text(f"* merge={name}\n")
    assert merge_trees(repository, ours, theirs) == before
    assert [conflict.path for conflict in before.conflicts] == ["a", "d/a"]


def test_what_cannot_be_merged_is_refused(repository):
    one, other = commit(repository, {"a": "1"}), commit(repository, {"a": "2"})
    with pytest.raises(Refusal) as caught:
        merge_trees(repository, one, other)
    assert str(caught.value) == (
        f"{one[:12]} and {other[:12]} share no commit; nothing can be merged; check that "
        "--main and SERIES.md name branches of one history"
    )
    missing = Sha("1" * len(one))
    with pytest.raises(Refusal) as caught:
        merge_trees(repository, one, missing)
    assert str(caught.value) == (
        f"git merge-base failed with status 128: fatal: Not a valid commit name {missing}"
    )


def test_output_that_is_no_merge():
    assert parse_merge(b"") is None
    assert parse_merge(b"usage: git merge-tree\0") is None
    assert parse_merge(b"1" * 40 + b"\0") == (Sha("1" * 40), ())
