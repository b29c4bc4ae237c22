"""The parts of .text: kernels, device functions, and what stands between them.

Owns the cut of .text into regions without gaps, the symbols in it, and lifting a region to instructions. It prints nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.codeobject import CodeObject, KernelEntry
from asmevo.frontend.disassembler import Decoded, disassemble
from asmevo.frontend.lowering import lower
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import Immediate, Instruction
from asmevo.ir.kernel import Block, Kernel

_WORD = 4
_LOCAL = 0
_VISIBILITIES = ("", ".internal", ".hidden", ".protected")
_BINDINGS = {1: ".globl", 2: ".weak"}
_TYPES = {1: "object", 2: "function"}


_OUR_LABELS = re.compile(r"L_[0-9a-f]{4,}|L_section_\d+")


@dataclass(frozen=True, slots=True)
class Named:
    """A symbol as a listing declares it: directives for binding and visibility ("" for none), type "" for no type."""

    name: str
    section: int
    value: int
    size: int
    binding: str
    visibility: str
    kind: str


@dataclass(frozen=True, slots=True)
class Region:
    """The bytes [start, stop) of .text. `kernels` enter it (two when one is an alias of the other); none for a function."""

    start: int
    stop: int
    kernels: tuple[KernelEntry, ...]


def regions_of(obj: CodeObject) -> tuple[Region, ...]:
    """The regions of .text in order; together they hold each whole word of it once."""
    end = obj.text.size & ~(_WORD - 1)
    owned: dict[tuple[int, int], list[KernelEntry]] = {}
    for entry in obj.kernels:
        owned.setdefault((entry.start, entry.stop), []).append(entry)
    functions = {
        symbol.value - obj.text.address
        for symbol in obj.symbols
        if symbol.kind == elf_reader.STT_FUNC and symbol.section == obj.text.index
    }
    starts = {0, *(start for start, _ in owned), *(stop for _, stop in owned)}
    taken = sorted(owned)
    for offset in functions:
        before = bisect_right(taken, (offset, end + 1)) - 1
        is_inside = before >= 0 and offset < taken[before][1]
        if 0 <= offset < end and offset % _WORD == 0 and not is_inside:
            starts.add(offset)
    places = [*sorted(start for start in starts if start < end), end]
    return tuple(Region(start, stop, tuple(owned.get((start, stop), ()))) for start, stop in pairwise(places))


@dataclass(frozen=True, slots=True)
class Names:
    """The symbols that a listing declares, by section and in address order; and where any symbol of a name stands."""

    by_section: Mapping[int, tuple[Named, ...]]
    addresses: Mapping[str, frozenset[int]]

    def within(self, section: int, start: int, stop: int) -> tuple[Named, ...]:
        """Those of a section at addresses from `start` to before `stop`."""
        members = self.by_section.get(section, ())
        low, high = (bisect_left(members, bound, key=lambda symbol: symbol.value) for bound in (start, stop))
        return members[low:high]


def names_of(obj: CodeObject) -> Names:
    """The names of an object: global and weak symbols, functions and objects, each name once.

    Plain local labels are left out: nothing outside the object knows them, and their names may stand twice.
    """
    found: dict[str, Named] = {}
    addresses: dict[str, set[int]] = {}
    for symbol in obj.symbols:
        if symbol.section:
            addresses.setdefault(symbol.name, set()).add(symbol.value)
        is_known = symbol.binding != _LOCAL or symbol.kind in _TYPES
        if is_known and is_writable(symbol.name) and 0 < symbol.section < elf_reader.SHN_LORESERVE and symbol.name not in found:
            found[symbol.name] = Named(
                symbol.name,
                symbol.section,
                symbol.value,
                symbol.size,
                _BINDINGS.get(symbol.binding, ""),
                _VISIBILITIES[symbol.visibility],
                _TYPES.get(symbol.kind, ""),
            )
    by_section: dict[int, list[Named]] = {}
    for symbol in sorted(found.values(), key=lambda symbol: (symbol.value, symbol.name)):
        by_section.setdefault(symbol.section, []).append(symbol)
    return Names(
        {section: tuple(members) for section, members in by_section.items()},
        {name: frozenset(places) for name, places in addresses.items()},
    )


def is_writable(name: str) -> bool:
    """Tell whether a listing can use a symbol's name: it is on one line, and not one of the listing's own labels."""
    return bool(name) and name.isprintable() and not _OUR_LABELS.fullmatch(name)


def lift(obj: CodeObject, region: Region, recovered: Mapping[str, Kernel] = {}) -> Kernel:
    """The instructions of a region in blocks. Code whose control flow cannot be followed becomes one frozen block.

    `recovered`: kernels of this object that the caller has recovered already, by name.
    """
    if region.kernels:
        name = region.kernels[0].name
        try:
            return recovered[name] if name in recovered else recover(obj, name)
        except DiagnosticError:
            # Control that leaves the region, or data in its way: the bytes can still be shown as they are.
            return _straight(obj, region)
    decoded = _decoded(obj, region)
    try:
        return lower(decoded, name="", target=obj.target, entry_offset=region.start, file=obj.name)
    except DiagnosticError:
        return _straight(obj, region)


def _decoded(obj: CodeObject, region: Region) -> list[Decoded]:
    first = obj.text.offset + region.start
    code = obj.data[first : first + region.stop - region.start]
    return disassemble(code, obj.target, start=region.start)


def _straight(obj: CodeObject, region: Region) -> Kernel:
    """One frozen block that says nothing of control flow: branches keep their raw distances."""
    name = region.kernels[0].name if region.kernels else ""
    label = f"L_{region.start:04x}"
    members = tuple(_raw(line, uid) for uid, line in enumerate(_decoded(obj, region)))
    return Kernel(name, obj.target, (Block(label, members, (), True, region.start),), (label,))


def _raw(line: Decoded, uid: int) -> Instruction:
    if line.text is None:
        word = int.from_bytes(line.encoding, "little")
        return Instruction(".long", (Immediate(word, f"{word:#010x}"),), (), None, line.encoding, line.offset, uid)
    # Text and bytes are all that is said of it: the mnemonic takes the whole line.
    return Instruction(" ".join(line.text.split()), (), (), None, line.encoding, line.offset, uid)


def entry_label(obj: CodeObject, entry: KernelEntry, names: Names) -> str:
    """The label of a kernel's first instruction: its name, or that of its block when the name's symbol stands elsewhere."""
    address = obj.text.address + entry.entry
    places = names.addresses.get(entry.name, frozenset())
    return entry.name if places <= {address} and is_writable(entry.name) else f"L_{entry.entry:04x}"
