"""GitHub as its own command line ``gh`` sees it: what a PR says, and the calls that change it.

``gh pr edit`` is not among them: until 2.82 it asks for fields that github.com no longer has, and
fails. The REST call of ``gh api`` is the same in all.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from stack.errors import Refusal
from stack.git_answers import Sha

_FIELDS = "baseRefName,body,comments,headRefOid,isCrossRepository,url"
_URL = re.compile(r"\Ahttps?://([^/]+)/([^/]+/[^/]+)/pull/[0-9]+\Z")

# What gh reads a token from. Nothing here needs one, but what gh says on a failure is passed on.
_TOKENS = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
_LIKE_A_TOKEN = re.compile(r"\b(?:gh[a-z]_[A-Za-z0-9]{10,}|github_pat_\w{10,})")

# gh asks nothing, pages nothing, and logs no request.
_ENVIRONMENT = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_PAGER": "",
    "GH_DEBUG": "",
    "DEBUG": "",
    "NO_COLOR": "1",
}


@dataclass(frozen=True, slots=True)
class Published:
    """A PR as GitHub has it.

    Attributes:
        body: Its body.
        base: The branch it is to be merged into.
        head: Its head.
        comments: The texts of its comments.
        is_from_fork: Whether its branch is in another repository than its base.
        host: Where it is, such as ``github.com``.
        path: Its path in that host's REST interface.
    """

    body: str
    base: str
    head: Sha
    comments: tuple[str, ...]
    is_from_fork: bool
    host: str
    path: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call of ``gh`` that changes something.

    Attributes:
        arguments: Its arguments, without ``gh``.
        stdin: What it reads; None if nothing.
    """

    arguments: tuple[str, ...]
    stdin: str | None = None


class GitHub:
    """Calls ``gh`` in a repository, which decides what GitHub repository is meant.

    Args:
        folder: The repository.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def view(self, number: int) -> Published:
        """Read a PR.

        Raises:
            Refusal: ``gh`` is missing, fails, or answers something else.
        """
        text = self.call(Call(("pr", "view", str(number), "--json", _FIELDS)))
        try:
            data: Any = json.loads(text)
            ((host, repository),) = _URL.findall(data["url"])
            return Published(
                body=_text(data["body"]),
                base=_text(data["baseRefName"]),
                head=Sha(_text(data["headRefOid"])),
                comments=tuple(_text(comment["body"]) for comment in data["comments"]),
                is_from_fork=data["isCrossRepository"],
                host=host,
                path=f"repos/{repository}/pulls/{number}",
            )
        except (ValueError, KeyError, TypeError) as error:
            raise Refusal(
                f"gh pr view {number}: its answer has no {_FIELDS}; is this GitHub's gh, 2.0 or "
                "newer?"
            ) from error

    def call(self, call: Call) -> str:
        """Make a call; the answer is what it wrote.

        Raises:
            Refusal: ``gh`` is missing or failed.
        """
        try:
            done = subprocess.run(
                ["gh", *call.arguments],
                cwd=self._folder,
                env={**os.environ, **_ENVIRONMENT},
                input=(call.stdin or "").encode(),
                capture_output=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise Refusal(
                "gh: not found on the PATH; install GitHub's command line, https://cli.github.com"
            ) from error
        if done.returncode:
            said = without_tokens(" ".join(done.stderr.decode("utf-8", "replace").split()))
            name = " ".join(takewhile(lambda word: not word.startswith("-"), call.arguments))
            raise Refusal(f"gh {name} failed with status {done.returncode}: {said or 'no message'}")
        return done.stdout.decode("utf-8", "replace")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def without_tokens(text: str) -> str:
    """A text in which nothing is left that is or looks like a token of GitHub's."""
    for value in filter(None, map(os.environ.get, _TOKENS)):
        text = text.replace(value, "***")
    return _LIKE_A_TOKEN.sub("***", text)
