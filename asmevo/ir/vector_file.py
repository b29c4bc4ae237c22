"""Where VGPRs and AGPRs of a kernel are the same registers.

Owns that fact alone. VGPRs and AGPRs lie in one file from gfx90a on: a[n] is register `accum_offset + n` of the wave's
allocation. Compilers name VGPRs below `accum_offset` only; assembled kernels may name higher ones, which then are AGPRs by
another name. Everything that keeps the two apart (liveness, dependence, proofs, the emulator) is wrong for a kernel that uses
both names of one register, and must not be believed there. Source: LLVM AMDGPUUsage, compute_pgm_rsrc3 for gfx90a.
"""

from __future__ import annotations

from asmevo.ir.effects import effects
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import AGPR0, VECTOR_MASK, VGPR0, VGPR_MASK


def shared_vectors(kernel: Kernel) -> int:
    """Return the VGPRs (unit set) that the kernel names and that it also names as AGPRs; 0 without a descriptor."""
    if kernel.descriptor is None:
        return 0
    named = 0
    for instruction in kernel.instructions():
        if instruction.definition is not None:
            touched = effects(instruction)
            named |= (touched.reads | touched.writes) & VECTOR_MASK
    as_agprs = named >> AGPR0 << kernel.descriptor.accum_offset
    return named & (as_agprs << VGPR0) & VGPR_MASK
