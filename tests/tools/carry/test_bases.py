import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import git
import pytest

from carry.bases import (
    Base,
    Directory,
    GitTree,
    ReleaseTree,
    default_cache,
    fetch_release,
    open_base,
    read_wheel,
)
from carry.releases import RELEASES, Release
from stack.errors import Refusal
from stack.repository import Repository

RECORDED = "0.16.1, 0.17.1, 0.18.2, 0.19.0, 0.19.2"

# What a tree of Megatron holds, and what of it is no source.
SOURCE = {
    "megatron/core/README.md": b"a\r\nb",
    "megatron/core/__init__.py": b"",
    "megatron/core/datasets/helpers.cpp": b"\xff\xfe",
    "megatron/training/a b.py": b"x = 1\n",
}
OTHER = {
    "megatron/core/__pycache__/__init__.cpython-312.pyc": b"0",
    "megatron/core/__pycache__/kept.py": b"0",
    "megatron/core/datasets/helpers_cpp.cpython-312-x86_64-linux-gnu.so": b"0",
    "megatron/core/datasets/helpers_cpp.pyd": b"0",
    "megatron/core/stale.pyc": b"0",
    "megatron_core/outside.py": b"0",
    "tests/outside.py": b"1",
}


def make_wheel(path: Path, files: Mapping[str, bytes]) -> Release:
    with zipfile.ZipFile(path, "w") as archive:
        archive.mkdir("megatron")
        for name, content in reversed(list(files.items())):
            archive.writestr(name, content)
    return Release("3.12", hashlib.sha256(path.read_bytes()).hexdigest())


