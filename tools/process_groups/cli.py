"""The command: ``process_groups``, or ``python tools/process_groups`` from the root of a tree."""

import argparse
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from process_groups import VERSION, commands
from process_groups.allowlist import ALLOWLIST_PATH
from process_groups.commands import ExitCode
from process_groups.errors import ProcessGroupsError
from process_groups.output import GUIDE, say

_COMMANDS = {
    "list": commands.list_reads,
    "check": commands.check,
    "refresh": commands.refresh,
    "accessors": commands.accessors,
}

_EPILOG = f"""\
A read is a place in megatron/core that uses the global process groups of parallel_state.py.
{ALLOWLIST_PATH} lists those that are allowed; it gets only shorter or milder.
When the check fails: {GUIDE}

examples:
  process_groups check
  process_groups list --summary path/to/Megatron-LM
  python tools/process_groups refresh

exit status: 0 done, 1 failed, 2 wrong usage, 4 the check found something, 130 interrupted
"""

_EXAMPLES = {
    "list": ("process_groups list", "process_groups list --json path/to/Megatron-LM > reads.json"),
    "check": ("process_groups check", "process_groups check --format github"),
    "refresh": (
        "process_groups refresh",
        "process_groups refresh --allow-from path/to/another/Megatron-LM",
        "process_groups refresh --accept megatron/core/optimizer/optimizer.py:clip_grads",
    ),
    "accessors": ("process_groups accessors --why get_expert_model_parallel_rank",),
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = make_parser().parse_args(arguments)
    try:
        code = _COMMANDS[options.command](options)
        sys.stdout.flush()
    except ProcessGroupsError as error:
        say(f"error: {error}")
        return ExitCode.FAILED
    except BrokenPipeError:
        # The reader of stdout has gone; the interpreter must not write there again.
        sys.stdout = None
        return ExitCode.FAILED
    except KeyboardInterrupt:
        say("interrupted; the list is as it was")
        return ExitCode.INTERRUPTED
    return code


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="process_groups",
        description="Keep the list of places in megatron/core that read the global process groups.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"process_groups {VERSION}, Python {platform.python_version()}",
        help="show the versions of the tool and of Python, and exit",
    )
    added = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        parser = added.add_parser(
            name,
            help=text,
            description=text,
            epilog="\n  ".join(["examples:", *_EXAMPLES[name]]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument(
            "tree",
            nargs="?",
            default=Path(),
            type=Path,
            metavar="TREE",
            help="the root of a Megatron-LM tree (default: the current directory)",
        )
        return parser

    listing = command("list", "print every read of the tree, with the number of each kind")
    checking = command("check", "fail unless the tree's reads are exactly those of its list")
    refreshing = command(
        "refresh", "write the list again: drop the reads that have gone, and refuse new ones"
    )
    naming = command("accessors", "print the functions whose use is a read, off parallel_state.py")
    listing.add_argument(
        "--summary", action="store_true", help="print numbers by package and kind instead"
    )
    forms = checking.add_mutually_exclusive_group()
    forms.add_argument(
        "--format", choices=["github"], help="mark the lines in a pull request on GitHub"
    )
    for where in (listing, forms, refreshing, naming):
        where.add_argument("--json", action="store_true", help="write JSON to stdout")
    refreshing.add_argument(
        "--init", action="store_true", help="write a tree's first list, with every read it has"
    )
    refreshing.add_argument(
        "--allow-from",
        type=Path,
        metavar="TREE",
        help="take in the new reads that this tree has too",
    )
    refreshing.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="FILE:SCOPE",
        help="take in the new reads of one definition; may be given several times",
    )
    naming.add_argument("--why", metavar="NAME", help="say what makes this name one, or not")
    return parser
