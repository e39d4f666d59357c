"""The message of a merge commit: what conflicted, how it was settled, what the allowlist became."""

from collections.abc import Sequence

from merge_series.records import AllowlistChange, SettledFile
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


def whole(
    pull_request: PullRequest,
    source: PullRequest | None,
    settled: Sequence[SettledFile],
    allowlist: AllowlistChange | None,
) -> str:
    """The message of a merge of ``source`` (None: main) into a PR's branch, without trailers."""
    return f"{subject(pull_request, source)}\n\n{body(settled, allowlist)}"


def settled_line(file: SettledFile) -> str:
    """What a message says of a file that conflicted or was made again."""
    return f"- {file.path}: {file.how}"


def refreshed(
    subject: str, made_again: Sequence[SettledFile], allowlist: AllowlistChange | None
) -> str:
    """The message of a commit on top of a merge, which makes its generated files again."""
    parts = [subject]
    if made_again:
        lines = [settled_line(file) for file in made_again]
        parts.append("Stale in the merge that a person committed:\n" + "\n".join(lines))
    if allowlist is not None:
        parts.append(_allowlist(allowlist))
    return "\n\n".join(parts)


def body(settled: Sequence[SettledFile], allowlist: AllowlistChange | None) -> str:
    """The rest of the message, without trailers."""
    conflicted = [file for file in settled if file.conflicted]
    parts = []
    if conflicted:
        lines = [settled_line(file) for file in conflicted]
        parts.append("Conflicted, and how each was settled:\n" + "\n".join(lines))
    else:
        parts.append("No file conflicted.")
    more = [file for file in settled if not file.conflicted and file.how == BY_PERSON]
    if more:
        lines = [f"- {file.path}" for file in more]
        parts.append("Merged cleanly, and changed by a person:\n" + "\n".join(lines))
    stale = [file for file in settled if not file.conflicted and file.how != BY_PERSON]
    if stale:
        lines = [settled_line(file) for file in stale]
        parts.append("Merged cleanly, but made again:\n" + "\n".join(lines))
    if allowlist is not None:
        parts.append(_allowlist(allowlist))
    return "\n\n".join(parts)


def _allowlist(change: AllowlistChange) -> str:
    reads = counted(change.after, "read")
    counts = f"The allowlist holds {reads}, {change.before} before; {change.gone} gone"
    if not change.added:
        return f"{counts}, none added."
    lines = "\n".join(f"- {read}" for read in change.added)
    return f"{counts}. Added by what was merged:\n{lines}"
