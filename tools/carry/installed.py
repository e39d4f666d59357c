"""The series on a megatron-core that pip installed, and back again.

What stood there before is kept in one file of the package's own ``.dist-info``, which its RECORD
lists, so that uninstalling takes it along. The file is written before anything changes and removed
when all is as it was; whenever a run is killed, each file stands as it was or as a run wrote it,
and both can be told by what is kept.
"""

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from carry.archives import DAMAGED
from carry.bases import Directory
from carry.carried import Carrier
from carry.record import read_record, render_record, row
from carry.replacing import check_places, lock_tree, replace_files, scratch_folder
from stack.errors import Refusal

KEPT = "series-undo.zip"

_WRITTEN = "written.json"
_BEFORE = "before/"
_FOR_PACKAGES = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class Kept:
    """What an installation was before the series, and what was written since.

    Attributes:
        before: The bytes by path; None for a file that was not there.
        written: The SHA-256 of everything that was ever written at a path.
    """

    before: Mapping[str, bytes | None]
    written: Mapping[str, frozenset[str]]

    def to_zip(self) -> bytes:
        """The archive: the old files below ``before/``, and the digests."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            digests = {path: sorted(found) for path, found in self.written.items()}
            archive.writestr(_WRITTEN, json.dumps(digests, indent=2) + "\n")
            for path, old in self.before.items():
                if old is not None:
                    archive.writestr(_BEFORE + path, old)
        return content.getvalue()

    @classmethod
    def from_zip(cls, file: Path) -> "Kept":
        """Read what ``to_zip`` wrote.

        Raises:
            Refusal: The file is something else.
        """
        try:
            with zipfile.ZipFile(file) as archive:
                names = set(archive.namelist())
                written = json.loads(archive.read(_WRITTEN))
                return cls(
                    before={
                        path: archive.read(_BEFORE + path) if _BEFORE + path in names else None
                        for path in written
                    },
                    written={path: frozenset(found) for path, found in written.items()},
                )
        except (*DAMAGED, KeyError, ValueError, AttributeError) as error:
            raise Refusal(
                f"{file}: cannot be read, so nothing can be taken back ({error}); "
                "install megatron-core again (pip install --force-reinstall --no-deps)"
            ) from error


@dataclass(frozen=True, slots=True)
class Before:
    """An installation as a base: as it was before the series.

    Attributes:
        directory: What stands there now.
        before: What stood at some paths.
    """

    directory: Directory
    before: Mapping[str, bytes | None]

    @property
    def name(self) -> str:
        """The folder."""
        return self.directory.name

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file, or None."""
        return self.before[path] if path in self.before else self.directory.read(path)

    def has_directory(self, path: str) -> bool:
        """Whether a folder stands at ``path``."""
        return self.directory.has_directory(path)

    def paths(self) -> tuple[str, ...]:
        """The source files below ``megatron/``, sorted."""
        return tuple(p for p in self.directory.paths() if self.read(p) is not None)


