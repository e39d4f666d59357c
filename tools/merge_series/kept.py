"""Files that are whole, or as they were: written under a temporary name, then renamed."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stack.errors import Refusal

_UNFINISHED = ".new"


def read_json[T](file: Path, build: Callable[[dict[str, Any]], T]) -> T | None:
    """What a file holds, or None where there is no file.

    Raises:
        Refusal: It holds something else than this program writes.
    """
    try:
        return build(json.loads(file.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise Refusal(
            f"{file}: not JSON ({error}); it was not written by this program; move it away"
        ) from error
    except (KeyError, TypeError) as error:
        raise Refusal(
            f"{file}: not a record of this version of the program ({error!r}); move it away"
        ) from error


def write_json(file: Path, data: dict[str, Any]) -> None:
    """Write a file of the state, as ``write_whole`` does."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(data, indent=1).encode())


def write_whole(file: Path, content: bytes) -> None:
    """Write a file so that a kill leaves what stood there before, or all of the new.

    It keeps its permissions. The caller holds the lock of the repository: two at once would meet
    under the temporary name.
    """
    temporary = file.with_name(f".{file.name}{_UNFINISHED}")
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if file.exists():
            shutil.copymode(file, temporary)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_unfinished(*folders: Path) -> None:
    """Remove what a run left in folders of the state that was killed while it wrote there."""
    for file in (file for folder in folders for file in folder.glob(f"*{_UNFINISHED}")):
        file.unlink(missing_ok=True)
