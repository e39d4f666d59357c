"""The command, as a maintainer and the fork's CI run it."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import process_groups
from process_groups.allowlist import ALLOWLIST_PATH, parse
from process_groups.cli import run
from process_groups.directory import scan_directory
from process_groups.reads import SEVERITY

Tree = Callable[..., Path]

SOURCES = Path(process_groups.__file__).parent
PS = "from megatron.core import parallel_state\n"
ONE = PS + "def f():\n    parallel_state.tp_rank()\n"
TWO = ONE + "    parallel_state.tp_rank()\n"
MILD = PS + "def f(tp_group):\n    return tp_group or parallel_state.tp_rank()\n"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command; gives its exit code, what it told people, and what it gave machines."""

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return code, output.err, output.out

    return command


Said = Callable[..., tuple[int, str, str]]


def numbers(accessors: int, fallbacks: int = 0) -> str:
    total = accessors + fallbacks
    return (
        f"{total} read{'s' * (total != 1)} "
        f"({accessors} accessor, 0 shim, 0 unresolved, {fallbacks} fallback, 0 warned, 0 guarded)"
    )


def test_list(tree: Tree, said: Said) -> None:
    assert said("list", tree(a=TWO, b=MILD)) == (
        0,
        "3 reads (2 accessor, 0 shim, 0 unresolved, 1 fallback, 0 warned, 0 guarded)\n",
        (
            "megatron/core/a.py:f: tp_rank (accessor) x2, lines 3, 4\n"
            "megatron/core/b.py:f: tp_rank (fallback), line 3\n"
        ),
    )


def test_list_as_json(tree: Tree, said: Said) -> None:
    code, people, machines = said("list", "--json", tree(a=TWO))
    assert (code, people) == (0, "")
    assert json.loads(machines) == {
        "reads": [
            {
                "path": "megatron/core/a.py",
                "scope": "f",
                "function": "tp_rank",
                "kind": "accessor",
                "count": 2,
                "lines": [3, 4],
            }
        ],
        "kinds": {
            "accessor": 2,
            "shim": 0,
            "unresolved": 0,
            "fallback": 0,
            "warned": 0,
            "guarded": 0,
        },
        "packages": {
            "megatron/core": {
                "accessor": 2,
                "shim": 0,
                "unresolved": 0,
                "fallback": 0,
                "warned": 0,
                "guarded": 0,
            }
        },
    }


def test_list_by_package(tree: Tree, said: Said) -> None:
    root = tree(a=TWO, **{"deep/er/b": MILD, "deep/c": PS + "x = vars(parallel_state)\n"})
    assert said("list", "--summary", root) == (
        0,
        "",
        (
            "package             accessor  shim  unresolved  fallback  warned  guarded  total\n"
            "megatron/core              2     0           0         0       0        0      2\n"
            "megatron/core/deep         0     0           1         1       0        0      2\n"
            "total                      2     0           1         1       0        0      4\n"
        ),
    )


WHY = """\
tp_rank is an accessor:
  megatron/core/parallel_state.py:39: tp_rank returns a value of tp_group
  megatron/core/parallel_state.py:35: tp_group returns a value of _TP_GROUP
  megatron/core/parallel_state.py:19: _TP_GROUP is set by setup to what create returns
  megatron/core/parallel_state.py:13: create calls new_group
"""

WHY_RANKS = """\
_TP_RANKS is a variable of the grid:
  megatron/core/parallel_state.py:22: _TP_RANKS is set by setup to the ranks given to create
  megatron/core/parallel_state.py:13: create calls new_group
"""

REASONS = {
    "tp_rank": WHY,
    "_TP_RANKS": WHY_RANKS,
    "create": (
        "create is no accessor, it makes process groups:\n"
        "  megatron/core/parallel_state.py:13: create calls new_group\n"
    ),
    "ready": "ready is no accessor: it only tells whether the grid exists\n",
    "stages": "stages is no accessor: nothing it returns comes from a group of the grid\n",
}


@pytest.mark.parametrize("name", REASONS)
def test_why_a_name_is_an_accessor(name: str, tree: Tree, said: Said) -> None:
    assert said("accessors", "--why", name, tree()) == (0, "", REASONS[name])
    code, people, machines = said("accessors", "--why", name, "--json", tree())
    assert (code, people) == (0, "")
    assert json.loads(machines) == {"name": name, "why": REASONS[name].splitlines()}


