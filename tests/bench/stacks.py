"""What a sync costs: stacks of branches, main moved by a release, three ways to make the merges.

Run by ``nox -s bench``. This program syncs a whole stack, its start included. The same merges are
then made by ``git checkout`` and ``git merge`` in a worktree, and by the bare ``git merge-tree``
and ``git commit-tree`` alone, side by side with it; every merge has to give the same tree each
time. All numbers are measured in this run, on the machine it names.
"""

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from stack_shapes import RELEASES, SHAPES, changes, imported, series

from carry.bases import ReleaseTree, default_cache, fetch_release
from carry.fork import import_release, open_fork

SIZES = (10, 50, 200)
ROUNDS = 3
# A worktree takes minutes for the large stacks: there, merges spread evenly over them are measured.
MOST_IN_WORKTREE = 12

# Those of the installed git, with no settings but these.
CONFIG = """\
[user]
\tname = Bench
\temail = bench@example.org
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""

console = Console(width=110)


# The three ways


class Merge(NamedTuple):
    """A merge that this program made."""

    ours: str
    theirs: str
    commit: str


class Spent(NamedTuple):
    """Seconds from start to end, which another load on the machine adds to, and those of cores."""

    wall: float
    cpu: float

    def __add__(self, other: tuple[float, ...]) -> "Spent":
        return Spent(*(mine + more for mine, more in zip(self, other, strict=True)))

    def times(self, factor: float) -> "Spent":
        return Spent(self.wall * factor, self.cpu * factor)


NOTHING = Spent(0, 0)


def spent(call: Callable[[], object]) -> Spent:
    """What the processes take that a function runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    call()
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def best(all_spent: Iterable[Spent]) -> Spent:
    return Spent(*map(min, zip(*all_spent, strict=True)))


