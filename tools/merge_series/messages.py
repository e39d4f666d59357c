"""The message of a merge commit: what conflicted, how it was settled, what the allowlist became."""

from collections.abc import Iterable, Sequence

from merge_series.history import ABSORBS
from merge_series.records import AllowlistChange, Beyond, BroughtMain, SettledFile
from stack.model import PullRequest
from stack.words import counted

BY_PERSON = "by a person"


def subject(pull_request: PullRequest, source: PullRequest | None) -> str:
    """First line of the message of a merge of ``source`` (None: main) into a PR's branch."""
    if source is None:
        return f"Merge main into {pull_request.branch}"
    return f"Merge {source.brings} from {source.name}"


def side(pull_request: PullRequest) -> str:
    """A side of a merge as people know it: a branch with its PR."""
    return f"{pull_request.branch} ({pull_request.name})"


def whole(  # noqa: PLR0913, PLR0917 - what a merge is made of
    subject: str,
    brought: BroughtMain | None,
    settled: Sequence[SettledFile],
    allowlist: AllowlistChange | None,
    beyond: Beyond | None,
    trailers: Sequence[str],
) -> str:
    """The message of a merge, without the sign-off."""
    parts = [subject] if beyond is None else [subject, beyond.body]
    parts += [] if brought is None else [f"Brings {brought}."]
    if beyond is None or settled or allowlist:
        parts.append(body(settled, allowlist))
    absorbs = () if beyond is None else beyond.absorbs
    last = [*(f"{ABSORBS}: {head}" for head in absorbs), *trailers]
    if last:
        parts.append("\n".join(last))
    return "\n\n".join(parts)


def settled_line(file: SettledFile) -> str:
    """What a message says of a file that conflicted or was made again."""
    return f"- {file.path}: {file.how}"


def refreshed(
    subject: str, made_again: Sequence[SettledFile], allowlist: AllowlistChange | None
) -> str:
    """The message of a commit on top of a merge, which makes its generated files again."""
    parts = [subject]
    if made_again:
        lines = map(settled_line, made_again)
        parts.append(_listed("Stale in the merge that a person committed:", lines))
    return _joined(parts, allowlist)


def body(settled: Sequence[SettledFile], allowlist: AllowlistChange | None) -> str:
    """The rest of the message, without trailers."""
    conflicted = [settled_line(file) for file in settled if file.conflicted]
    parts = []
    if conflicted:
        parts.append(_listed("Conflicted, and how each was settled:", conflicted))
    else:
        parts.append("No file conflicted.")
    clean = [file for file in settled if not file.conflicted]
    more = [f"- {file.path}" for file in clean if file.how == BY_PERSON]
    if more:
        parts.append(_listed("Merged cleanly, and changed by a person:", more))
    stale = [settled_line(file) for file in clean if file.how != BY_PERSON]
    if stale:
        parts.append(_listed("Merged cleanly, but made again:", stale))
    return _joined(parts, allowlist)


def _listed(heading: str, lines: Iterable[str]) -> str:
    return "\n".join((heading, *lines))


def _joined(parts: Sequence[str], allowlist: AllowlistChange | None) -> str:
    """The paragraphs of a message, with what became of the allowlist last."""
    return "\n\n".join(parts if allowlist is None else (*parts, _allowlist(allowlist)))


def _allowlist(change: AllowlistChange) -> str:
    reads = counted(change.after, "read")
    counts = f"The allowlist holds {reads}, {change.before} before; {change.gone} gone"
    if not change.added:
        return f"{counts}, none added."
    lines = "\n".join(f"- {read}" for read in change.added)
    return f"{counts}. Added by what was merged:\n{lines}"
