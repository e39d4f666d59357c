"""What is wrong with the experts and layers of a checkpoint, told from its metadata."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from carry.checkpoint.layout import RankLayout, missing_ranks, stated_layouts
from carry.checkpoint.metadata import Entries, read_metadata
from carry.checkpoint.names import (
    MODEL,
    OPTIMIZER,
    Names,
    collect,
    expert_in,
    layers_in,
    numbers_of_experts,
    part_and_name,
)
from stack.errors import Refusal

EXPERT = "expert"
LAYER = "layer"


class Fault(StrEnum):
    """What is wrong with some experts, layers or tensors."""

    ABSENT = "absent"
    TOO_MANY = "too many"
    OTHERS = "named differently by model and optimizer"
    TWICE = "named twice"
    HOLES = "stored in part"
    LAYOUT = "layout stated in part"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong.

    Attributes:
        fault: What.
        kind: ``expert`` or ``layer``; empty where it is about a tensor or the whole checkpoint.
        part: ``model`` or ``optimizer``; empty where it is about both.
        place: Where it is, such as ``decoder.layers.0.mlp.experts``, or a key.
        numbers: Which experts or layers.
        of: How many there should be; None where nothing says it.
    """

    fault: Fault
    kind: str = ""
    part: str = ""
    place: str = ""
    numbers: tuple[int, ...] = ()
    of: int | None = None


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """What the metadata of a checkpoint tells.

    Attributes:
        folder: The checkpoint.
        layers: How many layers model and optimizer name, by their place.
        experts: How many experts there should be, by their place.
        without_index: Places of experts that are not named one by one, so that nothing can be told.
        layouts: The expert-parallel layouts that its ranks stated.
        findings: What is wrong.
        entries: How many entries are of the model or the optimizer.
        whole: The keys of those that nothing that was found puts in doubt.
    """

    folder: Path
    layers: Mapping[str, int]
    experts: Mapping[str, int]
    without_index: tuple[str, ...]
    layouts: tuple[RankLayout, ...]
    findings: tuple[Finding, ...]
    entries: int
    whole: frozenset[str]

    def has(self, *faults: Fault, kind: str = "") -> bool:
        """Whether one of the faults was found, of one kind if it is given."""
        return any(one.fault in faults and (not kind or one.kind == kind) for one in self.findings)

    @property
    def is_custom(self) -> bool:
        """Whether it was saved, and named rightly, under a layout that is not the global grid's."""
        return any(not layout.is_standard for layout in self.layouts)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON holds it, but for the sentences."""
        return {
            "checkpoint": str(self.folder),
            "layers": dict(self.layers),
            "experts": dict(self.experts),
            "experts_without_index": list(self.without_index),
            "layouts": [layout.to_json() for layout in self.layouts],
            "findings": [asdict(finding) for finding in self.findings],
            "entries": self.entries,
            "whole": len(self.whole),
        }


def look_at_checkpoint(folder: Path) -> CheckpointReport:
    """Look at the names in a checkpoint's metadata.

    Raises:
        Refusal: It has no metadata, or none of an FSDP-DTensor checkpoint.
    """
    entries = read_metadata(folder)
    names = collect(entries)
    if not names[MODEL].layers:
        raise Refusal(
            f"{folder}: its keys name no layer of a model in the FSDP-DTensor format "
            "(model.…layers.0.…); only checkpoints saved with --ckpt-format fsdp_dtensor, or by "
            "the same functions, can be looked at"
        )
    layouts = stated_layouts(entries)
    routers = numbers_of_experts(entries)
    experts = _numbers(routers, names, layouts)
    findings = (
        *_experts(names, experts),
        *_layers(names),
        *_doubles(names[MODEL]),
        *_tensors(entries),
        *_stated(layouts),
    )
    ours = [key for key in entries if part_and_name(key)]
    return CheckpointReport(
        folder,
        {place: len(found) for place, found in sorted(names[MODEL].layers.items())},
        experts,
        tuple(_in_order(routers.keys() - experts.keys())),
        layouts,
        findings,
        len(ours),
        _whole(ours, findings),
    )


def _numbers(
    routers: Mapping[str, int], names: Mapping[str, Names], layouts: Iterable[RankLayout]
) -> dict[str, int]:
    """How many experts there should be, by place: as the router says, else the layouts."""
    stated = {layout.experts for layout in layouts}
    numbers = {}
    for place in _in_order({*names[MODEL].experts, *names[OPTIMIZER].experts}):
        number = routers.get(place)
        if number is None and len(stated) == 1:
            (number,) = stated
        if number is None:
            number = 1 + max(max(names[part].experts.get(place, {-1: set()})) for part in names)
        numbers[place] = number
    return numbers


def _experts(names: Mapping[str, Names], numbers: Mapping[str, int]) -> Iterator[Finding]:
    for place, number in numbers.items():
        held = {part: names[part].experts.get(place, {}) for part in names}
        for part, experts in held.items():
            if experts:
                absent = set(range(number)) - _whole_experts(experts)
                yield from _finding(Fault.ABSENT, EXPERT, part, place, absent, number)
                more = {index for index in experts if index >= number}
                yield from _finding(Fault.TOO_MANY, EXPERT, part, place, more, number)
        if held[MODEL] and held[OPTIMIZER]:
            differing = held[MODEL].keys() ^ held[OPTIMIZER].keys()
            yield from _finding(Fault.OTHERS, EXPERT, "", place, differing, number)


def _whole_experts(experts: Mapping[int, set[str]]) -> set[int]:
    """The experts that have every parameter that any has."""
    every = set().union(*experts.values())
    return {index for index, parameters in experts.items() if parameters == every}


def _layers(names: Mapping[str, Names]) -> Iterator[Finding]:
    places = _in_order({*names[MODEL].layers, *names[OPTIMIZER].layers})
    for place in places:
        held = {part: names[part].layers.get(place, set()) for part in names}
        number = max(held[MODEL] | held[OPTIMIZER]) + 1
        absent = set(range(number)) - held[MODEL]
        yield from _finding(Fault.ABSENT, LAYER, MODEL, place, absent, None)
        # A layer that is not trained has no state, so only what the model lacks tells something.
        others = held[OPTIMIZER] - held[MODEL]
        yield from _finding(Fault.OTHERS, LAYER, "", place, others, None)


def _doubles(model: Names) -> Iterator[Finding]:
    """The layers and experts whose parameters two model chunks hold."""
    layers = {layer for name in model.twice for layer in layers_in(name)}
    for place in _in_order({place for place, _ in layers}):
        numbers = {number for found, number in layers if found == place}
        yield from _finding(Fault.TWICE, LAYER, MODEL, place, numbers, None)


def _tensors(entries: Entries) -> Iterator[Finding]:
    for key, tensor in entries.items():
        found = part_and_name(key)
        if tensor is None or found is None:
            continue
        if tensor.is_stored_twice:
            yield Finding(Fault.TWICE, part=found[0], place=key)
        elif tensor.has_holes:
            yield Finding(Fault.HOLES, part=found[0], place=key)


def _stated(layouts: Iterable[RankLayout]) -> Iterator[Finding]:
    for (experts, size), missing in missing_ranks(layouts).items():
        place = f"{experts} experts on {size} EP ranks, {missing} of which stated nothing"
        yield Finding(Fault.LAYOUT, place=place)


def _finding(  # noqa: PLR0913, PLR0917 - its fields
    fault: Fault, kind: str, part: str, place: str, numbers: set[int], of: int | None
) -> Iterator[Finding]:
    if numbers:
        yield Finding(fault, kind, part, place, tuple(sorted(numbers)), of)


def _whole(keys: Iterable[str], findings: Iterable[Finding]) -> frozenset[str]:
    """The keys of what no finding puts in doubt.

    Where experts or layers are named wrongly, what stands under the other names of the place may be
    theirs.
    """
    in_doubt = {
        (one.part, one.place) for one in findings if one.fault not in {Fault.OTHERS, Fault.LAYOUT}
    }

    def places(key: str) -> Iterator[tuple[str, str]]:
        if found := part_and_name(key):
            part, name = found
            yield part, key
            yield from ((part, place) for place, _ in layers_in(name))
            if expert := expert_in(name):
                yield part, expert.place

    return frozenset(key for key in keys if in_doubt.isdisjoint(places(key)))


def _in_order(places: Iterable[str]) -> list[str]:
    """Places as people count: layer 2 before layer 10."""
    return sorted(
        places, key=lambda place: [(f"{p:0>9}" if p.isdecimal() else p) for p in place.split(".")]
    )
