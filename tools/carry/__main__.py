"""Runs the tool as ``python -m carry`` and as ``python tools/carry``."""

import sys
from pathlib import Path
from typing import NoReturn

if not __package__:
    # Run by its folder: that folder is on the path; its parent, which holds the package, is not.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from stack.starting import start


def main() -> NoReturn:
    """Run the command line."""
    start("carry.cli")


if __name__ == "__main__":
    main()
