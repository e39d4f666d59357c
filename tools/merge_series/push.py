"""``push``: the branches of the series to one remote, all or none, by fast-forwards alone.

Git's ``--force-with-lease`` allows what is no fast-forward, so each old value is checked here: it
is an ancestor of what is pushed, and the push holds only if the remote still stands there.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.plan import branch_heads, refuse_shallow, resolve_main, synced_pull_requests
from stack.errors import Refusal
from stack.git_answers import Answer, Sha
from stack.refs import branch_ref
from stack.repository import Repository

# What is pushed is the branches alone, whatever the user's settings add.
_ALONE = ("--no-follow-tags", "--recurse-submodules=no", "--no-signed", "--no-progress")

_FAILED = (0, 1, 128)  # 1: the remote refused a ref; 128: it was not reached


@dataclass(frozen=True, slots=True)
class PlannedPush:
    """What goes to a remote.

    Attributes:
        remote: Name of the remote.
        heads: What each branch that moves is pushed at.
        old: What the remote has now; None where it has no such branch.
        current: Branches that the remote has as they are.
    """

    remote: str
    url: str
    heads: dict[str, Sha]
    old: dict[str, Sha | None]
    current: tuple[str, ...]

    def told(self, *, dry_run: bool) -> Iterator[str]:
        """What was pushed, or would be, and what becomes of review links."""
        yield f"To {self.remote} ({self.url}):"
        for branch, head in self.heads.items():
            old = self.old[branch]
            what = "new" if old is None else f"{old[:9]} ->"
            yield f"{branch}: {what} {head[:9]}"
        if self.current:
            yield f"{self.remote} has these already: {', '.join(self.current)}"
        if not self.heads:
            yield "Nothing is to be pushed."
        elif any(self.old.values()):
            yield (
                f"Every commit that {self.remote} had stays on its branch, so review links to "
                "commits stay valid; comments on lines that a merge changed may show as outdated."
            )
        if dry_run:
            yield "Nothing was pushed: this was a dry run."


def plan_push(
    repository: Repository, carrier: Carrier, main_name: str, remote: str | None
) -> PlannedPush:
    """Ask the remote what it has, and check that every branch fast-forwards there.

    Args:
        repository: The fork; nothing in it is changed.
        carrier: The series.
        main_name: The revision that is main.
        remote: Name of the remote; None takes the one that git's settings give all branches.

    Raises:
        Refusal: It is not clear where to push, the remote was not reached, a branch is main there,
            the remote has commits that a branch lacks, or the clone is shallow.
    """
    refuse_shallow(repository)
    resolve_main(repository, carrier, main_name)
    heads = branch_heads(repository, synced_pull_requests(carrier))
    name, url = _remote(repository, tuple(heads), remote)
    _refuse_upstream(repository, name, main_name, remote)
    _refuse_main(repository, name, main_name, heads)
    refspecs = [f"{branch_ref(branch)}:{branch_ref(branch)}" for branch in heads]
    # git tells the remote's values where it would push to, by the same way; no hook is asked yet.
    answer = repository.run(
        "-c", "core.abbrev=no", "push", "--dry-run", "--porcelain", "--no-verify", *_ALONE, name,
        *refspecs, accept=_FAILED,
    )  # fmt: skip
    found = _rows(answer)
    if set(found) != set(heads):
        raise _failure(f"{name} cannot be pushed to", answer)
    old: dict[str, Sha | None] = {}
    for branch, (flag, summary) in found.items():
        if flag == "!":
            raise Refusal(
                f"{name} has commits on {branch} that the branch here lacks ({summary}); fetch and "
                "merge them first; nothing was pushed"
            )
        if flag == "*":
            old[branch] = None
        elif flag == " ":
            old[branch] = Sha(summary.partition("..")[0])
    for branch, before in old.items():
        if before is not None and not repository.is_ancestor(before, heads[branch]):
            raise Refusal(
                f"{name} has {before[:12]} on {branch}, which is not in it here; fetch and merge "
                "it first; nothing was pushed"
            )
    current = tuple(branch for branch in heads if branch not in old)
    return PlannedPush(
        name, _without_password(url), {b: heads[b] for b in heads if b in old}, old, current
    )


def push(repository: Repository, planned: PlannedPush) -> None:
    """Push what was planned in one atomic push.

    Raises:
        Refusal: The remote moved meanwhile or refused; nothing was pushed.
    """
    if not planned.heads:
        return
    leases = [f"--force-with-lease={branch_ref(b)}:{o or ''}" for b, o in planned.old.items()]
    refspecs = [f"{head}:{branch_ref(branch)}" for branch, head in planned.heads.items()]
    answer = repository.run(
        "push", "--porcelain", "--atomic", *_ALONE, *leases, planned.remote, *refspecs,
        accept=_FAILED,
    )  # fmt: skip
    if answer.status:
        raise _failure(f"{planned.remote} took nothing", answer)


def _refuse_upstream(repository: Repository, name: str, main_name: str, asked: str | None) -> None:
    """Where main comes from is mostly not where one's own branches go."""
    others = [other for other in repository.run("remote").text.split("\n") if other != name]
    if asked is None and others and main_name.startswith(f"{name}/"):
        raise Refusal(
            f"{repository.directory}: git's settings would push to {name}, which {main_name} comes "
            f"from; say --remote {others[0]}, or --remote {name} if it is meant"
        )


