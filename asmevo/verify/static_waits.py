"""Waits, judged anew: a register that a pending memory operation will write must be left alone until a wait covers it.

Owns a data-flow over the blocks whose state is, for each operation that may still be pending, how many younger operations of
the same in-order queue were surely issued after it. It shares opcode facts with the analyses that passes use, and no code.

Why the count decides: an in-order queue with `k` younger operations behind a pending one holds at least `k + 1`, so
`s_waitcnt n` with `n <= k` cannot pass before that one is done, whatever else the counter counts. Operations that complete out
of order are covered by a wait for zero only. Source: CDNA3 ISA guide 4.4 and 10.2.

Imprecise where it must be: paths are joined, not followed one by one; a vector memory instruction skipped by VSKIP is taken as
issued; VGPR indexing may select any VGPR, which is a warning only, and is taken to end with its block.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from asmevo.diagnostics import Severity
from asmevo.ir.effects import Effects, effects
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Instruction, Register, WaitCounts
from asmevo.ir.isa.model import Access, Counter, IssueClass, OpcodeDef, Role
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import RegisterRange, unit_name, units

MISSING_WAIT, UNPUBLISHED = "E0501", "E0503"
"""A register used too early; LDS traffic still pending at a barrier."""


class _Queue(enum.Enum):
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


@dataclass(frozen=True, slots=True)
class _Event:
    """One pending operation in one queue: the units it protects, only from being written when `writes_only`."""

    producer: Instruction
    queue: _Queue
    units: int
    writes_only: bool = False
    barrier: str = ""


@dataclass(frozen=True, slots=True)
class _Step:
    """An instruction as the data-flow sees it: events started, waits done, units read, written, and read as sources only.

    `indexed` are further units that it may touch through VGPR indexing.
    """

    instruction: Instruction
    events: tuple[int, ...]
    queues: tuple[_Queue, ...]
    waits: tuple[tuple[Counter, int], ...]
    reads: int
    writes: int
    sources: int
    indexed: int = 0


_State = dict[int, int]
"""Event number to the least number of younger operations in its queue."""


def check_waits(kernel: Kernel, *, reference: Kernel | None = None) -> list[Finding]:
    """Check every path from every root; in layout order.

    E0501 (error): a register is read or overwritten while a load, scalar load or atomic may still write it. It is a warning
    when VGPR indexing may select the register, and for a flat operation waited for by vmcnt alone, which is enough unless
    its address lies in LDS. E0503: an LDS store or a load to LDS (warning), or an LDS read (note), may be pending at s_barrier.
    Each is an error when the same kernel before an edit, `reference`, does not have it between the same two instructions.
    """
    events, steps = _compile(kernel.blocks)
    findings = list(_report(kernel, events, steps, _solve(kernel, events, steps)))
    if reference is None:
        return findings
    before = {_identity(finding) for finding in check_waits(reference)}
    return [finding if _identity(finding) in before else _as_error(finding) for finding in findings]


def _identity(finding: Finding) -> tuple[str, int, int]:
    return finding.code, finding.instruction.uid, finding.producer.uid if finding.producer else -1


def _as_error(finding: Finding) -> Finding:
    return Finding(finding.code, finding.message, finding.block, finding.instruction, finding.producer)


def _compile(blocks: Iterable[Block]) -> tuple[list[_Event], dict[str, list[_Step]]]:
    events: list[_Event] = []
    steps: dict[str, list[_Step]] = {}
    for block in blocks:
        indexed = False
        found: list[_Step] = []
        for i in block.instructions:
            found.append(_step(i, effects(i, indexed=indexed), events))
            if i.mnemonic.startswith("s_set_gpr_idx"):
                indexed = i.mnemonic != "s_set_gpr_idx_off"
        steps[block.label] = found
    return events, steps


def _step(i: Instruction, touched: Effects, events: list[_Event]) -> _Step:
    definition = i.definition
    if definition is None:
        return _Step(i, (), (), (), 0, 0, 0)
    found = effects(i)
    queues = _queues(definition)
    started: list[int] = []
    for queue in queues:
        event = _event(i, definition, queue, found.reads, found.writes)
        if event.units or event.barrier:
            started.append(len(events))
            events.append(event)
    sources = definition.implicit_reads
    for operand, spec in zip(i.operands, definition.operands, strict=True):
        if isinstance(operand, Register) and spec.role is Role.READ:
            sources |= operand.range.mask
    indexed = (touched.reads | touched.writes) & ~(found.reads | found.writes)
    return _Step(i, tuple(started), queues, _waits(i), found.reads, found.writes, sources, indexed)


def _queues(definition: OpcodeDef) -> tuple[_Queue, ...]:
    counters = definition.counters
    if Counter.VMCNT in counters and Counter.LGKMCNT in counters:
        return (_Queue.FLAT_MEMORY, _Queue.FLAT_LDS)
    queues: list[_Queue] = []
    if Counter.VMCNT in counters and definition.access is not Access.FENCE:
        queues.append(_Queue.VECTOR_MEMORY)
    if Counter.LGKMCNT in counters:
        in_order = definition.issue is IssueClass.LDS and not definition.mnemonic.startswith("ds_gws")
        queues.append(_Queue.LDS if in_order else _Queue.SCALAR)
    if Counter.EXPCNT in counters:
        queues.append(_Queue.DATA_READ)
    return tuple(queues)


def _event(i: Instruction, definition: OpcodeDef, queue: _Queue, reads: int, writes: int) -> _Event:
    if queue is _Queue.DATA_READ:
        return _Event(i, queue, reads, writes_only=True)
    barrier = ""
    if queue is _Queue.LDS and definition.space is not None:
        barrier = "LDS read" if definition.access is Access.LOAD else "LDS store"
    elif definition.access is Access.LDS_DMA or i.modifier("lds"):
        barrier = "load to LDS"
    return _Event(i, queue, writes, barrier=barrier)


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


def _advance(state: _State, step: _Step, events: Sequence[_Event]) -> None:
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


def _solve(kernel: Kernel, events: Sequence[_Event], steps: dict[str, list[_Step]]) -> dict[str, _State]:
    """The state at the entry of each reachable block: what may be pending over any path, with its least count."""
    active = {label: [step for step in block if step.queues or step.waits] for label, block in steps.items()}
    successors = {block.label: block.successors for block in kernel.blocks}
    entry: dict[str, _State] = {root: {} for root in kernel.roots}
    work = list(kernel.roots)
    while work:
        label = work.pop()
        state = dict(entry[label])
        for step in active[label]:
            _advance(state, step, events)
        for following in successors[label]:
            if following not in entry:
                entry[following] = dict(state)
            elif not _join(entry[following], state):
                continue
            if following not in work:
                work.append(following)
    return entry


def _join(target: _State, state: _State) -> bool:
    changed = False
    for number, count in state.items():
        if number not in target or target[number] > count:
            target[number] = count
            changed = True
    return changed


def _report(
    kernel: Kernel, events: Sequence[_Event], steps: dict[str, list[_Step]], entry: dict[str, _State]
) -> Iterable[Finding]:
    for block in kernel.blocks:
        if block.label not in entry:
            continue
        state = dict(entry[block.label])
        protected = _protected(state, events)
        for step in steps[block.label]:
            if (step.reads | step.writes | step.indexed) & protected:
                for number in [n for n in state if _conflict(events[n], step)]:
                    yield _missing(block, step, events[number], state[number])
                    del state[number]
            if step.instruction.mnemonic == "s_barrier":
                yield from _at_barrier(block, step.instruction, state, events)
            if step.queues or step.waits:
                _advance(state, step, events)
                protected = _protected(state, events)


def _protected(state: _State, events: Sequence[_Event]) -> int:
    mask = 0
    for number in state:
        mask |= events[number].units
    return mask


def _conflict(event: _Event, step: _Step) -> int:
    """Return the protected units that the step touches.

    Loads of one in-order queue return in order, so a younger one may share a destination, or fill another half of it.
    """
    if event.writes_only:
        return event.units & step.writes
    if event.queue.in_order and event.queue in step.queues:
        return event.units & step.sources
    return event.units & (step.reads | step.writes) or event.units & step.indexed


def _missing(block: Block, step: _Step, event: _Event, younger: int) -> Finding:
    conflict = _conflict(event, step)
    verb = "reads" if conflict & step.reads else "writes" if conflict & step.writes else "may touch by VGPR indexing"
    need = min(younger, event.queue.most - 1) if event.queue.in_order else 0
    message = (
        f"{step.instruction.mnemonic} {verb} {_names(conflict)} while {event.producer.mnemonic} "
        f"(instruction {event.producer.uid}) may be pending: s_waitcnt {event.queue.counter.value}({need}) is missing"
    )
    is_certain = event.queue is not _Queue.FLAT_LDS and not conflict & step.indexed
    severity = Severity.ERROR if is_certain else Severity.WARNING
    return Finding(MISSING_WAIT, message, block.label, step.instruction, event.producer, severity)


def _at_barrier(block: Block, barrier: Instruction, state: _State, events: Sequence[_Event]) -> Iterable[Finding]:
    for number in state:
        event = events[number]
        if event.barrier:
            message = (
                f"{event.barrier} {event.producer.mnemonic} (instruction {event.producer.uid}) may be pending at s_barrier"
            )
            severity = Severity.NOTE if event.barrier == "LDS read" else Severity.WARNING
            yield Finding(UNPUBLISHED, message, block.label, barrier, event.producer, severity)


def _names(mask: int) -> str:
    """Unit sets as text: v[0:3], s5."""
    found = list(units(mask))
    first, last = found[0], found[-1]
    if last - first + 1 == len(found) and len(found) > 1:
        return str(RegisterRange(first, len(found)))
    return ", ".join(unit_name(unit) for unit in found[:4]) + (", ..." if len(found) > 4 else "")
