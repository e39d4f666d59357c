"""The command ``site``."""

from pathlib import Path

import click

from merge_series import help_texts as texts
from merge_series.inspect import statuses
from merge_series.place import Place
from merge_series.plan import resolve_main
from merge_series.review.commits import read_commits
from merge_series.review.description import read_part_of
from merge_series.site.folder import check_folder, write_folder
from merge_series.site.reading import MOST_HEADS, Reader
from stack.console import people
from stack.words import counted


@click.command("site", epilog=texts.SITE)
@click.option(
    "--output",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="Where it goes; a site that stands there is replaced.",
)
@click.pass_obj
def site_command(place: Place, output: Path) -> None:
    """Write a static site of the stack, which needs no server and no network.

    Open DIR/index.html: the stack as a picture and as a list, and for each PR its text, its lines
    alone, its syncs, and what to read between any two heads of its branch: those before, between
    and after its merges. Of a branch with more than 16 heads, the first and the newest 15 are
    there. The same history gives the same site, byte for byte.
    """
    # Slow to import, through jinja2, pygments and (where it is there) numpy.
    from merge_series.site.pages import INDEX, Renderer  # noqa: PLC0415 - no other command needs it

    check_folder(output)
    with place.read() as (repository, carrier):
        main = resolve_main(repository, carrier, place.main)
        reader = Reader(repository, carrier, place.main, read_part_of(place.series))
        pages = [reader.page(status) for status in statuses(repository, carrier, main)]
        (newest,) = read_commits(repository, "-1", main)
        renderer = Renderer(repository, carrier.series, newest)
        count = write_folder(output, renderer.site(reader, pages))
    people.print(
        f"Wrote {counted(count, 'page')}; open {output / INDEX} in a browser.", soft_wrap=True
    )
    for page in pages:
        if page.branch is not None and page.branch.left_out:
            people.print(
                f"{page.description.pull_request.name}: {page.branch.left_out} of its heads are "
                f"left out: the first and the newest are there, {MOST_HEADS} in all."
            )
