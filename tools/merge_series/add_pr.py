"""Adding a PR to the series: where its branch starts, and its row and section in SERIES.md."""

import shlex
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series.declared import Rewrite
from merge_series.in_step import refuse_out_of_step
from merge_series.merger import Merger
from merge_series.plan import branch_heads, synced_pull_requests
from merge_series.planned import Planned, Stopped
from merge_series.records import MergeRecord
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest, Series
from stack.repository import Repository
from stack.series_edit import NewPullRequest, heading, row, with_pull_request

_WIDTH = 72  # columns of a commit message


@dataclass(frozen=True, slots=True)
class Start:
    """Where a branch begins.

    Attributes:
        head: The commit.
        merged: The merges made for it; none on one dependency.
    """

    head: Sha
    merged: tuple[MergeRecord, ...]


def add_pull_request(  # noqa: PLR0913, PLR0917 - what a PR is added by
    repository: Repository,
    carrier: Carrier,
    main: Sha,
    new: NewPullRequest,
    because: str,
    told: Callable[[str], None],
) -> tuple[Start, Rewrite]:
    """Make the commit that a new PR's branch starts at; no ref moves and no file is written.

    Args:
        repository: The fork.
        carrier: The series.
        main: The commit of main.
        new: The PR; what it depends on has a row.
        because: Why the branch needs what it depends on.
        told: Called with a sentence for each of the user's commands that has run.

    Returns:
        Where the branch starts, and what becomes of SERIES.md.

    Raises:
        Refusal: The PR or its branch exists, a dependency is not one to build on, several are not
            in step with each other, or merging them needs a person; it says what to type.
    """
    refuse_known(repository, carrier, new)
    for number in new.depends_on:
        dependency = carrier.series.pull_requests[number]
        if dependency.state not in {"open", "draft"}:
            has = "main has it, so leave it out, or say --on main"
            instead = has if dependency.state == "landed" else "name its successor"
            raise Refusal(
                f"{carrier.path}:{dependency.line}: #{number} is {dependency.state}; {instead}"
            )
    before = carrier.path.read_bytes()
    rewrite = Rewrite(carrier.path, before, with_pull_request(before, str(carrier.path), new))
    whole = rewrite.carrier(carrier)
    pull_request = whole.series.pull_requests[new.number]
    merger = Merger(repository, whole, ReadScanner(repository), main, told)
    dependencies = whole.series.dependencies(pull_request)
    if not dependencies:
        return Start(main, ()), rewrite
    if len(dependencies) > 1:
        closure = whole.series.closure(*dependencies)
        below = tuple(pr for pr in synced_pull_requests(whole) if pr in closure)
        refuse_out_of_step(repository, whole, main, below, branch_heads(repository, below))
    commands = _by_hand(pull_request, dependencies, new)
    return start_on(
        repository, merger, pull_request, dependencies, because, by_hand=commands
    ), rewrite


def implied(series: Series, numbers: Sequence[int]) -> dict[int, int]:
    """Which of some PRs need not be named as dependencies, each with one that depends on it."""
    chosen = [series.pull_requests[number] for number in numbers]
    below = {pr.number: {held.number for held in series.closure(pr)} for pr in chosen}
    return {
        number: other
        for number in numbers
        for other in numbers
        if other != number and number in below[other]
    }


