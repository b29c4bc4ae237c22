"""Where input sections, symbols and slots of the offset table ended up. Read-only once the layout is made."""

from __future__ import annotations

from collections.abc import Mapping

from asmevo.backend.link.layout import Layout
from asmevo.backend.link.relocatable import SHN_ABSOLUTE, SHN_UNDEFINED, Relocatable
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.elf import Section, Symbol

SLOT_BYTES = 8
_LOW_64 = (1 << 64) - 1


class Places:
    """Addresses in the linked object; `slots` numbers the offset table's entries by symbol index."""

    def __init__(self, source: Relocatable, layout: Layout, slots: Mapping[int, int]) -> None:
        self._source, self._slots = source, slots
        self._numbers = {placed.output.name: number for number, placed in enumerate(layout.placed, 1)}
        self._sections = {
            section.index: (placed.address + start, self._numbers[placed.output.name])
            for placed in layout.placed
            for section, start in placed.output.pieces
        }
        table = layout.find(".got")
        self._table = table.address if table else 0

    def number(self, name: str) -> int:
        """Return the header index of an output section, 0 when there is none."""
        return self._numbers.get(name, 0)

    def section(self, section: Section) -> int:
        """Return the address of an input section that is linked."""
        return self._sections[section.index][0]

    def section_number(self, symbol: Symbol) -> int:
        """Return the header index that a symbol's entry names."""
        if symbol.section in (SHN_ABSOLUTE, SHN_UNDEFINED):
            return symbol.section
        return self._of(symbol)[1]

    def symbol(self, symbol: Symbol) -> int:
        """Return a symbol's address, an offset in its section when that is not loaded; 0 when it is undefined and weak."""
        if symbol.section == SHN_UNDEFINED:
            return 0
        if symbol.section == SHN_ABSOLUTE:
            return symbol.value
        return self._of(symbol)[0] + symbol.value & _LOW_64

    def indexed(self, index: int) -> int:
        """Return the address of the symbol with this index in the relocatable object's table."""
        return self.symbol(self._source.symbols[index])

    def slot(self, index: int) -> int:
        """Return the address of the offset table's entry for the symbol with this index."""
        return self._table + self._slots[index] * SLOT_BYTES

    def slot_at(self, offset: int) -> int:
        """Return the address at an offset of the offset table."""
        return self._table + offset

    def _of(self, symbol: Symbol) -> tuple[int, int]:
        found = self._sections.get(symbol.section)
        if found is None:
            elf_reader.damaged(
                self._source.elf.file, f"symbol '{symbol.name}' lies in a section that is not linked", symbol.place
            )
        return found
