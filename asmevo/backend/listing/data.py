"""Sections that hold data, as directives.

Owns which sections a listing shows, and that each byte of them appears once: as a descriptor's directives, as an address that
the loader puts in, or as plain numbers. What a linker makes by itself (symbols, hashes, dynamic section) is left out.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from asmevo.backend.listing.descriptor import descriptor_lines, descriptor_words
from asmevo.backend.listing.regions import Named, Names, entry_label, is_writable, names_of
from asmevo.diagnostics import Span, fail
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.codeobject import CodeObject, KernelEntry
from asmevo.frontend.descriptor import DESCRIPTOR_BYTES
from asmevo.frontend.elf import Section
from asmevo.ir.printer import quoted

_SHT_PROGBITS = 1
_SHF_WRITE = 1
_MADE_BY_THE_LINKER = frozenset((".relro_padding", ".got", ".got.plt", ".plt"))
_R_ABS64, _R_RELATIVE64 = 3, 13
_ZEROS = re.compile(rb"\0{32,}")
_ROW = 16
_POINTER_BYTES = 8


@dataclass(slots=True)
class Statements:
    """Lines of a section in order, and for each the offset in the section where its bytes stand (None: no bytes)."""

    lines: list[str] = field(default_factory=list[str])
    places: list[int | None] = field(default_factory=list["int | None"])

    def add(self, line: str, place: int | None = None) -> None:
        """Append a line."""
        self.lines.append(line)
        self.places.append(place)


def data_sections(obj: CodeObject) -> tuple[Section, ...]:
    """The sections that a listing shows besides .text, in file order."""
    return tuple(
        section
        for section in obj.elf.sections
        if section.is_loaded
        and section.kind in (_SHT_PROGBITS, elf_reader.SHT_NOBITS)
        and section.index != obj.text.index
        and section.name not in _MADE_BY_THE_LINKER
    )


def section_label(section: Section) -> str:
    """The label at a section's start, for addresses that no symbol names."""
    return f"L_section_{section.index}"


@dataclass(frozen=True, slots=True)
class Context:
    """What the sections of one object share: its names, the addresses that the loader fills in, and the target's features."""

    names: Names
    pointers: Mapping[int, Pointer]
    features: str


def context_of(obj: CodeObject, features: str) -> Context:
    """The context of an object's sections."""
    names = names_of(obj)
    return Context(names, _pointers(obj, names), features)


def section_statements(obj: CodeObject, section: Section, context: Context) -> Statements:
    """The statements of one data section, its directive first.

    Raises E0627 for a section whose name cannot be written.
    """
    if not section.name.isprintable():
        fail("E0627", f"the section name {section.name!r} cannot be written in assembly", Span(obj.name, offset=section.offset))
    out = Statements()
    flags = "a" + ("w" if section.flags & _SHF_WRITE else "") + ("x" if section.flags & elf_reader.SHF_EXECINSTR else "")
    kind = "nobits" if section.kind == elf_reader.SHT_NOBITS else "progbits"
    out.add(f'\t.section {quoted(section.name)},"{flags}",@{kind}')
    alignment = max(section.alignment, 1)
    if alignment > 1 and alignment & (alignment - 1) == 0:
        out.add(f"\t.p2align {alignment.bit_length() - 1}")
    pointers = context.pointers
    if any(place.section is section for place in pointers.values()):
        out.add(f"{section_label(section)}:")
    descriptors = {entry.descriptor_address - section.address: entry for entry in obj.kernels}
    labels: dict[int, list[Named]] = {}
    for symbol in context.names.by_section.get(section.index, ()):
        labels.setdefault(symbol.value - section.address, []).append(symbol)
    inside = {address - section.address for address in pointers if 0 <= address - section.address < section.size}
    ends = {*(start + _POINTER_BYTES for start in inside), *(start + DESCRIPTOR_BYTES for start in descriptors)}
    cuts = sorted({0, section.size, *labels, *descriptors, *inside, *ends})
    position = 0
    for index, start in enumerate(cuts):
        if not position <= start <= section.size:
            continue
        entry = descriptors.get(start)
        directives = _directives(obj, entry, context) if entry else None
        for symbol in labels.get(start, ()):
            if entry is None or directives is None or symbol.name != entry.symbol:
                _declare(out, symbol)
        stop = cuts[index + 1] if index + 1 < len(cuts) else section.size
        if entry is not None and start + DESCRIPTOR_BYTES <= section.size:
            position = _descriptor(obj, entry, directives, start, context, out)
        else:
            position = _contents(obj, section, range(start, stop), pointers.get(section.address + start), out)
    return out


def declarations(symbol: Named, end: str | None = None) -> Iterator[str]:
    """The directives that give a symbol its binding, visibility, type and size; `end` is a label where it ends."""
    name = quoted(symbol.name)
    for directive in (symbol.binding, symbol.visibility):
        if directive:
            yield f"\t{directive} {name}"
    if symbol.kind:
        yield f"\t.type {name},@{symbol.kind}"
    if symbol.size:
        yield f"\t.size {name}, {symbol.size if end is None else f'{end}-{name}'}"


