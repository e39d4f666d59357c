"""What scans found, kept in the git directory: never trusted, never in the way, never too large."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from carry import kept_reads
from carry.generated import ReadScanner
from carry.kept_reads import KeptReads
from process_groups.scan import ScanCache, scan_tree
from stack.repository import Repository

CORE = "megatron/core"
PARALLEL_STATE = """\
_GROUP = None


def setup():
    global _GROUP
    _GROUP = new_group()


def get_group():
    return _GROUP
"""
READER = "from {0} import parallel_state as ps\n\n\ndef f{1}():\n    return ps.get_group()\n"


def files(count: int = 12) -> dict[str, str]:
    readers = {f"{CORE}/m{n}.py": READER.format("megatron.core", n) for n in range(count)}
    own = {f"{CORE}/again.py": "from .m0 import ps as mine\nmine.get_group()\n", f"{CORE}/x.py": ""}
    return {f"{CORE}/parallel_state.py": PARALLEL_STATE, **readers, **own}


class Tree:
    """Files whose blobs are named by their content; counts what is read."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.blobs = {path: f"blob of {text}" for path, text in texts.items()}
        self.read: list[str] = []

    def scan(self, cache: ScanCache | None = None):
        self.read.clear()
        return scan_tree(self.blobs, self._read, cache)

    def _read(self, blob: str) -> bytes:
        self.read.append(blob)
        return blob.removeprefix("blob of ").encode()


def save(path: Path, tree: Tree) -> KeptReads:
    kept = KeptReads(path)
    cache = kept.load()
    tree.scan(cache)
    kept.save(cache, tree.blobs.items())
    return kept


def test_the_next_run_reads_nothing_again(tmp_path):
    tree = Tree(files())
    save(tmp_path / "reads", tree)
    cache = KeptReads(tmp_path / "reads").load()
    assert tree.scan(cache) == Tree(files()).scan()
    assert tree.read == []


def test_what_is_kept_is_what_was_found(tmp_path):
    tree = Tree(files())
    kept = KeptReads(tmp_path / "reads")
    cache = kept.load()
    tree.scan(cache)
    kept.save(cache, tree.blobs.items())
    assert KeptReads(tmp_path / "reads").load() == cache


@pytest.mark.parametrize("place", [0, 40, 70, 100, 150, 1000, -1])
def test_a_damaged_file_is_not_believed_and_made_again(tmp_path, place):
    path = tmp_path / "reads"
    tree = Tree(files())
    save(path, tree)
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    assert KeptReads(path).load() == ScanCache()
    save(path, tree)
    assert KeptReads(path).load() != ScanCache()


@pytest.mark.parametrize("end", [0, 10, 130, 200, -1])
def test_a_file_cut_short_is_not_believed(tmp_path, end):
    path = tmp_path / "reads"
    save(path, Tree(files()))
    path.write_bytes(path.read_bytes()[:end])
    assert KeptReads(path).load() == ScanCache()


def test_a_file_of_another_form_with_a_true_checksum_is_not_believed(tmp_path):
    for body in (b"[]", b"{}", b'{"files": 1}', b'{"files": [[1, 2, 3]]}', b"null"):
        (tmp_path / "reads").write_bytes(kept_reads._head(body) + b"\n" + body)  # noqa: SLF001 - only so can it be made
        assert KeptReads(tmp_path / "reads").load() == ScanCache()


def test_another_scanner_starts_anew(tmp_path):
    # The version covers the sources, so a changed copy of them must not read the same file.
    tools = Path(kept_reads.__file__).parents[1]
    for package in ("carry", "process_groups", "stack"):
        subprocess.run(["cp", "-r", tools / package, tmp_path / package], check=True)
    save(tmp_path / "reads", Tree(files()))
    program = (
        "from pathlib import Path\n"
        "from carry.kept_reads import KeptReads\n"
        f"print(len(KeptReads(Path({str(tmp_path / 'reads')!r})).load().results))\n"
    )

    def known() -> int:
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-c", program]
        return int(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)

    assert known() == 13
    kinds = tmp_path / "process_groups" / "kinds.py"
    kinds.write_text(kinds.read_text() + "# Changed.\n")
    assert known() == 0


def test_the_latest_trees_are_kept_and_older_ones_go(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_reads, "MOST_FILES", 20)
    path = tmp_path / "reads"
    old, new = files(), files() | {f"{CORE}/m{n}.py": "from .m0 import ps\n" for n in range(9)}
    save(path, Tree(old))
    save(path, Tree(new))
    cache = KeptReads(path).load()
    assert {path for path, *_ in cache.results} <= new.keys()
    tree = Tree(new)
    tree.scan(cache)
    assert tree.read == []
    tree = Tree(old)
    tree.scan(cache)
    assert 0 < len(set(tree.read)) <= len(set(tree.blobs.values()))
    sizes = []
    for number in range(6):
        save(path, Tree(files() | {f"{CORE}/n{number}.py": f"ps = {number}\n"}))
        sizes.append(path.stat().st_size)
    assert max(sizes) < 2 * min(sizes)


def test_what_a_kill_left_behind_is_removed_later(tmp_path):
    left, fresh = tmp_path / "reads-a.new", tmp_path / "reads-b.new"
    left.write_text("half")
    fresh.write_text("half")
    hours_ago = time.time() - 7200
    os.utime(left, (hours_ago, hours_ago))
    save(tmp_path / "reads", Tree(files()))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["reads", "reads-b.new"]


def test_concurrent_runs_leave_a_whole_file(tmp_path):
    path = tmp_path / "reads"
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from carry.kept_reads import KeptReads\n"
        "from process_groups.scan import ScanCache\n"
        "for n in range(60):\n"
        f"    kept = KeptReads(Path({str(path)!r}))\n"
        "    known = kept.load()\n"
        "    known.sound.add('x' * 5000 + sys.argv[1] + str(n))\n"
        "    kept.save(known, [('a.py', 'x' * 5000 + sys.argv[1] + str(n))])\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", program, name]) for name in "abcd"]
    while any(run.poll() is None for run in runs):
        if path.exists():
            assert KeptReads(path).load() != ScanCache()
    assert [run.wait() for run in runs] == [0] * 4
    assert [file.name for file in tmp_path.iterdir()] == ["reads"]


@pytest.fixture
def fork(tmp_path):
    folder = tmp_path / "fork"
    for path, text in files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "Start"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def reads_of(fork: Path, objects: Path | None = None) -> int:
    with Repository.open(fork, objects) as repository:
        return ReadScanner(repository).scan(repository.resolve("HEAD")).total()


def test_a_scanner_keeps_what_it_found_in_the_git_directory(fork):
    kept = fork / ".git/merge_series/reads"
    assert reads_of(fork) == 13
    before = kept.stat()
    assert reads_of(fork) == 13
    assert (kept.stat().st_ino, kept.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    kept.write_bytes(b"\0" * 100)
    assert reads_of(fork) == 13
    assert KeptReads(kept).load() != ScanCache()


def test_a_dry_run_writes_nothing(fork, tmp_path):
    (tmp_path / "objects").mkdir()
    assert reads_of(fork, tmp_path / "objects") == 13
    assert not (fork / ".git/merge_series").exists()


def test_a_git_directory_that_cannot_be_written_is_scanned_all_the_same(fork):
    # A file stands where the folder would.
    (fork / ".git/merge_series").write_text("")
    assert reads_of(fork) == 13
    assert (fork / ".git/merge_series").read_text() == ""
