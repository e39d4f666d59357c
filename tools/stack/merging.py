"""Two commits merged by ``git merge-tree``, without a worktree, and what git said about it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from stack.entry_merger import EntryMerger
from stack.errors import Refusal
from stack.git_answers import Entry, GitFailure, Sha, decode
from stack.merge_places import MergePlaces
from stack.repository import Repository
from stack.three_way import Contents
from stack.trees import FILE, TreeEntry

BASE, OURS, THEIRS = 1, 2, 3  # git's stages
SUBMODULE = "160000"

# The result must not depend on who runs the merge.
_PINNED = (
    "-c", "merge.conflictStyle=merge",
    "-c", "merge.directoryRenames=conflict",
    "-c", "merge.renames=true",
    "-c", "merge.renameLimit=7000",
    "-c", "merge.renormalize=false",
    "-c", "merge.default=",
    "-c", "diff.algorithm=histogram",
    "-c", "core.abbrev=no",
)  # fmt: skip

_CLEAN, _CONFLICTED = 0, 1
_ANY_STATUS = range(-64, 256)  # below 0 where a signal ended it: git 2.39 fails on some renames

# A line with which git opens or closes a conflict. The one between both sides proves nothing: it
# underlines headings as well.
CONFLICT_MARKER = re.compile(rb"^(?:<{7}|>{7})(?: .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Conflict:
    """A path that git could not merge.

    Attributes:
        path: Path in the tree.
        stages: What each side holds there, by stage (1 base, 2 ours, 3 theirs); a side that has no
            such file is absent. Empty for a conflict about a directory, which git writes no stage
            for.
        messages: What git said about the path, one sentence each.
        kinds: The kind of each message, such as ``CONFLICT (rename/delete)``, with the paths that
            it is about.
        driver: The merge driver that attributes give the path, where it is no text merge:
            ``binary``, or a name. Nothing may join the texts of its sides then.
    """

    path: str
    stages: dict[int, Entry] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    kinds: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    driver: str = ""

    @property
    def is_content(self) -> bool:
        """Whether all three sides hold the path as a file of one mode, so only text conflicts."""
        return set(self.stages) == {BASE, OURS, THEIRS} and (self.modes in ({"100644"}, {"100755"}))

    @property
    def modes(self) -> set[str]:
        """What the sides hold there, by the modes that git gives it."""
        return {entry.mode for entry in self.stages.values()}


@dataclass(frozen=True, slots=True)
class Merge:
    """What ``git merge-tree`` answered.

    Attributes:
        tree: The merged tree; files in conflict hold conflict markers in it.
        conflicts: Paths in conflict, sorted.
        sides: The commits that markers name, ours first; a pair for each merge made for this one.
    """

    tree: Sha
    conflicts: tuple[Conflict, ...]
    sides: tuple[tuple[Sha, Sha], ...]


def pinned(*arguments: str) -> tuple[str, ...]:
    """A git command line whose merges do not depend on the user's settings."""
    return (*_PINNED, *arguments)


