"""Whether branches stand on one commit of main and hold what they depend on.

Where they do not, a merge of them takes in what came to main or to a dependency meanwhile, and with
it, for instance, what landed since: only a sync knows how to absorb that.
"""

from collections.abc import Iterable, Mapping

from carry.carried import Carrier
from merge_series.plan import sources
from merge_series.resolve import main_below
from stack.command_line import typed
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest
from stack.repository import Repository


def refuse_out_of_step(
    repository: Repository,
    carrier: Carrier,
    main: Sha,
    pull_requests: Iterable[PullRequest],
    heads: Mapping[str, Sha],
) -> None:
    """Refuse to merge branches with each other that a sync has to bring in step first.

    Args:
        repository: The fork.
        carrier: The series.
        main: The commit of main.
        pull_requests: PRs that have to hold what they depend on.
        heads: Heads of branches that have to stand on one commit of main; those of the PRs and of
            what they depend on are among them.

    Raises:
        Refusal: It names two branches and the commits of main they stand on, or the dependency that
            a branch lacks.
    """
    mains = {branch: main_below(repository, head, main) for branch, head in heads.items()}
    first = next(iter(mains))
    for branch, below in mains.items():
        if below != mains[first]:
            raise Refusal(
                f"{branch} stands on {below[:12]} of main and {first} on {mains[first][:12]}; "
                f"run {typed('merge_series sync')} first"
            )
    for pull_request in pull_requests:
        for source in sources(carrier, pull_request):
            if not repository.is_ancestor(heads[source.branch], heads[pull_request.branch]):
                raise Refusal(
                    f"{pull_request.branch} lacks {source.name}; "
                    f"run {typed('merge_series sync')} first"
                )
