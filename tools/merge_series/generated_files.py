"""The generated files of a merged tree, which are never merged: the allowlist, and the user's."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from carry.carried import Carrier
from carry.generated import Reads, ReadScanner, render
from merge_series.command_files import CommandFiles, Merging
from merge_series.records import AllowlistChange
from merge_series.regenerate import SECTION, commands
from process_groups import ratchet
from stack.errors import Refusal
from stack.git_answers import Entry, Sha
from stack.repository import Repository

REGENERATED = "regenerated from the merged tree"
FILE_MODES = frozenset({"100644", "100755"})


@dataclass(frozen=True, slots=True)
class MadeAgain:
    """A merged tree with its generated files made again.

    Attributes:
        tree: The tree.
        allowlist: What became of the allowlist; None where the tree has none.
        how: How each file was made that was, as a phrase.
        stale: Those of them that were not true before.
    """

    tree: Sha
    allowlist: AllowlistChange | None
    how: Mapping[str, str]
    stale: tuple[str, ...]


def generated_paths(repository: Repository, carrier: Carrier) -> frozenset[str]:
    """Every file that is made again after a merge, by the program or by a command of the user's.

    Raises:
        Refusal: A setting has no meaning, or is for a file that the program makes.
    """
    generated, by_command = carrier.series.generated, commands(repository)
    for path in generated:
        if path in by_command:
            raise Refusal(
                f"{path}: the program makes this file itself; drop the setting "
                f"(git config --remove-section {SECTION}{path})"
            )
    return frozenset((*generated, *by_command))


class GeneratedFiles:
    """Makes the generated files of one repository.

    Args:
        repository: The fork.
        carrier: The series, which names those that the program makes.
        scanner: Scanner of the repository.
        told: Called with a sentence for each command that has run.
    """

    def __init__(
        self,
        repository: Repository,
        carrier: Carrier,
        scanner: ReadScanner,
        told: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._repository = repository
        self._carrier = carrier
        self._scanner = scanner
        self._commands = CommandFiles(repository, told)

    @cached_property
    def paths(self) -> frozenset[str]:
        """Every file that is made again, as ``generated_paths`` has them."""
        return generated_paths(self._repository, self._carrier)

    def will(self, path: str, source: str) -> str:
        """How a file that conflicts will be made again when ``source`` is merged, as a phrase.

        It is what a person reads of a merge that waits for them.
        """
        command = self._commands.commands.get(path)
        how = REGENERATED if command is None else command.how(source)
        return f"will be {how} with --continue"

    def make_again(self, tree: Sha, merging: Merging) -> MadeAgain:
        """Make the generated files of a merged tree again, also where git merged them cleanly.

        Each may be made from the others, so it is begun anew until none changes any more.

        Args:
            tree: The merged tree; its generated files may be stale, but hold no conflict markers.
            merging: The merge.

        Raises:
            Refusal: A read that neither side's allowlist allows, a command failed, or files do not
                come to rest.
        """
        files = self._there(tree)
        now, how, change = files, dict[str, str | None](), None
        # In the worst order each round gets one more file right; the last shows that all are.
        for _ in range(len(files) + 1):
            before = now
            for path, start in files.items():
                if path in self._commands.commands:
                    made, how[path] = self._commands.make_again(path, tree, start, merging)
                else:
                    change, content = self._allowlist(tree, merging)
                    how[path] = REGENERATED
                    made = start
                    if self._repository.read_blob(start.oid) != content:
                        (oid,) = self._repository.write_blobs([content])
                        made = Entry(start.mode, oid)
                if made != now[path]:
                    tree = self._repository.change_tree(tree, {path: made})
                    now = {**now, path: made}
            if now == before or len(files) == 1:
                break
        else:
            moving = ", ".join(path for path in files if now[path] != before[path])
            raise Refusal(
                f"{merging.name}: generated files do not come to rest, since each is made from "
                f"another: {moving}; say what each is made from (git config --add {SECTION}PATH"
                ".input PATHSPEC)"
            )
        stale = tuple(path for path in files if now[path] != files[path])
        return MadeAgain(tree, change, {p: h for p, h in how.items() if h}, stale)

    def _there(self, tree: Sha) -> dict[str, Entry]:
        """The generated files of a tree: one that a side removed is not made again."""
        # The allowlist first: it costs least, and may be what the merge is refused for.
        wanted = sorted(self.paths, key=lambda path: (path in self._commands.commands, path))
        there = self._repository.entries(tree, *wanted) if wanted else {}
        return {p: there[p] for p in wanted if p in there and there[p].mode in FILE_MODES}

    def _allowlist(self, tree: Sha, merging: Merging) -> tuple[AllowlistChange, bytes]:
        """What a merge does to the allowlist, and its text.

        Raises:
            Refusal: A read that neither side's allowlist allows.
        """
        found = self._scanner.scan(tree)
        before = self._scanner.allowed(merging.ours)
        added = _places(found) - _places(before)
        refused = ratchet.refused(found, before + self._brought(merging.ours, merging.theirs))
        if refused:
            reads = "; ".join(_describe(_places(refused)))
            recorded = "; ".join(_describe(added - _places(refused)))
            raise Refusal(
                f"{merging.name} gives reads of the global process groups that neither side "
                f"allows: {reads}; pass the collection there, or accept them on the branch "
                "(process_groups refresh --accept FILE:SCOPE) and commit, then sync again"
                + (f". Allowed, since what is merged brings them: {recorded}" if recorded else "")
            )
        change = AllowlistChange(
            before.total(),
            found.total(),
            tuple(_describe(added)),
            (_places(before) - _places(found)).total(),
        )
        return change, render(found)

    def _brought(self, ours: Sha, theirs: Sha) -> Reads:
        """The reads that the merged side allows beyond all common ancestors: what it added."""
        known: Reads = self._scanner.allowed(theirs)
        for base in self._repository.merge_bases(ours, theirs):
            known = ratchet.added(known, self._scanner.allowed(base))
        return known


def _places(reads: Reads) -> Counter[tuple[str, str, str]]:
    """The reads without their kinds: one that only became milder is neither new nor gone."""
    places: Counter[tuple[str, str, str]] = Counter()
    for read, count in reads.items():
        places[read.path, read.scope, read.function] += count
    return places


def _describe(places: Counter[tuple[str, str, str]]) -> list[str]:
    """Each read as a person reads it: ``path: scope: function``, with a count above one."""
    return [
        ": ".join(place) + (f" (x{count})" if count > 1 else "")
        for place, count in sorted(places.items())
    ]
