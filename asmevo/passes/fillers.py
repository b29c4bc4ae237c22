"""Waits and nops as instructions: which ones a reordered stretch gets, reusing those that were taken out of it."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.ir.instruction import Immediate, Instruction, Operand, WaitCounts
from asmevo.ir.isa import lookup
from asmevo.ir.isa.model import IssueClass

LONGEST_NOP = 16
"""Wait states of the longest s_nop used; the field holds one less."""


def is_filler(instruction: Instruction) -> bool:
    """Whether it is a wait or a nop that can be made anew: an s_nop, or an s_waitcnt that leaves expcnt alone."""
    definition = instruction.definition
    if definition is None:
        return False
    if definition.issue is IssueClass.NOP:
        return definition.mnemonic == "s_nop"
    if definition.mnemonic != "s_waitcnt" or not instruction.operands:
        return False
    counts = instruction.operands[0]
    return isinstance(counts, WaitCounts) and counts.expcnt is None


class Fillers:
    """Hands out waits and nops. Removed ones are used first, so that what does not change keeps its bytes and its uid."""

    def __init__(self, removed: Sequence[Instruction], next_uid: int) -> None:
        self._removed = list(removed)
        self._next_uid = next_uid

    def wait(self, counts: WaitCounts) -> Instruction:
        """An s_waitcnt with these counts."""
        return self._take("s_waitcnt", counts)

    def nops(self, states: int) -> list[Instruction]:
        """As few s_nop as make `states` wait states."""
        made: list[Instruction] = []
        while states > 0:
            here = min(states, LONGEST_NOP)
            made.append(self._take("s_nop", Immediate(here - 1, str(here - 1))))
            states -= here
        return made

    def _take(self, mnemonic: str, operand: Operand) -> Instruction:
        candidates = [i for i in self._removed if i.mnemonic == mnemonic]
        for candidate in candidates:
            if candidate.operands == (operand,):
                self._removed.remove(candidate)
                return candidate
        if candidates:
            self._removed.remove(candidates[0])
            return candidates[0].edited(operands=(operand,))
        made = Instruction(mnemonic, (operand,), definition=lookup(mnemonic), uid=self._next_uid)
        self._next_uid += 1
        return made
