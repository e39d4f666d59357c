"""What commands made of generated files, kept by what they were made from.

``merge_series/made.json`` in the git directory names the blob of each result; the blob is git's, so
it goes with a garbage collection once no commit holds it. That is a cache and nothing else: what is
damaged or gone is made again.
"""

from contextlib import suppress
from typing import Any

from merge_series.kept import read_json, write_json
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.lock import state_folder
from stack.repository import Repository

MOST = 1000  # results; each is a line, and its blob is most often in a commit as well
FAILS = ""  # instead of a blob, where the command fails on what it finds

_Kept = dict[str, dict[str, str]]


class Made:
    """The results kept in one repository.

    Args:
        repository: The fork; where it keeps nothing, results are known to this object alone.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._file = state_folder(repository) / "made.json"
        self._own: _Kept = {}

    def find(self, key: str) -> str | None:
        """The blob that was made, or ``FAILS``; None where that is not known, or gone."""
        known = self._own.get(key) or self._read().get(key)
        blob = None if known is None else known["blob"]
        if blob:
            try:
                self._repository.read_blob(Sha(blob))
            except Refusal:
                return None
        return blob

    def keep(self, key: str, path: str, blob: str) -> None:
        """Keep a result.

        Args:
            key: What stands for all that it was made from.
            path: The file.
            blob: Its blob, or ``FAILS``.
        """
        self._own[key] = {"path": path, "blob": blob}
        if self._repository.is_kept:
            known = self._read() | self._own
            write_json(self._file, dict(list(known.items())[-MOST:]))

    def forget(self, path: str) -> int:
        """Drop the results of a path.

        Returns:
            How many there were.
        """
        known = self._read()
        others = {key: result for key, result in known.items() if result["path"] != path}
        if others != known:
            write_json(self._file, others)
        return len(known) - len(others)

    def _read(self) -> _Kept:
        with suppress(Refusal, OSError):
            return read_json(self._file, _results) or {}
        return {}


def _results(data: dict[str, Any]) -> _Kept:
    return {key: {"path": str(one["path"]), "blob": str(one["blob"])} for key, one in data.items()}
