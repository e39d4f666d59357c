"""Makes the two trees that the tests run on, a release without and with the series.

Run as a script in the root of the repository: ``python tools/proof/trees.py VERSION FOLDER``. Trees
that were made from this very checkout are kept, so that they can be made where a package registry
can be reached, and carried to where none can. Needs the standard library alone; ``carry``, which
makes the trees, runs in a process of its own.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

TREES = ("unmodified", "fork")
STAMP = "made-from.txt"

# What decides what the trees hold.
_SOURCES = (
    "SERIES.md",
    "megatron",
    "tests/unit_tests",
    "tools/carry",
    "tools/process_groups",
    "tools/stack",
)


def make_trees(release: str, folder: Path) -> str:
    """Makes the trees, unless they are there.

    Args:
        release: The release of megatron-core.
        folder: Where they go.

    Returns:
        What was done, in words.

    Raises:
        RuntimeError: They cannot be made. What was in the folder is as it was.
    """
    if is_current(release, folder):
        return f"{folder}: made from this checkout already"
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    unmodified, fork = (str(new / name) for name in TREES)
    _carry(folder, "export", "--release", release, "--output", unmodified)
    _carry(folder, "apply", "--release", release, "--output", fork)
    (new / STAMP).write_text(_stamp(release, new), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)
    return f"{folder}: megatron-core {release}, unmodified and with the series"


def is_current(release: str, folder: Path) -> bool:
    """Whether a folder holds the trees of this checkout, and nobody has changed them since."""
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _stamp(release, folder)


def _stamp(release: str, folder: Path) -> str:
    checkout = _digest(Path(source) for source in _SOURCES)
    trees = _digest(folder / name for name in TREES)
    return f"megatron-core {release}\ncheckout {checkout}\ntrees {trees}\n"


def _digest(sources: Iterable[Path]) -> str:
    """A digest of the files in folders, their names and their bytes."""
    digest = hashlib.sha256()
    for source in sources:
        for path in sorted(source.rglob("*")) or [source]:
            if path.is_file() and "__pycache__" not in path.parts:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{source.name}/{path.relative_to(source)}\0{content}\n".encode())
    return digest.hexdigest()


def _carry(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "tools/carry", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.splitlines() or [f"exit status {done.returncode}"])[-1]
        raise RuntimeError(
            f"{folder}: not made from this checkout, and cannot be made here ({reason}); "
            "run nox -s trees where PyPI can be reached, and copy the folder here"
        )


def main(arguments: Sequence[str]) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", metavar="VERSION")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    try:
        done = make_trees(options.release, options.folder)
    except RuntimeError as error:
        sys.exit(f"error: {error}")
    sys.stderr.write(f"{done}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
