"""What a kernel is given on the device: registers, LDS and scratch, in its descriptor and in its metadata.

Owns the arithmetic of the descriptor's granulated fields and of the device's limits. Putting the result into an object is the
writer's. The kernel's instructions are never changed here.

Source: LLVM AMDGPUUsage, "compute_pgm_rsrc1" and "compute_pgm_rsrc3 (GFX90A, GFX942)"; CDNA3 ISA guide 3.6.4; CDNA4 ISA guide
(LDS of gfx950). The SGPR field as LLVM's assembler writes it: in eights, though the chip allocates by sixteens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from asmevo.diagnostics import Span, fail
from asmevo.frontend.descriptor import encode_descriptor
from asmevo.ir.abi import KernelDescriptor, KernelMetadata
from asmevo.ir.analysis.cost.pressure import Pressure, waves_for_vector_total
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel

SGPR_EXTRAS = 6
"""SGPRs at the top of the allocation for VCC, FLAT_SCRATCH and XNACK_MASK; the descriptor and the metadata count them."""
MAX_ARCH_VGPRS = MAX_AGPRS = 256
MAX_VECTOR_TOTAL = 512
MAX_SGPRS = 102
_VECTOR_GRANULE, _SGPR_FIELD_GRANULE, _ACCUM_GRANULE = 8, 8, 4
_MAX_SCRATCH = 1 << 17
"""Bytes a lane: 13 bits of 256 dwords a wave of 64 lanes."""
_LDS_BYTES = {"gfx90a": 64 << 10, "gfx942": 64 << 10, "gfx950": 160 << 10}
_NO_SCRATCH_SGPRS = frozenset({"gfx942", "gfx950"})
"""Targets whose hardware sets FLAT_SCRATCH: scratch takes none of the initial SGPRs."""
_VECTOR_FIELD, _SGPR_FIELD, _ACCUM_FIELD, _ENABLE_SCRATCH, _DYNAMIC_STACK = 0x3F, 0xF << 6, 0x3F, 1, 1 << 11


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel is given.

    `vgprs` and `agprs` are the architectural and the accumulation registers, `sgprs` the numbered scalar registers (s0 on),
    without those at the top; `lds_bytes` is static LDS of a workgroup, `scratch_bytes` is per lane.
    """

    vgprs: int
    agprs: int
    sgprs: int
    lds_bytes: int
    scratch_bytes: int

    @property
    def vector_total(self) -> int:
        """Vector registers of both kinds, AGPRs behind the VGPRs rounded up to 4; what `.vgpr_count` says."""
        return accum_offset_for(self.vgprs) + self.agprs if self.agprs else self.vgprs


def resources_of(kernel: Kernel) -> Resources:
    """Return what the kernel is given: by its metadata where that fits the descriptor, else all that the descriptor grants.

    Raises E0633 for a kernel without descriptor.
    """
    descriptor = _descriptor(kernel)
    granted = granted_by(descriptor)
    noted = kernel.metadata or KernelMetadata(kernel.name, "")
    total = noted.vgpr_count
    vgprs, agprs = granted.vgprs, granted.agprs
    if noted.agpr_count is not None and 0 <= noted.agpr_count <= granted.agprs:
        agprs = noted.agpr_count
    elif total is not None and 0 <= total - vgprs <= granted.agprs:
        agprs = total - vgprs
    if total is not None and not agprs and total <= granted.vgprs:
        vgprs = total
    sgprs = granted.sgprs
    if noted.sgpr_count is not None and 0 <= noted.sgpr_count - SGPR_EXTRAS <= granted.sgprs:
        sgprs = noted.sgpr_count - SGPR_EXTRAS
    return replace(granted, vgprs=vgprs, agprs=agprs, sgprs=sgprs)


def granted_by(descriptor: KernelDescriptor) -> Resources:
    """Return all that a descriptor grants, whole granules."""
    vgprs = min(descriptor.accum_offset, descriptor.vgpr_count)
    return Resources(
        vgprs=vgprs,
        agprs=max(descriptor.vgpr_count - descriptor.accum_offset, 0),
        sgprs=max(descriptor.sgpr_count - SGPR_EXTRAS, 0),
        lds_bytes=descriptor.group_segment_bytes,
        scratch_bytes=descriptor.private_segment_bytes,
    )


def with_resources(
    kernel: Kernel,
    *,
    vgprs: int | None = None,
    agprs: int | None = None,
    sgprs: int | None = None,
    lds_bytes: int | None = None,
    scratch_bytes: int | None = None,
) -> Kernel:
    """Return the kernel with these resources in its descriptor and in the figures that its metadata has; None keeps one.

    Fields that nothing asked for stay bit for bit. With `vgprs` or `agprs` the total and the first AGPR's place follow
    together; registers keep their numbers.
    Raises E0632 for more than the chip has, E0633 for a kernel without descriptor or a use of scratch that would change the
    initial SGPRs, E0634 for fewer registers than the kernel's reachable instructions name (what VGPR indexing and calls
    reach is not seen).
    """
    descriptor = _descriptor(kernel)
    now = resources_of(kernel)
    wanted = Resources(
        now.vgprs if vgprs is None else vgprs,
        now.agprs if agprs is None else agprs,
        now.sgprs if sgprs is None else sgprs,
        now.lds_bytes if lds_bytes is None else lds_bytes,
        now.scratch_bytes if scratch_bytes is None else scratch_bytes,
    )
    _check_limits(kernel, wanted, now)
    _check_named(kernel, {"v": vgprs, "a": agprs, "s": sgprs})
    figures: dict[str, int] = {}
    if vgprs is not None or agprs is not None:
        descriptor = _with_vectors(descriptor, wanted)
        figures |= {"vgpr_count": wanted.vector_total, "agpr_count": wanted.agprs}
    if sgprs is not None:
        total = wanted.sgprs + SGPR_EXTRAS
        descriptor = replace(descriptor, rsrc1=descriptor.rsrc1 & ~_SGPR_FIELD | _granules(total, _SGPR_FIELD_GRANULE) << 6)
        figures["sgpr_count"] = total
    if lds_bytes is not None:
        descriptor = replace(descriptor, group_segment_bytes=lds_bytes)
        figures["group_segment_bytes"] = lds_bytes
    if scratch_bytes is not None:
        descriptor = _with_scratch(kernel, descriptor, scratch_bytes)
        figures["private_segment_bytes"] = scratch_bytes
    descriptor = replace(descriptor, raw=encode_descriptor(descriptor))
    metadata = kernel.metadata
    if metadata is not None:
        metadata = replace(metadata, **{name: n for name, n in figures.items() if getattr(metadata, name) is not None})
    return replace(kernel, descriptor=descriptor, metadata=metadata)


