"""A wheel of a release with the series applied, the same byte for byte wherever it is made.

https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""

import hashlib
import io
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from carry.archives import DAMAGED
from carry.bases import ReleaseTree
from carry.carried import Carrier
from carry.checking import check
from carry.lacking import parts_lacking
from carry.metadata import describe_series, with_series
from carry.record import render_record, row
from stack.errors import Refusal
from stack.model import SeriesCommit

_FILE = 0o100644
_PROGRAM = 0o100755
_ANY_EXECUTE = 0o111 << 16
_START_OF_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_SCALE = 1_000_000
# megatron/ is a namespace with folders only. Uninstalling, pip removes a folder that held a file of
# the wheel, and would leave this one behind, which Python can still import.
_LIST = "megatron/series.md"


@dataclass(frozen=True, slots=True)
class SeriesWheel:
    """A wheel that was made.

    Attributes:
        name: Its file name.
        version: Its version, such as ``0.19.2+series.9123456``.
        content: Its bytes.
        changed: The paths that the series changed or added.
        lacking: Sentences on what it lacks of a PR, and what that means for whom.
    """

    name: str
    version: str
    content: bytes
    changed: tuple[str, ...]
    lacking: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Member:
    content: bytes
    is_program: bool = False


def build_wheel(carrier: Carrier, version: str, release_wheel: Path) -> SeriesWheel:
    """The wheel of a release with what the series changes in its packages.

    Args:
        carrier: The series.
        version: The release.
        release_wheel: Its own wheel; everything that the series does not change is kept,
            compiled files included.

    Raises:
        Refusal: An edit does not match, the release holds the whole series already, or the file is
            no wheel of that release.
    """
    members = _read(release_wheel)
    base = ReleaseTree(version, release_wheel)
    files = {
        path: content
        for path, content in carrier.files(base, list(carrier.series)).items()
        if path.startswith("megatron/")
    }
    if not files:
        raise Refusal(f"{base.name} holds the whole series already; install it as it is")
    commits = _commits_of(carrier, files)
    lacking = tuple(parts_lacking(base.name, check(carrier, base)))
    held = {number for number, _ in commits}
    description = describe_series(carrier.series, version, held, lacking)
    new_version = f"{version}+series.{_number(len(commits), files, description)}"

    own = f"megatron_core-{version}"
    metadata = members.pop(f"{own}.dist-info/METADATA", None)
    if metadata is None or not release_wheel.name.startswith(f"{own}-"):
        raise Refusal(f"{release_wheel}: no wheel of {base.name}; delete it and run again")
    members.pop(f"{own}.dist-info/RECORD", None)
    new = f"megatron_core-{new_version}"
    whole = {
        new + path.removeprefix(own) if path.startswith(f"{own}.") else path: member
        for path, member in members.items()
    }
    whole |= {
        path: _Member(content, path in whole and whole[path].is_program)
        for path, content in files.items()
    }
    text = with_series(metadata.content, carrier.series, new_version, description)
    whole[f"{new}.dist-info/METADATA"] = _Member(text)
    whole[_LIST] = _Member(description.encode())
    name = new + release_wheel.name.removeprefix(own)
    content = _pack(whole, f"{new}.dist-info/RECORD")
    return SeriesWheel(name, new_version, content, tuple(files), lacking)


def _commits_of(carrier: Carrier, files: Collection[str]) -> list[tuple[int, int]]:
    """The PR and number of each series commit that brings something into ``files``."""

    def brings(pull_request: int, commit: SeriesCommit) -> bool:
        layer = (pull_request, commit.number)
        return any(
            path in commit.adds
            or (path in carrier.edit_files and layer in carrier.edit_files[path].layers)
            for path in files
        )

    return [
        (pull_request.number, commit.number)
        for pull_request in carrier.series
        for commit in pull_request.commits
        if brings(pull_request.number, commit)
    ]


def _number(commits: int, files: Mapping[str, bytes], description: str) -> int:
    """N of ``+series.N``: how many commits, and six digits of a digest of what they bring.

    A longer series is a later version, and another content is another version, which pip installs
    over the one that is there.
    """
    digest = hashlib.sha256(description.encode())
    for path in sorted(files):
        digest.update(f"{path}\0{hashlib.sha256(files[path]).hexdigest()}\n".encode())
    return commits * _SCALE + int.from_bytes(digest.digest()) % _SCALE


def _read(wheel: Path) -> dict[str, _Member]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return {
                about.filename: _Member(
                    archive.read(about), bool(about.external_attr & _ANY_EXECUTE)
                )
                for about in archive.infolist()
                if not about.is_dir()
            }
    except DAMAGED as error:
        raise Refusal(f"{wheel}: not a wheel ({error}); delete it and fetch it again") from error


def _pack(members: Mapping[str, _Member], record: str) -> bytes:
    """A zip archive of the members and their RECORD.

    Nothing of the machine gets in: entries are sorted, times and permissions fixed. They are not
    compressed, since what a compressor makes differs from one zlib to the next.
    """
    rows = [row(path, members[path].content) for path in sorted(members)]
    listed = _Member(render_record([*rows, (record, "", "")]))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for path, member in sorted({**members, record: listed}.items()):
            about = zipfile.ZipInfo(path, _START_OF_ZIP_TIME)
            about.create_system = 3  # Unix, whose permissions these are, wherever this runs
            about.external_attr = (_PROGRAM if member.is_program else _FILE) << 16
            archive.writestr(about, member.content)
    return content.getvalue()
