"""Where each PR of the stack stands in its picture, and how the lines between them run.

grandalf lays the layers out (Sugiyama's method): what a PR depends on stands above it, and a line
that passes a layer gets a place of its own there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from grandalf.graphs import Edge, Vertex, graph_core
from grandalf.layouts import SugiyamaLayout

from stack.model import Series

WIDTH, HEIGHT = 272, 104
_GAP_X, _GAP_Y = 28, 52
_MARGIN = 4  # for the lines around the outermost boxes
MAIN = 0  # no PR has that number


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the picture, in its units, from its top left corner."""

    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The picture of a stack.

    Attributes:
        width: Its width.
        height: Its height.
        boxes: Top left corner of each PR's box by its number; ``MAIN`` is main.
        lines: For each dependency, as the numbers of what is above and below, its line as an SVG
            path.
    """

    width: int
    height: int
    boxes: dict[int, Point]
    lines: dict[tuple[int, int], str]


class _Box:
    """What grandalf asks of a vertex."""

    def __init__(self) -> None:
        self.w, self.h = WIDTH, HEIGHT
        self.xy = (0.0, 0.0)


class _Route:
    """What grandalf asks of an edge."""

    def setpath(self, points: Sequence[tuple[float, float]]) -> None:
        """Take the centres of what the edge joins, and of the places it passes between them."""
        self.points = tuple(map(_whole, points))


def lay_out(series: Series) -> Layout:
    """Lay out a stack."""
    vertices = {number: Vertex(number) for number in (MAIN, *series.pull_requests)}
    for vertex in vertices.values():
        vertex.view = _Box()
    edges = {
        (above, pr.number): Edge(vertices[above], vertices[pr.number])
        for pr in series
        for above in pr.depends_on or (MAIN,)
    }
    for edge in edges.values():
        edge.view = _Route()
    # All stands on main, so this is one component. Its `Graph` would find that out, and lose the
    # order of the edges in a set, so that the same stack would give another picture.
    sugiyama = SugiyamaLayout(graph_core(vertices.values(), edges.values()))
    sugiyama.xspace, sugiyama.yspace = _GAP_X, _GAP_Y
    sugiyama.init_all(roots=[vertices[MAIN]])
    sugiyama.draw()
    for layer in sugiyama.layers:
        _spread([place.view for place in layer])
    sugiyama.draw_edges()
    return _picture(
        {number: _whole(vertex.view.xy) for number, vertex in vertices.items()},
        {pair: edge.view.points for pair, edge in edges.items()},
    )


def _spread(places: Sequence[_Box]) -> None:
    """Move apart what grandalf laid over another box of its layer: it takes a mean of four ways."""
    right = -math.inf
    for place in sorted(places, key=lambda place: place.xy[0]):
        x, y = place.xy
        x = max(x, right + place.w / 2)
        place.xy = (x, y)
        right = x + place.w / 2 + _GAP_X


def _picture(centres: dict[int, Point], routes: dict[tuple[int, int], Sequence[Point]]) -> Layout:
    """Boxes and lines from their centres and the places where a line passes a layer."""
    every = [point for points in (centres.values(), *routes.values()) for point in points]
    left = min(point.x for point in every) - WIDTH // 2 - _MARGIN
    top = min(point.y for point in every) - HEIGHT // 2 - _MARGIN
    placed = {number: Point(at.x - left, at.y - top) for number, at in centres.items()}
    lines = {}
    for pair, route in routes.items():
        lines[pair] = _line([Point(at.x - left, at.y - top) for at in route])
    return Layout(
        max(point.x for point in every) - left + WIDTH // 2 + _MARGIN,
        max(point.y for point in every) - top + HEIGHT // 2 + _MARGIN,
        {number: Point(at.x - WIDTH // 2, at.y - HEIGHT // 2) for number, at in placed.items()},
        lines,
    )


def _whole(at: tuple[float, float]) -> Point:
    return Point(round(at[0]), round(at[1]))


def _line(points: Sequence[Point]) -> str:
    """A line through layers: straight within each, bent between them."""
    half = HEIGHT // 2
    parts = [f"M{points[0].x} {points[0].y + half}"]
    for place, (start, end) in enumerate(pairwise(points)):
        begin, stop = start.y + half, end.y - half
        middle = (begin + stop) // 2
        parts.append(f"C{start.x} {middle} {end.x} {middle} {end.x} {stop}")
        if place < len(points) - 2:
            parts.append(f"V{end.y + half}")
    return " ".join(parts)
