"""The generated files of a merged tree, which are never merged: the allowlist, and the user's."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from carry.carried import Carrier
from carry.generated import Reads, ReadScanner, render
from merge_series.records import AllowlistChange
from merge_series.regenerate import Command, commands, make_again
from process_groups import ratchet
from stack.errors import Refusal
from stack.git_answers import Entry, Sha
from stack.repository import Repository

REGENERATED = "regenerated from the merged tree"
FILE_MODES = frozenset({"100644", "100755"})


class GeneratedFiles:
    """Makes the generated files of one repository.

    Args:
        repository: The fork.
        carrier: The series, which names those that the program makes.
        scanner: Scanner of the repository.
    """

    def __init__(self, repository: Repository, carrier: Carrier, scanner: ReadScanner) -> None:
        self._repository = repository
        self._carrier = carrier
        self._scanner = scanner

    @cached_property
    def how(self) -> Mapping[str, str]:
        """Every file that is made again, each with how, as a phrase."""
        how = dict.fromkeys(self._carrier.series.generated, REGENERATED)
        return how | {path: command.how for path, command in self._commands.items()}

    @cached_property
    def _commands(self) -> Mapping[str, Command]:
        """The user's commands, read once."""
        found = commands(self._repository)
        for path in self._carrier.series.generated:
            if path in found:
                raise Refusal(
                    f"{path}: the program makes this file itself; drop the setting "
                    f"(git config --remove-section merge-series.regenerate.{path})"
                )
        return found

    def make_again(
        self, tree: Sha, ours: Sha, theirs: Sha, merging: str
    ) -> tuple[Sha, AllowlistChange | None, dict[str, str]]:
        """Make the generated files of a merged tree again, also where git merged them cleanly.

        Args:
            tree: The merged tree; its generated files may be stale or hold conflict markers.
            ours: Head of the branch.
            theirs: The commit merged in.
            merging: The merge, as a refusal names it: ``expert-offsets: merging main``.

        Returns:
            The tree, what became of the allowlist, and the files in it that were not true, each
            with how it was made again.

        Raises:
            Refusal: A read that neither side's allowlist allows, or a command failed.
        """
        generated = self._carrier.series.generated
        wanted = (*self._commands, *generated)
        # One that a side removed, and the merge with it, is not made again.
        there = self._repository.entries(tree, *wanted) if wanted else {}
        stale = {}
        for path, command in self._commands.items():
            entry = there.get(path)
            if entry is None or entry.mode not in FILE_MODES:
                continue
            seed = self._repository.entry(ours, path) or entry
            made = make_again(self._repository, command, tree, Entry(entry.mode, seed.oid))
            if made != entry:
                tree = self._repository.change_tree(tree, {path: made})
                stale[path] = command.how
        listed = {path: there[path] for path in generated if path in there}
        if not listed:
            return tree, None, stale
        change, content = self._allowlist(tree, ours, theirs, merging)
        lists = [p for p, e in listed.items() if self._repository.read_blob(e.oid) != content]
        tree = self._repository.change_files(tree, dict.fromkeys(lists, content))
        return tree, change, stale | dict.fromkeys(lists, REGENERATED)

    def _allowlist(
        self, tree: Sha, ours: Sha, theirs: Sha, merging: str
    ) -> tuple[AllowlistChange, bytes]:
        """What a merge does to the allowlist, and its text.

        Raises:
            Refusal: A read that neither side's allowlist allows.
        """
        found = self._scanner.scan(tree)
        before = self._scanner.allowed(ours)
        added = _places(found) - _places(before)
        refused = ratchet.refused(found, before + self._brought(ours, theirs))
        if refused:
            reads = "; ".join(_describe(_places(refused)))
            recorded = "; ".join(_describe(added - _places(refused)))
            raise Refusal(
                f"{merging} gives reads of the global process groups that neither side allows: "
                f"{reads}; pass the collection there, or accept them on the branch "
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
