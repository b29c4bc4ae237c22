"""Small linked code objects made from instruction texts, in the shape that lld gives them. For tests only."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgpack
from elftools.elf.elffile import ELFFile

from asmevo.backend.assembler import assemble

GFX942 = 0x4C
FLAGS_942 = 0x54C
_ALIGNED_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the object; a kernel unless told otherwise. `pad` bytes of s_nop follow up to the next 256."""

    name: str
    lines: tuple[str, ...]
    is_kernel: bool = True
    preload_dwords: int = 0
    extra: int = 0
    """Further filler words behind the code."""


class _Strings:
    def __init__(self) -> None:
        self.data = bytearray(b"\0")

    def add(self, name: str) -> int:
        at = len(self.data)
        self.data += name.encode() + b"\0"
        return at


LOOP = Function(
    "loop",
    (
        "s_load_dwordx2 s[2:3], s[0:1], 0x0",
        "s_mov_b32 s4, 8",
        "s_sub_u32 s4, s4, 1",
        "s_cmp_lg_u32 s4, 0",
        "s_cbranch_scc1 65533",
        "s_waitcnt lgkmcnt(0)",
        "s_endpgm",
    ),
)
TAIL = Function("tail", ("s_nop 3", "s_endpgm"), extra=3)
HELPER = Function("helper", ("v_add_u32_e32 v0, v0, v1", "s_setpc_b64 s[30:31]"), is_kernel=False)


