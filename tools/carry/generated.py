"""Files that are generated from the whole tree: the process-group allowlist.

A generated file is never merged and never edited; it is made again from the tree it describes.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from carry.bases import Base
from carry.kept_reads import KeptReads
from carry.scanned import SCANNED, python_blobs
from process_groups import allowlist
from process_groups.allowlist import ALLOWLIST_PATH
from process_groups.errors import AllowlistError, ScanError
from process_groups.reads import Read
from process_groups.scan import ScanCache, scan_tree
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.lazy import Lazy
from stack.repository import Repository

if TYPE_CHECKING:
    from process_groups import workers
else:
    workers = Lazy("process_groups.workers")

Reads = Counter[Read]

# To write what is kept takes about as long as to scan so many files.
_WORTH_KEEPING = 10


def check_regenerable(path: str, line: int) -> None:
    """Refuse a generated file that no regenerator of this program makes.

    Raises:
        Refusal: It names the line of SERIES.md.
    """
    if path != ALLOWLIST_PATH:
        raise Refusal(
            f"SERIES.md:{line}: nothing here regenerates {path}; "
            f"the one generated file known is {ALLOWLIST_PATH}"
        )


class ReadScanner:
    """Scans the trees of one repository for reads of the global process groups.

    Results are kept by blob, also for the next run, so a further tree costs only the files that
    differ.

    Args:
        repository: Where the trees are.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._kept = KeptReads(repository.common_directory / "merge_series" / "reads")
        self._cache: ScanCache | None = None
        self._size = 0
        self._latest: dict[tuple[str, str], None] = {}
        self._known: dict[Sha, Reads] = {}

    def scan(self, tree: Sha) -> Reads:
        """The reads in a tree or commit.

        Raises:
            Refusal: A file cannot be scanned; it is named.
        """
        if tree not in self._known:
            if self._cache is None:
                self._cache = self._kept.load()
                self._size = _size(self._cache)
            blobs = python_blobs(self._repository, tree)
            self._known[tree] = _scan(
                blobs, lambda oid: self._repository.read_blob(Sha(oid)), self._cache, tree[:12]
            )
            self._latest = dict.fromkeys(blobs.items()) | self._latest
            self._keep(self._cache)
        return self._known[tree]

    def _keep(self, cache: ScanCache) -> None:
        size = _size(cache)
        if self._repository.is_kept and size - self._size >= _WORTH_KEEPING:
            self._kept.save(cache, self._latest)
            self._size = size

    def allowed(self, commit: Sha) -> Reads:
        """The reads that a commit's allowlist allows; without one, all that its tree makes."""
        text = self._repository.read_file(commit, ALLOWLIST_PATH)
        if text is None:
            return self.scan(commit)
        try:
            return allowlist.parse(text.decode())
        except (UnicodeDecodeError, AllowlistError) as error:
            raise Refusal(f"{commit[:12]}:{ALLOWLIST_PATH}: {error}") from error


def scan_base(base: Base) -> Reads:
    """The reads in a base that is no repository's tree.

    Raises:
        Refusal: A file cannot be scanned; it is named.
    """
    below = SCANNED + "/"
    blobs = {p: p for p in base.paths() if p.startswith(below) and p.endswith(".py")}
    return _scan(blobs, lambda path: base.read(path) or b"", ScanCache(), base.name)


def render(reads: Reads) -> bytes:
    """The allowlist that allows exactly ``reads``."""
    return allowlist.render(reads).encode()


def _scan(
    blobs: Mapping[str, str],
    read_blob: Callable[[str], bytes],
    cache: ScanCache,
    name: str,
) -> Reads:
    try:
        workers.warm(blobs, read_blob, cache)
        return scan_tree(blobs, read_blob, cache)
    except ScanError as error:
        raise Refusal(f"{name}: {error}") from error


def _size(cache: ScanCache) -> int:
    """How many files a cache knows something of."""
    return len(cache.results) + len(cache.sound)
