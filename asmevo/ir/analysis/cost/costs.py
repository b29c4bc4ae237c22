"""One instruction as a cost model sees it: issue costs, latencies and counter events.

Owns the step from opcode facts to issue costs, latencies and counter events. It must not keep machine state.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Immediate, Instruction, Label, Register, WaitCounts
from asmevo.ir.isa.chips import Chip
from asmevo.ir.isa.hazards import Op, Rule, passes_of, rules_for
from asmevo.ir.isa.model import Access, Counter, Flag, IssueClass, OpcodeDef, Space
from asmevo.ir.memo import OfText, by_text
from asmevo.ir.registers import VECTOR_MASK, RegisterRange

LANES = 64


class Port(enum.IntEnum):
    """The unit an instruction issues to. INTERNAL ones (waits, nops, barriers) take the wave's slot and no unit."""

    INTERNAL = 0
    VALU = 1
    MATRIX = 2
    SALU = 3
    LDS = 4
    VMEM = 5


@dataclass(frozen=True, slots=True)
class Matrix:
    """The cycles that matter about a matrix instruction.

    How long its unit is taken, VALU and packed VALU must stay away, and its result may not be read: as the same accumulator,
    as another accumulator, by anything else.
    """

    busy: int
    valu_shadow: int
    packed_shadow: int
    same_accumulator: int
    accumulator: int
    result: int


@dataclass(frozen=True, slots=True)
class Timed:
    """One instruction with its costs in cycles.

    `busy` is how long the port is taken, `latency` until a result can be used (memory: from issue to completion), `transfer`
    the time a shared data path is taken. `cause` names the stall that the instruction itself is (wait slot, nop,
    barrier), `target` is the label of a branch, `accumulator` the SrcC of a matrix
    instruction; empty otherwise.
    """

    uid: int
    port: Port
    reads: int
    writes: int
    busy: int
    latency: int
    hold: int = 0
    transfer: int = 0
    vmcnt: bool = False
    lgkmcnt: bool = False
    wait: WaitCounts | None = None
    packed: bool = False
    target: str = ""
    cause: str = ""
    matrix: Matrix | None = None
    accumulator: int = 0

    @property
    def result_cycles(self) -> int:
        """Cycles from issue until another instruction may use the result, with nothing else in flight.

        A matrix result counts as read by anything but the same accumulator.
        """
        return self.matrix.result if self.matrix is not None else max(self.latency + self.transfer, self.hold)

    @property
    def busy_cycles(self) -> int:
        """Cycles for which the instruction keeps the next one of its kind from issuing."""
        return self.matrix.busy if self.matrix is not None else max(self.busy, self.hold)


def result_latency_cycles(instruction: Instruction, chip: Chip) -> int:
    """`Timed.result_cycles` of an instruction, with all SIMDs busy."""
    return decode(instruction, chip, chip.simds.value).result_cycles


def unit_busy_cycles(instruction: Instruction, chip: Chip) -> int:
    """`Timed.busy_cycles` of an instruction, with all SIMDs busy."""
    return decode(instruction, chip, chip.simds.value).busy_cycles


def decode(instruction: Instruction, chip: Chip, simds: int) -> Timed:
    """The costs of `instruction` when `simds` SIMDs of the compute unit do the same work and share its data paths."""
    timed = decoder(chip, simds)(instruction)
    return timed if timed.uid == instruction.uid else replace(timed, uid=instruction.uid)


@lru_cache(maxsize=16)
def decoder(chip: Chip, simds: int) -> OfText[Timed]:
    """The function that gives an instruction's costs as `decode` does, but with the `uid` of any one of the same text."""
    return by_text(partial(_decode, chip=chip, simds=simds))


def _decode(instruction: Instruction, *, chip: Chip, simds: int) -> Timed:
    slot = chip.slot.value
    effect = effects(instruction)
    definition = instruction.definition
    uid = instruction.uid
    if definition is None:
        return Timed(uid, Port.INTERNAL, 0, 0, slot, slot, hold=slot)
    reads, writes = effect.reads, effect.writes
    issue = definition.issue
    if issue is IssueClass.WAIT:
        operand = instruction.operands[0] if instruction.operands else None
        counts = operand if isinstance(operand, WaitCounts) else WaitCounts(0, 0, 0)
        return Timed(uid, Port.INTERNAL, 0, 0, 0, 0, hold=slot, wait=counts, cause="wait slot")
    if issue is IssueClass.NOP or definition.mnemonic == "s_sleep":
        operand = instruction.operands[0] if instruction.operands else None
        count = operand.value if isinstance(operand, Immediate) else 0
        hold = 64 * (count & 127) if definition.mnemonic == "s_sleep" else slot * ((count & 15) + 1)
        return Timed(uid, Port.INTERNAL, 0, 0, 0, 0, hold=max(hold, slot), cause="nop")
    if issue is IssueClass.BARRIER:
        return Timed(uid, Port.INTERNAL, 0, 0, 0, 0, hold=chip.barrier.value, cause="barrier")
    if issue is IssueClass.MATRIX:
        return _matrix(instruction, definition, chip, reads, writes)
    if issue in (IssueClass.VALU, IssueClass.TRANS):
        rate = chip.transcendental_f64 if definition.mnemonic.endswith("_f64") else chip.transcendental
        cost = rate.value if issue is IssueClass.TRANS else slot
        packed = Flag.PACKED_F32 in definition.flags or Flag.DOT in definition.flags
        return Timed(uid, Port.VALU, reads, writes, cost, cost, hold=slot, packed=packed)
    if Counter.VMCNT in definition.counters or Counter.LGKMCNT in definition.counters:
        return _memory(instruction, definition, chip, simds, reads, writes)
    target = next((operand.name for operand in instruction.operands if isinstance(operand, Label)), "")
    port = Port.SALU if issue in (IssueClass.SALU, IssueClass.BRANCH) else Port.INTERNAL
    return Timed(uid, port, reads, writes, slot, slot, hold=slot, target=target)


