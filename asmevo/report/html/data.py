"""What the page's script works on: the listing as columns, with live ranges as the units that change from row to row.

Owns the form of that data and its bounds. Everything is text and numbers; the script makes text nodes of it, never markup.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from asmevo.diagnostics import printable
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.finding import Finding
from asmevo.ir.registers import FLAT_SCRATCH, VECTOR_MASK, unit_name, units
from asmevo.report.subject import Subject
from asmevo.report.views.listing import Listing
from asmevo.report.views.pressure import live_sets
from asmevo.report.views.profile import told

MOST_FINDINGS = 4_000
"""Findings that the page lists; the rest are counted."""
MOST_CHANGES = 1_500_000
"""Changes of live registers that the page carries; with more it has no gutter of live ranges."""

_GUTTER = (1 << FLAT_SCRATCH) - 1 | VECTOR_MASK


def page_data(subject: Subject, view: Listing, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the listing, blocks, loops, live ranges and findings of a subject, ready for JSON.

    Rows are numbered over all instructions in layout order.
    """
    lines = [line for block in view.blocks for line in block.lines]
    causes = {cause: number for number, cause in enumerate(dict.fromkeys(["", *(line.cause for line in lines)]))}
    first = first_rows(view)
    rows = {id(i): number for number, i in enumerate(subject.kernel.instructions())}
    changes = _changes(subject)
    return {
        "place": [line.place for line in lines],
        "text": [printable(line.text) for line in lines],
        "live": [[line.vgpr for line in lines], [line.agpr for line in lines], [line.sgpr for line in lines]],
        "vmcnt": [line.vmcnt for line in lines],
        "lgkmcnt": [line.lgkmcnt for line in lines],
        "stall": [line.stall_cycles for line in lines],
        "cause": [causes[line.cause] for line in lines],
        "causes": list(causes),
        "measured": [line.measured for line in lines] if subject.measured is not None else [],
        "told": [told(subject.measured, i) for i in subject.kernel.instructions()] if subject.measured is not None else [],
        "blocks": [
            [printable(block.label), first[block.label], len(block.lines), block.depth,
             ", ".join(printable(label) for label in block.predecessors[:8])]
            for block in view.blocks
        ],
        "loops": _loops(subject),
        "units": changes[0],
        "changes": changes[1],
        "findings": [
            [rows[id(f.instruction)], f.code, f.severity.value, printable(f.message),
             rows.get(id(f.producer), -1) if f.producer is not None else -1]
            for f in findings[:MOST_FINDINGS]
        ],
    }  # fmt: skip


def first_rows(view: Listing) -> dict[str, int]:
    """Return each block's first row."""
    found: dict[str, int] = {}
    row = 0
    for block in view.blocks:
        found[block.label] = row
        row += len(block.lines)
    return found


def _loops(subject: Subject) -> list[list[Any]]:
    position = {block.label: number for number, block in enumerate(subject.kernel.blocks)}
    return [
        [position[loop.header], loop.depth, sorted(position[label] for label in loop.blocks)]
        for loop in subject.analyses.get(Loops).loops
    ]


def _changes(subject: Subject) -> tuple[list[str], list[list[int]]]:
    """Names of the units that ever live, and for each row the columns that begin or end there; nothing beyond the bound."""
    sets = live_sets(subject)
    live = [one & _GUTTER for block in subject.kernel.blocks for one in sets[block.label]]
    ever = 0
    for one in live:
        ever |= one
    column = {unit: number for number, unit in enumerate(units(ever))}
    before, total = 0, 0
    changes: list[list[int]] = []
    for one in live:
        changed = before ^ one
        total += changed.bit_count()
        if total > MOST_CHANGES:
            return [], []
        changes.append([column[unit] for unit in units(changed)])
        before = one
    return [unit_name(unit) for unit in column], changes


def script_json(data: dict[str, Any]) -> str:
    """Return JSON that can stand in a script element whatever strings it holds."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
