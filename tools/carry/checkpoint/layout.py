"""The expert-parallel (EP) layout that a tree with the series states in a checkpoint's keys."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_KEY = re.compile(
    r"(?:.+\.)?expert_layout\.num_experts_(?P<experts>\d+)\.ep_rank_(?P<rank>\d+)_of_(?P<size>\d+)"
    r"\.(?:global_ep_rank_(?P<global_rank>\d+)_of_(?P<global_size>\d+)|no_global_grid)"
)


@dataclass(frozen=True, slots=True, order=True)
class RankLayout:
    """What a rank states.

    Attributes:
        experts: The number of experts of its model.
        size: The size of the EP group that its experts were named by.
        rank: Its rank in that.
        on_global_grid: Its rank and the size of the EP group of the global grid; None without one.
    """

    experts: int
    size: int
    rank: int
    on_global_grid: tuple[int, int] | None

    @property
    def is_standard(self) -> bool:
        """Whether the global grid names its experts alike."""
        return self.on_global_grid == (self.rank, self.size)

    def to_json(self) -> dict[str, Any]:
        """The layout as JSON holds it."""
        rank, size = self.on_global_grid or (None, None)
        return {
            "num_experts": self.experts,
            "ep_rank": self.rank,
            "ep_size": self.size,
            "global_ep_rank": rank,
            "global_ep_size": size,
        }


def stated_layouts(keys: Iterable[str]) -> tuple[RankLayout, ...]:
    """What the ranks stated, without doubles; nothing in a checkpoint that no such tree saved."""
    found = {_layout(match) for key in keys if (match := _KEY.fullmatch(key))}
    return tuple(sorted(found, key=lambda one: (one.experts, one.size, one.rank, str(one))))


def _layout(match: re.Match[str]) -> RankLayout:
    on_global = None
    if match["global_rank"]:
        on_global = (int(match["global_rank"]), int(match["global_size"]))
    return RankLayout(int(match["experts"]), int(match["size"]), int(match["rank"]), on_global)


def missing_ranks(layouts: Iterable[RankLayout]) -> dict[tuple[int, int], int]:
    """How many EP ranks stated nothing, by the number of experts and the EP size of the others."""
    stated: dict[tuple[int, int], set[int]] = {}
    for layout in layouts:
        stated.setdefault((layout.experts, layout.size), set()).add(layout.rank)
    return {key: key[1] - len(ranks) for key, ranks in stated.items() if len(ranks) != key[1]}