class TreeMerger:
    """Merges commits of one repository into trees; several threads may do so at once.

    What the entries of the trees settle, and files that ``foresee`` was told of, cost no process;
    all else is left to git. The result is git's either way.

    Args:
        repository: The repository.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._store = repository.tree_store
        self._entries = EntryMerger(self._store, repository.known_merge_bases)
        self._places = MergePlaces(repository)

    def merge(self, ours: Sha, theirs: Sha, base: Sha | None = None) -> Merge:
        """Merge two commits into a tree.

        Args:
            ours: The one commit.
            theirs: The other.
            base: A commit whose tree is the merge base, wherever it stands; None for the base that
                the histories have. So can be merged what one commit has beyond any other.

        Raises:
            Refusal: The histories are unrelated, or an object is missing.
        """
        tree = self._entries.merge(ours, theirs, base)
        if tree is not None:
            return Merge(Sha(tree.hex()), (), ())
        if base is not None:
            # git 2.39 takes no base: two commits on it that hold the trees of these have it.
            for commit in (ours, theirs, base):
                self._repository.check_tree(commit)
            trees = self._repository.trees_of((ours, theirs))
            return self._by_git(*(self._repository.commit_nowhere(t, (base,)) for t in trees))
        # git 2.39 takes the tree of a commit for empty if it cannot read it, and merges that.
        for commit in (ours, theirs, *self._repository.merge_bases(ours, theirs)):
            self._repository.check_tree(commit)
        return self._by_git(ours, theirs)

    def foresee(self, contents: Iterable[Contents], commits: Iterable[Sha]) -> None:
        """Have git merge at once what merges to come will have to merge.

        It merges two commits whose files are these and none else, and leaves them to be pruned.

        Args:
            contents: Files that both sides will have changed.
            commits: What will be merged. Where one has attributes about merging, which go by a
                file's name, nothing is foreseen.
        """
        wanted = self._entries.unknown(contents)
        if not wanted or not all(self._places.of(commit).is_plain for commit in commits):
            return
        base, *sides = (
            self._store.store({b"%d" % at: TreeEntry(FILE, oid) for at, oid in enumerate(oids)})
            for oids in zip(*((wish.base, *wish.sides) for wish in wanted), strict=True)
        )
        start = self._repository.commit_nowhere(Sha(base.hex()), ())
        ours, theirs = (
            self._repository.commit_nowhere(Sha(side.hex()), (start,)) for side in sides
        )
        merge = self._by_git(ours, theirs)
        conflicts = {conflict.path for conflict in merge.conflicts}
        merged = self._store.entries(bytes.fromhex(merge.tree))
        for at, wish in enumerate(wanted):
            if str(at) not in conflicts:
                self._entries.learn(wish, merged[b"%d" % at].oid)

    def _by_git(self, ours: Sha, theirs: Sha) -> Merge:
        place = self._places.of(ours)
        command = pinned("merge-tree", "--write-tree", "-z", "--messages", ours, theirs)
        answer = self._repository.run(
            "-C", str(place.folder), *place.options, *command,
            environment=self._places.sides(place, ours, theirs), accept=_ANY_STATUS,
        )  # fmt: skip
        if "unrelated histories" in answer.stderr:
            raise Refusal(
                f"{ours[:12]} and {theirs[:12]} share no commit; nothing can be merged; check that "
                "--main and SERIES.md name branches of one history"
            )
        merged = parse_merge(answer.stdout)
        if merged is not None and answer.status == _CLEAN:
            # It also tells of conflicts that it has settled: of a file and a directory of one name
            # of which one moved away.
            return Merge(merged[0], (), ())
        # Status 1 also stands for a bad revision: only a tree id first makes it a conflict.
        if merged is None or answer.status != _CONFLICTED or not merged[1]:
            raise GitFailure(("merge-tree", ours, theirs), answer)
        tree, conflicts = merged
        modules = [c.path for c in conflicts if c.modes == {SUBMODULE}]
        if self._places.bring_submodules(place, modules):
            return self._by_git(ours, theirs)
        if not place.is_plain:
            drivers = self._places.drivers(place, [conflict.path for conflict in conflicts])
            conflicts = tuple(replace(c, driver=drivers.get(c.path, "")) for c in conflicts)
        return Merge(tree, conflicts, ((ours, theirs),))


def merge_trees(repository: Repository, ours: Sha, theirs: Sha, base: Sha | None = None) -> Merge:
    """Merge two commits into a tree, as ``TreeMerger.merge`` does.

    Raises:
        Refusal: As there.
    """
    return TreeMerger(repository).merge(ours, theirs, base)


def parse_merge(output: bytes) -> tuple[Sha, tuple[Conflict, ...]] | None:
    """Read the output of ``git merge-tree --write-tree -z --messages``; None if it is none.

    Returns:
        The merged tree, and the paths in conflict, sorted.

    The form: tree id, then ``mode oid stage TAB path`` a conflicted stage, an empty record, then a
    message each: count of paths, the paths, its kind, its text. Each record ends with a NUL. Advice
    about submodules, in words and lines, may follow.
    """
    records = output.split(b"\0")
    if len(records) < 2 or len(records[0]) not in (40, 64):  # noqa: PLR2004 - SHA-1 and SHA-256
        return None
    conflicts: dict[str, Conflict] = {}
    rest = iter(records[1:])
    for record in rest:
        if not record:
            break
        about, _, name = record.partition(b"\t")
        mode, oid, stage = about.decode().split(" ")
        path = decode(name)
        conflicts.setdefault(path, Conflict(path)).stages[int(stage)] = Entry(mode, Sha(oid))
    for record in rest:
        if not record.isdigit():
            break
        paths = [decode(next(rest)) for _ in range(int(record))]
        kind, text = decode(next(rest)), decode(next(rest)).strip()
        if kind.startswith("CONFLICT"):
            # A conflict about a directory's name comes as a message alone.
            for path in [path for path in paths if path in conflicts] or paths[:1]:
                conflict = conflicts.setdefault(path, Conflict(path))
                conflict.messages.append(text)
                conflict.kinds.append((kind, tuple(paths)))
    return Sha(records[0].decode()), tuple(conflicts[path] for path in sorted(conflicts))
