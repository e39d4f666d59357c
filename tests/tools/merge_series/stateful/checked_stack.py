"""The stack with what every branch must hold, and the checks after every run of the program."""

import itertools
import json
from dataclasses import replace

from first_stack import FirstStack
from happened import Move
from small_fork import KILLED
from small_series import Row, below, live, rows_of
from tokens import faults

from carry.carried import Carrier
from merge_series.inspect import verify
from merge_series.operations import Operations
from stack.git_answers import Sha
from stack.repository import Repository

REVERTED = "and main reverts it by"  # what a person is asked about

# How the program settles conflicts, by a part of what it says.
SETTLED = {
    "the edits of": "by edits",
    "import statements": "imports",
    "regenerated": "a generated file",
    "made again by": "a lock",
    "settled it": "as before",
    "by a person": "by a person",
}


class CheckedStack(FirstStack):
    """The branches, what each must hold, and what was done to them."""

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
        rows |= {n: replace(rows[n], state="open") for n in self.saying}
        self.saying = set()
        landed = self.landed_in(self.main, rows)
        moving = set()
        for number, row in rows.items():
            branch = row.branch
            if number in landed or row.state != "open":
                assert now.get(branch) == before.get(branch)
                continue
            under = [rows[d].branch for d in row.on if d not in landed and rows[d].state == "open"]
            wanted = {self.main, *(now[b] for b in under)}
            if wanted <= self.fork.contained(before[branch]):
                assert now[branch] == before[branch]
            assert wanted | {before[branch]} <= self.fork.contained(now[branch]), branch
            assert before[branch] in self.fork.first_parents(now[branch])
            sides = (self.held(self.main), *(self.events[b] for b in under))
            known = self.fork.contained(now[branch])
            self.events[branch] = self.kept_of(self.events[branch].union(*sides), known)
            self._check_asked(before[branch], known)
            moving |= {branch} if now[branch] != before[branch] else set()
        expected = {n: Row(r.branch, r.on, "landed") if n in landed else r for n, r in rows.items()}
        assert self.rows == expected
        if moving:
            self.did(kept, old, dict.fromkeys(moving))
        self.met["synced" if moving else "nothing to sync"] += 1
        self.met["absorbed a landing"] += bool(landed and moving)
        self.check_all(now)

    def _check_asked(self, before, known) -> None:
        """Nothing that a branch held was taken from it by a revert unless a person said so."""
        for commit, reverted in self.reverts.items():
            if commit not in known or commit in self.fork.contained(before):
                continue
            ended = reverted.ended_by in known
            held = not self.work_on.get(reverted.number, set()).isdisjoint(known)
            assert reverted.is_answered or ended or not held, (commit, reverted)

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
        # Nobody has said of a branch that no operation moved that it holds what it is on.
        synced = {branch for move in self.done for branch in move.new}
        known |= {
            (row.branch, "dependencies contained")
            for row in rows.values()
            if row.branch in synced
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
        events = frozenset().union(*(self.own.get(commit, ()) for commit in known))
        return self.kept_of(events, known)

    def kept_of(self, events, known) -> frozenset:
        """Events without those of reverts that commits do not follow: what they keep is theirs."""
        for commit, reverted in self.reverts.items():
            if reverted.is_answered and reverted.keeps and commit in known:
                is_there = not self.work_on.get(reverted.number, set()).isdisjoint(known)
                events -= reverted.undone if is_there else frozenset()
        return events

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
