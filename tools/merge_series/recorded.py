"""How people settled conflicts, kept in the repository and used again for the very same ones.

A resolution is found by its path and by the mode and blob of every stage, also of the other paths
that git names together with it, never by text. It is kept with the bytes it results in, below
``merge_series/resolutions`` in the git directory: so it outlives a garbage collection, and a sync
that was dropped after the person had settled it. To find it in the merge commits instead, each of
them would have to be merged again at every conflict.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merge_series.kept import write_json
from stack.errors import Refusal
from stack.git_answers import Entry, Sha
from stack.lock import state_folder
from stack.merging import Conflict
from stack.repository import Repository

_SUBMODULE = "160000"

Group = Sequence[Conflict]  # a conflict, followed by those that git names together with it


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a person made of a path.

    Attributes:
        mode: Mode of the result; empty where the path was removed.
        content: Its bytes; of a submodule its commit's id; empty where the path was removed.
        author: Who made the merge.
        commit: The merge commit.
    """

    mode: str
    content: bytes
    author: str
    commit: Sha

    def how(self, repository: Repository, *sides: Sha) -> str:
        """Whose resolution it is, as a phrase, which names no commit that a branch lacks.

        Args:
            repository: The fork.
            sides: The commits that are merged.
        """
        # An undo takes the merge off its branches, and git may have dropped it since.
        there = repository.resolve(self.commit) is not None
        if there and any(repository.is_ancestor(self.commit, side) for side in sides):
            return f"as {self.author} settled it in {self.commit[:12]}"
        return f"as {self.author} settled it before"


class Recorded:
    """The resolutions kept in one repository.

    Args:
        repository: The fork.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._folder = state_folder(repository) / "resolutions"

    def find(self, group: Group, among: Iterable[Group]) -> Resolution | None:
        """The resolution of a conflict, the first of ``group``, which holds all named with it.

        Args:
            group: The conflict.
            among: All conflicts of the merge. What a person settled together is used together: one
                file may have taken what another one gave up.
        """
        file = self._file(_key(group))
        if not file.exists():
            return None
        data = _read(file)
        here = {self._file(_key(other)).name for other in among}
        for name in data.get("together", []):
            other = self._folder / name
            if name not in here or not other.exists() or _read(other)["commit"] != data["commit"]:
                return None
        content = base64.b64decode(data["content"])
        return Resolution(data["mode"], content, data["author"], Sha(data["commit"]))

    def keep(
        self, group: Group, result: Entry | None, commit: Sha, together: Iterable[Group]
    ) -> None:
        """Keep how a person settled a conflict.

        Args:
            group: The conflict, followed by those that git names together with it.
            result: What the merge holds at the path; None where it was removed.
            commit: The merge commit, whose author is named.
            together: All conflicts that the person settled in this merge.
        """
        content = b""
        if result is not None and result.mode == _SUBMODULE:
            content = result.oid.encode()
        elif result is not None:
            content = self._repository.read_blob(result.oid)
        data = {
            "path": group[0].path,
            "stages": _stages(group),
            "mode": result.mode if result else "",
            "content": base64.b64encode(content).decode(),
            "author": self._repository.run("log", "-1", "--format=%an", commit, "--").text,
            "commit": commit,
            "together": sorted(self._file(_key(other)).name for other in together),
        }
        write_json(self._file(_key(group)), data)

    def forget(self, path: str) -> int:
        """Drop the resolutions of a path.

        Returns:
            How many there were.
        """
        found = [file for file, name in self._paths() if name == path]
        for file in found:
            file.unlink()
        return len(found)

    def paths(self) -> tuple[str, ...]:
        """The paths that a resolution is kept of, sorted."""
        return tuple(sorted({name for _, name in self._paths()}))

    def _paths(self) -> Iterator[tuple[Path, str]]:
        for file in sorted(self._folder.glob("*.json")):
            yield file, _read(file)["path"]

    def _file(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def _key(group: Group) -> str:
    return json.dumps([group[0].path, _stages(group)])


def _stages(group: Group) -> list[Any]:
    """The stages of all paths of a group, in an order of their own."""
    return [
        [conflict.path, [[n, e.mode, e.oid] for n, e in sorted(conflict.stages.items())]]
        for conflict in sorted(group, key=lambda conflict: conflict.path)
    ]


def _read(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_text("utf-8"))
        if {"path", "mode", "content", "author", "commit"} <= set(data):
            return dict(data)
    except (OSError, ValueError, TypeError) as error:
        raise Refusal(f"{file}: no resolution of this program ({error}); move it away") from error
    raise Refusal(f"{file}: no resolution of this version of the program; move it away")
