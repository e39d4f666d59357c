"""The ``.metadata`` of a checkpoint that ``torch.distributed.checkpoint`` (DCP) wrote.

It is a pickle, which can run code where it is read as one. Here the classes that DCP writes are
known by name, stand-ins are built in their place, and any other name is refused. Neither torch nor
anything that the file names is imported.
"""

import math
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, override

from stack.errors import Refusal

METADATA = ".metadata"

_METADATA_MODULE = "torch.distributed.checkpoint.metadata"
_DTYPE = re.compile(r"(b?float|u?int|bits|complex|bool|qu?int)\w*")

# What unpickling raises where a file is cut off, damaged or made to do harm.
_DAMAGED = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A block of a tensor that is stored.

    Attributes:
        offsets: Where it starts, by dimension.
        sizes: How long it is, by dimension.
    """

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]

    def meets(self, other: "Chunk") -> bool:
        """Whether an element is in both."""
        return all(
            max(start, other_start) < min(start + size, other_start + other_size)
            for start, size, other_start, other_size in zip(
                self.offsets, self.sizes, other.offsets, other.sizes, strict=True
            )
        )


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a checkpoint.

    Attributes:
        size: Its shape.
        chunks: What of it is stored; none of them is empty.
    """

    size: tuple[int, ...]
    chunks: tuple[Chunk, ...]

    @property
    def is_stored_twice(self) -> bool:
        """Whether two chunks hold the same element."""
        ordered = sorted(self.chunks, key=lambda chunk: chunk.offsets)
        return any(chunk.meets(other) for chunk, other in _candidates(ordered))

    @property
    def has_holes(self) -> bool:
        """Whether an element is in no chunk, if none is in two."""
        return sum(math.prod(chunk.sizes) for chunk in self.chunks) < math.prod(self.size)


# A state dict by key; what is no tensor is None.
Entries = Mapping[str, Tensor | None]


def read_metadata(folder: Path) -> Entries:
    """What a checkpoint holds, by key.

    Args:
        folder: The folder that DCP wrote.

    Raises:
        Refusal: There is no metadata of DCP in it, it is damaged, or names what DCP does not.
    """
    file = folder / METADATA
    if not file.is_file():
        raise Refusal(f"{folder}: holds no {METADATA}{_where_instead(folder)}")
    try:
        with file.open("rb") as stream:
            content = _Unpickler(stream).load()
    except OSError as error:
        raise Refusal(f"{file}: cannot be read: {error.strerror}") from error
    except _Foreign as foreign:
        raise Refusal(
            f"{file}: asks for {foreign}, which is none of what torch.distributed.checkpoint "
            "writes; nothing of it was run here, but a load would run it: if you cannot say why "
            "that stands there, do not load this checkpoint"
        ) from foreign
    except _DAMAGED as error:
        raise Refusal(_damaged(file, f"{type(error).__name__}: {error}")) from error
    try:
        return {key: _entry(found) for key, found in _state_dict(content).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise Refusal(_damaged(file, str(error))) from error


class _Foreign(Exception):  # noqa: N818 - what was asked for, not an error of ours
    """A name that a checkpoint's metadata has no use for."""


class _StandIn:
    """Stands for an object of which only its fields count, if at all."""

    def __new__(cls, *_: object) -> Self:
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)


class _Metadata(_StandIn):
    state_dict_metadata: object


class _StoredTensor(_StandIn):
    size: object
    chunks: object


class _StoredChunk(_StandIn):
    offsets: object
    sizes: object


class _StoredBytes(_StandIn):
    pass


_KNOWN: Mapping[tuple[str, str], type] = {
    (_METADATA_MODULE, "Metadata"): _Metadata,
    (_METADATA_MODULE, "TensorStorageMetadata"): _StoredTensor,
    (_METADATA_MODULE, "ChunkStorageMetadata"): _StoredChunk,
    (_METADATA_MODULE, "BytesStorageMetadata"): _StoredBytes,
    # megatron-core's own, up to 0.15, for another format
    ("megatron.core.dist_checkpointing.strategies.torch", "MCoreMetadata"): _Metadata,
    ("torch", "Size"): tuple,
    **dict.fromkeys(
        [
            (_METADATA_MODULE, "MetadataIndex"),
            (_METADATA_MODULE, "StorageMeta"),
            (_METADATA_MODULE, "TensorProperties"),
            (_METADATA_MODULE, "_MEM_FORMAT_ENCODING"),
            ("megatron.core.dist_checkpointing.strategies.torch", "MCoreSavePlan"),
            ("torch.distributed.checkpoint._hf_utils", "_HFStorageInfo"),
            ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
            ("torch.serialization", "_get_layout"),
            ("pathlib", "PosixPath"),
            ("pathlib", "WindowsPath"),
            ("pathlib._local", "PosixPath"),  # as Python 3.13 names them
            ("pathlib._local", "WindowsPath"),
        ],
        _StandIn,
    ),
}


class _Unpickler(pickle.Unpickler):
    @override
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if module_name == "torch" and _DTYPE.fullmatch(global_name):
            return None
        try:
            return _KNOWN[module_name, global_name]
        except KeyError:
            raise _Foreign(f"{module_name}.{global_name}") from None


def _state_dict(content: object) -> dict[str, object]:
    found = content.state_dict_metadata if isinstance(content, _Metadata) else None
    if not (isinstance(found, dict) and all(isinstance(key, str) for key in found)):
        raise TypeError("it holds no state dict")
    return found


def _entry(found: object) -> Tensor | None:
    if isinstance(found, _StoredBytes):
        return None
    if not (isinstance(found, _StoredTensor) and isinstance(found.chunks, list)):
        raise TypeError("an entry is neither a tensor nor bytes")
    size = _integers(found.size)
    chunks = []
    for chunk in found.chunks:
        offsets, sizes = _integers(chunk.offsets), _integers(chunk.sizes)
        if not len(offsets) == len(sizes) == len(size):
            raise ValueError("a chunk has another number of dimensions than its tensor")
        if math.prod(sizes):
            chunks.append(Chunk(offsets, sizes))
    return Tensor(size, tuple(chunks))


def _integers(found: object) -> tuple[int, ...]:
    if not (isinstance(found, tuple) and all(type(number) is int for number in found)):
        raise TypeError("a shape is none")
    return found


def _candidates(ordered: Sequence[Chunk]) -> Iterator[tuple[Chunk, Chunk]]:
    """The pairs of chunks that may meet: those that do in the first dimension."""
    for number, chunk in enumerate(ordered):
        for other in (ordered[later] for later in range(number + 1, len(ordered))):
            if chunk.sizes and other.offsets[0] >= chunk.offsets[0] + chunk.sizes[0]:
                break
            yield chunk, other


def _where_instead(folder: Path) -> str:
    """What a user who named another folder may mean."""
    inside = sorted(found.parent.name for found in folder.glob(f"*/{METADATA}"))
    if inside:
        return f"; name one of the checkpoints below it: {', '.join(inside[-3:])}"
    return "; name the folder of a checkpoint that torch.distributed.checkpoint wrote"


def _damaged(file: Path, why: str) -> str:
    return f"{file}: is no metadata of torch.distributed.checkpoint, or damaged ({why})"