def _matrix(instruction: Instruction, definition: OpcodeDef, chip: Chip, reads: int, writes: int) -> Timed:
    slot = chip.slot.value
    passes = passes_of(definition, {modifier.name: modifier.value for modifier in instruction.modifiers}, chip.target)
    sources = {
        spec.name: operand.range
        for spec, operand in zip(definition.operands, instruction.operands, strict=False)
        if isinstance(operand, Register)
    }
    wide = max((sources[name].count * 4 for name in ("src0", "src1") if name in sources), default=4)
    alone = Flag.SGEMM in definition.flags or Flag.DGEMM in definition.flags
    first_source = sources.get("src0", RegisterRange(0)).count * 4
    packed = passes + (3 if first_source >= 16 else 2)
    # Figures by PR233721: the first ordinary VALU instruction after 1 + bytes / 16 slots, packed ones after N + 2 or N + 3.
    valu = passes + 2 if alone else 1 + wide // 16
    kind = Op.DGEMM_16 if Flag.DGEMM in definition.flags and "_16x16x" in definition.mnemonic else Op.XDL
    kind = Op.SGEMM if Flag.SGEMM in definition.flags else Op.DGEMM_4 if kind is Op.XDL and alone else kind
    same, other, result = _result_states(kind, chip.target, passes)
    # What the next one of a chain waits beyond the time that the unit is taken anyway.
    chain = slot * passes + chip.matrix_chain.value if chip.matrix_chain.value else 0
    matrix = Matrix(
        busy=slot * passes,
        valu_shadow=slot * valu,
        packed_shadow=slot * max(packed, valu),
        same_accumulator=max(slot * (same + 1), chain),
        accumulator=slot * (other + 1),
        result=slot * (result + 1),
    )
    third = sources.get("vdst" if Flag.SMFMAC in definition.flags else "src2")
    accumulator = third.mask if third is not None else 0
    others = 0
    for name in ("src0", "src1", "idx"):
        others |= sources[name].mask if name in sources else 0
    # An accumulator that is also A or B must be ready as A or B.
    plain = reads & ~VECTOR_MASK | others
    return Timed(
        instruction.uid, Port.MATRIX, plain, writes & VECTOR_MASK, slot, slot * passes, hold=slot,
        matrix=matrix, accumulator=accumulator,
    )  # fmt: skip


@lru_cache(maxsize=256)
def _result_states(kind: Op, target: str, passes: int) -> tuple[int, int, int]:
    """Wait states until a result may be read as the same accumulator, another accumulator, and otherwise."""
    rules = {rule.name: rule for rule in rules_for(target) if rule.producer in (kind, Op.NOT_DGEMM, Op.DGEMM)}
    accumulators = [rule for name, rule in rules.items() if name.endswith("-c") and "war" not in name]
    result = max(_at(rule, passes) for name, rule in rules.items() if name.endswith(("-ab", "-valu-read")))
    other = max((_at(rule, passes) for rule in accumulators), default=result)
    same = {2: 2}.get(passes, 0) if kind in (Op.XDL, Op.SGEMM) else 0
    return same, other, result


def _at(rule: Rule, passes: int) -> int:
    return rule.documented.at(passes)


def _memory(instruction: Instruction, definition: OpcodeDef, chip: Chip, simds: int, reads: int, writes: int) -> Timed:
    slot, size = chip.slot.value, definition.memory_bytes
    vmcnt, lgkmcnt = Counter.VMCNT in definition.counters, Counter.LGKMCNT in definition.counters
    if vmcnt:
        # All SIMDs draw on one path of the compute unit, so a wave's share is a part of it.
        transfer = size * LANES * simds // chip.vmem_bytes_per_cycle.value
        return Timed(
            instruction.uid, Port.VMEM, reads, writes, slot, chip.vmem_latency.value, hold=slot,
            transfer=transfer, vmcnt=True, lgkmcnt=lgkmcnt,
        )  # fmt: skip
    if definition.issue is IssueClass.LDS or definition.space is Space.LDS:
        # One SIMD alone has half of the array's width; writes are slower than reads.
        whole = chip.lds_bytes_per_cycle if definition.access is Access.LOAD else chip.lds_write_bytes_per_cycle
        rate = min(whole.value, chip.lds_path_bytes_per_cycle.value * simds)
        transfer = max(slot, size * LANES * simds // rate)
        latency = chip.lds_latency.value if definition.access is not None else chip.lds_crossbar.value - slot
        return Timed(
            instruction.uid, Port.LDS, reads, writes, slot, latency, hold=slot, transfer=transfer, lgkmcnt=True
        )  # fmt: skip
    latency = chip.message_latency.value if definition.issue is IssueClass.MESSAGE else chip.smem_latency.value
    return Timed(instruction.uid, Port.SALU, reads, writes, slot, latency, hold=slot, lgkmcnt=True)
