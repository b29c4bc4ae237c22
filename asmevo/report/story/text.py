"""A run's story for a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from asmevo.diagnostics import printable
from asmevo.report.story.changes import Kind, Line
from asmevo.report.story.telling import Chapter, Story
from asmevo.report.views.table import table

_WIDE = 56
_MARKS = {
    Kind.SAME: " ",
    Kind.REWORDED: "~",
    Kind.MOVED_FROM: "<",
    Kind.MOVED_TO: ">",
    Kind.REMOVED: "-",
    Kind.ADDED: "+",
}
_CURVE_ROWS, _CURVE_COLUMNS = 8, 64


def lines(told: Story, *, edits: bool = False) -> list[str]:
    """The story as text; with `edits` each accepted edit side by side."""
    run = told.run
    after = told.best_node.cycles if told.best_node else run.cycles
    found = [
        f"{printable(run.kernel)} ({run.target}), run {run.id}, seed {run.seed}, {run.started}",
        f"  {run.cycles:,.0f} -> {after:,.0f} modelled cycles ({100 * (told.speedup - 1):+.1f} %); nothing was measured",
        f"  {len(told.attempts)} attempts: " + ", ".join(f"{count} {printable(name)}" for name, count in told.statuses.items()),
        *(f"  {line}" for line in _curve(told)),
    ]
    rows = [(printable(s.proposer), f"{s.attempts:,}", f"{s.accepted:,}", _numbers(s.cost)) for s in told.spent]
    found += [f"  {line}" for line in table(("proposer", "tried", "accepted", "cost"), rows, right=(1, 2))]
    for chapter in told.chapters:
        found += _chapter(chapter, run.cycles, edits)
    for first, best in told.dispatches:
        found.append(f"{printable(first.launch)}: {first.cycles:,.0f} -> {best.cycles:,.0f} modelled cycles of the dispatch")
        rows = [
            (a.resource, f"{100 * a.share:.1f}", f"{100 * b.share:.1f}")
            for a, b in zip(first.achieved, best.achieved, strict=True)
        ]
        found += [f"  {line}" for line in table(("% of the chip's peak", "before", "after"), rows, right=(1, 2))]
    return [*found, *(f"note: {printable(note)}" for note in told.notes)]


def _curve(told: Story) -> list[str]:
    """Speedup of the best so far over the attempts, drawn with characters."""
    if told.best_node is None:
        return []
    attempts = max(len(told.attempts), 1)
    heights = [0.0] * _CURVE_COLUMNS
    for column in range(_CURVE_COLUMNS):
        until = attempts * (column + 1) / _CURVE_COLUMNS
        cycles = [best for number, best in told.curve if number <= until][-1]
        heights[column] = told.run.cycles / cycles - 1
    most = max(max(heights), 1e-9)
    found: list[str] = []
    for row in range(_CURVE_ROWS, 0, -1):
        bar = "".join("#" if height >= most * (row - 0.5) / _CURVE_ROWS else " " for height in heights)
        found.append(f"{100 * most * row / _CURVE_ROWS:6.1f} % |{bar}")
    return [*found, f"{'':8} +{'-' * _CURVE_COLUMNS} {attempts} attempts"]


def _chapter(chapter: Chapter, first: float, edits: bool) -> list[str]:
    node = chapter.node
    parent = "K0" if node.parent is None else f"node {node.parent}"
    gain = 100 * (first / node.cycles - 1)
    found = [
        f"node {node.id} from {parent}: {chapter.parent_cycles:,.0f} -> {node.cycles:,.0f} ({gain:+.1f} % over K0),"
        f" {node.verdict}: {printable(node.proposer)}: {printable(node.description)}"
    ]
    before, after = chapter.stalls_before, chapter.stalls_after
    causes = sorted({*before, *after}, key=lambda cause: -max(before.get(cause, 0), after.get(cause, 0)))[:4]
    if causes:
        told = ", ".join(f"{c} {100 * before.get(c, 0):.1f} -> {100 * after.get(c, 0):.1f}" for c in causes)
        found.append(f"  waits, % of the parent's time: {told}")
    if edits:
        for change in chapter.changed:
            found.append(f"  {printable(change.label)}:")
            found += [f"    {_row(line)}" for line in change.lines]
    return found


def _row(line: Line) -> str:
    if line.kind is Kind.GAP:
        return f"  ... {line.skipped} as before"
    left, right = (printable(text)[:_WIDE] for text in (line.left, line.right))
    return f"{_MARKS[line.kind]} {left:<{_WIDE}} | {right}".rstrip()


def _numbers(cost: Mapping[str, float]) -> str:
    return ", ".join(f"{value:,.6g} {printable(name)}" for name, value in cost.items())
