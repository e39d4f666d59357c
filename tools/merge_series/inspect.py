"""Where each branch stands: behind main, lacking a dependency, true to its edits."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from carry.build import Builder, carried
from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series.checks import Check
from merge_series.dropped import DroppedChanges
from merge_series.generated_files import generated_paths
from merge_series.lost import check_main
from merge_series.markers import check_markers
from merge_series.merger import REFRESH_SUBJECT
from merge_series.operations import Operations
from merge_series.plan import sources, synced_pull_requests
from merge_series.resolve import main_below
from process_groups.allowlist import ALLOWLIST_PATH
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest
from stack.refs import heads
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class BranchStatus:
    """One branch.

    Attributes:
        pull_request: Its PR.
        head: Its head; None if there is no such branch.
        behind: Commits of main it lacks.
        ahead: Its commits that main lacks.
        lacks: Dependencies whose heads it does not contain.
        waits: PRs further below that lack something which this branch does not lack itself, or
            that have no branch.
    """

    pull_request: PullRequest
    head: Sha | None
    behind: int
    ahead: int
    lacks: tuple[PullRequest, ...]
    waits: tuple[PullRequest, ...] = ()

    @property
    def is_synced(self) -> bool:
        """Whether a sync moves the branch: not that of a PR that landed or was superseded."""
        return self.pull_request.state in {"open", "draft"}

    @property
    def summary(self) -> str:
        """What a sync would find: ``up to date``, or what is missing."""
        if not self.is_synced:
            return self.pull_request.state
        if self.head is None:
            return "no branch"
        missing = [f"{self.behind} behind main"] if self.behind else []
        missing += [f"lacks {pr.name}" for pr in self.lacks]
        if self.waits:
            missing.append(f"waits for {', '.join(pr.name for pr in self.waits)}")
        return ", ".join(missing) or "up to date"


def statuses(repository: Repository, carrier: Carrier, main: Sha) -> tuple[BranchStatus, ...]:
    """Where every branch of the series stands against ``main``."""
    found = heads(repository, [pull_request.branch for pull_request in carrier.series])
    repository.read_ancestry(main, found.values())
    result: dict[int, BranchStatus] = {}
    for pull_request in carrier.series:
        head = found.get(pull_request.branch)
        if head is None:
            result[pull_request.number] = BranchStatus(pull_request, None, 0, 0, ())
            continue
        lacks = _lacking(repository, carrier, pull_request, found)
        counts = repository.run("rev-list", "--left-right", "--count", f"{main}...{head}", "--")
        behind, ahead = (int(number) for number in counts.text.split())
        below = [
            result[pr.number]
            for pr in carrier.series.closure(pull_request)
            if pr != pull_request and pr not in lacks
        ]
        waits = tuple(
            status.pull_request
            for status in below
            if status.is_synced
            and (status.head is None or status.lacks or (status.behind and not behind))
        )
        result[pull_request.number] = BranchStatus(pull_request, head, behind, ahead, lacks, waits)
    return tuple(result.values())


def verify(
    repository: Repository, carrier: Carrier, operations: Operations, main_name: str, main: Sha
) -> tuple[Check, ...]:
    """Check main and every branch of the series.

    Args:
        repository: The fork.
        carrier: The series and its edits.
        operations: What is kept of earlier syncs.
        main_name: The revision that is main.
        main: The commit of main.

    Returns:
        Every check made, in the order of the branches.
    """
    scanner = ReadScanner(repository)
    generated = generated_paths(repository, carrier)
    dropped = DroppedChanges(repository, carrier, operations, main, generated)
    earlier = _earlier_heads(operations)
    checks = [check_main(repository, carrier, operations, main_name, main)]
    found = heads(repository, [pull_request.branch for pull_request in carrier.series])
    repository.read_ancestry(main, found.values())
    for pull_request in synced_pull_requests(carrier):
        branch = pull_request.branch
        head = found.get(branch)
        if head is None:
            checks.append(Check(branch, "branch", "there is no such branch"))
            continue
        old = earlier.get(branch, set())
        bases = repository.merge_bases(head, main)
        try:
            base = bases[0] if bases else main_below(repository, head, main)
        except Refusal as refusal:
            checks.append(Check(branch, "history", str(refusal)))
            continue
        checks += [
            Check(
                branch,
                "old heads reachable",
                _lost_heads(repository, old, head),
            ),
            _contained(repository, carrier, pull_request, found, is_synced=bool(old)),
            dropped.check(pull_request),
            check_markers(repository, branch, base, head),
            _allowlist(repository, scanner, branch, head),
            _carried(repository, carrier, scanner, pull_request, bases, head, generated),
        ]
    return tuple(checks)


def _earlier_heads(operations: Operations) -> dict[str, set[Sha]]:
    """Every head that a sync found or left, by branch."""
    earlier: dict[str, set[Sha]] = {}
    for done in operations.done():
        for branch, head in (*done.old.items(), *done.new.items()):
            if head is not None:
                earlier.setdefault(branch, set()).add(head)
    return earlier


def _lost_heads(repository: Repository, earlier: set[Sha], head: Sha) -> str:
    lost = [
        sha[:12]
        for sha in sorted(earlier)
        if repository.resolve(sha) is None or not repository.is_ancestor(sha, head)
    ]
    return f"no longer contains its earlier heads {', '.join(lost)}" if lost else ""


def _lacking(
    repository: Repository, carrier: Carrier, pull_request: PullRequest, found: dict[str, Sha]
) -> tuple[PullRequest, ...]:
    """The dependencies whose heads a branch that exists does not contain."""
    head = found[pull_request.branch]
    return tuple(
        source
        for source in sources(carrier, pull_request)
        if source.branch in found and not repository.is_ancestor(found[source.branch], head)
    )


def _contained(
    repository: Repository,
    carrier: Carrier,
    pull_request: PullRequest,
    found: dict[str, Sha],
    *,
    is_synced: bool,
) -> Check:
    """Whether a branch contains its dependencies; nobody said so of one that was never synced."""
    lacking = _lacking(repository, carrier, pull_request, found)
    missing = [f"{source.name} at {found[source.branch][:12]}" for source in lacking]
    wrong = f"does not contain {', '.join(missing)}" if missing else ""
    name = "dependencies contained"
    if wrong and not is_synced:
        return Check(pull_request.branch, name, "", "it was not synced yet")
    return Check(pull_request.branch, name, wrong)


def _allowlist(repository: Repository, scanner: ReadScanner, branch: str, head: Sha) -> Check:
    name = "allowlist true"
    if repository.entry(head, ALLOWLIST_PATH) is None:
        return Check(branch, name, "", "no allowlist on this branch")
    found, allowed = scanner.scan(head), scanner.allowed(head)
    new, gone = (found - allowed).total(), (allowed - found).total()
    wrong = f"{new} reads not listed, {gone} listed but gone" if new or gone else ""
    return Check(branch, name, wrong)


def _carried(  # noqa: PLR0913, PLR0917 - what a carried tree is made of
    repository: Repository,
    carrier: Carrier,
    scanner: ReadScanner,
    pull_request: PullRequest,
    bases: Sequence[Sha],
    head: Sha,
    generated: Collection[str],
) -> Check:
    """Whether the branch's tree is its edits applied to its main.

    A file that a command of the user's makes follows from what the edits make of the others.
    """
    name = "tree is the carried tree"
    base, *others = bases
    if others:
        # Main merged an older head of a branch that has merged main since.
        note = "stands on several commits of main, until it is synced"
        return Check(pull_request.branch, name, "", note)
    if base == head:
        return Check(pull_request.branch, name, "", "main holds all of it")
    holds = carrier.series.closure(pull_request)
    declared = {commit.subject for pr in holds for commit in pr.commits} | {REFRESH_SUBJECT}
    answer = repository.run("log", "--no-merges", "--format=%h %s", head, f"^{base}", "--")
    by_hand = [line for line in answer.text.splitlines() if line.partition(" ")[2] not in declared]
    if by_hand or not all(pr.commits for pr in holds):
        return Check(pull_request.branch, name, "", "holds commits written by hand")
    builder = Builder(repository, carrier, scanner)
    by_command = frozenset(generated).difference(carrier.series.generated)

    def wrong(prs: tuple[PullRequest, ...]) -> str:
        try:
            differing = _differing(repository, builder.carried_tree(base, prs), head) - by_command
        except Refusal as refusal:
            return str(refusal)
        listed = ", ".join(sorted(differing))
        return f"differs from the edits applied to main in {listed}" if differing else ""

    found = wrong(holds)
    if found and carried(holds) != holds:
        # What landed is part of main once it is absorbed, and main may have changed it since.
        found = wrong(carried(holds))
    return Check(pull_request.branch, name, found)


def _differing(repository: Repository, tree: Sha, head: Sha) -> set[str]:
    """The paths at which a head is not a tree."""
    answer = repository.run("diff-tree", "-r", "-z", "--name-only", tree, head)
    return {path for path in answer.text.split("\0") if path}
