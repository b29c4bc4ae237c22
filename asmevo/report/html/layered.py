"""Layered drawing of a directed graph: places for boxes and lines, after Sugiyama, Tagawa and Toda.

Owns the geometry only: layers by longest path, dummies where an edge crosses layers, order within a layer by barycentres, and
columns that keep straight what can be straight. Edges against the order given (back edges) are drawn from below to above, on
the right. Deterministic; the work is bounded by MOST_PLACES.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_PLACES = 6_000
"""Boxes and dummies that are laid out at most."""

_SWEEPS = 6
_GAP_X, _GAP_Y, _DUMMY_WIDTH, _LANE = 18.0, 34.0, 8.0, 9.0

Point = tuple[float, float]
Place = str | tuple[str, str, int]
"""A node, or where the edge from one node to another passes a layer."""


@dataclass(frozen=True, slots=True)
class Box:
    """A node's rectangle: `x` and `y` of its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """An edge as points from source to target; `back` for one against the order."""

    source: str
    target: str
    points: tuple[Point, ...]
    back: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes by node, lines in the order of the edges, and the size of it all."""

    boxes: dict[str, Box]
    lines: tuple[Line, ...]
    width: float
    height: float


def draw(sizes: Mapping[str, tuple[float, float]], edges: Sequence[tuple[str, str]]) -> Drawing | None:
    """Return the drawing of nodes with their (width, height), in an order such that most edges lead forward.

    None when the graph needs more than MOST_PLACES places.
    """
    order = {node: position for position, node in enumerate(sizes)}
    forward = sorted({(s, t) for s, t in edges if order[s] < order[t]}, key=lambda e: (order[e[0]], order[e[1]]))
    layer = _layers(order, forward)
    if len(order) + sum(layer[t] - layer[s] - 1 for s, t in forward) > MOST_PLACES:
        return None
    grid = _Grid(sizes, layer, forward)
    grid.order_layers()
    x = grid.columns()
    return _drawing(sizes, edges, order, layer, grid, x)


def _layers(order: Mapping[str, int], forward: Sequence[tuple[str, str]]) -> dict[str, int]:
    layer = dict.fromkeys(order, 0)
    for source, target in forward:
        layer[target] = max(layer[target], layer[source] + 1)
    return layer


class _Grid:
    """Places in layers: nodes by name, and a dummy (source, target, layer) for each layer that an edge only passes."""

    def __init__(
        self, sizes: Mapping[str, tuple[float, float]], layer: Mapping[str, int], forward: Sequence[tuple[str, str]]
    ) -> None:
        self.layers: list[list[Place]] = [[] for _ in range(max(layer.values(), default=0) + 1)]
        self.width: dict[Place, float] = {node: size[0] for node, size in sizes.items()}
        self.above: dict[Place, list[Place]] = {}
        self.below: dict[Place, list[Place]] = {}
        self.chains: dict[tuple[str, str], list[Place]] = {}
        for node in sizes:
            self.layers[layer[node]].append(node)
        for source, target in forward:
            chain: list[Place] = [source]
            for level in range(layer[source] + 1, layer[target]):
                dummy = (source, target, level)
                self.width[dummy] = _DUMMY_WIDTH
                self.layers[level].append(dummy)
                chain.append(dummy)
            chain.append(target)
            self.chains[source, target] = chain
            for upper, lower in pairwise(chain):
                self.below.setdefault(upper, []).append(lower)
                self.above.setdefault(lower, []).append(upper)

    def order_layers(self) -> None:
        """Sort each layer by the mean position of its neighbours, downwards and upwards in turn."""
        for sweep in range(_SWEEPS):
            downwards = sweep % 2 == 0
            neighbours = self.above if downwards else self.below
            levels = range(len(self.layers))
            for level in levels if downwards else reversed(levels):
                beside = level - 1 if downwards else level + 1
                fixed = self.layers[beside] if 0 <= beside < len(self.layers) else []
                place = {one: float(number) for number, one in enumerate(fixed)}
                keys: dict[Place, float] = {}
                for number, one in enumerate(self.layers[level]):
                    near = [place[n] for n in neighbours.get(one, ()) if n in place]
                    keys[one] = sum(near) / len(near) if near else float(number)
                self.layers[level].sort(key=keys.__getitem__)

    def columns(self) -> dict[Place, float]:
        """Return the middle of each place: as near to its neighbours as the order and the widths allow."""
        x: dict[Place, float] = {}
        for layer in self.layers:
            edge = 0.0
            for one in layer:
                x[one] = edge + self.width[one] / 2
                edge += self.width[one] + _GAP_X
        for sweep in range(_SWEEPS):
            neighbours = self.above if sweep % 2 == 0 else self.below
            for layer in self.layers if sweep % 2 == 0 else reversed(self.layers):
                self._pull(layer, neighbours, x)
        least = min((x[one] - self.width[one] / 2 for one in x), default=0.0)
        return {one: at - least for one, at in x.items()}

    def _pull(self, layer: list[Place], neighbours: Mapping[Place, list[Place]], x: dict[Place, float]) -> None:
        wanted: list[float] = []
        for one in layer:
            near = neighbours.get(one)
            wanted.append(sum(x[n] for n in near) / len(near) if near else x[one])
        # Left to right as far left as wanted, right to left as far right; the mean of both keeps the order and the gaps.
        left = self._packed(layer, wanted)
        mirrored = self._packed(layer[::-1], [-w for w in reversed(wanted)])
        right = [-m for m in reversed(mirrored)]
        for one, a, b in zip(layer, left, right, strict=True):
            x[one] = (a + b) / 2

    def _packed(self, layer: Sequence[Place], wanted: Sequence[float]) -> list[float]:
        placed: list[float] = []
        edge = float("-inf")
        for one, want in zip(layer, wanted, strict=True):
            half = self.width[one] / 2
            at = max(want, edge + half)
            placed.append(at)
            edge = at + half + _GAP_X
        return placed


def _drawing(
    sizes: Mapping[str, tuple[float, float]],
    edges: Sequence[tuple[str, str]],
    order: Mapping[str, int],
    layer: Mapping[str, int],
    grid: _Grid,
    x: Mapping[Place, float],
) -> Drawing:
    heights = [max((sizes[n][1] for n in level if isinstance(n, str)), default=0.0) for level in grid.layers]
    tops: list[float] = []
    edge = 0.0
    for height in heights:
        tops.append(edge)
        edge += height + _GAP_Y
    boxes = {node: Box(x[node] - width / 2, tops[layer[node]], width, height) for node, (width, height) in sizes.items()}
    right = max((box.x + box.width for box in boxes.values()), default=0.0)
    lines: list[Line] = []
    lanes = 0
    for source, target in dict.fromkeys(edges):
        if order[source] < order[target]:
            points = [(x[source], boxes[source].y + boxes[source].height)]
            for place in grid.chains[source, target][1:-1]:
                level = place[2] if isinstance(place, tuple) else 0
                points += [(x[place], tops[level]), (x[place], tops[level] + heights[level])]
            lines.append(Line(source, target, (*points, (x[target], boxes[target].y)), back=False))
        else:
            lanes += 1
            lane = right + _GAP_X + lanes * _LANE
            first, last = boxes[source], boxes[target]
            out, into = first.y + first.height + _GAP_Y / 3, last.y - _GAP_Y / 3
            start, end = x[source] + first.width / 4, x[target] + last.width / 4
            points = [(start, first.y + first.height), (start, out), (lane, out), (lane, into), (end, into), (end, last.y)]
            lines.append(Line(source, target, tuple(points), back=True))
    return Drawing(boxes, tuple(lines), right + _GAP_X + (lanes + 1) * _LANE, max(edge - _GAP_Y, 0.0) + _GAP_Y / 2)
