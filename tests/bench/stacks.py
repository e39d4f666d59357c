"""What a sync costs: stacks of branches, main moved by a release, three ways to make the merges.

Run by ``nox -s bench``. This program syncs a whole stack, its start included. The same merges are
then made by ``git checkout`` and ``git merge`` in a worktree, and by the bare ``git merge-tree``
and ``git commit-tree`` alone, side by side with it; every merge has to give the same tree each
time. All numbers are measured in this run, on the machine it names.
"""

import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from carry.bases import ReleaseTree, default_cache, fetch_release
from carry.fork import import_release, open_fork

RELEASES = ("0.17.1", "0.18.2")
SIZES = (10, 50, 200)
ROUNDS = 3
# A worktree takes minutes for the large stacks: there, merges spread evenly over them are measured.
MOST_IN_WORKTREE = 25
CONTEXT = 8  # lines that both releases share around a change, so that no merge conflicts

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


# The stacks


def chain(count: int) -> list[tuple[int, ...]]:
    """What each branch is on, by number from 0: the one before it."""
    return [(), *((number,) for number in range(count - 1))]


def fan(count: int) -> list[tuple[int, ...]]:
    """Every branch is on main alone."""
    return [()] * count


def lattice(count: int) -> list[tuple[int, ...]]:
    """Rows of branches, each of them on two neighbours of the row before."""
    width = math.isqrt(count)
    below = (divmod(number - width, width) for number in range(count))
    return [
        () if row < 0 else (row * width + column, row * width + (column + 1) % width)
        for row, column in below
    ]


