"""Who wrote what is folded into one commit, as trailers that say so."""

from collections.abc import Iterable, Sequence

from carry.carried import Carrier
from merge_series.history import History
from merge_series.plan import heads_by_number
from stack.git_answers import Sha
from stack.model import PullRequest
from stack.repository import Repository

_FORMAT = "%an <%ae>%n%(trailers:key=Co-authored-by,valueonly)"


def coauthors(
    repository: Repository, carrier: Carrier, main: Sha, pull_requests: Sequence[PullRequest]
) -> dict[int, tuple[str, ...]]:
    """The authors of PRs' own commits and those whom these name as co-authors.

    Args:
        repository: The fork.
        carrier: The series.
        main: The commit of main.
        pull_requests: The PRs.

    Returns:
        By number of the PR, each author once (known by the mail address), in order of appearance
        and as git writes them: ``Name <mail>``. Who makes the commit that this is for is left out.
    """
    history = History.read(repository, heads_by_number(repository, carrier), main)
    # What landed is its authors' already, also where a branch holds it in the form it had before.
    landed = history.reached(sha for commit in history.commits.values() for sha in commit.absorbs)
    me = repository.run("var", "GIT_AUTHOR_IDENT").text.rpartition(" <")[2].partition(">")[0]
    found = {}
    for pull_request in pull_requests:
        below = [pr.number for pr in carrier.series.closure(pull_request)]
        own = history.own(pull_request.number, below)
        shas = [commit.sha for commit in own if commit.sha not in landed]
        found[pull_request.number] = _once(_authors(repository, shas), me)
    return found


def with_coauthors(message: str, authors: Iterable[str]) -> str:
    """A message that ends with a trailer for each author."""
    trailers = "\n".join(f"Co-authored-by: {author}" for author in authors)
    return f"{message}\n\n{trailers}" if trailers else message


def _authors(repository: Repository, commits: Sequence[Sha]) -> list[str]:
    if not commits:
        return []
    # Oldest first, as they are given.
    answer = repository.run("log", "--no-walk=unsorted", f"--format={_FORMAT}", *commits, "--")
    return [line for line in answer.text.split("\n") if line]


def _once(authors: Iterable[str], me: str) -> tuple[str, ...]:
    by_mail: dict[str, str] = {}
    for author in authors:
        by_mail.setdefault(_mail(author), author)
    by_mail.pop(me.casefold(), None)
    return tuple(by_mail.values())


def _mail(author: str) -> str:
    return author.rpartition("<")[2].removesuffix(">").casefold()
