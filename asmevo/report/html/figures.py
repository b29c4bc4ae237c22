"""SVG pictures of a kernel: its control flow and its register pressure. All text in them is escaped here.

Owns the drawing of plain data; what is drawn comes from the views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from asmevo.diagnostics import printable
from asmevo.report.html.layered import Line, draw
from asmevo.report.views.cfg import Cfg, Node
from asmevo.report.views.table import cycles

_CHARACTER, _LINE, _LONGEST = 6.7, 14.0, 28
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _BUCKETS = 560, 170, 30, 18, 500
_FILES = ("vgpr", "agpr", "sgpr")


def text(value: str) -> str:
    """Return hostile text as it may stand in HTML, SVG or an attribute."""
    return escape(printable(value), quote=True)


def shortened(value: str, most: int = _LONGEST) -> str:
    """Return a text of at most `most` characters, with an ellipsis where it was cut."""
    return value if len(value) <= most else f"{value[: most - 1]}…"


def flow_picture(view: Cfg, first_row: Mapping[str, int], order: Sequence[str]) -> str:
    """Return the control flow as SVG; boxes link to rows (`#rN`) of `first_row`. Empty when there are too many blocks.

    `order` is one in which most edges lead forward.
    """
    by_label = {node.label: node for node in view.nodes}
    nodes = {label: by_label[label] for label in order if by_label[label].reachable}
    sizes = {label: _size(node) for label, node in nodes.items()}
    edges = {(node.label, edge.target): edge.kind for node in nodes.values() for edge in node.edges if edge.target in nodes}
    drawing = draw(sizes, list(edges))
    if drawing is None:
        return ""
    parts = [
        f'<svg class="flow" viewBox="-8 -8 {drawing.width + 16:.0f} {drawing.height + 16:.0f}" '
        f'width="{drawing.width + 16:.0f}" height="{drawing.height + 16:.0f}" role="img" aria-label="Control flow">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>'
    ]
    parts += [_edge(line, edges[line.source, line.target]) for line in drawing.lines]
    for label, box in drawing.boxes.items():
        node = nodes[label]
        where = f"{box.x:.1f}", f"{box.y:.1f}", f"{box.width:.1f}", f"{box.height:.1f}"
        title, rest = _words(node)
        parts.append(
            f'<a href="#r{first_row[label]}" class="node d{min(node.depth, 4)}{" root" if node.root else ""}">'
            f"<title>{text(label)}</title>"
            f'<rect x="{where[0]}" y="{where[1]}" width="{where[2]}" height="{where[3]}" rx="4"/>'
            f'<text x="{box.x + 7:.1f}" y="{box.y + 15:.1f}"><tspan class="name">{text(title)}</tspan>'
            f'<tspan x="{box.x + 7:.1f}" dy="{_LINE}">{text(rest)}</tspan></text></a>'
        )
    return "".join(parts) + "</svg>"


def _words(node: Node) -> tuple[str, str]:
    cost = "" if node.cycles is None else f", {cycles(node.cycles)} cyc"
    return shortened(printable(node.label)), f"{node.instructions} instr{cost}"


def _size(node: Node) -> tuple[float, float]:
    return max(map(len, _words(node))) * _CHARACTER + 14, 2 * _LINE + 8


def _edge(line: Line, kind: str) -> str:
    (x, y), *rest = line.points
    path = f"M{x:.1f} {y:.1f}"
    if line.back:
        path += "".join(f"L{a:.1f} {b:.1f}" for a, b in rest)
    else:
        for a, b in rest:
            middle = (y + b) / 2
            path += f"C{x:.1f} {middle:.1f} {a:.1f} {middle:.1f} {a:.1f} {b:.1f}"
            x, y = a, b
    return f'<path class="edge {"back" if line.back else kind}" d="{path}" marker-end="url(#tip)"/>'


def pressure_curve(counts: Sequence[tuple[int, int, int]], loops: Sequence[tuple[int, int, int]]) -> str:
    """Return live (VGPR, AGPR, SGPR) along the code as SVG: the most of each stretch of instructions.

    `loops` are stretches (first, last, depth) to shade.
    """
    if not counts:
        return ""
    most = max(max(max(row) for row in counts), 8)
    top = -(-most // 8) * 8
    buckets = min(_BUCKETS, len(counts))
    bounds = [len(counts) * n // buckets for n in range(buckets + 1)]
    wide, high = _WIDTH - _LEFT, _HEIGHT - _BOTTOM

    def x(row: float) -> float:
        return _LEFT + wide * row / len(counts)

    def y(count: float) -> float:
        return high - (high - 8) * count / top

    parts = [
        f'<svg class="curve" viewBox="0 0 {_WIDTH} {_HEIGHT}" data-rows="{len(counts)}" data-left="{_LEFT}" '
        f'data-width="{_WIDTH}" role="img" aria-label="Live registers along the code">'
    ]
    parts += [
        f'<rect class="loop" x="{x(first):.1f}" y="0" width="{max(x(last + 1) - x(first), 0.5):.1f}" height="{high}"/>'
        for first, last, _ in loops
    ]
    for count in sorted({0, top // 4, top // 2, 3 * top // 4, top}):
        parts.append(
            f'<path class="grid" d="M{_LEFT} {y(count):.1f}H{_WIDTH}"/>'
            f'<text x="{_LEFT - 4}" y="{y(count) + 4:.1f}" text-anchor="end">{count}</text>'
        )
    for file, name in enumerate(_FILES):
        heights = [max(row[file] for row in counts[a:b]) for a, b in pairwise(bounds)]
        if any(heights):
            path = f"M{x(0):.1f} {y(heights[0]):.1f}"
            for a, height in zip(bounds, heights, strict=False):
                path += f"H{x(a):.1f}V{y(height):.1f}"
            parts.append(f'<path class="{name}" d="{path}H{_WIDTH}"/>')
    parts.append(f'<path class="cursor" d="M{_LEFT} 0V{high}"/>')
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 4}">0</text>')
    parts.append(f'<text x="{_WIDTH}" y="{_HEIGHT - 4}" text-anchor="end">{len(counts):,} instructions</text></svg>')
    return "".join(parts)
