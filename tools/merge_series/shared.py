"""Commits that several PRs hold and that no PR below them brings.

Published heads often stand on one another's older forms: a PR was rebased or amended, and those
that depend on it were not. Or a dependency is missing, or main here is older than what the branches
have of it.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from carry.carried import Carrier
from merge_series.alike import Forms
from merge_series.history import Commit, History
from merge_series.plan import is_synced
from stack.git_answers import Sha
from stack.refs import branch_ref
from stack.repository import Repository
from stack.words import counted

STAYS = "what a branch holds cannot be taken out by adding commits"
ANEW = "begin this PR anew on a branch of another name"

_LISTED = 3  # commits
_USUAL = ("main", "master")


@dataclass(frozen=True, slots=True)
class OlderForm:
    """Commits that are taken as what PRs were before they were rebased or amended.

    Attributes:
        holders: The PRs that hold them, but for those above one that does.
        of: Those PRs, on which every holder depends.
        commits: The commits.
        text: What there is to say, after the name of the first holder; empty if nothing is.
    """

    holders: tuple[int, ...]
    of: frozenset[int]
    commits: frozenset[Sha]
    text: str


@dataclass(frozen=True, slots=True)
class Missing:
    """Commits that no declared dependency explains.

    Attributes:
        holders: As for ``OlderForm``.
        text: What is to be done, after the name of a holder.
    """

    holders: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class SharedCommits:
    """Tells what commits are that several PRs hold.

    Args:
        repository: The fork.
        carrier: The series.
        main_name: The revision that is main.
        main: The commit of main.
        history: What the branches hold beyond main.
        left: The heads that earlier operations found or left on each branch.
    """

    repository: Repository
    carrier: Carrier
    main_name: str
    main: Sha
    history: History
    left: Mapping[str, Iterable[Sha]]

    @cached_property
    def _forms(self) -> Forms:
        return Forms(self.repository, self.history)

    def judge(self, commits: Sequence[Commit]) -> OlderForm | Missing:
        """Say what commits are that the same PRs hold.

        Args:
            commits: The commits, newest first.
        """
        closures = self.carrier.series.held
        holders = self.history.holders(commits[0].sha)
        lowest = tuple(sorted(n for n in holders if holders & closures[n] == {n}))
        newer = self._newer_main(commits)
        if newer:
            names = _and(f"#{number}" for number in lowest)
            held = _listed(commits)
            return Missing(
                lowest, f"holds {held}, as {names} do, and main has such commits: {newer}"
            )
        below = frozenset.intersection(*(closures[n] for n in lowest)).difference(lowest)
        older, others = self._older_form(commits, lowest, below & self.history.heads.keys())
        if older:
            shas = frozenset(commit.sha for commit in commits)
            return OlderForm(lowest, older, shas, self._told(commits, lowest, older))
        return Missing(lowest, self._undeclared(others, lowest))

    def _undeclared(self, commits: Sequence[Commit], lowest: tuple[int, ...]) -> str:
        names = _and(f"#{number}" for number in lowest)
        elsewhere = self._elsewhere(commits[:1], lowest)
        has = "has" if len(elsewhere) == 1 else "have"
        others = _and(f"#{number}" for number in elsewhere) if elsewhere else ""
        of = f" ({others} {has} it in another form)" if others else ""
        return (
            f"holds {_named(commits[0])}, as {names} do, none of which depends on another or on a "
            f"PR that brings it{of}; {STAYS}: write the dependency that is missing, or {ANEW}"
            f"{self._fetch_first(commits)}"
        )

    def _elsewhere(self, commits: Sequence[Commit], lowest: tuple[int, ...]) -> list[int]:
        """The PRs on which no holder depends, nor they on one, that have commits otherwise."""
        series = self.carrier.series
        around = frozenset().union(*(series.held[number] for number in lowest))
        return [
            number
            for number in self.history.heads
            if number not in around and series.held[number].isdisjoint(lowest)
            if is_synced(series.pull_requests[number]) and self._alike(number, commits)
        ]

    def _told(self, commits: Sequence[Commit], lowest: tuple[int, ...], of: frozenset[int]) -> str:
        """What is said until all holders have something of what came since."""
        before = self.history.reached(commit.sha for commit in commits)
        if all(self.has_newer(holder, number, before) for holder in lowest for number in of):
            return ""
        others = _and(f"#{number}" for number in lowest[1:])
        names = _and(f"#{number}" for number in sorted(of))
        they = "it is" if len(commits) == 1 else "they are"
        return (
            f"and {others} hold {_listed(commits)}, which {names} "
            f"{'do' if len(of) > 1 else 'does'} not: {they} "
            f"taken as an older form of {names}, and a sync merges {names} as "
            f"{'they are' if len(of) > 1 else 'it is'} now into them{self._fetch_first(commits)}"
        )

    def has_newer(self, holder: int, number: int, before: Collection[Sha]) -> bool:
        """Whether a branch holds some of what a PR is now, or a sync merges nothing of it.

        Args:
            holder: The PR of the branch.
            number: The PR.
            before: The commits of its older form, and what these contain.
        """
        if not is_synced(self.carrier.series.pull_requests[number]):
            return True
        own = self.history.own(number, self.carrier.series.held[number])
        newer = [commit.sha for commit in own if commit.sha not in before]
        mask = self.history.mask([holder])
        return not newer or any(self.history.held[sha] & mask for sha in newer)

    # An older form

    def _older_form(
        self, commits: Sequence[Commit], lowest: tuple[int, ...], below: frozenset[int]
    ) -> tuple[frozenset[int], Sequence[Commit]]:
        """The PRs among ``below`` of which commits are an older form, or those that are none."""
        nothing: frozenset[int] = frozenset()
        stands_on = self.history.reached(commit.sha for commit in commits)
        under = [c for c in self.history.commits.values() if c.sha in stands_on and not c.is_merge]
        found = {number: self._alike(number, under) for number in below}
        alike: frozenset[Sha] = frozenset().union(*found.values())
        for number in lowest:
            # The whole of one PR within another: there a dependency was removed or is missing.
            others = self.history.mask(lowest) & ~self.history.mask([number])
            head = self.history.heads[number]
            if head not in alike and self.history.held.get(head, 0) & others:
                return nothing, commits
        closures = self.carrier.series.held
        highest = frozenset(
            n for n in below if not any(n != other and n in closures[other] for other in below)
        )
        # What stands on a PR as it is now is no older form of it.
        as_now = {
            number
            for number in highest
            if any(own.sha in stands_on for own in self.history.own(number, closures[number]))
        }
        if as_now and not alike:
            return nothing, commits
        # What stands above all that is found is another's, unless a PR was written anew as a whole.
        known = self.history.reached(alike)
        above = tuple(commit for commit in commits if commit.sha not in known)
        mine = {commit.sha for commit in commits}
        of = frozenset(number for number, shas in found.items() if shas & mine)
        if not above:
            return of or frozenset(number for number, shas in found.items() if shas), ()
        anew = frozenset(number for number in highest - as_now if not found[number])
        return (nothing, above) if not anew or self._elsewhere(above, lowest) else (of | anew, ())

    def _alike(self, number: int, commits: Sequence[Commit]) -> frozenset[Sha]:
        """Those of some commits that a PR has in another form: what a rebase keeps is the same."""
        own = self.history.own(number, self.carrier.series.held[number])
        branch = self.carrier.series.pull_requests[number].branch
        was = self.history.reached((*self.left.get(branch, ()), *self._logged(branch)))
        return self._forms.alike(commits, own) | was.intersection(commit.sha for commit in commits)

    def _logged(self, branch: str) -> list[Sha]:
        """The heads that git's own log of a branch has, if it keeps one."""
        listed = self.repository.run("log", "-g", "--format=%H", branch_ref(branch), "--")
        return list(map(Sha, listed.text.split()))

    # Main's own

    def _newer_main(self, commits: Sequence[Commit]) -> str:
        """What to do where some commits are main's, and main here is older; else empty."""
        for ref, head in self._mains:
            others = self.repository.commits(*_tips(commits), f"^{self.main}", f"^{head}")
            if any(commit.sha not in others for commit in commits):
                return (
                    f"{self.main_name} here is older than {ref}; bring it up to date "
                    f"({self._fetch}), or say --main {ref}"
                )
        merged = [c.parents[1] for c in self.history.commits.values() if self._merges_main(c)]
        reached = self.history.reached(merged)
        if any(commit.sha in reached for commit in commits):
            return (
                f"{self.main_name} here is older than the main that the branches have; bring it up "
                f"to date ({self._fetch})"
            )
        return ""

    def _merges_main(self, commit: Commit) -> bool:
        """Whether a merge says that it merged main, as git words it or this program does."""
        names = "|".join(map(re.escape, self._names))
        said = rf"Merge (?:main into |(?:remote-tracking )?branch '(?:[^']*/)?(?:{names})')"
        return commit.is_merge and re.match(said, commit.subject) is not None

    @property
    def _names(self) -> tuple[str, ...]:
        return (*_USUAL, self.main_name.rpartition("/")[2])

    @cached_property
    def _mains(self) -> list[tuple[str, Sha]]:
        """The branches, here and of remotes, that main's name has and that are ahead of it."""
        listed = self.repository.run(
            "for-each-ref", "--format=%(refname:lstrip=2)%00%(objectname)",
            "refs/heads", "refs/remotes",
        )  # fmt: skip
        declared = {pull_request.branch for pull_request in self.carrier.series}
        rows = (line.split("\0") for line in listed.text.splitlines())
        return [
            (ref, Sha(head))
            for ref, head in rows
            if ref not in declared and ref.rpartition("/")[2] in self._names
            if head != self.main and self.repository.is_ancestor(self.main, Sha(head))
        ]

    def _fetch_first(self, commits: Sequence[Commit]) -> str:
        """What else commits may be that stand on main itself, where there is a remote to ask."""
        stand_on_main = any(self.main in commit.parents for commit in commits)
        if not stand_on_main or not self.repository.run("remote").text:
            return ""
        return f"; if main has it by now, bring {self.main_name} up to date first ({self._fetch})"

    @property
    def _fetch(self) -> str:
        """The command that brings main."""
        remotes = self.repository.run("remote").text.splitlines()
        remote, _, branch = self.main_name.partition("/")
        if remote in remotes and branch:
            return f"git fetch {remote}"
        of = self.repository.run(
            "config", "--get", f"branch.{self.main_name}.remote", accept=(0, 1)
        ).text
        remote = of or (remotes[0] if len(remotes) == 1 else "REMOTE")
        return f"git fetch {remote} {self.main_name}:{self.main_name}"


def _named(commit: Commit) -> str:
    return f"{commit.sha[:12]} '{commit.subject}'"


def _listed(commits: Sequence[Commit]) -> str:
    if len(commits) <= _LISTED:
        return _and(map(_named, reversed(commits)))
    return f"{counted(len(commits), 'commit')} up to {_named(commits[0])}"


def _and(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def _tips(commits: Iterable[Commit]) -> list[Sha]:
    """Those of some commits that stand below none of the others."""
    parents = {parent for commit in commits for parent in commit.parents}
    return [commit.sha for commit in commits if commit.sha not in parents]
