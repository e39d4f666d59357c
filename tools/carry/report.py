"""Whether the series lands on each release that the index offers, and on any tree, edit by edit."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from carry.age import OLDEST
from carry.bases import Base, ReleaseTree
from carry.carried import Carrier
from carry.checking import ABSENT, EditReport, check
from carry.index import Offer, fetch_offer
from carry.lacking import parts_lacking
from carry.releases import RELEASES
from stack.errors import ExitCode, Refusal

_AT_ONCE = 4

NEW_FILE = "new file"

YANKED = "yanked"
SUPERSEDED = "pre-release older than another or than a release"


@dataclass(frozen=True, slots=True)
class TreeReport:
    """The series on one tree.

    Attributes:
        name: The release's version, or the tree as it was named.
        offer: What the index offers of a release; None for another tree.
        reports: One a new file and one an edit, always in the same order; empty if there is nothing
            to look at.
        fault: Why nothing could be looked at, or empty.
    """

    name: str
    offer: Offer | None
    reports: tuple[EditReport, ...]
    fault: str

    @property
    def lands(self) -> bool:
        """Whether every new file and every edit does what it should."""
        return not self.fault and all(report.holds for report in self.reports)

    @property
    def counts(self) -> bool:
        """Whether the series should land: on any tree, and from the oldest recorded release on."""
        return self.offer is None or Version(self.offer.version) >= Version(OLDEST)

    @property
    def is_drift(self) -> bool:
        """Whether the series was seen not to land where it should."""
        return self.counts and not self.lands and not self.fault

    @property
    def lacking(self) -> tuple[str, ...]:
        """What a tree lacks that the series lands on, and what that means, as sentences."""
        return tuple(parts_lacking(self.name, self.reports)) if self.lands else ()

    @property
    def number_landing(self) -> int:
        """How many of the new files and edits the tree takes or has already."""
        return sum(report.holds and report.state != ABSENT for report in self.reports)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        release = None
        if self.offer is not None:
            release = {
                "version": self.offer.version,
                "prerelease": self.offer.is_prerelease,
                "recorded": self.offer.version in RELEASES,
                "wheels_for": list(self.offer.pythons),
                "wheel_for_this_python": self.offer.is_for_here,
            }
        return {
            "name": self.name,
            "release": release,
            "lands": self.lands,
            "lacking": list(self.lacking),
            "counts": self.counts,
            "fault": self.fault,
            "edits": [report.to_json() for report in self.reports],
        }


def choose(
    offers: Sequence[Offer], yanked: Iterable[str]
) -> tuple[tuple[Offer, ...], dict[str, str]]:
    """The releases to look at, and why others are left out, by version.

    Of the pre-releases the newest counts, as long as no release is newer: the next release will be
    like it.

    Args:
        offers: What the index offers, newest first.
        yanked: What it offers no more.
    """
    chosen = [offer for offer in offers[:1] if offer.is_prerelease]
    chosen += [offer for offer in offers if not offer.is_prerelease]
    others = (offer.version for offer in offers if offer not in chosen)
    return tuple(chosen), dict.fromkeys(yanked, YANKED) | dict.fromkeys(others, SUPERSEDED)


def report_releases(carrier: Carrier, offers: Sequence[Offer], cache: Path) -> Iterator[TreeReport]:
    """Look at releases, in their order; several are downloaded at a time."""

    def fetched(offer: Offer) -> Path | Refusal:
        try:
            return fetch_offer(offer, cache)
        except Refusal as refusal:
            return refusal

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for offer, wheel in zip(offers, pool.map(fetched, offers), strict=True):
            if isinstance(wheel, Refusal):
                yield TreeReport(offer.version, offer, (), str(wheel))
                continue
            try:
                base = ReleaseTree(offer.version, wheel)
                yield TreeReport(offer.version, offer, look_at(carrier, base), "")
            except Refusal as refusal:
                yield TreeReport(offer.version, offer, (), str(refusal))


def report_tree(carrier: Carrier, base: Base) -> TreeReport:
    """Look at a tree."""
    try:
        return TreeReport(base.name, None, look_at(carrier, base), "")
    except Refusal as refusal:
        return TreeReport(base.name, None, (), str(refusal))


def look_at(carrier: Carrier, base: Base) -> tuple[EditReport, ...]:
    """Every new file and every edit of the series on a base.

    Raises:
        Refusal: A file of the base is no Python.
    """
    return (*_new_files(carrier, base), *check(carrier, base))


def _new_files(carrier: Carrier, base: Base) -> Iterator[EditReport]:
    for pull_request in carrier.series:
        for commit in pull_request.commits:
            for path in commit.adds:
                edit = f"{pull_request.name}.{commit.number} {NEW_FILE}"
                found = base.read(path) is not None
                try:
                    carrier.added(base, path, commit)
                except Refusal as refusal:
                    yield EditReport(path, edit, "refused", 0, 1, str(refusal))
                else:
                    state = "already applied" if found else "applies"
                    yield EditReport(path, edit, state, 1, 1, "")


def exit_code(trees: Sequence[TreeReport]) -> ExitCode:
    """What a job that asks every night is told."""
    if any(tree.is_drift for tree in trees):
        return ExitCode.FOUND
    unseen = any(tree.counts and tree.fault for tree in trees)
    return ExitCode.FAILED if unseen else ExitCode.DONE
