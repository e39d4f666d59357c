"""The text of a commit object, and of the message in it."""

import re
from collections.abc import Sequence

_TRAILER = re.compile(r"[A-Za-z][A-Za-z-]*: \S")


def signed_off(message: str, ident: str) -> str:
    """A message with a ``Signed-off-by`` in the block of trailers that ends it.

    Args:
        message: The message.
        ident: Who signs it off, as ``git var GIT_COMMITTER_IDENT`` answers: with a time after it.
    """
    signer = ident[: ident.rindex(">") + 1]
    return f"{message.rstrip()}{_before_trailer(message)}Signed-off-by: {signer}\n"


def commit_object(
    tree: str, parents: Sequence[str], author: str, committer: str, message: str
) -> bytes | None:
    """The bytes that ``git commit-tree`` makes an unsigned commit of.

    Returns:
        None for a message that git would refuse or change: one with a NUL or that is no UTF-8.
    """
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {author}", f"committer {committer}", "", message]
    try:
        text = "\n".join(lines).encode()
    except UnicodeEncodeError:
        return None
    return None if b"\0" in text else text


def _before_trailer(message: str) -> str:
    # Trailers are one block: a further one joins those that end the message already.
    paragraphs = message.rstrip().split("\n\n")
    joins = len(paragraphs) > 1 and all(map(_TRAILER.match, paragraphs[-1].splitlines()))
    return "\n" if joins else "\n\n"
