"""What has to change on GitHub so that a PR says there what its branch says."""

from collections.abc import Sequence
from dataclasses import dataclass

from carry.carried import Carrier
from merge_series.plan import sources
from merge_series.review.github import Call, Published
from stack.errors import Refusal
from stack.model import PullRequest
from stack.repository import Sha

BEGIN = "<!-- merge_series: what stands from here on is written again at every sync -->"
END = "<!-- merge_series: to here; the rest is yours -->"
_LONGEST_BODY = 65536  # GitHub's limit, in characters


@dataclass(frozen=True, slots=True)
class Publication:
    """What is to be done for one PR.

    Attributes:
        pull_request: The PR.
        changes: What changes, in words.
        calls: The calls that do it; none if nothing is to be done.
    """

    pull_request: PullRequest
    changes: tuple[str, ...]
    calls: tuple[Call, ...]


def base_of(carrier: Carrier, main_name: str, pull_request: PullRequest) -> str:
    """The branch a PR is to be merged into: its first open dependency, else main."""
    dependencies = sources(carrier, pull_request)
    return dependencies[0].branch if dependencies else main_name.rpartition("/")[2]


def plan(
    pull_request: PullRequest, published: Published, text: str, base: str, head: Sha
) -> Publication:
    """Find what has to change.

    Args:
        pull_request: The PR.
        published: The PR as GitHub has it.
        text: Its description.
        base: The branch it is to be merged into.
        head: Head of its branch here.

    Raises:
        Refusal: GitHub has another head, the body's markers are no pair, or it would be too long.
    """
    name = pull_request.name
    if published.head != head:
        raise Refusal(
            f"{name}: GitHub has its head at {published.head[:12]}, and {pull_request.branch} is "
            f"at {head[:12]}; push the branch first"
        )
    number = str(pull_request.number)
    changes, calls, edit = [], [], []
    body = new_body(name, published.body, text)
    if body != published.body:
        changes.append("its text")
        edit += ["--body-file", "-"]
    if base != published.base:
        changes.append(f"its base, from {published.base} to {base}")
        edit += ["--base", base]
    if edit:
        stdin = body if body != published.body else None
        calls.append(Call(("pr", "edit", number, *edit), stdin))
    request = f"/ok to test {head}"
    if not any(request in comment for comment in published.comments):
        changes.append(f"a comment {request}")
        calls.append(Call(("pr", "comment", number, "--body", request)))
    return Publication(pull_request, tuple(changes), tuple(calls))


def new_body(name: str, body: str, text: str) -> str:
    """A PR's body with ``text`` between the two markers; all else in it stays as it is.

    Raises:
        Refusal: The markers are no pair, or the body would be too long.
    """
    if BEGIN in text or END in text:
        raise Refusal(f"{name}: its text in SERIES.md holds a marker of its body; take it out")
    ours = f"{BEGIN}\n\n{text}\n{END}"
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
    return [f"{p.pull_request.name}: {', '.join(p.changes)}" for p in publications if p.calls]
