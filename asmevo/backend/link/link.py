"""The order of linking: read, merge, see what the loader needs, place, fill in, write."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from asmevo.backend.link import dynamic as tables
from asmevo.backend.link.image import symbol_table, write_image
from asmevo.backend.link.layout import LOOKUP, RELRO, Output, Placed, merge, place
from asmevo.backend.link.places import SLOT_BYTES, Places
from asmevo.backend.link.relocatable import SHF_WRITE, SHN_ABSOLUTE, Relocatable, read_relocatable
from asmevo.backend.link.relocate import Kind, Needs, apply, scan
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.elf import DYNAMIC_BYTES, RELOCATION_BYTES, SYMBOL_BYTES, Symbol

_ALLOC, _WRITE = elf_reader.SHF_ALLOC, SHF_WRITE
_SHT_PROGBITS, _SHT_STRTAB, _SHT_HASH, _SHT_GNU_HASH = 1, 3, 5, 0x6FFFFFF6
_LOW_64 = (1 << 64) - 1
_MADE = frozenset({
    ".dynsym", ".gnu.hash", ".hash", ".dynstr", ".rela.dyn", ".dynamic", ".got", ".relro_padding", ".symtab", ".shstrtab",
    ".strtab",
})  # fmt: skip


def link(relocatable: bytes, name: str) -> bytes:
    """Return the loadable object (ET_DYN) of a relocatable one (ET_REL), as `ld.lld -shared --no-undefined` would lay it out.

    Loaded bytes equal lld's, except that equal strings and constants are not merged. Deterministic: the same bytes each time.
    Raises E0101 to E0106 for what is no relocatable object for a supported chip, E0160 for undefined symbols, E0161 and E0162
    for relocations, E0163 for sections and E0164 for symbols that it does not link, each by name.
    """
    source = read_relocatable(relocatable, name)
    needs = scan(source)
    exported = tables.in_hash_order(source.exported())
    names = tables.Strings()
    for symbol in source.exported():
        names.add(symbol.name)
    made = {
        ".gnu.hash": tables.gnu_hash_table([symbol.name for symbol in exported]),
        ".hash": tables.sysv_hash_table([symbol.name for symbol in exported]),
        ".dynstr": bytes(names.data),
    }
    relative = sum(not d.by_name for d in needs.dynamic)
    sizes = {name: len(data) for name, data in made.items()} | {".dynsym": SYMBOL_BYTES * (len(exported) + 1)}
    if needs.dynamic:
        sizes[".rela.dyn"] = RELOCATION_BYTES * len(needs.dynamic)
    sizes[".dynamic"] = len(tables.dynamic_section({}, sizes, relative))
    if needs.slots:
        sizes[".got"] = SLOT_BYTES * len(needs.slots)
    layout = place(merge(source.sections, name, _MADE) + _made_sections(sizes))
    places = Places(source, layout, needs.slots)
    made[".dynsym"] = symbol_table(exported, names, places)
    made[".dynamic"] = tables.dynamic_section({p.output.name: p.address for p in layout.placed}, sizes, relative)
    made[".rela.dyn"] = _dynamic_relocations(source, needs, places, exported)
    made[".got"] = b"".join(_slot(source, symbol) for symbol in needs.slots)
    contents = {p.output.name: _contents(source, p, places, made) for p in layout.placed}
    return write_image(source, layout, contents, places)


def _made_sections(sizes: Mapping[str, int]) -> list[Output]:
    kinds = [
        # name, type, flags, alignment, rank, entry size
        (".dynsym", elf_reader.SHT_DYNSYM, _ALLOC, 8, LOOKUP, SYMBOL_BYTES),
        (".gnu.hash", _SHT_GNU_HASH, _ALLOC, 8, LOOKUP, 0),
        (".hash", _SHT_HASH, _ALLOC, 4, LOOKUP, 4),
        (".dynstr", _SHT_STRTAB, _ALLOC, 1, LOOKUP, 0),
        (".rela.dyn", elf_reader.SHT_RELA, _ALLOC, 8, LOOKUP, RELOCATION_BYTES),
        (".dynamic", elf_reader.SHT_DYNAMIC, _ALLOC | _WRITE, 8, RELRO, DYNAMIC_BYTES),
        (".got", _SHT_PROGBITS, _ALLOC | _WRITE, 8, RELRO, 0),
    ]
    return [
        Output(name, kind, flags, alignment, sizes[name], rank, entry)
        for name, kind, flags, alignment, rank, entry in kinds
        if name in sizes
    ]


def _dynamic_relocations(source: Relocatable, needs: Needs, places: Places, exported: Sequence[Symbol]) -> bytes:
    """Return .rela.dyn: first what only adds the load address, then by symbol."""
    indexes = {symbol.place: index for index, symbol in enumerate(exported, 1)}
    entries: list[tuple[int, int, int, int]] = []
    for wanted in needs.dynamic:
        symbol = source.symbols[wanted.symbol]
        start = places.section(wanted.section) + wanted.offset if wanted.section else places.slot_at(wanted.offset)
        if wanted.by_name:
            entries.append((indexes[symbol.place], start, Kind.ABS64, wanted.addend))
        else:
            entries.append((0, start, Kind.RELATIVE64, places.symbol(symbol) + wanted.addend))
    return b"".join(
        struct.pack("<QQQ", start, index << 32 | kind, addend & _LOW_64) for index, start, kind, addend in sorted(entries)
    )


def _slot(source: Relocatable, index: int) -> bytes:
    symbol = source.symbols[index]
    return struct.pack("<Q", symbol.value if symbol.section == SHN_ABSOLUTE else 0)


def _contents(source: Relocatable, placed: Placed, places: Places, made: Mapping[str, bytes]) -> bytes:
    output = placed.output
    if not output.has_contents:
        return b""
    if output.name in made:
        return made[output.name]
    data = bytearray(output.size)
    for section, start in output.pieces:
        data[start : start + section.size] = source.elf.contents(section)
        apply(source, section, data, start, places)
    return bytes(data)
