"""Instructions that compute what nobody reads.

Owns the judgement from liveness: every register written is dead on every path, and there is no other effect. An instruction
that becomes dead once another is removed is not reported. A dead load is reported apart: it still counts in the wait counters.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.facts import EffectsTable, is_lds_dma
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import EVERYTHING
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Access, Flag, IssueClass
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import EXEC_MASK, HWREG, M0, MODE, VECTOR_MASK, VSKIP

_COMPUTING = frozenset({IssueClass.SALU, IssueClass.VALU, IssueClass.TRANS, IssueClass.MATRIX})
_STATE = EXEC_MASK | 1 << MODE | 1 << VSKIP | 1 << HWREG | 1 << M0


@dataclass(frozen=True, slots=True)
class DeadInstruction:
    """A removable instruction; `is_load` when it reads memory."""

    label: str
    index: int
    instruction: Instruction
    is_load: bool


@dataclass(frozen=True, slots=True)
class DeadCode:
    """Dead instructions of reachable blocks in layout order, and the labels of blocks that no path reaches."""

    instructions: tuple[DeadInstruction, ...]
    unreachable: tuple[str, ...]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> DeadCode:
        """The dead code of `kernel`."""
        flow, table, liveness = manager.get(Flow), manager.get(EffectsTable), manager.get(Liveness)
        found: list[DeadInstruction] = []
        for block in kernel.blocks:
            if block.label not in flow.reachable or block.frozen:
                continue
            effects, live_after = table.by_block[block.label], liveness.all_after(block.label)
            for index, (instruction, effect, (active, inactive)) in enumerate(
                zip(block.instructions, effects, live_after, strict=True)
            ):
                writes = effect.writes
                # What is needed in an active lane is live in any case.
                if not writes or writes & active or writes & _STATE or writes == EVERYTHING or not _is_pure(instruction):
                    continue
                # A plain vector result matters in active lanes only: the others keep what they had.
                if writes & VECTOR_MASK and not _writes_any_lane(instruction):
                    inactive &= ~VECTOR_MASK
                if not writes & inactive:
                    definition = instruction.definition
                    is_load = definition is not None and definition.access is Access.LOAD
                    found.append(DeadInstruction(block.label, index, instruction, is_load))
        return cls(tuple(found), tuple(b.label for b in kernel.blocks if b.label not in flow.reachable and b.instructions))


def _writes_any_lane(instruction: Instruction) -> bool:
    definition = instruction.definition
    return definition is None or definition.issue is IssueClass.MATRIX or Flag.NO_EXEC in definition.flags


def _is_pure(instruction: Instruction) -> bool:
    definition = instruction.definition
    if definition is None or Flag.FIXED in definition.flags or definition.is_branch or is_lds_dma(instruction):
        return False
    return (definition.issue in _COMPUTING and definition.access is None) or definition.access is Access.LOAD