def refuse_known(repository: Repository, carrier: Carrier, new: NewPullRequest) -> None:
    """Refuse a PR number that has a row, and a branch name that is taken.

    Raises:
        Refusal: It names the row or the branch.
    """
    if len(new.title.splitlines()) != 1:
        raise Refusal(f"#{new.number}: the title is not one line; write it on one")
    known = carrier.series.pull_requests.get(new.number)
    if known is not None:
        raise Refusal(
            f"SERIES.md:{known.line}: #{new.number} has a row already; take another number"
        )
    listed = repository.run("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
    for branch in listed.text.split("\n"):
        # git keeps a ref as a file, so a branch cannot also be the folder of another.
        if branch and (
            f"{branch}/".startswith(f"{new.branch}/") or new.branch.startswith(f"{branch}/")
        ):
            raise Refusal(
                f"{repository.directory}: the branch {branch} exists, so {new.branch} cannot be "
                "made; choose another name"
            )


def start_on(  # noqa: PLR0913 - what a start is made of
    repository: Repository,
    merger: Merger,
    pull_request: PullRequest,
    dependencies: Sequence[PullRequest],
    because: str,
    *,
    by_hand: str | None = None,
) -> Start:
    """The commit at which a branch on ``dependencies`` starts: the merge of their heads.

    Each merge has two parents; where one head contains another, none is made.

    Args:
        repository: The fork.
        merger: What makes the merges.
        pull_request: The PR of the branch.
        dependencies: What it is on; one or more.
        because: Why it needs them.
        by_hand: What to do instead where a merge needs a person, if that is known.

    Raises:
        Refusal: A merge needs a person.
    """
    tips = branch_heads(repository, tuple(dependencies))
    head = tips[dependencies[0].branch]
    merged: list[MergeRecord] = []
    for number, dependency in enumerate(dependencies[1:], 2):
        tip = tips[dependency.branch]
        if repository.is_ancestor(tip, head):
            continue
        if repository.is_ancestor(head, tip):
            head = tip
            continue
        record = merged_or_refused(merger, Planned(pull_request, dependency, head, tip), by_hand)
        text = _explained(
            repository.message(record.commit), pull_request, dependencies[:number], because
        )
        tree = repository.tree_of(record.commit)
        head = repository.commit_tree(tree, [record.ours, record.theirs], text)
        merged.append(replace(record, commit=head))
    return Start(head, tuple(merged))


def _by_hand(
    pull_request: PullRequest, dependencies: Sequence[PullRequest], new: NewPullRequest
) -> str:
    """What to type where the branches that a PR depends on conflict."""
    first, *others = (shlex.quote(dependency.branch) for dependency in dependencies)
    steps = [f"git switch -c {shlex.quote(pull_request.branch)} {first}"]
    steps += [f"git merge {branch}" for branch in others]
    return (
        f"To settle it, type {', then '.join(steps)}, git commit what you settled, and add the row "
        f"{row(new)} and a section {heading(new)} to SERIES.md"
    )


def merged_or_refused(merger: Merger, planned: Planned, by_hand: str | None = None) -> MergeRecord:
    """Make a merge that no person can be asked about.

    Args:
        merger: What makes it.
        planned: The merge.
        by_hand: What to do instead, if that is known.

    Raises:
        Refusal: It needs a person; it names the files.
    """
    result = merger.merge(planned)
    if isinstance(result, Stopped):
        files = "; ".join(f"{one.path}: {one.why}" for one in result.unsettled)
        instead = by_hand or (
            f"Merge {planned.theirs[:12]} into {planned.ours[:12]} by hand on a branch that both "
            "are to flow into, and declare that"
        )
        raise Refusal(
            f"{planned.pull_request.branch}: merging {planned.source_name} needs a person for "
            f"{files}; nothing was changed. {instead}"
        )
    return result


def _explained(
    message: str, pull_request: PullRequest, dependencies: Iterable[PullRequest], because: str
) -> str:
    """The message of a merge with what each dependency brings and why they are needed."""
    subject, *body = message.strip().split("\n\n")
    brings = [
        textwrap.fill(f"- {pr.name} Brings: {pr.brings}", _WIDTH, subsequent_indent="  ")
        for pr in dependencies
    ]
    why = textwrap.fill(f"{pull_request.name} needs them because {because}", _WIDTH)
    # The last paragraph signs off, which the new commit does again.
    return "\n\n".join([subject, "\n".join(brings), why, *body[:-1]])
