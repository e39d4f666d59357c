"""A small fork with a small series, and the program run on it as people run it."""

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from programs import Ran, run
from small_megatron import NAMES, PARALLEL_STATE

SERIES = """\
# Series

| PR | Branch | Depends on | Title | State |
|---|---|---|---|---|
| #1 | `ratchet` | main | List the global reads | open |
| #2 | `offsets` | #1 | Pass the size | open |
| #3 | `by-hand` | #1 | Change what only people can | open |

## #1 List the global reads

Brings: the list of reads

### Why
Why.
### What
What.
### Tests
Tests.
### Compatibility
None.
### Commits
1. **Record the reads**

   Regenerates: `tools/process_groups/allowlist.txt`

## #2 Pass the size

Brings: the passed size

### Why
Why.
### What
What.
### Tests
Tests.
### Compatibility
None.
### Commits
1. **Pass the size on**

   Adds: `megatron/core/sizes.py`

## #3 Change what only people can

Written by hand.
"""

EDITS = """\
edits:
- pr: 2
  commit: 1
  in: label
  call: offset
  add-args: ["size=own_size()"]
- pr: 2
  commit: 1
  add-import: {from: megatron.core.sizes, names: [own_size]}
"""

SIZES = "def own_size():\n    return 4\n"

NOTES = "one\ntwo\nthree\n"


