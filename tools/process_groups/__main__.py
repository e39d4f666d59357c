#!/usr/bin/env python3
"""``python -m process_groups``, and ``python tools/process_groups`` without an installation."""

import sys
from pathlib import Path

if not __package__:
    # Started by its folder's path: the modules are those of the package all the same.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from process_groups.cli import main

main()
