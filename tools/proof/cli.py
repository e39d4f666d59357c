"""The command line of ``proof``.

Exit codes: 0 the change works; 1 failed; 2 usage; 4 a test is not as it should be; 130 interrupted.
"""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.text import Text

from proof.controls import find_controls, load_controls
from proof.job import Limits
from proof.launch import run_tests
from proof.platforms import FORMS, parse_platform
from proof.report import Report, print_report, print_summary
from proof.verdict import compare
from stack.errors import ExitCode, Refusal

_CONTROLS = Path("tests/controls.txt")


def main() -> NoReturn:
    """Runs the command line."""
    people = Console(stderr=True, highlight=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the ranks have to be ended
    try:
        code = prove(sys.argv[1:], people, Limits())
    except Refusal as refusal:
        people.print(Text.assemble(("error: ", "bold red"), str(refusal)), soft_wrap=True)
        code = refusal.exit_code
    except KeyboardInterrupt:
        people.print("interrupted; both trees are as they were")
        code = ExitCode.INTERRUPTED
    sys.exit(code)


def prove(arguments: Sequence[str], people: Console, limits: Limits) -> ExitCode:
    """Runs the tests on both trees and prints what they show.

    Args:
        arguments: The command line without the program.
        people: Where the tables go.
        limits: When to end a run that hangs.

    Returns:
        `ExitCode.DONE` if the change works on every platform, else `ExitCode.FOUND`.

    Raises:
        Refusal: A path or a platform is not what it should be, or the declared controls do not fit
            the tests.
    """
    options = _parser().parse_args(arguments)
    trees = {"unmodified": options.unmodified.resolve(), "fork": options.fork.resolve()}
    for tree in (options.unmodified, options.fork):
        if not (tree / "megatron" / "core" / "__init__.py").is_file():
            raise Refusal(f"{tree}: not a Megatron tree (no megatron/core/__init__.py there)")
    for path in options.tests:
        if not path.exists():
            raise Refusal(f"{path}: no such test file or folder")
    root = _root_of(options.tests, trees["fork"])
    controls = load_controls(_CONTROLS)
    reports = []
    for platform in [parse_platform(text) for text in options.platform or ["fake"]]:
        runs, seconds = [], []
        for name, tree in trees.items():
            start = time.monotonic()
            with people.status(f"{platform.title}: running the tests on the {name} tree"):
                runs.append(run_tests(root, tree, options.tests, platform, limits))
            seconds.append(time.monotonic() - start)
        unmodified, fork = runs
        declared = find_controls(_CONTROLS, controls, {**unmodified.tests, **fork.tests})
        verdict = compare(unmodified, fork, declared)
        reports.append(Report(platform, verdict, (seconds[0], seconds[1])))
        print_report(people, reports[-1])
    return ExitCode.DONE if print_summary(people, reports) else ExitCode.FOUND


def _root_of(tests: Sequence[Path], fork: Path) -> Path:
    """The folder that ids of tests are relative to: the fork that carries them, or this one."""
    for root in (fork, Path.cwd()):
        outside = [path for path in tests if not path.resolve().is_relative_to(root)]
        if not outside:
            return root
    raise Refusal(
        f"{outside[0]}: not in {root}; run this in the root of the repository, or name tests "
        "that the fork carries"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="proof",
        description="Run tests of the change on an unmodified tree and on the fork, and show in "
        "one table that they fail on the first and pass on the second.",
        epilog="Exit codes: 0 the change works, 1 failed, 2 usage, 4 a test is not as it should "
        "be, 130 interrupted.",
    )
    parser.add_argument(
        "--platform",
        action="append",
        metavar="PLATFORM",
        help=f"where to run them: {FORMS} (N CPU ranks; a rank on every visible GPU; N ranks that "
        "share a GPU); may be given several times; fake, which is one process, if none is given",
    )
    parser.add_argument(
        "--unmodified",
        type=Path,
        required=True,
        metavar="TREE",
        help="holds megatron/, as released",
    )
    parser.add_argument(
        "--fork", type=Path, required=True, metavar="TREE", help="holds megatron/, with the change"
    )
    parser.add_argument(
        "tests",
        type=Path,
        nargs="+",
        metavar="TESTS",
        help="test files or folders of this repository, or all of the fork, which holds them with "
        "the edits of later PRs",
    )
    return parser
