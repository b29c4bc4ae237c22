"""View `listing`: every instruction with its margin of live registers, pending counters, loop depth and modelled stalls."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.diagnostics import printable
from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.printer import print_instruction
from asmevo.report.subject import Subject, place_of
from asmevo.report.views.pressure import live_counts
from asmevo.report.views.table import cut, cycles

_MARKS = {"error": "!", "warning": "?", "note": "."}


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction.

    Registers live just after it; the most events that may be outstanding just before it; `stall_cycles` modelled, for one
    execution, with the cause that takes most; `severity` of its worst finding, empty without one. `measured` is its part of the
    time lost by the profile, from 0 to 1, None without a profile.
    """

    place: str
    text: str
    vgpr: int
    agpr: int
    sgpr: int
    vmcnt: int
    lgkmcnt: int
    stall_cycles: float
    cause: str
    severity: str
    codes: tuple[str, ...]
    measured: float | None = None


@dataclass(frozen=True, slots=True)
class BlockLines:
    """One block with its loop depth and predecessors."""

    label: str
    depth: int
    predecessors: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """The blocks in layout order."""

    blocks: tuple[BlockLines, ...]


def listing(subject: Subject) -> Listing:
    """Return the view of a subject."""
    state, counts = subject.analyses.get(WaitState), live_counts(subject)
    marks: dict[int, list[tuple[str, str]]] = {}
    for finding in subject.findings:
        marks.setdefault(id(finding.instruction), []).append((finding.severity.value, finding.code))
    blocks: list[BlockLines] = []
    for block in subject.kernel.blocks:
        found: list[Line] = []
        rows = zip(block.instructions, state.walk(block.label), counts[block.label], strict=True)
        for instruction, (_, before), live in rows:
            lost = subject.stall_cycles(block.label, instruction)
            noted = marks.get(id(instruction), [])
            found.append(
                Line(
                    place_of(instruction, block.label),
                    print_instruction(instruction),
                    *live,
                    len(before.vmcnt.slots),
                    len(before.lgkmcnt.slots),
                    round(sum(lost.values()), 1),
                    max(lost, key=lambda cause: lost[cause], default=""),
                    # Findings come worst first.
                    noted[0][0] if noted else "",
                    tuple(dict.fromkeys(code for _, code in noted)),
                    None if subject.measured is None else subject.measured.share(instruction),
                )
            )
        blocks.append(BlockLines(block.label, subject.depth(block.label), state.flow.predecessors[block.label], tuple(found)))
    return Listing(tuple(blocks))


def lines(view: Listing, *, most: int | None = None) -> list[str]:
    """Return the view as text."""
    has_profile = any(line.measured is not None for block in view.blocks for line in block.lines)
    found = [f"{'place':>9}   v   a   s  vm lg  stall {' lost' if has_profile else ''} depth"]
    for block in view.blocks:
        came = f"  ; from {', '.join(block.predecessors)}" if block.predecessors else ""
        found.append(f"{' ' * (43 if has_profile else 37)}{printable(block.label)}:{printable(came)}")
        for line in block.lines:
            stall = cycles(line.stall_cycles) if line.stall_cycles else ""
            vm, lgkm = (str(count) if count else "" for count in (line.vmcnt, line.lgkmcnt))
            margin = f"{line.place:>9} {line.vgpr:>3} {line.agpr:>3} {line.sgpr:>3} {vm:>3} {lgkm:>2} {stall:>6}"
            if has_profile:
                margin += f" {_percent(line.measured):>5}"
            cause = f"  ; {line.cause}" if stall and line.cause not in ("nop", "wait slot", "barrier") else ""
            codes = f"  ; {', '.join(line.codes)}" if line.codes else ""
            depth = "|" * min(block.depth, 4)
            found.append(f"{margin} {_MARKS.get(line.severity, ' ')}{depth:<4}  {printable(line.text)}{cause}{codes}")
    return cut(found, most)


def _percent(share: float | None) -> str:
    return f"{share:.1%}" if share and share >= 0.0005 else ""
