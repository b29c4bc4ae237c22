"""What must be computed for a load to run earlier, under the same lanes.

Owns the walk backwards from a load over the blocks that always lead to it. It finds instructions and inputs; names for their
results are chosen elsewhere.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence, Set
from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.facts import EffectsTable, reads_any_lane
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction, Operand
from asmevo.ir.isa.model import Flag, IssueClass
from asmevo.ir.registers import AGPR_MASK, EXEC_MASK, SCC
from asmevo.passes.hoisting.stretch import Lanes, Stretch, stops_loads, ways

_COMPUTING = frozenset({IssueClass.SALU, IssueClass.VALU, IssueClass.TRANS})
_SAVEEXEC = "s_and_saveexec_b64"
_MOST_COMPUTED = 24


class Guard(enum.Enum):
    """Under which lanes the loads run: all that are active, those of a mask, or all or none by SCC."""

    NONE = "none"
    MASK = "mask"
    SCC_SET = "scc1"
    SCC_CLEAR = "scc0"


@dataclass(frozen=True, slots=True)
class Slice:
    """Copies of instructions that run a block's loads earlier: `computed`, then the guard, then `guarded`, loads last.

    `mask` is the operand of a MASK guard. `inputs` are the units that must hold at the new place what they hold at the old one.
    """

    computed: tuple[Instruction, ...]
    guard: Guard
    mask: Operand | None
    guarded: tuple[Instruction, ...]
    loads: tuple[Instruction, ...]
    inputs: int


def slice_of(analyses: AnalysisManager, stretch: Stretch, lanes: Lanes, loads: Set[int], position: int) -> Slice | None:
    """The slice that runs the loads (uids) of the stretch's last block at `position` of its first one.

    None where a value that is needed comes from a side way or from what cannot be run twice, where something between orders
    memory, and where the lanes at `position` are not those of the guard's.
    """
    if len(stretch.spine) < 2 or not _may_pass(analyses, stretch, loads, position):
        return None
    walk = _Walk(analyses, stretch, lanes)
    if not walk.last_block(loads) or not walk.guard() or walk.base != lanes.before[stretch.start][position]:
        return None
    if not walk.up_to(position):
        return None
    return Slice(
        tuple(reversed(walk.computed)),
        walk.kind,
        walk.mask,
        tuple(reversed(walk.guarded)),
        tuple(reversed(walk.loads)),
        walk.needed,
    )


def _may_pass(analyses: AnalysisManager, stretch: Stretch, loads: Set[int], position: int) -> bool:
    """Whether nothing between `position` and the loads orders memory."""
    blocks = analyses.get(Flow).blocks
    for label in stretch.blocks:
        members: Sequence[Instruction] = blocks[label].instructions
        if label == stretch.start:
            members = members[position:]
        if label == stretch.end:
            members = members[: max(n for n, i in enumerate(members) if i.uid in loads)]
        if any(map(stops_loads, members)):
            return False
    return True


class _Walk:
    """The walk's state: what is needed at the place reached, and what was found so far, last first."""

    def __init__(self, analyses: AnalysisManager, stretch: Stretch, lanes: Lanes) -> None:
        self._flow, self._table = analyses.get(Flow), analyses.get(EffectsTable)
        self._stretch = stretch
        self._lanes = lanes
        self.needed = 0
        self.base = -1
        self.kind = Guard.NONE
        self.mask: Operand | None = None
        self.computed: list[Instruction] = []
        self.guarded: list[Instruction] = []
        self.loads: list[Instruction] = []
        self._next_index = 0
        """In the block before the last one: how many of its instructions are still to be walked."""

    def last_block(self, loads: Set[int]) -> bool:
        """The block of the loads, from the last of them to its start."""
        label = self._stretch.end
        members, effects = self._flow.blocks[label].instructions, self._table.by_block[label]
        guard_lanes = self._lanes.before[label][0]
        for index in range(len(members) - 1, -1, -1):
            member, effect = members[index], effects[index]
            if member.uid in loads:
                if effect.writes & (self.needed | AGPR_MASK):
                    return False
                if self._lanes.before[label][index] != guard_lanes:
                    return False
                self.loads.append(member)
                self.needed |= effect.reads & ~EXEC_MASK
            elif self.loads and not self._take(self.guarded, label, index, guard_lanes):
                return False
        return True

    def guard(self) -> bool:
        """The branch that leads to the block, and what sets its lanes."""
        label = self._stretch.spine[-2]
        block, effects = self._flow.blocks[label], self._table.by_block[label]
        self._next_index = len(block.instructions)
        self.base = self._lanes.before[label][-1]
        if self._flow.predecessors[self._stretch.end] != (label,):
            return False
        if self._flow.successors[label] == (self._stretch.end,):
            return True
        branch = block.instructions[-1]
        is_target = block.successors[0] == self._stretch.end
        self._next_index -= 1
        if branch.mnemonic in ("s_cbranch_scc0", "s_cbranch_scc1"):
            runs_when_set = (branch.mnemonic == "s_cbranch_scc1") == is_target
            self.kind = Guard.SCC_SET if runs_when_set else Guard.SCC_CLEAR
            self.needed |= 1 << SCC
            return True
        if branch.mnemonic != ("s_cbranch_execnz" if is_target else "s_cbranch_execz"):
            return False
        guard_lanes = self.base
        while self._next_index and not effects[self._next_index - 1].writes & EXEC_MASK:
            self._next_index -= 1
            if not self._take(self.guarded, label, self._next_index, guard_lanes):
                return False
        self._next_index -= 1
        if self._next_index < 0 or block.instructions[self._next_index].mnemonic != _SAVEEXEC:
            return False
        saved = block.instructions[self._next_index]
        if effects[self._next_index].writes & ~EXEC_MASK & self.needed:
            return False
        self.kind, self.mask = Guard.MASK, saved.operands[1]
        self.needed |= effects[self._next_index].reads & ~EXEC_MASK
        self.base = self._lanes.before[label][self._next_index]
        return True

    def up_to(self, position: int) -> bool:
        """The rest of the way, to `position` of the first block."""
        spine = self._stretch.spine[:-1]
        for below, label in zip((None, *reversed(spine)), reversed(spine), strict=False):
            if below is not None:
                self._next_index = len(self._flow.blocks[label].instructions)
                if self._is_written_beside(label, below):
                    return False
            end = position if label == self._stretch.start else 0
            for index in range(self._next_index - 1, end - 1, -1):
                if not self._take(self.computed, label, index, self.base):
                    return False
        return self._next_index >= position or len(spine) > 1

    def _take(self, into: list[Instruction], label: str, index: int, lanes: int) -> bool:
        """Takes the instruction when it makes something that is needed; False when it cannot be run earlier too."""
        effect = self._table.by_block[label][index]
        if not effect.writes & self.needed:
            return True
        member = self._flow.blocks[label].instructions[index]
        definition = member.definition
        if definition is None or definition.issue not in _COMPUTING or definition.is_branch or Flag.FIXED in definition.flags:
            return False
        if reads_any_lane(member):
            return False
        if effect.writes & (EXEC_MASK | AGPR_MASK) or self._lanes.before[label][index] != lanes:
            return False
        if len(self.computed) + len(self.guarded) >= _MOST_COMPUTED:
            return False
        into.append(member)
        self.needed = self.needed & ~effect.writes | effect.reads & ~EXEC_MASK
        return True

    def _is_written_beside(self, above: str, below: str) -> bool:
        """Whether a block on a way from one block of the spine to the next writes what is needed."""
        return any(
            effect.writes & self.needed for label in ways(self._flow, above, below) for effect in self._table.by_block[label]
        )