def test_why_of_an_unknown_name(tree: Tree, said: Said) -> None:
    assert said("accessors", "--why", "tp_rnk", tree()) == (
        1,
        (
            "error: megatron/core/parallel_state.py: has no function or group variable 'tp_rnk'; "
            "near are tp_rank\n"
        ),
        "",
    )


def test_accessors(tree: Tree, said: Said) -> None:
    people, names = "2 accessors; that the grid exists: ready\n", "tp_group\ntp_rank\n"
    assert said("accessors", tree()) == (0, people, names)
    assert json.loads(said("accessors", "--json", tree())[2]) == {
        "accessors": ["tp_group", "tp_rank"],
        "state": ["_ALL_GROUPS", "_TP_GROUP", "_TP_RANKS"],
        "tests": ["ready"],
    }
    root = tree("empty")
    (root / "megatron/core/parallel_state.py").unlink()
    assert said("accessors", root)[:2] == (
        1,
        (
            f"error: {root}/megatron/core/parallel_state.py: cannot be read: "
            "No such file or directory\n"
        ),
    )


def test_the_first_list_is_asked_for(tree: Tree, said: Said) -> None:
    root = tree(a=ONE)
    listed = root / ALLOWLIST_PATH
    for command in ("check", "refresh"):
        assert said(command, root) == (
            1,
            f"error: {listed}: there is no list yet; `refresh --init` writes the first one\n",
            "",
        )
    assert not listed.exists()
    assert said("refresh", "--init", root) == (
        0,
        f"{listed}: {numbers(1, 0)}\n",
        "",
    )
    assert parse(listed.read_text()) == scan_directory(root)
    assert said("refresh", "--init", root) == (
        1,
        f"error: {listed}: is there already; run refresh without --init\n",
        "",
    )
    assert said("check", root) == (
        0,
        f"the list is true: {numbers(1)}\n",
        "",
    )


@pytest.fixture
def listed(tree: Tree, said: Said) -> Path:
    """A tree with a true list: one read in ``a.py``, two in ``b.py``."""
    root = tree(a=ONE, b=TWO)
    assert said("refresh", "--init", root)[0] == 0
    return root


def change(root: Path, **files: str) -> None:
    for stem, text in files.items():
        (root / f"megatron/core/{stem}.py").write_text(text)


def test_check_tells_new_moved_and_gone_apart(listed: Path, said: Said) -> None:
    change(listed, a=TWO, b=ONE.replace("f():", "g():"), c=MILD)
    assert said("check", listed) == (
        4,
        (
            "new:   megatron/core/a.py:f: tp_rank (accessor), lines 3, 4\n"
            "new:   megatron/core/c.py:f: tp_rank (fallback), line 3\n"
            "moved: megatron/core/b.py:f -> megatron/core/b.py:g: tp_rank (accessor), line 3\n"
            "gone:  megatron/core/b.py:f: tp_rank (accessor)\n"
            "2 reads not on the list, 1 moved, 1 of the list gone; "
            "tools/process_groups/README.md says what to do\n"
        ),
        "",
    )
    read = {
        "path": "megatron/core/a.py",
        "scope": "f",
        "function": "tp_rank",
        "kind": "accessor",
        "count": 1,
        "lines": [3, 4],
    }
    in_b = {"path": "megatron/core/b.py", "scope": "f", "function": "tp_rank", "kind": "accessor"}
    code, _, machines = said("check", "--json", listed)
    assert code == 4
    assert json.loads(machines) == {
        "new": [read, read | {"path": "megatron/core/c.py", "kind": "fallback", "lines": [3]}],
        "moved": [{"from": in_b, **in_b, "scope": "g", "count": 1, "lines": [3]}],
        "gone": [in_b | {"count": 1, "lines": []}],
    }


