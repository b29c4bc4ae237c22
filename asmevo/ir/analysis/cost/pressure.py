"""Register pressure: how many registers are alive at once, and what occupancy that would allow.

Owns the counts only. It must not say what a kernel is launched with: that is its descriptor's.
Source of the granules: CDNA3 ISA guide 3.6.4, LLVM AMDGPUUsage (isa_facts: 512 vector registers a lane and SIMD, granule 8).
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import AGPR_MASK, FLAT_SCRATCH, VGPR_MASK

MAX_WAVES_PER_SIMD = 8
VECTOR_FILE = 512
SCALAR_FILE = 800
SGPR_MASK = (1 << FLAT_SCRATCH) - 1


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest number of live registers of one file, and where: block label and index of the instruction before it."""

    count: int = 0
    label: str = ""
    index: int = 0


@dataclass(frozen=True, slots=True)
class Pressure:
    """Peaks of live registers, and the registers that the text names at all (highest number plus one)."""

    vgpr: Peak
    agpr: Peak
    sgpr: Peak
    named_vgprs: int
    named_agprs: int
    named_sgprs: int

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Pressure:
        """The peaks over reachable blocks; raw data and unknown exits are left out of the peaks."""
        flow, table, liveness = manager.get(Flow), manager.get(EffectsTable), manager.get(Liveness)
        del kernel
        peaks = {VGPR_MASK: Peak(), AGPR_MASK: Peak(), SGPR_MASK: Peak()}
        named = 0
        seen = -1
        for label in flow.order:
            block = flow.blocks[label]
            if label not in flow.reachable or any(i.definition is None for i in block.instructions):
                continue
            for index, (effect, (active, inactive)) in enumerate(
                zip(table.printed[label], liveness.all_after(label), strict=True)
            ):
                named |= effect.reads | effect.writes
                live = active | inactive | effect.writes
                if live == seen:
                    continue
                seen = live
                for file, peak in peaks.items():
                    count = (live & file).bit_count()
                    if count > peak.count:
                        peaks[file] = Peak(count, label, index)
        return cls(
            peaks[VGPR_MASK],
            peaks[AGPR_MASK],
            peaks[SGPR_MASK],
            _highest(named, VGPR_MASK),
            _highest(named, AGPR_MASK),
            _highest(named, SGPR_MASK),
        )

    @property
    def vgprs(self) -> int:
        """Most VGPRs alive at once."""
        return self.vgpr.count

    @property
    def agprs(self) -> int:
        """Most AGPRs alive at once."""
        return self.agpr.count

    @property
    def sgprs(self) -> int:
        """Most SGPRs alive at once."""
        return self.sgpr.count

    @property
    def waves_per_simd(self) -> int:
        """Occupancy that the named registers alone would allow."""
        return waves_for_registers(self.named_vgprs, self.named_agprs, self.named_sgprs)


def _highest(named: int, file: int) -> int:
    first = (file & -file).bit_length() - 1
    return ((named & file) >> first).bit_length()


def waves_for_vector_total(total: int) -> int:
    """Waves a SIMD holds at `total` vector registers (both kinds) a lane; 0 when not even one fits."""
    granules = -(-max(total, 1) // 8) * 8
    return min(MAX_WAVES_PER_SIMD, VECTOR_FILE // granules)


def waves_for_registers(vgprs: int, agprs: int, sgprs: int) -> int:
    """Waves a SIMD holds with so many registers of each kind; accumulation registers start at a multiple of 4."""
    total = -(-vgprs // 4) * 4 + agprs if agprs else vgprs
    scalar = -(-max(sgprs, 1) // 16) * 16
    return min(waves_for_vector_total(total), SCALAR_FILE // scalar)
