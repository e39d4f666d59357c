"""Superseding PRs by one successor: a branch with one commit for each of them.

The successor's branch starts where the folded ones do, and its commits hold what merging their
heads one after the other makes. Their branches stay as they are; branches on them record the
successor by a merge that keeps their files, since they hold all that it brings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series.add_pr import merged_or_refused, refuse_known, start_on
from merge_series.changes import landings_seen
from merge_series.credit import coauthors, with_coauthors
from merge_series.declared import Rewrite
from merge_series.history import ABSORBS
from merge_series.in_step import refuse_out_of_step
from merge_series.merger import Merger
from merge_series.plan import branch_heads, sources, synced_pull_requests
from merge_series.planned import Planned
from merge_series.records import MergeRecord
from merge_series.resolve import main_below
from stack.command_line import typed
from stack.errors import Refusal
from stack.git_answers import Sha
from stack.model import PullRequest, Series
from stack.refs import refuse_busy
from stack.repository import Repository
from stack.series_edit import NewPullRequest, with_dependencies, with_pull_request, with_state

_SYNC = "merge_series sync"


@dataclass(frozen=True, slots=True)
class Folded:
    """PRs folded into a successor.

    Attributes:
        old: Heads before: of the successor's branch, None; of those on the folded PRs.
        new: Heads after, of the same branches.
        merged: What was made, in order: the successor's commits, then what records it.
        rewrite: What becomes of SERIES.md.
    """

    old: dict[str, Sha | None]
    new: dict[str, Sha]
    merged: tuple[MergeRecord, ...]
    rewrite: Rewrite


def fold(  # noqa: PLR0913, PLR0917 - what PRs are folded by
    repository: Repository,
    carrier: Carrier,
    main: Sha,
    new: NewPullRequest,
    numbers: Sequence[int],
    told: Callable[[str], None],
) -> Folded:
    """Make the commits of a successor; no ref moves and no file is written.

    Args:
        repository: The fork.
        carrier: The series.
        main: The commit of main.
        new: The successor; what it depends on follows from the folded PRs.
        numbers: The PRs to fold; each has a row.
        told: Called with a sentence for each of the user's commands that has run.

    Raises:
        Refusal: The PRs do not make one successor, are not in step, or a merge needs a person.
    """
    refuse_known(repository, carrier, new)
    folded = _chosen(carrier, numbers)
    for number, sentence in landings_seen(repository, carrier, main).items():
        if number in numbers:
            raise Refusal(f"{sentence[:-1]}; run {typed(_SYNC)} first, which absorbs it")
    outside = _outside(carrier, folded)
    rewrite = _rewrite(carrier, folded, replace(new, depends_on=tuple(s.number for s in outside)))
    series = rewrite.carrier(carrier).series
    dependents = [
        series.pull_requests[pr.number]
        for pr in synced_pull_requests(carrier)
        if pr not in folded and not set(numbers).isdisjoint(pr.depends_on)
    ]
    refuse_busy(repository, [pr.branch for pr in dependents])
    # The merges are of the folded PRs, which the old series knows as open.
    successor = series.pull_requests[new.number]
    known = Series({**carrier.series.pull_requests, new.number: successor})
    merger = Merger(repository, replace(carrier, series=known), ReadScanner(repository), main, told)
    folder = _Folder(repository, carrier, merger, main, folded, successor)
    old = branch_heads(repository, tuple(dependents))
    head, records = folder.fold(outside, old)
    for dependent in dependents:
        records += folder.record(dependent, old[dependent.branch], head)
    new_heads = {**{record.branch: record.commit for record in records}, successor.branch: head}
    return Folded({**old, successor.branch: None}, new_heads, tuple(records), rewrite)


def _rewrite(carrier: Carrier, folded: Sequence[PullRequest], new: NewPullRequest) -> Rewrite:
    """SERIES.md with the successor's row and section, and the rows that it changes."""
    numbers = tuple(pr.number for pr in folded)
    dependents = {
        pr.number: tuple(dict.fromkeys(new.number if n in numbers else n for n in pr.depends_on))
        for pr in synced_pull_requests(carrier)
        if pr not in folded and not set(numbers).isdisjoint(pr.depends_on)
    }
    name, before = str(carrier.path), carrier.path.read_bytes()
    after = with_pull_request(before, name, new)
    after = with_dependencies(after, name, dependents)
    return Rewrite(carrier.path, before, with_state(after, name, numbers, "superseded"))


