"""What a reviewer who read a PR's branch at one commit has to read at another.

Every commit that came since is either the PR's own, and then it is shown, or one of a dependency or
of main, which others read. Of a merge that is the PR's own only what it did beyond git's own merge
is to be read.
"""

from dataclasses import dataclass

from merge_series.review.commits import Commit
from merge_series.review.merging import clean_merge
from merge_series.review.patches import Patch, difference
from merge_series.review.recordings import Recording
from merge_series.review.standing import Standing, own_commits, owner_of
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class Step:
    """One commit of the PR itself that came since.

    Attributes:
        commit: The commit.
        merged: What a merge brought, such as ``main`` or ``#6258``, each with its commit; empty for
            a commit that merges nothing.
        conflicts: Files that git's own merge leaves in conflict.
        patch: What it changes; of a merge, what it did beyond git's own, or the sync's.
        recording: What a merge is of, where the branch has that in another form.
    """

    commit: Commit
    merged: tuple[tuple[str, Sha], ...]
    conflicts: tuple[str, ...]
    patch: Patch
    recording: Recording | None = None

    @property
    def measure(self) -> str:
        """What the patch of a merge is beyond."""
        return "git's own merge" if self.recording is None else self.recording.measure

    @property
    def is_to_be_read(self) -> bool:
        """Whether it changed anything that a reviewer of this PR reads."""
        return bool(self.patch.text) or not self.commit.is_merge


@dataclass(frozen=True, slots=True)
class Since:
    """What there is to read since a commit.

    Attributes:
        standing: Where the branch stands.
        read: The commit that was read.
        steps: The PR's own commits since, parents first.
        left_out: How many commits of main and of each dependency came as well, by name.
    """

    standing: Standing
    read: Sha
    steps: tuple[Step, ...]
    left_out: dict[str, int]


def since(
    repository: Repository,
    standing: Standing,
    read: Sha,
    steps: dict[Sha, Step] | None = None,
) -> Since:
    """Find what there is to read since ``read``, and prove that it is all.

    The proof goes commit by commit. Each that came is shown, or is one of a dependency or of
    main; and what is shown of one, applied to its parent or to git's own merge of its parents,
    gives its tree. A merge of what the branch has in another form is made as the sync makes it; one
    that only records keeps its first parent's tree. So the tree
    of the head follows from what was read, what is shown, and what the dependencies and main
    brought.

    Args:
        repository: The fork, opened with a temporary object folder.
        standing: Where the branch stands.
        read: A commit of the PR that the branch contains.
        steps: Steps of the branch that are known already, by commit; those found now join them.

    Raises:
        Refusal: The proof fails.
    """
    commits = own_commits(repository, standing, read)
    left_out = _left_out(repository, standing, read, {commit.sha for commit in commits})
    known = {} if steps is None else steps
    for commit in commits:
        if commit.sha not in known:
            known[commit.sha] = step(repository, standing, commit)
    return Since(standing, read, tuple(known[commit.sha] for commit in commits), left_out)


def step(repository: Repository, standing: Standing, commit: Commit) -> Step:
    """What one of the PR's own commits changes, proved.

    Raises:
        Refusal: The proof fails.
    """
    new = repository.tree_of(commit.sha)
    if not commit.parents:
        return Step(commit, (), (), difference(repository, repository.change_tree(None, {}), new))
    merged = tuple(
        (owner_of(repository, standing.below, sha) or standing.pull_request.name, sha)
        for sha in commit.parents[1:]
    )
    recording = standing.recordings.get(commit.sha)
    if recording is not None:
        made = recording.merged
        patch = difference(repository, made.tree, new)
        return Step(commit, merged, made.in_conflict, patch, recording)
    merge = clean_merge(repository, commit.parents)
    return Step(commit, merged, merge.in_conflict, difference(repository, merge.tree, new))


def _left_out(
    repository: Repository, standing: Standing, read: Sha, shown: set[Sha]
) -> dict[str, int]:
    """How many commits came that are not shown, by whose they are.

    Raises:
        Refusal: One is nobody's, so that leaving it out would hide it.
    """
    came = set(repository.commits(standing.head, f"^{read}")) - shown
    counts: dict[str, int] = {}
    for name, head in standing.below.items():
        of_it = came & set(repository.commits(head, f"^{read}"))
        if of_it:
            counts[name] = len(of_it)
        came -= of_it
    if came:
        some = ", ".join(sorted(sha[:12] for sha in came))
        raise Refusal(
            f"{some}: neither shown nor of any dependency or main; nothing is shown; read it with "
            f"git diff {read[:12]} {standing.head[:12]}"
        )
    return counts
