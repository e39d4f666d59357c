import re

import pytest

from proof.controls import Control, find_controls, load_controls
from stack.errors import Refusal

FILE = "tests/unit_tests/test_a.py"
TESTS = [
    f"{FILE}::test_one",
    f"{FILE}::test_one_more",
    f"{FILE}::test_many[1]",
    f"{FILE}::test_many[2]",
    f"{FILE}::TestClass::test_three",
    f"{FILE}::TestClass::test_four[x]",
    "tests/unit_tests/test_b.py::test_one",
]


def load(tmp_path, text):
    path = tmp_path / "controls.txt"
    path.write_text(text)
    return load_controls(path)


def find(tmp_path, *entries):
    path = tmp_path / "controls.txt"
    path.write_text("".join(f"{entry}\n" for entry in entries))
    return find_controls(path, load_controls(path), TESTS)


def test_comments_and_empty_lines(tmp_path):
    assert load(tmp_path, f"# why\n\n  {FILE}::test_one  \n") == (Control(f"{FILE}::test_one", 3),)


@pytest.mark.parametrize("entry", [FILE, "test_one", f"{FILE}::test_one".replace(".py", "")])
def test_an_entry_must_be_a_test(tmp_path, entry):
    with pytest.raises(Refusal, match=re.escape(f"controls.txt:2: {entry!r} is no test; write")):
        load(tmp_path, f"{FILE}::test_one\n{entry}\n")


def test_missing_file(tmp_path):
    with pytest.raises(Refusal, match=r"controls\.txt: cannot be read as UTF-8 text: .*No such"):
        load_controls(tmp_path / "controls.txt")


def test_file_that_is_no_text(tmp_path):
    path = tmp_path / "controls.txt"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(Refusal, match="cannot be read as UTF-8 text"):
        load_controls(path)


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("test_one", ["test_one"]),
        ("test_many", ["test_many[1]", "test_many[2]"]),
        ("test_many[2]", ["test_many[2]"]),
        ("TestClass", ["TestClass::test_three", "TestClass::test_four[x]"]),
        ("TestClass::test_four", ["TestClass::test_four[x]"]),
    ],
)
def test_what_an_entry_covers(tmp_path, entry, found):
    assert find(tmp_path, f"{FILE}::{entry}") == {f"{FILE}::{name}" for name in found}


@pytest.mark.parametrize("name", ["test_on", "test_many[3]", "Test", "test_four", "test_many["])
def test_an_entry_that_matches_nothing(tmp_path, name):
    with pytest.raises(
        Refusal, match=re.escape(f"controls.txt:2: no test matches '{FILE}::{name}'")
    ):
        find(tmp_path, f"{FILE}::test_one", f"{FILE}::{name}")


def test_an_entry_of_a_file_that_was_not_run(tmp_path):
    assert find(tmp_path, "tests/unit_tests/test_c.py::test_one") == frozenset()


def test_two_entries_for_one_test(tmp_path):
    with pytest.raises(
        Refusal,
        match=re.escape(
            f"controls.txt:2: {FILE}::test_many[1] is already covered by "
            f"'{FILE}::test_many' in line 1; keep one"
        ),
    ):
        find(tmp_path, f"{FILE}::test_many", f"{FILE}::test_many[1]")