def ran(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed\n{done.stderr}")
    return done.stdout


def git(folder: Path, *arguments: str, text: str = "") -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        input=text, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"error: git {arguments[0]} failed\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def by_merge_tree(fork: Path, merges: Sequence[Merge], trees: Sequence[str]) -> Spent:
    """What the bare git processes take, in a fork that has none of the merges yet."""
    total = NOTHING
    made: dict[str, str] = {}
    for merge, expected in zip(merges, trees, strict=True):
        ours, theirs = (made.get(side, side) for side in (merge.ours, merge.theirs))
        answers: list[str] = []

        def run(ours: str = ours, theirs: str = theirs, answers: list[str] = answers) -> None:
            tree = git(fork, "merge-tree", "--write-tree", ours, theirs)
            sides = ("-p", ours, "-p", theirs)
            answers += [tree, git(fork, "commit-tree", *sides, "-m", "Merge", tree)]

        total += spent(run)
        tree, made[merge.commit] = answers
        check(merge, tree, expected)
    return total


def by_worktree(
    fork: Path, main: str, merges: Sequence[Merge], trees: Sequence[str]
) -> tuple[Spent, int]:
    """What checkouts and merges in a worktree take, for all merges, and how many were made."""
    desk = fork / "desk"
    git(fork, "worktree", "add", "--quiet", "--detach", str(desk), main)
    step = -(-len(merges) // MOST_IN_WORKTREE)
    total = NOTHING
    measured = range(step - 1, len(merges), step)
    for place in measured:
        if step > 1 and place:
            # As it stands there when the merge before has just been made.
            git(desk, "checkout", "--quiet", merges[place - 1].commit)
        merge = merges[place]

        def run(merge: Merge = merge) -> None:
            git(desk, "checkout", "--quiet", merge.ours)
            git(desk, "merge", "--quiet", "--no-edit", merge.theirs)

        total += spent(run)
        check(merge, git(desk, "rev-parse", "HEAD^{tree}"), trees[place])
    return total.times(len(merges) / len(measured)), len(measured)


def check(merge: Merge, made: str, tree: str) -> None:
    if made != tree:
        sys.exit(f"error: merging {merge.theirs} into {merge.ours} gave {made}, not {tree}")


# The measurement


@dataclass(frozen=True)
class Measured:
    """One stack: what each way takes, and what belongs to it."""

    merges: int
    sync: Spent
    again: Spent
    bare: Spent
    worktree: Spent
    in_worktree: int
    processes: int
    memory: float  # MB


def program(fork: Path, declared: Path, *run: str) -> tuple[str, ...]:
    place = ("--repo", str(fork), "--series", str(declared))
    return (sys.executable, *(run or ("-m", "merge_series")), *place, "sync")


def copied(start: Path, fork: Path) -> Path:
    shutil.rmtree(fork, ignore_errors=True)
    shutil.copytree(start, fork)
    return fork


def measure(template: Path, folder: Path, stack: Sequence[tuple[int, ...]]) -> Measured:
    """Sync one stack in the three ways, in turns; the best of some rounds counts."""
    folder.mkdir()
    declared = folder / "SERIES.md"
    declared.write_text(series(stack))
    main = git(template, "rev-parse", "main")
    start = copied(template, folder / "start")
    git(start, "fast-import", "--quiet", text=imported(stack, changes(len(stack)), f"{main}~1"))
    syncs, bares = [], []
    for _ in range(ROUNDS):
        fork = copied(start, folder / "fork")
        syncs.append(spent(partial(ran, *program(fork, declared))))
        rows = json.loads((fork / ".git/merge_series/done/1.json").read_text())["merged"]
        merges = [Merge(row["ours"], row["theirs"], row["commit"]) for row in rows]
        heads = "".join(f"{merge.commit}^{{tree}}\n" for merge in merges)
        trees = git(fork, "cat-file", "--batch-check=%(objectname)", text=heads).split("\n")
        bares.append(by_merge_tree(copied(start, folder / "bare"), merges, trees))
    again = best(spent(partial(ran, *program(fork, declared))) for _ in range(ROUNDS))
    worktree, in_worktree = by_worktree(fork, main, merges, trees)
    counted, memory = looked_into(folder, copied(start, folder / "fork"), declared)
    return Measured(
        len(merges), best(syncs), again, best(bares), worktree, in_worktree, counted, memory
    )


# What `ru_maxrss` says of a process holds what the one had that started it.
PEAK = """
import atexit, re, runpy
status = lambda: open("/proc/self/status").read()
atexit.register(lambda: print(re.search(r"VmHWM:\\s*(\\d+)", status())[1]))
runpy.run_module("merge_series", run_name="__main__", alter_sys=True)
"""


def looked_into(folder: Path, fork: Path, declared: Path) -> tuple[int, float]:
    """How many git processes a sync starts, as git itself tells, and its peak memory in MB."""
    told = folder / "told"
    told.mkdir()
    os.environ["GIT_TRACE2_EVENT"] = str(told)
    peak = ran(*program(fork, declared, "-c", PEAK))
    del os.environ["GIT_TRACE2_EVENT"]
    return len(list(told.iterdir())), int(peak) / 1024


def fork_of_releases(folder: Path) -> None:
    with open_fork(folder) as repository:
        for version in RELEASES:
            import_release(
                repository, ReleaseTree(version, fetch_release(version, default_cache())), version
            )
    git(folder, "symbolic-ref", "HEAD", "refs/heads/none")
    git(folder, "repack", "-a", "-d", "-q")


def columns(found: Measured) -> list[list[str]]:
    """What the two tables say of one stack: first the seconds, then those of all cores."""
    whole = found.in_worktree == found.merges
    both = zip(found.sync, found.again, found.bare, found.worktree, strict=True)
    return [
        [
            str(found.merges),
            f"{sync:.2f} s",
            f"{again:.2f} s",
            f"{bare:.2f} s",
            f"{sync / bare:.2f}",
            f"{worktree:.1f} s" if whole else f"({worktree:.0f} s)",
            f"{worktree / sync:.1f}",
            str(found.processes),
            f"{found.memory:.0f} MB",
        ]
        for sync, again, bare, worktree in both
    ]


def main() -> None:
    """Measures and prints."""
    names = (
        "merges", "sync", "again", "bare git", "ratio", "worktree", "ratio", "processes", "memory",
    )  # fmt: skip
    titles = ("seconds", "of all cores")
    tables = [Table(title, *names, box=None, pad_edge=False) for title in titles]
    for table in tables:
        for column in table.columns[1:]:
            column.justify = "right"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "gitconfig").write_text(CONFIG)
        os.environ |= {
            "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),
            "GIT_CONFIG_SYSTEM": os.devnull,
            # As an installed program has it: compiled once.
            "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
        }
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        helped = (sys.executable, "-m", "merge_series", "sync", "--help")
        start = best(spent(partial(ran, *helped)) for _ in range(5))
        template = folder / "template"
        fork_of_releases(template)
        for shape, stack in SHAPES.items():
            for count in SIZES:
                found = measure(template, folder / f"{shape}-{count}", stack(count))
                shutil.rmtree(folder / f"{shape}-{count}")
                for table, row in zip(tables, columns(found), strict=True):
                    table.add_row(f"{shape} of {count}", *row)
    version = subprocess.run(["git", "--version"], check=True, capture_output=True, text=True)
    console.print(
        f"main moved from {RELEASES[0]} to {RELEASES[1]}; the best of {ROUNDS} rounds\n"
        f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, "
        f"load {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}, {version.stdout.strip()}\n"
    )
    for table in tables:
        console.print(table)
        console.print()
    console.print(
        f"The start of the program takes {start.wall:.2f} s of each sync, {start.cpu:.2f} s of all "
        f"cores; again is a sync with nothing to do. In brackets: up to {MOST_IN_WORKTREE} merges "
        "were measured, the time is for all.",
        style="dim",
    )


if __name__ == "__main__":
    main()
