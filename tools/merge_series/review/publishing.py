"""What has to change on GitHub so that a PR says there what its branch says."""

from collections.abc import Sequence
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.plan import sources, synced_pull_requests
from merge_series.review.github import Call, Published
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest

BEGIN = "<!-- merge_series: what stands from here on is written again at every sync -->"
END = "<!-- merge_series: to here; the rest is yours -->"
_LONGEST_BODY = 65536  # GitHub's limit, in characters


@dataclass(frozen=True, slots=True)
class Wanted:
    """What GitHub is to have of a PR.

    Attributes:
        number: The PR's number.
        branch: Its branch.
        head: Head of its branch.
        base: The branch it is to be merged into: that of its first open dependency, or main. None
            for a PR that is no longer open: its base stays as it is, and no test is asked for.
        main: Main's branch. A PR from a fork is merged into this one: the branches of what it
            depends on are in the fork as well, and GitHub takes no base from there.
        ours: What is ours of its body.
    """

    number: int
    branch: str
    head: Sha
    base: str | None
    main: str
    ours: str

    @property
    def name(self) -> str:
        """The PR as people name it."""
        return f"#{self.number}"


@dataclass(frozen=True, slots=True)
class Publication:
    """What is to be done for one PR.

    Attributes:
        name: The PR as people name it.
        changes: What changes, in words.
        calls: The calls that do it; none if nothing is to be done.
    """

    name: str
    changes: tuple[str, ...]
    calls: tuple[Call, ...]


def want(carrier: Carrier, main: str, pull_request: PullRequest, head: Sha, text: str) -> Wanted:
    """What GitHub is to have of a PR.

    Args:
        carrier: The series.
        main: Main's branch.
        pull_request: The PR.
        head: Head of its branch.
        text: Its description.

    Raises:
        Refusal: The description holds a marker.
    """
    base = next((pr.branch for pr in sources(carrier, pull_request)), main)
    return Wanted(
        pull_request.number,
        pull_request.branch,
        head,
        base if pull_request in synced_pull_requests(carrier) else None,
        main,
        section(pull_request.name, text),
    )


def plan(wanted: Wanted, published: Published) -> Publication:
    """Find what has to change.

    Args:
        wanted: What GitHub is to have.
        published: What it has.

    Raises:
        Refusal: GitHub has another head, the body's markers are no pair, or it would be too long.
    """
    name = wanted.name
    if published.head != wanted.head:
        raise Refusal(
            f"{name}: GitHub has its head at {published.head[:12]}, and {wanted.branch} is at "
            f"{wanted.head[:12]}; push the branch first"
        )
    changes, calls, fields = [], [], []
    body = new_body(name, published.body, wanted.ours)
    if body != published.body:
        changes.append("its text")
        fields += ["--field", "body=@-"]
    base = wanted.main if wanted.base is not None and published.is_from_fork else wanted.base
    if base not in {published.base, None}:
        changes.append(f"its base, from {published.base} to {base}")
        fields += ["--raw-field", f"base={base}"]
    if fields:
        stdin = body if body != published.body else None
        patch = ("--silent", "--hostname", published.host, "--method", "PATCH")
        calls.append(Call(("api", published.path, *patch, *fields), stdin))
    request = f"/ok to test {wanted.head}"
    asked = any(request in comment for comment in published.comments)
    if wanted.base is not None and not asked:
        changes.append(f"a comment {request}")
        calls.append(Call(("pr", "comment", str(wanted.number), "--body", request)))
    return Publication(name, tuple(changes), tuple(calls))


def plan_again(wanted: Wanted, published: Published, shown: Publication) -> Publication:
    """Find what has to change once it was agreed to.

    Args:
        wanted: What GitHub is to have.
        published: What it has by now.
        shown: What was agreed to.

    Raises:
        Refusal: Something else is to change by now, or as for ``plan``.
    """
    publication = plan(wanted, published)
    if publication.changes != shown.changes:
        raise Refusal(
            f"{wanted.name}: changed on GitHub since this was shown; run again to see what is left "
            "to do"
        )
    return publication


def section(name: str, text: str) -> str:
    """What is ours of a PR's body: its description between the two markers.

    Raises:
        Refusal: The description holds a marker.
    """
    if BEGIN in text or END in text:
        raise Refusal(f"{name}: its text in SERIES.md holds a marker of its body; take it out")
    return f"{BEGIN}\n\n{text}\n{END}"


def new_body(name: str, body: str, ours: str) -> str:
    """A PR's body with what is ours in its place; all else in it stays as it is.

    Raises:
        Refusal: The markers are no pair, or the body would be too long.
    """
    begins, ends = body.count(BEGIN), body.count(END)
    if (begins, ends) == (0, 0):
        new = f"{body.rstrip()}\n\n{ours}\n" if body.strip() else f"{ours}\n"
    elif (begins, ends) == (1, 1) and body.index(BEGIN) < body.index(END):
        before, _, rest = body.partition(BEGIN)
        old, _, after = rest.partition(END)
        # GitHub's editor ends lines with CR LF; that alone is no change.
        if f"{BEGIN}{old}{END}".replace("\r\n", "\n") == ours:
            return body
        new = f"{before}{ours}{after}"
    else:
        raise Refusal(
            f"{name}: its body has {begins} opening and {ends} closing markers of merge_series, or "
            "in the wrong order; leave one pair, or none"
        )
    if len(new) > _LONGEST_BODY:
        raise Refusal(
            f"{name}: its body would have {len(new)} characters, and GitHub takes {_LONGEST_BODY}; "
            "shorten its texts in SERIES.md"
        )
    return new


def in_words(publications: Sequence[Publication]) -> list[str]:
    """What changes, one line a PR."""
    return [f"{p.name}: {', '.join(p.changes)}" for p in publications if p.calls]
