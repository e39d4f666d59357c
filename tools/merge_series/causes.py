"""The commits by which the two sides of a merge came to conflict, whatever branch brought them.

Those count that one side has and the other has not. Of a merge only what none of its parents has
counts: all else is what other commits did.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from merge_series import places
from merge_series.text_merge import Hunk, lines_of
from stack.git_answers import Answer, Sha, decode
from stack.merging import BASE, OURS, THEIRS, Conflict
from stack.repository import Repository

BRANCH, MAIN = "the branch", "main"

_NAMED = 3  # commits of a side
_LOOKED_AT = 100  # places of a file
_FORMAT = "--format=%x00%H%x00%P%x00%s%x00"
_COMMIT = re.compile(rb"\0([0-9a-f]+)\0([0-9a-f ]*)\0([^\0]*)\0")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--text")
_PR = re.compile(r"#[1-9][0-9]*")
_NOT_THERE = 128


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that did something to a path.

    Attributes:
        sha: Its id.
        is_merge: Whether it has several parents.
        subject: First paragraph of its message.
        added: Lines that none of its parents has, where it was looked at.
        removed: Lines that a parent has and it has not.
        dropped: Lines that all parents have and it has not.
    """

    sha: Sha
    is_merge: bool
    subject: str
    added: frozenset[bytes]
    removed: frozenset[bytes]
    dropped: frozenset[bytes]

    def __str__(self) -> str:
        """The commit as a person knows it."""
        return f"{'merge ' if self.is_merge else ''}{self.sha[:12]} '{self.subject}'"


@dataclass(frozen=True, slots=True)
class Did:
    """A side by the commits with which it did something.

    Attributes:
        told: They, as people name them; the side's name where none is known.
        count: How many they are.
    """

    told: str
    count: int

    def __str__(self) -> str:
        """The side as a sentence names it."""
        return self.told


