"""What a sync has to do, and whether it may begin."""

from collections.abc import Iterator

from carry.carried import Carrier
from merge_series.left import left_heads
from merge_series.operations import Operations
from stack.command_line import typed
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest
from stack.refs import branch_ref, heads, refuse_busy
from stack.repository import Repository
from stack.words import counted


def synced_pull_requests(carrier: Carrier) -> tuple[PullRequest, ...]:
    """The PRs whose branches a sync moves: all but those that landed or were superseded."""
    return tuple(pr for pr in carrier.series if is_synced(pr))


def sources(carrier: Carrier, pull_request: PullRequest) -> tuple[PullRequest, ...]:
    """The PRs that a sync merges into a PR's branch before main, in declared order."""
    return tuple(pr for pr in carrier.series.dependencies(pull_request) if is_synced(pr))


def is_synced(pull_request: PullRequest) -> bool:
    """Whether a sync moves a PR's branch."""
    return pull_request.state in {"open", "draft"}


def resolve_main(repository: Repository, carrier: Carrier, name: str) -> Sha:
    """The commit that main is at.

    Raises:
        Refusal: There is no such revision, or the series has main as a PR's branch.
    """
    # A branch before a tag of the same name, which git would take.
    full = branch_ref(name)
    main = repository.resolve(full)
    if main is None:
        full = _full_name(repository, name)
        main = repository.resolve(name)
    for pull_request in carrier.series:
        if branch_ref(pull_request.branch) in {branch_ref(name), full}:
            raise Refusal(
                f"SERIES.md:{pull_request.line}: {pull_request.name} has the branch "
                f"{pull_request.branch}, which is main here; main is never moved, so give the PR a "
                "branch of its own, or name another main with --main"
            )
    if main is None:
        raise Refusal(
            f"{repository.directory}: no commit is named {name!r}; name main with --main "
            "(for a clone of Megatron-LM: --main upstream/main)"
        )
    return main


def _full_name(repository: Repository, name: str) -> str:
    """The ref that a name such as ``HEAD`` or ``heads/main`` stands for; empty for an id."""
    return repository.run(
        "rev-parse", "--verify", "--quiet", "--symbolic-full-name", "--end-of-options", name,
        accept=(0, 1, 128),
    ).text  # fmt: skip


def newer_mains(repository: Repository, name: str, main: Sha) -> Iterator[str]:
    """Say of each remote's branch of main's name that it is ahead of main here."""
    listed = repository.run(
        "for-each-ref", "--format=%(refname:lstrip=2)%00%(objectname)", f"refs/remotes/*/{name}"
    )
    for line in listed.text.splitlines():
        remote, _, head = line.partition("\0")
        if head != main and repository.is_ancestor(main, Sha(head)):
            ahead = counted(len(repository.commits(head, f"^{main}")), "commit")
            yield (
                f"{remote} is {ahead} ahead of {name} here; to go by it instead, say "
                f"--main {remote}"
            )


def main_branch(repository: Repository, name: str) -> str:
    """The branch that main is where PRs are merged: without the name of a remote here.

    Raises:
        Refusal: The name is that of no branch.
    """
    if repository.resolve(branch_ref(name)) is not None:
        return name
    full = _full_name(repository, name)
    remotes = repository.run("remote").text.split("\n")
    for folder in (*(f"refs/remotes/{remote}/" for remote in remotes), "refs/heads/"):
        if full.startswith(folder):
            return full.removeprefix(folder)
    raise Refusal(
        f"{repository.directory}: --main {name} names no branch, so no PR can have it as its base; "
        "name one (for a clone of Megatron-LM: --main upstream/main)"
    )


def branch_heads(repository: Repository, pull_requests: tuple[PullRequest, ...]) -> dict[str, Sha]:
    """The heads of all branches.

    Raises:
        Refusal: A branch does not exist.
    """
    found = heads(repository, [pull_request.branch for pull_request in pull_requests])
    missing = list({pr.number: pr for pr in pull_requests if pr.branch not in found}.values())
    if missing:
        fetched = {pr.branch: _fetched(repository, pr.branch) for pr in missing}
        some = [pr for pr in missing if fetched[pr.branch]] or missing[:1]
        what = " and ".join(f"{pr.name} has no branch {pr.branch}" for pr in some)
        left = left_heads(Operations(repository).journal.records(), some).get(some[0].branch)
        left = left if left and repository.resolve(left.head) else None
        begin = left.head[:12] if left else "COMMIT"
        commands = [f"git branch {pr.branch} {fetched[pr.branch] or begin}" for pr in some]
        if fetched[some[0].branch]:
            do = f"make what was fetched a branch: {' && '.join(commands)}"
        elif left:
            do = f"bring it back as it was {left.when}: {commands[0]}"
        elif some[0].commits:
            do = f"build it ({typed('carry build', late=('--repo', '--main'))}) or fetch it"
        else:
            do = f"fetch it, or make it where your commits of it are: {commands[0]}"
        raise Refusal(f"{repository.directory}: {what} here; {do}")
    return found


def _fetched(repository: Repository, branch: str) -> str:
    """The branch of a remote that a branch can be made of, such as ``origin/experts``, if any."""
    listed = repository.run(
        "for-each-ref", "--format=%(refname:lstrip=2)", f"refs/remotes/*/{branch}"
    )
    return listed.text.partition("\n")[0]


def heads_by_number(repository: Repository, carrier: Carrier) -> dict[int, Sha]:
    """The heads of the series' PRs whose branch exists, by number."""
    found = heads(repository, [pr.branch for pr in carrier.series])
    return {pr.number: found[pr.branch] for pr in carrier.series if pr.branch in found}


def moving_branches(
    repository: Repository, carrier: Carrier, main: Sha, old: dict[str, Sha]
) -> dict[str, Sha]:
    """The branches that a sync will move: those that lack main, or follow one that moves."""
    moving: dict[str, Sha] = {}
    for pull_request in synced_pull_requests(carrier):
        head = old[pull_request.branch]
        behind = any(
            source.branch in moving or not repository.is_ancestor(old[source.branch], head)
            for source in sources(carrier, pull_request)
        )
        if behind or not repository.is_ancestor(main, head):
            moving[pull_request.branch] = head
    return moving


def refuse_shallow(repository: Repository) -> None:
    """Refuse a clone that lacks history.

    Raises:
        Refusal: The clone is shallow.
    """
    if repository.is_shallow:
        raise Refusal(
            f"{repository.directory}: a shallow clone lacks the history that merges need; "
            "run git fetch --unshallow first"
        )


def ready(
    repository: Repository, carrier: Carrier, main: Sha, *, update_worktrees: bool
) -> dict[str, Sha]:
    """Check the branches before the first of them is merged.

    Args:
        repository: The fork.
        carrier: The series and its edits.
        main: The commit of main.
        update_worktrees: Whether a branch may move that is checked out.

    Returns:
        The heads of all branches that are synced.

    Raises:
        Refusal: A branch is missing, or one that would move is checked out.
    """
    pull_requests = synced_pull_requests(carrier)
    old = branch_heads(repository, pull_requests)
    repository.read_ancestry(main, old.values())
    moving = moving_branches(repository, carrier, main, old)
    follow = f"run {typed('merge_series sync --update-worktrees')}, which fast-forwards it there"
    refuse_busy(repository, moving, may_be_checked_out=update_worktrees, instead=follow)
    return old
