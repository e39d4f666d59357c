"""What the shell completes for ``carry``: the recorded releases."""

from typing import override

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from carry.releases import RELEASES


class ReleaseVersion(StringParamType):
    """The version of a release; others than those recorded may be named as well."""

    name = "version"

    @override
    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(version) for version in RELEASES if version.startswith(incomplete)]


class ReleaseOrTree(ReleaseVersion):
    """A release, a folder or a revision."""

    name = "tree_or_release"

    @override
    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        # A shell that is to complete a folder takes no words besides.
        found = super().shell_complete(ctx, param, incomplete)
        return found or [CompletionItem(incomplete, type="dir")]
