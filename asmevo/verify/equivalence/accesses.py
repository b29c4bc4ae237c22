"""Symbolic execution of memory accesses: what a load's registers receive, and what a store makes of the versions.

Owns the form in which accesses are compared. LDS and global accesses of whole dwords are taken apart into dwords named by their
address alone, so that two of 32 bits and one of 64 are the same terms, and an offset is part of the address. That rests on the
assumption that accesses stay inside what they access. A wide LDS load and any wide store is taken apart only where its address
is known to be aligned to its size: otherwise lanes could overlap in part. Everything else stays one function of all that its
instruction depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Access, OpcodeDef, Space
from asmevo.ir.registers import EXEC, VGPR0, units
from asmevo.ir.semantics.expr import Extend, MemoryOp
from asmevo.verify.equivalence import memory
from asmevo.verify.equivalence.compiled import CompiledMemory
from asmevo.verify.equivalence.extents import trailing_zeros
from asmevo.verify.equivalence.machine import LDS, MEMORY, AddressUse, Load, Machine
from asmevo.verify.equivalence.operands import destination_of
from asmevo.verify.equivalence.terms import Term

ReadUnits = Callable[[str, Term | None], list[Term]]
"""The units of an operand, by name, as read where a context (None: everywhere) holds."""

_KEPT_OLD = frozenset({Extend.D16_LO, Extend.D16_HI, Extend.D16_LO_SIGN, Extend.D16_HI_SIGN})
_PLAIN = frozenset({Space.LDS, Space.GLOBAL})
_BY_LANES = frozenset({Access.LOAD, Access.STORE, Access.ATOMIC, Access.ATOMIC_RETURN, Access.LDS_DMA})
"""Accesses that are made by each active lane, so that none is made where no lane is active."""


@dataclass(frozen=True, slots=True)
class _Access:
    """One access: `implied` are units it reads beyond its operands, `attr` what is static about it as a whole."""

    machine: Machine
    instruction: Instruction
    definition: OpcodeDef
    operation: MemoryOp
    addresses: tuple[Term, ...]
    others: tuple[Term, ...]
    data: tuple[Term, ...]
    implied: tuple[Term, ...]
    mask: Term
    context: Term | None

    @property
    def spaces(self) -> tuple[str, ...]:
        return memory.spaces(self.definition)

    @property
    def inputs(self) -> tuple[Term, ...]:
        return (*self.addresses, *self.others, *self.data, *self.implied)

    @property
    def attr(self) -> tuple[Hashable, ...]:
        return memory.key(self.instruction, self.definition)

    @property
    def dword(self) -> tuple[Hashable, ...]:
        """What is static about one dword of the access."""
        return ("dword", *memory.kept_modifiers(self.instruction, memory.OFFSETS))

    def place(self, address: Term) -> memory.Place:
        """One of the access's addresses as a place. A buffer's offset is no address."""
        extents = self.machine.extents_of(self.instruction)
        return memory.Place(address, self.operation.bytes, extents, self.operation.resource is None)

    def at(self, address: Term, word: int) -> Term:
        """The address of a dword."""
        normaliser = self.machine.normaliser
        return normaliser.make("add", address.bits, (address, normaliser.const(address.bits, 4 * word)))


def access_memory(
    machine: Machine,
    i: Instruction,
    definition: OpcodeDef,
    effect: CompiledMemory,
    values: list[Term],
    context: Term | None,
    read_units: ReadUnits,
) -> Callable[[], None] | None:
    """Change the memories; returns the register write of the loaded value, to be done after all reads."""
    operation = effect.operation
    addresses = tuple(values[k] for k in effect.addresses)
    extra = tuple(values[k] for k in effect.extra)
    resource = () if operation.resource is None else tuple(read_units(operation.resource, None))
    machine.uses.append(AddressUse((*addresses, *extra), resource))
    data = tuple(term for name in operation.data for term in read_units(name, context))
    # EXEC is a store's own argument, MODE acts on atomics on floats.
    implied = tuple(machine.unit(unit) for unit in units(definition.implicit_reads & ~(3 << EXEC)))
    mask = machine.normaliser.ballot(context) if context is not None else machine.normaliser.const(64, -1)
    if mask.op == "const" and not mask.value and definition.access in _BY_LANES:
        return None  # no lane makes it
    access = _Access(machine, i, definition, operation, addresses, (*extra, *resource), data, implied, mask, context)
    if memory.is_dma(i, definition):
        # Sees memory, writes LDS: one change of LDS that depends on both.
        args = (machine.memories[LDS], machine.memories[MEMORY], mask, *access.inputs)
        machine.memories[LDS] = machine.normaliser.table.node("store", 0, args, (access.attr, LDS))
        return None
    if definition.access is Access.STORE:
        _store(access)
        return None
    if definition.access is not Access.LOAD or memory.orders(i, definition):
        memory.change(machine, access.spaces, (mask, *access.inputs), access.attr)
        return _load(access, whole=True)
    return _load(access, whole=False)


def _is_plain(access: _Access) -> bool:
    operation = access.operation
    return (
        access.definition.space in _PLAIN
        and operation.resource is None
        and operation.atomic is None
        and operation.bytes % 4 == 0
        and not access.others
    )


def _store(access: _Access) -> None:
    machine, operation = access.machine, access.operation
    extents = machine.extents_of(access.instruction)
    single = len(access.addresses) == 1 and operation.atomic is None
    size = operation.bytes
    if single and _is_plain(access) and (size == 4 or _is_aligned(access.addresses[0], size)):
        for word in range(size // 4):
            address = access.at(access.addresses[0], word)
            args = (access.mask, address, access.data[word], *access.implied)
            memory.store(machine, access.spaces, args, access.dword, memory.Place(address, 4, extents))
        return
    place = access.place(access.addresses[0]) if single else None
    memory.store(machine, access.spaces, (access.mask, *access.inputs), access.attr, place)


def _is_aligned(address: Term, size: int) -> bool:
    return 1 << trailing_zeros(address) >= size


def _load(access: _Access, whole: bool) -> Callable[[], None] | None:
    operation, machine = access.operation, access.machine
    if operation.dest is None:
        return None
    unit, count = destination_of(access.instruction, operation.dest)
    size = operation.bytes
    words = size // 4
    apart = not whole and _is_plain(access) and operation.extend is Extend.NONE and count == words * len(access.addresses)
    if apart and access.definition.space is Space.LDS:
        apart = size == 4 or all(_is_aligned(address, size) for address in access.addresses)
    loaded: list[Term] = []
    if not whole and access.spaces != (LDS,):
        _note(access, words if apart else 0)
    extents = machine.extents_of(access.instruction)
    places = tuple(access.place(address) for address in access.addresses)
    versions = tuple(machine.memories[space] if whole else memory.seen(machine, space, places) for space in access.spaces)
    for k in range(count):
        if apart:
            address = access.at(access.addresses[k // words], k % words)
            args = (*(memory.seen(machine, space, (memory.Place(address, 4, extents),)) for space in access.spaces), address)
            args = (*args, *access.implied)
            loaded.append(machine.normaliser.table.node("load", 32, args, access.dword, access.context is not None))
        else:
            loaded.append(_loaded(access, (*versions, *access.inputs), unit + k, k))

    def write() -> None:
        for k, value in enumerate(loaded):
            machine.write(unit + k, value, access.context if unit >= VGPR0 else None)

    return write


def _note(access: _Access, words: int) -> None:
    """Notes what is loaded, dword by dword where `words` says how many an address has."""
    machine = access.machine
    n = machine.normaliser
    lanes = n.const(1, 1) if access.context is None else access.context
    if machine.path is not None:
        lanes = n.both(machine.path, lanes)
    if not words:
        machine.loads.append(Load(access.attr, access.inputs, lanes))
    for address in access.addresses if words else ():
        machine.loads += [Load(access.dword, (access.at(address, word),), lanes) for word in range(words)]


def _loaded(access: _Access, inputs: tuple[Term, ...], unit: int, k: int) -> Term:
    """Return what destination register number `k` receives."""
    extend, size = access.operation.extend, access.operation.bytes
    normaliser = access.machine.normaliser
    varying = access.context is not None
    if extend in (Extend.ZERO, Extend.SIGN) and size < 4:
        value = normaliser.table.node("load", 8 * size, inputs, (access.attr, k), varying)
        return normaliser.make("zext" if extend is Extend.ZERO else "sext", 32, (value,))
    if extend in _KEPT_OLD:
        # Whether the other half stays depends on the device's ECC setting: a function of it either way.
        inputs = (*inputs, access.machine.read(unit, 1, access.context))
    return normaliser.table.node("load", 32, inputs, (access.attr, k), varying)
