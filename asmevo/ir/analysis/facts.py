"""What each instruction of a kernel touches, computed once and shared by every analysis.

Owns the table of register effects and the few predicates several analyses ask of an instruction. It must not follow paths.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import Effects, effects
from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.isa.hazards import DPP_MODIFIERS
from asmevo.ir.isa.model import Access, Flag, IssueClass, Space
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import UNIT_COUNT, VECTOR_MASK

ALL_UNITS = (1 << UNIT_COUNT) - 1


@dataclass(frozen=True, slots=True)
class EffectsTable:
    """Effects by block label, one for each instruction in order.

    An instruction without definition (raw data) reads everything, may write everything and surely writes nothing.
    """

    by_block: dict[str, tuple[Effects, ...]]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> EffectsTable:
        """The table of `kernel`."""
        del manager
        return cls({block.label: tuple(effects_of(i) for i in block.instructions) for block in kernel.blocks})


def effects_of(instruction: Instruction) -> Effects:
    """The effects of one instruction, raw data included."""
    if instruction.definition is None:
        return Effects(ALL_UNITS, ALL_UNITS, 0)
    return effects(instruction)


def reads_any_lane(instruction: Instruction) -> bool:
    """True when VGPRs of lanes that EXEC switches off may be read: matrix, DPP, lane reads, permutes, raw data."""
    definition = instruction.definition
    if definition is None or definition.issue is IssueClass.MATRIX:
        return True
    if Flag.NO_EXEC in definition.flags or Flag.CROSS_LANE in definition.flags:
        return True
    return instruction.mnemonic.endswith("_dpp") or any(m.name in DPP_MODIFIERS for m in instruction.modifiers)


def active_kills(instruction: Instruction, effect: Effects) -> int:
    """Units whose whole value in every active lane is replaced."""
    definition = instruction.definition
    if definition is None:
        return 0
    scalar = effect.kills & ~VECTOR_MASK
    if Flag.PARTIAL in definition.flags or any(m.name in ("dst_sel", "op_sel") for m in instruction.modifiers):
        return scalar
    return scalar | (effect.writes & VECTOR_MASK)


def all_lane_kills(instruction: Instruction, effect: Effects) -> int:
    """Units whose whole value is replaced whatever EXEC is: scalar results and matrix results."""
    definition = instruction.definition
    if definition is None:
        return 0
    vector = effect.writes & VECTOR_MASK if definition.issue is IssueClass.MATRIX else 0
    return (effect.kills & ~VECTOR_MASK) | vector


def is_lds_dma(instruction: Instruction) -> bool:
    """True for a buffer, global or scratch load whose data goes to LDS."""
    definition = instruction.definition
    if definition is None or definition.space in (None, Space.LDS, Space.SCALAR):
        return False
    return definition.access is Access.LDS_DMA or bool(instruction.modifier("lds"))


def ends_program(instruction: Instruction) -> bool:
    """True for s_endpgm and its kin."""
    return instruction.definition is not None and instruction.definition.issue is IssueClass.END


def leaves_unseen(block: Block) -> bool:
    """True when control may go from the block's end to code that the kernel does not show: an indirect branch or call, or
    no successor and no s_endpgm."""
    last = block.instructions[-1] if block.instructions else None
    if last is not None and last.definition is not None and last.definition.is_branch:
        return not any(isinstance(operand, Label) for operand in last.operands)
    return not block.successors and not (last is not None and ends_program(last))
