"""The commands, each given its parsed options; each returns how it ended."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

from process_groups import allowlist, output, ratchet, source
from process_groups.directory import find_directory, scan_directory
from process_groups.errors import AllowlistError, ScanError
from process_groups.grid import PATH as GRID_PATH
from process_groups.grid import Derivation, derive
from process_groups.reads import Lines, Read
from process_groups.scan import count
from process_groups.why import why


class ExitCode(IntEnum):
    """How a command ended."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    FOUND = 4
    INTERRUPTED = 130


def list_reads(options: argparse.Namespace) -> ExitCode:
    """Print every read of a tree, or how many there are."""
    places = find_directory(options.tree)
    found = count(places)
    if options.json:
        output.print_json(
            {
                "reads": output.as_data(found, places),
                "kinds": ratchet.total_by_kind(found),
                "packages": ratchet.total_by_package(found),
            }
        )
        return ExitCode.DONE
    for line in output.table(found) if options.summary else output.lines_of(found, places):
        output.print_line(line)
    if not options.summary:
        output.say(output.summary(found))
    return ExitCode.DONE


def check(options: argparse.Namespace) -> ExitCode:
    """Compare a tree with its list."""
    text, allowed = _read_list(options.tree)
    places = find_directory(options.tree)
    found = count(places)
    difference = ratchet.compare(found, allowed)
    if options.json:
        output.print_json(output.difference_as_data(difference, places))
    elif options.format == "github":
        for line in output.annotations(difference, allowed, places, text):
            sys.stdout.write(f"{line}\n")
    if not options.json:
        for line in output.lines_of(difference.new, places):
            output.say(f"new:   {line}")
        for line in output.moves_of(difference, places):
            output.say(f"moved: {line}")
        for line in output.lines_of(difference.gone, {}):
            output.say(f"gone:  {line}")
    if found == allowed:
        output.say(f"the list is true: {output.summary(found)}")
        return ExitCode.DONE
    output.say(
        f"{output.amount(difference.new.total())} not on the list, "
        f"{difference.moved.total()} moved, {difference.gone.total()} of the list gone; "
        f"{output.GUIDE} says what to do"
    )
    return ExitCode.FOUND


def refresh(options: argparse.Namespace) -> ExitCode:
    """Write a tree's list again, unless that would allow a read that nobody allowed."""
    path = options.tree / allowlist.ALLOWLIST_PATH
    if options.init:
        if path.exists():
            raise AllowlistError(f"{path}: is there already; run refresh without --init")
        before: Counter[Read] = Counter()
    else:
        before = _read_list(options.tree)[1]
    places = find_directory(options.tree)
    found = count(places)
    allowed = found if options.init else before
    if options.allow_from is not None:
        allowed = ratchet.widest(allowed, scan_directory(options.allow_from))
    allowed = _accept(options.accept, found, allowed)
    refused = ratchet.refused(found, allowed)
    taken, dropped = found - before, before - found
    if not refused and (options.init or taken or dropped):
        _write_list(path, found)
    if options.json:
        output.print_json(
            {
                "refused": output.as_data(refused, places),
                "taken_in": output.as_data(Counter() if refused else taken, places),
                "dropped": output.as_data(Counter() if refused else dropped, {}),
            }
        )
    if refused:
        _say_refused(refused, places, quiet=options.json)
        return ExitCode.FOUND
    if not options.init and not options.json:
        for line in output.lines_of(taken, places):
            output.say(f"taken in: {line}")
        for line in output.lines_of(dropped, {}):
            output.say(f"dropped:  {line}")
    output.say(f"{path}: {output.summary(found)}")
    return ExitCode.DONE


def accessors(options: argparse.Namespace) -> ExitCode:
    """Print what is read off a tree's ``parallel_state.py``."""
    derivation = _derivation(options.tree)
    grid = derivation.grid
    if options.why is not None:
        lines, summary = why(options.why, derivation), ""
        data: dict[str, object] = {"name": options.why, "why": lines}
    else:
        tests = ", ".join(sorted(grid.tests)) or "no function"
        lines = sorted(grid.accessors)
        summary = f"{output.amount(len(lines), 'accessor')}; that the grid exists: {tests}"
        data = {name: sorted(names) for name, names in grid._asdict().items()}
    if options.json:
        output.print_json(data)
        return ExitCode.DONE
    for line in lines:
        output.print_line(line)
    if summary:
        output.say(summary)
    return ExitCode.DONE


def _say_refused(refused: Counter[Read], places: Lines, *, quiet: bool) -> None:
    if not quiet:
        for line in output.lines_of(refused, places):
            output.say(f"refused: {line}")
    output.say(
        f"{output.amount(refused.total())} not allowed, and the list is as it was; pass a process "
        "group or collection there, or say whose they are: --allow-from TREE, --accept FILE:SCOPE"
    )


def _derivation(tree: Path) -> Derivation:
    try:
        data = (tree / GRID_PATH).read_bytes()
    except OSError as error:
        raise ScanError(f"{tree / GRID_PATH}: cannot be read: {error.strerror}") from error
    return derive(source.parse(data, GRID_PATH).tree)


def _accept(places: Sequence[str], found: Counter[Read], allowed: Counter[Read]) -> Counter[Read]:
    """Return ``allowed`` with the new reads of the named places.

    Raises:
        AllowlistError: A place has no new read, so its name may be wrong.
    """
    new = ratchet.refused(found, allowed)
    for named in places:
        reads = {read: n for read, n in new.items() if output.place(read) == named}
        if not reads:
            known = sorted({output.place(read) for read in new})
            hint = f"new reads are at {', '.join(known)}" if known else "there is no new read"
            raise AllowlistError(f"--accept {named}: nothing new is read there; {hint}")
        allowed = allowed + Counter(reads)
    return allowed


def _read_list(tree: Path) -> tuple[str, Counter[Read]]:
    path = tree / allowlist.ALLOWLIST_PATH
    try:
        text = path.read_text(encoding="utf-8")
        return text, allowlist.parse(text)
    except FileNotFoundError as error:
        raise AllowlistError(
            f"{path}: there is no list yet; `refresh --init` writes the first one"
        ) from error
    except AllowlistError as error:
        raise AllowlistError(
            f"{path}, {error}; restore the file from git, then refresh it"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise AllowlistError(f"{path}: cannot be read: {error}") from error


def _write_list(path: Path, reads: Counter[Read]) -> None:
    text = allowlist.render(reads)
    # Written beside and moved over, so that a kill leaves the old list or the new one.
    beside = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    except OSError as error:
        raise AllowlistError(f"{path}: cannot be written: {error}") from error
