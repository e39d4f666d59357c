"""RECORD: the list of an installed package's files, with their digests and sizes.

https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

import base64
import csv
import hashlib
import io
from collections.abc import Iterable

Row = tuple[str, str, str]


def row(path: str, content: bytes) -> Row:
    """The row of a file: its path, its SHA-256 in URL-safe base64 without padding, its size."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return path, f"sha256={digest}", str(len(content))


def render_record(rows: Iterable[Row]) -> bytes:
    """A RECORD with the given rows."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
