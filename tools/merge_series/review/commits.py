"""Commits as a reviewer reads them."""

from dataclasses import dataclass

from merge_series.history import ABSORBS, KEEPS, REPLACES
from stack.git_answers import Sha, decode
from stack.repository import Repository

_FIELDS = (
    "%H", "%P", "%an", "%ad", "%cd", "%s",
    f"%(trailers:key={ABSORBS},valueonly,separator=%x20)",
    f"%(trailers:key={KEEPS},valueonly,separator=%x20)",
    f"%(trailers:key={REPLACES},valueonly,separator=%x20)", "%(trailers)", "%b",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit.

    Attributes:
        sha: Its id.
        parents: Its parents.
        author: Name of its author.
        written: Day on which it was written, such as ``2026-11-01``, where its author was.
        made: Day on which it was committed, where its committer was.
        subject: First line of its message.
        absorbs: Heads that it says another branch has in another form.
        keeps: Commits of main whose revert it says it keeps out.
        replaces: The older form of a PR that it says it replaces.
        words: The rest of its message, without trailers.
    """

    sha: Sha
    parents: tuple[Sha, ...]
    author: str
    written: str
    made: str
    subject: str
    absorbs: tuple[Sha, ...]
    keeps: tuple[Sha, ...]
    replaces: tuple[str, ...]
    words: str

    @property
    def is_merge(self) -> bool:
        """Whether it has several parents."""
        return len(self.parents) > 1


def read_commits(repository: Repository, *selection: str) -> tuple[Commit, ...]:
    """The commits that ``git log`` selects, parents before children."""
    answer = repository.run(
        "log", "-z", "--no-decorate", "--topo-order", "--reverse", "--date=format:%Y-%m-%d",
        "--format=" + "%x01".join(_FIELDS), "--no-patch", "--no-mailmap", *selection, "--",
    )  # fmt: skip
    return tuple(_parse(record) for record in decode(answer.stdout).split("\0") if record)


def _parse(record: str) -> Commit:
    # The body comes last, so it may hold whatever it likes.
    sha, parents, author, written, made, subject, absorbs, keeps, replaces, trailers, body = (
        record.split("\x01", len(_FIELDS) - 1)
    )
    return Commit(
        sha=Sha(sha),
        parents=tuple(Sha(parent) for parent in parents.split()),
        author=author,
        written=written,
        made=made,
        subject=subject,
        absorbs=tuple(Sha(head) for head in absorbs.split()),
        keeps=tuple(Sha(commit) for commit in keeps.split()),
        replaces=tuple(replaces.split()),
        words=body.strip().removesuffix(trailers.strip()).strip(),
    )
