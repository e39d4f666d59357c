"""Writing SERIES.md: what changes is shown, and the file is replaced as a whole or not at all."""

import difflib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stack.errors import Refusal


@dataclass(frozen=True, slots=True)
class Rewrite:
    """SERIES.md before and after a change.

    Attributes:
        path: The file, as the user named it.
        before: Its bytes.
        after: Its new bytes.
    """

    path: Path
    before: bytes
    after: bytes

    @property
    def diff(self) -> str:
        """What changes, as ``diff -u`` writes it; empty where nothing does."""
        old, new = (
            data.decode("utf-8", "replace").splitlines() for data in (self.before, self.after)
        )
        lines = difflib.unified_diff(old, new, str(self.path), str(self.path), lineterm="", n=1)
        return "\n".join(lines)

    @contextmanager
    def staged(self) -> Iterator[Callable[[], None]]:
        """Write the new bytes beside the file; the function given puts them in its place.

        What can fail (a full disk, a folder that may not be written) fails before the body runs.
        """
        target = self.path.resolve()
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        beside = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(self.after)
                stream.flush()
                os.fsync(stream.fileno())
            shutil.copymode(target, beside)
            yield lambda: self._put(beside, target)
        finally:
            beside.unlink(missing_ok=True)

    def write(self) -> None:
        """Replace the file.

        Raises:
            Refusal: It is not what it was when it was read.
        """
        with self.staged() as put:
            put()

    def _put(self, beside: Path, target: Path) -> None:
        if target.read_bytes() != self.before:
            raise Refusal(
                f"{self.path}: the file was changed meanwhile and is left as it is; "
                f"make this change by hand:\n{self.diff}"
            )
        beside.replace(target)
