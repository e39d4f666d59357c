"""Runs the tool as ``python -m proof`` and as ``python tools/proof``."""

import sys
from pathlib import Path

if not __package__:
    # Run by its folder: that folder is on the path; its parent, which holds the package, is not.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from proof.cli import main

main()
