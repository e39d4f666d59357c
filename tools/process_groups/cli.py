"""The command: ``process_groups``, or ``python tools/process_groups`` from the root of a tree."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import NoReturn

from process_groups import allowlist, ratchet
from process_groups.errors import AllowlistError, ProcessGroupsError
from process_groups.reads import Read
from process_groups.scan import scan_directory


class ExitCode(IntEnum):
    """How a command ended."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    FOUND = 4
    INTERRUPTED = 130


_EPILOG = f"""\
A read is a place in megatron/core that uses the global process groups of parallel_state.py.
{allowlist.ALLOWLIST_PATH} lists those that are allowed; it gets only shorter or milder.

exit status: 0 done, 1 failed, 2 wrong usage, 4 the check found something
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        code = _COMMANDS[options.command](options)
        sys.stdout.flush()
    except ProcessGroupsError as error:
        _say(f"error: {error}")
        return ExitCode.FAILED
    except BrokenPipeError:
        # The reader of stdout has gone; the interpreter must not write there again.
        sys.stdout = None
        return ExitCode.FAILED
    except KeyboardInterrupt:
        _say("interrupted; the list is as it was")
        return ExitCode.INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="process_groups",
        description="Keep the list of places in megatron/core that read the global process groups.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    tree = {
        "nargs": "?",
        "default": Path(),
        "type": Path,
        "metavar": "TREE",
        "help": "the root of a Megatron-LM tree (default: the current directory)",
    }
    for name, text in (
        ("list", "print every read of the tree, with the number of each kind"),
        ("check", "fail unless the tree's reads are exactly those of its list"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("tree", **tree)  # type: ignore[arg-type]
        command.add_argument("--json", action="store_true", help="write JSON to stdout")
    text = "write the list again: drop the reads that have gone, and refuse new ones"
    command = commands.add_parser("refresh", help=text, description=text)
    command.add_argument("tree", **tree)  # type: ignore[arg-type]
    command.add_argument(
        "--init", action="store_true", help="write a tree's first list, with every read it has"
    )
    command.add_argument(
        "--allow-from",
        type=Path,
        metavar="TREE",
        help="take in the new reads that this tree has too",
    )
    command.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="FILE:SCOPE",
        help="take in the new reads of one definition; may be given several times",
    )
    return parser


def _list(options: argparse.Namespace) -> ExitCode:
    found = scan_directory(options.tree)
    if options.json:
        _print_json({"reads": _as_data(found), "kinds": ratchet.total_by_kind(found)})
        return ExitCode.DONE
    for line in _lines(found):
        _say(line)
    _say(_summary(found))
    return ExitCode.DONE


def _check(options: argparse.Namespace) -> ExitCode:
    allowed = _read_list(options.tree)
    found = scan_directory(options.tree)
    difference = ratchet.compare(found, allowed)
    if options.json:
        _print_json({"new": _as_data(difference.new), "gone": _as_data(difference.gone)})
    else:
        for line in _lines(difference.new):
            _say(f"new:  {line}")
        for line in _lines(difference.gone):
            _say(f"gone: {line}")
    if found == allowed:
        _say(f"the list is true: {_summary(found)}")
        return ExitCode.DONE
    _say(
        f"{_count(difference.new)} not on the list, {_count(difference.gone)} of the list gone; "
        "pass a process group or collection to what is new, and run "
        "`python tools/process_groups refresh` to drop what has gone"
    )
    return ExitCode.FOUND


def _refresh(options: argparse.Namespace) -> ExitCode:
    path = options.tree / allowlist.ALLOWLIST_PATH
    if options.init:
        if path.exists():
            raise AllowlistError(f"{path}: is there already; run refresh without --init")
        found = scan_directory(options.tree)
        _write_list(path, found)
        _say(f"{path}: {_summary(found)}")
        return ExitCode.DONE
    before = _read_list(options.tree)
    found = scan_directory(options.tree)
    allowed = before
    if options.allow_from is not None:
        allowed = ratchet.widest(allowed, scan_directory(options.allow_from))
    allowed = _accept(options.accept, found, allowed)
    refused = ratchet.refused(found, allowed)
    if refused:
        for line in _lines(refused):
            _say(f"refused: {line}")
        _say(
            f"{_count(refused)} not allowed, and the list is as it was; pass a process group or "
            "collection there, or say whose they are: --allow-from TREE, --accept FILE:SCOPE"
        )
        return ExitCode.FOUND
    difference = ratchet.compare(found, before)
    if difference.new or difference.gone:
        _write_list(path, found)
    for line in _lines(difference.new):
        _say(f"taken in: {line}")
    for line in _lines(difference.gone):
        _say(f"dropped:  {line}")
    _say(f"{path}: {_summary(found)}")
    return ExitCode.DONE


_COMMANDS = {"list": _list, "check": _check, "refresh": _refresh}


def _accept(places: Sequence[str], found: Counter[Read], allowed: Counter[Read]) -> Counter[Read]:
    """Return ``allowed`` with the new reads of the named places.

    Raises:
        AllowlistError: A place has no new read, so its name may be wrong.
    """
    new = ratchet.refused(found, allowed)
    for place in places:
        reads = {read: n for read, n in new.items() if f"{read.path}:{read.scope}" == place}
        if not reads:
            known = sorted({f"{read.path}:{read.scope}" for read in new})
            hint = f"new reads are at {', '.join(known)}" if known else "there is no new read"
            raise AllowlistError(f"--accept {place}: nothing new is read there; {hint}")
        allowed = allowed + Counter(reads)
    return allowed


def _read_list(tree: Path) -> Counter[Read]:
    path = tree / allowlist.ALLOWLIST_PATH
    try:
        return allowlist.parse(path.read_text(encoding="utf-8"))
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


def _lines(reads: Counter[Read]) -> list[str]:
    return [
        f"{read.path}:{read.scope}: {read.function} ({read.kind})"
        + (f" x{count}" if count > 1 else "")
        for read, count in sorted(reads.items())
    ]


def _as_data(reads: Counter[Read]) -> list[dict[str, str | int]]:
    return [{**read._asdict(), "count": count} for read, count in sorted(reads.items())]


def _count(reads: Counter[Read]) -> str:
    total = sum(reads.values())
    return f"{total} read{'' if total == 1 else 's'}"


def _summary(reads: Counter[Read]) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in ratchet.total_by_kind(reads).items())
    return f"{_count(reads)} ({kinds})"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _print_json(data: object) -> None:
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
