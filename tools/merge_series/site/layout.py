"""Where each PR of the stack stands in its picture, and how the lines between them run.

grandalf lays the layers out (Sugiyama's method): what a PR depends on stands above it, and a line
that passes a layer gets a place of its own there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from grandalf.graphs import Edge, Graph, Vertex
from grandalf.layouts import SugiyamaLayout
from grandalf.routing import EdgeViewer, route_with_lines

from stack.model import Series

WIDTH, HEIGHT = 252, 104
_GAP_X, _GAP_Y = 28, 52
_MARGIN = 4  # for the lines around the outermost boxes
MAIN = 0  # no PR has that number


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the picture, in its units, from its top left corner."""

    x: float
    y: float


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

    width: float
    height: float
    boxes: dict[int, Point]
    lines: dict[tuple[int, int], str]


class _Box:
    """What grandalf asks of a vertex."""

    def __init__(self) -> None:
        self.w, self.h = WIDTH, HEIGHT
        self.xy = (0.0, 0.0)


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
        edge.view = EdgeViewer()
    (core,) = Graph(list(vertices.values()), list(edges.values())).C
    sugiyama = SugiyamaLayout(core)
    sugiyama.xspace, sugiyama.yspace = _GAP_X, _GAP_Y
    sugiyama.route_edge = route_with_lines
    sugiyama.init_all(roots=[vertices[MAIN]])
    sugiyama.draw()
    return _picture(
        {number: Point(*vertex.view.xy) for number, vertex in vertices.items()},
        {pair: [Point(*at) for at in edge.view._pts[1:-1]] for pair, edge in edges.items()},  # noqa: SLF001 - grandalf has no other way to read a route
    )


def _picture(centres: dict[int, Point], routes: dict[tuple[int, int], Sequence[Point]]) -> Layout:
    """Boxes and lines from their centres and the places where a line passes a layer."""
    every = [*centres.values(), *(point for route in routes.values() for point in route)]
    left = min(point.x for point in every) - WIDTH / 2 - _MARGIN
    top = min(point.y for point in every) - HEIGHT / 2 - _MARGIN
    placed = {number: Point(at.x - left, at.y - top) for number, at in centres.items()}
    lines = {}
    for (above, below), route in routes.items():
        passed = [Point(at.x - left, at.y - top) for at in route]
        lines[above, below] = _line([placed[above], *passed, placed[below]])
    return Layout(
        max(point.x for point in every) - left + WIDTH / 2 + _MARGIN,
        max(point.y for point in every) - top + HEIGHT / 2 + _MARGIN,
        {number: Point(at.x - WIDTH / 2, at.y - HEIGHT / 2) for number, at in placed.items()},
        lines,
    )


def _line(points: Sequence[Point]) -> str:
    """A line through layers: straight within each, bent between them."""
    half = HEIGHT / 2
    parts = [f"M{points[0].x:g} {points[0].y + half:g}"]
    for place, (start, end) in enumerate(pairwise(points)):
        begin, stop = start.y + half, end.y - half
        middle = (begin + stop) / 2
        parts.append(f"C{start.x:g} {middle:g} {end.x:g} {middle:g} {end.x:g} {stop:g}")
        if place < len(points) - 2:
            parts.append(f"V{end.y + half:g}")
    return " ".join(parts)
