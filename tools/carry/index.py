"""What the package index offers of megatron-core, asked through pip and so with pip's settings.

The wheels that are recorded are in ``carry.releases``; here are all the others: those of a release
that nobody recorded yet, and those for another interpreter. Nothing of them is run.
"""

import json
import re
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from carry.pip import run_pip
from carry.releases import RELEASES, check_wheel, fetch_release
from stack.console import people
from stack.errors import Refusal

# CPython 3.8 is the oldest that a release was made for; one after the running is early enough.
_PYTHONS = tuple(f"3.{minor}" for minor in range(8, sys.version_info.minor + 3))
# Every glibc that a wheel for Linux may ask for; pip takes a wheel for any of them.
_PLATFORMS = tuple(
    f"{glibc}_{machine}"
    for machine in ("x86_64", "aarch64")
    for glibc in ("manylinux2014", *(f"manylinux_2_{n}" for n in range(17, 50)))
)
_WHEELS = "--only-binary=:all:"
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Offer:
    """A release that the index offers.

    Attributes:
        version: Such as ``0.19.0``.
        pythons: The CPython versions that have a wheel for Linux, oldest first; empty if there is
            none.
        is_for_here: Whether there is one for the interpreter and platform that run this.
    """

    version: str
    pythons: tuple[str, ...]
    is_for_here: bool

    @property
    def is_prerelease(self) -> bool:
        """Whether it comes before a release: an alpha, a candidate or a build of a day."""
        return Version(self.version).is_prerelease


def list_offers() -> tuple[Offer, ...]:
    """The releases that the index offers, newest first; none that is yanked.

    Raises:
        Refusal: pip reaches no index that has megatron-core.
    """
    questions = [
        ["--ignore-requires-python"],  # source archives as well
        [_WHEELS],
        *([_WHEELS, *_target(python)] for python in _PYTHONS),
    ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        every, here, *by_python = pool.map(_versions, questions)
    versions = set(every).union(here, *by_python)
    if not versions:
        raise Refusal(
            "megatron-core: pip reached no package index that has it; check the network and pip's "
            "settings (pip config list)"
        )
    return tuple(
        Offer(
            version,
            tuple(p for p, has in zip(_PYTHONS, by_python, strict=True) if version in has),
            version in here,
        )
        for version in sorted(versions, key=Version, reverse=True)
    )


def list_yanked() -> tuple[str, ...]:
    """The versions that the makers withdrew, which pip takes only for one who insists.

    pip lists them where it finds none to take.
    """
    none = ("--no-deps", "--ignore-requires-python", "--pre", "megatron-core<0.dev0")
    found = re.search(
        r"Ignored the following yanked versions: (.*)", run_pip("download", *none).stderr
    )
    return tuple(found[1].strip().split(", ")) if found else ()


def fetch_offer(offer: Offer, cache: Path) -> Path:
    """A wheel of a release, for this interpreter or else another: their sources are the same.

    Raises:
        Refusal: It has no wheel or cannot be had.
    """
    if offer.version in RELEASES:
        return fetch_release(offer.version, cache)
    found = sorted(_folder(cache).glob(f"megatron_core-{offer.version}-*.whl"))
    if found:
        return found[-1]
    if offer.is_for_here:
        return _download(offer.version, cache, [])
    if not offer.pythons:
        raise Refusal(f"megatron-core {offer.version}: the index has no wheel of it")
    return _download(offer.version, cache, _target(offer.pythons[-1]))


def fetch_own_wheel(version: str, cache: Path, python: Path) -> Path:
    """A release's own wheel for an interpreter and the platform it runs on.

    Args:
        version: The release.
        cache: Folder that downloads are kept in.
        python: The interpreter; it needs no pip of its own.

    Raises:
        Refusal: There is no such interpreter or no such wheel, it cannot be had, or it is recorded
            and not the one recorded.
    """
    if not python.exists():
        raise Refusal(f"{python}: is not there; name a Python interpreter by its path")
    kept = ["--no-index", f"--find-links={cache}", f"--find-links={_folder(cache)}"]
    try:
        wheel = _download(version, cache, kept, python)
    except Refusal:
        people.print(f"Fetching the wheel of megatron-core {version} for {python}", soft_wrap=True)
        wheel = _download(version, cache, [], python)
    check_wheel(version, wheel)
    return wheel


def _target(python: str) -> list[str]:
    platforms = [f"--platform={platform}" for platform in _PLATFORMS]
    return ["--python-version", python, "--implementation=cp", *platforms]


def _folder(cache: Path) -> Path:
    """Where wheels are kept that are not recorded."""
    return cache / "offered"


def _versions(options: Sequence[str]) -> list[str]:
    answer = run_pip("index", "versions", "megatron-core", "--json", "--pre", *options)
    if answer.returncode == 0:
        found: list[str] = json.loads(answer.stdout)["versions"]
        return found
    if "No matching distribution found" in answer.stderr:
        return []
    raise Refusal(
        f"megatron-core: pip index failed: {_last_line(answer.stderr)}; check the network and "
        "pip's settings (pip config list)"
    )


def _download(
    version: str, cache: Path, options: Sequence[str], python: Path | None = None
) -> Path:
    folder = _folder(cache)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # In the cache's own file system, so that the move below is atomic.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as new:
            # Three equals signs: 0.19.2+series.N is not meant.
            answer = run_pip(
                "download", "--no-deps", _WHEELS, *options, "-d", new,
                f"megatron-core==={version}", scratch=Path(new), python=python,
            )  # fmt: skip
            if answer.returncode != 0:
                raise Refusal(
                    f"megatron-core {version}: pip finds no wheel for this interpreter and "
                    f"platform ({_last_line(answer.stderr)}); carry report lists the releases "
                    "and the interpreters they have wheels for"
                )
            wheel = next(Path(new).glob("*.whl"), None)
            if wheel is None:
                raise Refusal(
                    f"{python or sys.executable}: pip ran under it and fetched nothing; name a "
                    "Python interpreter"
                )
            for kept in (cache / wheel.name, folder / wheel.name):
                if kept.exists():
                    return kept
            return wheel.replace(folder / wheel.name)
    except OSError as error:
        raise Refusal(
            f"{folder}: cannot keep downloads there: {error.strerror}; "
            "set MEGATRON_SERIES_CACHE to a folder that can be written"
        ) from error


def _last_line(text: str) -> str:
    lines = ["no message", *(line.strip() for line in text.splitlines() if line.strip())]
    return lines[-1].removeprefix("ERROR: ")
