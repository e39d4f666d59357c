"""The whole series on a tree outside git: in place, or as a new folder. All or nothing."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from carry.bases import Base, Directory
from carry.carried import Carrier, Overlay
from carry.generated import render, scan_base
from carry.replacing import lock_tree, replace_files
from process_groups.allowlist import ALLOWLIST_PATH
from stack.errors import Refusal

_FOR_PACKAGES = {"site-packages", "dist-packages"}


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


def apply_in_place(carrier: Carrier, root: Path) -> tuple[str, ...]:
    """Apply the series to a folder that no package manager wrote.

    Returns:
        The paths that changed.

    Raises:
        Refusal: A package manager wrote it, an edit does not match, or a new file's place is taken;
            nothing is changed then. Or another run is at work there.
    """
    if _is_installed(root.resolve()):
        raise Refusal(
            f"{root}: holds what pip installed; to change that, make a wheel with the series "
            "(carry wheel --release VERSION) and install it with pip"
        )
    base = Directory(root)
    with lock_tree(root):
        files = series_files(carrier, base)
        replace_files(root, files)
    return tuple(files)


def _is_installed(root: Path) -> bool:
    """Whether a folder holds packages, or is part of one.

    Nothing could take a change back there, and the digests in a package's RECORD would be wrong.
    """
    if any(root.glob("*.dist-info")):
        return True
    for folder in (root, *root.parents):
        if folder.name in _FOR_PACKAGES:
            return True
        if (folder / ".git").exists():  # a clone, wherever it lies
            return False
    return False


def check_new(output: Path) -> None:
    """Refuse a folder that is there, before anything is fetched to be written to it.

    Raises:
        Refusal: It exists.
    """
    if os.path.lexists(output):
        raise Refusal(f"{output}: exists already; name a folder that does not")


def write_tree(carrier: Carrier | None, base: Base, output: Path) -> tuple[str, ...]:
    """Write a base to a new folder, with the series if there is a carrier; see ``check_new``.

    Returns:
        The paths that the series changed.

    Raises:
        Refusal: An edit does not match; nothing is written then.
    """
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
