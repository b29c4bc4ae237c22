"""SVG pictures of a story: the speedup curve, the tree of accepted candidates, shares of peaks, a loop's timeline.

Owns the drawing of plain data. All text from a lineage is escaped here.
"""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.report.html.figures import shortened, text
from asmevo.report.story.telling import Story
from asmevo.report.views.timeline import Round

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 200, 46, 20
_ROW, _LANE, _RADIUS = 22, 14, 4.5
_MOST_LANES = 12
_BARS = 420


def curve(told: Story) -> str:
    """Gain of the best so far over the attempts, in percent, as steps; a dot an accepted candidate, linked to its node."""
    points = [(number, 100 * (told.run.cycles / cycles - 1)) for number, cycles in told.curve]
    attempts = max(len(told.attempts), 1)
    most = max(max(gain for _, gain in points), 0.1)
    step = next(s for s in (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 1e4, 1e9) if most / s <= 5)
    top = step * -(-most // step)
    wide, high = _WIDTH - _LEFT - 8, _HEIGHT - _BOTTOM - 8

    def x(number: float) -> float:
        return _LEFT + wide * number / attempts

    def y(gain: float) -> float:
        return 8 + high * (1 - gain / top)

    parts = [f'<svg class="curve" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Modelled gain over the attempts">']
    for line in range(round(top / step) + 1):
        gain = line * step
        parts.append(
            f'<path class="grid" d="M{_LEFT} {y(gain):.1f}H{_WIDTH - 8}"/>'
            f'<text x="{_LEFT - 5}" y="{y(gain) + 4:.1f}" text-anchor="end">{gain:g} %</text>'
        )
    path = f"M{x(0):.1f} {y(0):.1f}" + "".join(f"H{x(number):.1f}V{y(gain):.1f}" for number, gain in points[1:])
    parts.append(f'<path class="best" d="{path}"/>')
    for tried in told.attempts:
        if tried.node is not None and tried.cycles is not None:
            gain = 100 * (told.run.cycles / tried.cycles - 1)
            parts.append(
                f'<a href="#n{tried.node}"><circle cx="{x(tried.number + 1):.1f}" cy="{y(max(gain, 0.0)):.1f}" r="3.5"/>'
                f"<title>node {tried.node}: {gain:+.2f} %</title></a>"
            )
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 4}">0</text>')
    parts.append(f'<text x="{_WIDTH - 8}" y="{_HEIGHT - 4}" text-anchor="end">{attempts:,} attempts</text></svg>')
    return "".join(parts)


def lanes(parents: Sequence[tuple[int, int | None]]) -> list[tuple[int, int | None, int]]:
    """A lane for each (node, parent): a parent's first child goes on in its lane, any other begins one.

    Gives (lane, row of the parent or None for K0, lane of the parent). K0 stands in lane 0 above row 0.
    """
    rows: dict[int | None, int] = {}
    found: list[tuple[int, int | None, int]] = []
    used: dict[int | None, int] = {None: 0}
    continued: set[int | None] = set()
    free = 1
    for row, (node, parent) in enumerate(parents):
        if parent in continued:
            lane, free = free, free + 1
        else:
            lane = used[parent]
            continued.add(parent)
        found.append((lane, rows.get(parent), used[parent]))
        used[node], rows[node] = lane, row
    return found


def tree(told: Story) -> str:
    """The tree of accepted candidates, one row a node from the oldest on; the best one is marked."""
    nodes = [chapter.node for chapter in told.chapters]
    placed = lanes([(node.id, node.parent) for node in nodes])
    widest = min(max((lane for lane, _, _ in placed), default=0), _MOST_LANES)
    left = (widest + 1) * _LANE + 12
    high = (len(nodes) + 1) * _ROW + 8

    def at(lane: int, row: int) -> tuple[float, float]:
        return min(lane, _MOST_LANES) * _LANE + 10, (row + 1) * _ROW + _ROW / 2

    parts = [
        f'<svg class="tree" width="100%" height="{high}" role="tree" aria-label="Accepted candidates" id="tree">'
        f'<circle class="k0" cx="10" cy="{_ROW / 2}" r="{_RADIUS}"/><text x="{left}" y="{_ROW / 2 + 4}">K0:'
        f" {told.run.cycles:,.0f} modelled cycles</text>"
    ]
    for row, (lane, parent_row, parent_lane) in enumerate(placed):
        x, y = at(lane, row)
        px, py = at(parent_lane, -1 if parent_row is None else parent_row)
        parts.append(f'<path class="line" d="M{px:.0f} {py:.0f}C{px:.0f} {y:.0f} {x:.0f} {py:.0f} {x:.0f} {y:.0f}"/>')
    for row, (node, (lane, _, _)) in enumerate(zip(nodes, placed, strict=True)):
        x, y = at(lane, row)
        best = " best" if told.best_node is not None and node.id == told.best_node.id else ""
        gain = 100 * (told.run.cycles / node.cycles - 1)
        what = shortened(f"{node.proposer}: {node.description}", 60)
        parts.append(
            f'<a href="#n{node.id}" class="node{best}" role="treeitem" data-node="{node.id}">'
            f'<rect x="0" y="{y - _ROW / 2:.0f}" width="100%" height="{_ROW}"/><circle cx="{x}" cy="{y}" r="{_RADIUS}"/>'
            f'<text x="{left}" y="{y + 4}"><tspan class="name">{node.id}</tspan> {gain:+.2f} % {text(node.verdict)}'
            f' <tspan class="dim">{text(what)}</tspan></text></a>'
        )
    return "".join(parts) + "</svg>"


