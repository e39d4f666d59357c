"""The command line of ``carry``; ``help_texts`` has its examples and exit codes."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import click

from carry import help_texts as texts
from carry.age import OLDEST, too_old
from carry.apply import apply_in_place, check_new, write_tree
from carry.bases import Base, ReleaseTree, default_cache, fetch_release, open_base
from carry.build import Builder
from carry.carried import Carrier
from carry.check_view import check_table, faults
from carry.checking import check
from carry.checkpoint.findings import look_at_checkpoint
from carry.checkpoint.view import lines, verdict
from carry.completion import ReleaseOrTree, ReleaseVersion
from carry.fork import MAIN, import_release, open_fork
from carry.generated import ReadScanner
from carry.index import fetch_own_wheel, list_offers, list_yanked
from carry.lacking import parts_lacking
from carry.releases import RELEASES
from carry.replacing import write_once
from carry.report import TreeReport, choose, exit_code, report_releases, report_tree
from carry.report_view import edit_tables, nearest_candidates, summary, tree_table
from carry.wheel import build_wheel
from carry.where import look_where
from stack.command_line import Tool, json_option
from stack.console import people, print_json, run
from stack.errors import ExitCode, Refusal
from stack.lock import lock_repository
from stack.repository import Repository
from stack.words import counted

_path = click.Path(path_type=Path)
_repo = click.option(
    "--repo", type=_path, default=Path("build/fork"), show_default=True, help="The fork."
)
_RECORDED = f"A recorded megatron-core release: {', '.join(RELEASES)}."
_release = click.option(
    "--release", metavar="VERSION", type=ReleaseVersion(), required=True, help=_RECORDED
)


@click.group(cls=Tool, epilog=texts.TOOL)
@click.option(
    "--series",
    type=_path,
    default=Path("SERIES.md"),
    show_default=True,
    help="The file that declares the stack.",
)
@click.pass_context
def carry(context: click.Context, series: Path) -> None:
    """Put the change on any Megatron tree.

    Downloads are kept in the user's cache folder, or where MEGATRON_SERIES_CACHE says.
    """
    context.obj = series


def _open(bases: Sequence[str]) -> list[Base]:
    """The bases that a command is given; they are closed when it ends."""
    context = click.get_current_context()
    return [context.with_resource(open_base(text, default_cache())) for text in bases]


@carry.command("check", epilog=texts.CHECK)
@click.argument(
    "bases", nargs=-1, required=True, metavar="TREE_OR_RELEASE...", type=ReleaseOrTree()
)
@json_option
@click.pass_obj
def check_command(series: Path, bases: tuple[str, ...], *, as_json: bool) -> ExitCode:
    """Say for each edit how often it matches and how often it should.

    TREE_OR_RELEASE is a release's version, a folder that holds megatron/, or REPO:REVISION.
    """
    carrier = Carrier.open(series)
    opened = _open(bases)
    reports = {base.name: check(carrier, base) for base in opened}
    failing = sum(not report.holds for found in reports.values() for report in found)
    if as_json:
        print_json({name: [r.to_json() for r in edits] for name, edits in reports.items()})
    else:
        people.print(check_table(reports))
        edits = len(next(iter(reports.values())))
        old = {base.name: why for base in opened if (why := too_old(base))}
        for fault in faults(reports, old):
            people.print(fault, soft_wrap=True)
        for name, found in reports.items():
            for text in parts_lacking(name, found):
                people.print(text, soft_wrap=True)
        what = f"{counted(edits, 'edit')} on {counted(len(reports), 'tree')}"
        people.print(f"{what}; {failing} do not match.")
    return ExitCode.FOUND if failing else ExitCode.DONE


@carry.command("report", epilog=texts.REPORT)
@click.argument("bases", nargs=-1, metavar="[TREE_OR_RELEASE...]", type=ReleaseOrTree())
@json_option
@click.pass_obj
def report_command(series: Path, bases: tuple[str, ...], *, as_json: bool) -> ExitCode:
    """Say on which of the releases that the package index offers the series lands.

    TREE_OR_RELEASE is besides: a release's version, a folder that holds megatron/, or
    REPO:REVISION. Exit code 4 says that the series does not land where it should: on a release from
    the oldest recorded one on, or on what was named; 1 that one of these could not be looked at.
    Older releases are shown and never count. Of the pre-releases the newest counts, unless a
    release is newer. Yanked releases are left out.
    """
    carrier = Carrier.open(series)
    opened = _open(bases)
    people.print("Asking the package index which releases of megatron-core it offers")
    offers, left_out = choose(list_offers(), list_yanked())
    others = f" and {counted(len(opened), 'other tree')}" if opened else ""
    people.print(f"Looking at {counted(len(offers), 'release')}{others}")
    found = [*report_releases(carrier, offers, default_cache())]
    found += [report_tree(carrier, base) for base in opened]
    if as_json:
        print_json({"trees": [tree.to_json() for tree in found], "left_out": left_out})
    else:
        _print_report(found, left_out)
    return exit_code(found)


@carry.command("apply", epilog=texts.APPLY)
@click.argument("tree", required=False, type=_path)
@click.option("--release", metavar="VERSION", type=ReleaseVersion(), help=_RECORDED)
@click.option("--output", type=_path, help="A new folder for the complete tree.")
@click.pass_obj
def apply_command(
    series: Path, tree: Path | None, release: str | None, output: Path | None
) -> None:
    """Apply the whole series to TREE in place, or write a release with it to a new folder.

    TREE is a clone of Megatron-LM. What pip installed is not changed in place: see carry wheel.
    """
    carrier = Carrier.open(series)
    if tree is not None and release is None and output is None:
        changed = apply_in_place(carrier, tree)
        done = (
            f"{counted(len(changed), 'file')} written"
            if changed
            else "the series is applied already; nothing was changed"
        )
        people.print(f"{tree}: {done}", soft_wrap=True)
    elif tree is None and release is not None and output is not None:
        check_new(output)
        base = _open_release(release)
        changed = write_tree(carrier, base, output)
        people.print(
            f"{output}: {base.name} with the series, {counted(len(changed), 'file')} changed or new"
        )
    else:
        raise click.UsageError("say TREE, or --release VERSION with --output DIR")


@carry.command("wheel", epilog=texts.WHEEL)
@click.option(
    "--release",
    metavar="VERSION",
    type=ReleaseVersion(),
    required=True,
    help="A megatron-core release that the package index offers.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("dist"),
    show_default=True,
    help="Folder for the wheel.",
)
@click.option(
    "--python",
    type=_path,
    default=Path(sys.executable),
    help="The interpreter to make it for; the one that runs this if not said.",
)
@click.pass_obj
def wheel_command(series: Path, release: str, output: Path, python: Path) -> None:
    """Make a wheel of a release with the series, for pip to install."""
    carrier = Carrier.open(series)
    wheel = build_wheel(carrier, release, fetch_own_wheel(release, default_cache(), python))
    target = output / wheel.name
    is_new = write_once(target, wheel.content)
    done = (
        f"{counted(len(wheel.changed), 'file')} changed or new"
        if is_new
        else "is there already, the same byte for byte"
    )
    people.print(f"{target}: {done}", soft_wrap=True)
    for text in wheel.lacking:
        people.print(text, soft_wrap=True)
    if release in list_yanked():
        people.print(
            f"megatron-core {release} is yanked: its makers withdrew it, and pip installs it only "
            "where it is asked for by this very version",
            soft_wrap=True,
        )


@carry.command("checkpoint", epilog=texts.CHECKPOINT)
@click.argument("folder", metavar="DIR", type=_path)
@json_option
def checkpoint_command(folder: Path, *, as_json: bool) -> ExitCode:
    """Say whether an FSDP-DTensor checkpoint in DIR was saved under a wrong layout.

    Its metadata alone is read, none of its code is run, and torch is not needed: which experts and
    layers are absent, named twice, or named differently by model and optimizer, what of it is
    whole, and the expert-parallel layout that a tree with the series states in it.
    """
    report = look_at_checkpoint(folder)
    if as_json:
        print_json(report.to_json() | {"verdict": verdict(report)})
    else:
        people.print(*lines(report), *verdict(report), sep="\n", soft_wrap=True)
    return ExitCode.FOUND if report.findings else ExitCode.DONE


@carry.command("where", epilog=texts.WHERE)
@click.option(
    "--python",
    type=_path,
    default=Path(sys.executable),
    help="The interpreter to ask; the one that runs this if not said.",
)
@click.pass_obj
def where_command(series: Path, python: Path) -> ExitCode:
    """Say which megatron.core a Python imports here, and whether the series is in it.

    A program imports a clone of Megatron-LM that stands in its own folder before a wheel that is
    installed, so run this in the folder of your script. Exit code 4 says that the series, or a part
    of it, is not in what is imported.
    """
    found = look_where(Carrier.open(series), python)
    people.print(found.line(python), soft_wrap=True)
    return found.exit_code


@carry.command("export", epilog=texts.EXPORT)
@_release
@click.option("--output", type=_path, required=True, help="A new folder for the tree.")
def export_command(release: str, output: Path) -> None:
    """Write a release's own files to a new folder, with nothing applied."""
    check_new(output)
    base = _open_release(release)
    write_tree(None, base, output)
    people.print(f"{output}: {base.name}, unmodified")