def test_check_marks_lines_on_github(listed: Path, said: Said) -> None:
    change(listed, a=TWO, b=ONE.replace("f():", "g():"), c=MILD)
    code, people, machines = said("check", "--format", "github", listed)
    assert (code, len(people.splitlines())) == (4, 5)
    new, guide = "title=New read of a global process group", "see tools/process_groups/README.md"
    moved = "title=Read of a global process group moved"
    gone = "title=Entry of the list has gone"
    assert machines == (
        f"::error file=megatron/core/a.py,line=3,{new}::"
        f"f: tp_rank (accessor) is on the list x1 only; {guide}\n"
        f"::error file=megatron/core/a.py,line=4,{new}::"
        f"f: tp_rank (accessor) is on the list x1 only; {guide}\n"
        f"::error file=megatron/core/c.py,line=3,{new}::"
        f"f: tp_rank (fallback) is not on the list; {guide}\n"
        f"::error file=megatron/core/b.py,line=3,{moved}::"
        f"megatron/core/b.py:f on the list is megatron/core/b.py:g now; {guide}\n"
        f"::error file=tools/process_groups/allowlist.txt,line=4,{gone}::"
        f"megatron/core/b.py:f: tp_rank (accessor) is no longer read; refresh the list; {guide}\n"
    )
    assert said("check", "--format", "github", listed)[2] == machines


def test_a_path_is_escaped_for_github(listed: Path, said: Said) -> None:
    change(listed, **{"a,b:c%": ONE})
    mark = said("check", "--format", "github", listed)[2]
    assert mark.startswith("::error file=megatron/core/a%2Cb%3Ac%25.py,line=3,")


def test_what_cannot_be_resolved_counts_until_it_is_listed(listed: Path, said: Said) -> None:
    change(listed, c=PS + "def f(name):\n    return getattr(parallel_state, name)()\n")
    code, people, _ = said("check", listed)
    assert (code, people.splitlines()[0]) == (
        4,
        "new:   megatron/core/c.py:f: parallel_state (unresolved), line 3",
    )
    assert said("refresh", "--accept", "megatron/core/c.py:f", listed)[0] == 0
    assert "\nmegatron/core/c.py f parallel_state unresolved 1\n" in (
        (listed / ALLOWLIST_PATH).read_text()
    )
    assert said("check", listed)[0] == 0


def test_refresh_as_json(listed: Path, said: Said) -> None:
    change(listed, a=MILD, b=ONE)
    code, people, machines = said("refresh", "--json", listed)
    data = json.loads(machines)
    assert code == 0
    assert people == f"{listed / ALLOWLIST_PATH}: {numbers(1, 1)}\n"
    assert {name: [(r["path"], r["kind"]) for r in reads] for name, reads in data.items()} == {
        "refused": [],
        "taken_in": [("megatron/core/a.py", "fallback")],
        "dropped": [("megatron/core/a.py", "accessor"), ("megatron/core/b.py", "accessor")],
    }
    change(listed, a=ONE)
    code, people, machines = said("refresh", "--json", listed)
    data = json.loads(machines)
    assert (code, len(people.splitlines())) == (4, 1)
    assert [(r["path"], r["kind"], r["lines"]) for r in data["refused"]] == [
        ("megatron/core/a.py", "accessor", [3])
    ]
    assert (data["taken_in"], data["dropped"]) == ([], [])


def test_refresh_drops_what_has_gone(listed: Path, said: Said) -> None:
    change(listed, a="", b=ONE)
    assert said("refresh", listed) == (
        0,
        (
            "dropped:  megatron/core/a.py:f: tp_rank (accessor)\n"
            "dropped:  megatron/core/b.py:f: tp_rank (accessor)\n"
            f"{listed / ALLOWLIST_PATH}: {numbers(1, 0)}\n"
        ),
        "",
    )
    assert said("check", listed)[0] == 0


def test_refresh_of_a_true_list_leaves_the_file(listed: Path, said: Said) -> None:
    path = listed / ALLOWLIST_PATH
    before = path.stat().st_mtime_ns, path.stat().st_ino
    assert said("refresh", listed)[0] == 0
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_refresh_takes_a_milder_read(listed: Path, said: Said) -> None:
    change(listed, a=MILD)
    assert said("refresh", listed)[:2] == (
        0,
        (
            "taken in: megatron/core/a.py:f: tp_rank (fallback), line 3\n"
            "dropped:  megatron/core/a.py:f: tp_rank (accessor)\n"
            f"{listed / ALLOWLIST_PATH}: {numbers(2, 1)}\n"
        ),
    )


def test_refresh_refuses_a_new_read_and_says_where(listed: Path, said: Said) -> None:
    before = (listed / ALLOWLIST_PATH).read_text()
    change(listed, a=TWO, b="")
    assert said("refresh", listed) == (
        4,
        (
            "refused: megatron/core/a.py:f: tp_rank (accessor), lines 3, 4\n"
            "1 read not allowed, and the list is as it was; pass a process group or collection "
            "there, or say whose they are: --allow-from TREE, --accept FILE:SCOPE\n"
        ),
        "",
    )
    assert (listed / ALLOWLIST_PATH).read_text() == before


