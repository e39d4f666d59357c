"""Files that the merges of a sync will have to merge, told before the first of them is made."""

from collections.abc import Iterator, Mapping, Sequence

from stack.git_answers import Sha
from stack.repository import Repository
from stack.three_way import Contents, both_changed
from stack.trees import UnreadableError


def foreseen(
    repository: Repository,
    below: Mapping[str, Sequence[str]],
    tips: Mapping[str, Sha],
    main: Sha,
) -> Iterator[Contents]:
    """The files that main and a branch changed.

    It is no more than what is likely: a merge that needs another one asks git for itself.

    Args:
        repository: The fork.
        below: The branches that each branch depends on.
        tips: The head of every branch.
        main: The commit of main that is synced with.
    """
    for branch, sources in below.items():
        head = tips[branch]
        for source in [tips[source] for source in sources] or [main]:
            bases = repository.known_merge_bases(head, source)
            places = repository.known_merge_bases(source, main) if source != main else bases
            if bases is not None and places is not None and len(bases) == len(places) == 1:
                commits = (*bases, head, *places, main)
                try:
                    base, ours, old, new = map(repository.tree_store.of_commit, commits)
                    yield from both_changed(repository.tree_store, base, ours, (old, new))
                except UnreadableError:
                    continue
