"""PRs landing on main, as their hosting does it: by a squash, a merge, a rebase, or in part."""

import subprocess

from first_stack import TEXTS
from happened import Landing
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from people import ACTIONS, OWN, People, rarely, slots, some_works
from small_fork import Commit
from small_series import below, live
from tokens import NAMES, READS, Edit, change, faults, written

WAYS = ("squash", "squash", "edited", "edited", "merge", "rebase", "rebase", "part", "older")
# What whoever merges a PR changes in it.
mends = st.builds(
    Edit, st.sampled_from(ACTIONS), st.sampled_from((*TEXTS, *OWN, NAMES, READS)), slots
)


class Landings(People):
    """The stack, and what lands of it."""

    @precondition(lambda self: not self.is_waiting)
    @rule(
        work=some_works,
        place=st.integers(0, 8),
        way=st.sampled_from(WAYS),
        is_named=rarely,
        k=st.integers(0, 2),
        edit=mends,
    )
    def land(self, work, place, way, is_named, k, edit) -> None:  # noqa: PLR0917 - what is drawn
        """Land a PR that stands on nothing but main, in whatever form."""
        self.work(work)
        heads = self.fork.heads()
        able = [n for n in live(self.rows) if self._may_land(n, heads)]
        if not able:
            return
        number = able[place % len(able)]
        head = heads[self.branch(number)]
        if way in {"rebase", "part"}:
            own = self._own(number, heads)
            count = len(own) if way == "rebase" else k % len(own)
            self._land_by_rebase(number, heads, own, count, is_named=is_named)
        else:
            self._land_whole(number, heads["main"], head, way, edit)
        if "main" in self.checkouts.folders:
            self.checkouts.discard("main")
        self.check_branches(self.fork.heads())

    def _may_land(self, number, heads) -> bool:
        """Whether a PR has work of its own and stands on main alone, as it took it in."""
        on = self.rows[number].on
        held = self.fork.contained(heads[self.branch(number)])
        commits = {self.landed.get(d) for d in on}
        return number not in self.landed and commits <= held and bool(self._own(number, heads))

    def _own(self, number, heads) -> list[str]:
        """The commits of a PR alone, oldest first."""
        under = (self.branch(d) for d in below(self.rows, number))
        known = [heads["main"], *(heads[b] for b in under if b in heads)]
        head = heads[self.branch(number)]
        if self.fork.contained(head) <= frozenset().union(*map(self.fork.contained, known)):
            return []
        without = [f"^{commit}" for commit in known]
        options = ("--no-merges", "--reverse", "--topo-order")
        return self.fork.git("rev-list", *options, head, *without).split()

    def _squashed(self, main, head, events):
        """What landing a head as one commit makes: its tree and generated files, if it is clean."""
        tree, is_clean = self.fork.merge(main, head)
        files = self.tokens.generated(events)
        if not is_clean or faults(self.tokens, events, self.fork.files_of_tree(tree) | files):
            self.met["not to be landed"] += 1
            return None
        return tree, files

    def _land_whole(self, number, main, head, way, edit) -> None:
        branch = self.branch(number)
        before, mine = self.events["main"], self.events[branch]
        mine |= self._again(number, before | mine)
        made = self._squashed(main, head, before | mine)
        if made is None:
            return
        tree, files = made
        subject, parents = f"Do b{number} (#{number})", (main,)
        if way == "merge":
            subject, parents = f"Merge pull request #{number} from ada/{branch}", (main, head)
        if way in {"edited", "older"}:
            whole = before | mine
            extra = change(self.tokens, whole, edit)
            if way == "older":
                older = self.fork.parents(head)[0]
                extra = self.tokens.against(mine - self.held(older) - before, whole)
            if not extra:
                return
            places = self.fork.places_in(self.fork.files_of_tree(tree))
            files = written(self.tokens, whole, whole | extra, places)
            mine |= extra
        (commit,) = self.commit([Commit("main", parents, files, subject, tree)])
        if way in {"edited", "older"} and self._is_nothing_of_it():
            self._go_back(main, "refused: landed with nothing of it")
            return
        self.own[commit] = mine
        self.events["main"] = before | mine
        self.landed[number] = commit
        self.named.pop(number, None)
        for reverted in self._reverted(number):
            reverted.ended_by = commit
        if way != "merge":
            self.landings.append(Landing(number, commit, self.events["main"] - before))
        self.met[f"landed by a {way}" if way in {"squash", "merge"} else f"landed {way}"] += 1

    def _reverted(self, number) -> list:
        """What main reverts of a PR."""
        mine = [r for r in self.reverts.values() if r.number == number]
        return [reverted for reverted in mine if not reverted.ended_by]

    def _again(self, number, whole) -> frozenset:
        """What a PR brings once more whose lines main took back and the branch kept."""
        kept = [r.undone for r in self._reverted(number) if r.is_answered]
        again = (self.tokens.against(undone, whole) for undone in kept)
        return frozenset().union(*filter(None, again))

    def _is_nothing_of_it(self) -> bool:
        """Whether a sync refuses what landed, since it has nothing that the PR brings."""
        kept, ran = self.kept(), self.fork.run("sync", "--dry-run", *self.options())
        assert self.kept() == kept
        return ran.code == 1 and "but that has nothing of what" in ran.said

    def _land_by_rebase(self, number, heads, own, count, *, is_named) -> None:
        """Pick the first commits of a PR onto main: all of them, or the PR lands in part."""
        main, branch = heads["main"], self.branch(number)
        tip, events, picks = main, self.events["main"], []
        for commit in own[:count]:
            tree, is_clean = self.fork.pick(tip, commit)
            subject = self.fork.subject(commit)
            events |= self.own.get(commit, frozenset())
            files = self.tokens.generated(events)
            after = self.fork.files_of_tree(tree) | files
            if not is_clean or faults(self.tokens, events, after):
                self._go_back(main, "not to be landed")
                return
            if after != self.fork.files(tip):  # what is empty, its hosting leaves out
                picked = Commit("main", (tip,), files, subject, tree, is_picked=True)
                (tip,) = self.commit([picked])
                self.own[tip] = self.own.get(commit, frozenset())
                picks.append(Landing(number, tip, self.own[tip] - self.events["main"]))
        if tip == main:
            return
        is_whole = self._is_run(own, tip)
        if count < len(own) and not is_whole:
            if self._comes_back(tip, heads[branch], events | self.events[branch]):
                self._go_back(main, "not to be landed")
                return
            self.events["main"] = events
            self.met["landed in part"] += 1
            return
        # The branch may hold more than its own commits: what was settled when it took main.
        events |= self.events[branch]
        made = self._squashed(main, heads[branch], events)
        if made is None or self.fork.files_of_tree(made[0]) | made[1] != self.fork.files(tip):
            self._go_back(main, "not to be landed")
            return
        if is_named or not is_whole:
            self.named[number] = tip
        self.own[tip] = self.events[branch]
        self.events["main"] = events
        self.landed[number] = tip
        self.landings += picks
        self.met[f"landed by a rebase{', named' if number in self.named else ''}"] += 1

    def _comes_back(self, main, head, events) -> bool:
        """Whether git's merge brings back what the rest of a PR takes back of the part that landed.

        The branch as a whole changed nothing there, so to git it is main's alone.
        """
        tree, is_clean = self.fork.merge(head, main)
        files = self.tokens.generated(events)
        return is_clean and bool(faults(self.tokens, events, self.fork.files_of_tree(tree) | files))

    def _go_back(self, main, why) -> None:
        self.fork.git("update-ref", "refs/heads/main", main)
        self.met[why] += 1

    def _is_run(self, own, tip) -> bool:
        """Whether main ends in a PR's commits, each with its subject and patch."""
        line = [commit for _, commit in zip(own, self.fork.first_parents(tip), strict=False)]
        return [self._patch(c) for c in own] == [self._patch(c) for c in line[::-1]]

    def _patch(self, commit) -> tuple[str, str]:
        patch = self.fork.git("diff-tree", "-p", commit).encode()
        found = subprocess.run(
            ["git", "patch-id", "--stable"], input=patch, capture_output=True, check=True
        )
        return self.fork.subject(commit), found.stdout.decode().partition(" ")[0]
