"""The 64-byte kernel descriptor: bytes to fields and back.

Source: LLVM AMDGPUUsage, "Kernel Descriptor" (code object version 3 and later).
"""

from __future__ import annotations

import struct
from dataclasses import replace

from asmevo.diagnostics import Span, fail
from asmevo.ir.abi import KernelDescriptor

DESCRIPTOR_BYTES = 64
_ENTRY_PLACE = 16
_SIZES = struct.Struct("<III")
_ENTRY = struct.Struct("<q")
_TAIL = struct.Struct("<IIIHH")
_TAIL_PLACE = 44


def parse_descriptor(raw: bytes, file: str, offset: int | None = None) -> KernelDescriptor:
    """Read a descriptor; reserved fields are kept in `raw` and not judged. Raises E0110 unless there are 64 bytes."""
    if len(raw) != DESCRIPTOR_BYTES:
        fail("E0110", f"a kernel descriptor of {len(raw)} bytes instead of {DESCRIPTOR_BYTES}", Span(file, offset=offset))
    group, private, kernarg = _SIZES.unpack_from(raw, 0)
    (entry,) = _ENTRY.unpack_from(raw, _ENTRY_PLACE)
    rsrc3, rsrc1, rsrc2, properties, preload = _TAIL.unpack_from(raw, _TAIL_PLACE)
    return KernelDescriptor(
        raw=raw,
        group_segment_bytes=group,
        private_segment_bytes=private,
        kernarg_bytes=kernarg,
        entry_offset=entry,
        rsrc1=rsrc1,
        rsrc2=rsrc2,
        rsrc3=rsrc3,
        properties=properties,
        preload_dwords=preload & 0x7F,
        preload_offset_dwords=preload >> 7,
    )


def encode_descriptor(descriptor: KernelDescriptor) -> bytes:
    """Return the 64 bytes: the fields over `raw`, whose reserved fields stay. Inverse of `parse_descriptor`."""
    raw = bytearray(descriptor.raw)
    _SIZES.pack_into(raw, 0, descriptor.group_segment_bytes, descriptor.private_segment_bytes, descriptor.kernarg_bytes)
    _ENTRY.pack_into(raw, _ENTRY_PLACE, descriptor.entry_offset)
    preload = descriptor.preload_dwords | descriptor.preload_offset_dwords << 7
    _TAIL.pack_into(raw, _TAIL_PLACE, descriptor.rsrc3, descriptor.rsrc1, descriptor.rsrc2, descriptor.properties, preload)
    return bytes(raw)


def with_entry(descriptor: KernelDescriptor, entry_offset: int) -> KernelDescriptor:
    """Return the descriptor with another entry offset (bytes, relative to the descriptor), `raw` included."""
    moved = replace(descriptor, entry_offset=entry_offset)
    return replace(moved, raw=encode_descriptor(moved))
