"""Columns of text. Owns the alignment and the escaping of cells, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asmevo.diagnostics import printable


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[int] = ()) -> list[str]:
    """Return the rows under their heads, two spaces apart; `right` are the columns aligned to the right. Cells are escaped."""
    cells = [tuple(printable(str(cell)) for cell in row) for row in rows]
    widths = [max(len(line[column]) for line in [tuple(head), *cells]) for column in range(len(head))]
    lines: list[str] = []
    for line in [tuple(head), *cells]:
        parts = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(parts).rstrip())
    return lines


def cut(lines: list[str], most: int | None) -> list[str]:
    """Return the first `most` lines and a line that says how many are left out; all when `most` is None."""
    if most is None or len(lines) <= most:
        return lines
    return [*lines[:most], f"... {len(lines) - most} more (--all shows each)"]


def cycles(value: float) -> str:
    """Return cycles as text: whole, or with one decimal below ten."""
    return f"{value:.1f}" if 0 < value < 10 and value != int(value) else f"{value:,.0f}"
