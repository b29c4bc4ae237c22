"""View `pressure`: live registers along the code, their peaks, and what fewer would allow."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.cost.occupancy_steps import OccupancySteps
from asmevo.ir.analysis.cost.pressure import SGPR_MASK, Peak, Pressure
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.dataflow.written import Written
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import AGPR_MASK, VGPR_MASK, RegisterFile
from asmevo.report.subject import Subject, place_of
from asmevo.report.views.table import cut, table

_FILES = ((RegisterFile.VGPR, VGPR_MASK), (RegisterFile.AGPR, AGPR_MASK), (RegisterFile.SGPR, SGPR_MASK))


@dataclass(frozen=True, slots=True)
class PeakView:
    """The most registers of a file alive at once, where first, and how many the text names (highest number plus one)."""

    file: str
    live: int
    place: str
    block: str
    named: int


@dataclass(frozen=True, slots=True)
class Step:
    """To hold `waves` a SIMD, a resource may be `limit` at most: `saving` less than now."""

    resource: str
    waves: int
    limit: int
    saving: int


@dataclass(frozen=True, slots=True)
class BlockPressure:
    """The most registers alive at once in a block."""

    block: str
    depth: int
    vgpr: int
    agpr: int
    sgpr: int


@dataclass(frozen=True, slots=True)
class PressureView:
    """Peaks, the allocation by resource, occupancy steps, and each block's own peak, in layout order."""

    peaks: tuple[PeakView, ...]
    allocated: dict[str, int]
    steps: tuple[Step, ...]
    blocks: tuple[BlockPressure, ...]


def live_sets(subject: Subject) -> dict[str, list[int]]:
    """Return, by block, the units live just after each instruction that can hold a value there; empty where no path leads."""
    analyses = subject.analyses
    liveness, written, table = analyses.get(Liveness), analyses.get(Written).entries, analyses.get(EffectsTable).by_block
    found: dict[str, list[int]] = {}
    for block in subject.kernel.blocks:
        label, sets = block.label, [0] * len(block.instructions)
        if label in written:
            held = written[label]
            for index, effect in enumerate(table[label]):
                held |= effect.writes
                sets[index] = liveness.live_after(label, index) & held
        found[label] = sets
    return found


def live_counts(subject: Subject) -> dict[str, list[tuple[int, int, int]]]:
    """Return, by block, how many VGPRs, AGPRs and SGPRs `live_sets` holds after each instruction."""
    return {
        label: [((s & VGPR_MASK).bit_count(), (s & AGPR_MASK).bit_count(), (s & SGPR_MASK).bit_count()) for s in sets]
        for label, sets in live_sets(subject).items()
    }


def pressure(subject: Subject) -> PressureView:
    """Return the view of a subject."""
    found, steps = subject.analyses.get(Pressure), subject.analyses.get(OccupancySteps)
    peaks = tuple(
        PeakView(file.name, peak.count, _place(subject.kernel, peak), peak.label, named)
        for file, peak, named in (
            (RegisterFile.VGPR, found.vgpr, found.named_vgprs),
            (RegisterFile.AGPR, found.agpr, found.named_agprs),
            (RegisterFile.SGPR, found.sgpr, found.named_sgprs),
        )
    )
    counts = live_counts(subject)
    blocks: list[BlockPressure] = []
    for block in subject.kernel.blocks:
        most = [max((c[n] for c in counts[block.label]), default=0) for n in range(len(_FILES))]
        blocks.append(BlockPressure(block.label, subject.depth(block.label), *most))
    return PressureView(
        peaks,
        {r.name: r.allocated for r in steps.resources},
        tuple(Step(r.name, s.waves, s.limit, s.saving) for r in steps.resources for s in r.savings),
        tuple(blocks),
    )


def _place(kernel: Kernel, peak: Peak) -> str:
    if not peak.count:
        return ""
    return place_of(kernel.block(peak.label).instructions[peak.index], peak.label)


def lines(view: PressureView, *, most: int | None = None) -> list[str]:
    """Return the view as text."""
    head = ("file", "live at most", "at", "block", "named")
    found = table(head, ((p.file, p.live, p.place, p.block, p.named) for p in view.peaks), right=(1, 4))
    found.append("allocated: " + ", ".join(f"{n} {name}" for name, n in view.allocated.items()))
    if view.steps:
        head = ("for waves a SIMD", "resource", "at most", "less by")
        found += table(head, ((s.waves, s.resource, s.limit, s.saving) for s in view.steps), right=(0, 2, 3))
    head = ("block", "depth", "VGPR", "AGPR", "SGPR")
    rows = [(b.block, b.depth, b.vgpr, b.agpr, b.sgpr) for b in view.blocks]
    return [*found, *cut(table(head, rows, right=(1, 2, 3, 4)), most)]
