"""View `loops`: nesting, trip counts, bounds and modelled cost of each loop."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.control.loops import Loop, Loops
from asmevo.ir.analysis.cost.loop_bounds import LoopBound, LoopBounds
from asmevo.ir.analysis.values.induction import Inductions
from asmevo.ir.printer import print_instruction
from asmevo.report.subject import Subject, place_of
from asmevo.report.views.pressure import live_counts
from asmevo.report.views.table import cycles, table

_SHOWN_RECURRENCE = 12


@dataclass(frozen=True, slots=True)
class Bounds:
    """No round of one wave is shorter than `bound_cycles`: the busiest unit, or the longest recurrence.

    `recurrence` are its instructions in order. `branches`: every block is counted once, as if all were taken.
    """

    bound_cycles: int
    recurrence_cycles: int
    recurrence: tuple[str, ...]
    issue_cycles: dict[str, int]
    matrix_instructions: int
    matrix_chain: int
    matrix_chain_cycles: int
    matrix_issue_cycles: int
    branches: bool


@dataclass(frozen=True, slots=True)
class LoopView:
    """One loop. `bounds` for innermost ones only. `cycles` of a round and `stalls` by cause are modelled.

    With inner loops or branches inside, a round is counted as each block once. `trips`: how often the header runs for each
    entry, exactly or at most; None when not known.
    """

    header: str
    place: str
    depth: int
    blocks: int
    instructions: int
    trips: int | None
    trips_at_most: int | None
    live: dict[str, int]
    cycles: float
    stalls: dict[str, float]
    bounds: Bounds | None


@dataclass(frozen=True, slots=True)
class LoopsView:
    """The loops, outermost first, and cycles that are none since they can be entered elsewhere (back edges)."""

    loops: tuple[LoopView, ...]
    irreducible: tuple[tuple[str, str], ...]


def loops(subject: Subject) -> LoopsView:
    """Return the view of a subject."""
    analyses = subject.analyses
    found = analyses.get(Loops)
    bounds = {bound.header: bound for bound in analyses.get(LoopBounds).loops}
    trips = analyses.get(Inductions)
    counts = live_counts(subject)
    blocks = {block.label: block for block in subject.kernel.blocks}

    def view(loop: Loop) -> LoopView:
        stalls: dict[str, float] = {}
        for label in loop.blocks:
            for instruction in blocks[label].instructions:
                for cause, lost in subject.stall_cycles(label, instruction).items():
                    stalls[cause] = stalls.get(cause, 0.0) + lost
        live = [max((c[n] for label in loop.blocks for c in counts[label]), default=0) for n in range(3)]
        costs = subject.timing.per_block
        first, runs = blocks[loop.header].instructions, trips.trips(loop.header)
        bound = bounds.get(loop.header)
        return LoopView(
            loop.header,
            place_of(first[0], loop.header) if first else "",
            loop.depth,
            len(loop.blocks),
            sum(len(blocks[label].instructions) for label in loop.blocks),
            runs.exact,
            runs.at_most,
            dict(zip(("vgpr", "agpr", "sgpr"), live, strict=True)),
            round(sum(costs[label].cycles for label in loop.blocks if label in costs), 1),
            {cause: round(lost, 1) for cause, lost in sorted(stalls.items(), key=lambda item: (-item[1], item[0]))},
            None if bound is None else _bounds(subject, bound),
        )

    return LoopsView(tuple(view(loop) for loop in found.loops), found.irreducible)


def _bounds(subject: Subject, bound: LoopBound) -> Bounds:
    blocks = {block.label: block.instructions for block in subject.kernel.blocks}
    recurrence = tuple(
        f"{place_of(blocks[label][index], label)} {print_instruction(blocks[label][index])}"
        for label, index in bound.recurrence
    )
    matrix = bound.matrix
    return Bounds(
        bound.bound_cycles, bound.recurrence_cycles, recurrence, dict(bound.issue_cycles), matrix.instructions,
        matrix.longest, matrix.latency_cycles, matrix.issue_cycles, bound.branches,
    )  # fmt: skip


def lines(view: LoopsView, *, most: int | None = None) -> list[str]:
    """Return the view as text."""
    head = ("loop", "at", "depth", "blocks", "instr", "trips", "VGPR", "AGPR", "SGPR", "cycles", "bound", "largest stalls")
    rows = [
        (
            loop.header, loop.place, loop.depth, loop.blocks, loop.instructions, _trips(loop),
            loop.live["vgpr"], loop.live["agpr"], loop.live["sgpr"],
            cycles(loop.cycles), "" if loop.bounds is None else cycles(loop.bounds.bound_cycles),
            ", ".join(f"{cause} {cycles(lost)}" for cause, lost in list(loop.stalls.items())[:3]),
        )
        for loop in view.loops
    ]  # fmt: skip
    found = table(head, rows, right=(2, 3, 4, 6, 7, 8, 9, 10))
    for loop in view.loops:
        if loop.bounds is not None and most is None:
            found += _bound_lines(loop.header, loop.bounds)
    return found + [f"no loop: the cycle {source} -> {target} can be entered elsewhere" for source, target in view.irreducible]


def _trips(loop: LoopView) -> str:
    if loop.trips is not None:
        return str(loop.trips)
    return "" if loop.trips_at_most is None else f"<= {loop.trips_at_most}"


def _bound_lines(header: str, bounds: Bounds) -> list[str]:
    units = ", ".join(f"{name} {cycles(busy)}" for name, busy in sorted(bounds.issue_cycles.items(), key=lambda i: -i[1]))
    whole = ", every block counted once" if bounds.branches else ""
    found = [f"{header}: a round takes at least {cycles(bounds.bound_cycles)} cycles{whole}; units are taken for: {units}"]
    if bounds.matrix_instructions:
        found.append(
            f"  {bounds.matrix_instructions} matrix instructions, longest chain on one accumulator {bounds.matrix_chain} "
            f"({cycles(bounds.matrix_chain_cycles)} cycles)"
        )
    if bounds.recurrence:
        found.append(f"  longest recurrence {cycles(bounds.recurrence_cycles)} cycles a round:")
        found += table(("",), ((f"    {text}",) for text in bounds.recurrence[:_SHOWN_RECURRENCE]))[1:]
        if len(bounds.recurrence) > _SHOWN_RECURRENCE:
            found.append(f"    ... {len(bounds.recurrence) - _SHOWN_RECURRENCE} more")
    return found
