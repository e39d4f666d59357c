"""Runs of the program that change the series, and those that push it."""

from dataclasses import replace
from itertools import islice

from hypothesis import strategies as st
from hypothesis.stateful import rule
from people import rarely, some_works
from reverts import Reverts
from small_fork import KILLED, Kill
from small_series import Row, below, live
from tokens import GENERATED

# The journal and what follows it are the last of a run's writes, and few of many.
kills = st.one_of(
    st.integers(1, 40).map(lambda number: Kill(number, is_late=False)),
    st.integers(1, 9).map(lambda number: Kill(number, is_late=True)),
)
rare_kills = st.one_of(st.none(), st.none(), st.none(), kills)

_MOST_ROWS = 11

# What a fold is refused for, by what the program says.
REASONS = {
    "depend on itself": "a circle",
    " sync first": "not in step",
    "nothing beyond what the others bring": "nothing new",
    "needs a person": "a person",
    "in common with main": "main twice",
    "would not hold what merging": "another tree",
    "is checked out in": "checked out",
}


class SeriesRules(Reverts):
    """The stack, and what the program makes of it."""

    def _changes(self, command, arguments, kill, *, is_rehearsed):
        """Run a command that adds a PR.

        Returns:
            What was before it and how it ended, or None where nothing came of it.
        """
        number = max(self.rows) + 1
        new = ("--pr", str(number), "--branch", f"b{number}", "--title", f"Do b{number}")
        kept = self.kept()
        if is_rehearsed:
            objects = self.fork.objects()
            ran = self.fork.run(command, *new, "--dry-run", *arguments)
            assert (self.kept(), self.fork.objects()) == (kept, objects), ran
            self.met[f"dry runs of {command}"] += 1
        ran = self.fork.run(command, *new, *arguments, kill=kill)
        self.repaired(ran)
        if self.is_waiting:
            assert ran.code in {5, KILLED}, ran
            self.met["refused: one waits"] += 1
        elif ran.code == KILLED:
            if self.kept()["refs"] != kept["refs"]:
                self.met[f"killed after a {command}"] += 1
                return kept, ran
        elif ran.code:
            assert ran.code in {1, 3}, ran
            # A run to be killed says nothing.
            why = [name for text, name in REASONS.items() if text in ran.said]
            assert kill or why, ran
            self.met[f"refused: {command}, {why[0] if why else 'unsaid'}"] += 1
        else:
            self.met[f"{command}ed"] += 1
            return kept, ran
        assert self.kept() == kept
        return None

    @rule(
        work=some_works,
        what=st.sampled_from(["stack", "fold"]),
        is_in_step=st.sampled_from([True, True, False]),
        places=st.lists(st.integers(0, 8), min_size=1, max_size=3),
        kill=rare_kills,
        is_rehearsed=rarely,
    )
    def extend(self, work, what, places, kill, *, is_in_step, is_rehearsed) -> None:
        """Add a PR to the series, mostly when all are in step."""
        self.work(work)
        if is_in_step and not self.is_waiting:
            kept, ran = self.led(("sync", *self.options()), follows=True)
            self.main = kept["heads"]["main"]
            self.synced(ran, kept)
        numbers = list(live(self.rows))
        if numbers and len(self.rows) < _MOST_ROWS:
            make = self.stack if what == "stack" else self.fold
            chosen = dict.fromkeys(numbers[place % len(numbers)] for place in places)
            make(tuple(chosen), kill, is_rehearsed=is_rehearsed)

    def stack(self, on, kill, *, is_rehearsed) -> None:
        """Add a PR on others."""
        rows = self.rows
        arguments = [part for n in on for part in ("--on", f"#{n}")]
        arguments += ["--because", "it builds on them"]
        done = self._changes("stack", arguments, kill, is_rehearsed=is_rehearsed)
        if done is None:
            return
        number, heads, events = max(rows) + 1, self.fork.heads(), dict(self.events)
        branch = f"b{number}"
        assert self.rows == {**rows, number: Row(branch, on)}
        self.events[branch] = frozenset().union(*(self.events[rows[n].branch] for n in on))
        assert {b: h for b, h in heads.items() if b != branch} == done[0]["heads"]
        assert {heads[rows[n].branch] for n in on} <= self.fork.contained(heads[branch])
        self.did(done[0], events, [branch])
        self.check_all(heads)

    def fold(self, folded, kill, *, is_rehearsed) -> None:
        """Fold PRs into a successor."""
        rows = self.rows
        lacking = self.lacking(self.fork.heads(), self.fork.heads()["main"])
        arguments = [f"#{n}" for n in folded]
        done = self._changes("fold", arguments, kill, is_rehearsed=is_rehearsed)
        if done is None:
            return
        if not lacking:
            self.met["folds in step"] += 1
        self._folded(rows, folded, done[0])

    def _folded(self, rows, folded, kept) -> None:
        """After a fold: the successor, and what becomes of those on what it supersedes."""
        number, heads, old = max(rows) + 1, self.fork.heads(), dict(self.events)
        branch = f"b{number}"
        outside = {d for n in folded for d in rows[n].on if rows[d].state == "open"} - {*folded}
        above = [
            n for n, r in live(rows).items() if n not in folded and not {*folded}.isdisjoint(r.on)
        ]
        self._check_rows(rows, folded, above, outside)
        *commits, base = islice(self.fork.first_parents(heads[branch]), len(folded) + 1)
        order = [n for commit in commits for n in folded if self._is_for(n, commit)]
        assert sorted(order) == sorted(folded)
        for n, commit in zip(order, commits, strict=True):
            assert len(self.fork.parents(commit)) == 1
            assert {*order[: order.index(n)]}.isdisjoint(below(rows, n))
            self.own[commit] = self.events[rows[n].branch]
        whole = frozenset().union(*(self.events[rows[n].branch] for n in folded))
        assert self.held(base) <= whole
        self.events[branch] = whole
        merged = self._merged([heads[rows[n].branch] for n in folded])
        if merged is not None:
            files = self.fork.files(heads[branch])
            assert {p: t for p, t in files.items() if p not in GENERATED} == merged
            self.met["folds that are git's own merge"] += 1
        for n in above:
            name = rows[n].branch
            assert kept["heads"][name] in self.fork.first_parents(heads[name])
            assert heads[branch] in self.fork.contained(heads[name])
            self.events[name] |= whole
        changed = {branch, *(rows[n].branch for n in above)}
        assert {b: h for b, h in heads.items() if b not in changed} == {
            b: h for b, h in kept["heads"].items() if b not in changed
        }
        self.did(kept, old, changed)
        self.met["branches above a fold"] += len(above)
        self.check_all(heads)

    def _is_for(self, number, commit) -> bool:
        message = self.fork.blob(commit).decode().partition("\n\n")[2]
        return message.startswith(f"Do b{number}\n") and f"\nOriginally #{number}.\n" in message

    def _check_rows(self, rows, folded, above, outside) -> None:
        number, now = max(rows) + 1, self.rows
        assert {*now[number].on} == outside
        expected = dict(rows)
        for n in folded:
            expected[n] = replace(rows[n], state="superseded")
        for n in above:
            on = dict.fromkeys(number if d in folded else d for d in rows[n].on)
            expected[n] = replace(rows[n], on=tuple(on))
        assert now == {**expected, number: Row(f"b{number}", now[number].on)}

    def _merged(self, heads):
        """What git alone makes of merging heads, apart from generated files; None in conflict."""
        whole = heads[0]
        for head in heads[1:]:
            if whole in self.fork.contained(head):
                whole = head
            if head in self.fork.contained(whole):
                continue
            tree, is_clean = self.fork.merge(whole, head)
            if not is_clean:
                return None
            parents = ("-p", whole, "-p", head)
            whole = self.fork.git("commit-tree", *parents, "-m", "To compare with", tree)
        return {p: t for p, t in self.fork.files(whole).items() if p not in GENERATED}

    @rule(trouble=st.sampled_from(["", "", "", "a commit", "a hook"]), is_rehearsed=rarely)
    def push(self, trouble, is_rehearsed) -> None:
        """Push to a remote, which takes all branches of the series by fast-forwards, or none."""
        self.remote.make()
        heads, before = self.fork.heads(), self.remote.heads()
        wanted = {f"refs/heads/{row.branch}": heads[row.branch] for row in live(self.rows).values()}
        moving = {ref: head for ref, head in wanted.items() if before.get(ref) != head}
        is_ahead = any(
            ref in before and before[ref] not in self.fork.contained(head)
            for ref, head in wanted.items()
        )
        there = [ref for ref in wanted if ref in before]
        if trouble == "a commit" and there:
            self.remote.move(there[-1], self.remote.commit_on(before[there[-1]]))
            is_ahead = True
        if trouble == "a hook" and moving:
            self.remote.refuse(max(moving))
        kept = self.kept()
        if is_rehearsed:
            objects = self.fork.objects()
            ran = self.fork.run("push", "--dry-run")
            assert (self.kept(), self.fork.objects()) == (kept, objects), ran
            assert ran.code == is_ahead, ran
            self.met["dry runs of push"] += 1
        ran = self.fork.run("push")
        if is_ahead or (trouble == "a hook" and moving):
            assert ran.code == 1, ran
            assert "nothing was pushed" in ran.said, ran
            assert self.kept() == kept
            self.met["refused: push, " + ("behind the remote" if is_ahead else "a hook")] += 1
        else:
            assert ran.code == 0, ran
            pushed = before | wanted
            assert self.remote.heads() == pushed, ran
            here = {f"refs/remotes/origin/{r[11:]}": head for r, head in wanted.items()}
            now = self.kept()
            assert now == {**kept, "remote": pushed, "refs": kept["refs"] | here}
            self.met["pushed" if moving else "nothing to push"] += 1
        self.remote.take_all()
        if trouble == "a commit" and there:
            self.remote.move(there[-1], before[there[-1]])
