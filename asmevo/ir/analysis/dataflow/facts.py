"""What each instruction of a kernel touches, computed once and shared by every analysis.

Owns the table of register effects and the few predicates several analyses ask of an instruction. It must not follow paths.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import Effects, effects, may_skip_vectors
from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.isa.hazards import DPP_MODIFIERS
from asmevo.ir.isa.model import Access, Flag, IssueClass, Space
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import UNIT_COUNT, VECTOR_MASK, VGPR_MASK

ALL_UNITS = (1 << UNIT_COUNT) - 1


@dataclass(frozen=True, slots=True)
class EffectsTable:
    """Effects by block label, one for each instruction in order.

    `printed` takes operands as they stand. `by_block` is what may happen: under indexed register mode an instruction may read
    and write any VGPR, and where VSKIP may be set a vector instruction surely replaces nothing.
    """

    printed: dict[str, tuple[Effects, ...]]
    by_block: dict[str, tuple[Effects, ...]]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> EffectsTable:
        """The table of `kernel`."""
        del manager
        may_skip = may_skip_vectors(kernel.instructions())
        indexed = {block.label: _indexed_positions(block) for block in kernel.blocks}
        if any(marks is None for marks in indexed.values()):
            indexed = {block.label: frozenset(range(len(block.instructions))) for block in kernel.blocks}
        printed = {block.label: tuple(effects(i) for i in block.instructions) for block in kernel.blocks}
        if not may_skip and not any(indexed.values()):
            return cls(printed, printed)
        return cls(
            printed,
            {
                block.label: tuple(
                    effects(i, may_skip=may_skip, indexed=position in (indexed[block.label] or ()))
                    for position, i in enumerate(block.instructions)
                )
                for block in kernel.blocks
            },
        )


def _indexed_positions(block: Block) -> frozenset[int] | None:
    """Positions under indexed register mode; None when the mode may be on where the block ends."""
    on = False
    found: set[int] = set()
    for position, instruction in enumerate(block.instructions):
        if instruction.mnemonic in ("s_set_gpr_idx_on", "s_set_gpr_idx_mode"):
            on = True
        elif instruction.mnemonic == "s_set_gpr_idx_off":
            on = False
        elif on:
            found.add(position)
    return None if on else frozenset(found)


def reads_any_lane(instruction: Instruction) -> bool:
    """True when VGPRs of lanes that EXEC switches off may be read: matrix, DPP, lane reads, permutes, raw data."""
    definition = instruction.definition
    if definition is None or definition.issue is IssueClass.MATRIX:
        return True
    if Flag.NO_EXEC in definition.flags or Flag.CROSS_LANE in definition.flags:
        return True
    return instruction.mnemonic.endswith("_dpp") or any(m.name in DPP_MODIFIERS for m in instruction.modifiers)


def active_kills(effect: Effects) -> int:
    """Units whose whole value in every active lane is replaced. Partial writes read their destination, so they end no life."""
    if effect.writes & VGPR_MASK == VGPR_MASK:
        return effect.kills & ~VECTOR_MASK
    return effect.kills | (effect.writes & VECTOR_MASK)


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
    """True when control may go from the block's end to code that the kernel does not show.

    That is after an indirect branch or call, and where there is no successor and no s_endpgm.
    """
    last = block.instructions[-1] if block.instructions else None
    if last is not None and last.definition is not None and last.definition.is_branch:
        return not any(isinstance(operand, Label) for operand in last.operands)
    return not block.successors and not (last is not None and ends_program(last))
