"""Files that are whole, or as they were."""

import os

import pytest

from merge_series.kept import write_whole


@pytest.fixture
def file(tmp_path):
    return tmp_path / "SERIES.md"


def test_a_new_file(file):
    write_whole(file, b"new\r\n\xff")
    assert {f.name: f.read_bytes() for f in file.parent.iterdir()} == {file.name: b"new\r\n\xff"}


def test_a_file_that_is_replaced_keeps_its_permissions(file):
    file.write_bytes(b"old")
    file.chmod(0o640)
    write_whole(file, b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_all_as_it_was(file, error, monkeypatch):
    file.write_bytes(b"old")

    def fail(_):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        write_whole(file, b"new")
    assert {f.name: f.read_bytes() for f in file.parent.iterdir()} == {file.name: b"old"}
