"""Kernels, differences and verdicts as HTML fragments, for notebooks.

Owns the fragments; every text that comes from an object is escaped. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING

from asmevo.diagnostics import printable
from asmevo.ir.printer import print_instruction

if TYPE_CHECKING:
    from asmevo.ir.kernel import Kernel
    from asmevo.search.records import Optimisation
    from asmevo.verify.diff.kernels import KernelDiff
    from asmevo.verify.verdict import Verdict

_SHOWN = 200
"""Rows of a table; the rest is counted. A notebook keeps its output in its file."""
_COLOURS = {"refuted": "#b00020", "error": "#b00020", "unknown": "#8a6d00", "unsupported": "#8a6d00"}
_GOOD = "#1b6e2c"
_CHANGE_COLOURS = MappingProxyType(
    {"added": _GOOD, "removed": "#b00020", "moved": "#0b57a4", "re-encoded": "#8a6d00", "retargeted": "#8a6d00"}
)
_NO_COLOURS: Mapping[str, str] = MappingProxyType({})


def kernel_html(kernel: Kernel) -> str:
    """The kernel's blocks, each to be unfolded, and its size."""
    count = sum(len(block.instructions) for block in kernel.blocks)
    parts = [f"<p><b>{_text(kernel.name)}</b>: {kernel.target}, {count} instructions in {len(kernel.blocks)} blocks</p>"]
    left = _SHOWN
    for block in kernel.blocks:
        shown = block.instructions[: max(left, 0)]
        left -= len(block.instructions)
        lines = [f"{'' if i.offset is None else f'{i.offset:06x}':6}  {print_instruction(i)}" for i in shown]
        if len(shown) < len(block.instructions):
            lines.append(f"... {len(block.instructions) - len(shown)} more")
        to = ", ".join(block.successors) or "the end"
        head = f"{_text(block.label)}: {len(block.instructions)} instructions, then {_text(to)}"
        parts.append(f"<details><summary>{head}</summary><pre>{'<br>'.join(map(_text, lines))}</pre></details>")
    return f"<div>{''.join(parts)}</div>"


def verdict_html(verdict: Verdict) -> str:
    """The outcome, each basis with its assumptions, and the counterexample."""
    colour = _COLOURS.get(verdict.outcome.value, _GOOD)
    reason = f" ({_text(verdict.reason)})" if verdict.reason else ""
    head = f'<p>verdict: <b style="color:{colour}">{_text(verdict.outcome.value)}</b>{reason}</p>'
    rows = [(b.method, b.outcome.value, b.detail, "; ".join(b.assumptions)) for b in verdict.basis]
    parts = [head, _table(("method", "outcome", "detail", "assumes"), rows)]
    if example := verdict.counterexample:
        row = (example.where, example.before, example.after, example.detail)
        parts.append(_table(("counterexample", "before", "after", "detail"), [row]))
    return f"<div>{''.join(parts)}</div>"


def diff_html(diff: KernelDiff) -> str:
    """Changed fields and instructions."""
    parts = [f"<p><b>{_text(diff.name)}</b>: {diff.same} instructions the same, {len(diff.instructions)} changed</p>"]
    if diff.fields:
        rows = [(f.area, f.name, f.old or "none", f.new or "none") for f in diff.fields]
        parts.append(_table(("area", "field", "old", "new"), rows))
    if diff.instructions:
        changes = [(c.change.value, _place(c.old_offset), _place(c.new_offset), c.text) for c in diff.instructions]
        parts.append(_table(("change", "old", "new", "instruction"), changes, _CHANGE_COLOURS))
    return f"<div>{''.join(parts)}</div>"


def optimisation_html(result: Optimisation) -> str:
    """Modelled cycles before and after, and the verdict on the best kernel."""
    gain = (result.speedup - 1) * 100
    cycles = f"{result.before_cycles:,.0f} &rarr; {result.after_cycles:,.0f} modelled cycles ({gain:+.1f} %, no device)"
    told = f"<p><b>{_text(result.original.name)}</b>: {cycles}; {len(result.attempts)} attempts</p>"
    verdict = "<p>nothing verified and faster was found</p>" if result.verdict is None else verdict_html(result.verdict)
    return f"<div>{told}{verdict}</div>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], colours: Mapping[str, str] = _NO_COLOURS) -> str:
    """A table; `colours` gives that of a row's first cell by its text."""
    titles = "".join(f"<th>{_text(word)}</th>" for word in head)
    body = "".join(f"<tr>{_cells(row, colours)}</tr>" for row in rows[:_SHOWN])
    more = f"<p>... {len(rows) - _SHOWN} more</p>" if len(rows) > _SHOWN else ""
    return f"<table><tr>{titles}</tr>{body}</table>{more}"


def _cells(row: Sequence[str], colours: Mapping[str, str]) -> str:
    colour = colours.get(row[0])
    style = f' style="color:{colour}"' if colour else ""
    return f"<td{style}>{_text(row[0])}</td>" + "".join(f'<td style="text-align:left">{_text(cell)}</td>' for cell in row[1:])


def _place(offset: int | None) -> str:
    return "" if offset is None else f"{offset:06x}"


def _text(text: str) -> str:
    return escape(printable(text))