def test_accept_takes_one_place(listed: Path, said: Said) -> None:
    change(listed, a=TWO, c=ONE)
    code, people, _ = said("refresh", listed, "--accept", "megatron/core/c.py:f")
    assert (code, people.splitlines()[0]) == (
        4,
        "refused: megatron/core/a.py:f: tp_rank (accessor), lines 3, 4",
    )
    places = ["--accept", "megatron/core/c.py:f", "--accept", "megatron/core/a.py:f"]
    assert said("refresh", listed, *places)[0] == 0
    assert said("check", listed)[0] == 0


def test_accept_of_a_place_without_a_new_read_is_refused(listed: Path, said: Said) -> None:
    assert said("refresh", listed, "--accept", "megatron/core/a.py:g")[:2] == (
        1,
        "error: --accept megatron/core/a.py:g: nothing new is read there; there is no new read\n",
    )
    change(listed, c=ONE)
    assert said("refresh", listed, "--accept", "megatron/core/a.py:f")[:2] == (
        1,
        (
            "error: --accept megatron/core/a.py:f: nothing new is read there; "
            "new reads are at megatron/core/c.py:f\n"
        ),
    )


def test_allow_from_takes_what_the_other_tree_has_too(listed: Path, tree: Tree, said: Said) -> None:
    other = tree("main", a=TWO, d=ONE)
    change(listed, a=TWO)
    assert said("refresh", listed, "--allow-from", other)[0] == 0
    change(listed, a=TWO + "    parallel_state.tp_rank()\n")
    code, people, _ = said("refresh", listed, "--allow-from", other)
    assert (code, people.splitlines()[0]) == (
        4,
        "refused: megatron/core/a.py:f: tp_rank (accessor), lines 3, 4, 5",
    )


def test_a_list_that_cannot_be_read_is_named(listed: Path, said: Said) -> None:
    path = listed / ALLOWLIST_PATH
    path.write_text(path.read_text() + "=======\n")
    for command in ("check", "refresh"):
        assert said(command, listed)[:2] == (
            1,
            (
                f"error: {path}, line 5: expected `path scope function kind count`, "
                "found '======='; "
                "restore the file from git, then refresh it\n"
            ),
        )
    path.write_bytes(b"\xff")
    assert said("check", listed)[1].startswith(f"error: {path}: cannot be read: 'utf-8' codec")


def test_a_file_that_cannot_be_scanned_fails_every_command(listed: Path, said: Said) -> None:
    change(listed, a="parallel_state (")
    for command in ("list", "check", "refresh"):
        assert said(command, listed) == (
            1,
            "error: megatron/core/a.py:1: is no Python: '(' was never closed\n",
            "",
        )


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["other"],
        ["check", "a", "b"],
        ["check", "--init"],
        ["check", "--json", "--format", "github"],
        ["refresh", "--accept"],
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(arguments)
    assert ended.value.code == 2
    assert "usage: process_groups" in capsys.readouterr().err


_bodies = st.lists(
    st.sampled_from(["tp_rank()", "tp_group()", "ready() and parallel_state.tp_rank()"]),
    max_size=4,
)


@given(before=_bodies, now=_bodies)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_refresh_never_allows_a_new_read(before: list[str], now: list[str], tree: Tree) -> None:
    def source(calls: list[str]) -> str:
        body = "".join(f"    parallel_state.{call}\n" for call in calls)
        return f"{PS}def f():\n    pass\n{body}"

    root = tree("changing", a=source(before))
    path = root / ALLOWLIST_PATH
    path.unlink(missing_ok=True)
    assert run(["refresh", "--init", str(root)]) == 0
    old = parse(path.read_text())
    change(root, a=source(now))
    code = run(["refresh", str(root)])
    new = parse(path.read_text())
    for function in ("tp_rank", "tp_group"):
        kinds = [{"accessor"}, {"accessor", "guarded"}]
        for worst in kinds:
            numbers = [
                sum(n for r, n in reads.items() if r.function == function and r.kind in worst)
                for reads in (old, new)
            ]
            assert numbers[1] <= numbers[0]
    assert (code == 0) == (new == scan_directory(root))
    assert new in (old, scan_directory(root))


