"""Waits and wait states beyond what any path needs.

Owns the comparison of what stands in the code with what `waits` and `hazards` find to be enough. All of one kind may be changed
at once; a wait that also serves as a wait state is the hazards' affair.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.hazards.needed import NopNeeds
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitNeeds
from asmevo.ir.instruction import Immediate, WaitCounts
from asmevo.ir.kernel import Kernel


@dataclass(frozen=True, slots=True)
class ExcessWait:
    """A wait that could be weaker, or go when `enough` waits for nothing."""

    label: str
    index: int
    current: WaitCounts
    enough: WaitCounts

    @property
    def is_redundant(self) -> bool:
        """True when the whole wait may go."""
        return self.enough == WaitCounts()


@dataclass(frozen=True, slots=True)
class ExcessNop:
    """An s_nop with more states than needed: `current`, and what is enough by LLVM's count and by the documented need."""

    label: str
    index: int
    current: int
    enough_llvm: int
    enough_physical: int


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Excess waits and nops in layout order."""

    waits: tuple[ExcessWait, ...]
    nops: tuple[ExcessNop, ...]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Redundancy:
        """What is in excess in `kernel`."""
        waits, nops = manager.get(WaitNeeds).by_site, manager.get(NopNeeds)
        excess_waits: list[ExcessWait] = []
        excess_nops: list[ExcessNop] = []
        for block in kernel.blocks:
            for index, instruction in enumerate(block.instructions):
                site = (block.label, index)
                operand = instruction.operands[0] if instruction.operands else None
                if site in waits and isinstance(operand, WaitCounts) and waits[site] != operand:
                    excess_waits.append(ExcessWait(block.label, index, operand, waits[site]))
                if site in nops.llvm and isinstance(operand, Immediate):
                    states = operand.value + 1
                    if nops.llvm[site] < states or nops.physical[site] < states:
                        excess_nops.append(ExcessNop(block.label, index, states, nops.llvm[site], nops.physical[site]))
        return cls(tuple(excess_waits), tuple(excess_nops))
