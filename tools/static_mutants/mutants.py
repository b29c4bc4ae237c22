"""Mutants of kernels that a static check must refuse, each with the reason why it is broken.

Owns the reasons, and takes none from the checks under test: waits are decided by a simulation of the counters' queues along one
block, wait states by the rows of the fact table and by counting instructions, the rest by the text alone.
"""

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from asmevo.ir.analysis.hazards.parts import HazardFacts, meets
from asmevo.ir.effects import OPAQUE, effects
from asmevo.ir.instruction import Immediate, Instruction, Register, WaitCounts
from asmevo.ir.isa.hazards import LOOK_BACK, rules_for
from asmevo.ir.isa.model import Access, Counter, Flag, IssueClass, OpcodeDef, Role
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import VECTOR_MASK, VGPR0, units

WAIT_DROPPED, WAIT_WEAKENED, NOP_REMOVED = "wait dropped", "wait weakened", "s_nop removed"
MOVED, UNDEFINED, TOO_MUCH_LDS = "moved before its producer", "used before definition", "LDS size above the limit"
KINDS = (WAIT_DROPPED, WAIT_WEAKENED, NOP_REMOVED, MOVED, UNDEFINED, TOO_MUCH_LDS)

_SCALAR_RESULTS = (1 << 102) - 1
_SYSTEM_SGPRS = 6
"""At most this many SGPRs behind the user SGPRs hold something when a wave starts."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken kernel: its kind and where it was changed."""

    kind: str
    where: str
    kernel: Kernel


def mutants(kernel: Kernel, kind: str, pick: random.Random) -> Iterator[Mutant]:
    """The mutants of one kind, in an order that `pick` decides; made one by one, since a kernel has thousands."""
    if kind == UNDEFINED:
        yield from _undefined(kernel, pick)
    elif kind == TOO_MUCH_LDS:
        yield from _lds(kernel)
    else:
        sites = [(block, index) for block in kernel.blocks if not block.frozen for index in range(len(block.instructions))]
        pick.shuffle(sites)
        make = {WAIT_DROPPED: _waits, WAIT_WEAKENED: _waits, NOP_REMOVED: _nops, MOVED: _moves}[kind]
        for block, index in sites:
            yield from make(kernel, block, index, kind)


def _with_block(kernel: Kernel, block: Block, instructions: tuple[Instruction, ...]) -> Kernel:
    changed = replace(block, instructions=instructions)
    return replace(kernel, blocks=tuple(changed if b.label == block.label else b for b in kernel.blocks))


def _at(block: Block, index: int, instruction: Instruction) -> tuple[Instruction, ...]:
    return (*block.instructions[:index], instruction, *block.instructions[index + 1 :])


# Waits ---------------------------------------------------------------------------------------------------------------------


def _waits(kernel: Kernel, block: Block, index: int, kind: str) -> Iterator[Mutant]:
    i = block.instructions[index]
    if i.mnemonic != "s_waitcnt" or not i.operands or not isinstance(i.operands[0], WaitCounts):
        return
    counts = i.operands[0]
    clean = _touched_too_early(block.instructions)
    for field in ("vmcnt", "lgkmcnt"):
        value = getattr(counts, field)
        if value is not None:
            weaker = replace(counts, **{field: None if kind == WAIT_DROPPED else value + 1})
            body = _at(block, index, i.edited(operands=(weaker,)))
            if _touched_too_early(body) - clean:
                yield Mutant(kind, f"{block.label}[{index}] {field}({value})", _with_block(kernel, block, body))


def _touched_too_early(instructions: tuple[Instruction, ...]) -> frozenset[tuple[int, int]]:
    """(instruction, operation) where the block, run alone from its start, touches what the operation has not written yet.

    The vector memory queue is in order. LGKM operations are in order as long as only LDS is outstanding; else only a wait for
    zero tells anything.
    """
    vector: deque[tuple[int, int]] = deque()
    lds: deque[tuple[int, int]] = deque()
    scalar: list[tuple[int, int]] = []
    found: set[tuple[int, int]] = set()
    for i in instructions:
        definition = i.definition
        if definition is None or (definition.space is not None and definition.space.value == "flat"):
            return frozenset(found)
        touched = effects(i)
        counters = definition.counters
        for queue in (vector, lds, scalar):
            in_order = (queue is vector and Counter.VMCNT in counters) or (queue is lds and definition.issue is IssueClass.LDS)
            mask = _plain_reads(i) if in_order else touched.reads | touched.writes
            found |= {(i.uid, uid) for uid, units in queue if units & mask}
        operand = i.operands[0] if i.operands else None
        if isinstance(operand, WaitCounts):
            if operand.vmcnt is not None:
                while len(vector) > operand.vmcnt:
                    vector.popleft()
            if operand.lgkmcnt == 0:
                lds.clear()
                scalar.clear()
            elif operand.lgkmcnt is not None:
                # Younger scalar loads may finish first, so only LDS operations say how many are left.
                while len(lds) > operand.lgkmcnt:
                    lds.popleft()
        if Counter.VMCNT in counters and definition.access is not Access.FENCE:
            vector.append((i.uid, touched.writes))
            if len(vector) > 63:
                vector.popleft()
        if Counter.LGKMCNT in counters:
            if definition.issue is IssueClass.LDS:
                lds.append((i.uid, touched.writes))
                if len(lds) > 15:
                    lds.popleft()
            else:
                scalar.append((i.uid, touched.writes))
    return frozenset(found)


def _plain_reads(i: Instruction) -> int:
    """Sources alone: an operation of the same queue may write the same register again."""
    assert i.definition is not None
    mask = 0
    for operand, spec in zip(i.operands, i.definition.operands, strict=True):
        if isinstance(operand, Register) and spec.role is Role.READ:
            mask |= operand.range.mask
    return mask


