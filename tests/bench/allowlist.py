"""What the allowlist costs: its speed beside ``git grep``, and merges of it as text.

Run by ``nox -s bench``. Every number is measured in this run, on the machine it names; a ratio
compares two things measured side by side.
"""

import ast
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from carry.bases import ReleaseTree, default_cache, fetch_release
from carry.generated import ReadScanner
from process_groups import allowlist
from process_groups.errors import ScanError
from process_groups.grid import derive
from process_groups.reads import Lines
from process_groups.scan import ScanCache, count, find_tree
from process_groups.source import parse
from process_groups.workers import warm
from stack.repository import Repository

CORE = "megatron/core"
GRID = f"{CORE}/parallel_state.py"
RELEASES = ("0.16.1", "0.17.1", "0.18.2", "0.19.0", "0.19.2")
CHANGED_FILES = 20
SPLITS = 25
PAIRS = 200

Files = Mapping[str, str]

console = Console(width=100)


def release(version: str) -> dict[str, str]:
    tree = ReleaseTree(version, fetch_release(version, default_cache()))
    return {
        path: (tree.read(path) or b"").decode()
        for path in tree.paths()
        if path.startswith(f"{CORE}/") and path.endswith(".py")
    }


# Speed


def best_of(times: int, run: Callable[[], object], clock: Callable[[], float]) -> float:
    taken = []
    for _ in range(times):
        start = clock()
        run()
        taken.append(clock() - start)
    return min(taken)


def speed(files: Files, folder: Path) -> Table:
    git = ["git", "-C", str(folder), "-c", "user.name=b", "-c", "user.email=b@example.org"]

    def commit(tree: Files) -> str:
        for path, text in tree.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message", "Tree"], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True)
        return head.stdout.decode().strip()

    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    whole = commit(files)
    grid = derive(parse(files[GRID].encode(), GRID).tree).grid
    names = "|".join(sorted({*grid.accessors, *grid.state, "use_mpu_process_groups"}))
    chance = random.Random(5)  # noqa: S311 - the same files on every machine
    reading = sorted({read.path for read in scan(files)})

    def change(paths: list[str]) -> str:
        return commit({path: f"{files[path]}\n# Changed.\n" for path in paths})

    any_files = change(chance.sample(sorted(files.keys() - {GRID}), CHANGED_FILES))
    commit(files)
    readers = change(chance.sample(reading, CHANGED_FILES))

    def grep() -> None:
        command = [*git, "grep", "-wcE", f"parallel_state|mpu|{names}", whole, "--", CORE]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def all_cores() -> None:
        cache = ScanCache()
        blobs = {path: path for path in files}
        warm(blobs, lambda path: files[path].encode(), cache)
        find_tree(blobs, lambda path: files[path].encode(), cache)

    kept = folder / ".git/merge_series/reads"

    def again(revision: str) -> float:
        """The best of some runs that find what a run before kept."""
        content = kept.read_bytes()
        taken = []
        with Repository.open(folder) as repository:
            for _ in range(15):
                commit = repository.resolve(revision)
                start = time.perf_counter()
                ReadScanner(repository).scan(commit)
                taken.append(time.perf_counter() - start)
                kept.write_bytes(content)
        return min(taken)

    floor = best_of(7, grep, time.perf_counter)
    alone = best_of(3, lambda: scan(files), time.process_time)
    cores = best_of(3, all_cores, time.perf_counter)
    with Repository.open(folder) as repository:
        ReadScanner(repository).scan(repository.resolve(whole))
    rows = [
        ("git grep for the same names, whole tree", floor, None),
        ("cold, one process (CPU)", alone, 2.0),
        (f"cold, {len(os.sched_getaffinity(0))} cores", cores, None),
        ("warm, unchanged tree, from the git directory", again(whole), 0.015),
        (f"merged tree, {CHANGED_FILES} changed files", again(any_files), 0.100),
        (f"the same, all {CHANGED_FILES} of them files with reads", again(readers), None),
    ]
    table = Table("scan of megatron-core 0.19.2", "ms", "x git grep", "bound, ms", "")
    for name, seconds, bound in rows:
        verdict = "" if bound is None else ("held" if seconds <= bound else "NOT HELD")
        limit = "" if bound is None else f"{bound * 1000:.0f}"
        table.add_row(name, f"{seconds * 1000:.1f}", f"{seconds / floor:.2f}", limit, verdict)
    return table


# Merges of the list as text

CACHE = ScanCache()


def scan(files: Files, cache: ScanCache | None = None) -> Lines:
    blobs = {path: text if cache is not None else path for path, text in files.items()}
    texts = {blobs[path]: text for path, text in files.items()}
    return find_tree(blobs, lambda blob: texts[blob].encode(), cache)


def as_listed(places: Lines) -> str:
    return allowlist.render(count(places))


def with_lines_and_total(places: Lines) -> str:
    lines = sorted(
        f"{read.path}:{line:05d} {read.scope} {read.function} {read.kind}"
        for read, numbers in places.items()
        for line in numbers
    )
    return "".join(f"{line}\n" for line in [f"# {len(lines)} reads", *lines])


FORMATS = {
    "one read a line, no totals": as_listed,
    "line numbers and a total": with_lines_and_total,
}


