"""How many waves of a kernel share a SIMD.

Owns the resource arithmetic of a compute unit. Source: CDNA3 ISA guide 3.6.4 (registers), ROCm tables (waves, LDS granule).
"""

from __future__ import annotations

from asmevo.backend.timing.parameters import MI300X, Chip
from asmevo.diagnostics import fail
from asmevo.ir.abi import KernelDescriptor
from asmevo.ir.analysis.pressure import SCALAR_FILE, waves_for_vector_total

WAVE = 64
MAX_WORKGROUP = 1024


def occupancy(
    descriptor: KernelDescriptor, workgroup_items: int, dynamic_lds_bytes: int = 0, chip: Chip = MI300X
) -> int:
    """Waves per SIMD when compute units are full of this kernel's workgroups; at least 1.

    DiagnosticError E0204 when one workgroup does not fit a compute unit.
    """
    if not 0 < workgroup_items <= MAX_WORKGROUP:
        fail("E0204", f"a workgroup has 1 to {MAX_WORKGROUP} work-items, not {workgroup_items}")
    group_waves = -(-workgroup_items // WAVE)
    scalar = -(-descriptor.sgpr_count // 16) * 16
    by_registers = min(
        waves_for_vector_total(descriptor.vgpr_count), SCALAR_FILE // scalar, chip.max_waves_per_simd.value
    )
    groups = chip.simds.value * by_registers // group_waves
    granule = chip.lds_granule.value
    lds = -(-(descriptor.group_segment_bytes + dynamic_lds_bytes) // granule) * granule
    if lds:
        groups = min(groups, chip.lds_bytes.value // lds)
    if not groups:
        fail("E0204", f"a workgroup of {group_waves} waves with {lds} bytes of LDS does not fit a compute unit")
    return max(1, min(by_registers, groups * group_waves // chip.simds.value))
