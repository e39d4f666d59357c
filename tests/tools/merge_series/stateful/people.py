"""What people do between runs of the program: commit, check branches out, rename, declare."""

from checked_stack import REVERTED, CheckedStack
from first_stack import TEXTS
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from small_fork import Commit
from small_series import below, live
from tokens import ALLOWLIST, EDITED, LOCK, NAMES, READS, SLOTS, Edit, change, written

OWN = ("own1", "own2")  # what the first PRs begin with
ACTIONS = ("add", "replace", "replace", "remove")
files = st.sampled_from((*TEXTS, *OWN, NAMES, READS, EDITED))
slots = st.integers(0, SLOTS - 1)
edits = st.one_of(
    st.builds(Edit, st.sampled_from(ACTIONS), files, slots),
    st.builds(
        Edit, st.sampled_from(["delete", "rename"]), st.sampled_from((*TEXTS, *OWN)), st.just(0)
    ),
    st.builds(Edit, st.just("raise"), st.just(LOCK), st.integers(0, 4)),
)
# Where work goes on, and what is done there, in one commit each.
anything = st.lists(
    st.tuples(st.integers(0, 8), st.lists(edits, min_size=1, max_size=3)), min_size=1, max_size=6
)
# Main and branches change one place of one file.
clashes = st.builds(
    lambda file, slot, doers: [(place, [Edit(action, file, slot)]) for place, action in doers],
    files,
    slots,
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(ACTIONS)), min_size=1, max_size=3).map(
        lambda doers: [(0, "add"), *doers]
    ),
)
works = st.one_of(anything, clashes, clashes)
some_works = st.one_of(works, works, st.just([]))
rarely = st.sampled_from([False, False, False, True])

_MOST_CHECKOUTS = 2


