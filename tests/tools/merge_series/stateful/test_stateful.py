"""Random stacks, random changes and random runs of the program, killed ones among them.

What must hold is known apart from git: see ``tokens``. To look for something new, in one process::

    MERGE_SERIES_EXAMPLES=2000 MERGE_SERIES_SEED=1 pytest tests/tools/merge_series/stateful -rP

Another seed draws other examples; ``-rP`` shows what the runs met. An example takes about a second;
``--basetemp`` on a file system in memory saves a part of it. Without these settings the test makes
the same few examples each time.
"""

import os
import shutil
import sys
from collections import Counter

import pytest
from checked_stack import TEXTS, CheckedStack
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from small_fork import KILLED, Commit, Kill, Ran
from tokens import ALLOWLIST, NAMES, READS, SLOTS, Edit, change, faults, written

EXAMPLES = int(os.environ.get("MERGE_SERIES_EXAMPLES", "0"))

OWN = ("own1", "own2")  # what the first PRs begin with
ACTIONS = ("add", "replace", "replace", "remove")
edits = st.one_of(
    st.builds(
        Edit,
        st.sampled_from(ACTIONS),
        st.sampled_from((*TEXTS, *OWN, NAMES, READS)),
        st.integers(0, SLOTS - 1),
    ),
    st.builds(
        Edit, st.sampled_from(["delete", "rename"]), st.sampled_from((*TEXTS, *OWN)), st.just(0)
    ),
)
# Where work goes on, and what is done there, in one commit each.
works = st.lists(
    st.tuples(st.integers(0, 8), st.lists(edits, min_size=1, max_size=3)), min_size=1, max_size=6
)
some_works = st.one_of(works, works, st.just([]))
# What a person does first who is not careful where a merge waits.
slips = st.sampled_from(["", "", "add markers", "commit elsewhere", "move a branch"])
# The journal and what follows it are the last of a run's writes, and few of many.
kills = st.one_of(
    st.integers(1, 40).map(lambda number: Kill(number, is_late=False)),
    st.integers(1, 9).map(lambda number: Kill(number, is_late=True)),
)
rarely = st.sampled_from([False, False, False, True])


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


