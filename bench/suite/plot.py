"""The suite's gains as an SVG picture: a bar a kernel, LLVM's best beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bench.suite.measure import Row
from bench.suite.tables import best_of_llvm, gain

_ROW, _LEFT, _WIDTH, _TOP = 20, 230, 520, 46
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.t{font-weight:600}line{stroke:#999}.g{stroke:#ddd}"
    ".a{fill:#2b6cb0}.l{fill:#c05621}svg{background:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#444}svg{background:#1a1a1a}.a{fill:#63b3ed}.l{fill:#f6ad55}}"
)


def picture(rows: Sequence[Row], method: str) -> str:
    """A horizontal bar from 1 for each kernel's gain by `method`, and a mark for LLVM's best object of the same source."""
    gains = [gain(row.before, row.found[method].cycles) for row in rows]
    marks = [gain(row.before, best_of_llvm(row)) for row in rows]
    most = max([1.05, *gains, *marks])
    steps = max(1, round((most - 1) / 5 * 100)) / 100
    ticks = [1 + steps * n for n in range(int((most - 1) / steps + 1e-9) + 1)]
    height = _TOP + _ROW * len(rows) + 10
    bottom = height - 6

    def x(value: float) -> float:
        return _LEFT + (value - 1) / (most - 1) * _WIDTH

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 70} {height}" role="img" '
        f'aria-label="Gains of the suite\'s kernels"><style>{_STYLE}</style>'
        f'<text class="t" x="8" y="16">Modelled gain by {escape(method)}; mark: LLVM\'s best object</text>'
    ]
    for tick in ticks:
        kind = ' class="g"' if tick > 1 else ""
        parts.append(f'<line{kind} x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{_TOP - 8}" y2="{bottom}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{_TOP - 12}" text-anchor="middle">{tick:.2f}</text>')
    for number, (row, value, mark) in enumerate(zip(rows, gains, marks, strict=True)):
        y = _TOP + _ROW * number
        end = x(max(value, 1.0))
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(row.kernel)}</text>')
        parts.append(f'<rect class="a" x="{_LEFT}" y="{y + 4}" width="{end - _LEFT:.1f}" height="12"/>')
        parts.append(f'<rect class="l" x="{x(mark) - 1.5:.1f}" y="{y + 2}" width="3" height="16"/>')
        parts.append(f'<text x="{max(end, x(mark)) + 6:.1f}" y="{y + 14}">{value:.3f}</text>')
    return "".join(parts) + "</svg>\n"
