"""The command, as a maintainer and the fork's CI run it."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import process_groups
from process_groups.allowlist import ALLOWLIST_PATH, parse
from process_groups.cli import run
from process_groups.directory import scan_directory

Tree = Callable[..., Path]

SOURCES = Path(process_groups.__file__).parent
PS = "from megatron.core import parallel_state\n"
ONE = PS + "def f():\n    parallel_state.tp_rank()\n"
TWO = ONE + "    parallel_state.tp_rank()\n"
MILD = PS + "def f(tp_rank):\n    return tp_rank or parallel_state.tp_rank()\n"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command; gives its exit code, what it told people, and what it gave machines."""

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return code, output.err, output.out

    return command


Said = Callable[..., tuple[int, str, str]]


def test_list(tree: Tree, said: Said) -> None:
    assert said("list", tree(a=TWO, b=MILD)) == (
        0,
        (
            "megatron/core/a.py:f: tp_rank (accessor) x2\n"
            "megatron/core/b.py:f: tp_rank (fallback)\n"
            "3 reads (2 accessor, 0 shim, 1 fallback, 0 warned, 0 guarded)\n"
        ),
        "",
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
            }
        ],
        "kinds": {"accessor": 2, "shim": 0, "fallback": 0, "warned": 0, "guarded": 0},
    }


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
        f"{listed}: 1 read (1 accessor, 0 shim, 0 fallback, 0 warned, 0 guarded)\n",
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
        "the list is true: 1 read (1 accessor, 0 shim, 0 fallback, 0 warned, 0 guarded)\n",
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


def test_check_tells_new_from_gone(listed: Path, said: Said) -> None:
    change(listed, a=TWO, b=ONE, c=MILD)
    assert said("check", listed) == (
        4,
        (
            "new:  megatron/core/a.py:f: tp_rank (accessor)\n"
            "new:  megatron/core/c.py:f: tp_rank (fallback)\n"
            "gone: megatron/core/b.py:f: tp_rank (accessor)\n"
            "2 reads not on the list, 1 read of the list gone; pass a process group or collection "
            "to what is new, and run `python tools/process_groups refresh` to drop what has gone\n"
        ),
        "",
    )
    code, _, machines = said("check", "--json", listed)
    data = json.loads(machines)
    assert code == 4
    assert [(read["path"], read["count"]) for read in data["new"]] == [
        ("megatron/core/a.py", 1),
        ("megatron/core/c.py", 1),
    ]
    assert [(read["path"], read["count"]) for read in data["gone"]] == [("megatron/core/b.py", 1)]


def test_refresh_drops_what_has_gone(listed: Path, said: Said) -> None:
    change(listed, a="", b=ONE)
    assert said("refresh", listed) == (
        0,
        (
            "dropped:  megatron/core/a.py:f: tp_rank (accessor)\n"
            "dropped:  megatron/core/b.py:f: tp_rank (accessor)\n"
            f"{listed / ALLOWLIST_PATH}: "
            "1 read (1 accessor, 0 shim, 0 fallback, 0 warned, 0 guarded)\n"
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
            "taken in: megatron/core/a.py:f: tp_rank (fallback)\n"
            "dropped:  megatron/core/a.py:f: tp_rank (accessor)\n"
            f"{listed / ALLOWLIST_PATH}: "
            "3 reads (2 accessor, 0 shim, 1 fallback, 0 warned, 0 guarded)\n"
        ),
    )


def test_refresh_refuses_a_new_read_and_says_where(listed: Path, said: Said) -> None:
    before = (listed / ALLOWLIST_PATH).read_text()
    change(listed, a=TWO, b="")
    assert said("refresh", listed) == (
        4,
        (
            "refused: megatron/core/a.py:f: tp_rank (accessor)\n"
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
        "refused: megatron/core/a.py:f: tp_rank (accessor)",
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
        "refused: megatron/core/a.py:f: tp_rank (accessor)",
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
    "arguments", [[], ["other"], ["check", "a", "b"], ["check", "--init"], ["refresh", "--accept"]]
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
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
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

    one = "1 read (1 accessor, 0 shim, 0 fallback, 0 warned, 0 guarded)\n"
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