# Wait states ---------------------------------------------------------------------------------------------------------------


def _nops(kernel: Kernel, block: Block, index: int, kind: str) -> Iterator[Mutant]:
    i = block.instructions[index]
    if i.mnemonic == "s_nop" and isinstance(i.operands[0], Immediate):
        body = block.instructions[:index] + block.instructions[index + 1 :]
        if _falls_short(kernel, body, index) and not _falls_short(kernel, block.instructions, index + 1):
            yield Mutant(kind, f"{block.label}[{index}] {i.operands[0].value}", _with_block(kernel, block, body))


def _falls_short(kernel: Kernel, body: tuple[Instruction, ...], middle: int) -> bool:
    """Whether a pair around `middle` has less states than manual and LLVM both ask, by counting, with nothing that stalls."""
    for first in range(max(0, middle - LOOK_BACK), middle):
        states = 0
        for second in range(first + 1, min(len(body), first + LOOK_BACK)):
            if second >= middle and _needs(kernel, body[first], body[second]) > states:
                return True
            i = body[second]
            if i.definition is None or _stalls(i.definition) or i.definition.is_branch:
                break
            scalar_write = effects(body[first]).writes & ~VECTOR_MASK & effects(i).writes
            if scalar_write:
                break
            states += _states(i)
    return False


def _states(i: Instruction) -> int:
    count = i.operands[0] if i.mnemonic == "s_nop" else None
    return (count.value & 15) + 1 if isinstance(count, Immediate) else 1


def _needs(kernel: Kernel, first: Instruction, second: Instruction) -> int:
    if first.definition is None or second.definition is None:
        return 0
    producer, consumer = (HazardFacts.of(i) for i in (first, second))
    most = 0
    for rule in rules_for(kernel.target):
        if rule.producer in producer.ops and rule.consumer in consumer.ops:
            need = min(rule.documented.at(producer.passes), rule.llvm.at(producer.passes))
            if need > most and meets(rule, producer, consumer):
                most = need
    if producer.passes and _stalls(second.definition):
        # The second waits for the matrix unit anyhow: as many slots as the first has passes, packed ones up to three more.
        return most if most > producer.passes + (0 if consumer.passes else 3) else 0
    return most


def _stalls(definition: OpcodeDef) -> bool:
    """Whether an instruction waits for the matrix unit, so that more slots may pass than it takes itself."""
    return definition.issue is IssueClass.MATRIX or bool(definition.flags & {Flag.PACKED_F32, Flag.DOT})


# Order and definition ------------------------------------------------------------------------------------------------------


def _moves(kernel: Kernel, block: Block, index: int, kind: str) -> Iterator[Mutant]:
    if not index:
        return
    first, second = block.instructions[index - 1 : index + 1]
    depends = _is_plain(first) and _is_plain(second) and effects(first).writes & _plain_reads(second)
    if depends and _addresses_memory(block.instructions[index + 1 :], effects(second).writes & (VECTOR_MASK | _SCALAR_RESULTS)):
        body = (*block.instructions[: index - 1], second, first, *block.instructions[index + 1 :])
        yield Mutant(kind, f"{block.label}[{index}] {second.mnemonic}", _with_block(kernel, block, body))


def _addresses_memory(following: tuple[Instruction, ...], written: int) -> bool:
    """Whether a memory instruction reads what was written, so that it surely matters, before anything is written there."""
    for i in following:
        if i.definition is None or not written:
            return False
        if i.definition.space is not None and _plain_reads(i) & written:
            return True
        written &= ~effects(i).writes
    return False


def _is_plain(i: Instruction) -> bool:
    """An ordinary instruction that surely does something: v + 0 and the like may stand anywhere."""
    if i.definition is None or i.definition.issue not in (IssueClass.VALU, IssueClass.SALU) or i.modifiers:
        return False
    return not any(isinstance(operand, Immediate) and operand.value in (0, 1) for operand in i.operands)


def _undefined(kernel: Kernel, pick: random.Random) -> Iterator[Mutant]:
    """The only instruction that writes a register, left out, where a memory instruction reads the register."""
    writers: dict[int, list[tuple[Block, int]]] = {}
    read = 0
    for block in kernel.blocks:
        for index, i in enumerate(block.instructions):
            if i.definition is None or effects(i) == OPAQUE or "gpr_idx" in i.mnemonic or "movrel" in i.mnemonic:
                return
            for unit in units(effects(i).writes & (VECTOR_MASK | _SCALAR_RESULTS)):
                writers.setdefault(unit, []).append((block, index))
            if i.definition.space is not None:
                read |= _plain_reads(i)
    if kernel.descriptor is None:
        return
    given = kernel.descriptor.user_sgpr_count + _SYSTEM_SGPRS
    found = list(writers.items())
    pick.shuffle(found)
    for unit, places in found:
        block, index = places[0]
        i = block.instructions[index]
        if len(places) == 1 and given <= unit != VGPR0 and read >> unit & 1 and not block.frozen:
            body = (*block.instructions[:index], *block.instructions[index + 1 :])
            if body and not effects(i).reads >> unit & 1:
                yield Mutant(UNDEFINED, f"{block.label}[{index}] {i.mnemonic}", _with_block(kernel, block, body))


def _lds(kernel: Kernel) -> Iterator[Mutant]:
    limit = 163840 if kernel.target.startswith("gfx950") else 65536
    if kernel.descriptor is not None:
        for more in (1, 512, limit):
            descriptor = replace(kernel.descriptor, group_segment_bytes=limit + more)
            yield Mutant(TOO_MUCH_LDS, str(limit + more), replace(kernel, descriptor=descriptor))
