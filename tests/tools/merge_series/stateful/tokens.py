"""What a branch must hold: every line that somebody wrote there and that nobody took out again.

Each line, imported name, read and path of a file is a token that is made once. What happened to a
branch is a set of events: token n was made (n), or taken out (-n). A merge holds the events of both
sides and nothing else, so what it must hold follows from them alone: neither from the texts, nor
from merge bases, nor from who conflicted with whom.

In a file the tokens stand in slots, which lines that nobody ever changes keep apart, and sorted
within a slot, so that nobody ever moves a line.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from process_groups import allowlist
from process_groups.allowlist import ALLOWLIST_PATH as ALLOWLIST
from process_groups.reads import Read

Events = frozenset[int]
Tree = Mapping[str, bytes]

NAMES = "megatron/core/names.py"
READS = "megatron/core/reads.py"
STATE = "megatron/core/parallel_state.py"
EDITED = "megatron/core/edited.py"
LOCK = "x.lock"
GENERATED = {ALLOWLIST, LOCK}
SLOTS = 2

# Writes the lock anew: a row for every line of a text file, with the pin that it finds.
LOCKER = """\
import pathlib, re
lock = pathlib.Path("x.lock")
pins = dict(re.findall("^(l[0-9]+)==([0-9]+)$", lock.read_text(), re.M)) if lock.exists() else {}
texts = "\\n".join(file.read_text() for file in pathlib.Path().glob("*.txt"))
lines = sorted(re.findall("^l[0-9]+$", texts, re.M))
lock.write_text("".join(f"{line}=={pins.get(line, 1)}\\n" for line in lines))
"""

PARALLEL_STATE = b"""\
import torch

_GROUP = None


def initialize():
    global _GROUP
    _GROUP = torch.distributed.new_group([0])


def get_group():
    return _GROUP