def fitted(kernel: Kernel) -> Kernel:
    """Return the kernel with register counts raised to what its instructions name; the same kernel when they suffice."""
    granted, named = granted_by(_descriptor(kernel)), AnalysisManager(kernel).get(Pressure)
    vectors_suffice = named.named_vgprs <= granted.vgprs and named.named_agprs <= granted.agprs
    now = resources_of(kernel)
    if vectors_suffice and named.named_sgprs <= granted.sgprs:
        return kernel
    return with_resources(
        kernel,
        vgprs=None if vectors_suffice else max(now.vgprs, named.named_vgprs),
        agprs=None if vectors_suffice else max(now.agprs, named.named_agprs),
        sgprs=None if named.named_sgprs <= granted.sgprs else named.named_sgprs,
    )


def lds_limit(target: str) -> int:
    """Bytes of LDS that one workgroup can have on a target."""
    return _LDS_BYTES[target]


def accum_offset_for(vgprs: int) -> int:
    """Return the number in the unified file at which AGPRs start behind so many VGPRs: 4 to 256, in fours."""
    return max(_ACCUM_GRANULE, -(-vgprs // _ACCUM_GRANULE) * _ACCUM_GRANULE)


def waves_by_registers(resources: Resources) -> int:
    """Waves that a SIMD holds by vector registers alone; LDS and scalar registers may allow fewer."""
    return waves_for_vector_total(resources.vector_total)


def _granules(count: int, granule: int) -> int:
    return max(-(-count // granule), 1) - 1


def _descriptor(kernel: Kernel) -> KernelDescriptor:
    if kernel.descriptor is None:
        fail("E0633", f"'{kernel.name}' has no descriptor that says what it is given", Span(kernel.name))
    return kernel.descriptor


def _check_limits(kernel: Kernel, wanted: Resources, now: Resources) -> None:
    """Refuse what the chip does not have. What the kernel says already and nothing changes is not judged here."""
    limits = (
        ("VGPRs", wanted.vgprs, now.vgprs, MAX_ARCH_VGPRS),
        ("AGPRs", wanted.agprs, now.agprs, MAX_AGPRS),
        ("vector registers", wanted.vector_total, now.vector_total, MAX_VECTOR_TOTAL),
        ("SGPRs", wanted.sgprs, now.sgprs, MAX_SGPRS),
        ("bytes of LDS", wanted.lds_bytes, now.lds_bytes, lds_limit(kernel.target)),
        ("bytes of scratch a lane", wanted.scratch_bytes, now.scratch_bytes, _MAX_SCRATCH),
    )
    for what, count, known, most in limits:
        if count != known and not 0 <= count <= most:
            fail("E0632", f"'{kernel.name}': {count} {what}; {kernel.target} has 0 to {most}", Span(kernel.name))


def _check_named(kernel: Kernel, asked: Mapping[str, int | None]) -> None:
    if all(count is None for count in asked.values()):
        return
    named = AnalysisManager(kernel).get(Pressure)
    least = {"v": named.named_vgprs, "a": named.named_agprs, "s": named.named_sgprs}
    for letter, count in asked.items():
        if count is not None and count < least[letter]:
            what = f"'{kernel.name}' uses {letter}{least[letter] - 1}: {count} registers of its kind are too few"
            fail("E0634", what, Span(kernel.name), "change the instructions first")


def _with_vectors(descriptor: KernelDescriptor, wanted: Resources) -> KernelDescriptor:
    start = accum_offset_for(wanted.vgprs)
    return replace(
        descriptor,
        rsrc1=descriptor.rsrc1 & ~_VECTOR_FIELD | _granules(wanted.vector_total, _VECTOR_GRANULE),
        rsrc3=descriptor.rsrc3 & ~_ACCUM_FIELD | _granules(start, _ACCUM_GRANULE),
    )


def _with_scratch(kernel: Kernel, descriptor: KernelDescriptor, scratch_bytes: int) -> KernelDescriptor:
    is_enabled = bool(descriptor.rsrc2 & _ENABLE_SCRATCH)
    if is_enabled != bool(scratch_bytes):
        if kernel.target not in _NO_SCRATCH_SGPRS and scratch_bytes:
            what = f"'{kernel.name}' has no scratch set up: on {kernel.target} that changes the SGPRs it starts with"
            fail("E0633", what, Span(kernel.name), "compile the kernel with scratch")
        if kernel.target in _NO_SCRATCH_SGPRS and not descriptor.properties & _DYNAMIC_STACK:
            descriptor = replace(descriptor, rsrc2=descriptor.rsrc2 ^ _ENABLE_SCRATCH)
    return replace(descriptor, private_segment_bytes=scratch_bytes)
