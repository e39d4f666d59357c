"""Building a PR's branch on a base: one commit per series commit.

A branch on one dependency starts at that dependency's head; on several, at a merge of their heads
whose tree is known without merging, since a branch's text is the layers of all PRs it contains.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from carry.bases import GitTree
from carry.carried import Carrier
from carry.generated import ReadScanner, render
from process_groups import ratchet
from process_groups.allowlist import ALLOWLIST_PATH
from stack.command_line import typed
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest, Series, SeriesCommit
from stack.refs import Update, branch_ref, heads, move
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class Built:
    """A branch that was built.

    Attributes:
        pull_request: Its PR.
        head: Its new head.
    """

    pull_request: PullRequest
    head: Sha


class Builder:
    """Builds trees and branches of the series in one repository.

    Args:
        repository: The fork.
        carrier: The series.
        scanner: Scanner of the repository.
    """

    def __init__(self, repository: Repository, carrier: Carrier, scanner: ReadScanner) -> None:
        self._repository = repository
        self._carrier = carrier
        self._scanner = scanner

    def build(
        self, main: Sha, told: Callable[[str], None], inherited: Sequence[int] = ()
    ) -> tuple[Built, ...]:
        """Build every branch of the series that does not exist yet, all on ``main``, or none.

        Args:
            main: Commit of main to build on.
            told: Called with a sentence when a branch is begun.
            inherited: Open files that git holds open while it makes the branches; the caller holds
                the repository's lock.

        Returns:
            The branches built, dependencies first; those that existed are left as they were.

        Raises:
            Refusal: An edit does not match, a commit would change nothing, or a branch to be built
                depends on a PR that was superseded, on one whose branch stands on another main, or
                on several of which one holds more than the series carries.
        """
        existing = heads(self._repository, [pr.branch for pr in self._carrier.series])
        tips = dict(existing)
        built = []
        for pull_request in self._carrier.series:
            if pull_request.branch in existing or not _is_built(pull_request):
                continue
            told(f"Building {pull_request.branch} ({pull_request.name})")
            head = self._start(pull_request, main, tips, existing)
            for commit in pull_request.commits:
                head = self._commit(pull_request, commit, head)
            tips[pull_request.branch] = head
            built.append(Built(pull_request, head))
        updates = [Update(branch_ref(b.pull_request.branch), None, b.head) for b in built]
        move(self._repository, updates, "carry: build the series", inherited)
        return tuple(built)

    def carried_tree(self, main: Sha, pull_requests: Sequence[PullRequest]) -> Sha:
        """The tree of a branch that holds ``pull_requests`` and nothing else, on ``main``.

        Args:
            main: The commit of main.
            pull_requests: The PRs with their dependencies, in topological order.

        Raises:
            Refusal: An edit does not match main's text.
        """
        files = self._carrier.files(GitTree(self._repository, main), pull_requests)
        tree = self._repository.tree_of(main)
        tree = self._repository.change_files(tree, files)
        if any(commit.regenerates for pr in pull_requests for commit in pr.commits):
            listed = render(self._scanner.scan(tree))
            tree = self._repository.change_files(tree, {ALLOWLIST_PATH: listed})
        return tree

    def _start(
        self,
        pull_request: PullRequest,
        main: Sha,
        tips: Mapping[str, Sha],
        existing: Mapping[str, Sha],
    ) -> Sha:
        dependencies = _dependencies(self._carrier.series, pull_request)
        head = main
        for number, dependency in enumerate(dependencies, 1):
            tip = self._tip(pull_request, dependency, main, tips)
            if self._repository.is_ancestor(head, tip):
                head = tip
            elif not self._repository.is_ancestor(tip, head):
                held = carried(self._carrier.series.closure(*dependencies[:number]))
                self._check_carried(pull_request, main, held, existing)
                tree = self.carried_tree(main, held)
                message = (
                    f"Merge {dependency.brings} from {dependency.name}\n\n"
                    f"{pull_request.name} builds on it. No file conflicted."
                )
                head = self._repository.commit_tree(tree, [head, tip], message)
        return head

    def _check_carried(
        self,
        pull_request: PullRequest,
        main: Sha,
        held: Sequence[PullRequest],
        existing: Mapping[str, Sha],
    ) -> None:
        """Refuse to merge a branch that people changed: the carried tree lacks what they did."""
        for dependency in held:
            head = existing.get(dependency.branch)
            if head is None:
                continue
            holds = carried(self._carrier.series.closure(dependency))
            if self._repository.tree_of(head) != self.carried_tree(main, holds):
                raise Refusal(
                    f"branch {dependency.branch} holds other files than the series carries on "
                    f"{main[:12]}, so it cannot be merged into {pull_request.branch} unseen; "
                    f"make {pull_request.branch} by hand: merge what {pull_request.name} depends on"
                )

    def _tip(
        self,
        pull_request: PullRequest,
        dependency: PullRequest,
        main: Sha,
        tips: Mapping[str, Sha],
    ) -> Sha:
        tip = tips.get(dependency.branch)
        if tip is None:
            raise Refusal(
                f"SERIES.md:{pull_request.line}: {pull_request.name} depends on {dependency.name}, "
                f"whose branch {dependency.branch} does not exist; fetch it first"
            )
        if self._repository.merge_bases(tip, main) != (main,):
            raise Refusal(
                f"branch {dependency.branch} does not contain {main[:12]} of main; sync it first "
                f"({typed('merge_series sync')}), then build {pull_request.branch} on it"
            )
        return tip

    def _commit(self, pull_request: PullRequest, commit: SeriesCommit, parent: Sha) -> Sha:
        repository = self._repository
        base = GitTree(repository, parent)
        files = self._carrier.commit_files(base, pull_request, commit)
        before = repository.tree_of(parent)
        tree = repository.change_files(before, files)
        for path in commit.regenerates:
            reads = self._scanner.scan(tree)
            refused = ratchet.refused(reads, self._scanner.allowed(parent))
            if refused:
                new = ", ".join(f"{read.path}:{read.scope}: {read.function}" for read in refused)
                raise Refusal(
                    f"{pull_request.branch}: the change itself reads the global process groups "
                    f"at {new}; pass the collection there instead"
                )
            tree = repository.change_files(tree, {path: render(reads)})
        if tree == before:
            raise Refusal(
                f"SERIES.md:{commit.line}: commit {commit.number} of {pull_request.name} "
                f"changes nothing on {parent[:12]}; correct its edits, or take it out"
            )
        return repository.commit_tree(tree, [parent], commit.message)


def carried(pull_requests: Sequence[PullRequest]) -> tuple[PullRequest, ...]:
    """Those PRs whose commits a branch holds beyond main: not what landed or was superseded."""
    return tuple(pr for pr in pull_requests if pr.state in {"open", "draft"})


def _is_built(pull_request: PullRequest) -> bool:
    return bool(pull_request.commits) and bool(carried([pull_request]))


def _dependencies(series: Series, pull_request: PullRequest) -> tuple[PullRequest, ...]:
    """The PRs that a branch is built on; main stands for one that landed."""
    dependencies = series.dependencies(pull_request)
    for dependency in dependencies:
        if dependency.state == "superseded":
            raise Refusal(
                f"SERIES.md:{pull_request.line}: {pull_request.name} depends on {dependency.name}, "
                "which is superseded; write its successor there"
            )
    return carried(dependencies)
