"""RECORD: the list of an installed package's files, with their digests and sizes.

https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

import base64
import csv
import hashlib
import io
from collections.abc import Iterable
from pathlib import Path

from stack.errors import Refusal

Row = tuple[str, str, str]


def row(path: str, content: bytes) -> Row:
    """The row of a file: its path, its SHA-256 in URL-safe base64 without padding, its size."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return path, f"sha256={digest}", str(len(content))


def read_record(file: Path, content: bytes) -> dict[str, Row]:
    """The rows of a RECORD by path, in its order; empty lines are none.

    Args:
        file: Its place, for messages.
        content: Its bytes.

    Raises:
        Refusal: It is no list of files.
    """
    try:
        rows = csv.reader(io.StringIO(content.decode(), newline=""))
        return {path: (path, digest, size) for path, digest, size in filter(None, rows)}
    except (ValueError, csv.Error) as error:
        raise Refusal(
            f"{file}: is damaged ({error}); install megatron-core again "
            "(pip install --force-reinstall --no-deps)"
        ) from error


def render_record(rows: Iterable[Row]) -> bytes:
    """A RECORD with the given rows."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