def merged(base: str, ours: str, theirs: str) -> str | None:
    """Git's merge of three texts, or None for a conflict."""
    if theirs in {ours, base}:
        return ours
    if ours == base:
        return theirs
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
            (Path(folder) / name).write_text(text)
            names.append(str(Path(folder) / name))
        done = subprocess.run(
            ["git", "merge-file", "--stdout", *names], check=False, capture_output=True
        )
    return done.stdout.decode() if done.returncode == 0 else None


@dataclass
class Tally:
    """How merges of the list ended, by format."""

    merges: int = 0
    ends: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, base: Files, ours: Files, theirs: Files, result: Files) -> None:
        self.merges += 1
        places = [scan(files, CACHE) for files in (base, ours, theirs, result)]
        for name, render in FORMATS.items():
            *sides, truth = map(render, places)
            text = merged(*sides)
            end = "conflict" if text is None else ("true" if text == truth else "stale")
            self.ends[name, end] += 1


def between_releases(trees: list[Files]) -> Tally:
    """Each step between releases, split at random into what two branches bring."""
    tally = Tally()
    chance = random.Random(5)  # noqa: S311 - the same splits on every machine
    for old, new in pairwise(trees):
        paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
        for _ in range(SPLITS):
            side = {path: chance.random() < 0.5 for path in paths}
            sides = []
            for mine in (True, False):
                taken = {path for path in paths if side[path] is mine}
                kept = {path: text for path, text in old.items() if path not in taken}
                sides.append(kept | {path: new[path] for path in taken if path in new})
            try:
                tally.add(old, *sides, new)
            except ScanError:
                continue  # a split without the grid that its files need
    return tally


@dataclass(frozen=True)
class Edit:
    """A random change to a file; numbers are taken modulo what there is."""

    file: int
    what: str
    where: int
    more: int

    def apply(self, files: dict[str, str], paths: list[str], functions: list[str]) -> None:
        path = paths[self.file % len(paths)]
        lines = files[path].split("\n")
        function = functions[self.more % len(functions)]
        read = f"from {CORE.replace('/', '.')}.parallel_state import {function} as read; read()"
        tree = ast.parse(files[path])
        bodies = [
            node.body[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.body[0].lineno > node.lineno
        ]
        if self.what == "comment":
            at = self.where % len(lines)
            lines[at:at] = ["# a remark"] * (1 + self.more % 5)
        elif self.what == "function" or not bodies:
            lines += ["", f"def added_{self.more}():", f"    {read}"]
        elif self.what == "read":
            first = bodies[self.where % len(bodies)]
            lines.insert(first.lineno - 1, " " * first.col_offset + read)
        else:
            # Remove a read: ask instead whether there is a grid.
            reads = [
                (number, name)
                for number, line in enumerate(lines)
                for name in functions
                if f"{name}(" in line
            ]
            if reads:
                number, name = reads[self.where % len(reads)]
                lines[number] = lines[number].replace(f"{name}(", "bool(", 1)
        files[path] = "\n".join(lines)


_numbers = st.integers(0, 10**6)
_edits = st.lists(
    st.builds(
        Edit,
        file=_numbers,
        what=st.sampled_from(["comment", "function", "read", "removal"]),
        where=_numbers,
        more=_numbers,
    ),
    min_size=1,
    max_size=4,
)


def between_edits(files: Files) -> Tally:
    """Random pairs of changes to random files that hold reads."""
    tally = Tally()
    paths = sorted({read.path for read in scan(files, CACHE)})
    functions = sorted(derive(parse(files[GRID].encode(), GRID).tree).grid.accessors)

    @settings(
        max_examples=PAIRS,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_edits, _edits)
    def compare(mine: list[Edit], yours: list[Edit]) -> None:
        sides = []
        for edits in (mine, yours):
            side = dict(files)
            try:
                for edit in edits:
                    edit.apply(side, paths, functions)
                scan(side, CACHE)
            except (SyntaxError, ScanError):
                assume(False)  # noqa: FBT003 - a remark in the middle of a statement, say
            sides.append(side)
        texts = {
            path: merged(text, *(side[path] for side in sides)) for path, text in files.items()
        }
        # Where the code itself conflicts, the list is not the question.
        assume(None not in texts.values())
        try:
            tally.add(files, *sides, texts)
        except ScanError:
            assume(False)  # noqa: FBT003 - merged cleanly into what does not parse

    compare()
    return tally


def merges(title: str, tally: Tally) -> Table:
    table = Table(f"{tally.merges} merges: {title}", "textual conflict", "clean but stale", "true")
    for name in FORMATS:
        ends = (tally.ends[name, end] for end in ("conflict", "stale", "true"))
        table.add_row(name, *map(str, ends))
    return table


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        named = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = named[0].partition(":")[2].strip() if named else cpu
    git = subprocess.run(["git", "--version"], check=True, capture_output=True, text=True).stdout
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    cores = len(os.sched_getaffinity(0))
    return f"{cpu}, {cores} cores{load}, Python {platform.python_version()}, {git.strip()}"


def main() -> None:
    console.print(machine())
    trees = [release(version) for version in RELEASES]
    with tempfile.TemporaryDirectory() as folder:
        console.print(speed(trees[-1], Path(folder) / "fork"))
    steps = "a step between releases, split at random in two"
    console.print(merges(steps, between_releases(trees)))
    console.print(merges("random edits in files that hold reads", between_edits(trees[-1])))


if __name__ == "__main__":
    sys.exit(main())