@dataclass
class World:
    """The project folder with SERIES.md, and the fork in ``fork``."""

    root: Path
    names = NAMES
    allowlist = "tools/process_groups/allowlist.txt"

    @property
    def fork(self) -> Path:
        return self.root / "fork"

    def git(self, *arguments: str, where: Path | None = None, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=where or self.fork,
            check=False,
            capture_output=True,
            text=True,
        )
        if check and done.returncode:
            raise AssertionError(done.stderr)
        return done.stdout.rstrip("\n")

    def write(self, files: dict[str, str | None], where: Path) -> None:
        for path, text in files.items():
            target = where / path
            if text is None:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def commit(self, branch: str, files: dict[str, str | None], subject: str) -> str:
        """Commit files on a branch: in the fork for main, else in a worktree made for it."""
        where = self.fork if branch == "main" else self.root / "desk"
        if branch != "main":
            self.git("worktree", "add", "--quiet", str(where), branch)
        self.write(files, where)
        self.git("add", "--all", where=where)
        self.git("commit", "--quiet", "-m", subject, where=where)
        if branch != "main":
            self.git("worktree", "remove", "--force", str(where))
        return self.git("rev-parse", branch)

    def run(self, *arguments: str, tool: str = "merge_series") -> Ran:
        place = ("--repo", str(self.fork)) if tool == "merge_series" else ()
        series = ("--series", str(self.root / "SERIES.md"))
        return run(tool, *series, *place, *arguments, folder=self.root)

    def typed(self, command: str) -> str:
        """A command as messages name it: with the options that ``run`` gives."""
        return f"merge_series --repo {self.fork} --series {self.root / 'SERIES.md'} {command}"

    def named(self, revision: str) -> str:
        """A commit as messages name it."""
        commit, _, subject = self.git("log", "-1", "--format=%H %s", revision, "--").partition(" ")
        return f"{commit[:12]} '{subject}'"

    def brought(self, count: int = 1) -> str:
        """What the merge of a dependency brings of main, as messages say it."""
        commits = f"{count} commit{'' if count == 1 else 's'}"
        return f"{commits} of main up to {self.git('rev-parse', 'main')[:12]}"

    def graph(self, *branches: str) -> str:
        """The whole commit graph of the branches."""
        lines = self.git(
            "log",
            "--graph",
            "--topo-order",
            "--format=%s%d",
            "--decorate-refs=refs/heads",
            *branches,
        ).splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def show(self, revision: str, path: str) -> str:
        return self.git("show", f"{revision}:{path}") + "\n"

    def message(self, revision: str) -> str:
        return self.git("log", "-1", "--format=%B", revision)

    def heads(self) -> dict[str, str]:
        listed = self.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
        return dict(line.split() for line in listed.splitlines())

    def contents(self) -> dict[str, str]:
        """Every file below the fork by its hash: objects, refs, index, configuration, worktree."""
        return {
            str(file.relative_to(self.fork)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(self.fork.rglob("*"))
            if file.is_file()
        }


@pytest.fixture
def make_world(tmp_path: Path):
    """Makes a project folder whose fork is not there yet."""
    return lambda: World(tmp_path)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the one world is built that every test gets a copy of."""
    return tmp_path_factory.mktemp("built")


@pytest.fixture
def world(tmp_path: Path, built: Path) -> World:
    """A fork on its first main, with all branches built and its HEAD on no branch of the series."""
    if not any(built.iterdir()):
        _build(World(built))
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    made = World(tmp_path)
    made.git("update-index", "--refresh")  # the copies have inodes of their own
    return made


def _build(made: World) -> None:
    made.write(
        {
            "SERIES.md": SERIES,
            "megatron/core/names.edits.yml": EDITS,
            "megatron/core/sizes.py": SIZES,
        },
        made.root,
    )
    made.fork.mkdir()
    made.git("init", "--quiet")
    made.write(
        {
            "megatron/core/__init__.py": "",
            "megatron/core/parallel_state.py": PARALLEL_STATE,
            "megatron/core/names.py": NAMES,
            "megatron/core/notes.txt": NOTES,
        },
        made.fork,
    )
    made.git("add", "--all")
    made.git("commit", "--quiet", "-m", "Start main")
    built = made.run("build", "--repo", str(made.fork), tool="carry")
    assert built.code == 0, built.err
    made.git("branch", "by-hand", "ratchet")
    made.commit("by-hand", {"megatron/core/notes.txt": "one\nTWO\nthree\n"}, "Shout the second")


class Hand(World):
    """A fork whose branches people write by hand, and a SERIES.md that only declares them."""

    def declare(self, *rows: str) -> None:
        """Write SERIES.md: a row each, such as ``#2 child #1`` or ``#2 child #1 landed``."""
        table, sections = [], []
        for row in rows:
            number, branch, on, *state = row.split(" ")
            title = f"Do {branch}"
            listed = ", ".join(on.split(","))
            table.append(
                f"| {number} | `{branch}` | {listed} | {title} | {(state or ['open'])[0]} |\n"
            )
            sections.append(f"\n## {number} {title}\n\nBrings: what {branch} does\n")
        head = "# Series\n\n| PR | Branch | Depends on | Title | State |\n|---|---|---|---|---|\n"
        (self.root / "SERIES.md").write_text(head + "".join(table) + "".join(sections))

    def grow(self, branch: str, start: str, *commits: dict[str, str | None]) -> str:
        """Make a branch at ``start`` (several, separated by commas: their merge), with commits."""
        first, *others = start.split(",")
        desk = self.root / "desk"
        self.git("worktree", "add", "--quiet", "-b", branch, str(desk), first)
        for other in others:
            self.git("merge", "--quiet", "--no-edit", other, where=desk)
        self.git("worktree", "remove", "--force", str(desk))
        for number, files in enumerate(commits, 1):
            self.commit(branch, files, f"{branch.capitalize()} {number}")
        return self.git("rev-parse", branch)

    def squash(self, branch: str, subject: str) -> str:
        """Land a branch as its hosting would: all it brings, as one commit on main."""
        self.git("merge", "--quiet", "--squash", branch)
        self.git("commit", "--quiet", "-m", subject)
        return self.git("rev-parse", "main")

    def states(self) -> list[str]:
        """The last cell of every row of SERIES.md."""
        rows = (self.root / "SERIES.md").read_text().splitlines()
        return [row.split("|")[5].strip() for row in rows if row.startswith("| #")]

    def files(self, revision: str) -> dict[str, str]:
        """Every file of a revision."""
        paths = self.git("ls-tree", "-r", "--name-only", revision).splitlines()
        return {path: self.show(revision, path) for path in paths}


@pytest.fixture
def hand(tmp_path: Path) -> Hand:
    """A fork with one commit on main and no branch yet."""
    return _begun(tmp_path)


@pytest.fixture
def make_hand(tmp_path_factory: pytest.TempPathFactory):
    """Makes such a fork, as often as it is called."""
    return lambda: _begun(tmp_path_factory.mktemp("hand"))


def _begun(root: Path) -> Hand:
    made = Hand(root)
    made.fork.mkdir()
    made.git("init", "--quiet")
    made.commit("main", {"notes.txt": NOTES, "shared.txt": "a\nb\nc\nd\ne\n"}, "Start main")
    return made
