"""How the tools start: by importing what they consist of, which an older set-up may lack.

With the standard library alone, since any other package may be what is missing.
"""

import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

_ROOT = Path(__file__).resolve().parents[2]


def start(module: str) -> NoReturn:
    """Run the command line of a tool.

    Args:
        module: The module that has its ``main``, such as ``carry.cli``.
    """
    try:
        main = import_module(module).main
    except ModuleNotFoundError as error:
        sys.exit(f"error: {missing(error)}")
    sys.exit(main())


def missing(error: ModuleNotFoundError) -> str:
    """What to do where a module is not there: the set-up is older than the tools."""
    # Of an installation that is a copy, the folder it was made from is not known.
    folder = str(_ROOT) if (_ROOT / "setup.py").is_file() else "THE_FOLDER_OF_THE_TOOLS"
    command = shlex.join((sys.executable, "-m", "pip", "install", "-e", folder))
    return f"{error.name}: no such module, and the tools need it by now; run {command}"
