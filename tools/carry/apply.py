"""The whole series on a tree outside git: in place, or as a new folder. All or nothing."""

from pathlib import Path
from tempfile import TemporaryDirectory

from carry.bases import Base
from carry.carried import Carrier, Overlay
from carry.generated import render, scan_base
from carry.replacing import replace_files
from process_groups.allowlist import ALLOWLIST_PATH
from stack.errors import Refusal


def series_files(carrier: Carrier, base: Base) -> dict[str, bytes]:
    """All that the series changes on a base, the allowlist included.

    Raises:
        Refusal: An edit does not match; nothing of the series can be applied then.
    """
    files = carrier.files(base, list(carrier.series))
    if carrier.series.generated:
        listed = render(scan_base(Overlay(base, files)))
        if listed != base.read(ALLOWLIST_PATH):
            files[ALLOWLIST_PATH] = listed
    return files


def apply_in_place(carrier: Carrier, base: Base, root: Path) -> tuple[str, ...]:
    """Apply the series to a folder.

    Args:
        carrier: The series.
        base: The folder as a base.
        root: The folder.

    Returns:
        The paths that changed.

    Raises:
        Refusal: An edit does not match, or a new file's place is taken; nothing is changed then.
    """
    files = series_files(carrier, base)
    with TemporaryDirectory(prefix=".carry-", dir=root) as folder:
        replace_files(root, files, Path(folder))
    return tuple(files)


def write_tree(carrier: Carrier | None, base: Base, output: Path) -> tuple[str, ...]:
    """Write a base to a new folder, with the series if there is a carrier.

    Returns:
        The paths that the series changed.

    Raises:
        Refusal: The folder exists, or an edit does not match; nothing is written then.
    """
    if output.exists():
        raise Refusal(f"{output}: exists already; name a folder that does not")
    files = {} if carrier is None else series_files(carrier, base)
    output.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".carry-", dir=output.parent) as folder:
        root = Path(folder) / "tree"
        whole = Overlay(base, files)
        for path in whole.paths():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(whole.read(path) or b"")
        root.replace(output)
    return tuple(files)
