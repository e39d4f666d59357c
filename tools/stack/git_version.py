"""The oldest git that the tools work with."""

from functools import cache

import git

from stack.errors import ExitCode, Refusal

OLDEST_GIT = (2, 39)  # 2.38 has merge-tree --write-tree, but crashes on read-only repositories


@cache
def check_git_version() -> None:
    """Refuse a git that is older than the tools need.

    Raises:
        Refusal: git is too old.
    """
    found = git.Git().version_info
    if found[:2] < OLDEST_GIT:
        version = ".".join(str(part) for part in found)
        raise Refusal(
            f"git: version {version} is too old; install git 2.39 or newer", ExitCode.FAILED
        )
