"""Whether review links still stand: their commits on the branch, their lines at its head."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.plan import resolve_main, sources
from merge_series.review.lines import Fate, Span, Tracer
from merge_series.review.link import Link
from merge_series.review.standing import MAIN, commits_beginning, owner_of
from stack.git_answers import Sha, encode, shown
from stack.model import PullRequest
from stack.refs import heads
from stack.repository import Repository
from stack.words import counted


@dataclass(frozen=True, slots=True)
class CheckedLink:
    """What became of a link.

    Attributes:
        link: The link.
        branch: The branch that its commit has to be on; empty if no branch is known.
        commit: The commit that it names, or whose lines it names; None if there is none.
        span: The lines it names, or the whole file; None if it names no file.
        fate: What became of them; None if it names no file or is broken.
        broken: Why it no longer leads where it led; empty if it does.
    """

    link: Link
    branch: str
    commit: Sha | None
    span: Span | None = None
    fate: Fate | None = None
    broken: str = ""


class _Broken(Exception):  # noqa: N818 - an answer about a link, caught below
    """A link leads nowhere."""


class LinkChecker:
    """Checks links against the branches of one repository.

    Args:
        repository: The fork.
        carrier: The series.
        main_name: The revision that is main.
    """

    def __init__(self, repository: Repository, carrier: Carrier, main_name: str) -> None:
        self._repository = repository
        self._carrier = carrier
        self._tracer = Tracer(repository)
        main = resolve_main(repository, carrier, main_name)
        found = heads(repository, [pr.branch for pr in carrier.series])
        self._heads = {MAIN: main} | {branch: found[branch] for branch in found}

    def check(self, links: Iterable[Link]) -> tuple[CheckedLink, ...]:
        """Check links, in the order given."""
        return tuple(self._check(link) for link in links)

    def _check(self, link: Link) -> CheckedLink:
        branch, commit, span = "", None, None
        try:
            commit = self._resolve(link.sha)
            branch = self._branch(link, commit)
            if link.path is None and link.path_hash is None:
                return CheckedLink(link, branch, commit)
            if link.side == "old":
                commit = self._old(link, commit)
            span = self._span(link, commit)
        except _Broken as broken:
            return CheckedLink(link, branch, commit, span, None, str(broken))
        fate = self._tracer.trace(span, commit, self._heads[branch])
        return CheckedLink(link, branch, commit, span, fate)

    def _resolve(self, sha: str) -> Sha:
        commit = self._repository.resolve(sha)
        if commit is None:
            several = len(commits_beginning(self._repository, sha)) > 1
            raise _Broken("several commits begin so" if several else "no such commit here")
        return commit

    def _branch(self, link: Link, commit: Sha) -> str:
        if link.pr is None:
            found = owner_of(self._repository, self._heads, commit)
            if found is None:
                raise _Broken("on no branch of the series")
            return found
        pull_request = self._pull_request(link.pr)
        head = self._heads.get(pull_request.branch)
        if head is None:
            raise _Broken(f"there is no branch {pull_request.branch} here")
        if not self._repository.is_ancestor(commit, head):
            raise _Broken(f"no longer on {pull_request.branch}")
        return pull_request.branch

    def _pull_request(self, number: int) -> PullRequest:
        if number not in self._carrier.series.pull_requests:
            raise _Broken(f"#{number} is not in the series")
        return self._carrier.series.pull_requests[number]

    def _old(self, link: Link, commit: Sha) -> Sha:
        """The commit whose lines stand on the old side of a diff."""
        if link.old == "parent":
            parent = self._repository.resolve(f"{commit}^")
            if parent is None:
                raise _Broken("the first commit has no old side")
            return parent
        if link.old != "base":
            old = self._resolve(link.old)
            self._branch(link, old)  # it has to be there as well
            return old
        below = [self._heads[MAIN]]
        if link.pr is not None:
            dependencies = sources(self._carrier, self._pull_request(link.pr))
            below = [self._heads[d.branch] for d in dependencies if d.branch in self._heads] + below
        bases = self._repository.merge_bases(commit, below[0])
        if not bases:
            raise _Broken("it has no commit in common with what it is compared with")
        return bases[0]

    def _span(self, link: Link, commit: Sha) -> Span:
        path = link.path or self._hashed(str(link.path_hash), commit)
        content = self._repository.read_file(commit, path)
        if content is None:
            raise _Broken(f"{shown(path)}: no such file there")
        count = len(content.splitlines())
        if link.first is None or link.last is None:
            return Span(path, 1, count)
        if link.last > count:
            raise _Broken(f"{shown(path)}: has only {counted(count, 'line')} there")
        return Span(path, link.first, link.last)

    def _hashed(self, wanted: str, commit: Sha) -> str:
        for path in self._repository.entries(commit):
            if hashlib.sha256(encode(path)).hexdigest() == wanted:
                return path
        raise _Broken("no file there has the path that the link hashes")
