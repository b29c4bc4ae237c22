"""A strict, bounded reader of 64-bit little-endian ELF files.

Owns the file's structure: header, segments, sections, symbols, notes, every offset checked before it is used. It must not
know what a kernel is. The input can be hostile, so nothing here loops or allocates by a number the file has not paid for.

Source: System V ABI, "Object Files"; LLVM AMDGPUUsage, "ELF Code Object".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from asmevo.diagnostics import Span, fail

HEADER_BYTES, SECTION_BYTES, SEGMENT_BYTES, SYMBOL_BYTES, DYNAMIC_BYTES, RELOCATION_BYTES = 64, 64, 56, 24, 16, 24
SHT_SYMTAB, SHT_RELA, SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM, SHT_RELR = 2, 4, 6, 7, 8, 9, 11, 19
SHF_ALLOC, SHF_EXECINSTR = 2, 4
PT_LOAD, PT_DYNAMIC, PT_NOTE = 1, 2, 4
ET_REL, ET_DYN = 1, 3
STT_FUNC = 2
SHN_LORESERVE = 0xFF00

MAX_FILE = 512 << 20
"""Bytes."""

_MAX_SECTIONS = 1024
_MAX_SYMBOLS = 1 << 18
_MAX_NAME = 4096
_MAX_NAMES_TOTAL = 64 << 20

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")


@dataclass(frozen=True, slots=True)
class Header:
    """The ELF header's fields that vary; offsets and sizes in bytes."""

    os_abi: int
    abi_version: int
    kind: int
    machine: int
    entry: int
    segment_offset: int
    section_offset: int
    flags: int
    segment_count: int
    section_count: int
    name_index: int


@dataclass(frozen=True, slots=True)
class Section:
    """One section header. `offset` and `size` lie within the file unless the section has no contents (NOBITS)."""

    index: int
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    alignment: int
    entry_size: int
    info: int

    @property
    def has_contents(self) -> bool:
        """Whether it takes room in the file."""
        return self.kind not in (0, SHT_NOBITS) and self.size > 0

    @property
    def is_loaded(self) -> bool:
        """Whether it takes room in memory."""
        return bool(self.flags & SHF_ALLOC) and self.size > 0


@dataclass(frozen=True, slots=True)
class Segment:
    """One program header; file range within the file."""

    index: int
    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    alignment: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """One symbol of a table; `place` is the file offset of its entry."""

    name: str
    kind: int
    section: int
    value: int
    size: int
    place: int
    binding: int
    visibility: int


@dataclass(frozen=True, slots=True)
class Relocation:
    """One relocation with an explicit addend; `symbol` is an index into the linked table, `place` its entry's file offset."""

    offset: int
    kind: int
    symbol: int
    addend: int
    place: int


@dataclass(frozen=True, slots=True)
class Note:
    """One note: its owner, type and contents' place in the file."""

    owner: bytes
    kind: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class ElfFile:
    """A file whose header, segments and sections lie within it."""

    file: str
    data: bytes
    header: Header
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]

    def section(self, name: str) -> Section | None:
        """Return the first section of this name."""
        return next((section for section in self.sections if section.name == name), None)

    def contents(self, section: Section) -> bytes:
        """Return the bytes of a section; none when it has no contents."""
        return self.data[section.offset : section.offset + section.size] if section.has_contents else b""

    def at_address(self, address: int, size: int) -> int | None:
        """Return the file offset of `size` bytes loaded at `address`; None when no section holds them all."""
        for section in self.sections:
            if section.is_loaded and section.has_contents:
                start = address - section.address
                if 0 <= start and start + size <= section.size:
                    return section.offset + start
        return None


def damaged(file: str, part: str, offset: int | None = None) -> NoReturn:
    """Raise E0102 for a part of the file that is cut off or contradicts itself."""
    fail("E0102", f"damaged object: {part}", Span(file, offset=offset), "the file may be truncated; fetch or build it again")


def read(data: bytes, file: str, *, max_sections: int = _MAX_SECTIONS, max_name: int = _MAX_NAME) -> ElfFile:
    """Read header, segments and sections of an ELF64 little-endian file that starts with the ELF magic.

    `max_name`: bytes of a section's name.
    Raises E0102 when a table or a section lies outside the file, E0103 for another class or byte order.
    """
    if len(data) > MAX_FILE:
        damaged(file, f"{len(data)} bytes are more than the {MAX_FILE} allowed")
    if len(data) < HEADER_BYTES:
        damaged(file, f"the ELF header is cut off after {len(data)} bytes", len(data))
    if data[4] != 2 or data[5] != 1:
        fail("E0103", "not a 64-bit little-endian ELF file", Span(file, offset=4))
    kind, machine, _, entry, segment_at, section_at, flags = struct.unpack_from("<HHIQQQI", data, 16)
    _, segment_bytes, segment_count, section_bytes, section_count, name_index = struct.unpack_from("<6H", data, 52)
    header = Header(
        data[7], data[8], kind, machine, entry, segment_at, section_at, flags, segment_count, section_count, name_index
    )
    if segment_count and segment_bytes != SEGMENT_BYTES:
        damaged(file, f"program headers of {segment_bytes} bytes instead of {SEGMENT_BYTES}", 54)
    if section_count and section_bytes != SECTION_BYTES:
        damaged(file, f"section headers of {section_bytes} bytes instead of {SECTION_BYTES}", 58)
    if section_count > max_sections:
        damaged(file, f"{section_count} sections are more than the {max_sections} allowed", 60)
    if segment_at + segment_count * SEGMENT_BYTES > len(data):
        damaged(file, "the program header table ends behind the file", segment_at)
    if section_at + section_count * SECTION_BYTES > len(data):
        damaged(file, "the section header table ends behind the file", section_at)
    return ElfFile(file, data, header, tuple(_segments(data, header, file)), _sections(data, header, file, max_name))


