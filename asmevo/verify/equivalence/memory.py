"""Memory effects of a window as versions: what a load sees, and in which order stores stand.

Owns version chains. A load is a function of the versions it may see, its lane's address and everything else its instruction
depends on. A store makes a new version of the old one, the wave's EXEC and its address and data as lane functions, so order is
kept. Stores commute only where their addresses are the same in all lanes, have one base and cannot overlap: with an address per
lane, another lane may hit the same byte. Barriers, cache operations, atomics, loads to LDS and loads that bypass caches advance
the versions too: nothing that touches the same space moves across them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Access, OpcodeDef, Space
from asmevo.verify.equivalence.machine import LDS, MEMORY, Machine
from asmevo.verify.equivalence.terms import Term

_HINTS = frozenset({"nt", "slc"})
"""Modifiers that change only where data is cached."""

_COHERENT = frozenset({"glc", "sc0", "sc1", "scc"})


def spaces(definition: OpcodeDef) -> tuple[str, ...]:
    """Return the spaces an instruction may read or write; flat addresses may be in either."""
    if definition.space is Space.LDS:
        return (LDS,)
    return (LDS, MEMORY) if definition.space is Space.FLAT else (MEMORY,)


def key(i: Instruction, definition: OpcodeDef) -> tuple[Hashable, ...]:
    """Return what is static about a memory instruction. Offsets stay in it: bounds checks see them apart from the address."""
    kept = tuple(sorted((m.name, repr(m.value)) for m in i.modifiers if m.name not in _HINTS))
    return (definition.mnemonic, kept)


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


def store(
    machine: Machine, written: tuple[str, ...], args: tuple[Term, ...], attr: Hashable, place: tuple[Term, int] | None
) -> None:
    """Return a plain store, `args` being (EXEC, address, ...).

    `place` is its uniform address and byte count where it has just one; such a store slips below its disjoint equals to stand
    in ascending order of offsets.
    """
    if place is None or len(written) != 1:
        change(machine, written, args, attr)
        return
    space = written[0]
    node = machine.normaliser.table.node
    above: list[Term] = []
    version = machine.memories[space]
    while version.op == "store" and (other := _place(version)) is not None and _slips(place, other):
        above.append(version)
        version = version.args[0]
    made = node("store", 0, (version, *args), (attr, space, place[1]))
    for later in reversed(above):
        made = node("store", 0, (made, *later.args[1:]), later.attr)
    machine.memories[space] = made


def _place(version: Term) -> tuple[Term, int] | None:
    """Return the address and size of a store that was made with a place: (version, EXEC, address, ...)."""
    attr = cast("tuple[Hashable, ...]", version.attr)
    return (version.args[2], attr[2]) if len(attr) == 3 and isinstance(attr[2], int) else None


def _slips(new: tuple[Term, int], old: tuple[Term, int]) -> bool:
    """Whether the new store belongs below the old one and cannot overlap it, however the addresses wrap."""
    base, offset = _base(new[0])
    other_base, other_offset = _base(old[0])
    if base != other_base or offset >= other_offset or new[0].bits != old[0].bits:
        return False
    span = 1 << new[0].bits
    return old[1] <= (offset - other_offset) % span <= span - new[1]


def _base(address: Term) -> tuple[Hashable, int]:
    """Return what is added to the offset, and the offset."""
    if address.op == "const":
        return None, address.value
    if address.op == "sum":
        constant, factors = cast("tuple[int, tuple[int, ...]]", address.attr)
        return (address.args, factors), constant
    return ((address,), (1,)), 0
