"""What the keys of an FSDP-DTensor checkpoint name: experts and layers, by model and optimizer."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from carry.checkpoint.metadata import Entries

MODEL = "model"
OPTIMIZER = "optimizer"

# Adam's state and the parameter groups hold one value a key, whose name stands last. A job with
# several optimizers numbers them.
_PARTS: Mapping[str, re.Pattern[str]] = {
    MODEL: re.compile(r"(?P<chunk>model\d*)\.(?:module\.)*(?P<name>.+)"),
    OPTIMIZER: re.compile(
        r"(?P<chunk>optimizer)\.(?:\w+\.)*?(?:state|param_to_group_meta)\."
        r"(?:module\.)*(?P<name>.+)\.\w+"
    ),
}
# SequentialMLP has the index in the middle, grouped GEMM at the end; SwiGLU's halves follow.
# No model has a hundred thousand of either, and a key that says so would take for ever to list.
_EXPERT = re.compile(
    r"(?P<place>(?:.+\.)?experts)\.(?:local_experts\.(?P<sequential>\d{1,5})\.(?P<of>.+)"
    r"|(?P<kind>linear_fc[12]\.(?:weight|bias))(?P<grouped>\d{1,5})(?P<half>_[wv])?)"
)
_LAYER = re.compile(r"(?:(?<=\.)|^)layers\.(\d{1,5})(?=\.)")
_MOST_EXPERTS = 10**5
_ROUTER = re.compile(r"(?P<of>(?:.+\.)?)router\.weight")


@dataclass(slots=True)
class Names:
    """What one part of a checkpoint names.

    Attributes:
        experts: The parameters of each expert, by the place of the experts, such as
            ``decoder.layers.0.mlp.experts``, and by index.
        layers: The layers, by their place, such as ``decoder.layers``.
        twice: Names of parameters that two model chunks hold.
    """

    experts: dict[str, dict[int, set[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    layers: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    twice: set[str] = field(default_factory=set)

    def add(self, name: str) -> None:
        """Take in the name of a parameter."""
        for place, number in layers_in(name):
            self.layers[place].add(number)
        if expert := expert_in(name):
            self.experts[expert.place][expert.index].add(expert.parameter)


@dataclass(frozen=True, slots=True)
class Expert:
    """The expert that a parameter belongs to.

    Attributes:
        place: The place of the experts, such as ``decoder.layers.0.mlp.experts``.
        index: The expert's.
        parameter: The parameter, the same for all experts.
    """

    place: str
    index: int
    parameter: str


def part_and_name(key: str) -> tuple[str, str] | None:
    """Whether a key is of the model or of the optimizer, and the parameter's name, if of one."""
    for part, pattern in _PARTS.items():
        if found := pattern.fullmatch(key):
            return part, found["name"]
    return None


def expert_in(name: str) -> Expert | None:
    """The expert that a parameter belongs to, if to one."""
    found = _EXPERT.fullmatch(name)
    if found is None:
        return None
    if found["sequential"]:
        return Expert(found["place"], int(found["sequential"]), found["of"])
    return Expert(found["place"], int(found["grouped"]), found["kind"] + (found["half"] or ""))


def layers_in(name: str) -> Iterator[tuple[str, int]]:
    """The layers that a parameter lies in, outermost first, each as its place and number."""
    for found in _LAYER.finditer(name):
        yield name[: found.start(1) - 1], int(found[1])


def collect(keys: Iterable[str]) -> dict[str, Names]:
    """What model and optimizer name."""
    names = {part: Names() for part in _PARTS}
    chunks: dict[str, set[str]] = defaultdict(set)
    for key in keys:
        for part, pattern in _PARTS.items():
            if found := pattern.fullmatch(key):
                names[part].add(found["name"])
                if part == MODEL:
                    chunks[found["name"]].add(found["chunk"])
    names[MODEL].twice |= {
        name for name, found in chunks.items() if len(found) > 1 and any(layers_in(name))
    }
    return names


def numbers_of_experts(entries: Entries) -> dict[str, int]:
    """How many experts each router of the model chooses from, by the place of the experts."""
    numbers = {}
    for key, tensor in entries.items():
        found = part_and_name(key)
        if found is None or found[0] != MODEL or tensor is None or not tensor.size:
            continue
        router = _ROUTER.fullmatch(found[1])
        if router and tensor.size[0] < _MOST_EXPERTS:
            numbers[f"{router['of']}experts"] = tensor.size[0]
    return numbers
