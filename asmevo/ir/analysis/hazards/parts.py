"""How one instruction stands in the wait-state table: its classes and the registers of each part.

Owns the interpretation of `Part` from operands and effects. It must not follow paths.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field

from asmevo.ir.effects import Effects, effects
from asmevo.ir.instruction import Instruction, Register, Symbolic
from asmevo.ir.isa.hazards import Op, Part, Relation, Rule, operations, passes_of
from asmevo.ir.isa.model import Flag, IssueClass, OpcodeDef, Role
from asmevo.ir.memo import by_text
from asmevo.ir.registers import EXEC_MASK, EXECZ, M0, VCC_MASK, VCCZ, VECTOR_MASK
from asmevo.ir.symbols import integer

EVERYTHING = -1
"""Meets any part that is not empty."""

_SCALAR_MASK = (1 << M0) - 1
_MODE_REGISTER, _TRAPSTS_REGISTER, _VSKIP_BIT = 1, 3, 28
_ALL_HWREGS = (1 << 64) - 1
_HWREG_NAMES = {
    f"HW_REG_{name}": number
    for number, name in enumerate(("MODE", "STATUS", "TRAPSTS", "HW_ID", "GPR_ALLOC", "LDS_ALLOC", "IB_STS"), 1)
}
_HWREG_TEXT = re.compile(r"hwreg\(\s*(\w+)\s*(?:,\s*(\w+)\s*,\s*(\w+)\s*)?\)")
_LANE_SELECTS = ("v_readlane_b32", "v_writelane_b32")


class Unit(enum.Enum):
    """What an instruction has to wait for at issue, in the physical reading."""

    NONE = "nothing"
    VALU = "the vector unit"
    PACKED = "the vector unit, as packed F32 or dot"
    MATRIX = "the vector unit and the matrix unit"


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The unit an instruction issues to and for how many slots it keeps later ones of each kind away, at least.

    Sources: G3 and the matrix instruction calculator (passes), PR233721 (packed and dot instructions not before N+2 slots; F32
    and F64 matrix instructions let no VALU instruction in before), transcendentals (16 cycles measured on
    gfx942, 8 on gfx950 by AMD's CDNA4 white paper).
    """

    unit: Unit = Unit.NONE
    valu: int = 0
    packed: int = 0
    matrix: int = 0


@dataclass(frozen=True, slots=True)
class HazardFacts:
    """One instruction for the table: classes, passes of a matrix instruction, issue slots it takes, and parts on demand."""

    instruction: Instruction
    effect: Effects
    ops: frozenset[Op]
    passes: int
    slots: int
    occupies: Occupancy
    _parts: dict[Part, int] = field(default_factory=dict[Part, int])
    produced: dict[str, tuple[tuple[int, int, int, int], ...]] = field(
        default_factory=dict[str, tuple[tuple[int, int, int, int], ...]]
    )
    """By target, the rules for which the instruction is a producer: filled by the walk that asks."""

    @classmethod
    def of(cls, instruction: Instruction) -> HazardFacts:
        """The facts of one instruction as it is printed, shared by all of the same text; raw data is in no class."""
        return _facts(instruction)

    @classmethod
    def compute(cls, instruction: Instruction, effect: Effects) -> HazardFacts:
        """The facts, made anew."""
        definition = instruction.definition
        if definition is None:
            return cls(instruction, effect, frozenset(), 0, 1, Occupancy())
        modifiers = {m.name: m.value for m in instruction.modifiers}
        ops, passes = operations(definition, instruction.mnemonic, modifiers), passes_of(definition, modifiers)
        slots, occupies = _slots(instruction, definition), _occupancy(instruction, definition, ops, passes)
        return cls(instruction, effect, ops, passes, slots, occupies)

    def part(self, part: Part) -> int:
        """The units of a part; EVERYTHING for the whole instruction; bits by register number for hardware registers."""
        known = self._parts.get(part)
        if known is None:
            known = self._parts[part] = self._find(part)
        return known

    def documented_part(self, rule: Rule) -> int:
        """The consumed part by the vendor's reading: only the first source of DPP goes through the permutation."""
        if rule.consumer is Op.DPP and rule.consumed is Part.READS:
            return self._operand("src0") & VECTOR_MASK
        return self.part(rule.consumed)

    def _find(self, part: Part) -> int:
        effect = self.effect
        if part is Part.ALL:
            return EVERYTHING
        if part is Part.WRITES:
            return effect.writes & VECTOR_MASK
        if part is Part.READS:
            return effect.reads & VECTOR_MASK
        if part is Part.SCALAR_WRITES:
            return effect.writes & _SCALAR_MASK
        if part is Part.SCALAR_READS:
            return effect.reads & _SCALAR_MASK
        if part is Part.EXEC_WRITES:
            return effect.writes & EXEC_MASK
        if part is Part.VCC_OR_EXEC_WRITES:
            return effect.writes & (EXEC_MASK | VCC_MASK)
        if part is Part.M0_WRITES:
            return effect.writes & (1 << M0)
        return self._from_operands(part)

    def _from_operands(self, part: Part) -> int:
        if part is Part.SRC_C:
            third = self._operand("src2")
            accumulates = Flag.SMFMAC in self._flags or (Op.DOT in self.ops and not third)
            return self._operand("vdst") if accumulates else third
        if part is Part.SRC_AB:
            return self._operand("src0") | self._operand("src1") | self._operand("idx")
        if part is Part.MASK:
            return self._mask()
        if part in (Part.CONSTANTS, Part.VCC_CONSTANT):
            constants = self._read_registers(without_mask=True) & _SCALAR_MASK
            return constants & VCC_MASK if part is Part.VCC_CONSTANT else constants & ~VCC_MASK
        if part is Part.EXEC_CONSTANT:
            return self._read_registers(without_mask=True) & EXEC_MASK
        if part is Part.ZERO_FLAGS:
            read = self._read_registers(without_mask=False)
            return (VCC_MASK if read >> VCCZ & 1 else 0) | (EXEC_MASK if read >> EXECZ & 1 else 0)
        if part is Part.LANE_SELECT:
            selects = self.instruction.definition is not None and self.instruction.definition.mnemonic in _LANE_SELECTS
            return self._operand("src1") & _SCALAR_MASK if selects else 0
        if part in (Part.DATA, Part.DATA_WITHOUT_SOFFSET):
            return self._data(without_soffset=part is Part.DATA_WITHOUT_SOFFSET)
        return self._hardware_register(part)

    @property
    def _flags(self) -> frozenset[Flag]:
        return self.instruction.definition.flags if self.instruction.definition else frozenset()

    def _operand(self, name: str) -> int:
        definition = self.instruction.definition
        if definition is None:
            return 0
        for spec, operand in zip(definition.operands, self.instruction.operands, strict=False):
            if spec.name == name and isinstance(operand, Register):
                return operand.range.mask
        return 0

    def _read_registers(self, *, without_mask: bool) -> int:
        definition = self.instruction.definition
        if definition is None:
            return 0
        total = 0
        for spec, operand in zip(definition.operands, self.instruction.operands, strict=False):
            is_mask = spec.name == "src2" and Flag.CARRY_IN in definition.flags
            if spec.role is not Role.WRITE and isinstance(operand, Register) and not (without_mask and is_mask):
                total |= operand.range.mask
        return total

    def _mask(self) -> int:
        carry = self._operand("src2") if Flag.CARRY_IN in self._flags else 0
        implicit = self.instruction.definition.implicit_reads if self.instruction.definition else 0
        return (carry | implicit & VCC_MASK) & _SCALAR_MASK

    def _data(self, *, without_soffset: bool) -> int:
        definition = self.instruction.definition
        if definition is None or (without_soffset and self._operand("soffset")):
            return 0
        total = 0
        for spec, operand in zip(definition.operands, self.instruction.operands, strict=False):
            if "data" in spec.name and spec.role is not Role.WRITE and isinstance(operand, Register):
                total |= operand.range.mask
        return total

    def _hardware_register(self, part: Part) -> int:
        for operand in self.instruction.operands:
            if isinstance(operand, Symbolic):
                number, bits = _hwreg(operand)
                if part is Part.HWREG:
                    return _ALL_HWREGS if number is None else 1 << number
                wanted = _TRAPSTS_REGISTER if part is Part.TRAPSTS else _MODE_REGISTER
                in_range = part is Part.TRAPSTS or _VSKIP_BIT in bits
                return 1 if number in (None, wanted) and in_range else 0
        return 0


