"""What the loader, the command processor and the runtime require of one kernel: its descriptor, its entry and its metadata.

Owns the rules and nothing else. Source: LLVM AMDGPUUsage, "Kernel Descriptor", "Initial Kernel Execution State" and
"Code Object Metadata"; limits as in `resources`.
"""

from __future__ import annotations

from collections.abc import Iterator

from asmevo.backend.resources import SGPR_EXTRAS, granted_by, lds_limit, waves_by_registers
from asmevo.diagnostics import Diagnostic, Severity, Span
from asmevo.frontend.codeobject import CodeObject, KernelEntry
from asmevo.frontend.recover import PRELOAD_PROLOGUE_BYTES
from asmevo.ir.abi import KernelDescriptor

_DESCRIPTOR_ALIGNMENT = 64
_RSRC1_ZERO = 0x3 << 10 | 1 << 20 | 1 << 22 | 1 << 24 | 1 << 25 | 0x1F << 27
"""Priority, PRIV, DEBUG_MODE, BULKY, CDBG_USER, and what gfx9 does not have."""
_RSRC2_ZERO = 1 << 6 | 1 << 13 | 1 << 14 | 0x1FF << 15 | 1 << 31
"""Trap handler, address watch and memory violation exceptions, LDS size (the command processor fills it in), reserved."""
_RSRC3_ZERO = 0x3FF << 6 | 0x7FFF << 17
_PROPERTIES_ZERO = 0x7 << 7 | 1 << 10 | 0xF << 12
"""Reserved bits, and wave32, which gfx9 does not have."""
_RESERVED_BYTES = (slice(12, 16), slice(24, 44), slice(60, 64))
_USER_SGPRS = (4, 2, 2, 2, 2, 2, 1)
"""How many each of the first seven property bits takes."""
_TARGET_PROPERTIES_ZERO = {"gfx90a": 0, "gfx942": 1 << 0 | 1 << 5, "gfx950": 1 << 0 | 1 << 5}
"""Private segment buffer and flat scratch init: not where the hardware itself sets up scratch."""
_MAX_USER_SGPRS = 16
_MAX_SGPR_FIELD = 13
_SIMDS = 4
_WAVE = 64


def check_kernel(obj: CodeObject, entry: KernelEntry) -> Iterator[Diagnostic]:
    """Yield every breach of one kernel's rules; errors, warnings and notes."""
    yield from _check_place(obj, entry)
    yield from _check_reserved(obj, entry)
    yield from _check_user_sgprs(obj, entry)
    yield from _check_limits(obj, entry)
    yield from _check_arguments(obj, entry)
    yield from _check_preload(obj, entry)
    yield from _check_figures(obj, entry)


def user_sgprs_needed(descriptor: KernelDescriptor) -> int:
    """How many user SGPRs the enabled properties and the preloaded arguments take."""
    enabled = sum(count for bit, count in enumerate(_USER_SGPRS) if descriptor.properties >> bit & 1)
    return enabled + descriptor.preload_dwords


def _where(obj: CodeObject, entry: KernelEntry, field: int = 0) -> Span:
    return Span(obj.name, offset=entry.descriptor_place + field)


def _check_place(obj: CodeObject, entry: KernelEntry) -> Iterator[Diagnostic]:
    if entry.descriptor_address % _DESCRIPTOR_ALIGNMENT:
        yield Diagnostic(
            "E0643", f"the descriptor of '{entry.name}' is not aligned to {_DESCRIPTOR_ALIGNMENT}", _where(obj, entry)
        )
    address = entry.descriptor_address
    if not any(s.kind == 1 and s.address <= address and address + 64 <= s.address + s.file_size for s in obj.elf.segments):
        yield Diagnostic("E0643", f"no segment loads the descriptor of '{entry.name}'", _where(obj, entry))


def _check_reserved(obj: CodeObject, entry: KernelEntry) -> Iterator[Diagnostic]:
    d = entry.descriptor
    for part in _RESERVED_BYTES:
        if any(d.raw[part]):
            yield Diagnostic(
                "E0644", f"'{entry.name}': reserved bytes of the descriptor are not 0", _where(obj, entry, part.start)
            )
    properties = _PROPERTIES_ZERO | _TARGET_PROPERTIES_ZERO[obj.target]
    for name, value, zero, place in (
        ("compute_pgm_rsrc1", d.rsrc1, _RSRC1_ZERO, 48),
        ("compute_pgm_rsrc2", d.rsrc2, _RSRC2_ZERO, 52),
        ("compute_pgm_rsrc3", d.rsrc3, _RSRC3_ZERO, 44),
        ("kernel_code_properties", d.properties, properties, 56),
    ):
        if value & zero:
            what = f"'{entry.name}': bits of {name} that must be 0 are set: 0x{value & zero:x}"
            yield Diagnostic("E0644", what, _where(obj, entry, place))