@carry.command("import", epilog=texts.IMPORT)
@_release
@_repo
def import_command(release: str, repo: Path) -> None:
    """Move the fork's main to a release: one commit, Import megatron-core VERSION."""
    base = _open_release(release)
    with open_fork(repo) as repository, lock_repository(repository) as held:
        commit = import_release(repository, base, release, (held,))
    people.print(
        f"{repo}: main holds {base.name} already"
        if commit is None
        else f"{repo}: main is now {base.name} ({commit[:12]})"
    )


@carry.command("build", epilog=texts.BUILD)
@_repo
@click.option("--main", default=MAIN, show_default=True, help="The commit of main to build on.")
@click.pass_obj
def build_command(series: Path, repo: Path, main: str) -> None:
    """Build the branches of the series that the fork lacks, one commit per series commit."""
    carrier = Carrier.open(series)
    with Repository.open(repo) as repository, lock_repository(repository) as held:
        commit = repository.resolve(main)
        if commit is None:
            raise Refusal(
                f"{repo}: no commit is named {main!r}; import a release first (carry import) "
                "or name main with --main"
            )
        builder = Builder(repository, carrier, ReadScanner(repository))
        built = builder.build(commit, people.print, (held,))
    for branch in built:
        pull_request = branch.pull_request
        number = len(pull_request.commits)
        people.print(
            f"{pull_request.branch}: {counted(number, 'commit')}, now at {branch.head[:12]}"
        )
    if not built:
        people.print(f"{repo}: every branch exists; nothing was changed")


def _print_report(trees: Sequence[TreeReport], left_out: Mapping[str, str]) -> None:
    """What matters most comes last, where a terminal stands when all is written."""
    for part in edit_tables(trees):
        people.print(part)
    for counts, heading in (
        (False, f"Nearest, on releases older than {OLDEST}:"),
        (True, "Nearest, where the series should land:"),
    ):
        if paragraphs := [*nearest_candidates(trees, counts=counts)]:
            people.print("", heading, *paragraphs, sep="\n", soft_wrap=True)
    people.print("", tree_table(trees), "", sep="\n")
    people.print(summary(trees, left_out))
    for tree in trees:
        for text in tree.lacking if tree.counts else ():
            people.print(text, soft_wrap=True)


def _open_release(version: str) -> Base:
    return ReleaseTree(version, fetch_release(version, default_cache()))


def main() -> NoReturn:
    """Run the command line."""
    run(carry, prog_name="carry")
