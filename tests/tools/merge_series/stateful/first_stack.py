"""The first stack: main, and a branch a PR, some of them on a parent that was rebased since."""

import itertools
import sys
from collections import Counter
from pathlib import Path

from checkouts import Checkouts
from desk import Desk
from remote import Remote
from small_fork import Commit, Fork
from small_series import Carried, Row, SmallSeries
from tokens import (
    ALLOWLIST,
    EDITED,
    LOCK,
    LOCKER,
    NAMES,
    PARALLEL_STATE,
    READS,
    SLOTS,
    STATE,
    Edit,
    Tokens,
    change,
    written,
)

TEXTS = ("one", "new")  # the last is not there at first; few places, so that changes meet


class FirstStack:
    """The branches as people began them, and what is known of each.

    Attributes:
        met: How often what came about.
    """

    met: Counter[str]

    def write(self, root: Path, depends, *, carried, rebased, is_listed, is_locked) -> None:
        """Write main and a branch a PR, each with a line of its own.

        Args:
            root: An empty folder.
            depends: What each PR depends on, by number.
            carried: The PRs that the series itself brings: a file, and an edit of an upstream one.
            rebased: PRs on main that were rebased since others were begun on them.
            is_listed: Whether main has the allowlist, and not only the first PR.
            is_locked: Whether main has a lock, which a command of the user makes again.
        """
        self._start_anew(root)
        start, files = self._start(is_listed=is_listed, is_locked=is_locked)
        commits = [Commit("main", (), {**files, STATE: PARALLEL_STATE}, "Start main")]
        made = [start]
        self.events["main"] = start
        marks, brought = {"main": ":1"}, {}
        for number, on in depends.items():
            branch, under = f"b{number}", [f"b{d}" for d in on] or ["main"]
            before = frozenset().union(*(self.events[b] for b in under))
            parents = tuple(marks[b] for b in under)
            if len(parents) > 1:
                files = written(self.tokens, self.events[under[0]], before, lambda _: [])
                commits.append(Commit(branch, parents, files, f"Join for {branch}"))
                made.append(frozenset())
                parents = (f":{len(commits)}",)
            if number == 1 and not is_listed:
                listed = frozenset([self.tokens.make("list", ALLOWLIST)])
                files = self.tokens.generated(before | listed)
                commits.append(Commit(branch, parents, files, "Record the reads"))
                made.append(listed)
                before |= listed
                parents = (f":{len(commits)}",)
            new = self._begun(number, brought, is_carried=number in carried)
            files = written(self.tokens, before, before | new, lambda _: [])
            commits.append(Commit(branch, parents, files, f"Begin {branch}"))
            made.append(new)
            self.events[branch] = before | new
            marks[branch] = f":{len(commits)}"
        self._rebase([n for n in sorted(rebased) if depends.get(n) == ()], commits, made)
        ids = self.fork.commit(commits)
        self.own = dict(zip(ids, made, strict=True))
        self.work_on = {
            number: {i for i, c in zip(ids, commits, strict=True) if c.branch == f"b{number}"}
            for number in depends
        }
        self.series.write({n: Row(f"b{n}", on) for n, on in depends.items()}, brought)
        self.met["examples"] += 1
        self.met["branches"] += len(depends)

    def _start(self, *, is_listed, is_locked):
        """What main holds at first, and its files."""
        lines = [("line", file, slot) for file in TEXTS[:1] for slot in range(SLOTS)]
        lines += [("path", file, 0) for file in TEXTS[:1]]
        lines += [("name", NAMES, 0), ("name", NAMES, 1), ("read", READS, 0)]
        lines += [("list", ALLOWLIST)] if is_listed else []
        if is_locked:
            lines.append(("lock", LOCK))
            locker = self.root / "lock.py"
            locker.write_text(LOCKER)
            command = f"{sys.executable} -I -S {locker}"
            self.fork.git("config", f"merge-series.regenerate.{LOCK}.command", command)
        start = frozenset(self.tokens.make(*line) for line in lines)
        return start, written(self.tokens, frozenset(), start, lambda _: [])

    def _rebase(self, numbers, commits, made) -> None:
        """Rebase PRs that stand on main onto a newer main; what was begun on them stays there."""
        if not numbers:
            return
        old = list(zip(commits, made, strict=True))
        new = change(self.tokens, self.events["main"], Edit("add", TEXTS[0], 0))
        main = self._add([("Move main", new)], "main", ":1", commits, made)
        for branch in (f"b{number}" for number in numbers):
            self.events[branch] = self.events["main"]
            again = [(commit.subject, new) for commit, new in old if commit.branch == branch]
            self._add(again, branch, main, commits, made)
        self.met["rebased under others"] += len(numbers)

    def _add(self, again, branch, parent, commits, made) -> str:
        """Put commits on a parent, each with its subject and events; the mark of the last."""
        for subject, new in again:
            before = self.events[branch]
            self.events[branch] = before | new
            files = written(self.tokens, before, before | new, lambda _: [])
            commits.append(Commit(branch, (parent,), files, subject))
            made.append(new)
            parent = f":{len(commits)}"
        return parent

    def _begun(self, number, brought, *, is_carried) -> frozenset:
        file, slot = f"own{number}", number % SLOTS
        line, path = (self.tokens.make(kind, file, slot) for kind in ("line", "path"))
        if not is_carried:
            return frozenset([line, path])
        # Mostly in one place, so that the edits of two PRs meet.
        slot = int(number == 2)
        keyword = self.tokens.make("keyword", EDITED, slot)
        new = frozenset([line, path, keyword])
        (text,) = (token.text for token in self.tokens.alive(new, "keyword").values())
        (stands,) = self.tokens.paths(new, file)
        brought[number] = Carried(stands, self.tokens.text(new, file), slot, text)
        return new

    def _start_anew(self, root: Path) -> None:
        """Know of nothing yet."""
        self.serial = itertools.count(1)
        self.root = root
        self.series = SmallSeries(root)
        self.fork, self.tokens = Fork(root, self.series.path), Tokens()
        self.desk = Desk(self.fork, self.tokens)
        self.checkouts, self.remote = Checkouts(self.fork), Remote(self.fork)
        self.own = {}  # events of the commits made here, by commit
        self.events = {}  # events of every branch
        self.landed = {}  # by PR that main has: the commit there
        self.landings = []  # commits of main that landings are, as ``Landing``
        self.reverts = {}  # reverts on main, by commit
        self.saying = set()  # the PRs that the sync under way keeps, though main reverts them
        self.gone = {}  # by the name of a branch that was deleted: its head, and its events
        self.work_on = {}  # by PR: the commits of its own
        self.named = {}  # the same, of those that no subject on main tells
        self.unlisted = set()  # branches that read what their allowlist does not have
        self.done, self.undone = [], []  # heads and events before and after each operation
        self.is_waiting = False
        self.is_refused = False  # whether it was seen that nothing waits and nothing was done
        self.main = ""  # the commit that the latest sync works with
        self.verified = ()  # what ``verify`` was asked of last
        self.good = {}  # events by head that was found to hold them
