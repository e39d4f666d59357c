"""A PR's description as Markdown. The same description gives the same text, byte for byte."""

from collections.abc import Mapping

from markdown_it import MarkdownIt

from merge_series.review.allowed import ReadsChange
from merge_series.review.description import Description
from merge_series.review.synced import SyncedWithMain
from process_groups.reads import Read
from stack.errors import Refusal
from stack.model import PullRequest, Series
from stack.words import counted

_TEXTS = ("Why", "What", "Tests", "Compatibility")
# A label ends at a quotation mark and takes HTML; mermaid writes these characters so.
_MERMAID = str.maketrans({"#": "#35;", '"': "#quot;", "&": "#amp;", "<": "#lt;", ">": "#gt;"})
_SHORT = 7  # what GitHub shows of an id, and makes a link of


def markdown(description: Description) -> str:
    """The body of a PR.

    Raises:
        Refusal: A text has no end, so that all below it would be part of it.
    """
    texts = description.pull_request.texts
    for name in _TEXTS:
        if not _has_end(texts.get(name, "")):
            raise Refusal(
                f"{description.pull_request.name}: its {name} in SERIES.md leaves a code block, a "
                "comment or HTML open, which would hide what stands below it; close it there"
            )
    parts = [f"### {name}\n\n{texts[name]}" for name in _TEXTS if texts.get(name)]
    if description.synced is not None:
        parts.append(f"### Sync\n\n{sync_text(description.synced)}")
    if description.reads is not None:
        parts.append(f"### Allowlist\n\n{reads_text(description.reads)}")
    stack = (description.series, description.pull_request)
    parts.append(f"### Stack\n\n{stack_text(*stack)}\n\n{stack_graph(*stack)}")
    if description.part_of is not None:
        parts.append(f"Part of {description.part_of}.")
    return "\n\n".join(parts) + "\n"


def sync_text(synced: SyncedWithMain) -> str:
    """When and how the branch was brought in step with main."""
    main = synced.main[:_SHORT]
    recorded = "".join(
        f" Recorded that {one.told(_SHORT)}, which changed no file." for one in synced.recordings
    )
    if not synced.merges:
        fact = f"Built on main {main} of {synced.main_made}; main was not merged into it since."
        return fact + recorded
    count = len(synced.merges)
    by = "a merge commit" if count == 1 else f"{count} merge commits"
    clean = "" if synced.settled else " with no conflicts"
    fact = (
        f"Synced with main {main} on {synced.merges[-1].made} by {by}{clean}, "
        "so existing commits and review links stay valid."
    )
    if not synced.settled:
        return fact + recorded
    lines = "\n".join(f"- {_code(file.path)}: {file.how}" for file in synced.settled)
    return f"{fact}{recorded} Conflicts, and how each was settled:\n\n{lines}"


def reads_text(change: ReadsChange) -> str:
    """What the PR does to the allowlist."""
    total = sum(change.after.values())
    if change.before is None:
        return (
            f"Brings the list of global reads, with {counted(total, 'read')}.\n\n{_counts(change)}"
        )
    before = sum(change.before.values())
    if not (change.removed or change.added or change.changed):
        return f"Unchanged by this PR: {counted(total, 'read')}."
    parts = [f"{counted(total, 'read')}, {before} without this PR.", _counts(change)]
    changed = {
        f"{_place(old)}: {old.kind} is now {new.kind}": n
        for (old, new), n in change.changed.items()
    }
    for name, entries in (
        ("Removed", _named(change.removed)),
        ("Added", _named(change.added)),
        ("Changed kind", changed),
    ):
        if entries:
            parts.append(f"{name}:\n\n" + "\n".join(_item(*entry) for entry in entries.items()))
    return "\n\n".join(parts)


def stack_text(series: Series, here: PullRequest) -> str:
    """The stack as a list, dependencies first."""
    return "\n".join(_row(pull_request, here) for pull_request in series)


def stack_graph(series: Series, here: PullRequest) -> str:
    """The stack as a mermaid graph."""
    lines = ["```mermaid", "graph TD", '  main(["main"])']
    lines += [f'  pr{pr.number}["{_label(pr)}"]' for pr in series]
    for pull_request in series:
        below = [f"pr{number}" for number in pull_request.depends_on] or ["main"]
        lines += [f"  {node} --> pr{pull_request.number}" for node in below]
    lines += [f"  style pr{here.number} stroke-width:4px", "```"]
    return "\n".join(lines)


def _row(pull_request: PullRequest, here: PullRequest) -> str:
    below = ", ".join(f"#{number}" for number in pull_request.depends_on) or "main"
    text = f"{pull_request.name} {_code(pull_request.branch)} {pull_request.title}"
    text = f"**{text}** (this PR)" if pull_request == here else text
    state = "" if pull_request.state == "open" else f", {pull_request.state}"
    return f"- {text}, on {below}{state}"


def _label(pull_request: PullRequest) -> str:
    state = "" if pull_request.state == "open" else f" ({pull_request.state})"
    return f"{pull_request.name} {pull_request.branch.translate(_MERMAID)}{state}"


def _has_end(text: str) -> bool:
    """Whether a heading below a text is a heading."""
    tokens = MarkdownIt("commonmark").parse(f"{text}\n\n# Below\n")
    return tokens[-1].type == "heading_close" and tokens[-1].level == 0


def _counts(change: ReadsChange) -> str:
    columns = [change.after] if change.before is None else [change.before, change.after]
    names = ["kind", "reads"] if change.before is None else ["kind", "without this PR", "with it"]
    rows = [[kind, *(str(column[kind]) for column in columns)] for kind in change.after]
    shown = [row for row in rows if set(row[1:]) != {"0"}]
    return "\n".join(f"| {' | '.join(row)} |" for row in [names, ["---"] * len(names), *shown])


def _named(reads: Mapping[Read, int]) -> dict[str, int]:
    return {f"{_place(read)}, {read.kind}": count for read, count in reads.items()}


def _item(text: str, count: int) -> str:
    return f"- {text}" + (f" (x{count})" if count > 1 else "")


def _place(read: Read) -> str:
    return _code(f"{read.path}: {read.scope}: {read.function}")


def _code(text: str) -> str:
    """Text as a code span, whatever backticks it holds."""
    ticks = "`"
    while ticks in text:
        ticks += "`"
    space = " " * (len(ticks) > 1)
    return f"{ticks}{space}{text}{space}{ticks}"
