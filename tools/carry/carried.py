"""What the series makes of a base: the new files and edited texts, layer by layer.

A layer is one series commit. The text of a file on a branch is the layers of all PRs the branch
contains, applied in topological order to the base's text.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from carry.age import too_old
from carry.bases import Base
from carry.edit_paths import edit_paths
from carry.generated import check_regenerable
from stack.errors import ExitCode, Refusal
from stack.lazy import Lazy
from stack.model import PullRequest, Series, SeriesCommit
from stack.series_file import read_series

if TYPE_CHECKING:
    from carry import edits as editing
else:
    # A stack that its authors write has none.
    editing = Lazy("carry.edits")

Layer = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Carrier:
    """The series with the files and edits it carries.

    Attributes:
        root: Folder that holds SERIES.md; new files and edit files stand below it.
        series: The declared stack.
        edit_files: The edit files by the path they edit.
        path: SERIES.md, as the user named it.
    """

    root: Path
    series: Series
    edit_files: dict[str, "editing.EditFile"]
    path: Path

    @classmethod
    def open(cls, series_path: Path) -> "Carrier":
        """Read a SERIES.md and what lies beside it.

        Raises:
            Refusal: A file is faulty, an edit names a commit that the series does not declare, or
                the series has a file made again that nothing here can make.
        """
        series = read_series(series_path)
        for commit in (commit for pull_request in series for commit in pull_request.commits):
            for path in commit.regenerates:
                check_regenerable(path, commit.line)
        root = series_path.resolve().parent
        declared = set(layers_of(series))
        found = [editing.load_edit_file(root, path) for path in edit_paths(root)]
        edit_files = {str(edit_file.path): edit_file for edit_file in found}
        for edit_file in edit_files.values():
            for edit in edit_file.edits:
                if (edit.pr, edit.commit) not in declared:
                    raise Refusal(
                        f"{edit.place}: {series_path.name} declares no commit {edit.commit} "
                        f"of #{edit.pr}; add it there or correct the edit"
                    )
        return cls(root, series, edit_files, series_path)

    def edits(self, path: str, pull_requests: Iterable[PullRequest]) -> bool:
        """Whether the given PRs edit ``path``."""
        edit_file = self.edit_files.get(path)
        return edit_file is not None and not set(edit_file.layers).isdisjoint(
            layers_of(pull_requests)
        )

    def text(self, path: str, source: bytes, pull_requests: Sequence[PullRequest]) -> bytes:
        """The base's text of an edited file with all edits of the given PRs applied.

        Raises:
            EditMismatch: An edit does not match the text.
        """
        return editing.apply_layers(self.edit_files[path], source, layers_of(pull_requests)).text

    def edits_in(
        self, path: str, source: bytes, pull_requests: Sequence[PullRequest]
    ) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
        """The edits of ``path`` by PR, as places: all of them, and those whose result stands.

        Raises:
            Refusal: The text is no Python.
        """
        every: dict[int, set[str]] = {}
        standing: dict[int, set[str]] = {}
        for result in editing.probe_layers(self.edit_files[path], source, layers_of(pull_requests)):
            number, place = result.edit.pr, result.edit.place
            every.setdefault(number, set()).add(place)
            if result.state == "already applied":
                standing.setdefault(number, set()).add(place)
        return every, standing

    def commit_files(
        self, base: Base, pull_request: PullRequest, commit: SeriesCommit
    ) -> dict[str, bytes]:
        """What one series commit changes on ``base``: its new files and its edits.

        The generated files are left out: they follow from the whole tree.

        Raises:
            Refusal: A new file is missing here, stands in the base already with other bytes, or an
                edit does not match; the message names every edit that does not.
        """
        return self._changed(base, [commit], [(pull_request.number, commit.number)])

    def files(self, base: Base, pull_requests: Iterable[PullRequest]) -> dict[str, bytes]:
        """All that the given PRs, dependencies first, change on ``base``, generated files apart.

        Raises:
            Refusal: As for ``commit_files``.
        """
        held = tuple(pull_requests)
        commits = [commit for pull_request in held for commit in pull_request.commits]
        return self._changed(base, commits, layers_of(held))

    def source(self, base: Base, path: str) -> bytes | None:
        """What the edits of ``path`` apply to: the base's file, else the series' own new file."""
        found = base.read(path)
        if found is None:
            for pull_request in self.series:
                for commit in pull_request.commits:
                    if path in commit.adds:
                        return self._new_file(path, commit)
        return found

    def _changed(
        self, base: Base, commits: Iterable[SeriesCommit], layers: Sequence[Layer]
    ) -> dict[str, bytes]:
        files = {path: self.added(base, path, commit) for commit in commits for path in commit.adds}
        whole = Overlay(base, dict(files))
        failures: list[str] = []
        for path, edit_file in self.edit_files.items():
            if set(layers).isdisjoint(edit_file.layers):
                continue
            source = whole.read(path)
            if source is None:
                failures += self._missing(base, edit_file)
                continue
            try:
                # All layers at once: what a later one inserts is no candidate for an earlier one.
                files[path] = editing.apply_layers(edit_file, source, layers).text
            except editing.EditMismatch as mismatch:
                failures += mismatch.lines
        if failures and (old := too_old(base)):
            raise Refusal(f"{old}; nothing was applied", ExitCode.FOUND)
        if failures:
            message = editing.not_landing(f"{base.name}: nothing was applied", failures)
            raise Refusal(message, ExitCode.FOUND)
        return {path: text for path, text in files.items() if text != base.read(path)}

    def _new_file(self, path: str, commit: SeriesCommit) -> bytes:
        file = self.root / path
        # A series comes from other people: a link in it must not publish a file of the user's.
        if not file.resolve().is_relative_to(self.root):
            raise Refusal(
                f"SERIES.md:{commit.line}: the new file {path} is a link out of {self.root}; "
                "put the file itself there"
            )
        try:
            return file.read_bytes()
        except OSError as error:
            raise Refusal(
                f"SERIES.md:{commit.line}: the new file {path} cannot be read: {error.strerror}; "
                f"it should stand at {self.root / path}"
            ) from error

    def added(self, base: Base, path: str, commit: SeriesCommit) -> bytes:
        """What stands on ``base`` at the path of a new file once the commit has added it.

        Raises:
            Refusal: The file is missing here, or stands in the base already with other bytes.
        """
        content = self._new_file(path, commit)
        found = base.read(path)
        if found is None or found in self._states(path, content):
            return found or content
        raise Refusal(
            f"{base.name}: {path} is there already with other bytes; "
            f"SERIES.md:{commit.line} adds it as a new file; give it another "
            "path, or change it by edits"
        )

    def _states(self, path: str, content: bytes) -> Iterator[bytes]:
        """A new file as it is added, and after each further layer of edits."""
        yield content
        if path in self.edit_files:
            edit_file = self.edit_files[path]
            own = [layer for layer in layers_of(self.series) if layer in edit_file.layers]
            for end in range(1, len(own) + 1):
                yield editing.apply_layers(edit_file, content, own[:end]).text

    def _missing(self, base: Base, edit_file: "editing.EditFile") -> list[str]:
        absent_with = edit_file.absent_with
        if absent_with is not None and not base.has_directory(str(absent_with)):
            return []
        return [f"{edit_file.source}: {base.name} has no {edit_file.path}"]


@dataclass(frozen=True, slots=True)
class Overlay:
    """A base with some files written over it.

    Attributes:
        base: What lies below.
        files: The bytes that stand over it.
    """

    base: Base
    files: dict[str, bytes]

    @property
    def name(self) -> str:
        """The base's name."""
        return self.base.name

    def read(self, path: str) -> bytes | None:
        """The bytes at ``path``, or None."""
        return self.files[path] if path in self.files else self.base.read(path)

    def has_directory(self, path: str) -> bool:
        """Whether anything lies below ``path``."""
        below = path.rstrip("/") + "/"
        return self.base.has_directory(path) or any(p.startswith(below) for p in self.files)

    def paths(self) -> tuple[str, ...]:
        """All files, sorted."""
        return tuple(sorted({*self.base.paths(), *self.files}))


def layers_of(pull_requests: Iterable[PullRequest]) -> tuple[Layer, ...]:
    """The layers of PRs given dependencies first, in the order they apply."""
    return tuple(
        (pull_request.number, commit.number)
        for pull_request in pull_requests
        for commit in pull_request.commits
    )