def _remote(
    repository: Repository, branches: tuple[str, ...], asked: str | None
) -> tuple[str, str]:
    """Name and URL of the remote.

    Raises:
        Refusal: It is not clear which, it is not there, or it stands for several places.
    """
    known = repository.run("remote").text.split("\n")
    if asked is not None:
        wanted = {asked}
    else:
        settings = {branch: _configured(repository, branch) for branch in branches}
        wanted = {found for found in settings.values() if found is not None}
        without = [branch for branch, found in settings.items() if found is None]
        if wanted and without:
            raise Refusal(
                f"{repository.directory}: git's settings name {_names(wanted)} for some branches "
                f"and none for {', '.join(without)}; say --remote NAME"
            )
        if not wanted:
            wanted = {name for name in known if name}
            if len(wanted) != 1:
                there = ", ".join(sorted(wanted)) or "no remote"
                raise Refusal(
                    f"{repository.directory}: no setting says where to push, and there is {there}; "
                    "say --remote NAME"
                )
    if len(wanted) != 1:
        raise Refusal(
            f"{repository.directory}: git's settings name {_names(wanted)}; say --remote NAME"
        )
    (name,) = wanted
    if name not in known:
        raise Refusal(
            f"{repository.directory}: no remote is named {_without_password(name)!r}; "
            f"there is {', '.join(known) or 'none'}; say --remote NAME"
        )
    urls = repository.run("remote", "get-url", "--push", "--all", name).text.split("\n")
    if len(urls) > 1:
        raise Refusal(
            f"{name} has {len(urls)} push URLs, and no push to several places is atomic; "
            "name a remote with one"
        )
    return name, urls[0]


def _names(remotes: Iterable[str]) -> str:
    """Remotes as people read them; a setting may also be a URL."""
    return ", ".join(_without_password(name) for name in sorted(remotes))


def _configured(repository: Repository, branch: str) -> str | None:
    for key in (f"branch.{branch}.pushRemote", "remote.pushDefault", f"branch.{branch}.remote"):
        found = repository.run("config", "--get", key, accept=(0, 1)).text
        if found and found != ".":
            return found
    return None


def _refuse_main(
    repository: Repository, remote: str, main_name: str, heads: dict[str, Sha]
) -> None:
    """Refuse a series whose branch is main on the remote, under whatever name main has here."""
    answer = repository.run("ls-remote", "--symref", remote, "HEAD", accept=_FAILED)
    if answer.status:
        raise _failure(f"{remote} was not reached", answer)
    mains = set(re.findall(r"^ref: refs/heads/(.*)\tHEAD$", answer.text, re.MULTILINE))
    full = repository.run(
        "rev-parse", "--symbolic-full-name", "--verify", "--quiet", main_name, accept=(0, 1, 128)
    ).text
    mains.add(re.sub("^refs/(heads|remotes/[^/]*)/", "", full))
    for branch in heads:
        if branch in mains:
            raise Refusal(
                f"branch {branch} is main on {remote}; main is never pushed; give the PR a branch "
                "of its own in SERIES.md"
            )


def _rows(answer: Answer) -> dict[str, tuple[str, str]]:
    """The flag and the summary of each branch in the output of ``git push --porcelain``."""
    rows = (line.split("\t") for line in answer.text.split("\n") if line.count("\t") == 2)  # noqa: PLR2004 - flag, refs, summary
    return {refs.partition(":refs/heads/")[2]: (flag, summary) for flag, refs, summary in rows}


def _failure(what: str, answer: Answer) -> Refusal:
    refused = [
        f"{branch}: {summary}" for branch, (flag, summary) in _rows(answer).items() if flag == "!"
    ]
    lines = [line.strip() for line in answer.stderr.splitlines()]
    # The advice that follows "hint:" is about force, and the row has said what failed.
    said = [x for x in lines if x and not x.startswith(("hint:", "error: failed to push", "To "))]
    reason = "; ".join([*refused, *said]) or "no message"
    return Refusal(f"{what}: {_without_password(reason)}; nothing was pushed")


def _without_password(text: str) -> str:
    return re.sub(r"://[^/\s]*@", "://", text)