def _declare(out: Statements, symbol: Named) -> None:
    for line in declarations(symbol):
        out.add(line)
    out.add(f"{quoted(symbol.name)}:")


def has_directives(obj: CodeObject, entry: KernelEntry, names: Names) -> bool:
    """Tell whether `.amdhsa_kernel` can make a kernel's descriptor where it is.

    The directive aligns to 64 bytes, calls the descriptor NAME.kd and lets it point to NAME: else only bytes are exact.
    """
    home = next((s for s in data_sections(obj) if 0 <= entry.descriptor_address - s.address < s.size), None)
    is_placed = home is not None and home.name == ".rodata" and entry.descriptor_address % DESCRIPTOR_BYTES == 0
    return is_placed and entry.symbol == f"{entry.name}.kd" and entry_label(obj, entry, names) == entry.name


def _directives(obj: CodeObject, entry: KernelEntry, context: Context) -> list[str] | None:
    if not has_directives(obj, entry, context.names):
        return None
    return descriptor_lines(entry.name, entry.descriptor, obj.target, context.features)


def _descriptor(
    obj: CodeObject, entry: KernelEntry, directives: list[str] | None, start: int, context: Context, out: Statements
) -> int:
    symbol = entry.symbol if is_writable(entry.symbol) else None
    for line in directives or descriptor_words(entry.descriptor, entry_label(obj, entry, context.names), symbol):
        out.add(line, start)
    return start + DESCRIPTOR_BYTES


def _contents(obj: CodeObject, section: Section, reach: range, pointer: Pointer | None, out: Statements) -> int:
    """Write the bytes of `reach`, or the pointer that begins there; return where to go on."""
    start, stop = reach.start, reach.stop
    if pointer is not None and start + _POINTER_BYTES <= section.size:
        out.add(f"\t.quad {pointer.text}", start)
        return start + _POINTER_BYTES
    if section.kind == elf_reader.SHT_NOBITS:
        if stop > start:
            out.add(f"\t.zero {stop - start}", start)
        return stop
    for line, place in _numbers(obj.elf.contents(section)[start:stop], start):
        out.add(line, place)
    return stop


def _numbers(data: bytes, start: int) -> Iterator[tuple[str, int]]:
    at = 0
    while at < len(data):
        if (zeros := _ZEROS.match(data, at)) is not None:
            yield f"\t.zero {zeros.end() - at}", start + at
            at = zeros.end()
            continue
        row = data[at : at + _ROW]
        if (start + at) % 4 == 0 and len(row) % 4 == 0:
            words = struct.unpack(f"<{len(row) // 4}I", row)
            yield f"\t.long {', '.join(f'{word:#010x}' for word in words)}", start + at
        else:
            yield f"\t.byte {', '.join(f'{byte:#04x}' for byte in row)}", start + at
        at += len(row)


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address that the loader writes: as an expression, and the section it counts from (None: it names a symbol)."""

    text: str
    section: Section | None


def _pointers(obj: CodeObject, names: Names) -> Mapping[int, Pointer]:
    """Address of each place that the loader fills with an address, to what that is."""
    found: dict[int, Pointer] = {}
    tables = [section for section in obj.elf.sections if section.kind == elf_reader.SHT_RELA and section.has_contents]
    if not tables:
        return found
    shown = sorted((*data_sections(obj), obj.text), key=lambda section: section.address)
    starts = [section.address for section in shown]
    by_place = {symbol.place: symbol for symbol in obj.symbols}
    for table in tables:
        linked = obj.elf.sections[table.link] if table.link < len(obj.elf.sections) else None
        for relocation in elf_reader.relocations(obj.elf, table):
            if relocation.kind == _R_RELATIVE64:
                index = bisect_right(starts, relocation.addend) - 1
                if index >= 0:
                    found[relocation.offset] = _pointer(shown[index], relocation.addend, names)
            elif relocation.kind == _R_ABS64 and linked is not None:
                symbol = by_place.get(linked.offset + relocation.symbol * elf_reader.SYMBOL_BYTES)
                if symbol is not None and symbol.name:
                    found[relocation.offset] = Pointer(f"{quoted(symbol.name)}+{relocation.addend}", None)
    return found


def _pointer(section: Section, address: int, names: Names) -> Pointer:
    if known := names.within(section.index, address, address + 1):
        return Pointer(quoted(known[0].name), None)
    return Pointer(f"{section_label(section)}+{address - section.address}", section)


def needs_text_label(obj: CodeObject, context: Context) -> bool:
    """Tell whether an address counts from the start of .text."""
    return any(pointer.section is obj.text for pointer in context.pointers.values())
