"""The stack with what every branch must hold, and the checks after every run of the program."""

import itertools
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from checkouts import Checkouts
from desk import Desk
from remote import Remote
from small_fork import KILLED, Commit, Fork
from small_series import Carried, Row, SmallSeries, below, live, rows_of
from tokens import (
    ALLOWLIST,
    EDITED,
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
from stack.git_answers import Sha
from stack.repository import Repository

TEXTS = ("one", "new")  # the last is not there at first; few places, so that changes meet

# How the program settles conflicts, by a part of what it says.
SETTLED = {
    "the edits of": "by edits",
    "import statements": "imports",
    "regenerated": "a generated file",
    "settled it": "as before",
    "by a person": "by a person",
}


@dataclass(frozen=True, slots=True)
class Move:
    """An operation that moved branches, and what it takes to go back.

    Attributes:
        old: Heads to go back to; None for a branch that was made.
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
        is_there = all(heads.get(branch) == head for branch, head in self.new.items())
        return is_there and self.series[1] in {None, series}

    def turned(self) -> "Move":
        """The way forth again."""
        return Move(self.new, self.old, self.events[::-1], self.series[::-1])


def moved(known, changes) -> dict:
    """What is known of every branch after some changed; None: the branch is gone."""
    return {branch: what for branch, what in (known | changes).items() if what is not None}


class CheckedStack:
    """The branches, what each must hold, and what was done to them.

    Attributes:
        met: How often what came about.
    """

    met: Counter[str]

    def write(self, root: Path, depends, *, carried, is_listed) -> None:
        """Write main and a branch a PR, each with a line of its own.

        Args:
            root: An empty folder.
            depends: What each PR depends on, by number.
            carried: The PRs that the series itself brings: a file, and an edit of an upstream one.
            is_listed: Whether main has the allowlist, and not only the first PR.
        """
        self.serial = itertools.count(1)
        self.root = root
        self.series = SmallSeries(root)
        self.fork, self.tokens = Fork(root, self.series.path), Tokens()
        self.desk = Desk(self.fork, self.tokens)
        self.checkouts, self.remote = Checkouts(self.fork), Remote(self.fork)
        self.own = {}  # events of the commits made here, by commit
        self.events = {}  # events of every branch
        self.landed = {}  # by PR that main has: the commit there
        self.named = {}  # the same, of those that no subject on main tells
        self.unlisted = set()  # branches that read what their allowlist does not have
        self.done, self.undone = [], []  # heads and events before and after each operation
        self.is_waiting = False
        self.is_refused = False  # whether it was seen that nothing waits and nothing was done
        self.main = ""  # the commit that the latest sync works with
        self.verified = ()  # what ``verify`` was asked of last
        self.good = {}  # events by head that was found to hold them
        start, files = self._start(is_listed=is_listed)
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
                files = {ALLOWLIST: self.tokens.allowlist(before | listed)}
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
        self.own = dict(zip(self.fork.commit(commits), made, strict=True))
        self.series.write({n: Row(f"b{n}", on) for n, on in depends.items()}, brought)
        self.met["examples"] += 1
        self.met["branches"] += len(depends)
        self.check_branches(self.fork.heads())

    def _start(self, *, is_listed):
        """What main holds at first, and its files."""
        lines = [("line", file, slot) for file in TEXTS[:1] for slot in range(SLOTS)]
        lines += [("path", file, 0) for file in TEXTS[:1]]
        lines += [("name", NAMES, 0), ("name", NAMES, 1), ("read", READS, 0)]
        lines += [("list", ALLOWLIST)] if is_listed else []
        start = frozenset(self.tokens.make(*line) for line in lines)
        return start, written(self.tokens, frozenset(), start, lambda _: [])

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

    @property
    def rows(self) -> dict[int, Row]:
        """The rows of SERIES.md, dependencies first."""
        return self.series.rows

    def branch(self, number) -> str:
        """The branch of a PR."""
        return self.rows[number].branch

    def commit(self, commits) -> list[str]:
        """Make commits on branches; where one is checked out, it is brought there too."""
        made = self.fork.commit(commits)
        for branch in {commit.branch for commit in commits} & self.checkouts.folders.keys():
            self.checkouts.discard(branch)
        return made

    def kept(self) -> dict:
        """All that a run which is refused leaves as it was."""
        remote = {"remote": self.remote.heads()} if self.remote.path.exists() else {}
        return self.fork.kept() | self.checkouts.kept() | remote

    def repaired(self, ran) -> None:
        """After a run that may have been killed: repair, as the next command does first."""
        if ran.code != KILLED:
            return
        self.met["killed"] += 1
        self.fork.repair()
        with Repository.open(self.fork.path) as repository:
            assert not [r for r in Operations(repository).journal.records() if r.is_under_way]

    def landed_in(self, main, rows) -> set[int]:
        """The PRs that a commit of main has in another form."""
        held = self.fork.contained(main)
        known = {n: commit for n, commit in self.landed.items() if n in rows}
        return {n for n, s in known.items() if s in held and rows[n].state != "superseded"}

    def lacking(self, heads, main) -> set[str]:
        """The branches that a sync with main has to move."""
        rows = live(self.rows)
        rows = {n: row for n, row in rows.items() if n not in self.landed_in(main, rows)}
        found = set()
        for row in rows.values():
            under = [rows[d].branch for d in row.on if d in rows]
            wanted = {main, *(heads[b] for b in under)}
            if not found.isdisjoint(under) or not wanted <= self.fork.contained(heads[row.branch]):
                found.add(row.branch)
        return found

    def synced(self, ran, kept) -> None:
        """After a sync that was not refused."""
        assert ran.code in {0, 3}, ran
        before, now = kept["heads"], self.fork.heads()
        assert now["main"] == before["main"]
        if ran.code == 3:
            assert (self.fork.state / "stopped.json").exists(), ran
            after = self.kept()
            files = {"refs", "series", *self.checkouts.kept()}
            assert {k: after[k] for k in files} == {k: kept[k] for k in files}
            self.is_waiting = True
            self.met["stopped"] += 1
            return
        self.is_waiting = False
        assert not (self.fork.state / "stopped.json").exists()
        assert self.leftovers() == []
        old = dict(self.events)
        rows = rows_of(kept["series"])
        landed = self.landed_in(self.main, rows)
        moving = set()
        for number, row in rows.items():
            branch = row.branch
            if number in landed or row.state != "open":
                assert now[branch] == before[branch]
                continue
            under = [rows[d].branch for d in row.on if d not in landed and rows[d].state == "open"]
            wanted = {self.main, *(now[b] for b in under)}
            if wanted <= self.fork.contained(before[branch]):
                assert now[branch] == before[branch]
            assert wanted | {before[branch]} <= self.fork.contained(now[branch]), branch
            assert before[branch] in self.fork.first_parents(now[branch])
            sides = (self.held(self.main), *(self.events[b] for b in under))
            self.events[branch] |= frozenset().union(*sides)
            moving |= {branch} if now[branch] != before[branch] else set()
        expected = {n: Row(r.branch, r.on, "landed") if n in landed else r for n, r in rows.items()}
        assert self.rows == expected
        if moving:
            self.did(kept, old, dict.fromkeys(moving))
        self.met["synced" if moving else "nothing to sync"] += 1
        self.met["absorbed a landing"] += bool(landed and moving)
        self.check_all(now)

    def did(self, kept, events, branches) -> None:
        """Note an operation that moved or made branches, from what was before it."""
        heads, series = self.fork.heads(), self.series.path.read_bytes()
        rewritten = (None, None) if series == kept["series"] else (kept["series"], series)
        self.done.append(
            Move(
                {b: kept["heads"].get(b) for b in branches},
                {b: heads[b] for b in branches},
                ({b: events.get(b) for b in branches}, {b: self.events[b] for b in branches}),
                rewritten,
            )
        )
        self.undone.clear()
        *_, record = sorted(self.fork.state.glob("done/*.json"), key=lambda file: int(file.stem))
        merged = json.loads(record.read_text())["merged"]
        hows = [file["how"] for merge in merged for file in merge["settled"] if file["conflicted"]]
        for how, what in SETTLED.items():
            self.met[f"settled: {what}"] += sum(how in text for text in hows)

    def check_all(self, heads) -> None:
        """Every check there is, after branches moved."""
        self.checkouts.check(heads)
        self.check_branches(heads)
        self.check_verify(heads)

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
        journal = sorted(file.read_bytes() for file in self.fork.state.glob("done/*"))
        if self.verified == (heads, journal, self.series.path.read_bytes()):
            return
        self.verified = (heads, journal, self.series.path.read_bytes())
        carrier = Carrier.open(self.fork.series)
        with Repository.open(self.fork.path) as repository:
            checks = verify(repository, carrier, Operations(repository), "main", Sha(heads["main"]))
        found = {(check.branch, check.name) for check in checks if check.found}
        known = {(branch, "allowlist true") for branch in self.unlisted}
        rows = live(self.rows)
        known |= {
            (row.branch, "dependencies contained")
            for row in rows.values()
            for d in row.on
            if d in rows and heads[rows[d].branch] not in self.fork.contained(heads[row.branch])
        }
        # What a branch lacks of a dependency, its tree lacks of the carried one.
        lacks = {row.branch for n, row in rows.items() if self._lacks(n, rows, heads)}
        # What a person settled need not be what the edits make of it, and verify says so.
        settled = {
            merge["commit"]
            for record in map(json.loads, journal)
            for merge in record["merged"]
            if any("by a person" in file["how"] for file in merge["settled"])
        }
        settled_in = {b for b, head in heads.items() if settled & set(self.fork.contained(head))}
        found -= {(branch, "tree is the carried tree") for branch in lacks | settled_in}
        assert found == known, checks
        self.met["verified"] += 1
        notes = [check.note for check in checks if check.name == "tree is the carried tree"]
        self.met["verified to be the carried tree"] += notes.count("")

    def _lacks(self, number, rows, heads) -> bool:
        """Whether a branch lacks a head of something that it depends on, directly or not."""
        held = self.fork.contained(heads[rows[number].branch])
        return any(
            d in rows and heads[rows[d].branch] not in held for d in below(self.rows, number)
        )

    def held(self, *commits) -> frozenset:
        """The events of commits, by the history alone."""
        known = frozenset().union(*map(self.fork.contained, commits))
        return frozenset().union(*(self.own.get(commit, ()) for commit in known))

    def leftovers(self) -> list[str]:
        """What a run that ended may not leave."""
        places = [self.fork.path.glob("*"), self.fork.path.glob("refs/**/*")]
        places += [self.fork.state.glob("**/*"), self.fork.path.glob("worktrees/*")]
        names = {folder.name for folder in self.checkouts.folders.values()}
        return [
            str(file)
            for file in itertools.chain(*places)
            if file.suffix in {".lock", ".new"}
            or (file.parent.name in {"worktrees", "worktree"} and file.name not in names)
        ]
