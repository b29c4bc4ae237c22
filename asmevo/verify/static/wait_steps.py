"""An instruction as the wait check sees it: which memory operations it starts, which waits it makes, what it touches.

Owns the queues in which operations complete, and how a state of pending operations changes with each instruction. It shares
opcode facts with the analyses that passes use, and no code. It must not search code: `static_waits` and `wait_paths` do.

Why the count decides: an in-order queue with `k` younger operations behind a pending one holds at least `k + 1`, so
`s_waitcnt n` with `n <= k` cannot pass before that one is done, whatever else the counter counts. Operations that complete out
of order are covered by a wait for zero only. Source: CDNA3 ISA guide 4.4 and 10.2.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction, Register, WaitCounts
from asmevo.ir.isa.model import Access, Counter, IssueClass, OpcodeDef, Role
from asmevo.ir.kernel import Block
from asmevo.ir.memo import by_text


class Queue(enum.Enum):
    """What completes in order with what; `counter` is the one that its waits name, `most` how many it can hold."""

    VECTOR_MEMORY = (Counter.VMCNT, True, 63)
    LDS = (Counter.LGKMCNT, True, 15)
    SCALAR = (Counter.LGKMCNT, False, 0)
    FLAT_MEMORY = (Counter.VMCNT, False, 1)
    FLAT_LDS = (Counter.LGKMCNT, False, 1)
    DATA_READ = (Counter.EXPCNT, True, 7)

    def __init__(self, counter: Counter, in_order: bool, most: int) -> None:
        self.counter = counter
        self.in_order = in_order
        self.most = most


class Event(NamedTuple):
    """One pending operation in one queue: the units it protects, only from being written when `writes_only`."""

    producer: Instruction
    queue: Queue
    units: int
    writes_only: bool = False
    barrier: str = ""


class Step(NamedTuple):
    """An instruction as the data-flow sees it: events started, waits done, units read, written, and read as sources only.

    `indexed` are further units that it may touch through VGPR indexing.
    """

    instruction: Instruction
    events: tuple[int, ...]
    queues: tuple[Queue, ...]
    waits: tuple[tuple[Counter, int], ...]
    reads: int
    writes: int
    sources: int
    indexed: int = 0


State = dict[int, int]
"""Event number to the least number of younger operations in its queue."""


def compile_steps(blocks: Iterable[Block]) -> tuple[list[Event], dict[str, list[Step]]]:
    """Return the events of all blocks, and each block's instructions as steps that name them by number."""
    events: list[Event] = []
    steps: dict[str, list[Step]] = {}
    for block in blocks:
        indexed = False
        found: list[Step] = []
        for i in block.instructions:
            facts = _facts(i, indexed)
            started: tuple[int, ...] = ()
            if facts.starts:
                started = tuple(range(len(events), len(events) + len(facts.starts)))
                events += [Event(i, *start) for start in facts.starts]
            found.append(Step(i, started, *facts[1:]))
            if i.mnemonic.startswith("s_set_gpr_idx"):
                indexed = i.mnemonic != "s_set_gpr_idx_off"
        steps[block.label] = found
    return events, steps


class _Facts(NamedTuple):
    """What a step takes from an instruction's text: the events it starts, each without its producer, and its own fields."""

    starts: tuple[tuple[Queue, int, bool, str], ...]
    queues: tuple[Queue, ...]
    waits: tuple[tuple[Counter, int], ...]
    reads: int
    writes: int
    sources: int
    indexed: int


@by_text
def _facts(i: Instruction, indexed: bool) -> _Facts:
    """Return the facts of an instruction, `indexed` when VGPR indexing is on."""
    definition = i.definition
    if definition is None:
        return _Facts((), (), (), 0, 0, 0, 0)
    found = effects(i)
    touched = effects(i, indexed=True) if indexed else found
    queues = _queues(definition)
    events = (_event(i, definition, queue, found.reads, found.writes) for queue in queues)
    sources = definition.implicit_reads
    for operand, spec in zip(i.operands, definition.operands, strict=True):
        if isinstance(operand, Register) and spec.role is Role.READ:
            sources |= operand.range.mask
    extra = (touched.reads | touched.writes) & ~(found.reads | found.writes)
    starts = tuple(event[1:] for event in events if event.units or event.barrier)
    return _Facts(starts, queues, _waits(i), found.reads, found.writes, sources, extra)


def _queues(definition: OpcodeDef) -> tuple[Queue, ...]:
    counters = definition.counters
    if Counter.VMCNT in counters and Counter.LGKMCNT in counters:
        return (Queue.FLAT_MEMORY, Queue.FLAT_LDS)
    queues: list[Queue] = []
    if Counter.VMCNT in counters and definition.access is not Access.FENCE:
        queues.append(Queue.VECTOR_MEMORY)
    if Counter.LGKMCNT in counters:
        in_order = definition.issue is IssueClass.LDS and not definition.mnemonic.startswith("ds_gws")
        queues.append(Queue.LDS if in_order else Queue.SCALAR)
    if Counter.EXPCNT in counters:
        queues.append(Queue.DATA_READ)
    return tuple(queues)


def _event(i: Instruction, definition: OpcodeDef, queue: Queue, reads: int, writes: int) -> Event:
    if queue is Queue.DATA_READ:
        return Event(i, queue, reads, writes_only=True)
    barrier = ""
    if queue is Queue.LDS and definition.space is not None:
        barrier = "LDS read" if definition.access is Access.LOAD else "LDS store"
    elif definition.access is Access.LDS_DMA or i.modifier("lds"):
        barrier = "load to LDS"
    return Event(i, queue, writes, barrier=barrier)


def _waits(i: Instruction) -> tuple[tuple[Counter, int], ...]:
    found: list[tuple[Counter, int]] = []
    for operand in i.operands:
        if isinstance(operand, WaitCounts):
            for counter, count in (
                (Counter.VMCNT, operand.vmcnt),
                (Counter.LGKMCNT, operand.lgkmcnt),
                (Counter.EXPCNT, operand.expcnt),
            ):
                if count is not None:
                    found.append((counter, count))
    return tuple(found)


def advance(state: State, step: Step, events: Sequence[Event]) -> None:
    """Apply one instruction: age what is pending, start what it starts, drop what its waits or a full counter prove done."""
    for queue in step.queues:
        if queue.in_order:
            for number in [n for n in state if events[n].queue is queue]:
                state[number] += 1
                if state[number] >= queue.most:
                    del state[number]
    for number in step.events:
        state[number] = 0
    for counter, count in step.waits:
        for number in [n for n in state if events[n].queue.counter is counter]:
            if count == 0 or (events[number].queue.in_order and state[number] >= count):
                del state[number]


def conflict(event: Event, step: Step) -> int:
    """Return the protected units that the step touches.

    Loads of one in-order queue return in order, so a younger one may share a destination, or fill another half of it.
    """
    if event.writes_only:
        return event.units & step.writes
    if event.queue.in_order and event.queue in step.queues:
        return event.units & step.sources
    return event.units & (step.reads | step.writes) or event.units & step.indexed
