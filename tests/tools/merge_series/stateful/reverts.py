"""What main takes back of PRs that landed, and what it brings again."""

from happened import Landing, Reverted
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from landings import Landings
from people import some_works
from small_fork import Commit
from small_series import live
from tokens import written

_SAYS = ('Revert "Revert "Do b{n} (#{n})""', "Reland Do b{n} (#{other})", "Do b{n} (#{n})")


class Reverts(Landings):
    """The stack, and main that goes back on what landed."""

    @precondition(lambda self: not self.is_waiting and self.landings)
    @rule(
        work=some_works,
        place=st.integers(0, 8),
        is_again=st.booleans(),
        keeps=st.booleans(),
        says=st.sampled_from(_SAYS),
    )
    def turn(self, work, place, says, *, is_again, keeps) -> None:
        """Revert what landed, or bring it again."""
        self.work(work)
        reverted = [r for r in self.reverts.values() if not r.ended_by]
        known = {r.landing for r in reverted}
        standing = [landing for landing in self.landings if landing.commit not in known]
        if is_again and reverted:
            self._bring_again(reverted[place % len(reverted)], says)
        elif standing and not is_again:
            self._revert(standing[place % len(standing)], keeps=keeps)
        if "main" in self.checkouts.folders:
            self.checkouts.discard("main")
        self.check_branches(self.fork.heads())

    def _revert(self, landing, *, keeps) -> None:
        number, commit = landing.number, landing.commit
        undone = self.tokens.against(landing.brought, self.events["main"])
        subject = self.fork.subject(commit)
        message = f'Revert "{subject}"\n\nThis reverts commit {commit}.'
        made = self._go_back_on(commit, undone, message)
        if made is None:
            return
        # One answer is true for all that main reverts of a PR.
        wishes = [r.keeps for r in self.reverts.values() if r.number == number]
        keeps = wishes[0] if wishes else keeps
        self.reverts[made] = Reverted(number, commit, undone, keeps=keeps)
        self.met["reverted"] += 1

    def _bring_again(self, reverted, says) -> None:
        (commit,) = (c for c, r in self.reverts.items() if r is reverted)
        number = reverted.number
        is_open = number in live(self.rows) and reverted.is_answered
        # The number of a PR that is open is for what its branch brings.
        text = (
            says.format(n=number, other=90 + number) if not is_open else _SAYS[0].format(n=number)
        )
        again = self.tokens.against(reverted.undone, self.events["main"])
        made = self._go_back_on(commit, again, f"{text}\n\nThis reverts commit {commit}.")
        if made is not None:
            reverted.ended_by = made
            self.landings.append(Landing(number, made, again))
            self.met["brought again"] += 1

    def _go_back_on(self, commit, undone, message) -> str | None:
        """Revert a commit on main, if git's own revert does what the events say."""
        main, before = self.fork.heads()["main"], self.events["main"]
        if not undone:
            return None
        after = before | undone
        files = written(self.tokens, before, after, self.fork.places(main))
        whole = {p: t for p, t in (self.fork.files(main) | files).items() if t is not None}
        tree, is_clean = self.fork.revert(main, commit)
        generated = self.tokens.generated(after)
        if not is_clean or self.fork.files_of_tree(tree) | generated != whole:
            self.met["not to be reverted"] += 1
            return None
        (made,) = self.commit([Commit("main", (main,), files, message)])
        self.own[made], self.events["main"] = undone, after
        return made
