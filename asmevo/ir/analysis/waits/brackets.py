"""The wait counters at a point: which registers and effects may still be outstanding, and behind how many newer events.

Owns the state of one point and its transfer; it must not walk the program. Ages are pointwise lower bounds over all paths: slot
`k` of a counter holds what may be outstanding with at least `k` newer events, so waiting for `<= k` completes it.

Pseudo units beyond `UNIT_COUNT` stand for effects that other waves or later accesses may rely on, not for registers.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from asmevo.ir.analysis.dataflow.facts import is_lds_dma
from asmevo.ir.effects import Effects
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.isa.model import Access, Counter, IssueClass, OpcodeDef, Space
from asmevo.ir.registers import UNIT_COUNT

LDS_LOADED = 1 << UNIT_COUNT
LDS_STORED = 2 << UNIT_COUNT
DMA_DONE = 4 << UNIT_COUNT
GLOBAL_LOADED = 8 << UNIT_COUNT
GLOBAL_STORED = 16 << UNIT_COUNT
REGISTERS = (1 << UNIT_COUNT) - 1

CAPACITY = {Counter.VMCNT: 63, Counter.LGKMCNT: 15}
"""The counter's all-ones value: at most so many events are outstanding, and a wait field of it waits for nothing."""


class Stream(enum.Flag):
    """Kinds of events that return in order among themselves (LDS, VMEM) or not even that (SMEM, MESSAGE, FLAT)."""

    NONE = 0
    LDS = enum.auto()
    VMEM = enum.auto()
    SMEM = enum.auto()
    MESSAGE = enum.auto()
    FLAT = enum.auto()


IN_ORDER = (Stream.NONE, Stream.LDS, Stream.VMEM)
"""Stream sets under which a counter counts down in the order of issue."""


@dataclass(frozen=True, slots=True)
class Pending:
    """One counter: outstanding units by number of newer events, and the streams they may come from."""

    slots: tuple[int, ...] = ()
    streams: Stream = Stream.NONE

    @property
    def in_order(self) -> bool:
        """True when a wait above zero says anything."""
        return self.streams in IN_ORDER

    @property
    def mask(self) -> int:
        """All units outstanding."""
        total = 0
        for slot in self.slots:
            total |= slot
        return total

    def needed(self, touched: int) -> int | None:
        """The largest count that still completes every outstanding unit of `touched`; None when there is none."""
        for age, slot in enumerate(self.slots):
            if slot & touched:
                return age if self.in_order else 0
        return None

    def after_event(self, units: int, stream: Stream, capacity: int) -> Pending:
        """After one more event that completes `units`.

        A full counter stalls the next event, so in order nothing older than it can hold is outstanding; out of order the
        overflow stays in the last slot.
        """
        known = self.streams
        streams = stream if known is stream or known is Stream.NONE else known | stream
        slots = (units, *self.slots)
        if len(slots) > capacity:
            overflow = 0 if streams in IN_ORDER else slots[capacity]
            slots = (*slots[: capacity - 1], slots[capacity - 1] | overflow)
        return Pending(slots, streams)

    def after_wait(self, count: int | None, capacity: int) -> Pending:
        """After a wait for at most `count` outstanding events."""
        if count is None or count >= capacity:
            return self
        if count == 0:
            return _NOTHING
        return Pending(_trimmed(self.slots[:count]), self.streams) if self.in_order else self

    def joined(self, other: Pending) -> Pending:
        """What may be outstanding on either of two paths."""
        if self == other:
            return self
        longer, shorter = (self.slots, other.slots) if len(self.slots) >= len(other.slots) else (other.slots, self.slots)
        merged = tuple(a | b for a, b in zip(longer, shorter, strict=False)) + longer[len(shorter) :]
        return Pending(merged, self.streams | other.streams)


_NOTHING = Pending()


def _trimmed(slots: tuple[int, ...]) -> tuple[int, ...]:
    last = len(slots)
    while last and not slots[last - 1]:
        last -= 1
    return slots[:last]


@dataclass(frozen=True, slots=True)
class Event:
    """What an instruction adds to the counters: units it completes, its stream on each counter, and whether it is a wait."""

    units: int = 0
    vmcnt: Stream = Stream.NONE
    lgkmcnt: Stream = Stream.NONE
    wait: WaitCounts | None = None


NO_EVENT = Event()
"""Of instructions that step no counter and wait for none: `event_of` gives this very object."""


@dataclass(frozen=True, slots=True)
class Brackets:
    """Both counters at one point.

    expcnt is left out: of compute instructions only GWS steps it, and the data of GWS is not rewritten.
    """

    vmcnt: Pending = _NOTHING
    lgkmcnt: Pending = _NOTHING

    def after(self, event: Event) -> Brackets:
        """The state after an instruction with this event."""
        if event.wait is not None:
            return Brackets(
                self.vmcnt.after_wait(event.wait.vmcnt, CAPACITY[Counter.VMCNT]),
                self.lgkmcnt.after_wait(event.wait.lgkmcnt, CAPACITY[Counter.LGKMCNT]),
            )
        vmcnt, lgkmcnt = self.vmcnt, self.lgkmcnt
        if event.vmcnt is not Stream.NONE:
            vmcnt = vmcnt.after_event(event.units, event.vmcnt, CAPACITY[Counter.VMCNT])
        if event.lgkmcnt is not Stream.NONE:
            lgkmcnt = lgkmcnt.after_event(event.units, event.lgkmcnt, CAPACITY[Counter.LGKMCNT])
        return Brackets(vmcnt, lgkmcnt)

    def joined(self, other: Brackets) -> Brackets:
        """What may be outstanding on either of two paths."""
        return Brackets(self.vmcnt.joined(other.vmcnt), self.lgkmcnt.joined(other.lgkmcnt))

    def needed(self, use: Use) -> WaitCounts:
        """The weakest wait that completes what `use` touches."""
        return WaitCounts(vmcnt=self.vmcnt.needed(use.vmcnt), lgkmcnt=self.lgkmcnt.needed(use.lgkmcnt))

    @property
    def pending_units(self) -> int:
        """Register units whose load may be outstanding."""
        return (self.vmcnt.mask | self.lgkmcnt.mask) & REGISTERS