"""

# Kinds of tokens that come and go by a revert.
_REVERTED = {"line", "name", "read", "argument", "keyword", "path"}
_MARKERS = re.compile(rb"^(<{7}|={7}|>{7}|\|{7})( |$)", re.MULTILINE)
_HEADER = re.compile(r"^== (\S+): part 0, ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Token:
    """One thing that a branch holds or does not.

    Attributes:
        kind: ``line``, ``name``, ``read``, ``path``, ``list`` for the allowlist itself, ``lock``
            for the lock itself, ``pin`` of a line there (``file``) to a version (``slot``), ``end``
            where a file was deleted, ``argument`` of a call upstream, or ``keyword`` that an edit
            of the series adds there.
        file: The file it is in, by the name it was made under: a file may be renamed.
        slot: Where in the file.
        text: What stands there; it is like no other token's.
    """

    kind: str
    file: str
    slot: int
    text: str


class Tokens:
    """All tokens made so far, numbered from 1."""

    def __init__(self) -> None:
        self._made: list[Token] = []

    def make(self, kind: str, file: str, slot: int = 0) -> int:
        """Make a token; the number is its event."""
        number = len(self._made) + 1
        text = f"{kind[0]}{number:04}"
        if kind == "path":
            # Where two branches make a file of one name, they make it at one place.
            text = f"{file}-{number:04}.txt" if slot else f"{file}.txt"
        self._made.append(Token(kind, file, slot, text))
        return number

    def make_again(self, number: int) -> int:
        """Make a token that was taken out once more, with its text; the number is its event."""
        self._made.append(self.token(number))
        return len(self._made)

    def alive(self, events: Events, kind: str) -> dict[int, Token]:
        """The tokens of a kind that events leave standing, by number and sorted by text.

        Of those that were made again, the newest is there.
        """
        numbers = (n for n in sorted(events) if n > 0 and -n not in events)
        found = {self.token(n): n for n in numbers if self.token(n).kind == kind}
        return {n: token for token, n in sorted(found.items(), key=lambda item: item[0].text)}

    def taken_out(self, events: Events, numbers: Iterable[int]) -> Events:
        """The events that take tokens out, however often they were made."""
        gone = {self.token(n) for n in numbers}
        return frozenset(-n for n in events if n > 0 and self.token(n) in gone)

    def against(self, events: Events, held: Events) -> Events | None:
        """The events that take others back where ``held`` is; None if people would not do so."""
        undone = []
        for event in sorted(events):
            if self.token(event).kind not in _REVERTED or (event < 0 and self.is_place(event)):
                return None
            if event > 0 and event in held and -event not in held:
                undone.append(-event)
            elif event < 0 and {event, -event} <= held:
                undone.append(self.make_again(-event))
        return frozenset(undone)

    def is_place(self, event: int) -> bool:
        """Whether an event is about where a file stands."""
        return self.token(event).kind == "path"

    def files(self, events: Events) -> list[str]:
        """The text files that hold a line, by the name they were made under."""
        return sorted({token.file for token in self.alive(events, "line").values()})

    def known_as(self, events: Events, file: str) -> str:
        """The name of a text file on a branch; one that was deleted comes again as another."""
        there = [name for name in self.files(events) if name.partition("+")[0] == file]
        before = {self.token(event).file for event in events}
        return min(there, default=f"{file}+{len(self._made)}" if file in before else file)

    def token(self, event: int) -> Token:
        """The token that an event makes or takes out."""
        return self._made[abs(event) - 1]

    def paths(self, events: Events, file: str) -> set[str]:
        """Where a text file may stand: several places where it was renamed twice.

        None are known where it was deleted too: what is left then stands where a person keeps it.
        """
        if any(token.file == file for token in self.alive(events, "end").values()):
            return set()
        return {t.text for t in self.alive(events, "path").values() if t.file == file}

    def text(self, events: Events, file: str) -> bytes:
        """A text file as its lines make it."""
        lines = [t for t in self.alive(events, "line").values() if t.file == file]
        parts = ((f"== {file}: part {n}, which nobody changes ==", _in(lines, n)) for n in _SLOTS)
        return "".join(f"{head}\n{''.join(part)}" for head, part in parts).encode() + (
            f"== {file}: the end, which nobody changes ==\n".encode()
        )

    def names(self, events: Events) -> bytes:
        """The Python file that imports the names: from two modules in two forms."""
        found = list(self.alive(events, "name").values())
        one = [token.text for token in found if token.slot == 0]
        other = [token.text for token in found if token.slot != 0]
        many = "".join(f"    {name},\n" for name in ["first", *other, "zlast"])
        flat = ", ".join(["first", *one, "zlast"])
        return f"from lib.flat import {flat}\nfrom lib.tall import (\n{many})\n".encode()

    def edited(self, events: Events) -> bytes:
        """The Python file that main changes and the series edits, in the same lines."""
        arguments = self.alive(events, "argument").values()
        keywords = self.alive(events, "keyword").values()
        parts = (
            ", ".join(
                ["first"]
                + [token.text for token in arguments if token.slot == n]
                + [f"{token.text}=1" for token in keywords if token.slot == n]
            )
            for n in _SLOTS
        )
        functions = (
            f"\n\ndef part{n}():\n    return target({part})\n" for n, part in enumerate(parts)
        )
        return f"from lib.calls import target\n{''.join(functions)}".encode()

    def code(self, events: Events) -> dict[str, bytes]:
        """The Python files that all branches have."""
        return {
            NAMES: self.names(events),
            READS: self.reads(events),
            EDITED: self.edited(events),
        }

    def reads(self, events: Events) -> bytes:
        """The Python file that reads the global groups."""
        found = list(self.alive(events, "read").values())
        call = "parallel_state.get_group()"
        parts = (
            f"# part {n}, which nobody changes\n"
            + "".join(f"def {t.text}(): return {call}  # {t.text}\n" for t in found if t.slot == n)
            for n in _SLOTS
        )
        return ("from megatron.core import parallel_state\n\n\n" + "".join(parts)).encode()

    def allowlist(self, events: Events) -> bytes | None:
        """The allowlist of exactly the reads, or None where a branch has none."""
        if not self.alive(events, "list"):
            return None
        found = self.alive(events, "read").values()
        reads = Counter(Read(READS, token.text, "get_group", "accessor") for token in found)
        return allowlist.render(reads).encode()

    def lock(self, events: Events) -> bytes | None:
        """The lock with the newest pin of every line, or None where a branch has none."""
        if not self.alive(events, "lock"):
            return None
        pins: dict[str, int] = {}
        for token in self.alive(events, "pin").values():
            pins[token.file] = max(token.slot, pins.get(token.file, 1))
        lines = sorted(token.text for token in self.alive(events, "line").values())
        return "".join(f"{line}=={pins.get(line, 1)}\n" for line in lines).encode()

    def generated(self, events: Events) -> dict[str, bytes]:
        """The files that are made again from the others, where a branch has them."""
        files = {ALLOWLIST: self.allowlist(events), LOCK: self.lock(events)}
        return {path: text for path, text in files.items() if text is not None}


_SLOTS = range(SLOTS)


def _in(tokens: Iterable[Token], slot: int) -> list[str]:
    return [f"{token.text}\n" for token in tokens if token.slot == slot]


def file_of(text: bytes) -> str | None:
    """The text file that a text is, by the name it was made under, wherever it stands."""
    found = _HEADER.search(text.decode())
    return found and found[1]


def faults(tokens: Tokens, events: Events, tree: Tree) -> list[str]:
    """In what a tree is not what the events make it."""
    wrong = [f"{path}: a conflict marker" for path, text in tree.items() if _MARKERS.search(text)]
    if wrong:
        return wrong
    texts = [(path, text) for path, text in tree.items() if path.endswith(".txt")]
    texts = [(path, text) for path, text in texts if path != ALLOWLIST]
    lines = [
        line for _, text in texts for line in text.decode().splitlines() if line.startswith("l")
    ]
    wrong += _differing("lines", lines, tokens, events, "line")
    names = [a.name for n in ast.walk(ast.parse(tree[NAMES])) for a in getattr(n, "names", ())]
    names = [name for name in names if name[1:].isdecimal()]
    wrong += _differing("imported names", names, tokens, events, "name")
    reads = [n.name for n in ast.walk(ast.parse(tree[READS])) if isinstance(n, ast.FunctionDef)]
    wrong += _differing("reads", reads, tokens, events, "read")
    calls = [n for n in ast.walk(ast.parse(tree[EDITED])) if isinstance(n, ast.Call)]
    arguments = [a.id for call in calls for a in call.args if a.id != "first"]
    wrong += _differing("arguments", arguments, tokens, events, "argument")
    keywords = [k.arg for call in calls for k in call.keywords]
    wrong += _differing("edits", keywords, tokens, events, "keyword")
    for path, text in texts:
        file = file_of(text)
        allowed = tokens.paths(events, file) if file else set()
        if allowed and path not in allowed:
            wrong.append(f"{path}: stands there and not at {' or '.join(sorted(allowed))}")
    generated = tokens.generated(events)
    wrong += [
        f"{path}: {tree.get(path)!r} and not {generated.get(path)!r}"
        for path in sorted(GENERATED)
        if tree.get(path) != generated.get(path)
    ]
    return wrong


def _differing(what: str, found: list[str], tokens: Tokens, events: Events, kind: str) -> list[str]:
    expected = sorted(token.text for token in tokens.alive(events, kind).values())
    lost = [text for text in expected if text not in found]
    more = [text for text in sorted(set(found)) if text not in expected or found.count(text) > 1]
    told = [f"{what} lost: {', '.join(lost)}"] if lost else []
    return told + ([f"{what} too many: {', '.join(more)}"] if more else [])


def _raise(tokens: Tokens, events: Events, place: int) -> Events:
    """Raise the pin of one of the lines, where there is a lock."""
    lines = list(tokens.alive(events, "line").values())
    if not lines or not tokens.alive(events, "lock"):
        return frozenset()
    versions = [token.slot for token in tokens.alive(events, "pin").values()]
    line = lines[place % len(lines)].text
    return frozenset([tokens.make("pin", line, 1 + max(versions, default=1))])


def change(tokens: Tokens, events: Events, edit: "Edit") -> Events:
    """What a person's edit adds to the events of a branch: nothing, where it finds nothing."""
    if edit.file == LOCK:
        return _raise(tokens, events, edit.slot)
    kind = {NAMES: "name", READS: "read", EDITED: "argument"}.get(edit.file, "line")
    file = tokens.known_as(events, edit.file) if kind == "line" else edit.file
    there = {n: t for n, t in tokens.alive(events, kind).items() if t.file == file}
    if not there and (edit.action in {"delete", "rename"} or file.startswith("own")):
        return frozenset()
    slot = [n for n, token in there.items() if token.slot == edit.slot]
    paths = [n for n, t in tokens.alive(events, "path").items() if t.file == file]
    match edit.action:
        case "add" | "replace":
            made = [tokens.make(kind, file, edit.slot)]
            if kind == "line" and not there:
                made.append(tokens.make("path", file))
            gone = slot[-1:] if edit.action == "replace" else []
            return frozenset(made) | tokens.taken_out(events, gone)
        case "remove":
            # A file without any line is deleted, not left with its headings.
            gone = slot[-1:] if kind != "line" or len(there) > 1 else []
            return tokens.taken_out(events, gone)
        case "delete":
            gone = [*there, *paths]
            return frozenset([tokens.make("end", file)]) | tokens.taken_out(events, gone)
        case "rename":
            return frozenset([tokens.make("path", file, 1)]) | tokens.taken_out(events, paths)
    raise AssertionError(edit.action)


