"""The relocatable object as the linker sees it: sections kept or dropped, symbols, relocations by section.

Owns checking that nothing in it is beyond this linker, and saying by name what is. It places nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from asmevo.diagnostics import Span, fail
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.codeobject import check_header
from asmevo.frontend.elf import ElfFile, Relocation, Section, Symbol

SHF_WRITE, SHF_EXCLUDE = 1, 1 << 31
SHN_UNDEFINED, SHN_ABSOLUTE = 0, 0xFFF1
LOCAL, GLOBAL, WEAK = 0, 1, 2
HIDDEN = (1, 2)
"""Visibilities that end at the object's border: internal and hidden."""

_SHF_TLS = 0x400
_SHF_COMPRESSED = 0x800
_SHT_PROGBITS, _SHT_STRTAB, _SHT_GROUP, _SHT_ADDRSIG = 1, 3, 17, 0x6FFF4C03
_STT_SECTION, _STT_TLS = 3, 6
_SHN_COMMON, _SHN_AMDGPU_LDS = 0xFFF2, 0xFF00
_DROPPED = (0, elf_reader.SHT_SYMTAB, elf_reader.SHT_RELA, _SHT_STRTAB, _SHT_GROUP, _SHT_ADDRSIG)
_KEPT = (_SHT_PROGBITS, elf_reader.SHT_NOTE, elf_reader.SHT_NOBITS)
_MAX_ALIGNMENT = 1 << 16
_MAX_MEMORY = 1 << 40


@dataclass(frozen=True, slots=True)
class Relocatable:
    """A checked relocatable object. `sections` are those kept, in file order; `symbols` by their index in the table."""

    elf: ElfFile
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: Mapping[int, tuple[Relocation, ...]]
    """By the index of the section they change."""

    def is_preemptible(self, symbol: Symbol) -> bool:
        """Whether the loader, not the linker, says where the symbol is: a visible one with default visibility."""
        return symbol.binding != LOCAL and symbol.visibility == 0 and symbol.section not in (SHN_UNDEFINED, SHN_ABSOLUTE)

    def exported(self) -> tuple[Symbol, ...]:
        """Return the symbols that the loader sees, in file order."""
        return tuple(
            s for s in self.symbols if s.binding != LOCAL and s.visibility not in HIDDEN and s.section != SHN_UNDEFINED
        )


def read_relocatable(data: bytes, name: str) -> Relocatable:
    """Read and check an object for linking.

    Raises E0101 to E0106 as for any object, E0104 when it is not relocatable, E0160 an undefined symbol, E0163 a section and
    E0164 a symbol of a kind that is not linked.
    """
    if data[:4] != b"\x7fELF":
        fail("E0101", "not an ELF file", Span(name, offset=0))
    elf = elf_reader.read(data, name)
    check_header(elf.header, name, elf_reader.ET_REL)
    tables = [section for section in elf.sections if section.kind == elf_reader.SHT_SYMTAB]
    if len(tables) > 1:
        elf_reader.damaged(name, f"{len(tables)} symbol tables", tables[1].offset)
    symbols = tuple(elf_reader.symbols(elf))
    relocations: dict[int, tuple[Relocation, ...]] = {}
    for table in elf.sections:
        if table.kind == elf_reader.SHT_REL and table.size:
            fail(
                "E0163", f"section '{table.name}': relocations without addends are not linked", Span(name, offset=table.offset)
            )
        if table.kind == elf_reader.SHT_RELA and table.size:
            _check_target(elf, table)
            relocations[table.info] = (*relocations.get(table.info, ()), *elf_reader.relocations(elf, table))
    named = {s.section for s in symbols if s.kind != _STT_SECTION or s.binding != LOCAL}
    kept = tuple(s for s in elf.sections if _is_kept(elf, s, is_named=s.index in named))
    if sum(s.size for s in kept) > _MAX_MEMORY:
        largest = max(kept, key=lambda section: section.size)
        place = elf.header.section_offset + largest.index * elf_reader.SECTION_BYTES
        elf_reader.damaged(name, f"its sections take more than a tebibyte, '{largest.name}' the most", place)
    used = {r.symbol: r.place for section in kept for r in relocations.get(section.index, ())}
    _check_symbols(elf, symbols, used)
    return Relocatable(elf, kept, symbols, relocations)


