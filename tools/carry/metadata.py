"""What the METADATA of a wheel with the series says: its version and the PRs it holds.

https://packaging.python.org/en/latest/specifications/core-metadata/
"""

import re
from collections.abc import Collection, Sequence

from stack.errors import Refusal
from stack.model import PullRequest, Series

_PULL_REQUESTS = "https://github.com/NVIDIA/Megatron-LM/pull"


def describe_series(
    series: Series, release: str, held: Collection[int], lacking: Sequence[str]
) -> str:
    """The part of the description that says what the wheel is, in Markdown.

    Args:
        series: The stack.
        release: The release's version.
        held: Numbers of the PRs that change something in the wheel.
        lacking: Sentences on what the wheel lacks of a PR.
    """
    lines = [
        f"- [{pull_request.name}]({_link(pull_request)}) {pull_request.title} "
        f"({pull_request.state}{'' if pull_request.number in held else '; nothing in this wheel'})"
        for pull_request in series
    ]
    return (
        "## Pull requests in this wheel\n\n"
        f"This is megatron-core {release} with pull requests of Megatron-LM applied. "
        "It is no release of NVIDIA's.\n\n"
        + "\n".join(lines)
        + "\n"
        + "".join(f"\n{text}\n" for text in lacking)
    )


def with_series(metadata: bytes, series: Series, version: str, description: str) -> bytes:
    """A METADATA with another version, a ``Project-URL`` for each PR and more description.

    Every other byte stays.

    Raises:
        Refusal: It has no version.
    """
    text = metadata.decode()
    head, gap, body = text.partition("\n\n")
    head, count = re.subn(r"(?m)^Version: .*$", lambda _: f"Version: {version}", head)
    if count != 1:
        raise Refusal(f"METADATA of the release: {count} lines say its version, 1 should")
    urls = "".join(f"\nProject-URL: PR {pr.number}, {_link(pr)}" for pr in series)
    # A release without a description ends with its headers.
    start = f"{body.rstrip()}\n\n" if gap and body.strip() else ""
    return f"{head.rstrip()}{urls}\n\n{start}{description}".encode()


def _link(pull_request: PullRequest) -> str:
    return f"{_PULL_REQUESTS}/{pull_request.number}"
