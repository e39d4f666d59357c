"""The commands for reviewers: ``describe``, ``show``, ``links`` and ``publish``."""

import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

import click

from carry.generated import ReadScanner
from merge_series import help_texts as texts
from merge_series.place import Place
from merge_series.plan import branch_heads, main_branch, synced_pull_requests
from merge_series.review.alone import alone
from merge_series.review.check_links import LinkChecker
from merge_series.review.description import describe, read_part_of
from merge_series.review.foundation import lay
from merge_series.review.github import GitHub
from merge_series.review.link import Link, Unread, read_links
from merge_series.review.markdown import markdown
from merge_series.review.publishing import in_words, plan, plan_again, want
from merge_series.review.since import since
from merge_series.review.standing import find_pull_request, find_read_commit, stand
from merge_series.review.words import alone_text, links_table, since_text
from stack.command_line import json_option
from stack.completion import PullRequestName
from stack.console import people, print_json
from stack.errors import ExitCode
from stack.git_answers import encode
from stack.words import counted


@click.command("describe", epilog=texts.DESCRIBE)
@click.argument("pr", required=False, type=PullRequestName())
@click.option("--all", "every", is_flag=True, help="Every PR of the series, in a file each.")
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where --all writes its files, such as 8045.md.",
)
@click.pass_obj
def describe_command(place: Place, pr: str | None, output: Path | None, *, every: bool) -> None:
    """Print the body of a PR in Markdown.

    PR is a number or a branch. The texts are those of SERIES.md. Below them stands what the
    branch's own history says: when it was synced with main and what conflicted, what the PR does to
    the allowlist, and where it stands in the stack. The same history gives the same text.
    """
    if every == (pr is not None) or every != (output is not None):
        raise click.UsageError("name one PR, or give --all with --output DIR")
    with place.read() as (repository, carrier):
        chosen = carrier.series if pr is None else [find_pull_request(carrier.series, pr)]
        part_of = read_part_of(place.series)
        scanner = ReadScanner(repository)
        texts = {
            pull_request.number: markdown(
                describe(repository, carrier, scanner, place.main, pull_request, part_of)
            )
            for pull_request in chosen
        }
    if output is None:
        for text in texts.values():
            _write(encode(text))
        return
    output.mkdir(parents=True, exist_ok=True)
    for number, text in texts.items():
        (output / f"{number}.md").write_bytes(encode(text))
    people.print(f"Wrote {counted(len(texts), 'description')} to {output}.", soft_wrap=True)


@click.command("show", epilog=texts.SHOW)
@click.argument("pr", type=PullRequestName())
@click.option(
    "--since", "read", metavar="COMMIT", help="Only what came after a commit that you have read."
)
@click.pass_obj
def show_command(place: Place, pr: str, read: str | None) -> None:
    """Show one PR alone: none of the lines of the PRs it depends on, and none of main's.

    PR is a number or a branch. The first form shows all that it changes. With --since, the PR's own
    new commits, and of each merge only what it did beyond git's own; merges that did no more than
    git are named in a line each. Both are checked: what is shown, applied to what it is shown
    against, gives the branch's tree.
    """
    with place.read() as (repository, carrier):
        standing = stand(repository, carrier, place.main, find_pull_request(carrier.series, pr))
        if read is not None:
            commit = find_read_commit(repository, standing, carrier.series, read)
            _write_patch(since_text(since(repository, standing, commit)))
            return
        foundation = lay(repository, carrier, ReadScanner(repository), standing)
        _write_patch(alone_text(alone(repository, standing, foundation)))


@click.command("links", epilog=texts.LINKS)
@click.argument("file", type=click.File(encoding="utf-8-sig", errors="surrogateescape"))
@json_option
@click.pass_obj
def links_command(place: Place, file: TextIO, *, as_json: bool) -> ExitCode:
    """Check that review links still lead where they led.

    FILE holds links, one or more a line, or an export of review comments as GitHub's API answers
    it; - is standard input. Known are links to a commit, to lines of a file at a commit, and to a
    commit or to files of a pull request. A link stands as long as its commit is on the branch; its
    lines may since have moved, changed or gone, and the table says where and by which commit.
    """
    read = read_links(file.read(), file.name)
    with place.read() as (repository, carrier):
        checker = LinkChecker(repository, carrier, place.main)
        checked = checker.check([link for link in read if isinstance(link, Link)])
    unread = [item for item in read if isinstance(item, Unread)]
    broken = [link for link in checked if link.broken]
    if as_json:
        print_json({"links": [*map(asdict, checked)], "unread": [*map(asdict, unread)]})
    else:
        people.print(links_table(checked), width=80)
        for item in unread:
            people.print(f"{item.where}: {item.text}: {item.why}", soft_wrap=True)
        people.print(
            f"{counted(len(read), 'link')}: {len(checked) - len(broken)} stand, "
            f"{len(broken)} broken, {len(unread)} not understood."
        )
    return ExitCode.FOUND if broken or unread else ExitCode.DONE


@click.command("publish", epilog=texts.PUBLISH)
@click.argument("prs", metavar="[PR]...", nargs=-1, type=PullRequestName())
@click.pass_obj
def publish_command(place: Place, prs: tuple[str, ...]) -> None:
    """Bring the PRs on GitHub up to date, through GitHub's own gh.

    PR is a number or a branch; without one, all that are open. For each: its description, between
    two marker comments of its body (the rest is people's and stays), its base branch (of a PR from
    a fork, main), and a comment "/ok to test SHA" where none names the head; of one that is no
    longer open, its description alone. The branches have to be pushed. Shows what would change and
    asks first.
    """
    with place.read() as (repository, carrier):
        series = carrier.series
        chosen = [find_pull_request(series, pr) for pr in prs] or synced_pull_requests(carrier)
        found = branch_heads(repository, tuple(chosen))
        main = main_branch(repository, place.main)
        part_of, scanner = read_part_of(place.series), ReadScanner(repository)
        all_wanted = [
            want(
                carrier,
                main,
                pull_request,
                found[pull_request.branch],
                markdown(describe(repository, carrier, scanner, place.main, pull_request, part_of)),
            )
            for pull_request in chosen
        ]
    github = GitHub(repository.directory)
    publications = [plan(one, github.view(one.number)) for one in all_wanted]
    if not any(publication.calls for publication in publications):
        people.print("Everything is published already; nothing was changed.")
        return
    for line in in_words(publications):
        people.print(line, soft_wrap=True)
    if not click.confirm("Change this on GitHub?", err=True):
        people.print("Nothing was changed.")
        return
    for one, shown in zip(all_wanted, publications, strict=True):
        if shown.calls:
            # While the question stood there, people may have written into the body.
            for call in plan_again(one, github.view(one.number), shown).calls:
                github.call(call)
            people.print(f"{shown.name}: done.")


_COLOURS = {b"+": b"32", b"-": b"31", b"@": b"36"}


def _write_patch(text: bytes) -> None:
    """Write a difference to standard output, coloured on a terminal."""
    if people.wants_color(sys.stdout):
        text = re.sub(
            rb"^([-+@]).*",
            lambda found: b"\x1b[" + _COLOURS[found[1]] + b"m" + found[0] + b"\x1b[m",
            text,
            flags=re.MULTILINE,
        )
    _write(text)


def _write(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.flush()