@by_text
def _facts(instruction: Instruction) -> HazardFacts:
    return HazardFacts.compute(instruction, effects(instruction))


def _hwreg(operand: Symbolic) -> tuple[int | None, range]:
    if operand.value is not None:
        first = operand.value >> 6 & 31
        return operand.value & 63, range(first, first + (operand.value >> 11 & 31) + 1)
    found = _HWREG_TEXT.fullmatch(operand.text)
    if found is None:
        return None, range(32)
    name, first, size = found.groups()
    number = integer(name) if name[0].isdigit() else _HWREG_NAMES.get(name.upper())
    bits = range(integer(first), integer(first) + integer(size)) if first is not None else range(32)
    return number, bits


def _occupancy(instruction: Instruction, definition: OpcodeDef, ops: frozenset[Op], passes: int) -> Occupancy:
    if Op.MATRIX in ops:
        first = next((o for s, o in zip(definition.operands, instruction.operands, strict=False) if s.name == "src0"), None)
        wide = isinstance(first, Register) and first.range.count >= 4
        alone = passes + 2 if Op.NOT_XDL in ops else 1
        return Occupancy(Unit.MATRIX, alone, passes + (3 if wide else 2), passes)
    if Op.VALU not in ops:
        return Occupancy()
    # Two slots hold on every target; gfx942 takes four.
    slots = 2 if Op.TRANS in ops else 1
    packed = Flag.PACKED_F32 in definition.flags or Op.DOT in ops
    return Occupancy(Unit.PACKED if packed else Unit.VALU, slots, slots, slots)


def _slots(instruction: Instruction, definition: OpcodeDef) -> int:
    if definition.issue is not IssueClass.NOP or definition.mnemonic != "s_nop":
        return 1
    value = getattr(instruction.operands[0], "value", 0) if instruction.operands else 0
    # Only four bits of s_nop count on these targets.
    return (value & 15) + 1


def meets(rule: Rule, producer: HazardFacts, consumer: HazardFacts) -> bool:
    """True when the rule's consumer class and relation fit; the producer's class is taken as given."""
    if rule.consumer not in consumer.ops:
        return False
    produced = producer.part(rule.produced)
    if not produced & consumer.part(rule.consumed):
        return False
    relation = rule.relation
    if relation is Relation.OVERLAP:
        return True
    if relation in (Relation.IDENTICAL, Relation.OVERLAP_ONLY):
        identical = produced == consumer.part(rule.consumed) and producer.passes == consumer.passes
        return identical is (relation is Relation.IDENTICAL)
    first, second = producer.instruction.definition, consumer.instruction.definition
    same = first is not None and second is not None and first.mnemonic == second.mnemonic
    return same is (relation is Relation.SAME_OPCODE)
