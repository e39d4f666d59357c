"""When and how a PR's branch was last brought in step with main, read off its own history."""

from collections.abc import Sequence
from dataclasses import dataclass

from merge_series.records import SettledFile
from merge_series.review.commits import Commit, read_commits
from merge_series.review.merging import clean_merge
from merge_series.review.recordings import Recording
from merge_series.review.standing import Standing
from stack.git_answers import Sha
from stack.repository import Repository


@dataclass(frozen=True, slots=True)
class SyncedWithMain:
    """How a branch came to stand on the commit of main that it stands on.

    Attributes:
        main: The newest commit of main that it contains.
        main_made: Day on which that was committed.
        merges: The branch's own merges from the one that brought that commit, oldest first; empty
            if the branch was begun on it.
        settled: Files that git left in conflict in these merges, each with how it was settled.
        recordings: The branch's own merges that only record something, oldest first.
    """

    main: Sha
    main_made: str
    merges: tuple[Commit, ...]
    settled: tuple[SettledFile, ...]
    recordings: tuple[Recording, ...]


def synced_with_main(repository: Repository, standing: Standing) -> SyncedWithMain:
    """Read the last sync off a branch's history.

    Whether a file conflicted is found by merging again; how it was settled is what the merge's
    message says.

    Args:
        repository: The fork, opened with a temporary object folder.
        standing: Where the branch stands.
    """
    main = standing.parts[-1].commits[0]
    own = read_commits(repository, "--first-parent", standing.head, *standing.others)
    merges: list[Commit] = []
    for commit in reversed(own):
        if not repository.is_ancestor(main, commit.sha):
            break
        if commit.is_merge:
            merges.insert(0, commit)
    # A branch that was begun on this commit of main has it below its first own commit.
    if not merges or repository.is_ancestor(main, merges[0].parents[0]):
        merges = []
    settled = tuple(
        file for merge in merges for file in told(merge, _in_conflict(repository, standing, merge))
    )
    (made,) = read_commits(repository, "-1", main)
    recordings = tuple(
        recording
        for commit in own
        if (recording := standing.recordings.get(commit.sha)) and recording.only_records
    )
    return SyncedWithMain(main, made.made, tuple(merges), settled, recordings)


def _in_conflict(repository: Repository, standing: Standing, merge: Commit) -> tuple[str, ...]:
    recording = standing.recordings.get(merge.sha)
    merged = clean_merge(repository, merge.parents) if recording is None else recording.merged
    return merged.in_conflict


def told(merge: Commit, in_conflict: Sequence[str]) -> tuple[SettledFile, ...]:
    """The files that git left in conflict in a merge, with how its message says each was settled.

    Args:
        merge: The merge.
        in_conflict: The files.
    """
    files = []
    for path in in_conflict:
        said = [line for line in merge.words.splitlines() if line.startswith(f"- {path}: ")]
        how = said[0].removeprefix(f"- {path}: ") if said else "by hand"
        files.append(SettledFile(path, how, conflicted=True))
    return tuple(files)