class Installation:
    """A megatron-core that is installed in a site-packages folder.

    Args:
        root: The folder.
        dist_info: The name of the package's ``.dist-info`` there.
    """

    def __init__(self, root: Path, dist_info: str) -> None:
        self._root = root
        self._dist_info = dist_info
        self._directory = Directory(root)
        self._kept_path = f"{dist_info}/{KEPT}"
        self._record_path = f"{dist_info}/RECORD"
        self._scratch = root / dist_info / "series-new"

    @classmethod
    def at(cls, root: Path) -> "Installation | None":
        """The installation in a folder, or None for any other tree.

        Raises:
            Refusal: More than one is there.
        """
        found = sorted(folder.name for folder in root.glob("megatron_core-*.dist-info"))
        if len(found) > 1:
            raise Refusal(
                f"{root}: holds more than one megatron-core ({', '.join(found)}); "
                "uninstall it until none is left, and install one"
            )
        return cls(root, found[0]) if found else None

    def apply(self, carrier: Carrier) -> tuple[str, ...]:
        """Apply what the series changes below ``megatron/``, on what stood there before it.

        An installation that holds an older series, or part of one since a run was killed, comes to
        hold this one.

        Returns:
            The files that changed, those of the ``.dist-info`` left out.

        Raises:
            Refusal: An edit does not match, a file was changed by somebody since, or the files are
                not here; nothing is changed then.
        """
        kept = self._kept()
        self._check(kept)
        self._check_own_files(carrier)
        base = Before(self._directory, kept.before)
        files = {
            path: content
            for path, content in carrier.files(base, list(carrier.series)).items()
            if path.startswith("megatron/")
        }
        if not files:
            return self.undo() if kept.before else ()
        targets: dict[str, bytes | None] = {**kept.before, **files}
        record = base.read(self._record_path)
        if record is not None:
            targets[self._record_path] = self._listed(record, files)
        changed = self._differing(targets)
        check_places(self._root, changed)
        if changed:
            self._replace({self._kept_path: _keep(base, kept, targets).to_zip(), **changed})
        return self._ours(changed)

    def undo(self) -> tuple[str, ...]:
        """Bring back every byte that stood there before the series.

        Returns:
            The files that changed, those of the ``.dist-info`` left out.

        Raises:
            Refusal: Nothing is kept, or a file was changed by somebody since; nothing is changed
                then.
        """
        file = self._root / self._kept_path
        if not file.is_file() and self._scratch.is_dir():
            # An apply was killed before it changed anything.
            shutil.rmtree(self._scratch)
            return ()
        if not file.is_file():
            raise Refusal(f"{self._root}: carry applied no series there; nothing to take back")
        kept = self._kept()
        self._check(kept)
        changed = self._differing(kept.before)
        self._replace({**changed, self._kept_path: None})
        return self._ours(changed)

    def _kept(self) -> Kept:
        file = self._root / self._kept_path
        return Kept.from_zip(file) if file.exists() else Kept({}, {})

    def _check_own_files(self, carrier: Carrier) -> None:
        """Refuse where the package's files are elsewhere, and may serve other environments."""
        if not self._directory.has_directory("megatron/core"):
            raise Refusal(
                f"{self._root}: megatron-core is installed there, and its files are not, as after "
                "pip install -e; name the clone that they are in"
            )
        added = {path for pr in carrier.series for one in pr.commits for path in one.adds}
        for path in carrier.edit_files.keys() - added:
            if (self._root / path).is_symlink():
                raise Refusal(
                    f"{self._root / path}: is a link to a file that others may use; install "
                    "megatron-core with files of its own (uv pip install --link-mode copy)"
                )

    def _check(self, kept: Kept) -> None:
        """Refuse where a file is neither what it was nor what was written."""
        foreign = []
        for path, old in kept.before.items():
            found = self._directory.read(path)
            if found != old and (found is None or _digest(found) not in kept.written[path]):
                foreign.append(path)
        if foreign:
            raise Refusal(
                f"{self._root}: changed since the series was applied: {', '.join(foreign)}; "
                "put them back as they were, or install megatron-core again "
                "(pip install --force-reinstall --no-deps)"
            )

    def _differing(self, targets: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
        return {path: to for path, to in targets.items() if to != self._directory.read(path)}

    def _listed(self, record: bytes, files: Mapping[str, bytes]) -> bytes:
        """The RECORD with the series' files, and with what is kept, which cannot list its hash."""
        rows = read_record(self._root / self._record_path, record)
        rows |= {path: row(path, content) for path, content in files.items()}
        rows[self._kept_path] = (self._kept_path, "", "")
        return render_record(rows.values())

    def _replace(self, files: Mapping[str, bytes | None]) -> None:
        with scratch_folder(self._scratch) as scratch:
            replace_files(self._root, files, scratch)

    @staticmethod
    def _ours(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if path.startswith("megatron/"))


def apply_to_installed(carrier: Carrier, root: Path) -> tuple[str, ...] | None:
    """Apply the series to what pip installed in a folder.

    Returns:
        The files that changed; None if megatron-core is not installed there.

    Raises:
        Refusal: As for ``Installation.apply``, another run is at work there, or other packages are
            installed there, among which nothing could be taken back.
    """
    Directory(root)
    with lock_tree(root):
        installation = Installation.at(root)
        if installation is not None:
            return installation.apply(carrier)
        if root.resolve().name in _FOR_PACKAGES or any(root.glob("*.dist-info")):
            raise Refusal(
                f"{root}: packages are installed there, but megatron-core is not (there is no "
                "megatron_core-*.dist-info), so nothing could be taken back; install it again, or "
                "name a clone of Megatron-LM"
            )
        return None


def undo_in_place(root: Path) -> tuple[str, ...]:
    """Bring back what stood in a folder before the series.

    Raises:
        Refusal: megatron-core is not installed there, or as for ``Installation.undo``, or another
            run is at work there.
    """
    Directory(root)
    with lock_tree(root):
        installation = Installation.at(root)
        if installation is None:
            raise Refusal(
                f"{root}: megatron-core is not installed there, and nothing is kept of another "
                "tree; in a clone, git stash --include-untracked or git restore and git clean "
                "take it back"
            )
        return installation.undo()


def _keep(base: Before, kept: Kept, targets: Mapping[str, bytes | None]) -> Kept:
    """What is to be kept from now on."""
    return Kept(
        before={path: base.read(path) for path in targets},
        written={
            path: kept.written.get(path, frozenset())
            | ({_digest(text)} if text is not None else set())
            for path, text in targets.items()
        },
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
