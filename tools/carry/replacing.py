"""Replaces files of a folder, all or none.

Every new one is written first, and renamed when all are written. What fails or is interrupted then
is taken back.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from stack.errors import Refusal
from stack.lock import lock

_SCRATCH = ".carry-new"


def lock_tree(root: Path) -> AbstractContextManager[int]:
    """Hold a folder for one run that changes files below it; nothing is written for it.

    Raises:
        Refusal: Another run holds it.
    """
    return lock(root, "another carry is at work in this tree")


def replace_files(root: Path, files: Mapping[str, bytes]) -> None:
    """Bring files below a folder to given bytes, in the order given; the caller holds the folder.

    All or none, also where it is interrupted. A kill leaves whole files, each as it was or as it
    should be.

    Args:
        root: The folder.
        files: The bytes by path below it.

    Raises:
        Refusal: Something other than a plain file stands at a path, or one cannot be written;
            nothing is changed then.
    """
    for target in (root / path for path in files):
        if os.path.lexists(target) and (target.is_symlink() or not target.is_file()):
            raise Refusal(f"{target}: is no plain file, and the series adds one; remove it")
    before = {path: _read(root / path) for path in files}
    with _scratch_folder(root / _SCRATCH) as scratch:
        at = root
        try:
            ready = {}
            for number, (path, content) in enumerate(files.items()):
                at = root / path
                ready[path] = _prepare(scratch / str(number), content, at)
                at.parent.mkdir(parents=True, exist_ok=True)
            for path, file in ready.items():
                at = root / path
                file.replace(at)
        except BaseException as error:
            _put_back(root, before, scratch / "before")
            if isinstance(error, OSError):
                raise Refusal(
                    f"{at}: cannot be written: {error.strerror}; nothing was changed; see to its "
                    "folder and the disk, and run again"
                ) from error
            raise


def write_once(file: Path, content: bytes) -> bool:
    """Write a new file, whole or not at all.

    Returns:
        False if it is there already with these bytes.

    Raises:
        Refusal: It is there already with other bytes.
    """
    if os.path.lexists(file):
        if file.is_file() and file.read_bytes() == content:
            return False
        raise Refusal(f"{file}: is there with other bytes; delete it or name another folder")
    file.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".carry-", dir=file.parent) as folder:
        temporary = Path(folder) / file.name
        temporary.write_bytes(content)
        temporary.replace(file)
    return True


@contextmanager
def _scratch_folder(folder: Path) -> Iterator[Path]:
    """An empty folder, also where a run that was killed left it.

    Raises:
        Refusal: Something else stands there.
    """
    if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
        raise Refusal(f"{folder}: is no folder, and carry needs its name; move it away")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _read(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def _prepare(temporary: Path, content: bytes, target: Path) -> Path:
    """Write what is to be renamed to ``target``, with the rights of what stands there."""
    temporary.write_bytes(content)
    if target.exists():
        temporary.chmod(target.stat().st_mode)
    return temporary


def _put_back(root: Path, before: Mapping[str, bytes | None], temporary: Path) -> None:
    """Bring back what stood there."""
    for path, content in before.items():
        target = root / path
        if content is None:
            _remove(root, target)
        elif _read(target) != content:
            _prepare(temporary, content, target).replace(target)


def _remove(root: Path, file: Path) -> None:
    """Remove a file, and the folders that are empty then."""
    with suppress(FileNotFoundError, NotADirectoryError):
        file.unlink()
    for folder in file.parents:
        if folder == root or (folder.is_dir() and any(folder.iterdir())):
            return
        if folder.is_dir():
            folder.rmdir()
