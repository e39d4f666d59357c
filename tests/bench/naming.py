"""What names cost a save: of all parameters of a large model, unmodified and fork.

Run by ``nox -s bench`` in the root of the repository, with the trees in ``build/trees``. Every
number is measured in this run, on the machine it names.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

INSIDE = Path(__file__).with_name("naming_inside.py")
TREES = Path("build/trees")

console = Console(width=100)


def measured(tree: str) -> list[dict[str, Any]]:
    """What a process with the `megatron` of a tree measures."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(INSIDE)],
        env=os.environ | {"PYTHONPATH": str(TREES / tree), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        sys.exit(f"error: {TREES / tree}: not measured\n{run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def main() -> None:
    """Measures and prints."""
    unmodified, fork = map(measured, ("unmodified", "fork"))
    table = Table("names of", "parameters", "unmodified", "fork", "ratio", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for before, after in zip(unmodified, fork, strict=True):
        if before["names"] != after["names"]:
            sys.exit(f"error: {before['what']}: the fork has other names on the standard grid")
        whole = before["seconds"] * before["params"] / before["asked"]
        table.add_row(
            before["what"],
            f"{before['params']:,}",
            f"{whole:,.3f} s" if before["asked"] == before["params"] else f"({whole:,.0f} s)",
            f"{after['seconds']:.3f} s",
            f"{whole / after['seconds']:,.2f}",
        )
    console.print(
        "MoE layers of 101 parameters on the meta device, a process for each tree\n"
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n"
    )
    console.print(table)
    asked = f"In brackets: {unmodified[-1]['asked']} names were measured"
    console.print(f"\n{asked}, the time is for all.", style="dim")


main()
