"""Writes the allowlist of the tree in the current directory again.

The same as ``python tools/process_groups refresh``, and takes the same options. It refuses reads
that are new.
"""

import sys
from pathlib import Path

if not __package__:
    # Started by its path: the modules are those of the package all the same.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from process_groups.cli import main

if __name__ == "__main__":
    main(["refresh", *sys.argv[1:]])