@dataclass(frozen=True, slots=True)
class Edit:
    """What a person does to one place of one file.

    Attributes:
        action: ``add``, ``replace`` or ``remove`` a token; ``delete`` or ``rename`` a text file.
        file: The file, by the name it was made under.
        slot: The place.
    """

    action: str
    file: str
    slot: int


def written(
    tokens: Tokens, before: Events, after: Events, places: Callable[[str], list[str]]
) -> dict[str, bytes | None]:
    """The files that a commit writes: their bytes, or None for one that goes.

    Args:
        tokens: All tokens.
        before: The branch's events before.
        after: And after.
        places: Where a text file stands on the branch.
    """
    files: dict[str, bytes | None] = {}
    for file in sorted(
        {t.file for kind in ("line", "path") for t in _touched(tokens, before, after, kind)}
    ):
        stood, paths = set(places(file)), tokens.paths(after, file)
        files |= dict.fromkeys(stood, None)
        if file in tokens.files(after):
            stands = stood & paths or paths or stood
            files[max(stands, default=f"{file}.txt")] = tokens.text(after, file)
    return files | tokens.code(after) | tokens.generated(after)


def _touched(tokens: Tokens, before: Events, after: Events, kind: str) -> list[Token]:
    changed = frozenset(abs(event) for event in after ^ before)
    return list(tokens.alive(changed, kind).values())
