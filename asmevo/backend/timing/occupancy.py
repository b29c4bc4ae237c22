"""How many waves of a kernel share a SIMD.

Owns the resource arithmetic of a compute unit. Source: CDNA3 ISA guide 3.6.4 (registers), ROCm tables (waves, LDS granule).
"""

from __future__ import annotations

from asmevo.backend.launch import Dispatch
from asmevo.diagnostics import fail
from asmevo.ir.abi import KernelDescriptor
from asmevo.ir.analysis.cost.pressure import SCALAR_FILE, Pressure, waves_for_vector_total
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.isa.chips import Chip, chip_for
from asmevo.ir.kernel import Kernel

WAVE = 64
MAX_WORKGROUP = 1024


def occupancy(kernel: Kernel, dispatch: Dispatch, chip: Chip | None = None) -> int:
    """Waves per SIMD when compute units are full of workgroups of this dispatch; at least 1.

    A kernel without descriptor counts the registers that its text names, and no static LDS. DiagnosticError E0230 when one
    workgroup does not fit a compute unit.
    """
    chip = chip or chip_for(kernel.target)
    items = dispatch.workgroup[0] * dispatch.workgroup[1] * dispatch.workgroup[2]
    if kernel.descriptor is not None:
        return waves_per_simd(kernel.descriptor, items, dispatch.dynamic_lds_bytes, chip)
    by_registers = AnalysisManager(kernel).get(Pressure).waves_per_simd
    return _resident(min(by_registers, chip.max_waves_per_simd.value), items, dispatch.dynamic_lds_bytes, chip)


def resident_waves(kernel: Kernel, dispatch: Dispatch, chip: Chip | None = None) -> int:
    """Waves per SIMD while this very dispatch runs: its workgroups spread over the chip's compute units, `occupancy` at most.

    A launch with fewer workgroups than compute units leaves each SIMD with one workgroup's waves, whatever would fit.
    """
    chip = chip or chip_for(kernel.target)
    groups = dispatch.grid[0] * dispatch.grid[1] * dispatch.grid[2]
    items = dispatch.workgroup[0] * dispatch.workgroup[1] * dispatch.workgroup[2]
    per_unit = -(-groups // chip.compute_units.value)
    spread = -(-per_unit * -(-items // WAVE) // chip.simds.value)
    return max(1, min(occupancy(kernel, dispatch, chip), spread))


def resident_groups(kernel: Kernel, dispatch: Dispatch, chip: Chip | None = None) -> int:
    """Work-groups of this dispatch that a compute unit can hold at once; errors as `occupancy`."""
    chip = chip or chip_for(kernel.target)
    items = dispatch.workgroup[0] * dispatch.workgroup[1] * dispatch.workgroup[2]
    descriptor = kernel.descriptor
    if descriptor is None:
        by_registers = min(AnalysisManager(kernel).get(Pressure).waves_per_simd, chip.max_waves_per_simd.value)
        return _groups(by_registers, items, dispatch.dynamic_lds_bytes, chip)
    return _groups(_by_registers(descriptor, chip), items, descriptor.group_segment_bytes + dispatch.dynamic_lds_bytes, chip)


def waves_per_simd(
    descriptor: KernelDescriptor, workgroup_items: int, dynamic_lds_bytes: int = 0, chip: Chip | None = None
) -> int:
    """Waves per SIMD by a descriptor's registers and LDS, for workgroups of so many work-items; errors as `occupancy`."""
    chip = chip or chip_for("")
    lds_bytes = descriptor.group_segment_bytes + dynamic_lds_bytes
    return _resident(_by_registers(descriptor, chip), workgroup_items, lds_bytes, chip)


def _by_registers(descriptor: KernelDescriptor, chip: Chip) -> int:
    scalar = -(-descriptor.sgpr_count // 16) * 16
    return min(waves_for_vector_total(descriptor.vgpr_count), SCALAR_FILE // scalar, chip.max_waves_per_simd.value)


def _resident(by_registers: int, workgroup_items: int, lds_bytes: int, chip: Chip) -> int:
    groups = _groups(by_registers, workgroup_items, lds_bytes, chip)
    return max(1, min(by_registers, groups * -(-workgroup_items // WAVE) // chip.simds.value))


def _groups(by_registers: int, workgroup_items: int, lds_bytes: int, chip: Chip) -> int:
    if not 0 < workgroup_items <= MAX_WORKGROUP:
        fail("E0230", f"a workgroup has 1 to {MAX_WORKGROUP} work-items, not {workgroup_items}")
    group_waves = -(-workgroup_items // WAVE)
    groups = chip.simds.value * by_registers // group_waves
    granule = chip.lds_granule.value
    lds = -(-lds_bytes // granule) * granule
    if lds:
        groups = min(groups, chip.lds_bytes.value // lds)
    if not groups:
        fail("E0230", f"a workgroup of {group_waves} waves with {lds} bytes of LDS does not fit a compute unit")
    return groups
