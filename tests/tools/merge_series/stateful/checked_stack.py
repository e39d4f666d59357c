"""The stack with what every branch must hold, and the checks after every run of the program."""

import itertools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from desk import Desk
from small_fork import KILLED, Commit, Fork
from tokens import (
    ALLOWLIST,
    NAMES,
    PARALLEL_STATE,
    READS,
    SLOTS,
    STATE,
    Tokens,
    faults,
    written,
)

from carry.carried import Carrier
from merge_series.inspect import verify
from merge_series.operations import Operations
from stack.repository import Repository, Sha

TEXTS = ("one", "new")  # the last is not there at first; few places, so that changes meet


@dataclass(frozen=True, slots=True)
class Move:
    """An operation that moved branches, and what it takes to go back.

    Attributes:
        old: Heads to go back to.
        new: Heads it left.
        events: What those branches held before and after.
        series: SERIES.md before and after, where it was rewritten.
    """

    old: dict
    new: dict
    events: tuple
    series: tuple

    def stands(self, heads, series) -> bool:
        """Whether nothing has changed since."""
        return self.new.items() <= heads.items() and self.series[1] in {None, series}

    def turned(self) -> "Move":
        """The way forth again."""
        return Move(self.new, self.old, self.events[::-1], self.series[::-1])