class Stack(CheckedStack, RuleBasedStateMachine):
    """Random work, and random runs of the program."""

    factory: pytest.TempPathFactory

    @initialize(depends=stacks(), is_listed=st.booleans())
    def begin(self, depends, is_listed) -> None:
        self.write(self.factory.mktemp("stack"), depends, is_listed=is_listed)

    def teardown(self) -> None:
        """Remove the repository."""
        if hasattr(self, "fork"):
            self.fork.close()
            shutil.rmtree(self.root)

    # What people do

    def open(self) -> list[str]:
        """The branches that people work on: main, and those whose PR main has not."""
        return ["main", *(f"b{n}" for n in self.depends if n not in self.landed)]

    @rule(work=works)
    def work(self, work) -> None:
        """Commit on main and on branches."""
        heads, commits, made = self.fork.heads(), [], []
        for place, listed in work:
            branch = self.open()[place % len(self.open())]
            if heads[branch][0] == ":" or branch in self.unlisted:
                continue
            before = after = self.events[branch]
            for edit in listed:
                after |= change(self.tokens, after, edit)
            files = written(self.tokens, before, after, self.fork.places(heads[branch]))
            subject = f"Change {branch} {next(self.serial)}"
            commits.append(Commit(branch, (heads[branch],), files, subject))
            heads[branch] = f":{len(commits)}"
            made.append(after - before)
            self.events[branch] = after
        self.own |= zip(self.fork.commit(commits), made, strict=True)
        self.met["commits"] += len(commits)
        self.check_branches(self.fork.heads())

    @precondition(lambda self: not self.is_waiting)
    @rule(place=st.integers(0, 8), is_merge=rarely, is_other=rarely)
    def land(self, place, is_merge, is_other) -> None:
        """Land a PR that stands on nothing but main, as its hosting would; or something else."""
        heads = self.fork.heads()
        main = heads["main"]
        able = [n for n in self.depends if self.may_land(n, heads)]
        if not able:
            return
        number = able[place % len(able)]
        head = heads[f"b{number}"]
        tree, is_clean = self.fork.squash(main, head)
        after = self.events["main"] | self.events[f"b{number}"]
        listed = self.tokens.allowlist(after)
        files = {ALLOWLIST: listed} if listed is not None else {}
        if not is_clean or faults(self.tokens, after, self.fork.files_of_tree(tree) | files):
            self.met["not to be landed"] += 1
            return
        subject, parents = f"Do b{number} (#{number})", (main,)
        if is_merge:
            subject, parents = f"Merge pull request #{number} from ada/b{number}", (main, head)
        if is_other and not is_merge:
            self.land_other(number, Commit("main", parents, files, subject, tree))
            return
        (made,) = self.fork.commit([Commit("main", parents, files, subject, tree)])
        self.own[made] = self.events[f"b{number}"]
        self.events["main"] = after
        self.landed[number] = made
        self.met[f"landed by a {'merge' if is_merge else 'squash'}"] += 1
        self.check_branches(self.fork.heads())

    def may_land(self, number, heads) -> bool:
        """Whether main has all that a PR stands on, and the PR has taken that in."""
        held = self.fork.contained(heads[f"b{number}"])
        below = {self.landed.get(d) for d in self.depends[number]}
        has_own = heads[f"b{number}"] not in self.fork.contained(heads["main"])
        return number not in self.landed and below <= held and has_own

    def land_other(self, number, commit) -> None:
        """Something else stands on main under a PR's name: a sync stops, and main goes back."""
        files = {**commit.files, f"own{number}.txt": b"something else\n"}
        self.fork.commit([Commit("main", commit.parents, files, commit.subject, commit.tree)])
        kept, ran = self.fork.kept(), self.fork.run("sync")
        assert (ran.code, "but that is not" in ran.said) == (1, True), ran
        assert self.fork.kept() == kept
        self.fork.git("update-ref", "refs/heads/main", commit.parents[0])
        self.met["refused: landed otherwise"] += 1

    @precondition(lambda self: not self.is_waiting)
    @rule(place=st.integers(1, 8))
    def sneak(self, place) -> None:
        """Read the global groups on a branch without saying so in its allowlist; then say so."""
        branch = self.open()[place % len(self.open())]
        before, head = self.events[branch], self.fork.heads()[branch]
        listed = self.fork.files(head).get(ALLOWLIST)
        if branch == "main" or listed is None:
            return
        after = before | {self.tokens.make("read", READS, 0)}
        files = written(self.tokens, before, after, self.fork.places(head))
        subject = f"Read on {branch} {next(self.serial)}"
        (made,) = self.fork.commit([Commit(branch, (head,), {**files, ALLOWLIST: listed}, subject)])
        self.own[made], self.events[branch] = after - before, after
        self.unlisted = {branch}
        kept, ran = self.fork.kept(), self.fork.run("sync")
        self.main = kept["heads"]["main"]
        if ran.code == 1:
            assert "reads of the global process groups that neither side allows" in ran.said
            assert self.fork.kept() == kept
            self.met["refused: a read"] += 1
        else:  # nothing was to be merged into the branch or from it, or something waits before it
            self.synced(ran, kept)
        if self.is_waiting:
            self.abort()
        head = self.fork.heads()[branch]
        files = {ALLOWLIST: self.tokens.allowlist(self.events[branch])}
        (made,) = self.fork.commit([Commit(branch, (head,), files, f"List {next(self.serial)}")])
        self.own[made], self.unlisted = frozenset(), set()

    # Runs of the program

    @rule(work=some_works, is_rehearsed=rarely, is_whole=st.booleans(), slip=slips)
    def sync(self, work, is_rehearsed, is_whole, slip) -> None:
        """Work, then sync; where it stops, settle that and go on, or leave it."""
        self.work(work)
        if is_rehearsed:
            self.dry_run()
        kept, ran = self.fork.kept(), self.fork.run("sync")
        if self.is_waiting:
            assert (ran.code, self.fork.kept()) == (5, kept), ran
            self.met["refused: one waits"] += 1
            return
        self.main = kept["heads"]["main"]
        self.synced(ran, kept)
        while self.is_waiting and is_whole:
            self.settle(slip=slip, commits=False)
            slip = ""

    def dry_run(self) -> None:
        kept = self.fork.kept()
        ran = self.fork.run("sync", "--dry-run")
        assert ran.code in ({5} if self.is_waiting else {0, 3}), ran
        assert self.fork.kept() == kept
        self.met["dry runs"] += 1

    @precondition(lambda self: self.is_waiting)
    @rule(slip=slips, commits=st.booleans())
    def settle(self, slip, commits) -> None:
        """Settle what waits as a person does, and go on."""
        if slip and self.desk.is_ready and self.desk.unmerged():
            self.careless(slip)
        if self.is_waiting:
            self.go_on(self.settled(commits=commits))

    def settled(self, *, commits) -> bool:
        """Have a person settle what waits; whether there was a place to do so."""
        if not self.desk.is_ready:
            return False
        self.met["files settled by a person"] += self.desk.settle(self.held, commits=commits)
        return True

    def go_on(self, is_settled) -> None:
        kept, waited = self.fork.kept(), self.desk.waiting["heads"]
        ran = self.fork.run("sync", "--continue")
        if not is_settled:
            assert ran.code == 3, ran
            assert "settle it, git add, then" in ran.said
            self.met["offered again"] += 1
        elif not waited.items() <= kept["heads"].items():
            assert (ran.code, self.fork.kept()) == (1, kept), ran
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
        kept = self.fork.kept()
        ran = self.fork.run("sync", "--continue")
        assert (ran.code, self.fork.kept()) == (3, kept), ran
        self.met[f"refused: to {what}"] += 1

    @precondition(lambda self: self.is_waiting)
    @rule()
    def abort(self) -> None:
        refs = self.fork.kept()["refs"]
        ran = self.fork.run("sync", "--abort")
        assert ran.code == 0, ran
        self.is_waiting = False
        assert self.fork.kept()["refs"] == refs
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
        kept = self.fork.kept()
        for option in ("--abort", "--continue"):
            ran = self.fork.run("sync", option)
            assert (ran.code, self.fork.kept()) == (1, kept), ran
            self.met["refused: none waits"] += 1

    def take_back(self, command, moves, others, kill=None) -> None:
        """Undo or redo: what it is to find, and what it leaves."""
        kept = self.fork.kept()
        heads, ran = kept["heads"], self.fork.run(command, kill=kill)
        if self.is_waiting or not moves or not moves[-1].stands(heads, kept["series"]):
            # A killed one may have been killed before it came to refuse.
            assert ran.code in ({1, 5, KILLED} if kill else {5} if self.is_waiting else {1}), ran
            self.repaired(ran)
            assert self.fork.kept() == kept
            self.met[f"refused: {command}"] += 1
            return
        assert ran.code in {0, KILLED}, ran
        self.repaired(ran)
        now = self.fork.heads()
        move = moves[-1]
        if ran.code == KILLED and now == heads:
            return
        assert now == heads | move.old
        assert self.fork.series.read_bytes() == (move.series[0] or kept["series"])
        self.events |= move.events[0]
        others.append(moves.pop().turned())
        self.met["undone" if command == "undo" else "redone"] += 1
        self.check_branches(now)
        self.check_verify(now)

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
                self.killed(("sync", "--continue"), where)
        elif self.done and back == "undo":
            self.take_back("undo", self.done, self.undone, kill=where)
        elif self.undone and back == "redo":
            self.take_back("redo", self.undone, self.done, kill=where)
        else:
            self.work(work)
            self.main = self.fork.heads()["main"]
            self.killed(("sync",), where)

    def kill_abort(self, where) -> None:
        refs = self.fork.kept()["refs"]
        ran = self.fork.run("sync", "--abort", kill=where)
        assert ran.code in {0, KILLED}
        self.repaired(ran)
        assert self.fork.kept()["refs"] == refs
        self.is_waiting = (self.fork.state / "stopped.json").exists()
        assert self.is_waiting or self.leftovers() == []

    def killed(self, arguments, where) -> None:
        kept = self.fork.kept()
        ran = self.fork.run(*arguments, kill=where)
        if ran.code != KILLED:
            self.synced(ran, kept)
            return
        self.repaired(ran)
        if self.fork.kept()["refs"] == kept["refs"]:
            stopped = (self.fork.state / "stopped.json").exists()
            assert stopped or not self.is_waiting
            self.is_waiting = stopped
            assert stopped or self.leftovers() == []
        else:
            self.met["killed after it moved branches"] += 1
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
