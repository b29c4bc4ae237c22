"""Memory effects of a window as versions: what a load sees, and in which order stores stand.

Owns version chains. A load is a function of the versions it may see, its lane's address and everything else its instruction
depends on. A store makes a new version of the old one, the wave's EXEC and its address and data as lane functions, so order is
kept. Accesses commute only where they surely share no byte, whatever the lanes: with an address per lane, another lane may hit
the same byte. Barriers, cache operations, atomics, loads to LDS and loads that bypass caches advance
the versions too: nothing that touches the same space moves across them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import cast

from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Access, OpcodeDef, Space
from asmevo.verify.equivalence.extents import Extent, are_apart, residues_apart
from asmevo.verify.equivalence.machine import LDS, MEMORY, Machine
from asmevo.verify.equivalence.terms import Term

_HINTS = frozenset({"nt", "slc"})
"""Modifiers that change only where data is cached."""

OFFSETS = frozenset({"offset", "offset0", "offset1"})
"""Modifiers that are part of an address."""

_COHERENT = frozenset({"glc", "sc0", "sc1", "scc"})


def spaces(definition: OpcodeDef) -> tuple[str, ...]:
    """Return the spaces an instruction may read or write; flat addresses may be in either."""
    if definition.space is Space.LDS:
        return (LDS,)
    return (LDS, MEMORY) if definition.space is Space.FLAT else (MEMORY,)


def key(i: Instruction, definition: OpcodeDef) -> tuple[Hashable, ...]:
    """Return what is static about a memory instruction. Offsets stay in it: bounds checks see them apart from the address."""
    return (definition.mnemonic, kept_modifiers(i))


def kept_modifiers(i: Instruction, without: frozenset[str] = frozenset()) -> tuple[tuple[str, str], ...]:
    """Return the modifiers that matter, but for those named."""
    return tuple(sorted((m.name, repr(m.value)) for m in i.modifiers if m.name not in _HINTS and m.name not in without))


def orders(i: Instruction, definition: OpcodeDef) -> bool:
    """Whether a load keeps its place among the accesses of its space: it may poll what other waves write."""
    return definition.access is Access.LOAD and any(m.name in _COHERENT for m in i.modifiers)


def is_dma(i: Instruction, definition: OpcodeDef) -> bool:
    """Whether a load's data goes to LDS."""
    return definition.access is Access.LDS_DMA or bool(i.modifier("lds"))


def advance(machine: Machine, reason: Hashable) -> None:
    """Return new versions of both spaces that nothing moves across: a barrier or a fence."""
    table = machine.normaliser.table
    versions = (machine.memories[LDS], machine.memories[MEMORY])
    for space in (LDS, MEMORY):
        machine.memories[space] = table.node("advance", 0, versions, (reason, space))


def change(machine: Machine, written: tuple[str, ...], args: tuple[Term, ...], attr: Hashable) -> None:
    """Return new versions of the `written` spaces, made of their old versions and `args`."""
    table = machine.normaliser.table
    # A store that touches one space does not depend on the order of the other's.
    versions = tuple(machine.memories[space] for space in written)
    for space in written:
        machine.memories[space] = table.node("store", 0, (*versions, *args), (attr, space))


@dataclass(frozen=True, slots=True)
class Place:
    """Where an access goes: its address term, the bytes of one lane, and the extents of its instruction as far as known.

    `is_absolute` False: the address counts from a base that is not told.
    """

    address: Term
    size: int
    extents: tuple[Extent, ...]
    is_absolute: bool = True


def store(machine: Machine, written: tuple[str, ...], args: tuple[Term, ...], attr: Hashable, place: Place | None) -> None:
    """Make a plain store, `args` being (EXEC, address, ...).

    A store with a place slips below those that it surely does not overlap, so that they stand in one order on both sides.
    """
    if place is None or len(written) != 1:
        change(machine, written, args, attr)
        return
    space = written[0]
    node = machine.normaliser.table.node
    above: list[Term] = []
    version = machine.memories[space]
    while version.op == "store" and (other := machine.places.get(version.ident)) is not None and _slips(place, other):
        above.append(version)
        version = version.args[0]
    made = node("store", 0, (version, *args), (attr, space))
    machine.places[made.ident] = place
    for later in reversed(above):
        moved = node("store", 0, (made, *later.args[1:]), later.attr)
        machine.places[moved.ident] = machine.places[later.ident]
        made = moved
    machine.memories[space] = made


def seen(machine: Machine, space: str, places: tuple[Place, ...]) -> Term:
    """Return the version that a load from `places` sees: stores that it surely does not overlap are left out."""
    version = machine.memories[space]
    while places and version.op == "store" and (other := machine.places.get(version.ident)) is not None:
        if not all(_apart(place, other) for place in places):
            break
        version = version.args[0]
    return version


def _apart(one: Place, other: Place) -> bool:
    """Whether two accesses surely share no byte, whatever the lanes."""
    if one.extents and other.extents and all(are_apart(a, b) for a in one.extents for b in other.extents):
        return True
    if not one.is_absolute or not other.is_absolute or one.address.bits != other.address.bits:
        return False
    if not one.address.varying and not other.address.varying:
        (base, offset), (other_base, other_offset) = _base(one.address), _base(other.address)
        if base == other_base:
            span = 1 << one.address.bits
            return other.size <= (offset - other_offset) % span <= span - one.size
    return residues_apart(one.address, one.size, other.address, other.size)


def _slips(new: Place, old: Place) -> bool:
    """Whether the new store belongs below the old one, and they are apart."""
    base, offset = _base(new.address)
    other_base, other_offset = _base(old.address)
    if base == other_base and offset != other_offset:
        return offset < other_offset and _apart(new, old)
    return new.address.ident < old.address.ident and _apart(new, old)


def _base(address: Term) -> tuple[Hashable, int]:
    """Return what is added to the offset, and the offset."""
    if address.op == "const":
        return None, address.value
    if address.op == "sum":
        constant, factors = cast("tuple[int, tuple[int, ...]]", address.attr)
        return (address.args, factors), constant
    return ((address,), (1,)), 0
