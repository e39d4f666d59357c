"""Random stacks and random changes: what must hold after every sync, whatever it met."""

import itertools
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carry.carried import Carrier
from merge_series.operations import Operations
from merge_series.stopped import abort_sync
from merge_series.sync import Syncer
from stack.refs import heads
from stack.repository import Repository

FILES = ("a.txt", "b.txt", "c.txt")
LINES = 6

# A change writes one line of one file. Few places, so that changes meet.
changes = st.lists(st.tuples(st.sampled_from(FILES), st.integers(0, LINES - 1)), max_size=3)


@st.composite
def stacks(draw):
    """Dependencies of each PR, and rounds of changes by branch."""
    count = draw(st.integers(1, 5))
    depends = [
        draw(st.lists(st.integers(0, number - 1), unique=True, max_size=3)) if number else []
        for number in range(count)
    ]
    names = ["main", *(f"b{number}" for number in range(count))]
    rounds = draw(
        st.lists(st.fixed_dictionaries(dict.fromkeys(names, changes)), min_size=1, max_size=3)
    )
    return depends, rounds


def series_text(depends):
    rows = [
        f"| #{number + 1} | `b{number}` | "
        f"{', '.join(f'#{d + 1}' for d in on) or 'main'} | T{number} | open |"
        for number, on in enumerate(depends)
    ]
    sections = [f"## #{number + 1} T{number}\n\nText.\n" for number in range(len(depends))]
    table = ["| PR | Branch | Depends on | Title | State |", "|---|---|---|---|---|", *rows]
    return "# Series\n\n" + "\n".join(table) + "\n\n" + "\n".join(sections)


class Desk:
    """A repository whose branches get commits by plumbing; each line written is unique."""

    def __init__(self, root: Path, depends) -> None:
        self.path = root / "fork"
        self.serial = itertools.count()
        (root / "SERIES.md").write_text(series_text(depends))
        subprocess.run(["git", "init", "--quiet", "--bare", str(self.path)], check=True)
        self.repository = Repository.open(self.path)
        self.carrier = Carrier.open(root / "SERIES.md")
        start = {name: "".join(f"start {n}\n\n" for n in range(LINES)).encode() for name in FILES}
        tree = self.repository.change_tree(None, self.repository.write_files(start))
        first = self.repository.commit_tree(tree, [], "Start")
        for name in ("main", *(pr.branch for pr in self.carrier.series)):
            self.repository.run("update-ref", f"refs/heads/{name}", first)
        self.written = {}

    def change(self, branch, places) -> None:
        head = self.repository.resolve(branch)
        files = {}
        for name, line in places:
            text = files.get(name) or self.repository.read_file(head, name)
            lines = text.split(b"\n")
            lines[2 * line] = f"{branch} {next(self.serial)}".encode()
            files[name] = b"\n".join(lines)
            self.written.setdefault((name, line), []).append((branch, lines[2 * line]))
        if files:
            tree = self.repository.change_tree(head, self.repository.write_files(files))
            commit = self.repository.commit_tree(tree, [head], f"Change {branch}")
            self.repository.run("update-ref", f"refs/heads/{branch}", commit)

    def sync(self):
        operations = Operations(self.repository)
        with operations.lock():
            syncer = Syncer(self.repository, self.carrier, operations, lambda _: None)
            return syncer.sync("main"), operations


@pytest.mark.timeout(300)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stack=stacks())
def test_nothing_is_ever_lost(tmp_path_factory, stack):
    depends, rounds = stack
    desk = Desk(tmp_path_factory.mktemp("stack"), depends)
    with desk.repository as repository:
        branches = [pull_request.branch for pull_request in desk.carrier.series]
        for round_changes in rounds:
            for branch, places in round_changes.items():
                desk.change(branch, places)
            main = repository.resolve("main")
            old = heads(repository, branches)
            refs = repository.run("for-each-ref").stdout
            result, operations = desk.sync()
            assert repository.resolve("main") == main
            if result.pending is not None:
                # Stopped: nothing has moved, and dropping it leaves no trace in refs or worktrees.
                assert repository.run("for-each-ref").stdout == refs
                abort_sync(operations)
                assert repository.run("for-each-ref").stdout == refs
                assert repository.run("worktree", "list").text.count("\n") == 0
                return
            new = heads(repository, branches)
            for pull_request in desk.carrier.series:
                head = new[pull_request.branch]
                assert repository.is_ancestor(old[pull_request.branch], head)
                assert repository.is_ancestor(main, head)
                for dependency in desk.carrier.series.dependencies(pull_request):
                    assert repository.is_ancestor(new[dependency.branch], head)
                _assert_lines(desk, pull_request, head)
            assert desk.sync()[0].merged == ()


def _assert_lines(desk, pull_request, head) -> None:
    """A line that one branch of a PR's closure alone ever wrote is in the PR's tree as written."""
    holds = {"main", *(pr.branch for pr in desk.carrier.series.closure(pull_request))}
    for (name, line), writes in desk.written.items():
        mine = [(branch, text) for branch, text in writes if branch in holds]
        if len({branch for branch, _ in mine}) == 1:
            lines = desk.repository.read_file(head, name).split(b"\n")
            assert lines[2 * line] == mine[-1][1]
