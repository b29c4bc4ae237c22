"""Which registers are still needed.

Owns backward liveness over units. Lanes that EXEC switches off keep their VGPR values, so a VGPR write under EXEC does not end
the old value's life there. The analysis therefore follows two sets: units needed in lanes that are active at a point, and units
needed in lanes that are not. A write ends a life in active lanes only; an EXEC change moves lanes between the sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.exec_full import ExecChange, exec_change
from asmevo.ir.analysis.dataflow.facts import ALL_UNITS, EffectsTable, active_kills, leaves_unseen, reads_any_lane
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import Effects, effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.memo import by_text
from asmevo.ir.registers import AGPR_MASK, FLAT_SCRATCH, VECTOR_MASK, VGPR_MASK, RegisterFile

_SGPRS = (1 << FLAT_SCRATCH) - 1
_FILES = {
    RegisterFile.VGPR: VGPR_MASK,
    RegisterFile.AGPR: AGPR_MASK,
    RegisterFile.SGPR: _SGPRS,
    RegisterFile.SPECIAL: ALL_UNITS & ~VECTOR_MASK & ~_SGPRS,
}

Sets = tuple[int, int]
"""(needed in active lanes, needed in inactive lanes); scalar units stand in the first only."""


@dataclass(frozen=True, slots=True)
class Liveness:
    """Live units as sets (see `ir.registers`), by block label and by position.

    A block that leaves the kernel in a way not understood (an indirect branch; no successor and no s_endpgm) has everything
    live at its end.
    """

    live_in: dict[str, int]
    live_out: dict[str, int]
    _outs: dict[str, Sets]
    _steps: dict[str, tuple[_Step, ...]]
    _positions: dict[str, tuple[Sets, ...]] = field(default_factory=dict[str, tuple[Sets, ...]])

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Liveness:
        """Liveness of `kernel`, with nothing stated about EXEC at entry."""
        del kernel
        flow, table = manager.get(Flow), manager.get(EffectsTable)
        steps = {
            label: tuple([_plain_step(i) for i in block.instructions])
            if table.by_block[label] is table.printed[label]
            else tuple(map(_Step.of, block.instructions, table.by_block[label]))
            for label, block in flow.blocks.items()
        }
        wholes = {label: _whole(block) for label, block in steps.items()}
        ins: dict[str, Sets] = dict.fromkeys(flow.blocks, (0, 0))
        outs: dict[str, Sets] = {label: _leaving(block) for label, block in flow.blocks.items()}
        pending = list(flow.order)
        queued = set(pending)
        while pending:
            label = pending.pop()
            queued.discard(label)
            active, inactive = outs[label]
            for successor in flow.successors[label]:
                active, inactive = active | ins[successor][0], inactive | ins[successor][1]
            outs[label] = (active, inactive)
            whole = wholes[label]
            if whole is not None:
                active, inactive = whole.before(active, inactive)
            else:
                for step in reversed(steps[label]):
                    active, inactive = step.before(active, inactive)
            if (active, inactive) != ins[label]:
                ins[label] = (active, inactive)
                fresh = [source for source in flow.predecessors[label] if source not in queued]
                queued.update(fresh)
                pending.extend(fresh)
        return cls(
            {label: a | b for label, (a, b) in ins.items()},
            {label: a | b for label, (a, b) in outs.items()},
            outs,
            steps,
        )

    def live_after(self, label: str, index: int) -> int:
        """Units needed after instruction `index` of the block, in any lane. A register outside it is free there."""
        active, inactive = self.all_after(label)[index]
        return active | inactive

    def live_after_in_active_lanes(self, label: str, index: int) -> int:
        """Units needed after the instruction in lanes active there: a plain VALU result outside it is dead."""
        return self.all_after(label)[index][0]

    def live_in_file(self, label: str, index: int, file: RegisterFile) -> int:
        """As `live_after`, of one register file. SPECIAL is EXEC, VCC, M0, SCC, MODE and their kin."""
        return self.live_after(label, index) & _FILES[file]

    def live_before(self, label: str, index: int) -> int:
        """Units needed just before instruction `index`."""
        return self.live_in[label] if index == 0 else self.live_after(label, index - 1)

    def all_after(self, label: str) -> tuple[Sets, ...]:
        """What is needed after each instruction of the block, in active and in inactive lanes."""
        known = self._positions.get(label)
        if known is None:
            active, inactive = self._outs[label]
            sets: list[Sets] = []
            for step in reversed(self._steps[label]):
                sets.append((active, inactive))
                if step.change is ExecChange.NONE:
                    active, inactive = active & step.keeps | step.reads, inactive & step.keeps_inactive | step.reads_inactive
                else:
                    active, inactive = step.before(active, inactive)
            known = self._positions[label] = tuple(reversed(sets))
        return known


@dataclass(frozen=True, slots=True)
class _Step:
    """What an instruction, or a run of them, needs, and what it does not end the life of."""

    reads: int
    reads_inactive: int
    keeps: int
    keeps_inactive: int
    change: ExecChange

    @classmethod
    def of(cls, instruction: Instruction, effect: Effects) -> _Step:
        return cls(
            effect.reads,
            effect.reads & VECTOR_MASK if reads_any_lane(instruction) else 0,
            ~active_kills(effect),
            ~(effect.kills & VECTOR_MASK),
            exec_change(instruction, effect),
        )

    def before(self, active: int, inactive: int) -> Sets:
        change = self.change
        if change is not ExecChange.NONE:
            vector = active & VECTOR_MASK
            if change is ExecChange.FULL:
                inactive = vector
            elif change is ExecChange.NARROW:
                active |= inactive
            elif change is ExecChange.WIDEN:
                inactive |= vector
            else:
                active |= inactive
                inactive |= vector
        return active & self.keeps | self.reads, inactive & self.keeps_inactive | self.reads_inactive


def _whole(steps: Sequence[_Step]) -> _Step | None:
    """A block as one step; None when EXEC changes in it."""
    reads, reads_inactive, keeps, keeps_inactive = 0, 0, -1, -1
    for step in reversed(steps):
        if step.change is not ExecChange.NONE:
            return None
        reads = reads & step.keeps | step.reads
        reads_inactive = reads_inactive & step.keeps_inactive | step.reads_inactive
        keeps &= step.keeps
        keeps_inactive &= step.keeps_inactive
    return _Step(reads, reads_inactive, keeps, keeps_inactive, ExecChange.NONE)


@by_text
def _plain_step(i: Instruction) -> _Step:
    return _Step.of(i, effects(i))


def _leaving(block: Block) -> Sets:
    return (ALL_UNITS, VECTOR_MASK) if leaves_unseen(block) else (0, 0)
