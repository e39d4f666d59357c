"""What was found in a checkpoint, in words: a line each, then what it means."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from carry.checkpoint.findings import EXPERT, LAYER, CheckpointReport, Fault, Finding
from carry.checkpoint.names import MODEL, OPTIMIZER
from stack.words import counted

_WRONG_NAMES = (Fault.ABSENT, Fault.TOO_MANY, Fault.OTHERS, Fault.TWICE)


def lines(report: CheckpointReport) -> Iterator[str]:
    """What is there, and what is wrong, each in a line."""
    layers = ", ".join(f"{number} in {place}" for place, number in report.layers.items())
    experts = sorted(set(report.experts.values()))
    of = f"; {' or '.join(map(str, experts))} experts in {len(report.experts)} of them"
    yield f"{report.folder}: layers: {layers}{of if experts else '; no experts'}"
    alike: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for one in report.findings:
        alike[one.fault, one.kind, one.part, one.numbers, one.of].append(one)
    yield from map(_line, alike.values())


def verdict(report: CheckpointReport) -> list[str]:
    """What it means, in sentences."""
    said = (
        [*_wrong(report)]
        if report.findings
        else ["Every expert and layer is named once, and model and optimizer agree."]
    )
    return [*said, *_on_layout(report)]


def _wrong(report: CheckpointReport) -> Iterator[str]:
    if report.has(*_WRONG_NAMES, kind=EXPERT):
        yield "It was saved under a wrong expert-parallel layout."
    elif report.has(Fault.LAYOUT):
        yield "The expert-parallel layout that it states is not whole, so ranks are missing."
    if report.has(*_WRONG_NAMES, kind=LAYER):
        yield "Its layers are named wrongly."
    if report.has(Fault.ABSENT):
        yield (
            "It cannot be repaired: names have collided, so the tensors that are left under a name "
            "are mixed of several, and what was left out is nowhere."
        )
    elif report.has(Fault.TOO_MANY, Fault.OTHERS, Fault.TWICE, Fault.HOLES):
        yield "It cannot be repaired: which of the tensors is whose stands nowhere."
    yield (
        f"Whole are {len(report.whole)} of the {report.entries} entries of model and optimizer"
        f"{_which(report)}."
    )


def _which(report: CheckpointReport) -> str:
    if any(one.kind != EXPERT and one.fault is not Fault.LAYOUT for one in report.findings):
        return ""
    hit = {one.part for one in report.findings if one.kind == EXPERT and one.part}
    if hit == {MODEL}:
        return ": all that is no expert's, and the optimizer's of the experts"
    if hit == {OPTIMIZER}:
        return ": all that is no expert's, and the model's of the experts"
    return ": all that is no expert's"


def _on_layout(report: CheckpointReport) -> Iterator[str]:
    if report.without_index:
        yield (
            f"Experts are not named one by one in {_places(report.without_index)}, so nothing can "
            "be told of them."
        )
    if not report.experts:
        return
    if not report.layouts:
        yield (
            "It states no expert-parallel layout, as one that an unmodified release or an older "
            "series saved: whether experts stand under one another's names cannot be told."
        )
        return
    by = f"a layout of the model's own ({_pairs(report)})"
    yield (
        "A tree with the series saved it, under "
        f"{by if report.is_custom else 'the layout of the global grid'}. Going back: the "
        "unmodified release loads it rightly where the model's layout is the global grid's; "
        "elsewhere it fails on it, or loads it wrongly without an error."
    )


def _pairs(report: CheckpointReport) -> str:
    pairs = {
        (one.size, one.on_global_grid and one.on_global_grid[1])
        for one in report.layouts
        if not one.is_standard
    }
    return "; ".join(
        f"EP {size}, {'no global grid' if on_global is None else f'global EP {on_global}'}"
        for size, on_global in sorted(pairs, key=str)
    )


def _line(alike: list[Finding]) -> str:
    one = alike[0]
    places = _places([found.place for found in alike])
    if one.fault is Fault.LAYOUT:
        return f"layout: {places}"
    several = "s" if len(one.numbers) > 1 else ""
    what = f"{one.kind}{several} {_ranges(one.numbers)}" if one.kind else "elements of a tensor"
    of = f" of {one.of}" if one.of is not None else ""
    where = f" in the {one.part}" if one.part else ""
    return f"{places}: {what}{of}: {one.fault}{where}"


def _places(places: Iterable[str]) -> str:
    first, *others = places
    return f"{first} and {counted(len(others), 'more place')}" if others else first


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers as people write them: ``0, 4 to 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if run[1:] else str(run[0]) for run in runs)
