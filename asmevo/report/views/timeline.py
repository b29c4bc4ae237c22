"""View `timeline`: when the cycle model issues each instruction of an innermost loop, and what it waits for before.

Owns the layout in time. Costs are those of `ir.analysis.cost.costs`, stalls those of the estimate: means over the rounds
that it played.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loop, Loops
from asmevo.ir.analysis.cost.costs import decode
from asmevo.ir.analysis.cost.loop_bounds import LoopBounds
from asmevo.ir.isa.chips import chip_for
from asmevo.ir.printer import print_instruction
from asmevo.report.subject import Subject, place_of
from asmevo.report.views.table import cut, cycles, table

_BAR_CELLS = 64


@dataclass(frozen=True, slots=True)
class Issue:
    """One instruction: cycles from the start of the round until it issues, of those the cycles it waited, and for what.

    `result` is the cycle at which its result can be used, with nothing else in flight.
    """

    place: str
    block: str
    text: str
    at: float
    waited: float
    causes: dict[str, float]
    result: float


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a loop in the steady state of the model; blocks in the order of the flow, each once."""

    header: str
    cycles: float
    issues: tuple[Issue, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A round of each innermost loop, or the whole kernel when it has none (`header` is then its entry)."""

    chip: str
    waves: int
    rounds: tuple[Round, ...]


def timeline(subject: Subject) -> Timeline:
    """Return the view of a subject."""
    flow, loops = subject.analyses.get(Flow), subject.analyses.get(Loops)
    inner = {bound.header for bound in subject.analyses.get(LoopBounds).loops}
    found = [_round(subject, flow, loop.header, _labels(flow, loop)) for loop in loops.loops if loop.header in inner]
    if not found and flow.order:
        found = [_round(subject, flow, flow.order[0], [label for label in flow.order if label in flow.reachable])]
    return Timeline(subject.timing.chip, subject.timing.waves_per_simd, tuple(found))


def _labels(flow: Flow, loop: Loop) -> list[str]:
    return [label for label in flow.order if label in loop.blocks]


def _round(subject: Subject, flow: Flow, header: str, labels: list[str]) -> Round:
    chip = chip_for(subject.kernel.target)
    clock = 0.0
    issues: list[Issue] = []
    for label in labels:
        for instruction in flow.blocks[label].instructions:
            timed = decode(instruction, chip, chip.simds.value)
            lost = subject.stall_cycles(label, instruction)
            # What an instruction costs by itself (a nop, a barrier, a taken branch) comes after it issues.
            own = sum(lost.pop(cause, 0.0) for cause in {timed.cause, "branch"} if cause)
            waited = sum(lost.values())
            at = clock + waited
            issues.append(
                Issue(
                    place_of(instruction, label),
                    label,
                    print_instruction(instruction),
                    at,
                    waited,
                    lost,
                    at + timed.result_cycles,
                )
            )
            clock = at + max(own, float(timed.hold))
    return Round(header, clock, tuple(issues))


def lines(view: Timeline, *, most: int | None = None) -> list[str]:
    """Return the view as text: a bar of dots while waiting, a mark at issue, and a line until the result is there."""
    found = [f"modelled on {view.chip}, {view.waves} wave(s) a SIMD: . waits, D issues, = result on its way, R result"]
    for round_ in view.rounds:
        scale = max(round_.cycles / _BAR_CELLS, 1.0)
        found.append(f"{round_.header}: {cycles(round_.cycles)} cycles, {scale:.1f} a column")
        rows = [
            (cycles(i.at), cycles(i.waited) if i.waited else "", _bar(i, scale), i.place, i.text, _causes(i))
            for i in round_.issues
        ]
        found += cut(table(("cycle", "waited", "", "place", "instruction", "for"), rows, right=(0, 1)), most)
    return found


def _bar(issue: Issue, scale: float) -> str:
    start, at, end = (int(value / scale) for value in (issue.at - issue.waited, issue.at, issue.result))
    end = min(end, _BAR_CELLS)
    bar = " " * start + "." * (at - start) + "D"
    if end > at:
        bar += "=" * (end - at - 1) + ("R" if end < _BAR_CELLS else ">")
    return bar.ljust(_BAR_CELLS + 1)


def _causes(issue: Issue) -> str:
    return ", ".join(cause for cause, lost in sorted(issue.causes.items(), key=lambda item: -item[1]) if lost)
