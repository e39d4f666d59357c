"""What ``show`` and ``links`` print."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from merge_series.review.alone import Alone
from merge_series.review.check_links import CheckedLink
from merge_series.review.commits import Commit
from merge_series.review.lines import Span
from merge_series.review.since import Since, Step
from merge_series.review.standing import Standing
from stack.git_answers import encode, shown
from stack.words import counted


def alone_text(alone: Alone) -> bytes:
    """One PR alone, as a header and a difference that ``git apply`` takes."""
    standing = alone.standing
    lines = [
        f"{_name(standing)} at {standing.head[:12]}, against {_parts(standing)}",
        *(f"  {commit.sha[:12]} {commit.subject}" for commit in alone.commits),
    ]
    lines += [
        f"  {part.name} has {counted(part.behind, 'commit')} more, which the branch lacks"
        for part in standing.parts
        if part.behind
    ]
    lines += [
        f"  {path}: what {standing.pull_request.name} stands on conflicts there; "
        "the lines taken out below are git's conflict markers and both sides"
        for path in alone.foundation.in_conflict
    ]
    if not alone.patch.text:
        lines.append("  It changes nothing beyond them.")
    return encode("\n".join(lines) + "\n\n") + alone.patch.text


def since_text(since: Since) -> bytes:
    """What there is to read since a commit, part by part, and what was left out."""
    return b"\n".join(_since_parts(since))


def links_table(links: Sequence[CheckedLink]) -> Table:
    """Where each link stands; as wide as it may be."""
    table = Table(box=None, expand=True)
    for name, ratio in (("From", None), ("Link", 4), ("Branch", None), ("At its head now", 3)):
        table.add_column(name, ratio=ratio, overflow="fold")
    for checked in links:
        link = checked.link
        commit = (checked.commit or link.sha)[:9]
        where = f"{commit} {_span(checked.span)}" if checked.span else commit
        table.add_row(link.where, where, checked.branch, _fate(checked))
    return table


def _fate(checked: CheckedLink) -> Text:
    fate = checked.fate
    if checked.broken:
        return Text(f"broken: {checked.broken}", style="bold red")
    if fate is None:
        return Text("reachable", style="green")
    if fate.span is None:
        return Text(f"gone by {str(fate.by)[:9]}", style="yellow")
    if fate.status == "same":
        return Text("same", style="green")
    now = _span(fate.span, checked.span)
    if fate.status == "moved":
        return Text(f"moved to {now}", style="green")
    return Text(f"changed by {str(fate.by)[:9]}, now {now}", style="yellow")


def _span(span: Span, known: Span | None = None) -> str:
    """Lines as text; the path only if it is not known from the other span."""
    path = "" if known is not None and known.path == span.path else f"{shown(span.path)} "
    return f"{path}L{span.first}" + (f"-L{span.last}" if span.last != span.first else "")


def _since_parts(since: Since) -> Iterator[bytes]:
    standing = since.standing
    to_read = [step for step in since.steps if step.is_to_be_read]
    rest = [step for step in since.steps if not step.is_to_be_read and step.recording is None]
    taken = [r for s in since.steps if (r := s.recording) and not s.is_to_be_read]
    recordings = [recording for recording in taken if recording.only_records]
    others = [recording for recording in taken if not recording.only_records]
    span = f"{_name(standing)} from {since.read[:12]} to {standing.head[:12]}"
    if not to_read:
        yield encode(f"{span}: nothing to read.\n")
    else:
        yield encode(f"{span}: {counted(len(to_read), 'commit')} to read.\n")
    for step in to_read:
        yield _step(step)
    if rest:
        lines = [f"  {_title(step.commit)}" for step in rest]
        yield encode("\n".join(["Merges that are git's own, unchanged:", *lines]) + "\n")
    if others:
        lines = [f"  {one.commit.sha[:12]} {one.told(12)}" for one in others]
        yield encode(
            "\n".join(["Merges of what main has in another form, unchanged:", *lines]) + "\n"
        )
    if recordings:
        lines = [f"  {one.commit.sha[:12]} {one.told(12)}" for one in recordings]
        yield encode("\n".join(["Merges that only record, and change no file:", *lines]) + "\n")
    if since.steps:
        yield encode(
            f"Left out: {commits_by_owner(since.left_out)}. Checked: with what is shown above "
            f"they give the tree of {standing.head[:12]}.\n"
        )


def _step(step: Step) -> bytes:
    commit = step.commit
    title = f"commit {commit.sha}"
    if commit.is_merge:
        merged = ", ".join(f"{name} at {sha[:12]}" for name, sha in step.merged)
        title = f"merge {commit.sha} of {merged}"
    head = [title, f"Author: {commit.author}, {commit.written}", ""]
    head += [f"    {line}".rstrip() for line in _message(commit).splitlines()]
    if commit.is_merge:
        if step.conflicts:
            head += ["", f"In conflict: {', '.join(step.conflicts)}"]
        head += ["", f"Beyond {step.measure}:"]
    elif not step.patch.text:
        head += ["", "It changes no file."]
    return encode("\n".join(head) + "\n\n") + step.patch.text


def _message(commit: Commit) -> str:
    return f"{commit.subject}\n\n{commit.words}".rstrip()


def _title(commit: Commit) -> str:
    return f"{commit.sha[:12]} {commit.subject}"


def _name(standing: Standing) -> str:
    return f"{standing.pull_request.name} {standing.pull_request.branch}"


def _parts(standing: Standing) -> str:
    parts = [f"{part.name} at {part.commits[0][:12]}" for part in standing.parts]
    if len(parts) == 1:
        return parts[0]
    return f"the merge of {', '.join(parts[:-1])} and {parts[-1]}"


def commits_by_owner(counts: dict[str, int]) -> str:
    """Counts of commits in words: ``3 commits of main and 1 of #6258``."""
    words = [
        f"{number if index else counted(number, 'commit')} of {name}"
        for index, (name, number) in enumerate(counts.items())
    ]
    if not words:
        return "nothing"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