# In the fork: a copy of the folder's files, run by path, with nothing installed.


@pytest.fixture
def fork(tree: Tree) -> Path:
    root = tree("fork", a=ONE)
    folder = root / "tools/process_groups"
    folder.mkdir(parents=True)
    for file in SOURCES.glob("*.py"):
        shutil.copy(file, folder)
    return root


def pythons() -> list[str]:
    """This interpreter, and the oldest one that must do, where it is installed."""
    found = [sys.executable]
    oldest = shutil.which("python3.10")
    if (
        oldest
        and subprocess.run([oldest, "-c", ""], check=False, capture_output=True).returncode == 0
    ):
        found.append(oldest)
    return found


@pytest.mark.parametrize("python", pythons())
def test_the_folder_runs_alone_in_the_fork(fork: Path, python: str) -> None:
    environment = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}

    def command(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [python, "-W", "error", *arguments],
            cwd=fork,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    one = f"{numbers(1)}\n"
    script = "tools/process_groups/refresh_allowlist.py"
    assert command(script, "--init") == (0, f"{ALLOWLIST_PATH}: {one}")
    assert command("tools/process_groups", "check") == (0, f"the list is true: {one}")
    change(fork, a=TWO)
    assert command("tools/process_groups", "check")[0] == 4
    assert command(script)[0] == 4
    assert command(script, "--accept", "megatron/core/a.py:f")[0] == 0
    assert command("tools/process_groups", "check")[0] == 0


@pytest.mark.parametrize("file", sorted(SOURCES.glob("*.py")), ids=lambda file: file.name)
def test_the_sources_are_python_3_10_and_import_nothing_else(file: Path) -> None:
    tree = ast.parse(file.read_text(), feature_version=(3, 10))
    modules = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
        )
    }
    assert modules <= sys.stdlib_module_names | {"process_groups"}


# The guide and the hooks.

ROOT = SOURCES.parents[1]
HOOKED = {
    "megatron/core/transformer/moe/router.py": True,
    "megatron/core/parallel_state.py": True,
    "tools/process_groups/allowlist.txt": True,
    "megatron/training/training.py": False,
    "megatron/core/README.md": False,
    "x/megatron/core/a.py": False,
}


def hooks() -> list[dict[str, object]]:
    """The hook of this repository, and the one that the guide has people write."""
    guide = (SOURCES / "README.md").read_text()
    local = next(part for part in guide.split("```yaml\n") if "repo: local" in part)
    (shown,) = yaml.safe_load(local.partition("```")[0])[0]["hooks"]
    (own,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    return [own, shown]


@pytest.mark.parametrize("number", [0, 1])
def test_the_hooks_run_where_they_should(number: int) -> None:
    hook = hooks()[number]
    assert hook["id"] == "process-groups"
    assert hook["pass_filenames"] is False
    matched = {path: bool(re.search(str(hook["files"]), path)) for path in HOOKED}
    assert matched == HOOKED


def test_the_hook_of_the_guide_runs_in_the_fork(fork: Path) -> None:
    _, shown = hooks()
    python, *arguments = str(shown["entry"]).split()
    assert python == "python"

    def ended() -> int:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=fork, check=False, capture_output=True).returncode

    assert run(["refresh", "--init", str(fork)]) == 0
    assert ended() == 0
    change(fork, a=TWO)
    assert ended() == 4


def test_the_hook_of_this_repository_runs_in_the_fork_and_installs_nothing(fork: Path) -> None:
    own, _ = hooks()
    assert own["language"] == "script"
    # The framework starts the file itself, in the tree that is checked.
    script, *arguments = str(own["entry"]).split()
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def ended() -> int:
        command = [str(ROOT / script), *arguments]
        environment = os.environ | {"PATH": beside}
        return subprocess.run(
            command, cwd=fork, env=environment, check=False, capture_output=True
        ).returncode

    assert run(["refresh", "--init", str(fork)]) == 0
    assert ended() == 0
    change(fork, a=TWO)
    assert ended() == 4


def test_the_guide_names_every_kind_and_every_command() -> None:
    guide = (SOURCES / "README.md").read_text()
    assert [kind for kind in SEVERITY if f"| {kind} |" not in guide] == []
    for word in ("check", "list", "refresh", "accessors"):
        assert f"`{word}" in guide or f"tools/process_groups {word}" in guide
