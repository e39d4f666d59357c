"""Where edit files stand, beside where the upstream files would be."""

from pathlib import Path

SUFFIX = ".edits.yml"
_FOLDERS = ("megatron", "tests", "tools")


def edit_paths(root: Path) -> list[Path]:
    """The edit files below the folder that holds ``megatron``, sorted."""
    return sorted(path for name in _FOLDERS for path in (root / name).rglob(f"*{SUFFIX}"))
