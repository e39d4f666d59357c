"""What is read of the metadata file, and what is refused before any of it is run."""

import os
import pickle
import re
import struct
import subprocess
import sys
import warnings
from contextlib import suppress

import pytest
import torch
import torch.distributed.checkpoint as dcp
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed.checkpoint.metadata import (
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)

from carry.checkpoint.metadata import Chunk, Tensor, read_metadata
from programs import run
from stack.errors import Refusal

DTYPES = [found for found in vars(torch).values() if isinstance(found, torch.dtype)]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A checkpoint that torch saved."""
    folder = tmp_path_factory.mktemp("saved") / "iter_1"
    state = {"model": {"a": torch.zeros(3, 4), "b": torch.zeros(())}, "args": object}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is (disabled|unavail)", UserWarning)
        dcp.save(state, checkpoint_id=folder, no_dist=True)
    return folder


def test_what_torch_saved(saved):
    assert read_metadata(saved) == {
        "model.a": Tensor((3, 4), (Chunk((0, 0), (3, 4)),)),
        "model.b": Tensor((), (Chunk((), ()),)),
        "args": None,
    }


def test_torch_is_not_needed(saved):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path; from carry.checkpoint.metadata import read_metadata\n"
        f"print(sorted(read_metadata(Path({str(saved)!r}))))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "['args', 'model.a', 'model.b']\n"


def test_every_type_of_a_tensor(checkpoint):
    entries = {
        str(dtype): TensorStorageMetadata(TensorProperties(dtype=dtype), torch.Size(), [])
        for dtype in DTYPES
    }
    checkpoint.write_bytes(pickle.dumps(Metadata(entries)))
    assert len(entries) > 20
    assert read_metadata(checkpoint.folder) == dict.fromkeys(entries, Tensor((), ()))


class Runs:
    """Runs a program where it is unpickled as any pickle is."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_runs_a_program(checkpoint, tmp_path, protocol):
    trap = tmp_path / "ran"
    checkpoint.write_bytes(pickle.dumps(Runs(f"touch {trap}"), protocol))
    done = run("carry", "checkpoint", "iter_0000001", folder=tmp_path)
    assert (done.code, done.err) == (
        1,
        (
            "error: iter_0000001/.metadata: asks for posix.system, which is none of what "
            "torch.distributed.checkpoint writes; nothing of it was run here, but a load would run "
            "it: if you cannot say why that stands there, do not load this checkpoint\n"
        ),
    )
    assert not trap.exists()
    pickle.loads((tmp_path / "iter_0000001/.metadata").read_bytes())  # noqa: S301 - as torch does
    assert trap.exists()


def name(module, attribute):
    return (
        pickle.SHORT_BINUNICODE
        + bytes([len(module)])
        + module.encode()
        + (
            pickle.SHORT_BINUNICODE
            + bytes([len(attribute)])
            + attribute.encode()
            + pickle.STACK_GLOBAL
        )
    )


@pytest.mark.parametrize(
    ("module", "attribute"),
    [
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("torch", "load"),
        ("torch", "hub.load"),
        ("torch", "float32.__class__"),
        ("torch.serialization", "load"),
        ("torch.distributed.checkpoint.metadata", "os.system"),
        ("torch.distributed.checkpoint.metadata", "Metadata.__init__"),
        ("pathlib", "os.system"),
        ("carry.checkpoint.metadata", "_KNOWN"),
    ],
)
def test_a_pickle_that_names_something_else(checkpoint, module, attribute):
    checkpoint.write_bytes(b"\x80\x04" + name(module, attribute) + b".")
    with pytest.raises(Refusal, match=re.escape(f"asks for {module}.{attribute}, which is none")):
        read_metadata(checkpoint.folder)


def test_a_pickle_that_changes_a_class(checkpoint, saved):
    known = name("torch.distributed.checkpoint.metadata", "BytesStorageMetadata")
    slots = pickle.NONE + b"}\x8c\x0c__setstate__" + name("torch", "Size") + b"s\x86b"
    checkpoint.write_bytes(b"\x80\x04" + known + slots + b".")
    with pytest.raises(Refusal, match=r"or damaged \(TypeError: "):
        read_metadata(checkpoint.folder)
    assert read_metadata(saved)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no pickle\n",
        b"\x80\x04N.",
        b"\x80\x04" + name("torch.distributed.checkpoint.metadata", "Metadata") + b".",
        b"\x80\x04(" * 100_000,
        b"\x80\x04\x96" + struct.pack("<Q", 1 << 62) + b".",
        b"\x80\x04P1\n.",
        pickle.dumps({"model.a": (1, 2)}),
        pickle.dumps(torch.Size((1, 2))),
    ],
    ids=range(9),
)
def test_what_is_no_metadata(checkpoint, content):
    checkpoint.write_bytes(content)
    with pytest.raises(Refusal, match=r"^\S+/\.metadata: is no metadata of torch.*, or damaged \("):
        read_metadata(checkpoint.folder)


@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(saved, tmp_path_factory, data):
    content = bytearray((saved / ".metadata").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(1, len(content))) :]
    folder = tmp_path_factory.getbasetemp() / "damaged"
    folder.mkdir(exist_ok=True)
    (folder / ".metadata").write_bytes(content)
    with suppress(Refusal):
        assert all(isinstance(key, str) for key in read_metadata(folder))


def test_a_folder_that_holds_none(tmp_path):
    def said(*parts):
        done = run("carry", "checkpoint", *parts, folder=tmp_path)
        assert done.code == 1
        return done.err

    (tmp_path / "empty").mkdir()
    for number in (900, 1000, 1100, 1200):
        folder = tmp_path / f"all/iter_{number:07}"
        folder.mkdir(parents=True)
        (folder / ".metadata").write_bytes(b"")
    assert said("empty") == (
        "error: empty: holds no .metadata; name the folder of a checkpoint that "
        "torch.distributed.checkpoint wrote\n"
    )
    assert said("all") == (
        "error: all: holds no .metadata; name one of the checkpoints below it: iter_0001000, "
        "iter_0001100, iter_0001200\n"
    )
    assert said("nowhere").startswith("error: nowhere: holds no .metadata; name the folder of")


MCORE = b"cmegatron.core.dist_checkpointing.strategies.torch\nMCoreMetadata\n"


@pytest.mark.parametrize("name_of_class", [None, MCORE])
def test_a_checkpoint_in_another_format(checkpoint, tmp_path, name_of_class):
    checkpoint.write(["decoder.layers.mlp.experts.experts.linear_fc1.weight"])
    if name_of_class is not None:
        content = pickle.dumps(checkpoint.written, protocol=2)
        torchs = b"ctorch.distributed.checkpoint.metadata\nMetadata\n"
        assert torchs in content
        checkpoint.write_bytes(content.replace(torchs, name_of_class))
    done = run("carry", "checkpoint", "iter_0000001", folder=tmp_path)
    assert (done.code, done.err) == (
        1,
        (
            "error: iter_0000001: its keys name no layer of a model in the FSDP-DTensor format "
            "(model.…layers.0.…); only checkpoints saved with --ckpt-format fsdp_dtensor, or by "
            "the same functions, can be looked at\n"
        ),
    )