def _check_user_sgprs(obj: CodeObject, entry: KernelEntry) -> Iterator[Diagnostic]:
    d = entry.descriptor
    needed = user_sgprs_needed(d)
    if d.user_sgpr_count > _MAX_USER_SGPRS:
        what = f"'{entry.name}' has {d.user_sgpr_count} user SGPRs; the chip sets at most {_MAX_USER_SGPRS}"
        yield Diagnostic("E0646", what, _where(obj, entry, 52))
    if d.user_sgpr_count < needed:
        what = f"'{entry.name}' has {d.user_sgpr_count} user SGPRs; what it enables takes {needed}"
        yield Diagnostic("E0646", what, _where(obj, entry, 52))
    elif d.user_sgpr_count > needed:
        what = f"'{entry.name}' has {d.user_sgpr_count} user SGPRs; what it enables takes only {needed}"
        yield Diagnostic("E0646", what, _where(obj, entry, 52), severity=Severity.NOTE)


def _check_limits(obj: CodeObject, entry: KernelEntry) -> Iterator[Diagnostic]:
    d, granted = entry.descriptor, granted_by(entry.descriptor)
    if d.rsrc1 >> 6 & 15 > _MAX_SGPR_FIELD:
        yield Diagnostic(
            "E0645", f"'{entry.name}' asks for {d.sgpr_count} SGPRs; a wave has at most 112", _where(obj, entry, 48)
        )
    if d.group_segment_bytes > lds_limit(obj.target):
        what = f"'{entry.name}' asks for {d.group_segment_bytes} bytes of LDS; {obj.target} has {lds_limit(obj.target)}"
        yield Diagnostic("E0645", what, _where(obj, entry))
    most = entry.metadata.max_flat_workgroup_size
    waves = -(-(most or 0) // _WAVE)
    if waves > _SIMDS * waves_by_registers(granted):
        what = (
            f"'{entry.name}': a workgroup of {most} work-items is {waves} waves; with {granted.vector_total} vector registers a"
            f" compute unit holds {_SIMDS * waves_by_registers(granted)}"
        )
        yield Diagnostic(
            "E0645", what, _where(obj, entry, 48), "lower .max_flat_workgroup_size, or use fewer registers", Severity.WARNING
        )


def _check_arguments(obj: CodeObject, entry: KernelEntry) -> Iterator[Diagnostic]:
    metadata, where = entry.metadata, Span(obj.name, offset=obj.note[0])
    size = metadata.kernarg_bytes
    if size is not None and entry.descriptor.kernarg_bytes != size:
        what = f"'{entry.name}': {entry.descriptor.kernarg_bytes} bytes of arguments by the descriptor, {size} by the metadata"
        yield Diagnostic("E0652", what, _where(obj, entry, 8), severity=Severity.NOTE)
    end = 0
    for argument in sorted(metadata.arguments, key=lambda a: a.offset):
        if size is not None and argument.offset + argument.size > size:
            what = f"'{entry.name}': the argument at {argument.offset} ends behind the {size} bytes of arguments"
            yield Diagnostic("E0652", what, where, severity=Severity.WARNING)
        if argument.offset < end:
            what = f"'{entry.name}': the argument at {argument.offset} overlaps the one before it"
            yield Diagnostic("E0652", what, where, severity=Severity.WARNING)
        end = max(end, argument.offset + argument.size)


def _check_preload(obj: CodeObject, entry: KernelEntry) -> Iterator[Diagnostic]:
    d = entry.descriptor
    if not d.preload_dwords:
        return
    if entry.entry + PRELOAD_PROLOGUE_BYTES >= entry.stop:
        what = f"'{entry.name}' preloads arguments, but its code ends before the entry behind the prologue"
        yield Diagnostic("E0654", what, _where(obj, entry, 58))
    size = entry.metadata.kernarg_bytes
    if size is not None and 4 * (d.preload_offset_dwords + d.preload_dwords) > size:
        yield Diagnostic("E0654", f"'{entry.name}' preloads more than its {size} bytes of arguments", _where(obj, entry, 58))


def _check_figures(obj: CodeObject, entry: KernelEntry) -> Iterator[Diagnostic]:
    metadata, granted = entry.metadata, granted_by(entry.descriptor)
    for name, noted, given in (
        (".group_segment_fixed_size", metadata.group_segment_bytes, granted.lds_bytes),
        (".private_segment_fixed_size", metadata.private_segment_bytes, granted.scratch_bytes),
    ):
        if noted is not None and noted != given:
            what = f"'{entry.name}': {name} is {noted} in the metadata, {given} in the descriptor"
            yield Diagnostic("E0655", what, Span(obj.name, offset=obj.note[0]), severity=Severity.WARNING)
    for name, noted, given in (
        (".vgpr_count", metadata.vgpr_count, entry.descriptor.vgpr_count),
        (".agpr_count", metadata.agpr_count, granted.agprs),
        (".sgpr_count", metadata.sgpr_count, -(-(granted.sgprs + SGPR_EXTRAS) // 16) * 16),
    ):
        if noted is not None and noted > given:
            what = f"'{entry.name}': {name} is {noted} in the metadata; the descriptor grants {given}"
            yield Diagnostic("E0655", what, Span(obj.name, offset=obj.note[0]), severity=Severity.NOTE)
    if metadata.wavefront_size not in (None, _WAVE):
        what = f"'{entry.name}': wavefront size {metadata.wavefront_size}; {obj.target} has {_WAVE}"
        yield Diagnostic("E0655", what, Span(obj.name, offset=obj.note[0]))
