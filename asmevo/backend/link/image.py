"""The linked file's bytes: ELF header, program headers, sections, symbol and string tables, section headers."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from asmevo.backend.link.dynamic import Strings
from asmevo.backend.link.layout import Layout
from asmevo.backend.link.places import Places
from asmevo.backend.link.relocatable import HIDDEN, LOCAL, SHN_UNDEFINED, Relocatable
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.elf import HEADER_BYTES, SECTION_BYTES, SEGMENT_BYTES, SYMBOL_BYTES, Symbol

_SHT_STRTAB = 3
_STT_SECTION = 3
_PAGE_HEADER = struct.Struct("<IIQQQQQQ")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_ENTRY = struct.Struct("<IBBHQQ")
_IDENTITY = b"\x7fELF\x02\x01\x01"
_VERSION = 1
# Which section's table a section's entries point into.
_LINKS = {
    ".dynsym": ".dynstr", ".gnu.hash": ".dynsym", ".hash": ".dynsym", ".rela.dyn": ".dynsym", ".dynamic": ".dynstr",
}  # fmt: skip


def symbol_table(symbols: Sequence[Symbol], names: Strings, places: Places) -> bytes:
    """Return a symbol table: the empty entry, then these symbols. A hidden symbol has become local."""
    data = bytearray(SYMBOL_BYTES)
    for symbol in symbols:
        binding = LOCAL if _is_local(symbol) else symbol.binding
        number, value = places.section_number(symbol), places.symbol(symbol)
        data += _ENTRY.pack(names.add(symbol.name), binding << 4 | symbol.kind, symbol.visibility, number, value, symbol.size)
    return bytes(data)


def _is_local(symbol: Symbol) -> bool:
    return symbol.binding == LOCAL or (symbol.visibility in HIDDEN and symbol.section != SHN_UNDEFINED)


def write_image(source: Relocatable, layout: Layout, contents: Mapping[str, bytes], places: Places) -> bytes:
    """Return the file. `contents` has the bytes of every output section that takes room in the file."""
    image = bytearray(layout.size)
    for placed in layout.placed:
        data = contents[placed.output.name]
        image[placed.offset : placed.offset + len(data)] = data
    listed = [s for s in source.symbols[1:] if s.kind != _STT_SECTION and s.section != SHN_UNDEFINED]
    locals_ = [s for s in listed if _is_local(s)]
    strings, section_names = Strings(), Strings()
    table = symbol_table([*locals_, *(s for s in listed if not _is_local(s))], strings, places)
    headers: list[tuple[str, int, int, int, int, int, int, int, int, int]] = []
    for placed in layout.placed:
        output = placed.output
        link = places.number(_LINKS[output.name]) if output.name in _LINKS else 0
        info = int(output.name == ".dynsym")
        headers.append((
            output.name, output.kind, output.flags, placed.address, placed.offset, output.size, link, info,
            output.alignment, output.entry_size,
        ))  # fmt: skip
    image += bytes(-len(image) % 8)
    strings_number = len(headers) + 3
    headers.append((
        ".symtab", elf_reader.SHT_SYMTAB, 0, 0, len(image), len(table), strings_number, len(locals_) + 1, 8, SYMBOL_BYTES,
    ))  # fmt: skip
    image += table
    for name in (*(header[0] for header in headers), ".shstrtab", ".strtab"):
        section_names.add(name)
    for name, data in ((".shstrtab", bytes(section_names.data)), (".strtab", bytes(strings.data))):
        headers.append((name, _SHT_STRTAB, 0, 0, len(image), len(data), 0, 0, 1, 0))
        image += data
    image += bytes(-len(image) % 8)
    section_offset = len(image)
    image += bytes(SECTION_BYTES)
    for name, *fields in headers:
        image += _SECTION_HEADER.pack(section_names.add(name), *fields)
    _write_headers(image, source, layout, section_offset, len(headers) + 1, strings_number - 1)
    return bytes(image)


def _write_headers(
    image: bytearray, source: Relocatable, layout: Layout, section_offset: int, section_count: int, names: int
) -> None:
    header = source.elf.header
    image[: len(_IDENTITY) + 2] = _IDENTITY + bytes((header.os_abi, header.abi_version))
    struct.pack_into(
        "<HHIQQQIHHHHHH", image, 16, elf_reader.ET_DYN, header.machine, _VERSION, 0, HEADER_BYTES, section_offset, header.flags,
        HEADER_BYTES, SEGMENT_BYTES, len(layout.programs), SECTION_BYTES, section_count, names,
    )  # fmt: skip
    for index, program in enumerate(layout.programs):
        _PAGE_HEADER.pack_into(
            image, HEADER_BYTES + index * SEGMENT_BYTES, program.kind, program.flags, program.offset, program.address,
            program.address, program.file_size, program.memory_size, program.alignment,
        )  # fmt: skip