class People(CheckedStack):
    """The stack, and people at work on it."""

    def open(self) -> list[str]:
        """The branches that people work on: main, and those whose PR main has not."""
        rows = live(self.rows)
        return ["main", *(row.branch for n, row in rows.items() if n not in self.landed)]

    def work(self, work) -> None:
        """Commit on main and on branches."""
        heads, commits, made = self.fork.heads(), [], []
        for place, listed in work:
            branch = self.open()[place % len(self.open())]
            if heads[branch][0] == ":" or branch in self.unlisted:
                continue
            before = after = self.events[branch]
            for edit in listed:
                # Where people change a file that the series edits, its edits no longer tell it; and
                # which of two raised pins a branch keeps is not told.
                if branch == "main" or edit.file not in {EDITED, LOCK} or edit.action == "replace":
                    after |= change(self.tokens, after, edit)
            files = written(self.tokens, before, after, self.fork.places(heads[branch]))
            subject = f"Change {branch} {next(self.serial)}"
            commits.append(Commit(branch, (heads[branch],), files, subject))
            heads[branch] = f":{len(commits)}"
            made.append(after - before)
            self.events[branch] = after
        ids = self.commit(commits)
        self.own |= zip(ids, made, strict=True)
        for number, row in self.rows.items():
            mine = {i for i, c in zip(ids, commits, strict=True) if c.branch == row.branch}
            self.work_on.setdefault(number, set()).update(mine)
        self.met["commits"] += len(commits)
        self.check_branches(self.fork.heads())

    @precondition(lambda self: not self.is_waiting)
    @rule(place=st.integers(0, 8))
    def delete(self, place) -> None:
        """Delete the branch of a PR that landed, as its hosting does."""
        heads = self.fork.heads()
        rows = self.rows.values()
        able = [row.branch for row in rows if row.state == "landed" and row.branch in heads]
        if not able:
            return
        branch = able[place % len(able)]
        if branch not in self.checkouts.folders:
            self.fork.git("update-ref", "-d", f"refs/heads/{branch}")
            self.gone[branch] = heads[branch], self.events.pop(branch)
            self.met["branches deleted"] += 1

    def bring_back(self, branch) -> None:
        """Have a branch again that was deleted."""
        head, self.events[branch] = self.gone.pop(branch)
        self.fork.git("update-ref", f"refs/heads/{branch}", head)

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
        (made,) = self.commit([Commit(branch, (head,), {**files, ALLOWLIST: listed}, subject)])
        self.own[made], self.events[branch] = after - before, after
        self.unlisted = {branch}
        kept, ran = self.led(("sync", *self.options()), follows=True)
        self.main = kept["heads"]["main"]
        if ran.code == 1:
            assert "reads of the global process groups that neither side allows" in ran.said, ran
            assert self.kept() == kept
            self.met["refused: a read"] += 1
        else:  # nothing was to be merged into the branch or from it, or something waits before it
            self.synced(ran, kept)
        if self.is_waiting:
            self.abort()
        head = self.fork.heads()[branch]
        files = {ALLOWLIST: self.tokens.allowlist(self.events[branch])}
        (made,) = self.commit([Commit(branch, (head,), files, f"List {next(self.serial)}")])
        self.own[made], self.unlisted = frozenset(), set()

    @rule(place=st.integers(0, 8), changed=st.one_of(st.none(), st.integers(0, 8)))
    def check_out(self, place, changed) -> None:
        """Have a branch checked out in a worktree, with a change there or without."""
        heads = self.fork.heads()
        branch = sorted(heads)[place % len(heads)]
        if branch not in self.checkouts.folders:
            if len(self.checkouts.folders) == _MOST_CHECKOUTS:
                self.checkouts.remove(next(iter(self.checkouts.folders)))
            self.checkouts.add(branch)
            self.met["checked out"] += 1
        if changed is not None:
            self.checkouts.edit(branch, changed)
            self.met["changed where it is checked out"] += 1
        self.checkouts.check(heads)

    @rule(
        what=st.sampled_from(["rename", "depend", "depend", "drop"]),
        place=st.integers(0, 8),
        other=st.integers(0, 8),
    )
    def declare(self, what, place, other) -> None:
        """Change what SERIES.md says of a PR."""
        if what == "rename":
            self.rename(place, is_row_first=other % 2 == 0)
        elif what == "depend":
            self.depend(place, other)
        elif not self.is_waiting:
            self.drop(place)

    def rename(self, place, *, is_row_first) -> None:
        """Rename a branch and its row; between the two, a sync is refused.

        It is not where main has the PR: its branch may be gone, as the branch of the row then is.
        """
        rows = self.rows
        number = list(rows)[place % len(rows)]
        steps = [self._rename_row, self._rename_branch]
        old, new = rows[number].branch, f"b{number}-{next(self.serial)}"
        steps = steps if is_row_first else steps[::-1]
        steps[0](number, old, new)
        if rows[number].state == "open" and number not in self.landed:
            kept, is_ready = self.kept(), not self.is_waiting or self.desk.is_ready
            if is_ready:
                arguments = ("--continue",) if self.is_waiting else self.options()
                ran = self.fork.run("sync", *arguments)
                is_asked = self.is_waiting or REVERTED in ran.said
                assert ran.code in ({1, 3} if is_asked else {1}), ran
                assert self.kept() == kept
                self.met["refused: renamed by half"] += 1
        steps[1](number, old, new)
        self.met["renamed"] += 1
        if self.is_waiting:
            self.abort()

    def _rename_row(self, number, _, new) -> None:
        self.series.change(number, branch=new)

    def _rename_branch(self, _, old, new) -> None:
        self.fork.git("branch", "--move", old, new)
        self.checkouts.rename(old, new)
        self.events[new] = self.events.pop(old)
        self.unlisted = {new if branch == old else branch for branch in self.unlisted}

    def depend(self, place, other) -> None:
        """Declare a dependency more; the next sync brings it."""
        rows = live(self.rows)
        numbers = [n for n in rows if n not in self.landed]
        if not numbers:
            return
        number, new = numbers[place % len(numbers)], numbers[other % len(numbers)]
        known = {number, *below(self.rows, number)}
        if new not in known and number not in below(self.rows, new):
            self.series.change(number, on=(*rows[number].on, new))
            self.met["dependencies added"] += 1

    def drop(self, place) -> None:
        """Drop a dependency from its row: refused where the branch holds it for no other reason."""
        rows = {n: row for n, row in live(self.rows).items() if row.on}
        if not rows:
            return
        number = list(rows)[place % len(rows)]
        gone, on = rows[number].on[place % len(rows[number].on)], rows[number].on
        heads = self.fork.heads()
        self.series.change(number, on=tuple(n for n in on if n != gone))
        rest = [self.branch(n) for n in below(self.rows, number)]
        kept, ran = self.led(("sync", *self.options()), follows=True)
        # A landing may bring all that the branch holds: only what it is on says whose that is.
        why = ("cannot be taken out by adding commits", "which it holds")
        if any(text in ran.said for text in why):
            assert self.kept() == kept
            self.met["refused: a dependency dropped"] += 1
            self.series.change(number, on=on)
            return
        mine = self.fork.contained(heads[self.branch(number)])
        theirs = self.fork.contained(heads[self.branch(gone)])
        known = self.fork.contained(heads["main"]).union(
            *(self.fork.contained(heads[branch]) for branch in rest)
        )
        added = frozenset().union(*(self.own.get(c, ()) for c in (mine & theirs) - known))
        assert gone in self.landed or self.rows[gone].state != "open" or not added, ran
        self.main = kept["heads"]["main"]
        self.met["dropped a dependency"] += 1
        self.synced(ran, kept)
