"""Checkpoints of any keys, whose metadata torch's own classes write as a save does."""

import pickle
from pathlib import Path

import pytest
import torch
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)


class Checkpoint:
    """A folder with nothing but the metadata of a checkpoint.

    The keys are those that Megatron-LM's functions give a model of two MoE layers in Megatron-FSDP.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written = Metadata({})

    def write(self, tensors, other_keys=()) -> Path:
        """Write the metadata.

        Args:
            tensors: Keys of tensors, or pairs of key and chunks, each its offsets and sizes.
            other_keys: Keys of what is no tensor.
        """
        entries = {}
        for tensor in tensors:
            key, chunks = tensor if isinstance(tensor, tuple) else (tensor, None)
            size = (8 if key.endswith("router.weight") else 16, 16)
            entries[key] = TensorStorageMetadata(
                TensorProperties(dtype=torch.bfloat16),
                torch.Size(size),
                [
                    ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))
                    for offsets, sizes in chunks or [((0, 0), size)]
                ],
            )
        entries |= {key: BytesStorageMetadata() for key in other_keys}
        self.written = Metadata(entries)
        self.write_bytes(pickle.dumps(self.written))
        return self.folder

    def write_bytes(self, content: bytes) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / ".metadata").write_bytes(content)


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(tmp_path / "iter_0000001")
