"""Another .text, or another section in its place, in an existing ELF file.

Owns making room: slack behind the section first, then whole pages, with every offset and address behind it moved along.
Whatever is not moved stays byte for byte. Debug sections keep their old addresses.

Source: System V ABI, "Object Files" and "Program Loading".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from asmevo.diagnostics import Span, fail
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.elf import PT_LOAD, ElfFile, Section, Segment, Symbol

_PAGE = 4096
_MAX_GROWTH = 64 << 20
# Tags whose value is an address: PLTGOT, HASH, STRTAB, SYMTAB, RELA, INIT, FINI, REL, DEBUG, JMPREL, *_ARRAY, RELR, GNU_HASH,
# VERSYM, VERDEF, VERNEED.
_ADDRESS_TAGS = frozenset({3, 4, 5, 6, 7, 12, 13, 17, 21, 23, 25, 26, 32, 36, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE})
_U64 = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Relaid:
    """The new file, and by how many bytes everything behind .text moved (file and memory alike)."""

    data: bytearray
    shift: int


def replace_text(
    elf: ElfFile, text: Section, symbols: Sequence[Symbol], code: bytes, move: Callable[[int], int], *, moves_others: bool
) -> Relaid:
    """Put `code` in the place of .text; `move` maps old offsets in .text to new ones, for symbols.

    `code` is at least as long as the old text. `moves_others` says that code of other functions moved within it.
    Raises E0614 when the file's structure leaves no way: relocations, things overlapping .text.
    """
    growth = len(code) - text.size
    shift = 0
    if growth > 0:
        _check_overlaps(elf, text)
        shift = _shift(elf, text, growth)
    if shift or moves_others:
        _check_relocations(elf)
    end = text.offset + text.size
    data = bytearray(elf.data[: text.offset])
    data += code
    if shift:
        data += bytes(shift - growth)
        data += elf.data[end:]
    else:
        data += elf.data[end + growth :]
    relaid = Relaid(data, shift)
    _move_symbols(relaid, text, symbols, move)
    if growth > 0:
        _move_structure(relaid, elf, text, growth)
    return relaid


def replace_section(elf: ElfFile, section: Section, symbols: Sequence[Symbol], contents: bytes) -> Relaid:
    """Put longer `contents` in the place of a section that holds no code. Raises E0614 as `replace_text`."""
    return replace_text(elf, section, symbols, contents, lambda offset: offset, moves_others=False)


def has_relocations(elf: ElfFile) -> bool:
    """Tell whether the loader patches the object, at places and with values that moving code would have to follow."""
    kinds = (elf_reader.SHT_RELA, elf_reader.SHT_REL, elf_reader.SHT_RELR)
    return any(section.kind in kinds and section.size for section in elf.sections)


def _check_relocations(elf: ElfFile) -> None:
    if has_relocations(elf):
        fail("E0614", "the object has relocations, so nothing in it can be moved", Span(elf.file), "keep the code's size")


def _check_overlaps(elf: ElfFile, text: Section) -> None:
    start, end = text.offset, text.offset + text.size
    low, high = text.address, text.address + text.size
    header = elf.header
    tables = (
        ("the section header table", header.section_offset, header.section_count * elf_reader.SECTION_BYTES),
        ("the program header table", header.segment_offset, header.segment_count * elf_reader.SEGMENT_BYTES),
    )
    areas = [(name, at, size) for name, at, size in tables]
    areas += [(f"section '{s.name}'", s.offset, s.size) for s in elf.sections if s.has_contents and s.index != text.index]
    for name, at, size in areas:
        if size and at < end and start < at + size:
            fail("E0614", f"{name} overlaps {text.name}, so it cannot grow", Span(elf.file, offset=at))
    for section in elf.sections:
        touches = section.address < high and low < section.address + section.size
        if section.is_loaded and section.index != text.index and touches:
            what = f"section '{section.name}' overlaps {text.name} in memory, so it cannot grow"
            fail("E0614", what, Span(elf.file))
    for segment in elf.segments:
        touches = segment.file_size and segment.offset < end and start < segment.offset + segment.file_size
        if touches and not _holds(segment, text):
            fail("E0614", f"segment {segment.index} holds a part of {text.name}, so it cannot grow", Span(elf.file))


def _holds(segment: Segment, text: Section) -> bool:
    return segment.offset <= text.offset and text.offset + text.size <= segment.offset + segment.file_size


def _shift(elf: ElfFile, text: Section, growth: int) -> int:
    end, high = text.offset + text.size, text.address + text.size
    room_in_file = min(_file_places(elf, end), default=len(elf.data)) - end
    following = min(_addresses(elf, high), default=high + growth + _PAGE)
    shares_segment = any(
        s.kind == PT_LOAD and s.address <= text.address and high < s.address + s.memory_size for s in elf.segments
    )
    # Not into the page of another segment: it may be writable.
    room_in_memory = (following if shares_segment else following // _PAGE * _PAGE) - high
    is_free = not any(elf.data[end : end + growth])
    if growth <= min(room_in_file, room_in_memory) and is_free:
        return 0
    granule = max([_PAGE, *(s.alignment for s in elf.sections if s.offset >= end and s.alignment <= _MAX_GROWTH)])
    return -(-growth // granule) * granule


def _file_places(elf: ElfFile, end: int) -> Iterator[int]:
    yield from (s.offset for s in elf.sections if s.has_contents and s.offset >= end)
    yield from (s.offset for s in elf.segments if s.file_size and s.offset >= end)
    yield from (place for place in (elf.header.section_offset, elf.header.segment_offset) if place >= end)


def _addresses(elf: ElfFile, high: int) -> Iterator[int]:
    yield from (s.address for s in elf.sections if s.is_loaded and s.address >= high)
    yield from (s.address for s in elf.segments if s.memory_size and s.address >= high)


def _move_symbols(relaid: Relaid, text: Section, symbols: Sequence[Symbol], move: Callable[[int], int]) -> None:
    # Symbol tables behind .text have moved with the rest.
    end, high = text.offset + text.size, text.address + text.size
    for symbol in symbols:
        place = symbol.place + (relaid.shift if symbol.place >= end else 0)
        if symbol.section == text.index:
            offset = symbol.value - text.address
            if not 0 <= offset <= text.size:
                continue
            _U64.pack_into(relaid.data, place + 8, text.address + move(offset))
            if symbol.kind == elf_reader.STT_FUNC and symbol.size and offset + symbol.size <= text.size:
                _U64.pack_into(relaid.data, place + 16, move(offset + symbol.size) - move(offset))
        elif 0 < symbol.section < elf_reader.SHN_LORESERVE and symbol.value >= high:
            _U64.pack_into(relaid.data, place + 8, symbol.value + relaid.shift)


def _move_structure(relaid: Relaid, elf: ElfFile, text: Section, growth: int) -> None:
    end, high, shift, data = text.offset + text.size, text.address + text.size, relaid.shift, relaid.data

    def in_file(offset: int) -> int:
        return offset + shift if offset >= end else offset

    def in_memory(address: int) -> int:
        return address + shift if address >= high else address

    header = elf.header
    _U64.pack_into(data, 24, in_memory(header.entry))
    _U64.pack_into(data, 32, in_file(header.segment_offset))
    _U64.pack_into(data, 40, in_file(header.section_offset))
    for section in elf.sections:
        place = in_file(header.section_offset) + section.index * elf_reader.SECTION_BYTES
        if section.index == text.index:
            _U64.pack_into(data, place + 32, text.size + growth)
            continue
        _U64.pack_into(data, place + 24, in_file(section.offset))
        if section.flags & elf_reader.SHF_ALLOC:
            _U64.pack_into(data, place + 16, in_memory(section.address))
    for segment in elf.segments:
        place = in_file(header.segment_offset) + segment.index * elf_reader.SEGMENT_BYTES
        _move_segment(data, place, segment, text, growth, shift)
    for tag, value, place in elf_reader.dynamic_entries(elf):
        if tag in _ADDRESS_TAGS:
            _U64.pack_into(data, in_file(place) + 8, in_memory(value))


def _move_segment(data: bytearray, place: int, segment: Segment, text: Section, growth: int, shift: int) -> None:
    end, high = text.offset + text.size, text.address + text.size
    if segment.file_size and _holds(segment, text):
        # Ending with .text it grows with it; reaching further, what it holds behind .text has moved.
        file_growth = growth if segment.offset + segment.file_size == end else shift
        memory_growth = growth if segment.address + segment.memory_size == high else shift
        _U64.pack_into(data, place + 32, segment.file_size + file_growth)
        _U64.pack_into(data, place + 40, segment.memory_size + memory_growth)
        return
    if segment.offset >= end:
        _U64.pack_into(data, place + 8, segment.offset + shift)
    if segment.address >= high:
        _U64.pack_into(data, place + 16, segment.address + shift)
        (physical,) = _U64.unpack_from(data, place + 24)
        if physical >= high:
            _U64.pack_into(data, place + 24, physical + shift)
