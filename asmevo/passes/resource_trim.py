"""resource-trim: declare no more registers and LDS than the code can touch, where more waves then fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from asmevo.backend.resources import granted_by, with_resources
from asmevo.backend.timing.occupancy import WAVE, waves_per_simd
from asmevo.ir.abi import KernelDescriptor
from asmevo.ir.analysis.cost.reach import Reach
from asmevo.ir.isa.chips import chip_for
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult, option
from asmevo.passes.registry import register_pass

_LDS_ROUNDING = 128


@register_pass
@dataclass(frozen=True, slots=True)
class ResourceTrim:
    """Lower the vector registers and the LDS that descriptor and metadata ask for to what the code can reach.

    Rewrite:  .vgpr_count 512, .group_segment_fixed_size 65536 --> .vgpr_count 104, .group_segment_fixed_size 12672
    Legality: no reachable instruction names a register beyond the new count, indexes registers or calls what is not seen; every
        LDS address, and every M0 of a load to LDS, is bounded by the value analysis for all launches that the metadata allows;
        nothing asks the hardware what was allocated.
    Preserves: every instruction, the order of all, arguments, SGPRs, scratch.
    Targets: gfx90a, gfx942, gfx950.
    Source: LLVM AMDGPUUsage (kernel descriptor); CDNA3 ISA guide 3.6.4 and 11.
    """

    name: ClassVar[str] = "resource-trim"
    always: bool = option(False, help="lower what can be even where no more waves fit by it")

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Changes the descriptor and the metadata's figures only."""
        if kernel.descriptor is None:
            return ctx.finish()
        reach, given = ctx.analysis(Reach), granted_by(kernel.descriptor)
        for what, reason in sorted(reach.why.items()):
            ctx.remark(f"{what} are kept: {reason}", missed=True)
        lds = None
        if reach.lds_bytes is not None:
            rounded = -(-reach.lds_bytes // _LDS_ROUNDING) * _LDS_ROUNDING
            lds = rounded if rounded < given.lds_bytes else None
        trimmed = kernel
        if reach.vgprs is not None and (reach.vgprs < given.vgprs or (reach.agprs or 0) < given.agprs):
            trimmed = with_resources(kernel, vgprs=reach.vgprs, agprs=reach.agprs)
            assert trimmed.descriptor is not None
            # Whole granules, so that the metadata says what the descriptor grants.
            whole = granted_by(trimmed.descriptor)
            trimmed = with_resources(kernel, vgprs=whole.vgprs, agprs=whole.agprs)
            assert trimmed.descriptor is not None
            if trimmed.descriptor.vgpr_count >= kernel.descriptor.vgpr_count:
                trimmed = kernel
        if lds is not None:
            trimmed = with_resources(trimmed, lds_bytes=lds)
        assert trimmed.descriptor is not None
        if trimmed is kernel:
            return ctx.finish()
        items, chip = _workgroup_items(kernel), chip_for(kernel.target)
        before, after = (waves_per_simd(d, items, chip=chip) for d in (kernel.descriptor, trimmed.descriptor))
        if after <= before and not self.always:
            ctx.remark(f"{_words(trimmed.descriptor)} would do, but no more waves fit by that", missed=True)
            return ctx.finish()
        ctx.stat("vector registers less", kernel.descriptor.vgpr_count - trimmed.descriptor.vgpr_count)
        ctx.stat("LDS bytes less", kernel.descriptor.group_segment_bytes - trimmed.descriptor.group_segment_bytes)
        ctx.stat("waves per SIMD more", after - before)
        ctx.remark(f"{_words(trimmed.descriptor)} do: {after} waves per SIMD for {before}")
        ctx.rewriter.declare(trimmed.descriptor, trimmed.metadata)
        return ctx.finish()


def _workgroup_items(kernel: Kernel) -> int:
    metadata = kernel.metadata
    if metadata is not None and metadata.required_workgroup_size is not None:
        x, y, z = metadata.required_workgroup_size
        return x * y * z
    return (metadata.max_flat_workgroup_size if metadata is not None else None) or WAVE


def _words(descriptor: KernelDescriptor) -> str:
    return f"{descriptor.vgpr_count} vector registers and {descriptor.group_segment_bytes} bytes of LDS"