def make_directory(root: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return root


def make_repository(root: Path, files: Mapping[str, bytes]) -> git.Repo:
    repo = git.Repo.init(make_directory(root, files), initial_branch="main")
    repo.git.add("--all", "--force")
    repo.git.execute(
        ["git", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "Import"]
    )
    return repo


def check_source(base: Base) -> None:
    assert base.paths() == tuple(SOURCE)
    assert {path: base.read(path) for path in base.paths()} == SOURCE
    assert base.read("megatron/core/missing.py") is None
    assert base.read("megatron/core") is None
    folders = ["megatron", "megatron/core", "megatron/core/datasets", "megatron/training"]
    others = ["megatron/co", "megatron/core/README.md", "megatron/legacy"]
    assert [f for f in folders + others if base.has_directory(f)] == folders


def refusal_of(text: str, cache: Path) -> str:
    with pytest.raises(Refusal) as caught, open_base(text, cache):
        pass
    return str(caught.value)


# The three kinds of base


def test_a_wheel_is_read_without_its_compiled_files(tmp_path: Path) -> None:
    wheel = tmp_path / "megatron_core-0.0.1-py3-none-any.whl"
    make_wheel(wheel, {**OTHER, **SOURCE})

    assert list(read_wheel(wheel).items()) == list(SOURCE.items())


def test_a_release(tmp_path: Path) -> None:
    wheel = tmp_path / "megatron_core-0.0.1-py3-none-any.whl"
    make_wheel(wheel, {**OTHER, **SOURCE})

    base = ReleaseTree("0.0.1", wheel)

    assert base.name == "megatron-core 0.0.1"
    check_source(base)


def test_a_file_that_is_no_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "megatron_core-0.0.1-py3-none-any.whl"
    wheel.write_bytes(b"not a zip")

    with pytest.raises(Refusal) as caught:
        read_wheel(wheel)

    assert str(caught.value) == (
        f"{wheel}: not a wheel (File is not a zip file); delete it and fetch it again"
    )


def test_a_directory(tmp_path: Path) -> None:
    root = make_directory(tmp_path / "tree", {**OTHER, **SOURCE})
    (root / "megatron/core/link.py").symlink_to("__init__.py")

    with open_base(str(root), tmp_path / "cache") as base:
        assert isinstance(base, Directory)
        assert base.name == str(root)
        assert base.read("megatron/core/link.py") is None
        assert base.read("tests/outside.py") == b"1"
        check_source(base)


def test_a_directory_without_megatron(tmp_path: Path) -> None:
    make_directory(tmp_path, {"core/__init__.py": b""})

    assert refusal_of(str(tmp_path), tmp_path / "cache") == (
        f"{tmp_path}: holds no megatron/; name the root of a Megatron tree"
    )


def test_a_git_tree_is_what_was_committed(tmp_path: Path) -> None:
    root = make_directory(tmp_path / "fork", {**OTHER, **SOURCE})
    (root / "megatron/core/link.py").symlink_to("__init__.py")
    with make_repository(root, {}) as repo:
        (root / "megatron/training/a b.py").write_bytes(b"not committed")
        tree = repo.head.commit.tree.hexsha

        for revision in ["main", "HEAD", tree]:
            with open_base(f"{root}:{revision}", tmp_path / "cache") as base:
                assert isinstance(base, GitTree)
                assert base.name == f"{root}:{revision}"
                assert base.read("megatron/core/link.py") is None
                assert base.read("tests/outside.py") == b"1"
                check_source(base)


def test_a_git_tree_of_a_bare_repository(tmp_path: Path) -> None:
    with make_repository(tmp_path / "fork", SOURCE) as repo:
        repo.clone(tmp_path / "bare", bare=True)

    with Repository.open(tmp_path / "bare") as repository:
        check_source(GitTree(repository, "main"))


def test_a_revision_that_does_not_exist(tmp_path: Path) -> None:
    make_repository(tmp_path, SOURCE).close()

    assert refusal_of(f"{tmp_path}:other", tmp_path / "cache") == (
        f"{tmp_path}: no revision other; name one it has"
    )
    assert refusal_of(f"{tmp_path}:--help", tmp_path / "cache") == (
        f"{tmp_path}: no revision --help; name one it has"
    )


def test_a_revision_without_megatron(tmp_path: Path) -> None:
    make_repository(tmp_path, {"core/__init__.py": b""}).close()

    assert refusal_of(f"{tmp_path}:main", tmp_path / "cache") == (
        f"{tmp_path}:main: holds no megatron/; name a revision of a Megatron tree"
    )


_NEITHER = "neither a release's version nor a folder here"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", _NEITHER),
        ("nowhere", _NEITHER),
        ("v0.19.0", _NEITHER),
        (":main", _NEITHER),
        ("no/where:main", "no folder no/where here"),
        (".:", "no revision after the colon"),
        ("file", "a file, and no tree"),
    ],
)
def test_a_text_that_names_no_base(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()

    assert refusal_of(text, tmp_path / "cache") == (
        f"'{text}': {why}; name a release ({RECORDED}), a folder that holds megatron/, "
        "or REPO:REVISION in a git repository, such as build/fork:main"
    )


# Releases


def test_the_recorded_releases() -> None:
    assert ", ".join(RELEASES) == RECORDED
    assert {version: release.python for version, release in RELEASES.items()} == {
        "0.16.1": "3.11",  # it has no wheel for 3.12
        "0.17.1": "3.12",
        "0.18.2": "3.12",
        "0.19.0": "3.12",
        "0.19.2": "3.12",
    }


def test_a_release_that_is_not_recorded(tmp_path: Path) -> None:
    assert refusal_of("9.9.9", tmp_path / "cache") == (
        f"megatron-core 9.9.9: not a recorded release (recorded: {RECORDED}); to record it, add a "
        'line to RELEASES in tools/carry/releases.py: "9.9.9": Release("3.12", "<sha256 of its '
        'wheel>"), which pip hash prints; carry report and carry wheel need no record'
    )
    assert not (tmp_path / "cache").exists()


def test_a_cached_wheel_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wheel = tmp_path / "megatron_core-0.0.1-cp312-cp312-manylinux_2_28_x86_64.whl"
    releases = {"0.0.1": make_wheel(wheel, SOURCE)}

    assert fetch_release("0.0.1", tmp_path, releases) == wheel


def test_a_cached_wheel_with_another_hash(tmp_path: Path) -> None:
    wheel = tmp_path / "megatron_core-0.0.1-cp312-cp312-manylinux_2_28_x86_64.whl"
    found = make_wheel(wheel, SOURCE).sha256
    wanted = "0" * 64

    with pytest.raises(Refusal) as caught:
        fetch_release("0.0.1", tmp_path, {"0.0.1": Release("3.12", wanted)})

    assert str(caught.value) == (
        f"{wheel}: its sha256 is {found}, recorded is {wanted}; "
        "delete the file, and the next run downloads it again"
    )
    assert wheel.exists()


def test_a_cache_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = tmp_path / "file" / "cache"

    with pytest.raises(Refusal) as caught:
        fetch_release("0.19.2", cache)

    assert str(caught.value) == (
        f"{cache}: cannot keep downloads there: Not a directory; "
        "set MEGATRON_SERIES_CACHE to a folder that can be written"
    )


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"MEGATRON_SERIES_CACHE": "/kept", "XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}, "/kept"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}, "/xdg/megatron-series"),
        ({"XDG_CACHE_HOME": "", "HOME": "/home/me"}, "/home/me/.cache/megatron-series"),
        ({"HOME": "/home/me"}, "/home/me/.cache/megatron-series"),
    ],
)
def test_where_downloads_are_kept(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ["MEGATRON_SERIES_CACHE", "XDG_CACHE_HOME"]:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert default_cache() == Path(expected)


# With pip itself, and the package index it is set up for


def test_a_release_is_downloaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "some" / "cache"

    with open_base("0.19.2", cache) as base:
        (wheel,) = cache.iterdir()
        assert hashlib.sha256(wheel.read_bytes()).hexdigest() == RELEASES["0.19.2"].sha256
        assert base.name == "megatron-core 0.19.2"
        assert len(base.paths()) == 545
        assert base.has_directory("megatron/training")
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        with open_base("0.19.2", cache) as again:
            assert again.paths() == base.paths()


def test_a_download_that_is_not_the_recorded_wheel(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        fetch_release("0.19.2", tmp_path, {"0.19.2": Release("3.12", "0" * 64)})

    assert str(caught.value) == (
        "megatron-core 0.19.2: pip downloaded "
        "megatron_core-0.19.2-cp312-cp312-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl "
        f"with sha256 {RELEASES['0.19.2'].sha256}, recorded is {'0' * 64}; "
        "see which package index pip uses (pip config list)"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_release_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        fetch_release("9.9.9", tmp_path, {"9.9.9": Release("3.12", "0" * 64)})

    assert str(caught.value) == (
        "megatron-core 9.9.9: the package index has no such release for CPython 3.12 "
        f"on x86-64 Linux; recorded are {RECORDED}"
    )
    assert list(tmp_path.iterdir()) == []


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A port that nothing listens on, on this machine: as if there were no network.
    monkeypatch.setenv("PIP_INDEX_URL", "https://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")

    with pytest.raises(Refusal) as caught:
        fetch_release("0.19.2", tmp_path)

    assert str(caught.value) == (
        "megatron-core 0.19.2: pip reached no package index that has megatron-core; "
        f"check the network and pip's settings, or put the wheel into {tmp_path}"
    )


def test_pip_that_fails_in_another_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_RETRIES", "many")
    pip = subprocess.run(
        [sys.executable, "-m", "pip", "list"], capture_output=True, text=True, check=False
    )

    with pytest.raises(Refusal) as caught:
        fetch_release("0.19.2", tmp_path)

    said = pip.stderr.splitlines()[-1].strip()
    assert "'many'" in said
    assert str(caught.value) == f"megatron-core 0.19.2: pip download failed: {said}"
