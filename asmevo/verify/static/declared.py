"""Whether a kernel that declares less than before still has all that its code can reach, or more at no wave's cost.

Owns that comparison of two versions of a kernel. Registers as written are `static_registers`' affair; this is what those
numbers do not show (indexing, calls), and LDS.
"""

from __future__ import annotations

from asmevo.backend.resources import granted_by, resources_of, with_resources
from asmevo.ir.analysis.cost.occupancy_steps import waves_for_scalars
from asmevo.ir.analysis.cost.pressure import waves_for_vector_total
from asmevo.ir.analysis.cost.reach import Reach
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.finding import Finding
from asmevo.ir.kernel import Kernel

TOO_LITTLE = "E0511"


def declares_less(before: Kernel, after: Kernel) -> bool:
    """Whether `after` is given fewer vector registers or less LDS than `before`."""
    if before.descriptor is None or after.descriptor is None:
        return False
    old, new = before.descriptor, after.descriptor
    return new.vgpr_count < old.vgpr_count or new.group_segment_bytes < old.group_segment_bytes


def check_declared(before: Kernel, after: Kernel) -> list[Finding]:
    """E0511 at the first instruction for each resource that `after` declares less of, and that its code may need more of."""
    assert before.descriptor is not None
    assert after.descriptor is not None
    reach, given = AnalysisManager(after).get(Reach), granted_by(after.descriptor)
    block, first = next((block, i) for block in after.blocks for i in block.instructions)
    found: list[Finding] = []
    if after.descriptor.vgpr_count < before.descriptor.vgpr_count:
        for what, count, least in (("VGPRs", given.vgprs, reach.vgprs), ("AGPRs", given.agprs, reach.agprs)):
            if least is None or least > count:
                need = reach.why.get("registers", f"the code names {least}")
                found.append(Finding(TOO_LITTLE, f"{count} {what} may be too few: {need}", block.label, first))
    if given.lds_bytes < before.descriptor.group_segment_bytes and (
        reach.lds_bytes is None or reach.lds_bytes > given.lds_bytes
    ):
        need = reach.why.get("LDS", f"the code may reach byte {(reach.lds_bytes or 0) - 1}")
        found.append(Finding(TOO_LITTLE, f"{given.lds_bytes} bytes of LDS may be too few: {need}", block.label, first))
    return found


def is_only_lowered(before: Kernel, after: Kernel) -> bool:
    """Whether descriptor and metadata differ in nothing but smaller figures of vector registers and LDS that fit together."""
    if before.descriptor is None or after.descriptor is None or not declares_less(before, after):
        return False
    wanted = granted_by(after.descriptor)
    registers = after.descriptor.vgpr_count < before.descriptor.vgpr_count
    lds = after.descriptor.group_segment_bytes < before.descriptor.group_segment_bytes
    expected = with_resources(
        before,
        vgprs=wanted.vgprs if registers else None,
        agprs=wanted.agprs if registers else None,
        lds_bytes=wanted.lds_bytes if lds else None,
    )
    assert expected.descriptor is not None
    same_metadata = expected.metadata == after.metadata
    return same_metadata and _without_entry(expected.descriptor.raw) == _without_entry(after.descriptor.raw)


def is_only_raised(before: Kernel, after: Kernel) -> bool:
    """Whether descriptor and metadata differ in nothing but larger figures of registers, with which as many waves still fit.

    False too for a kernel that may ask what it was given, index registers or call what is not seen.
    """
    if before.descriptor is None or after.descriptor is None or before.descriptor == after.descriptor:
        return False
    now, wanted = granted_by(before.descriptor), granted_by(after.descriptor)
    if (wanted.lds_bytes, wanted.scratch_bytes) != (now.lds_bytes, now.scratch_bytes) or wanted == now:
        return False
    # VGPRs may take what stood between them and the granule's end, which counted as AGPRs that nothing names.
    if wanted.vgprs < now.vgprs or wanted.sgprs < now.sgprs or wanted.vgprs + wanted.agprs < now.vgprs + now.agprs:
        return False
    if waves_for_vector_total(after.descriptor.vgpr_count) < waves_for_vector_total(before.descriptor.vgpr_count):
        return False
    if waves_for_scalars(after.descriptor.sgpr_count) < waves_for_scalars(before.descriptor.sgpr_count):
        return False
    if AnalysisManager(after).get(Reach).vgprs is None:
        return False
    noted = resources_of(after)
    vectors = (wanted.vgprs, wanted.agprs) != (now.vgprs, now.agprs)
    expected = with_resources(
        before,
        vgprs=noted.vgprs if vectors else None,
        agprs=noted.agprs if vectors else None,
        sgprs=noted.sgprs if wanted.sgprs != now.sgprs else None,
    )
    assert expected.descriptor is not None
    same_metadata = expected.metadata == after.metadata
    return same_metadata and _without_entry(expected.descriptor.raw) == _without_entry(after.descriptor.raw)


def _without_entry(raw: bytes) -> bytes:
    return raw[:16] + raw[24:]