@dataclass(frozen=True, slots=True)
class Use:
    """Units (pseudo units too) that must be complete before an instruction, by the counter that covers them."""

    vmcnt: int
    lgkmcnt: int


@lru_cache(maxsize=4096)
def _streams(definition: OpcodeDef) -> tuple[Stream, Stream]:
    counters = definition.counters
    vmcnt = Counter.VMCNT in counters
    lgkmcnt = Counter.LGKMCNT in counters
    if vmcnt and lgkmcnt:
        return Stream.FLAT, Stream.FLAT
    if vmcnt:
        return Stream.VMEM, Stream.NONE
    if not lgkmcnt:
        return Stream.NONE, Stream.NONE
    if Counter.EXPCNT in counters or definition.issue is IssueClass.MESSAGE:
        return Stream.NONE, Stream.MESSAGE
    return Stream.NONE, Stream.LDS if definition.issue is IssueClass.LDS else Stream.SMEM


@lru_cache(maxsize=4096)
def _effect_units(definition: OpcodeDef, dma: bool) -> int:
    space, access = definition.space, definition.access
    if access is Access.FENCE:
        return GLOBAL_STORED
    if space is None or access is None:
        return 0
    if dma:
        return DMA_DONE | GLOBAL_LOADED
    found = 0
    if access is not Access.STORE:
        found |= LDS_LOADED if space is Space.LDS else GLOBAL_LOADED
    if access is not Access.LOAD:
        found |= LDS_STORED if space is Space.LDS else GLOBAL_STORED
    if space is Space.FLAT:
        found |= LDS_LOADED if access is not Access.STORE else 0
        found |= LDS_STORED if access is not Access.LOAD else 0
    return found


def event_of(instruction: Instruction, effect: Effects) -> Event:
    """The event of an instruction; NO_EVENT when it steps no counter and waits for none."""
    definition = instruction.definition
    if definition is None:
        return NO_EVENT
    if definition.issue is IssueClass.WAIT:
        operand = instruction.operands[0] if instruction.operands else None
        return Event(wait=operand if isinstance(operand, WaitCounts) else WaitCounts(0, 0, 0))
    vmcnt, lgkmcnt = _streams(definition)
    if vmcnt is Stream.NONE and lgkmcnt is Stream.NONE:
        return NO_EVENT
    dma = is_lds_dma(instruction)
    registers = 0 if dma else effect.writes & ~definition.implicit_writes
    return Event(registers | _effect_units(definition, dma), vmcnt, lgkmcnt)


def register_use(instruction: Instruction, effect: Effects) -> Use:
    """The registers whose loads must be complete before the instruction: all it reads and writes.

    A vector memory load may overwrite the destination of an earlier one without a wait, as they return in order (HR), and so
    may an LDS read that of an earlier LDS read.
    """
    definition = instruction.definition
    touched = (effect.reads | effect.writes) & REGISTERS
    if definition is not None and definition.counters:
        vmcnt, lgkmcnt = _streams(definition)
        read = effect.reads & REGISTERS
        return Use(read if vmcnt is Stream.VMEM else touched, read if lgkmcnt is Stream.LDS else touched)
    return Use(touched, touched)


_SCOPE_MODIFIERS = frozenset({"sc0", "sc1", "glc", "slc", "scc"})
_ALL_PSEUDO = LDS_LOADED | LDS_STORED | DMA_DONE | GLOBAL_LOADED | GLOBAL_STORED


def sharing_use(instruction: Instruction) -> int:
    """Pseudo units whose completion other waves or later accesses may rely on at this instruction.

    A wait that stands before such an instruction may be what makes sharing right, though no register says so: LDS accesses,
    load-to-LDS and global stores before a barrier; everything before a fence; global accesses before an atomic or a store
    with a scope; load-to-LDS before an LDS read, and LDS accesses before a load-to-LDS; global stores before a scalar load.
    """
    definition = instruction.definition
    if definition is None:
        return _ALL_PSEUDO
    access, space = definition.access, definition.space
    if definition.issue is IssueClass.BARRIER:
        return LDS_LOADED | LDS_STORED | DMA_DONE | GLOBAL_STORED
    if access is Access.FENCE:
        return _ALL_PSEUDO
    if definition.issue is IssueClass.MESSAGE:
        return GLOBAL_STORED
    found = 0
    if is_lds_dma(instruction):
        found |= LDS_LOADED | LDS_STORED
    if space in (Space.LDS, Space.FLAT):
        found |= DMA_DONE if access is not None else 0
    if space is Space.SCALAR:
        found |= GLOBAL_STORED
    if space not in (None, Space.LDS, Space.SCALAR):
        atomic = access in (Access.ATOMIC, Access.ATOMIC_RETURN)
        scoped = access is Access.STORE and any(m.name in _SCOPE_MODIFIERS for m in instruction.modifiers)
        if atomic or scoped:
            found |= GLOBAL_LOADED | GLOBAL_STORED | DMA_DONE
    return found


def ages(pending: Pending, count: int | None, capacity: int) -> Iterator[tuple[int, int]]:
    """(age, units) of what a wait for `count` completes, oldest not first."""
    if count is None or count >= capacity or (count and not pending.in_order):
        return
    for age, slot in enumerate(pending.slots):
        if age >= count and slot:
            yield age, slot
