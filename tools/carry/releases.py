"""megatron-core releases: the wheels that are known, where they are kept, and what they hold.

Only a recorded release is used, and only the very wheel that was recorded, so a branch built on it
is the same on any machine. To record another release, add its line to ``RELEASES``.
"""

import hashlib
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from carry.archives import DAMAGED
from carry.pip import run_pip
from stack.console import people
from stack.errors import Refusal


@dataclass(frozen=True, slots=True)
class Release:
    """One release on PyPI.

    Attributes:
        python: The CPython version whose wheel is taken; not every release has each.
        sha256: Of that wheel for x86-64 Linux.
    """

    python: str
    sha256: str


RELEASES: Mapping[str, Release] = {
    "0.16.1": Release("3.11", "38f6bef63cd4ebc4c39c1eccbaf578596accba5c47d012faffa0670913aec131"),
    "0.17.1": Release("3.12", "6dd0826489ee70a791e38612b25e914c4a18b0b074f2282353f235ee96273cf2"),
    "0.18.2": Release("3.12", "c2717b84079bf0bad1151525533a251870d1a86201f8c0702e0b5a6d6b5594f1"),
    "0.19.0": Release("3.12", "ed4f503a4a6944599857c4f702f3a33039656fe119309119fc5bb8cba8a38240"),
    "0.19.2": Release("3.12", "8e3e486f13f559450415b9b9dc0ff3331a0bb83dd154553f7f350a75ff9c42b5"),
}

# One platform for every machine: the wheels differ in compiled files only, which are left out.
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_24_x86_64")
_COMPILED = frozenset({".so", ".pyd", ".pyc"})


def default_cache() -> Path:
    """Where downloads are kept: ``$MEGATRON_SERIES_CACHE``, else the user's cache folder."""
    if chosen := os.environ.get("MEGATRON_SERIES_CACHE"):
        return Path(chosen)
    parent = os.environ.get("XDG_CACHE_HOME")
    return (Path(parent) if parent else Path.home() / ".cache") / "megatron-series"


def fetch_release(version: str, cache: Path, releases: Mapping[str, Release] = RELEASES) -> Path:
    """The wheel of a release, downloaded with pip unless ``cache`` holds it.

    Args:
        version: Such as ``0.19.0``.
        cache: Folder the wheel is kept in; made if missing.
        releases: The recorded releases.

    Raises:
        Refusal: The release is not recorded, cannot be had, or is not the recorded wheel.
    """
    if version not in releases:
        raise Refusal(
            f"megatron-core {version}: not a recorded release (recorded: {', '.join(releases)}); "
            "to record it, add a line to RELEASES in tools/carry/releases.py: "
            f'"{version}": Release("3.12", "<sha256 of its wheel>"), which pip hash prints; carry '
            "report and carry wheel need no record"
        )
    release = releases[version]
    for wheel in sorted(cache.glob(f"megatron_core-{version}-*.whl")):
        if (found := _sha256(wheel)) != release.sha256:
            raise Refusal(
                f"{wheel}: its sha256 is {found}, recorded is {release.sha256}; "
                "delete the file, and the next run downloads it again"
            )
        return wheel
    people.print(f"Fetching megatron-core {version}")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # In the cache's own file system, so that the move below is atomic.
        with tempfile.TemporaryDirectory(dir=cache, prefix=".download-") as folder:
            wheel = _download(version, release, Path(folder), cache)
            return wheel.replace(cache / wheel.name)
    except OSError as error:
        raise Refusal(
            f"{cache}: cannot keep downloads there: {error.strerror}; "
            "set MEGATRON_SERIES_CACHE to a folder that can be written"
        ) from error


def read_wheel(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel below ``megatron/`` by path, sorted; compiled files are left out.

    Raises:
        Refusal: The file is no wheel.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = sorted(name for name in archive.namelist() if is_source(name))
            return {name: archive.read(name) for name in names}
    except DAMAGED as error:
        raise Refusal(f"{wheel}: not a wheel ({error}); delete it and fetch it again") from error


def check_wheel(version: str, wheel: Path, releases: Mapping[str, Release] = RELEASES) -> None:
    """Refuse a wheel that is recorded, by its interpreter and platform, with other bytes.

    A wheel for another interpreter or platform is none that is recorded.

    Raises:
        Refusal: Its SHA-256 is another.
    """
    release = releases.get(version)
    if release is None:
        return
    tag = f"-cp{release.python.replace('.', '')}-"
    is_recorded = tag in wheel.name and any(name in wheel.name for name in _PLATFORMS)
    if is_recorded and (found := _sha256(wheel)) != release.sha256:
        raise Refusal(
            f"{wheel}: its sha256 is {found}, recorded is {release.sha256}; "
            "delete the file, and the next run downloads it again"
        )


def is_source(path: str) -> bool:
    """Whether a path is a file below ``megatron/`` that belongs to the source tree."""
    pure = PurePosixPath(path)
    return (
        path.startswith("megatron/")
        and not path.endswith("/")
        and pure.suffix not in _COMPILED
        and "__pycache__" not in pure.parts
    )


def _download(version: str, release: Release, folder: Path, cache: Path) -> Path:
    platforms = (part for platform in _PLATFORMS for part in ("--platform", platform))
    answer = run_pip(
        "download", "--no-deps", "--only-binary=:all:",
        "--python-version", release.python, "--implementation", "cp", *platforms,
        "-d", str(folder), f"megatron-core==={version}", scratch=folder,
    )  # fmt: skip
    if answer.returncode != 0:
        raise Refusal(_explain(version, release, answer.stderr, cache))
    (wheel,) = folder.glob("*.whl")
    if (found := _sha256(wheel)) != release.sha256:
        raise Refusal(
            f"megatron-core {version}: pip downloaded {wheel.name} with sha256 {found}, "
            f"recorded is {release.sha256}; see which package index pip uses (pip config list)"
        )
    return wheel


def _explain(version: str, release: Release, stderr: str, cache: Path) -> str:
    seen = re.search(r"\(from versions: (.*)\)", stderr)
    if seen and seen[1] == "none":
        return (
            f"megatron-core {version}: pip reached no package index that has megatron-core; "
            f"check the network and pip's settings, or put the wheel into {cache}"
        )
    if seen:
        return (
            f"megatron-core {version}: the package index has no such release for CPython "
            f"{release.python} on x86-64 Linux; recorded are {', '.join(RELEASES)}"
        )
    said = ["no message", *(line.strip() for line in stderr.splitlines() if line.strip())]
    return f"megatron-core {version}: pip download failed: {said[-1]}"


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
