"""Whether a command makes a generated file again after a merge, and from which text.

A tool that keeps what it finds, as those for lock files do, makes of its start what that says. So
it starts from git's merge of the file, which has the changes of both sides, and where they conflict
from what the merged side has: what main raised may not be taken back in silence. Nor may what the
branch had: of its lines those that are not made again are told.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from merge_series.made import FAILS, Made
from merge_series.not_kept import not_kept
from merge_series.regenerate import Command, CommandFailed, commands, run
from stack.errors import Refusal
from stack.git_answers import Entry, GitFailure, Sha
from stack.merging import BASE, OURS, THEIRS, Conflict, Merge
from stack.pathspecs import matching
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class Merging:
    """A merge whose generated files are made again.

    Attributes:
        branch: The branch it is on.
        source: What is merged: ``main`` or a PR's name.
        ours: Head of the branch.
        theirs: The commit merged in.
        bases: The commits that count as their merge bases.
        merged: What git made of it.
    """

    branch: str
    source: str
    ours: Sha
    theirs: Sha
    bases: tuple[Sha, ...]
    merged: Merge

    @property
    def name(self) -> str:
        """The merge, as a refusal names it: ``expert-offsets: merging main``."""
        return f"{self.branch}: merging {self.source}"

    def conflict(self, path: str) -> Conflict | None:
        """What git left in conflict at a path; None if nothing."""
        return next((one for one in self.merged.conflicts if one.path == path), None)


class CommandFiles:
    """Makes the files of one repository for which the user configured commands.

    Args:
        repository: The fork.
        told: Called with a sentence for each command that has run.
    """

    def __init__(self, repository: Repository, told: Callable[[str], None]) -> None:
        self._repository = repository
        self._told = told
        self._made = Made(repository)
        self._checked: set[tuple[str, str]] = set()

    @cached_property
    def commands(self) -> Mapping[str, Command]:
        """The user's commands by path, read once."""
        return commands(self._repository)

    def make_again(
        self, path: str, tree: Sha, start: Entry, merging: Merging
    ) -> tuple[Entry, str | None]:
        """Make a file again, unless one side has it, and all that it is made from, as the merge.

        Args:
            path: The file.
            tree: The merged tree as far as it is known.
            start: What the merge has there before anything is made again.
            merging: The merge.

        Returns:
            What the file is now, and how it was made; None where it was not.

        Raises:
            Refusal: The command failed, or could not be run.
        """
        command = self.commands[path]
        inputs = self._inputs(command, tree)
        self._check_inputs(command, tree, inputs, merging)
        conflict = merging.conflict(path)
        if conflict is not None:
            offered = conflict.stages.get(THEIRS)
        elif self._is_of_one_side(command, inputs, start, merging):
            return start, None
        else:
            offered = self._repository.entry(merging.merged.tree, path)
        ours, theirs = (
            self._repository.entry(side, path) for side in (merging.ours, merging.theirs)
        )
        whose = ""
        if offered is None or offered.oid != start.oid:
            whose = "a person"
        elif conflict is not None:
            whose = merging.source
        elif ours and theirs and start.oid not in {ours.oid, theirs.oid}:
            other = Entry(start.mode, theirs.oid)
            return self._from_merge(command, inputs, start, other, merging)
        how = command.how(whose)
        made = self._make(command, inputs, start, merging, how)
        if whose == merging.source:
            how = self._with_lost(how, command, start, made, merging)
        return made, how

    def _with_lost(
        self, how: str, command: Command, theirs: Entry, made: Entry, merging: Merging
    ) -> str:
        """How a file was made from the text of what is merged in, and what of the branch's went."""
        entry, path = self._repository.entry, command.path
        conflict = merging.conflict(path)
        if conflict is None:
            ours, bases = entry(merging.ours, path), [entry(base, path) for base in merging.bases]
        else:  # It knows of renames.
            ours, bases = conflict.stages.get(OURS), [conflict.stages.get(BASE)]
        if ours is None:
            return how
        old = [base.oid for base in bases if base is not None]
        lost = not_kept(self._repository, old, ours.oid, theirs.oid, made.oid)
        return "; ".join((how, *lost))

    def _check_inputs(
        self, command: Command, tree: Sha, inputs: Mapping[str, Entry], merging: Merging
    ) -> None:
        """Tell of a pathspec that matches nothing, once, and refuse where none matches."""
        setting = f"git config {command.setting('input')}"
        if command.inputs and not inputs:
            raise Refusal(
                f"{setting}: no file of the merged tree matches {' '.join(command.inputs)}; "
                "correct it"
            )
        for pathspec in command.inputs:
            if (command.path, pathspec) not in self._checked:
                self._checked.add((command.path, pathspec))
                if not matching(self._repository, tree, (pathspec,)):
                    self._told(f"{merging.branch}: no file matches {pathspec} ({setting})")

    def _is_of_one_side(
        self, command: Command, inputs: Mapping[str, Entry], start: Entry, merging: Merging
    ) -> bool:
        return any(
            self._repository.entry(side, command.path) == start
            and self._inputs(command, side) == inputs
            for side in (merging.theirs, merging.ours)
        )

    def _from_merge(
        self,
        command: Command,
        inputs: Mapping[str, Entry],
        start: Entry,
        theirs: Entry,
        merging: Merging,
    ) -> tuple[Entry, str]:
        """Make a file from git's merge of it, or from theirs where the command can't read that.

        What merges line by line need be no text of its kind: one side may have removed an entry
        that is needed by one that the other side added.
        """
        plain, from_theirs = command.how(), command.how(merging.source)
        key = _key(command, self._place(command, inputs, start))
        fails = self._made.find(key) == FAILS
        if not fails:
            with suppress(CommandFailed):
                return self._make(command, inputs, start, merging, plain), plain
        made = self._make(command, inputs, theirs, merging, from_theirs)
        if not fails:
            # Only now is it known that it was the text.
            self._made.keep(key, command.path, FAILS)
        return made, self._with_lost(from_theirs, command, theirs, made, merging)

    def _make(
        self,
        command: Command,
        inputs: Mapping[str, Entry],
        start: Entry,
        merging: Merging,
        how: str,
    ) -> Entry:
        """Run a command, or take what it made of the same before."""
        place = self._place(command, inputs, start)
        key = _key(command, place)
        blob = self._made.find(key)
        if not blob:
            begun = time.monotonic()
            content = run(self._repository, command, place)
            took = time.monotonic() - begun
            (blob,) = self._repository.write_blobs([content])
            self._made.keep(key, command.path, blob)
            self._told(f"{merging.branch}: {command.path} {how} in {took:.1f} s")
        return Entry(start.mode, Sha(blob))

    def _place(self, command: Command, inputs: Mapping[str, Entry], start: Entry) -> Sha:
        """The tree in which a command runs."""
        return self._repository.change_tree(None, {**inputs, command.path: start})

    def _inputs(self, command: Command, tree: Sha) -> Mapping[str, Entry]:
        """The files of a tree that a file is made from: where none are declared, all others."""
        try:
            files = matching(self._repository, tree, command.inputs)
        except GitFailure as failure:
            said = failure.answer.stderr.strip().removeprefix("fatal: ")
            raise Refusal(f"git config {command.setting('input')}: {said}; correct it") from failure
        files.pop(command.path, None)
        return files


def _key(command: Command, place: Sha) -> str:
    """What stands for all that a result comes from, as far as it is known."""
    parts = (command.path, command.arguments, command.programs, place)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
