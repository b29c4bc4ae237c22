"""A kernel's figures in the metadata note, changed in place.

Owns the note's bytes: only the numbers that change are written anew, in their old width where they fit it, so that everything
else in the note, spelling and order included, stays byte for byte. A longer number makes the note longer; what lies behind it
is then moved by `relayout`.

Source: MessagePack specification, "int format family"; LLVM AMDGPUUsage, "Code Object Metadata".
"""

# msgpack comes without type annotations.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import cast

import msgpack

from asmevo.backend.relayout import replace_section
from asmevo.diagnostics import Span, fail
from asmevo.frontend.codeobject import CodeObject, load
from asmevo.frontend.elf import Section
from asmevo.ir.abi import KernelMetadata

_KEYS = {
    "kernarg_bytes": ".kernarg_segment_size",
    "group_segment_bytes": ".group_segment_fixed_size",
    "private_segment_bytes": ".private_segment_fixed_size",
    "vgpr_count": ".vgpr_count",
    "agpr_count": ".agpr_count",
    "sgpr_count": ".sgpr_count",
    "max_flat_workgroup_size": ".max_flat_workgroup_size",
}
"""What can be changed: the field of KernelMetadata, and its key in the note."""

# First byte of an integer that is no fixint, to its layout and the values that it holds.
_FORMS = {
    0xCC: (">BB", 1 << 8), 0xCD: (">BH", 1 << 16), 0xCE: (">BI", 1 << 32), 0xCF: (">BQ", 1 << 64),
    0xD0: (">BB", 1 << 7), 0xD1: (">BH", 1 << 15), 0xD2: (">BI", 1 << 31), 0xD3: (">BQ", 1 << 63),
}  # fmt: skip
_NAME_BYTES, _NOTE_HEADER_BYTES = 8, 12


def with_metadata(obj: CodeObject, name: str, wanted: KernelMetadata) -> CodeObject:
    """Return the object with kernel `name`'s figures as in `wanted`; the same object when they are so already.

    Raises E0615 for a change of anything but the figures in the note (name, symbol, arguments, wavefront size, a figure that
    the note does not have), E0614 when the note has to grow and the file's structure leaves no way, E0616 when the check of
    the result fails.
    """
    entry = obj.kernel(name)
    changed = {f.name for f in fields(wanted) if getattr(wanted, f.name) != getattr(entry.metadata, f.name)}
    if not changed:
        return obj
    places = _places(obj.data[obj.note[0] : sum(obj.note)], name)
    figures: dict[str, int] = {}
    for field in sorted(changed):
        key, value = _KEYS.get(field), cast("object", getattr(wanted, field))
        if key is None or key not in places or not isinstance(value, int):
            fail("E0615", f"'{name}': changed metadata cannot be written: {key or field}", Span(obj.name, offset=obj.note[0]))
        figures[key] = value
    data = _written(obj, places, figures)
    new = load(data, obj.name)
    _check(obj, new, name, wanted)
    return new


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a number's bytes lie in the note."""

    start: int
    stop: int


def _places(raw: bytes, name: str) -> dict[str, _Place]:
    """Return the place of each value of the kernel's map. The note has been read before, so its types are known."""
    walk = msgpack.Unpacker(strict_map_key=False, max_buffer_size=max(len(raw), 1), unicode_errors="replace")
    walk.feed(raw)
    found: dict[str, _Place] = {}
    for _ in range(cast(int, walk.read_map_header())):
        if walk.unpack() != "amdhsa.kernels":
            walk.skip()
            continue
        for _ in range(cast(int, walk.read_array_header())):
            places: dict[str, _Place] = {}
            own_name: object = None
            for _ in range(cast(int, walk.read_map_header())):
                key = cast(object, walk.unpack())
                start = cast(int, walk.tell())
                if key == ".name":
                    own_name = walk.unpack()
                else:
                    walk.skip()
                if isinstance(key, str):
                    places[key] = _Place(start, cast(int, walk.tell()))
            if own_name == name:
                found = places
    return found


def _written(obj: CodeObject, places: Mapping[str, _Place], figures: Mapping[str, int]) -> bytes:
    start, size = obj.note
    raw = bytearray(obj.data[start : start + size])
    for key in sorted(figures, key=lambda key: -places[key].start):
        place = places[key]
        raw[place.start : place.stop] = _integer(figures[key], bytes(raw[place.start : place.stop]))
    if len(raw) == size:
        return obj.data[:start] + bytes(raw) + obj.data[start + size :]
    section = _section(obj)
    header = start - _NAME_BYTES - _NOTE_HEADER_BYTES
    if header < section.offset or struct.unpack_from("<I", obj.data, header + 4) != (size,):
        fail("E0614", "the metadata note is laid out in an unknown way, so it cannot grow", Span(obj.name, offset=start))
    padded = size + -size % 4
    contents = bytearray(obj.data[section.offset : start]) + raw + bytes(-len(raw) % 4)
    contents += obj.data[start + padded : section.offset + section.size]
    struct.pack_into("<I", contents, header + 4 - section.offset, len(raw))
    growth = len(contents) - section.size
    if growth <= 0:
        # The number's growth went into the padding.
        return obj.data[: section.offset] + bytes(contents) + obj.data[section.offset + len(contents) :]
    return bytes(replace_section(obj.elf, section, obj.symbols, bytes(contents)).data)


def _integer(value: int, old: bytes) -> bytes:
    form = _FORMS.get(old[0])
    if form is None or value >= form[1]:
        return cast(bytes, msgpack.packb(value))
    return struct.pack(form[0], old[0], value)


def _section(obj: CodeObject) -> Section:
    start, size = obj.note
    for section in obj.elf.sections:
        if section.has_contents and section.offset <= start and start + size <= section.offset + section.size:
            return section
    fail("E0614", "the metadata note stands in no section, so it cannot grow", Span(obj.name, offset=start))


def _check(old: CodeObject, new: CodeObject, name: str, wanted: KernelMetadata) -> None:
    """Compare what a loader sees: every kernel's metadata, descriptor and code, read anew."""
    for before, after in zip(old.kernels, new.kernels, strict=True):
        expected = replace(
            before,
            metadata=wanted if before.name == name else before.metadata,
            descriptor_address=after.descriptor_address,
            descriptor_place=after.descriptor_place,
        )
        if after != expected or old.code(before) != new.code(after):
            fail(
                "E0616", f"the rebuilt object is not as it should be: '{before.name}' changed with its metadata", Span(old.name)
            )
