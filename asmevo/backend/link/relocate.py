"""Relocations: which the loader must still do, and the bytes of those that are settled now.

Owns the formulas and what each kind needs (a slot of the global offset table, a dynamic relocation). It gives nothing an
address.

Source: LLVM AMDGPUUsage, "Relocation Records".
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from asmevo.backend.link.places import SLOT_BYTES, Places
from asmevo.backend.link.relocatable import LOCAL, SHF_WRITE, SHN_ABSOLUTE, SHN_UNDEFINED, Relocatable
from asmevo.diagnostics import Span, fail
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.elf import Relocation, Section, Symbol

_WORD = 4
_LOW = 0xFFFFFFFF
_BITS_32 = range(-(1 << 31), 1 << 32)
_SIGNED_32 = range(-(1 << 31), 1 << 31)
_SIGNED_16 = range(-(1 << 15), 1 << 15)


class Kind(enum.IntEnum):
    """The relocations that an AMDGPU object can have, R_AMDGPU_..."""

    NONE = 0
    ABS32_LO = 1
    ABS32_HI = 2
    ABS64 = 3
    REL32 = 4
    REL64 = 5
    ABS32 = 6
    GOTPCREL = 7
    GOTPCREL32_LO = 8
    GOTPCREL32_HI = 9
    REL32_LO = 10
    REL32_HI = 11
    RELATIVE64 = 13
    REL16 = 14


_ABSOLUTE_32 = (Kind.ABS32_LO, Kind.ABS32_HI, Kind.ABS32)
_BY_SLOT = (Kind.GOTPCREL, Kind.GOTPCREL32_LO, Kind.GOTPCREL32_HI)
_LINKED = frozenset(Kind) - {Kind.RELATIVE64}
_WIDTHS = {Kind.NONE: 0, Kind.ABS64: 8, Kind.REL64: 8, Kind.REL16: 2}


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A relocation left to the loader: at `offset` of a section (None: slot of the offset table), symbol plus addend.

    `by_name`: the loader looks the symbol up; otherwise the load address is added to the symbol's place in the file.
    """

    section: Section | None
    offset: int
    symbol: int
    addend: int
    by_name: bool


@dataclass(frozen=True, slots=True)
class Needs:
    """What the relocations ask for: slots of the offset table by symbol, in order, and dynamic relocations."""

    slots: Mapping[int, int]
    dynamic: tuple[Dynamic, ...]


def scan(source: Relocatable) -> Needs:
    """Find what the loaded sections need.

    Raises E0161 for a kind that is not known or not linked, E0162 for one that the loader cannot do at that place, E0102 for
    one outside its section.
    """
    by_slot: set[int] = set()
    dynamic: list[Dynamic] = []
    for section in source.sections:
        for relocation in source.relocations.get(section.index, ()):
            kind = _check(source, section, relocation)
            if not section.flags & elf_reader.SHF_ALLOC:
                if kind in _BY_SLOT:
                    what = f"R_AMDGPU_{kind.name} in '{section.name}', which is not loaded and so cannot reach the offset table"
                    _refuse(source, "E0162", what, relocation)
                continue
            symbol = source.symbols[relocation.symbol]
            is_constant = _is_constant(symbol)
            by_name = source.is_preemptible(symbol)
            if kind in _BY_SLOT:
                by_slot.add(relocation.symbol)
            elif kind is Kind.ABS64 and not is_constant:
                if not section.flags & SHF_WRITE:
                    what = f"R_AMDGPU_ABS64 against '{_name(source, relocation)}' in '{section.name}', which cannot be written"
                    _refuse(source, "E0162", what, relocation, "build position-independent code")
                dynamic.append(Dynamic(section, relocation.offset, relocation.symbol, relocation.addend, by_name))
            elif kind in _ABSOLUTE_32 and not is_constant:
                what = f"R_AMDGPU_{kind.name} against '{_name(source, relocation)}', whose address is known only after loading"
                _refuse(source, "E0162", what, relocation, "build position-independent code")
    # Global symbols first, as lld numbers them.
    slots = {
        index: number
        for number, index in enumerate(sorted(by_slot, key=lambda index: (source.symbols[index].binding == LOCAL, index)))
    }
    for index, number in slots.items():
        symbol = source.symbols[index]
        if not _is_constant(symbol):
            dynamic.append(Dynamic(None, number * SLOT_BYTES, index, 0, source.is_preemptible(symbol)))
    return Needs(slots, tuple(dynamic))


