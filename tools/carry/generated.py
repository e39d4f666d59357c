"""Files that are generated from the whole tree: the process-group allowlist.

A generated file is never merged and never edited; it is made again from the tree it describes.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from carry.bases import Base
from process_groups import allowlist
from process_groups.allowlist import ALLOWLIST_PATH
from process_groups.errors import AllowlistError, ScanError
from process_groups.reads import Read
from process_groups.scan import ScanCache, scan_tree
from stack.errors import Refusal
from stack.repository import Repository, Sha

Reads = Counter[Read]

_SCANNED = "megatron/core"


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

    Results are kept by blob, so a further tree costs only the files that differ.

    Args:
        repository: Where the trees are.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._cache = ScanCache()
        self._known: dict[Sha, Reads] = {}

    def scan(self, tree: Sha) -> Reads:
        """The reads in a tree or commit.

        Raises:
            Refusal: A file cannot be scanned; it is named.
        """
        if tree not in self._known:
            entries = self._repository.entries(tree, _SCANNED)
            blobs = {path: str(e.oid) for path, e in entries.items() if path.endswith(".py")}
            self._known[tree] = _scan(
                blobs, lambda oid: self._repository.read_blob(Sha(oid)), self._cache, tree[:12]
            )
        return self._known[tree]

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
    below = _SCANNED + "/"
    blobs = {p: p for p in base.paths() if p.startswith(below) and p.endswith(".py")}
    return _scan(blobs, lambda path: base.read(path) or b"", None, base.name)


def render(reads: Reads) -> bytes:
    """The allowlist that allows exactly ``reads``."""
    return allowlist.render(reads).encode()


def _scan(
    blobs: Mapping[str, str],
    read_blob: Callable[[str], bytes],
    cache: ScanCache | None,
    name: str,
) -> Reads:
    try:
        return scan_tree(blobs, read_blob, cache)
    except ScanError as error:
        raise Refusal(f"{name}: {error}") from error