def peaks(told: Story) -> str:
    """Of each launch, what share of the chip's peaks it reaches, before and after."""
    parts: list[str] = []
    for first, best in told.dispatches:
        rows = list(zip(first.achieved, best.achieved, strict=True))
        high = len(rows) * 30 + 4
        gain = 100 * (first.cycles / best.cycles - 1)
        parts.append(
            f"<div><h3>{text(first.launch)}</h3><p>{first.cycles:,.0f} &rarr; {best.cycles:,.0f} modelled cycles"
            f" of the dispatch ({gain:+.1f} %)</p>"
            f'<svg class="peaks" viewBox="0 0 {_WIDTH} {high}" role="img" aria-label="Shares of peaks">'
        )
        for row, (a, b) in enumerate(rows):
            y = row * 30
            parts.append(f'<text x="150" y="{y + 17}" text-anchor="end">{text(a.resource)}</text>')
            for bar, (name, value) in enumerate((("before", a), ("after", b))):
                share = min(value.share, 1.0)
                parts.append(
                    f'<rect class="{name}" x="156" y="{y + 3 + 11 * bar}" width="{max(share * _BARS, 0.5):.1f}" height="9">'
                    f"<title>{name}: {value.achieved:,.1f} of {value.peak:,.0f} {text(value.unit)}</title></rect>"
                    f'<text x="{160 + share * _BARS:.1f}" y="{y + 11 + 11 * bar}" class="small">{value.share:.1%}</text>'
                )
        parts.append("</svg></div>")
    return f'<div class="launches">{"".join(parts)}</div>' if parts else ""


def timeline(rounds: Sequence[tuple[str, Round]], most: int = 400) -> str:
    """Rounds of a loop on one scale: a bar from the start of the wait to the issue, one to the result; at most `most` rows."""
    widest = max((shown.cycles for _, shown in rounds), default=0.0) or 1.0
    parts: list[str] = []
    for name, shown in rounds:
        issues = shown.issues[:most]
        rest = len(shown.issues) - len(issues)
        high = len(issues) * 12 + 4
        more = f", first {most} of {len(shown.issues):,} instructions" if rest else ""
        parts.append(
            f"<h3>{text(name)}: {text(shown.header)}, {shown.cycles:,.0f} modelled cycles a round{more}</h3>"
            f'<div class="scroll"><svg class="timeline" viewBox="0 0 {_WIDTH + 280} {high}" role="img" aria-label="Timeline">'
        )
        for row, issue in enumerate(issues):
            y = row * 12
            start, at, end = (v / widest * _WIDTH for v in (issue.at - issue.waited, issue.at, min(issue.result, widest)))
            causes = ", ".join(cause for cause, lost in issue.causes.items() if lost)
            title = f"{issue.text}; at {issue.at:,.0f}, waited {issue.waited:,.0f} {causes}"
            parts.append(f"<g><title>{text(title)}</title>")
            if issue.waited:
                parts.append(f'<rect class="wait" x="{start:.1f}" y="{y + 2}" width="{max(at - start, 0.5):.1f}" height="8"/>')
            parts.append(f'<rect class="result" x="{at:.1f}" y="{y + 2}" width="{max(end - at, 1.5):.1f}" height="8"/>')
            parts.append(f'<text x="{_WIDTH + 6}" y="{y + 10}">{text(shortened(issue.text, 46))}</text></g>')
        parts.append("</svg></div>")
    return "".join(parts)
