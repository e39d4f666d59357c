"""Random stacks, random changes and random runs of the program, killed ones among them.

What must hold is known apart from git: see ``tokens``. To look for something new, in one process::

    MERGE_SERIES_EXAMPLES=2000 MERGE_SERIES_SEED=1 pytest tests/tools/merge_series/stateful -rP

Another seed draws other examples; ``-rP`` shows what the runs met, and a run of many fails where
some of that never came about: see ``expected``. An example takes about a second; ``--basetemp`` on
a file system in memory saves a part of it. Without these settings the test makes the same few
examples each time.
"""

import os
import re
import shutil
import sys
from collections import Counter

import pytest
from checked_stack import REVERTED
from expected import ENOUGH, unmet
from happened import moved
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from people import rarely, some_works, works
from series_rules import SeriesRules, kills
from small_fork import KILLED, Ran
from small_series import live
from tokens import READS, Edit

EXAMPLES = int(os.environ.get("MERGE_SERIES_EXAMPLES", "0"))

# What a person does first who is not careful where a merge waits.
slips = st.sampled_from(["", "", "add markers", "commit elsewhere", "move a branch"])


@st.composite
def stacks(draw):
    """Dependencies of each PR by number, dependencies first."""
    count = draw(st.sampled_from((1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8)))
    below = st.integers(1, 8)
    return {
        number: tuple(
            sorted({1 + d % (number - 1) for d in draw(st.lists(below, max_size=3))})
            if number > 1
            else ()
        )
        for number in range(1, count + 1)
    }


