"""Where EXEC is known to have all lanes on, and how an instruction changes EXEC.

Owns the classification of EXEC writes and a forward must-analysis. It must not guess at the launch: EXEC at entry is full only
when the caller states it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import Effects
from asmevo.ir.instruction import Immediate, Instruction, Register
from asmevo.ir.isa.model import Flag
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import EXEC, EXEC_MASK


class ExecChange(enum.Enum):
    """What an instruction does to the set of active lanes."""

    NONE = "unchanged"
    NARROW = "a subset of the lanes before"
    WIDEN = "a superset of the lanes before"
    FULL = "all lanes"
    ANY = "unknown"


_NARROWING = frozenset({"s_and_saveexec_b64", "s_andn1_saveexec_b64", "s_andn1_wrexec_b64"})
_NARROWING_WITH_EXEC = frozenset({"s_and_b64", "s_andn2_b64"})


def exec_change(instruction: Instruction, effect: Effects) -> ExecChange:
    """How `instruction` changes EXEC; ANY when its effect is not one of the known idioms."""
    if not effect.writes & EXEC_MASK:
        return ExecChange.NONE
    definition = instruction.definition
    if definition is None:
        return ExecChange.ANY
    name = definition.mnemonic
    if Flag.CMPX in definition.flags or name in _NARROWING:
        return ExecChange.NARROW
    if name == "s_or_saveexec_b64":
        return ExecChange.WIDEN
    if name == "s_mov_b64" and _is_exec(instruction, 0) and _is_all_ones(instruction, 1):
        return ExecChange.FULL
    if _is_exec(instruction, 0) and len(instruction.operands) == 3:
        first, second = _is_exec(instruction, 1), _is_exec(instruction, 2)
        if name in _NARROWING_WITH_EXEC and (first or (second and name == "s_and_b64")):
            return ExecChange.NARROW
        if name == "s_or_b64" and (first or second):
            return ExecChange.WIDEN
    return ExecChange.ANY


def _is_exec(instruction: Instruction, position: int) -> bool:
    operand = instruction.operands[position] if position < len(instruction.operands) else None
    return isinstance(operand, Register) and (operand.range.unit, operand.range.count) == (EXEC, 2)


def _is_all_ones(instruction: Instruction, position: int) -> bool:
    operand = instruction.operands[position] if position < len(instruction.operands) else None
    return isinstance(operand, Immediate) and not operand.is_float and operand.value & 0xFFFFFFFF == 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class ExecFull:
    """Labels of the blocks at whose entry EXEC is full on every path."""

    at_entry: frozenset[str]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> ExecFull:
        """The analysis with nothing stated about the launch."""
        return cls(full_at_entry(kernel, manager, entry_full=False))


def full_at_entry(kernel: Kernel, manager: AnalysisManager, *, entry_full: bool) -> frozenset[str]:
    """Labels of blocks entered with all lanes on, on every path; `entry_full` states that waves start so."""
    del kernel
    flow, table = manager.get(Flow), manager.get(EffectsTable)
    leaves: dict[str, bool | None] = {}
    for label in flow.order:
        result: bool | None = None
        for instruction, effect in zip(flow.blocks[label].instructions, table.by_block[label], strict=True):
            change = exec_change(instruction, effect)
            if change is ExecChange.FULL:
                result = True
            elif change in (ExecChange.NARROW, ExecChange.ANY):
                result = False
        leaves[label] = result
    full = {label for label in flow.order if (label not in flow.roots or entry_full) and label in flow.reachable}
    changed = True
    while changed:
        changed = False
        for label in flow.order:
            if label not in full:
                continue
            sources = flow.predecessors[label]
            if all(leaves[s] is True or (leaves[s] is None and s in full) for s in sources if s in flow.reachable):
                continue
            full.discard(label)
            changed = True
    return frozenset(full)
