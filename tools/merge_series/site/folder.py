"""The folder that a site is written to: whole or not at all, and never over what is no site."""

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from stack.errors import Refusal

MARKER = ".merge-series-site"  # lists the site's files, so that a person's own among them is seen


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds anything but a site.

    Raises:
        Refusal: It names what is there.
    """
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise Refusal(f"{folder}: is no folder; name another one")
    files = (path for path in folder.rglob("*") if not _is_dir(path))
    first = next(files, None)  # of a home folder, the others are many
    if first is None:
        return
    marker = folder / MARKER
    if marker.is_symlink() or not marker.is_file():
        raise Refusal(
            f"{folder}: is not empty and holds no site of merge_series; name another folder"
        )
    listed = {MARKER, *marker.read_text("utf-8", "surrogateescape").splitlines()}
    for path in sorted(str(file.relative_to(folder)) for file in (first, *files)):
        if path not in listed:
            raise Refusal(
                f"{folder / path}: is no file of the site that stands there; move it elsewhere, "
                "since the whole folder is replaced"
            )


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """Write a site, in the place of an earlier one.

    All of it is written beside the folder and renamed, so that what fails on the way, such as a
    full disk, leaves the earlier site as it was.

    Args:
        folder: Where it goes; ``check_folder`` takes it.
        files: The files by path, each written before the next is asked for.

    Returns:
        How many files were written.

    Raises:
        Refusal: Meanwhile something else came to stand in the folder.
    """
    target = folder.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        new, old = Path(scratch, "new"), Path(scratch, "old")
        new.mkdir()
        names = []
        for name, content in files:
            file = new / name
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
            names.append(name)
        (new / MARKER).write_text("".join(f"{name}\n" for name in sorted(names)), "utf-8")
        check_folder(target)
        try:
            if target.exists():
                target.rename(old)
            new.rename(target)
        except BaseException:
            if old.exists():
                old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    return len(names)


def _is_dir(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