@dataclass(frozen=True, slots=True)
class Cause:
    """What both sides did to a path.

    Attributes:
        told: It as a sentence.
        by: The commits of a side, by its stage, as a conflict marker names them.
    """

    told: str
    by: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of a merge.

    Attributes:
        repository: The fork.
        commits: Their commits, by stage.
        names: What they are called, by stage: ``the branch``, ``main`` or ``#1``.
        main: The commit of main that is synced with.
        heads: The heads of what they hold, dependencies first, by what it is called.
    """

    repository: Repository
    commits: Mapping[int, Sha]
    names: Mapping[int, str]
    main: Sha
    heads: Mapping[str, Sha]

    def did(self, stage: int, path: str) -> Did:
        """A side by the commits with which it changed a path."""
        return self._told(stage, self._that_did(stage, path))

    def ended(self, stage: int, path: str) -> Did:
        """A side by the commit with which it removed a path, or moved it away."""
        return self._told(stage, self._changed(stage, path)[:1])

    def lines(self, conflict: Conflict, left: Collection[Hunk] | None) -> Cause:
        """What changed the lines in conflict of a file that all sides have.

        Args:
            conflict: The conflict.
            left: The conflicts in it that are not settled; None for all.
        """
        texts = {
            stage: lines_of(self.repository.read_blob(entry.oid))
            for stage, entry in conflict.stages.items()
        }
        changes = (list(self._changes(conflict, stage)) for stage in (OURS, THEIRS))
        found = [
            place
            for place in places.find_places(texts, *changes)
            if left is None or any(place.holds(texts, hunk) for hunk in left)
        ]
        did = {}
        for stage in self.names:
            commits = self._of_lines(stage, conflict, found, texts)
            did[stage] = self._told(stage, commits or self._that_did(stage, conflict.path))
        return self.both(did, f"changed {places.told(found)}")

    def both(self, did: Mapping[int, Did], what: str) -> Cause:
        """What both sides did, each of them told by its commits."""
        by = {
            stage: f"by {side.told.removeprefix(f"{self.names[stage]}'s ")}"
            for stage, side in did.items()
            if side.count
        }
        # With three commits or more it would not be clear of which.
        both = "" if any(side.count > 1 for side in did.values()) else "both "
        return Cause(f"{did[OURS]} and {did[THEIRS]} {both}{what}", by)

    def _changes(self, conflict: Conflict, stage: int) -> Iterator[places.Change]:
        old, new = conflict.stages[BASE].oid, conflict.stages[stage].oid
        options = (*_PLAIN, "--unified=0", "--diff-algorithm=histogram")
        for line in self.repository.run("diff", *options, old, new).stdout.split(b"\n"):
            found = _HUNK.match(line)
            if found is not None:
                yield _lines(found[1], found[2]), _lines(found[3], found[4])

    def _of_lines(
        self,
        stage: int,
        conflict: Conflict,
        found: Sequence[places.Place],
        texts: places.Texts,
    ) -> list[Commit]:
        """The commits of a side that changed some places of a file, newest first."""
        path = self._path(stage, conflict)
        ranges = []
        for place in found[:_LOOKED_AT]:
            at = place.at[stage]
            # What was removed is seen only from the lines beside it.
            beside = len(at) < len(place.at[BASE])
            first = max(at.start + 1 - beside, 1)
            last = min(at.stop + beside, len(texts[stage]))
            ranges += [f"-L{first},{last}:{path}"] if first <= last else []
        if path is None or not ranges:
            return []
        listed = ("log", "--topo-order", "-M", *_PLAIN, _FORMAT)
        answer = self.repository.run(
            *listed, *ranges, *self._beyond(stage), "--", accept=(0, _NOT_THERE)
        )
        commits = list(_commits(answer))
        merges = [commit.sha for commit in commits if commit.is_merge]
        if merges:
            options = ("--no-walk", "--cc", "--unified=0", *_PLAIN, _FORMAT)
            paths = {path, conflict.path}
            answer = self.repository.run(
                "--literal-pathspecs", "log", *options, *merges, "--", *paths
            )
            own = {commit.sha: commit for commit in _commits(answer)}
            commits = [own.get(commit.sha, commit) for commit in commits]
        has = {line.rstrip(b"\n") for place in found for line in place.lines(texts, stage)}
        had = {line.rstrip(b"\n") for place in found for line in place.lines(texts, BASE)}
        return list(_that_changed(commits, has, had - has))

    def _path(self, stage: int, conflict: Conflict) -> str | None:
        """Where a side has the file, which the other may have renamed."""
        commit, entry = self.commits[stage], conflict.stages[stage]
        if self.repository.entry(commit, conflict.path) == entry:
            return conflict.path
        everything = self.repository.entries(commit)
        return next((path for path, there in everything.items() if there.oid == entry.oid), None)

    def _that_did(self, stage: int, path: str) -> list[Commit]:
        """The commits of a side that changed a path: merges only where there are no others."""
        return self._changed(stage, path, "--no-merges") or self._changed(stage, path)

    def _changed(self, stage: int, path: str, *options: str) -> list[Commit]:
        """The commits of a side that changed a path, newest first."""
        listed = ("--literal-pathspecs", "log", "--topo-order", _FORMAT, *options)
        return list(_commits(self.repository.run(*listed, *self._beyond(stage), "--", path)))

    def _beyond(self, stage: int) -> tuple[str, str]:
        """What a side has and the other has not."""
        return self.commits[stage], f"^{self.commits[OURS if stage == THEIRS else THEIRS]}"

    def _told(self, stage: int, commits: Sequence[Commit]) -> Did:
        if not commits:
            return Did(self.names[stage], 0)
        owned: dict[str, list[str]] = {}
        for commit in commits[:_NAMED]:
            owner = self._owner(stage, commit.sha)
            number = self._number(commit) if owner == MAIN else ""
            owned.setdefault(owner, []).append(f"{commit}{number}")
        told = " and ".join(f"{owner}'s {', '.join(listed)}" for owner, listed in owned.items())
        more = len(commits) - _NAMED
        return Did(f"{told} and {more} more" if more > 0 else told, len(commits))

    def _owner(self, stage: int, commit: Sha) -> str:
        """Whose a commit is: main's, or the lowest branch's that holds it."""
        for name, head in {MAIN: self.main, **self.heads}.items():
            if self.repository.is_ancestor(commit, head):
                return name
        return self.names[stage]

    def _number(self, commit: Commit) -> str:
        """The PR by which a commit came to main, where a merge says so and it does not itself."""
        if _PR.search(commit.subject):
            return ""
        above = f"{commit.sha}..{self.main}"
        holders = set(self.repository.commits("--merges", "--ancestry-path", above))
        listed = ("log", "--first-parent", "--merges", "--reverse", "--format=%H %s", above, "--")
        rows = (row.partition(" ") for row in self.repository.run(*listed).text.splitlines())
        subject = next((subject for sha, _, subject in rows if sha in holders), "")
        found = _PR.search(subject)
        return f" ({found[0]})" if found else ""


def _commits(answer: Answer) -> Iterator[Commit]:
    """Commits as ``git log`` lists them, each with what its patch adds and removes, if any."""
    _, *fields = _COMMIT.split(answer.stdout)
    for sha, parents, subject, patch in zip(*[iter(fields)] * 4, strict=True):
        added, removed, dropped = set(), set(), set()
        columns = 0
        for line in patch.split(b"\n"):
            if line.startswith(b"@@"):
                columns = len(line) - len(line.lstrip(b"@")) - 1
            elif line.startswith(b"diff "):
                columns = 0
            signs, text = line[:columns], line[columns:]
            if columns and signs == b"+" * columns:
                added.add(text)
            elif columns and b"-" in signs:
                removed.add(text)
                if signs == b"-" * columns:
                    dropped.add(text)
        lines = map(frozenset, (added, removed, dropped))
        yield Commit(Sha(sha.decode()), b" " in parents, decode(subject), *lines)


def _that_changed(
    commits: Sequence[Commit], has: Collection[bytes], had: Collection[bytes]
) -> Iterator[Commit]:
    """Of commits that touched lines or those beside them, newest first, what made the lines.

    Args:
        commits: They.
        has: The lines as they are.
        had: Lines that were there and are gone.
    """
    back = _chain(((c.sha, c.added, c.removed) for c in commits), has)
    forth = _chain(((c.sha, c.dropped, c.added) for c in reversed(commits)), had)
    makers = {*back, *forth}
    return (commit for commit in commits if commit.sha in makers)


def _chain(
    steps: Iterable[tuple[Sha, Collection[bytes], Collection[bytes]]], lines: Collection[bytes]
) -> Iterator[Sha]:
    """The commits that have some lines, or what the commits found before had instead of them.

    Args:
        steps: Each commit with the lines that it may have, and with those instead of them.
        lines: The lines to begin with.
    """
    wanted = set(lines)
    for commit, there, instead in steps:
        if wanted.intersection(there):
            wanted.update(instead)
            yield commit


def _lines(first: bytes, count: bytes | None) -> range:
    """Lines as the header of a hunk names them, from 0; of none it names the one before."""
    start, size = int(first), 1 if count is None else int(count)
    return range(start, start) if size == 0 else range(start - 1, start - 1 + size)