class CheckedStack:
    """The branches, what each must hold, and what was done to them.

    Attributes:
        met: How often what came about.
    """

    met: Counter[str]

    def write(self, root: Path, depends: dict[int, tuple[int, ...]], *, is_listed: bool) -> None:
        """Write main and a branch a PR, each with a line of its own.

        Args:
            root: An empty folder.
            depends: What each PR depends on, by number.
            is_listed: Whether main has the allowlist, and not only the first PR.
        """
        self.serial = itertools.count(1)
        self.root, self.depends = root, depends
        self.fork, self.tokens = Fork(root, depends), Tokens()
        self.desk = Desk(self.fork, self.tokens)
        self.own = {}  # events of the commits made here, by commit
        self.events = {}  # events of every branch
        self.landed = {}  # by PR that main has: the commit there
        self.unlisted = set()  # branches that read what their allowlist does not have
        self.done, self.undone = [], []  # heads and events before and after each operation
        self.is_waiting = False
        self.is_refused = False  # whether it was seen that nothing waits and nothing was done
        self.main = ""  # the commit that the latest sync works with
        self.good = {}  # events by head that was found to hold them
        lines = [("line", file, slot) for file in TEXTS[:1] for slot in range(SLOTS)]
        lines += [("path", file, 0) for file in TEXTS[:1]]
        lines += [("name", NAMES, 0), ("name", NAMES, 1), ("read", READS, 0)]
        start = frozenset(self.tokens.make(*line) for line in lines)
        listed = frozenset([self.tokens.make("list", ALLOWLIST)])
        if is_listed:
            start |= listed
        files = written(self.tokens, frozenset(), start, lambda _: [])
        commits = [Commit("main", (), {**files, STATE: PARALLEL_STATE}, "Start main")]
        made = [start]
        self.events["main"] = start
        marks = {"main": ":1"}
        for number, on in depends.items():
            branch, below = f"b{number}", [f"b{d}" for d in on] or ["main"]
            before = frozenset().union(*(self.events[b] for b in below))
            parents = tuple(marks[b] for b in below)
            if len(parents) > 1:
                files = written(self.tokens, self.events[below[0]], before, lambda _: [])
                commits.append(Commit(branch, parents, files, f"Join for {branch}"))
                made.append(frozenset())
                parents = (f":{len(commits)}",)
            new = frozenset(
                self.tokens.make(kind, f"own{number}", number % SLOTS) for kind in ("line", "path")
            )
            if number == 1 and not is_listed:
                files = {ALLOWLIST: self.tokens.allowlist(before | listed)}
                commits.append(Commit(branch, parents, files, "Record the reads"))
                made.append(listed)
                before |= listed
                parents = (f":{len(commits)}",)
            files = written(self.tokens, before, before | new, lambda _: [])
            commits.append(Commit(branch, parents, files, f"Begin {branch}"))
            made.append(new)
            self.events[branch] = before | new
            marks[branch] = f":{len(commits)}"
        self.own = dict(zip(self.fork.commit(commits), made, strict=True))
        self.met["stacks"] += 1
        self.met["branches"] += len(depends)
        self.check_branches(self.fork.heads())

    def repaired(self, ran) -> None:
        """After a run that may have been killed: repair, as the next command does first."""
        if ran.code != KILLED:
            return
        self.met["killed"] += 1
        self.fork.repair()
        with Repository.open(self.fork.path) as repository:
            assert not [r for r in Operations(repository).journal.records() if r.is_under_way]

    def synced(self, ran, kept) -> None:
        """After a sync that was not refused."""
        assert ran.code in {0, 3}, ran
        before, now = kept["heads"], self.fork.heads()
        assert now["main"] == before["main"]
        if ran.code == 3:
            assert self.fork.kept()["refs"] == kept["refs"]
            assert self.fork.series.read_bytes() == kept["series"]
            self.is_waiting = True
            self.met["stopped"] += 1
            return
        self.is_waiting = False
        assert not (self.fork.state / "stopped.json").exists()
        assert self.leftovers() == []
        old = dict(self.events)
        landed = {n for n, s in self.landed.items() if s in self.fork.contained(self.main)}
        for number, on in self.depends.items():
            branch = f"b{number}"
            if number in landed:
                assert now[branch] == before[branch]
                continue
            below = [f"b{d}" for d in on if d not in landed]
            wanted = {self.main, *(now[b] for b in below)}
            if wanted <= self.fork.contained(before[branch]):
                assert now[branch] == before[branch]
            assert wanted | {before[branch]} <= self.fork.contained(now[branch]), branch
            assert before[branch] in self.fork.first_parents(now[branch])
            sides = (self.held(self.main), *(self.events[b] for b in below))
            self.events[branch] |= frozenset().union(*sides)
        moved = {b: head for b, head in now.items() if head != before[b]}
        series = self.fork.series.read_bytes()
        rewritten = (None, None) if series == kept["series"] else (kept["series"], series)
        assert series.count(b"| landed |") == len(landed)
        if moved:
            from_, to = {b: before[b] for b in moved}, {b: old[b] for b in moved}
            events = (to, {b: self.events[b] for b in moved})
            self.done.append(Move(from_, moved, events, rewritten))
            self.undone.clear()
        self.met["synced" if moved else "nothing to sync"] += 1
        self.met["absorbed a landing"] += bool(landed and moved)
        self.check_branches(now)
        self.check_verify(now)

    def check_branches(self, heads) -> None:
        """Every branch holds what it must, and nothing more."""
        assert set(heads) == set(self.events)
        for branch, head in heads.items():
            if branch not in self.unlisted and self.good.get(head) != self.events[branch]:
                found = faults(self.tokens, self.events[branch], self.fork.files(head))
                assert not found, (branch, found)
                self.good[head] = self.events[branch]

    def check_verify(self, heads) -> None:
        """``verify`` finds what is known to be missing, and nothing else."""
        carrier = Carrier.open(self.fork.series)
        with Repository.open(self.fork.path) as repository:
            checks = verify(repository, carrier, Operations(repository), "main", Sha(heads["main"]))
        found = {(check.branch, check.name) for check in checks if check.found}
        known = {(branch, "allowlist true") for branch in self.unlisted}
        live = {pr.number: pr for pr in carrier.series if pr.state == "open"}
        known |= {
            (pr.branch, "dependencies contained")
            for pr in live.values()
            for d in pr.depends_on
            if d in live and heads[f"b{d}"] not in self.fork.contained(heads[pr.branch])
        }
        assert found == known, checks
        self.met["verified"] += 1

    def held(self, *commits) -> frozenset:
        """The events of commits, by the history alone."""
        known = frozenset().union(*map(self.fork.contained, commits))
        return frozenset().union(*(self.own.get(commit, ()) for commit in known))

    def leftovers(self) -> list[str]:
        """What a run that ended may not leave."""
        places = [self.fork.path.glob("*"), self.fork.path.glob("refs/**/*")]
        places += [self.fork.state.glob("**/*"), self.fork.path.glob("worktrees/*")]
        return [
            str(file)
            for file in itertools.chain(*places)
            if file.suffix in {".lock", ".new"} or file.parent.name in {"worktrees", "worktree"}
        ]
