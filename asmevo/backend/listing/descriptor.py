"""A kernel descriptor as `.amdhsa_kernel` directives.

Owns which directive says which field. Whether the directives give the bytes back is found out by assembling them.
Source: LLVM AMDGPUUsage, "AMDHSA Kernel Descriptor Directives" and "Kernel Descriptor".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache

from asmevo.frontend import elf as elf_reader
from asmevo.frontend.descriptor import DESCRIPTOR_BYTES, parse_descriptor
from asmevo.frontend.llvm import assemble_object
from asmevo.ir.abi import KernelDescriptor
from asmevo.ir.printer import quoted

ENTRY_FIELD = slice(16, 24)
"""The entry's distance from the descriptor: the linker's to fill in."""

DESCRIPTOR_HEAD = ("k:", '.section .rodata,"a",@progbits', ".amdhsa_kernel k")
"""The lines before the directives, when they are assembled by themselves."""

_MOST_SGPRS, _MOST_EXTRA_SGPRS = 102, 6
_PROPERTY_FLAGS = (
    ("user_sgpr_dispatch_ptr", 1),
    ("user_sgpr_queue_ptr", 2),
    ("user_sgpr_kernarg_segment_ptr", 3),
    ("user_sgpr_dispatch_id", 4),
    ("user_sgpr_private_segment_size", 6),
    ("uses_dynamic_stack", 11),
)
_RSRC2_FIELDS = (
    ("enable_private_segment", 0, 1),
    ("system_sgpr_workgroup_id_x", 7, 1),
    ("system_sgpr_workgroup_id_y", 8, 1),
    ("system_sgpr_workgroup_id_z", 9, 1),
    ("system_sgpr_workgroup_info", 10, 1),
    ("system_vgpr_workitem_id", 11, 3),
)
_RSRC1_FIELDS = (
    ("float_round_mode_32", 12, 3),
    ("float_round_mode_16_64", 14, 3),
    ("float_denorm_mode_32", 16, 3),
    ("float_denorm_mode_16_64", 18, 3),
    ("dx10_clamp", 21, 1),
    ("ieee_mode", 23, 1),
    ("fp16_overflow", 26, 1),
)
_EXCEPTIONS = (
    ("exception_fp_ieee_invalid_op", 24, 1),
    ("exception_fp_denorm_src", 25, 1),
    ("exception_fp_ieee_div_zero", 26, 1),
    ("exception_fp_ieee_overflow", 27, 1),
    ("exception_fp_ieee_underflow", 28, 1),
    ("exception_fp_ieee_inexact", 29, 1),
    ("exception_int_div_zero", 30, 1),
)


def descriptor_lines(name: str, descriptor: KernelDescriptor, target: str, features: str) -> list[str] | None:
    """The directives of a kernel's descriptor, `.amdhsa_kernel` to its end; None when they would not give its bytes back.

    The entry's distance is not compared: it follows from where the assembler and the linker put things.
    """
    raw = descriptor.raw[: ENTRY_FIELD.start] + bytes(8) + descriptor.raw[ENTRY_FIELD.stop :]
    directives = _checked(raw, target, features)
    if directives is None:
        return None
    return [f"\t.amdhsa_kernel {quoted(name)}", *(f"\t\t{line}" for line in directives), "\t.end_amdhsa_kernel"]


@lru_cache(maxsize=1024)
def _checked(raw: bytes, target: str, features: str) -> tuple[str, ...] | None:
    directives = tuple(_directives(parse_descriptor(raw, "<descriptor>"), target))
    return directives if assembled_descriptor(directives, target, features) == raw else None


def assembled_descriptor(directives: tuple[str, ...], target: str, features: str) -> bytes | None:
    """The 64 bytes that directives stand for, with the entry's distance 0; None when the assembler refuses them."""
    source = "\n".join((*DESCRIPTOR_HEAD, *directives, ".end_amdhsa_kernel", ""))
    made = assemble_object(source, target, hsa=True, features=features)
    if made.errors:
        return None
    elf = elf_reader.read(made.object, "<descriptor>")
    section = elf.section(".rodata")
    found = elf.contents(section)[:DESCRIPTOR_BYTES] if section else b""
    return found[: ENTRY_FIELD.start] + bytes(8) + found[ENTRY_FIELD.stop :]


def _directives(descriptor: KernelDescriptor, target: str) -> Iterator[str]:
    rsrc1, rsrc2, rsrc3, properties = descriptor.rsrc1, descriptor.rsrc2, descriptor.rsrc3, descriptor.properties
    yield f".amdhsa_group_segment_fixed_size {descriptor.group_segment_bytes}"
    yield f".amdhsa_private_segment_fixed_size {descriptor.private_segment_bytes}"
    yield f".amdhsa_kernarg_size {descriptor.kernarg_bytes}"
    yield f".amdhsa_user_sgpr_count {descriptor.user_sgpr_count}"
    has_fixed_scratch = target != "gfx90a"
    if not has_fixed_scratch:
        yield f".amdhsa_user_sgpr_private_segment_buffer {properties & 1}"
        yield f".amdhsa_user_sgpr_flat_scratch_init {properties >> 5 & 1}"
    for name, bit in _PROPERTY_FLAGS:
        yield f".amdhsa_{name} {properties >> bit & 1}"
    if descriptor.preload_dwords:
        yield f".amdhsa_user_sgpr_kernarg_preload_length {descriptor.preload_dwords}"
        yield f".amdhsa_user_sgpr_kernarg_preload_offset {descriptor.preload_offset_dwords}"
    for name, bit, mask in _RSRC2_FIELDS:
        if name == "enable_private_segment" and not has_fixed_scratch:
            name = "system_sgpr_private_segment_wavefront_offset"
        yield f".amdhsa_{name} {rsrc2 >> bit & mask}"
    yield f".amdhsa_next_free_vgpr {descriptor.vgpr_count}"
    yield f".amdhsa_accum_offset {descriptor.accum_offset}"
    # VCC, FLAT_SCRATCH and XNACK_MASK, up to six, are added as the target has them, and the sum is rounded up to eights.
    yield f".amdhsa_next_free_sgpr {min(descriptor.sgpr_count - _MOST_EXTRA_SGPRS, _MOST_SGPRS)}"
    yield ".amdhsa_reserve_vcc 0"
    if not has_fixed_scratch:
        yield ".amdhsa_reserve_flat_scratch 0"
    for name, bit, mask in _RSRC1_FIELDS:
        yield f".amdhsa_{name} {rsrc1 >> bit & mask}"
    yield f".amdhsa_tg_split {rsrc3 >> 16 & 1}"
    for name, bit, mask in _EXCEPTIONS:
        yield f".amdhsa_{name} {rsrc2 >> bit & mask}"


def descriptor_words(descriptor: KernelDescriptor, entry_label: str, symbol: str | None) -> list[str]:
    """The descriptor as exact data; the entry's distance as an expression, which an assembler leaves to the linker.

    Where the descriptor has no symbol that can be written, its own address stands for it.
    """
    words = struct.unpack("<16I", descriptor.raw)
    here = quoted(symbol) if symbol is not None else f"(. - {ENTRY_FIELD.start})"
    lines = [f"\t.long {', '.join(f'{word:#010x}' for word in words[:4])}", f"\t.quad {quoted(entry_label)}-{here}"]
    return [*lines, *(f"\t.long {', '.join(f'{w:#010x}' for w in words[at : at + 5])}" for at in (6, 11))]