class Stack(SeriesRules, RuleBasedStateMachine):
    """Random work, and random runs of the program."""

    factory: pytest.TempPathFactory

    @initialize(
        depends=stacks(),
        carried=st.sets(st.integers(1, 6)),
        rebased=st.one_of(st.just(frozenset()), st.sets(st.integers(1, 4))),
        is_listed=st.booleans(),
        is_locked=rarely,
    )
    def begin(self, depends, **beginning) -> None:
        self.write(self.factory.mktemp("stack"), depends, **beginning)
        self.check_branches(self.fork.heads())

    def teardown(self) -> None:
        """Remove the repository."""
        if hasattr(self, "fork"):
            self.fork.close()
            shutil.rmtree(self.root)

    # Runs of the program

    def options(self) -> list[str]:
        """What a sync has to be told."""
        rows = live(self.rows)
        return [f"--landed={n}={commit}" for n, commit in self.named.items() if n in rows]

    def led(self, arguments, *, follows):
        """Run a sync; where branches are checked out, let the worktrees follow in the end.

        Returns:
            What was before it, and how it ended.
        """
        kept = self.kept()
        ran = self.fork.run(*arguments, *(["--update-worktrees"] if follows else []))
        if REVERTED in ran.said:
            assert (ran.code, self.kept()) == (3, kept), ran
            return self.led((*arguments, *self.answers(ran.said, kept["heads"])), follows=follows)
        lacking = [branch for branch in self.gone if f"git branch {branch} " in ran.said]
        if ran.code == 1 and lacking:
            assert self.kept() == kept, ran
            self.bring_back(lacking[0])
            self.met["refused: a branch is gone"] += 1
            return self.led(arguments, follows=follows)
        if "is checked out in" not in ran.said:
            return kept, ran
        assert (ran.code, self.kept()) == (1, kept), ran
        branch = ran.said.partition("branch ")[2].partition(" ")[0]
        if "cannot be fast-forwarded" not in ran.said:
            assert not follows, ran
            assert branch in self.checkouts.folders, ran
            if arguments[1:] != ("--continue",):
                assert branch in self.lacking(kept["heads"], kept["heads"]["main"]), ran
            self.met["refused: checked out"] += 1
            return self.led(arguments, follows=True)
        goes_on = arguments[1:] == ("--continue",)
        assert follows or (goes_on and self.desk.waiting["update_worktrees"]), ran
        paths = self.checkouts.discard(branch)
        self.met["refused: a change where it is checked out"] += 1
        again, ran = self.led(arguments, follows=True)
        if ran.code == 0:
            old, new = (
                self.fork.files(heads[branch]) for heads in (kept["heads"], self.fork.heads())
            )
            assert any(old.get(path) != new.get(path) for path in paths), paths
        return again, ran

    def answers(self, asked, heads) -> list[str]:
        """What a person says of the PRs that main reverts, as options of a sync."""
        options = []
        for number in map(int, re.findall(rf"#(\d+) landed, {REVERTED}", asked)):
            found = [
                reverted
                for commit, reverted in self.reverts.items()
                if reverted.number == number
                and not reverted.ended_by
                and commit in self.fork.contained(heads["main"])
                and self.lack(number, commit, heads)
            ]
            assert found, asked
            for reverted in found:
                reverted.is_answered = True
            keeps = found[0].keeps
            options.append(f"--{'keep' if keeps else 'drop'}-reverted={number}")
            if keeps:
                self.landed.pop(number, None)
                self.named.pop(number, None)
                self.saying.add(number)
            self.met["kept, though main reverts it" if keeps else "let go with a revert"] += 1
        return options

    def lack(self, number, commit, heads) -> list[str]:
        """The heads that hold a PR and not the commit of main that reverts it."""
        heads = [heads[row.branch] for row in live(self.rows).values()]
        return [
            head
            for head, known in zip(heads, map(self.fork.contained, heads), strict=True)
            if commit not in known and not self.work_on[number].isdisjoint(known)
        ]

    @rule(
        work=some_works,
        is_rehearsed=rarely,
        is_whole=st.booleans(),
        slip=slips,
        follows=st.booleans(),
    )
    def sync(self, work, is_rehearsed, is_whole, slip, follows) -> None:
        """Work, then sync; where it stops, settle that and go on, or leave it."""
        self.work(work)
        if is_rehearsed:
            self.dry_run()
        kept, ran = self.led(("sync", *self.options()), follows=follows)
        if self.is_waiting:
            assert (ran.code, self.kept()) == (5, kept), ran
            self.met["refused: one waits"] += 1
            return
        self.main = kept["heads"]["main"]
        self.synced(ran, kept)
        while self.is_waiting and is_whole:
            self.settle(slip=slip, commits=False, follows=follows)
            slip = ""

    def dry_run(self) -> None:
        kept, objects = self.kept(), self.fork.objects()
        ran = self.fork.run("sync", "--dry-run", *self.options())
        if "is checked out in" in ran.said:
            assert (ran.code, bool(self.checkouts.folders)) == (1, True), ran
        else:
            assert ran.code in ({5} if self.is_waiting else {0, 3}), ran
        assert (self.kept(), self.fork.objects()) == (kept, objects)
        self.met["dry runs"] += 1

    @precondition(lambda self: self.is_waiting)
    @rule(slip=slips, commits=st.booleans(), follows=st.booleans())
    def settle(self, slip, commits, follows) -> None:
        """Settle what waits as a person does, and go on."""
        if slip and self.desk.is_ready and self.desk.unmerged():
            self.careless(slip)
        if self.is_waiting:
            self.go_on(self.settled(commits=commits), follows=follows)

    def settled(self, *, commits) -> bool:
        """Have a person settle what waits; whether there was a place to do so."""
        if not self.desk.is_ready:
            return False
        self.met["files settled by a person"] += self.desk.settle(self.held, commits=commits)
        return True

    def go_on(self, is_settled, *, follows=True) -> None:
        waited = self.desk.waiting["heads"]
        kept, ran = self.led(("sync", "--continue"), follows=follows)
        if not is_settled:
            assert ran.code == 3, ran
            assert "settle it, git add, then" in ran.said
            self.met["offered again"] += 1
        elif not waited.items() <= kept["heads"].items():
            assert (ran.code, self.kept()) == (1, kept), ran
            assert "since the sync stopped" in ran.said
            self.met["refused: a branch moved"] += 1
        else:
            self.synced(ran, kept)

    def careless(self, what) -> None:
        """A person who has not done what is asked for is refused."""
        self.goes_not_on("leave")
        if what == "move a branch":
            self.work([(1, [Edit("add", READS, 0)])])
            self.go_on(self.settled(commits=False))
            self.abort()
            return
        marked = [b"<<<<<<<" in text for text in self.desk.conflicted()]
        self.desk.git("add", "--all")
        if what == "commit elsewhere" or not any(marked):
            what = "commit elsewhere"
            self.desk.commit_ours()
        self.goes_not_on(what)
        shutil.rmtree(self.desk.folder)
        self.go_on(is_settled=False)

    def goes_not_on(self, what) -> None:
        kept = self.kept()
        ran = self.fork.run("sync", "--continue")
        assert (ran.code, self.kept()) == (3, kept), ran
        self.met[f"refused: to {what}"] += 1

    @precondition(lambda self: self.is_waiting)
    @rule()
    def abort(self) -> None:
        refs = self.kept()["refs"]
        ran = self.fork.run("sync", "--abort")
        assert ran.code == 0, ran
        self.is_waiting = False
        assert self.kept()["refs"] == refs
        assert self.leftovers() == []
        self.met["aborted"] += 1

    @precondition(lambda self: self.done or not self.is_refused)
    @rule()
    def undo(self) -> None:
        if not self.is_waiting and not self.done:
            self.idle()
        self.take_back("undo", self.done, self.undone)

    @precondition(lambda self: self.undone)
    @rule()
    def redo(self) -> None:
        self.take_back("redo", self.undone, self.done)

    def idle(self) -> None:
        """What there is nothing for is refused: to look once is enough."""
        self.is_refused = True
        kept = self.kept()
        for option in ("--abort", "--continue"):
            ran = self.fork.run("sync", option)
            assert (ran.code, self.kept()) == (1, kept), ran
            self.met["refused: none waits"] += 1

    def take_back(self, command, moves, others, kill=None) -> None:
        """Undo or redo: what it is to find, and what it leaves."""
        kept = self.kept()
        heads, is_able = kept["heads"], bool(moves) and self.may_move(command, moves[-1], kept)
        ran = self.fork.run(command, kill=kill)
        if self.is_waiting or not is_able:
            # A killed one may have been killed before it came to refuse.
            assert ran.code in ({1, 5, KILLED} if kill else {5} if self.is_waiting else {1}), ran
            self.repaired(ran)
            assert self.kept() == kept
            self.met[f"refused: {command}"] += 1
            return
        assert ran.code in {0, KILLED}, ran
        self.repaired(ran)
        now = self.fork.heads()
        move = moves[-1]
        if ran.code == KILLED and now == heads:
            return
        assert now == moved(heads, move.old)
        assert self.fork.series.read_bytes() == (move.series[0] or kept["series"])
        self.events = moved(self.events, move.events[0])
        others.append(moves.pop().turned())
        self.met["undone" if command == "undo" else "redone"] += 1
        self.met[f"{command} of what made or dropped a branch"] += len(now) != len(heads)
        self.check_all(now)

    def may_move(self, command, move, kept) -> bool:
        """Whether an operation can be taken back, or brought again."""
        if not move.stands(kept["heads"], kept["series"]):
            return False
        if not self.checkouts.folders.keys().isdisjoint(move.new):
            self.met[f"refused: {command}, checked out"] += 1
            return False
        if command == "undo" and self.was_pushed(move, kept):
            self.met["refused: undo, pushed"] += 1
            return False
        return True

    def was_pushed(self, move, kept) -> bool:
        """Whether the remote has what an operation made."""
        pushed = {ref: at for ref, at in kept["refs"].items() if ref.startswith("refs/remotes/")}
        if self.made_none(move, kept["heads"]):
            return any(ref.endswith(f"/{branch}") for ref in pushed for branch in move.new)
        known = frozenset().union(*map(self.fork.contained, pushed.values()))
        return not known.isdisjoint(move.new.values())

    def made_none(self, move, heads) -> bool:
        """Whether an operation made no commit: a branch that began at the head of another."""
        ((branch, head), *others) = move.new.items()
        held = [self.fork.contained(at) for other, at in heads.items() if other != branch]
        return not others and move.old[branch] is None and any(head in known for known in held)

    @rule(
        work=works,
        where=kills,
        commits=st.booleans(),
        back=st.sampled_from(["", "undo", "redo"]),
    )
    def kill(self, work, where, commits, back) -> None:
        """Kill a run at one of its writes; what it left is repaired by the next."""
        if self.is_waiting and where.number % 4 == 0:
            self.kill_abort(where)
        elif self.is_waiting:
            is_settled = self.settled(commits=commits)
            if is_settled and self.desk.waiting["heads"].items() <= self.fork.heads().items():
                self.killed(("sync", "--continue", "--update-worktrees"), where)
        elif self.done and back == "undo":
            self.take_back("undo", self.done, self.undone, kill=where)
        elif self.undone and back == "redo":
            self.take_back("redo", self.undone, self.done, kill=where)
        else:
            self.work(work)
            self.main = self.fork.heads()["main"]
            self.killed(("sync", "--update-worktrees", *self.options()), where)

    def kill_abort(self, where) -> None:
        refs = self.kept()["refs"]
        ran = self.fork.run("sync", "--abort", kill=where)
        assert ran.code in {0, KILLED}
        self.repaired(ran)
        assert self.kept()["refs"] == refs
        self.is_waiting = (self.fork.state / "stopped.json").exists()
        assert self.is_waiting or self.leftovers() == []

    def killed(self, arguments, where) -> None:
        kept = self.kept()
        ran = self.fork.run(*arguments, kill=where)
        if ran.code == 1 or (ran.code == 3 and not (self.fork.state / "stopped.json").exists()):
            assert self.kept() == kept
            assert any(self.checkouts.changes.values()) or self.reverts
            return
        if ran.code != KILLED:
            self.synced(ran, kept)
            return
        self.repaired(ran)
        if self.kept()["refs"] == kept["refs"]:
            stopped = (self.fork.state / "stopped.json").exists()
            assert stopped or not self.is_waiting
            self.is_waiting = stopped
            assert stopped or self.leftovers() == []
            # An index that was put back has the same entries, but other times of its files.
            there = self.checkouts.kept().items()
            assert {(at, text) for at, text in there if not at.endswith(": index")} <= {
                (at, text) for at, text in kept.items() if at in dict(there)
            }
            self.checkouts.check(self.fork.heads())
        else:
            self.met["killed after it moved branches"] += 1
            self.met["killed, and worktrees followed"] += bool(self.checkouts.folders)
            self.synced(Ran(0, "killed and repaired"), kept)


@pytest.mark.timeout(0 if EXAMPLES else 600)
def test_stack(tmp_path_factory):
    class Case(Stack):
        factory, met = tmp_path_factory, Counter()

    chosen = settings(
        max_examples=EXAMPLES or 25,
        stateful_step_count=10,
        derandomize=not EXAMPLES,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
    )
    if EXAMPLES:
        seed(int(os.environ.get("MERGE_SERIES_SEED", "0")))(Case)
    try:
        run_state_machine_as_test(Case, settings=chosen)
    finally:
        for what, count in sorted(Case.met.items()):
            sys.stdout.write(f"{count:7} {what}\n")
    assert ENOUGH > EXAMPLES or not unmet(Case.met)
