"""A small tree with its own ``parallel_state.py``, and the reads that a file added to it makes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from process_groups.scan import scan_tree

PARALLEL_STATE = """
import torch

_TP_GROUP = None
_TP_RANKS = None
_ALL_GROUPS = {}
_TP_SIZE = None
_STAGES = None
_BUFFER = None


def create(ranks):
    return torch.distributed.new_group(ranks)


def setup(stages):
    global _TP_GROUP, _TP_RANKS, _STAGES, _BUFFER
    for ranks in ([0, 1], [2, 3]):
        group = create(ranks)
        if torch.distributed.get_rank() in ranks:
            _TP_GROUP = group
            _TP_RANKS = ranks
    _ALL_GROUPS.update({"tp": create([0])})
    _STAGES = stages
    _BUFFER = object()


def ready():
    return _TP_GROUP is not None


def tp_group(check=True):
    if check:
        assert _TP_GROUP is not None
    return _TP_GROUP


def tp_rank():
    return tp_group().rank()


def set_tp_size(size):
    global _TP_SIZE
    _TP_SIZE = size


def stages():
    return _STAGES


def buffer():
    return _BUFFER
"""

CONFIG = """
class ProcessGroupCollection:
    @classmethod
    def use_mpu_process_groups(cls):
        return cls()
"""

BASE = {
    "megatron/core/__init__.py": "from megatron.core import parallel_state\nmpu = parallel_state\n",
    "megatron/core/parallel_state.py": PARALLEL_STATE,
    "megatron/core/process_groups_config.py": CONFIG,
}

Files = dict[str, str]


@pytest.fixture
def base() -> Files:
    """The text of each file of a small tree without reads, by path."""
    return dict(BASE)


@pytest.fixture
def reads_in() -> Callable[[Files], list[str]]:
    """Gives the reads that files bring to the small tree.

    One read a line: path below megatron/core, scope, function, kind, and the count if not 1.
    """

    def scan(files: Files) -> list[str]:
        tree = BASE | {f"megatron/core/{path}": text for path, text in files.items()}
        found = scan_tree({path: path for path in tree}, lambda path: tree[path].encode())
        return [
            f"{path.removeprefix('megatron/core/')} {scope} {function} {kind}"
            + (f" x{count}" if count > 1 else "")
            for (path, scope, function, kind), count in sorted(found.items())
        ]

    return scan


@pytest.fixture
def tree(tmp_path: Path, base: Files) -> Callable[..., Path]:
    """Writes the small tree, with more files, into a folder of the given name."""

    def write(name: str = "tree", **files: str) -> Path:
        more = {f"megatron/core/{stem}.py": text for stem, text in files.items()}
        for path, text in (base | more).items():
            target = tmp_path / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return tmp_path / name

    return write