def _segments(data: bytes, header: Header, file: str) -> Iterator[Segment]:
    for index in range(header.segment_count):
        place = header.segment_offset + index * SEGMENT_BYTES
        kind, flags, offset, address, _, size, memory, alignment = _SEGMENT.unpack_from(data, place)
        if size and offset + size > len(data):
            damaged(file, f"segment {index} ends behind the file", place)
        yield Segment(index, kind, flags, offset, address, size, memory, alignment)


def _sections(data: bytes, header: Header, file: str, max_name: int) -> tuple[Section, ...]:
    raw = [_SECTION.unpack_from(data, header.section_offset + i * SECTION_BYTES) for i in range(header.section_count)]
    for index, (_, kind, _, _, offset, size, *_) in enumerate(raw):
        if kind not in (0, SHT_NOBITS) and offset + size > len(data):
            damaged(file, f"section {index} ends behind the file", header.section_offset + index * SECTION_BYTES)
    if raw and header.name_index >= len(raw):
        damaged(file, "the section names' section does not exist", 62)
    strings = _StringTable(data, raw[header.name_index][4], raw[header.name_index][5], file, max_name) if raw else None
    found: list[Section] = []
    for index, (at, kind, flags, address, offset, size, link, info, alignment, entry_size) in enumerate(raw):
        label = strings.at(at) if strings else ""
        found.append(Section(index, label, kind, flags, address, offset, size, link, alignment, entry_size, info))
    return tuple(found)


class _StringTable:
    """Names by offset. Overlapping names could make a small file yield huge text, so the total is limited."""

    def __init__(self, data: bytes, offset: int, size: int, file: str, max_name: int = _MAX_NAME) -> None:
        self._max_name = max_name
        self._data, self._start, self._end, self._file = data, offset, min(offset + size, len(data)), file
        self._left = _MAX_NAMES_TOTAL

    def at(self, index: int) -> str:
        start = self._start + index
        if index == 0 and start >= self._end:
            return ""
        stop = self._data.find(b"\0", start, min(self._end, start + self._max_name)) if start < self._end else -1
        if stop < 0:
            damaged(self._file, "a name lies outside its string table, has no end, or is too long", start)
        self._left -= stop - start
        if self._left < 0:
            damaged(self._file, f"names take more than {_MAX_NAMES_TOTAL} bytes", start)
        return self._data[start:stop].decode("utf-8", errors="replace")


def symbols(elf: ElfFile) -> Iterator[Symbol]:
    """Yield the symbols of every symbol table, the dynamic one first in file order. Raises E0102 for a damaged table."""
    for table in elf.sections:
        if table.kind not in (SHT_SYMTAB, SHT_DYNSYM):
            continue
        count, rest = divmod(table.size, SYMBOL_BYTES)
        if rest or count > _MAX_SYMBOLS:
            damaged(elf.file, f"symbol table '{table.name}' of {table.size} bytes", table.offset)
        if table.link >= len(elf.sections):
            damaged(elf.file, f"symbol table '{table.name}' names no string table", table.offset)
        linked = elf.sections[table.link]
        strings = _StringTable(elf.data, linked.offset, linked.size if linked.has_contents else 0, elf.file)
        for index in range(count):
            place = table.offset + index * SYMBOL_BYTES
            name, info, other, section, value, size = _SYMBOL.unpack_from(elf.data, place)
            yield Symbol(strings.at(name), info & 15, section, value, size, place, info >> 4, other & 3)


def relocations(elf: ElfFile, table: Section) -> Iterator[Relocation]:
    """Yield the entries of a RELA section. Raises E0102 for a size that is no whole number of entries."""
    if table.size % RELOCATION_BYTES:
        damaged(elf.file, f"relocation table '{table.name}' of {table.size} bytes", table.offset)
    for place in range(table.offset, table.offset + table.size, RELOCATION_BYTES):
        offset, info, addend = _RELOCATION.unpack_from(elf.data, place)
        yield Relocation(offset, info & 0xFFFFFFFF, info >> 32, addend, place)


def notes(elf: ElfFile) -> Iterator[Note]:
    """Yield the notes of all note sections, or of all note segments when there is no such section. Raises E0102."""
    areas = [(s.offset, s.size) for s in elf.sections if s.kind == SHT_NOTE and s.has_contents]
    areas = areas or [(s.offset, s.file_size) for s in elf.segments if s.kind == PT_NOTE]
    for start, size in areas:
        at, end = start, start + size
        while at + 12 <= end:
            name_size, size, kind = struct.unpack_from("<3I", elf.data, at)
            contents = at + 12 + (name_size + 3 & ~3)
            if contents + size > end:
                damaged(elf.file, "a note ends behind its section", at)
            yield Note(elf.data[at + 12 : at + 12 + name_size].rstrip(b"\0"), kind, contents, size)
            at = contents + (size + 3 & ~3)


def dynamic_entries(elf: ElfFile) -> Iterator[tuple[int, int, int]]:
    """Yield (tag, value, file offset of the entry) of the dynamic section up to its end mark."""
    areas = [(s.offset, s.size) for s in elf.sections if s.kind == SHT_DYNAMIC and s.has_contents]
    areas = areas or [(s.offset, s.file_size) for s in elf.segments if s.kind == PT_DYNAMIC]
    for start, size in areas:
        for place in range(start, start + size - DYNAMIC_BYTES + 1, DYNAMIC_BYTES):
            tag, value = struct.unpack_from("<QQ", elf.data, place)
            if tag == 0:
                break
            yield tag, value, place