def _is_constant(symbol: Symbol) -> bool:
    return symbol.section in (SHN_ABSOLUTE, SHN_UNDEFINED)


def _check(source: Relocatable, section: Section, relocation: Relocation) -> Kind:
    if relocation.kind not in _LINKED:
        name = f"R_AMDGPU_{Kind(relocation.kind).name}" if relocation.kind in set(Kind) else f"type {relocation.kind}"
        _refuse(source, "E0161", f"relocation {name} in '{section.name}' is not linked", relocation)
    kind = Kind(relocation.kind)
    if kind is not Kind.NONE and not section.has_contents:
        elf_reader.damaged(source.elf.file, f"a relocation changes '{section.name}', which has no contents", relocation.place)
    if relocation.offset + _WIDTHS.get(kind, _WORD) > section.size:
        elf_reader.damaged(source.elf.file, f"a relocation lies behind the end of '{section.name}'", relocation.place)
    return kind


def _name(source: Relocatable, relocation: Relocation) -> str:
    symbol = source.symbols[relocation.symbol]
    if symbol.name or not 0 < symbol.section < len(source.elf.sections):
        return symbol.name
    return source.elf.sections[symbol.section].name


def _refuse(source: Relocatable, code: str, what: str, relocation: Relocation, help: str | None = None) -> NoReturn:
    fail(code, what, Span(source.elf.file, offset=relocation.place), help)


def apply(source: Relocatable, section: Section, data: bytearray, base: int, places: Places) -> None:
    """Write the settled relocations of a section whose bytes start at `base` in `data`.

    Raises E0162 for a value that its field cannot hold.
    """
    is_loaded = bool(section.flags & elf_reader.SHF_ALLOC)
    for relocation in source.relocations.get(section.index, ()):
        kind = Kind(relocation.kind)
        place = base + relocation.offset
        here = places.section(section) + relocation.offset
        target = places.indexed(relocation.symbol) + relocation.addend
        is_constant = _is_constant(source.symbols[relocation.symbol])
        match kind:
            case Kind.NONE:
                continue
            case Kind.ABS64 if is_loaded and not is_constant:
                struct.pack_into("<Q", data, place, 0)
            case Kind.ABS64:
                struct.pack_into("<Q", data, place, target & (1 << 64) - 1)
            case Kind.REL64:
                struct.pack_into("<Q", data, place, target - here & (1 << 64) - 1)
            case Kind.ABS32_LO:
                struct.pack_into("<I", data, place, target & _LOW)
            case Kind.ABS32_HI:
                struct.pack_into("<I", data, place, target >> 32 & _LOW)
            case Kind.ABS32:
                _fits(source, relocation, target, _BITS_32)
                struct.pack_into("<I", data, place, target & _LOW)
            case Kind.REL32:
                _fits(source, relocation, target - here, _SIGNED_32)
                struct.pack_into("<I", data, place, target - here & _LOW)
            case Kind.REL32_LO:
                struct.pack_into("<I", data, place, target - here & _LOW)
            case Kind.REL32_HI:
                struct.pack_into("<I", data, place, target - here >> 32 & _LOW)
            case Kind.REL16:
                # A branch counts words from the instruction behind it.
                words, rest = divmod(target - here - _WORD, _WORD)
                _fits(source, relocation, words if not rest else 1 << 62, _SIGNED_16)
                struct.pack_into("<H", data, place, words & 0xFFFF)
            case Kind.GOTPCREL | Kind.GOTPCREL32_LO | Kind.GOTPCREL32_HI:
                distance = places.slot(relocation.symbol) + relocation.addend - here
                if kind is Kind.GOTPCREL:
                    _fits(source, relocation, distance, _SIGNED_32)
                struct.pack_into("<I", data, place, (distance >> 32 if kind is Kind.GOTPCREL32_HI else distance) & _LOW)
            case Kind.RELATIVE64:
                raise AssertionError("refused by scan")


def _fits(source: Relocatable, relocation: Relocation, value: int, field: range) -> None:
    if value not in field:
        name = Kind(relocation.kind).name
        what = f"R_AMDGPU_{name} against '{_name(source, relocation)}' does not fit its field"
        _refuse(source, "E0162", what, relocation)