def make_object(
    functions: Sequence[Function],
    *,
    flags: int = FLAGS_942,
    kind: int = 3,
    machine: int = 224,
    os_abi: int = 64,
    abi_version: int = 3,
    metadata: bytes | None = None,
    relocations: int = 0,
    slack: int = 0,
    with_note: bool = True,
    entry_delta: int = 0,
) -> bytes:
    """An object with .note, .dynsym, .dynstr, .rodata, .text, .dynamic, .symtab and their tables.

    `slack`: free zero bytes between .text and what follows, in the file and, up to a page, in memory. `relocations`: entries
    of a .rela.dyn. `entry_delta` is added to every descriptor's entry offset.
    """
    code = bytearray()
    starts: list[tuple[int, int]] = []
    for function in functions:
        code += struct.pack("<I", 0xBF800000) * (-len(code) % 256 // 4)
        bits = b"".join(assemble(function.lines, "gfx942"))
        starts.append((len(code), len(bits)))
        code += bits + struct.pack("<I", 0xBF800000) * function.extra
    kernels = [function for function in functions if function.is_kernel]
    if metadata is None:
        metadata = msgpack.packb(_metadata(kernels))
    note = struct.pack("<3I", 7, len(metadata), 32) + b"AMDGPU\0\0" + metadata + bytes(-len(metadata) % 4)

    names, section_names = _Strings(), _Strings()
    symbol_count = 1 + len(functions) + len(kernels)
    sizes = {
        ".note": len(note) if with_note else 0,
        ".dynsym": 24 * symbol_count,
        ".rela.dyn": 24 * relocations,
        ".dynstr": sum(len(f.name) + 1 for f in functions) + sum(len(f.name) + 4 for f in kernels) + 1,
        ".rodata": 64 * len(kernels),
    }
    place, at = {}, 64 + 56 * 5
    for name, size in sizes.items():
        at += -at % 64
        place[name] = at
        at += size
    rodata_end = at
    at += -at % 256
    text_at, text_address = at, at + _ALIGNED_PAGE
    dynamic_at = text_at + len(code) + slack
    dynamic_at += -dynamic_at % 8
    dynamic_address = dynamic_at + 2 * _ALIGNED_PAGE

    symbols = bytearray(24)
    rodata = bytearray()
    index = {name: i + 1 for i, name in enumerate([*sizes, ".text", ".dynamic", ".symtab", ".strtab", ".shstrtab"])}
    for function, (start, size) in zip(functions, starts, strict=True):
        symbols += struct.pack("<IBBHQQ", names.add(function.name), 0x12, 3, index[".text"], text_address + start, size)
        if not function.is_kernel:
            continue
        address = place[".rodata"] + len(rodata)
        symbols += struct.pack("<IBBHQQ", names.add(function.name + ".kd"), 0x11, 0, index[".rodata"], address, 64)
        rodata += struct.pack("<IIIIq20x", 0, 0, 16, 0, text_address + start + entry_delta - address)
        rodata += struct.pack("<IIIHH4x", 0x1F, 0x00AC0041, 0x90, 8, function.preload_dwords)
    dynamic = b"".join(
        struct.pack("<QQ", tag, value)
        for tag, value in ((6, place[".dynsym"]), (11, 24), (5, place[".dynstr"]), (10, len(names.data)), (0, 0))
    )
    contents: list[tuple[str, int, int, int, int, bytes, int, int]] = [
        # name, type, flags, address, offset, bytes, link, entry size
        (".note", 7, 2, place[".note"], place[".note"], note if with_note else b"", 0, 0),
        (".dynsym", 11, 2, place[".dynsym"], place[".dynsym"], bytes(symbols), index[".dynstr"], 24),
        (".rela.dyn", 4, 2, place[".rela.dyn"], place[".rela.dyn"], bytes(24 * relocations), index[".dynsym"], 24),
        (".dynstr", 3, 2, place[".dynstr"], place[".dynstr"], bytes(names.data), 0, 0),
        (".rodata", 1, 2, place[".rodata"], place[".rodata"], bytes(rodata), 0, 0),
        (".text", 1, 6, text_address, text_at, bytes(code), 0, 0),
        (".dynamic", 6, 3, dynamic_address, dynamic_at, dynamic, index[".dynstr"], 16),
    ]
    at = dynamic_at + len(dynamic)
    contents.append((".symtab", 2, 0, 0, at, bytes(symbols), index[".strtab"], 24))
    at += len(symbols)
    contents.append((".strtab", 3, 0, 0, at, bytes(names.data), 0, 0))
    at += len(names.data)
    name_places = [section_names.add(name) for name in index]
    contents.append((".shstrtab", 3, 0, 0, at, bytes(section_names.data), 0, 0))
    at += len(section_names.data)
    at += -at % 8

    headers = bytearray(64)
    image = bytearray(at)
    for name_place, (name, type_, section_flags, address, offset, data, link, entry) in zip(name_places, contents, strict=True):
        alignment = 256 if name == ".text" else 8
        headers += struct.pack(
            "<IIQQQQIIQQ", name_place, type_, section_flags, address, offset, len(data), link, 0, alignment, entry
        )
        image[offset : offset + len(data)] = data
    segments = [
        (1, 4, 0, 0, rodata_end, rodata_end),
        (1, 5, text_at, text_address, len(code), len(code)),
        (1, 6, dynamic_at, dynamic_address, len(dynamic), len(dynamic)),
        (2, 6, dynamic_at, dynamic_address, len(dynamic), len(dynamic)),
        (0x6474E551, 6, 0, 0, 0, 0),
    ]
    for i, (type_, segment_flags, offset, address, file_size, memory_size) in enumerate(segments):
        alignment = _ALIGNED_PAGE if type_ == 1 else 8
        struct.pack_into(
            "<IIQQQQQQ", image, 64 + 56 * i, type_, segment_flags, offset, address, address, file_size, memory_size, alignment
        )
    image[:16] = b"\x7fELF" + bytes([2, 1, 1, os_abi, abi_version]) + bytes(7)
    struct.pack_into("<HHIQQQI", image, 16, kind, machine, 1, 0, 64, at, flags)
    struct.pack_into("<6H", image, 52, 64, 56, len(segments), 64, len(contents) + 1, index[".shstrtab"])
    return bytes(image + headers)


def _metadata(kernels: Sequence[Function]) -> dict[str, object]:
    entries: list[dict[str, object]] = [
        {
            ".name": kernel.name,
            ".symbol": f"{kernel.name}.kd",
            ".kernarg_segment_size": 16,
            ".group_segment_fixed_size": 0,
            ".private_segment_fixed_size": 0,
            ".wavefront_size": 64,
            ".sgpr_count": 16,
            ".vgpr_count": 16,
            ".max_flat_workgroup_size": 256,
            ".args": [{".name": "out", ".offset": 0, ".size": 8, ".value_kind": "global_buffer"}],
        }
        for kernel in kernels
    ]
    return {"amdhsa.version": [1, 2], "amdhsa.kernels": entries}


def check_structure(data: bytes) -> None:
    """What a loader relies on: pyelftools reads all of it, and segments neither overlap nor end behind the file."""
    elf = ELFFile(io.BytesIO(data))
    loads = sorted((s["p_vaddr"], s) for s in elf.iter_segments() if s["p_type"] == "PT_LOAD")
    for (_, segment), (following, _) in pairwise(loads):
        assert segment["p_vaddr"] + segment["p_memsz"] <= following
    for _, segment in loads:
        assert segment["p_offset"] % 4096 == segment["p_vaddr"] % 4096
        assert segment["p_offset"] + segment["p_filesz"] <= len(data)
    sections = {section.name: section for section in elf.iter_sections()}
    dynamic = {entry.entry.d_tag: entry.entry.d_val for entry in sections[".dynamic"].iter_tags()}
    assert dynamic["DT_SYMTAB"] == sections[".dynsym"]["sh_addr"]
    assert dynamic["DT_STRTAB"] == sections[".dynstr"]["sh_addr"]
    for table in (".dynsym", ".symtab"):
        for symbol in sections[table].iter_symbols():
            if isinstance(symbol["st_shndx"], int):
                home = elf.get_section(symbol["st_shndx"])
                assert home["sh_addr"] <= symbol["st_value"] <= home["sh_addr"] + home["sh_size"]
