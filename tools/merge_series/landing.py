"""One PR that landed, in whatever form, and what a branch needs so that nothing conflicts falsely.

A squash S on main brings a PR's changes without its commits, so git merging main into a branch that
holds those commits sees every change made twice. But a branch that contains the PR's head and the
commit before S has all that S brings, but for what whoever merged the PR made otherwise: what S has
beyond the merge of these two is merged into it, which mostly is nothing, and main from there on.
"""

from collections.abc import Collection
from dataclasses import dataclass

from merge_series.landed_form import DIFFERS, LEFT_OUT, Form
from merge_series.records import Beyond
from stack.git_answers import Sha
from stack.model import PullRequest
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class Landing:
    """A PR that landed.

    Attributes:
        pull_request: The PR.
        head: The head of its branch, all of which main has.
        below: The commit of main before the landing; None where main contains ``head`` itself.
        commit: The last commit of the landing.
        form: How main has it.
        after: Heads that landed before it and that it builds on.
        joined: Where it is of several PRs, none of which holds another: the landing of each.
    """

    pull_request: PullRequest
    head: Sha
    below: Sha | None
    commit: Sha
    form: Form
    after: tuple[Sha, ...] = ()
    joined: tuple["Landing", ...] = ()

    @property
    def each(self) -> tuple["Landing", ...]:
        """It by PR."""
        return self.joined or (self,)

    def is_part_of(self, other: "Landing") -> bool:
        """Whether another has its PRs and more."""
        mine, theirs = ({one.head for one in landing.each} for landing in (self, other))
        return self.commit == other.commit and mine < theirs

    @property
    def name(self) -> str:
        """The names of its PRs."""
        return " and ".join(one.pull_request.name for one in self.each)

    def told(self, made_again: Collection[str]) -> str:
        """In what form main has it, as a sentence; empty if as its branch is.

        Args:
            made_again: Files in which it may differ, since they are made again after every merge.
        """
        form = self.form
        if set(form.differing).issubset(made_again):
            return ""
        left_out = f"; it left out something of {', '.join(form.left_out)}"
        return (
            f"main has {self.name} in another form than {self._heads}: "
            f"{self.commit[:12]} differs in {', '.join(form.differing)}"
            + (left_out if form.left_out else "")
        )

    def beyond(self) -> Beyond:
        """What of the landing a branch merges that contains the PR and the commit before."""
        form, name = self.form, f"{self.name} as landed"
        heads = (f"{one.pull_request.branch}\nat {one.head[:12]}" for one in self.each)
        merged = f"those of merging {' and '.join(heads)} into the commit before"
        absorbs = tuple(one.head for one in self.each)
        they = "they" if self.joined else "it"
        if not form.differing:
            subject = f"Record that {self.name} landed in main"
            body = (
                f"Main has it as {self.commit[:12]}, whose files are {merged}. This branch "
                "contains both, so\nit keeps its files as they are."
            )
            return Beyond(form.merged, name, subject, body, absorbs, form.kept)
        body = (
            f"Main has it as {self.commit[:12]}, whose files are not {merged}. {DIFFERS}\n"
            + "\n".join(f"- {path}" for path in form.differing)
        )
        if form.left_out:
            listed = "\n".join(f"- {path}" for path in form.left_out)
            body += f"\n\n{LEFT_OUT.format(name=self.name)}\n{listed}"
        subject = f"Merge {self.name} as {they} landed in main"
        return Beyond(form.merged, name, subject, body, absorbs, form.kept)

    @property
    def _heads(self) -> str:
        return " and ".join(f"{one.pull_request.branch} at {one.head[:12]}" for one in self.each)


@dataclass(frozen=True, slots=True)
class Step:
    """What a branch needs next to absorb a landing.

    Attributes:
        source: The PR to merge; None to merge main as it was before the landing.
        commit: What to merge.
        beyond: Beyond what to merge it: the landing itself, where the branch contains the rest.
    """

    source: PullRequest | None
    commit: Sha
    beyond: Beyond | None = None


def next_step(repository: Repository, landing: Landing, tip: Sha) -> Step | None:
    """What a branch needs next to absorb one landing; None if nothing.

    A branch that holds none of the PR's commits needs nothing: main merges into it as ever.
    """
    if landing.below is None or repository.is_ancestor(landing.commit, tip):
        return None
    if not all(shares(repository, one, tip) for one in landing.each):
        return None
    for one in landing.each:
        if not repository.is_ancestor(one.head, tip):
            return Step(one.pull_request, one.head)
    if not repository.is_ancestor(landing.below, tip):
        return Step(None, landing.below)
    return Step(None, landing.commit, landing.beyond())


def shares(repository: Repository, landing: Landing, tip: Sha) -> bool:
    """Whether a branch holds commits of the PR that no earlier landing brings."""
    known = [f"^{sha}" for sha in (landing.below, *landing.after) if sha]
    with_tip = repository.commits(landing.head, *known, f"^{tip}")
    return len(with_tip) < len(repository.commits(landing.head, *known))