SHAPES: dict[str, Callable[[int], list[tuple[int, ...]]]] = {
    "chain": chain,
    "fan": fan,
    "lattice": lattice,
}


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def change(number: int, before: str, after: str) -> str | None:
    """A text with a line of a branch's own, away from what main changes; None if there is no room.

    Branches take turns: one adds an import near the top, the next a remark near the end.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if number % 2:
        top = common(old, new)
        places = [n for n in range(1, top - CONTEXT) if old[n].startswith(("import ", "from "))]
        return (
            "".join([*old[: places[0]], f"import branch_{number}\n", *old[places[0] :]])
            if (places)
            else None
        )
    end = common(old[::-1], new[::-1])
    if end <= CONTEXT:
        return None
    place = len(old) - end + CONTEXT
    return "".join([*old[:place], f"# A remark of branch {number}.\n", *old[place:]])


def changes(count: int) -> list[dict[str, bytes]]:
    """What each branch changes, a file of its own: every third adds one, the others change one.

    They change files that main's release changes as well, as long as there are any.
    """
    before, after = (ReleaseTree(v, fetch_release(v, default_cache())) for v in RELEASES)
    both = [path for path in before.paths() if path.endswith(".py") and after.read(path)]
    both.sort(key=lambda path: before.read(path) == after.read(path))
    made: list[dict[str, bytes]] = []
    rest = iter(both)
    for number in range(count):
        if number % 3 == 2:
            path = f"megatron/core/branches/own_{number}.py"
            made.append({path: f"NUMBER = {number}\n".encode()})
            continue
        for path in rest:
            texts = ((tree.read(path) or b"").decode() for tree in (before, after))
            text = change(number, *texts)
            if text is not None:
                made.append({path: text.encode()})
                break
    if len(made) != count:
        sys.exit(f"error: the releases have files for {len(made)} branches, not {count}")
    return made


def branch(number: int) -> str:
    return f"branch-{number + 1:03}"


def series(stack: Sequence[tuple[int, ...]]) -> str:
    """The SERIES.md of a stack."""
    rows, sections = [], []
    for number, on in enumerate(stack):
        listed = ", ".join(f"#{below + 1}" for below in on) or "main"
        title = f"Change part {number + 1}"
        rows.append(f"| #{number + 1} | `{branch(number)}` | {listed} | {title} | open |\n")
        sections.append(f"\n## #{number + 1} {title}\n\nBrings: part {number + 1}\n")
    head = "# Series\n\n| PR | Branch | Depends on | Title | State |\n|---|---|---|---|---|\n"
    return head + "".join(rows) + "".join(sections)


def imported(stack: Sequence[tuple[int, ...]], made: Sequence[dict[str, bytes]], main: str) -> str:
    """The branches of a stack, as ``git fast-import`` reads them."""
    held: list[set[int]] = []
    stream: list[str] = []
    for number, on in enumerate(stack):
        first, *others = on or (None,)
        held.append({number}.union(*(held[below] for below in on)))
        start = main if first is None else f":{first + 1}"
        stream += [
            f"commit refs/heads/{branch(number)}\nmark :{number + 1}\n",
            f"committer Bench <bench@example.org> {1_700_000_000 + number} +0000\n",
            _data(f"Change part {number + 1}\n"),
            f"from {start}\n",
            *(f"merge :{other + 1}\n" for other in others),
        ]
        there = set() if first is None else held[first]
        for member in sorted(held[number] - there):
            for path, text in made[member].items():
                stream += [f"M 100644 inline {path}\n", _data(text.decode())]
    return "".join(stream)


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"


# The three ways


class Merge(NamedTuple):
    """A merge that this program made."""

    ours: str
    theirs: str
    commit: str


def seconds(*command: str) -> float:
    """How long a process of this program takes, from its start to its end."""
    start = time.perf_counter()
    ran(*command)
    return time.perf_counter() - start


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


def by_merge_tree(fork: Path, merges: Sequence[Merge], trees: Sequence[str]) -> float:
    """Seconds of the bare git processes, in a fork that has none of the merges yet."""
    taken = 0.0
    made: dict[str, str] = {}
    for merge, expected in zip(merges, trees, strict=True):
        ours, theirs = (made.get(side, side) for side in (merge.ours, merge.theirs))
        start = time.perf_counter()
        tree = git(fork, "merge-tree", "--write-tree", ours, theirs)
        commit = git(fork, "commit-tree", "-p", ours, "-p", theirs, "-m", "Merge", tree)
        taken += time.perf_counter() - start
        check(merge, tree, expected)
        made[merge.commit] = commit
    return taken


def by_worktree(
    fork: Path, main: str, merges: Sequence[Merge], trees: Sequence[str]
) -> tuple[float, int]:
    """Seconds of a checkout and a merge in a worktree, for all merges, and how many were made."""
    desk = fork / "desk"
    git(fork, "worktree", "add", "--quiet", "--detach", str(desk), main)
    step = -(-len(merges) // MOST_IN_WORKTREE)
    taken = 0.0
    measured = range(step - 1, len(merges), step)
    for place in measured:
        if step > 1 and place:
            # As it stands there when the merge before has just been made.
            git(desk, "checkout", "--quiet", merges[place - 1].commit)
        merge = merges[place]
        start = time.perf_counter()
        git(desk, "checkout", "--quiet", merge.ours)
        git(desk, "merge", "--quiet", "--no-edit", merge.theirs)
        taken += time.perf_counter() - start
        check(merge, git(desk, "rev-parse", "HEAD^{tree}"), trees[place])
    return taken * len(merges) / len(measured), len(measured)


def check(merge: Merge, made: str, tree: str) -> None:
    if made != tree:
        sys.exit(f"error: merging {merge.theirs} into {merge.ours} gave {made}, not {tree}")


# The measurement


@dataclass(frozen=True)
class Measured:
    """One stack: times in seconds, and what belongs to them."""

    merges: int
    sync: float
    again: float
    bare: float
    worktree: float
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
        syncs.append(seconds(*program(fork, declared)))
        rows = json.loads((fork / ".git/merge_series/done/1.json").read_text())["merged"]
        merges = [Merge(row["ours"], row["theirs"], row["commit"]) for row in rows]
        heads = "".join(f"{merge.commit}^{{tree}}\n" for merge in merges)
        trees = git(fork, "cat-file", "--batch-check=%(objectname)", text=heads).split("\n")
        bares.append(by_merge_tree(copied(start, folder / "bare"), merges, trees))
    again = min(seconds(*program(fork, declared)) for _ in range(ROUNDS))
    worktree, in_worktree = by_worktree(fork, main, merges, trees)
    counted, memory = looked_into(folder, copied(start, folder / "fork"), declared)
    return Measured(
        len(merges), min(syncs), again, min(bares), worktree, in_worktree, counted, memory
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


def main() -> None:
    """Measures and prints."""
    table = Table(
        "stack", "merges", "sync", "nothing to do", "bare git", "ratio", "worktree", "ratio",
        "git processes", "memory", box=None, pad_edge=False,
    )  # fmt: skip
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
        start = min(seconds(*helped) for _ in range(5))
        template = folder / "template"
        fork_of_releases(template)
        for shape, stack in SHAPES.items():
            for count in SIZES:
                found = measure(template, folder / f"{shape}-{count}", stack(count))
                shutil.rmtree(folder / f"{shape}-{count}")
                whole = found.in_worktree == found.merges
                table.add_row(
                    f"{shape} of {count}",
                    str(found.merges),
                    f"{found.sync:.2f} s",
                    f"{found.again:.2f} s",
                    f"{found.bare:.2f} s",
                    f"{found.sync / found.bare:.2f}",
                    f"{found.worktree:.1f} s" if whole else f"({found.worktree:.0f} s)",
                    f"{found.worktree / found.sync:.1f}",
                    str(found.processes),
                    f"{found.memory:.0f} MB",
                )
    version = subprocess.run(["git", "--version"], check=True, capture_output=True, text=True)
    console.print(
        f"main moved from {RELEASES[0]} to {RELEASES[1]}; the best of {ROUNDS} rounds\n"
        f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, "
        f"Python {platform.python_version()}, {version.stdout.strip()}\n"
    )
    console.print(table)
    console.print(
        f"\nThe start of the program takes {start:.2f} s of each sync. In brackets: up to "
        f"{MOST_IN_WORKTREE} merges were measured, the time is for all.",
        style="dim",
    )


if __name__ == "__main__":
    main()
