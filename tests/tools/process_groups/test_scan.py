"""Whole trees: errors, what is kept between scans, and what must not matter."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from process_groups.directory import scan_directory
from process_groups.reads import Read
from process_groups.scan import ScanCache, ScanError, scan_tree
from process_groups.workers import warm

# How long an example takes depends on what else the machine does.
unhurried = settings(deadline=None)

Files = dict[str, str]

CORE = "megatron/core"
PS = "from megatron.core import parallel_state\n"
READ = PS + "parallel_state.tp_rank()\n"


class Blobs:
    """Trees whose blobs are named by their text, and the paths whose blobs were read."""

    def __init__(self) -> None:
        self.cache = ScanCache()
        self.read: set[str] = set()

    def scan(self, files: Files) -> list[str]:
        """Reads, as ``path scope function kind``; with the cache, the same as without."""
        self.read.clear()
        blobs = {path: f"{len(text)}:{hash(text)}" for path, text in files.items()}
        texts = {blobs[path]: text for path, text in files.items()}
        paths = {blob: path for path, blob in blobs.items()}

        def read_blob(blob: str) -> bytes:
            self.read.add(paths[blob])
            return texts[blob].encode()

        found = scan_tree(blobs, read_blob, self.cache)
        read = set(self.read)
        assert scan_tree(blobs, read_blob) == found
        self.read = read
        return sorted(" ".join(item) for item in found.elements())


def test_a_directory_is_scanned_as_its_blobs_are(tree: Callable[..., Path], base: Files) -> None:
    root = tree(a=READ)
    found = scan_directory(root)
    assert found == {Read(f"{CORE}/a.py", "<module>", "tp_rank", "accessor"): 1}
    assert Blobs().scan(base | {f"{CORE}/a.py": READ}) == [" ".join(read) for read in found]


ERRORS = {
    "no Python": (b"parallel_state\n<<<<<<< HEAD\n", ":2: is no Python: invalid syntax"),
    "not UTF-8": (b"x = 1\ny = '\xe9'\n", ":2: is not UTF-8: invalid continuation byte"),
    "not as declared": (
        b"# coding: ascii\ny = '\xe9'\n",
        ":2: is not ASCII: ordinal not in range(128)",
    ),
    "no such encoding": (
        b"# coding: klingon\ny = 1\n",
        ": cannot be decoded: unknown encoding: klingon",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_file_that_cannot_be_read_is_named(case: str, tree: Callable[..., Path]) -> None:
    data, message = ERRORS[case]
    root = tree()
    (root / CORE / "bad.py").write_bytes(data)
    with pytest.raises(ScanError) as error:
        scan_directory(root)
    assert str(error.value) == f"{CORE}/bad.py{message}"


@pytest.mark.parametrize("case", ERRORS)
def test_a_file_without_any_name_looked_for_is_checked_too(
    case: str, tree: Callable[..., Path]
) -> None:
    data, message = ERRORS[case]
    root = tree()
    (root / CORE / "bad.py").write_bytes(data.replace(b"parallel_state", b"other"))
    with pytest.raises(ScanError) as error:
        scan_directory(root)
    assert str(error.value) == f"{CORE}/bad.py{message}"


def test_null_bytes_are_named(tree: Callable[..., Path]) -> None:
    root = tree(bad="parallel_state\0")
    with pytest.raises(ScanError, match=rf"^{CORE}/bad\.py.*null bytes"):
        scan_directory(root)


def test_a_file_nested_too_deeply_is_named(tree: Callable[..., Path]) -> None:
    root = tree(bad=f"parallel_state{' + (1' * 500}{')' * 500}")
    with pytest.raises(ScanError, match=rf"^{CORE}/bad\.py"):
        scan_directory(root)


def test_what_is_no_file_ends_no_scan(tree: Callable[..., Path]) -> None:
    root = tree(a=READ)
    (root / CORE / "gone.py").symlink_to("nowhere.py")
    (root / CORE / "circle.py").symlink_to("circle.py")
    (root / CORE / ".#a.py").symlink_to("somebody@host.1234:5678")
    os.mkfifo(root / CORE / "pipe.py")
    (root / CORE / "folder.py").mkdir()
    (root / CORE / "folder.py" / "b.py").write_text(READ)
    assert {read.path for read in scan_directory(root)} == {
        f"{CORE}/a.py",
        f"{CORE}/folder.py/b.py",
    }


def test_a_file_that_is_there_and_cannot_be_read_is_named(tree: Callable[..., Path]) -> None:
    root = tree()
    # Nobody may read its start, whoever they are.
    (root / CORE / "a.py").symlink_to("/proc/self/mem")
    with pytest.raises(ScanError) as error:
        scan_directory(root)
    assert str(error.value) == f"{CORE}/a.py: cannot be read: Input/output error"


def test_a_folder_that_goes_during_the_scan_is_named(
    tree: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(a=READ)
    scandir = os.scandir

    def gone(path: str) -> object:
        return scandir(f"{path}/gone") if str(path).endswith("folder") else scandir(path)

    (root / CORE / "folder").mkdir()
    monkeypatch.setattr(os, "scandir", gone)
    with pytest.raises(ScanError) as error:
        scan_directory(root)
    assert str(error.value) == f"{CORE}/folder/gone: cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("encoding", "declaration"),
    [
        ("latin-1", "# -*- coding: latin-1 -*-"),
        ("cp1251", "# vim: set fileencoding=cp1251 :"),
        ("shift_jis", "#!/usr/bin/env python3\n# coding=shift_jis"),
        ("utf-8", "# coding: utf-8"),
        ("utf-8-sig", "# coding: utf-8"),
        ("utf-7", "# coding: utf-7"),
    ],
)
def test_a_declared_encoding_is_read_as_python_does(
    encoding: str, declaration: str, tree: Callable[..., Path]
) -> None:
    root = tree()
    letter = {"cp1251": "\u0416", "shift_jis": "\u30a2"}.get(encoding, "\xe9")
    text = f"{declaration}\nx = '{letter}'\n{READ}"
    (root / CORE / "a.py").write_bytes(text.encode(encoding))
    (root / CORE / "b.py").write_bytes(f"{declaration}\nx = '{letter}'\n".encode(encoding))
    assert scan_directory(root) == {Read(f"{CORE}/a.py", "<module>", "tp_rank", "accessor"): 1}


def test_a_name_that_an_encoding_hides_is_found(tree: Callable[..., Path]) -> None:
    root = tree()
    hidden = READ.replace("parallel_state", "parallel+AF8-state").replace("tp_rank", "tp+AF8-rank")
    (root / CORE / "a.py").write_bytes(b"# coding: utf-7\n" + hidden.encode())
    assert scan_directory(root) == {Read(f"{CORE}/a.py", "<module>", "tp_rank", "accessor"): 1}


def test_a_link_is_followed(tree: Callable[..., Path], tmp_path: Path) -> None:
    root = tree()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text(READ)
    (root / CORE / "linked").symlink_to(tmp_path / "outside")
    (root / CORE / "again").symlink_to(root / CORE)
    (root / CORE / "file.py").symlink_to(tmp_path / "outside" / "a.py")
    assert {read.path for read in scan_directory(root)} == {
        f"{CORE}/file.py",
        f"{CORE}/linked/a.py",
    }


def test_a_folder_that_is_no_tree_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScanError) as error:
        scan_directory(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: there is no megatron/core here; name the root of a Megatron-LM tree"
    )


def test_a_tree_without_parallel_state_is_refused() -> None:
    with pytest.raises(ScanError) as error:
        scan_tree({f"{CORE}/a.py": "1"}, lambda _: b"")
    assert str(error.value) == (
        f"{CORE}/parallel_state.py: the tree has no such file, so what reads it cannot be told"
    )


def test_warnings_of_scanned_files_are_not_shown(tree: Callable[..., Path]) -> None:
    # Warnings are errors in these tests.
    assert sum(scan_directory(tree(a=READ + 'x = "\\d"')).values()) == 1


def test_a_further_tree_costs_only_what_changed(base: Files) -> None:
    blobs = Blobs()
    first = base | {f"{CORE}/{name}.py": f"{READ}# {name}" for name in "abc"}
    assert len(blobs.scan(first)) == 3
    assert blobs.read == first.keys()
    assert len(blobs.scan(first)) == 3
    assert blobs.read == set()
    second = first | {f"{CORE}/b.py": PS + "parallel_state.tp_group()"}
    assert blobs.scan(second) == [
        f"{CORE}/a.py <module> tp_rank accessor",
        f"{CORE}/b.py <module> tp_group accessor",
        f"{CORE}/c.py <module> tp_rank accessor",
    ]
    assert blobs.read == {f"{CORE}/b.py"}


def test_what_is_kept_is_not_believed_where_another_file_decides(base: Files) -> None:
    blobs = Blobs()
    user = {f"{CORE}/a.py": "from .b import tp_rank\ntp_rank()"}
    read = [f"{CORE}/a.py <module> tp_rank accessor"]
    through = {f"{CORE}/b.py": "from .parallel_state import tp_rank"}
    own = {f"{CORE}/b.py": "def tp_rank(): ..."}
    package = {f"{CORE}/b/__init__.py": "def tp_rank(): ..."}
    assert blobs.scan(base | user) == []
    assert blobs.scan(base | user | through) == read
    assert blobs.scan(base | user | own) == []
    assert blobs.scan(base | user | through | package) == []
    assert blobs.scan(base | user | through) == read


def test_a_change_to_what_others_do_not_import_costs_its_file_alone(base: Files) -> None:
    blobs = Blobs()
    helper = "from .parallel_state import tp_rank\n\ndef help(): ...\n"
    users = {f"{CORE}/a{n}.py": f"from .b import tp_rank\ntp_rank()\n# {n}" for n in range(3)}
    assert len(blobs.scan(base | users | {f"{CORE}/b.py": helper})) == 3
    longer = helper.replace("...", "tp_rank()")
    assert len(blobs.scan(base | users | {f"{CORE}/b.py": longer})) == 4
    assert blobs.read == {f"{CORE}/b.py"}
    own = helper.replace("from .parallel_state", "from elsewhere")
    assert blobs.scan(base | users | {f"{CORE}/b.py": own}) == []
    assert blobs.read == {f"{CORE}/b.py", *users}


def test_another_parallel_state_decides_anew(base: Files) -> None:
    blobs = Blobs()
    user = {f"{CORE}/a.py": PS + "parallel_state.tp_rank()\nparallel_state.fresh()"}
    grid = f"{CORE}/parallel_state.py"
    more = {grid: base[grid] + "\ndef fresh():\n    return tp_rank()\n"}
    assert len(blobs.scan(base | user)) == 1
    assert len(blobs.scan(base | user | more)) == 2
    assert len(blobs.scan(base | user)) == 1


def test_the_same_blob_at_two_paths_is_two_files(base: Files) -> None:
    text = "from .parallel_state import tp_rank\ntp_rank()"
    found = Blobs().scan(base | {f"{CORE}/a.py": text, f"{CORE}/sub/a.py": text})
    # The relative import of the second leads elsewhere.
    assert found == [f"{CORE}/a.py <module> tp_rank accessor"]


# Definitions, each with its reads; and lines that read nothing.
PARTS = [
    "def one(tp_group=None):\n    return tp_group or parallel_state.tp_group()",
    "def two():\n    return parallel_state.tp_rank(), parallel_state.tp_rank()",
    (
        "class C:\n    def three(self):\n        if not parallel_state.ready():\n"
        "            return\n        def four():\n            parallel_state.tp_rank()\n"
        "        return four"
    ),
    "def five(parallel_state):\n    return parallel_state.tp_rank()",
    "async def six(x):\n    return [parallel_state.tp_rank() for y in x if parallel_state.ready()]",
]
UNRELATED = ["", "# parallel_state.tp_rank()", "import os", "X = 'tp_rank'", "def other(): ..."]


@unhurried
@given(st.permutations(PARTS), st.lists(st.sampled_from(UNRELATED), min_size=6, max_size=6))
def test_moves_and_unrelated_edits_change_nothing(parts: list[str], between: list[str]) -> None:
    grid = "_G = None\ndef s():\n    global _G\n    _G = new_group()\ndef tp_group(): return _G\n"
    grid += "def tp_rank(): return _G.rank()\ndef ready(): return _G is not None\n"
    blobs = Blobs()

    def reads(pieces: list[str]) -> list[str]:
        text = "\n".join([PS, *pieces])
        return blobs.scan({f"{CORE}/parallel_state.py": grid, f"{CORE}/a.py": text})

    mixed = [piece for pair in zip(between, [*parts, ""], strict=True) for piece in pair]
    assert reads(mixed) == [
        f"{CORE}/a.py C.three.four tp_rank guarded",
        f"{CORE}/a.py one tp_group fallback",
        f"{CORE}/a.py six tp_rank guarded",
        f"{CORE}/a.py two tp_rank accessor",
        f"{CORE}/a.py two tp_rank accessor",
    ]


def many(base: Files) -> Files:
    """More files than the fewest for which workers start."""
    readers = {f"{CORE}/m{n}.py": f"from .n{n} import second as s\ns()\n" for n in range(60)}
    givers = {
        f"{CORE}/n{n}.py": f"from .parallel_state import tp_rank as second\n# {n}\n"
        for n in range(60)
    }
    return base | readers | givers


@pytest.mark.parametrize("processes", [2, 3])
def test_workers_find_what_one_process_finds(base: Files, processes: int) -> None:
    files = many(base)
    blobs = {path: f"{path} {text}" for path, text in files.items()}

    def read_blob(blob: str) -> bytes:
        return blob.partition(" ")[2].encode()

    cache = ScanCache()
    warm(blobs, read_blob, cache, processes)
    assert len(cache.results) == len(files) - 3 + 1  # all but the grid and what stands outside
    alone = scan_tree(blobs, read_blob)
    assert sum(alone.values()) == 60
    assert scan_tree(blobs, lambda blob: pytest.fail(f"read again: {blob}"), cache) == alone


def test_workers_leave_a_file_that_cannot_be_scanned_to_the_scan(base: Files) -> None:
    files = many(base) | {f"{CORE}/m7.py": "parallel_state ("}
    blobs = {path: f"{path} {text}" for path, text in files.items()}
    cache = ScanCache()

    def read_blob(blob: str) -> bytes:
        return blob.partition(" ")[2].encode()

    warm(blobs, read_blob, cache, 2)
    with pytest.raises(ScanError, match=rf"^{CORE}/m7\.py:1: is no Python"):
        scan_tree(blobs, read_blob, cache)


def test_few_files_start_no_workers(base: Files) -> None:
    cache = ScanCache()
    warm(base, lambda path: base[path].encode(), cache, 2)
    assert cache == ScanCache()