def _chosen(carrier: Carrier, numbers: Sequence[int]) -> tuple[PullRequest, ...]:
    for number in numbers:
        pull_request = carrier.series.pull_requests[number]
        if pull_request.state not in {"open", "draft"}:
            raise Refusal(
                f"{carrier.path}:{pull_request.line}: #{number} is {pull_request.state}; only an "
                "open PR can be folded; leave it out"
            )
    return tuple(pr for pr in carrier.series if pr.number in numbers)


def _outside(carrier: Carrier, folded: Sequence[PullRequest]) -> tuple[PullRequest, ...]:
    """What the folded PRs depend on that is not folded, in the order of the series."""
    wanted = {s.number for pr in folded for s in sources(carrier, pr) if s not in folded}
    outside = tuple(pr for pr in carrier.series if pr.number in wanted)
    for source in outside:
        within = [pr for pr in carrier.series.closure(source) if pr in folded]
        if within:
            raise Refusal(
                f"SERIES.md:{source.line}: {source.name} depends on {within[0].name} and another "
                f"folded PR depends on {source.name}, so the successor would depend on itself; "
                f"fold {source.name} as well"
            )
    return outside


@dataclass(frozen=True, slots=True)
class _Folder:
    repository: Repository
    carrier: Carrier
    merger: Merger
    main: Sha
    folded: tuple[PullRequest, ...]
    successor: PullRequest

    def fold(
        self, outside: tuple[PullRequest, ...], dependents: dict[str, Sha]
    ) -> tuple[Sha, list[MergeRecord]]:
        """The successor's head, and a record for each of its commits."""
        heads = branch_heads(self.repository, (*self.folded, *outside))
        # A dependent on an older main would get the newer one from what is folded, and with it
        # what landed since; only a sync knows how to absorb that.
        refuse_out_of_step(
            self.repository, self.carrier, self.main, self.folded, {**heads, **dependents}
        )
        head, records = self._base(heads, outside)
        base = whole = head
        authors = coauthors(self.repository, self.carrier, self.main, self.folded)
        for place, pull_request in enumerate(self.folded):
            theirs = heads[pull_request.branch]
            before = self.repository.tree_of(whole)
            held = [base, *(heads[pr.branch] for pr in self.folded[: place + 1])]
            whole = self._merged(whole, pull_request, held, outside)
            tree = self.repository.tree_of(whole)
            if tree == before:
                raise Refusal(
                    f"{pull_request.name} changes nothing beyond what the others bring; leave it "
                    "out of the fold"
                )
            message = with_coauthors(_message(pull_request), authors[pull_request.number])
            commit = self.repository.commit_tree(tree, [head], message)
            subject = message.partition("\n")[0]
            branch = self.successor.branch
            records.append(MergeRecord(branch, pull_request.name, head, theirs, commit, subject))
            head = commit
        self._check_tree(self.repository.tree_of(head), heads)
        return head, records

    def record(self, dependent: PullRequest, tip: Sha, head: Sha) -> list[MergeRecord]:
        """Merge into a dependent what it lacks of the folded PRs, then record the successor."""
        heads = branch_heads(self.repository, self.folded)
        records = []
        for pull_request in self.folded:
            theirs = heads[pull_request.branch]
            if not self.repository.is_ancestor(theirs, tip):
                held = tuple(pr.number for pr in self.folded)
                planned = replace(dependent, depends_on=(*dependent.depends_on, *held))
                record = merged_or_refused(self.merger, Planned(planned, pull_request, tip, theirs))
                records.append(record)
                tip = record.commit
        names = _listed([pr.name for pr in self.folded])
        subject = f"Record that {self.successor.name} supersedes {names}"
        absorbs = "\n".join(f"{ABSORBS}: {heads[pr.branch]}" for pr in self.folded)
        body = (
            f"The files of {self.successor.branch} at {head[:12]} are those of merging what it\n"
            "supersedes, all of which this branch contains, so it keeps its files as\n"
            f"they are.\n\n{absorbs}"
        )
        tree = self.repository.tree_of(tip)
        commit = self.repository.commit_tree(tree, [tip, head], f"{subject}\n\n{body}")
        records.append(
            MergeRecord(dependent.branch, self.successor.name, tip, head, commit, subject)
        )
        return records

    def _base(
        self, heads: dict[str, Sha], outside: tuple[PullRequest, ...]
    ) -> tuple[Sha, list[MergeRecord]]:
        if not outside:
            return main_below(self.repository, next(iter(heads.values())), self.main), []
        settled = self._settled([heads[pr.branch] for pr in outside])
        if settled is not None:
            return settled, []
        because = f"it supersedes {_listed([pr.name for pr in self.folded])}, which build on them"
        start = start_on(self.repository, self.merger, self.successor, outside, because)
        return start.head, list(start.merged)

    def _merged(
        self,
        whole: Sha,
        pull_request: PullRequest,
        held: Sequence[Sha],
        outside: tuple[PullRequest, ...],
    ) -> Sha:
        """``whole`` with one folded PR's head merged."""
        theirs = held[-1]
        if all(self.repository.is_ancestor(sha, theirs) for sha in held):
            return theirs
        settled = self._settled(held)
        if settled is not None:
            return settled
        # What it holds so far, so that a file the series edits can be settled.
        done = self.folded[: len(held) - 1]
        holds = replace(self.successor, depends_on=tuple(pr.number for pr in (*outside, *done)))
        return merged_or_refused(self.merger, Planned(holds, pull_request, whole, theirs)).commit

    def _settled(self, held: Sequence[Sha]) -> Sha | None:
        """A merge of just these commits that a folded branch holds already, as it was settled."""
        tips = [sha for pr in self.folded for sha in branch_heads(self.repository, (pr,)).values()]
        without = [f"^{sha}" for sha in held]
        for merge in reversed(self.repository.commits("--merges", "--topo-order", *tips, *without)):
            if all(self.repository.is_ancestor(sha, merge) for sha in held) and not (
                self.repository.commits("--no-merges", merge, *without)
            ):
                return merge
        return None

    def _check_tree(self, tree: Sha, heads: dict[str, Sha]) -> None:
        """Refuse a successor that is not the merge of the folded heads, made on its own."""
        mine = [(pr, heads[pr.branch]) for pr in self.folded]
        ends = [
            (pr, head)
            for pr, head in mine
            if not any(
                head != other and self.repository.is_ancestor(head, other) for _, other in mine
            )
        ]
        holds = replace(self.successor, depends_on=tuple(pr.number for pr, _ in ends))
        whole = ends[0][1]
        for pull_request, head in ends[1:]:
            if not self.repository.is_ancestor(head, whole):
                planned = Planned(holds, pull_request, whole, head)
                whole = merged_or_refused(self.merger, planned).commit
        answer = self.repository.run("diff-tree", "-r", "-z", "--name-only", tree, whole)
        paths = [path for path in answer.text.split("\0") if path]
        if paths:
            raise Refusal(
                f"{self.successor.branch} would not hold what merging the folded PRs does: they "
                f"differ in {', '.join(paths)}; nothing was changed. Run {typed(_SYNC)} first, "
                "or fold fewer PRs"
            )


def _message(pull_request: PullRequest) -> str:
    """The message of a folded PR's commit: its title, what it does, and where that was."""
    body = pull_request.texts.get("What", "").strip()
    if not body and pull_request.brings != pull_request.title:
        body = f"Brings {pull_request.brings}."
    parts = [pull_request.title, body, f"Originally {pull_request.name}."]
    return "\n\n".join(part for part in parts if part)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
