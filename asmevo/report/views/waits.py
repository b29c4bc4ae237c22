"""View `waits`: each s_waitcnt, what may be outstanding before it, what would be enough, and what it costs in the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.analysis.waits.redundancy import Redundancy
from asmevo.ir.instruction import WaitCounts
from asmevo.ir.isa.model import Counter
from asmevo.ir.printer import print_operand
from asmevo.report.subject import Subject, place_of
from asmevo.report.views.table import cut, cycles, table


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait. `vmcnt` and `lgkmcnt` are the most events that may be outstanding before it.

    `enough` is the weakest wait in its place, "none" when it may go; all waits may be changed at once. `stall_cycles` are
    modelled, for one execution.
    """

    place: str
    block: str
    depth: int
    vmcnt: int
    lgkmcnt: int
    wait: str
    enough: str
    stall_cycles: float


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits in layout order, and how many could be weaker or go."""

    waits: tuple[Wait, ...]
    redundant: int
    relaxable: int


def waits(subject: Subject) -> Waits:
    """Return the view of a subject."""
    state = subject.analyses.get(WaitState)
    excess = {(w.label, w.index): w for w in subject.analyses.get(Redundancy).waits}
    found: list[Wait] = []
    for block in subject.kernel.blocks:
        for index, ((row, before), instruction) in enumerate(zip(state.walk(block.label), block.instructions, strict=True)):
            if row.event.wait is None:
                continue
            weaker = excess.get((block.label, index))
            lost = subject.stall_cycles(block.label, instruction)
            found.append(
                Wait(
                    place_of(instruction, block.label),
                    block.label,
                    subject.depth(block.label),
                    len(before.vmcnt.slots),
                    len(before.lgkmcnt.slots),
                    print_operand(row.event.wait),
                    _text(weaker.enough if weaker is not None else row.event.wait),
                    round(sum(lost.get(counter.value, 0.0) for counter in Counter), 1),
                )
            )
    redundant = sum(w.is_redundant for w in excess.values())
    return Waits(tuple(found), redundant, len(excess) - redundant)


def _text(counts: WaitCounts) -> str:
    return "none" if counts == WaitCounts() else print_operand(counts)


def lines(view: Waits, *, most: int | None = None) -> list[str]:
    """Return the view as text."""
    rows: list[Sequence[object]] = [
        (w.place, w.block, w.depth, w.vmcnt, w.lgkmcnt, w.wait, "" if w.enough == w.wait else w.enough, cycles(w.stall_cycles))
        for w in view.waits
    ]
    head = ("place", "block", "depth", "vmcnt", "lgkmcnt", "waits for", "enough", "stall cycles")
    told = f"{len(view.waits)} waits: {view.redundant} could go, {view.relaxable} could be weaker"
    return [told, *cut(table(head, rows, right=(2, 3, 4, 7)), most)]