def _check_target(elf: ElfFile, table: Section) -> None:
    if not 0 < table.info < len(elf.sections):
        elf_reader.damaged(elf.file, f"relocation table '{table.name}' names no section", table.offset)
    if table.link >= len(elf.sections) or elf.sections[table.link].kind != elf_reader.SHT_SYMTAB:
        elf_reader.damaged(elf.file, f"relocation table '{table.name}' names no symbol table", table.offset)


def _is_kept(elf: ElfFile, section: Section, *, is_named: bool) -> bool:
    if section.kind in _DROPPED or section.flags & SHF_EXCLUDE or section.name == ".note.GNU-stack":
        return False
    where = Span(elf.file, offset=section.offset)
    if section.alignment & (section.alignment - 1) or section.alignment > _MAX_ALIGNMENT:
        elf_reader.damaged(elf.file, f"section '{section.name}' is aligned to {section.alignment} bytes", section.offset)
    if not section.flags & elf_reader.SHF_ALLOC:
        if section.flags & _SHF_COMPRESSED and section.size:
            fail("E0163", f"section '{section.name}': compressed sections are not linked", where, "build without -gz")
        return section.size > 0
    if section.size == 0 and not is_named:
        return False
    if section.kind not in _KEPT:
        fail("E0163", f"section '{section.name}': type 0x{section.kind:x} is not linked", where)
    if section.flags & _SHF_TLS:
        fail("E0163", f"section '{section.name}': thread-local storage is not linked", where)
    if section.flags & SHF_WRITE and section.flags & elf_reader.SHF_EXECINSTR:
        fail("E0163", f"section '{section.name}': writable code is not linked", where)
    if section.kind == elf_reader.SHT_NOBITS and not section.flags & SHF_WRITE:
        fail("E0163", f"section '{section.name}': room without contents that cannot be written is not linked", where)
    return True


def _check_symbols(elf: ElfFile, symbols: tuple[Symbol, ...], used: Mapping[int, int]) -> None:
    """Refuse what is not linked. `used`: the symbols that relocations name, each with such a relocation's file offset."""
    missing: list[Symbol] = []
    for index, symbol in enumerate(symbols[1:], 1):
        where = Span(elf.file, offset=symbol.place)
        if symbol.section == SHN_UNDEFINED:
            if symbol.binding != WEAK and index in used:
                missing.append(symbol)
        elif symbol.section == _SHN_COMMON:
            fail("E0164", f"symbol '{symbol.name}' is common: not linked", where, "build with -fno-common")
        elif symbol.section == _SHN_AMDGPU_LDS:
            fail("E0164", f"symbol '{symbol.name}' is LDS that only a later link places: not linked", where)
        elif symbol.kind == _STT_TLS:
            fail("E0164", f"symbol '{symbol.name}' is thread-local: not linked", where)
        elif symbol.section >= elf_reader.SHN_LORESERVE and symbol.section != SHN_ABSOLUTE:
            fail("E0164", f"symbol '{symbol.name}' lies in the special section 0x{symbol.section:x}: not linked", where)
        elif symbol.section != SHN_ABSOLUTE and symbol.section >= len(elf.sections):
            elf_reader.damaged(
                elf.file, f"symbol '{symbol.name}' lies in section {symbol.section}, which does not exist", symbol.place
            )
    if missing:
        shown = ", ".join(f"'{symbol.name}'" for symbol in missing[:8]) + (
            f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        )
        help = "link it with the objects or the device library that define them (clang without -c, or llvm-link)"
        fail("E0160", f"undefined symbol {shown}", Span(elf.file, offset=missing[0].place), help)
    for index, place in used.items():
        if index >= len(symbols):
            elf_reader.damaged(elf.file, f"a relocation names a symbol that does not exist: {index}", place)
