"""Nops for a block whose order changed: every hazard keeps the wait states it needs, on every path.

The compiler's reading of the hazard table is used, the stricter one. A pair that the original already had closer than that may
stay as close, but not come closer, and must keep what it had by the physical reading: what filled the time may have moved away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from asmevo.ir.analysis.hazards.needed import Hazard, HazardState
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.hazards import LOOK_BACK
from asmevo.ir.kernel import Block, Kernel
from asmevo.passes.fillers import Fillers

Pair = tuple[int, int, str]
"""Producer's uid, consumer's uid, rule."""

_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class AllowedShortfalls:
    """Wait states that the original lacks by the two readings, compiler's first, by pair; what is beyond is a new hazard."""

    by_pair: Mapping[Pair, tuple[int, int]]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> AllowedShortfalls:
        """The shortfalls of `kernel`."""
        state = manager.get(HazardState)
        return cls({_pair(kernel, h): (h.missing_llvm, h.missing_physical) for h in state.findings()})

    def exceeded_by(self, kernel: Kernel, label: str) -> list[tuple[Hazard, int]]:
        """Each hazard of `kernel` that is closer than allowed, with the states missing; only block `label` was edited.

        An edit is felt in its block and in what runs within the look-back behind it, so only that is searched.
        """
        state = AnalysisManager(kernel).get(HazardState)
        return self._beyond(kernel, state, _within_reach(state, label))

    def exceeded_anywhere(self, kernel: Kernel) -> list[tuple[Hazard, int]]:
        """As `exceeded_by`, whichever blocks were edited."""
        state = AnalysisManager(kernel).get(HazardState)
        return self._beyond(kernel, state, state.flow.order)

    def _beyond(self, kernel: Kernel, state: HazardState, labels: Sequence[str]) -> list[tuple[Hazard, int]]:
        found: list[tuple[Hazard, int]] = []
        for near in labels:
            for row in state.report(near) if near in state.flow.reachable else ():
                for hazard in row:
                    llvm, physical = self.by_pair.get(_pair(kernel, hazard), (0, 0))
                    if hazard.missing_llvm > llvm:
                        found.append((hazard, hazard.missing_llvm))
                    elif hazard.missing_physical > physical:
                        found.append((hazard, hazard.missing_physical))
        return found


def _within_reach(state: HazardState, label: str) -> list[str]:
    """The block and those that can begin less than the look-back behind its end, in the flow's order."""
    nearest = {label: 0}
    pending = list(state.flow.successors[label])
    distance = dict.fromkeys(pending, 0)
    while pending:
        block = pending.pop()
        passed = distance[block]
        if nearest.get(block, LOOK_BACK) <= passed and block != label:
            continue
        nearest[block] = passed
        behind = passed + len(state.rows[block])
        if behind < LOOK_BACK:
            for successor in state.flow.successors[block]:
                if behind < distance.get(successor, LOOK_BACK):
                    distance[successor] = behind
                    pending.append(successor)
    return [block for block in state.flow.order if block in nearest]


def with_nops(
    kernel: Kernel, allowed: AllowedShortfalls, label: str, body: Sequence[Instruction], fillers: Fillers
) -> tuple[Instruction, ...] | None:
    """`body` as the block's instructions with the nops it needs; None when no nops in this block can mend it."""
    instructions = tuple(body)
    for _ in range(_ROUNDS):
        candidate = with_body(kernel, label, instructions)
        short = allowed.exceeded_by(candidate, label)
        if not short:
            return instructions
        needs = _needs(candidate, label, short)
        if not needs:
            return None
        instructions = _inserted(instructions, needs, fillers)
    return None


def with_nops_in(
    kernel: Kernel, allowed: AllowedShortfalls, bodies: Mapping[str, Sequence[Instruction]], fillers: Fillers
) -> dict[str, tuple[Instruction, ...]] | None:
    """As `with_nops` for many blocks at once, `bodies` by label; None when a need lies in no block of them, or stays."""
    edited = {label: tuple(body) for label, body in bodies.items()}
    for _ in range(_ROUNDS):
        candidate = with_bodies(kernel, edited)
        short = allowed.exceeded_anywhere(candidate)
        if not short:
            return edited
        by_block: dict[str, list[tuple[Hazard, int]]] = {}
        for hazard, missing in short:
            place = next((label for label, _ in (hazard.consumer, hazard.producer) if label in edited), None)
            if place is None:
                return None
            by_block.setdefault(place, []).append((hazard, missing))
        for label, found in by_block.items():
            edited[label] = _inserted(edited[label], _needs(candidate, label, found), fillers)
    return None


def with_body(kernel: Kernel, label: str, instructions: tuple[Instruction, ...]) -> Kernel:
    """A trial kernel whose block `label` has these instructions; only for asking, the rewriter makes the real one."""
    return with_bodies(kernel, {label: instructions})


def with_bodies(kernel: Kernel, bodies: Mapping[str, tuple[Instruction, ...]]) -> Kernel:
    """As `with_body`, of many blocks."""
    blocks = tuple(replace(b, instructions=bodies[b.label]) if b.label in bodies else b for b in kernel.blocks)
    return replace(kernel, blocks=blocks)


def end_of_body(block: Block) -> int:
    """Where something can be put last: the block's length, less the branch or end that closes it."""
    ends = bool(block.instructions) and block.instructions[-1].ends_block
    return len(block.instructions) - ends


def _needs(kernel: Kernel, label: str, short: Sequence[tuple[Hazard, int]]) -> dict[int, int]:
    """States to insert, by position in the block: before the consumer, or at the block's end when it is elsewhere."""
    block = kernel.block(label)
    end = end_of_body(block)
    needs: dict[int, int] = {}
    for hazard, missing in sorted(short, key=lambda item: (item[0].consumer[0] != label, item[0].consumer[1])):
        where, at = hazard.consumer
        position = at if where == label else end
        start = hazard.producer[1] if hazard.producer[0] == label and hazard.producer[1] < position else -1
        given = sum(states for place, states in needs.items() if start < place <= position)
        if missing > given:
            needs[position] = needs.get(position, 0) + missing - given
    return needs


def _inserted(instructions: Sequence[Instruction], needs: Mapping[int, int], fillers: Fillers) -> tuple[Instruction, ...]:
    after: list[Instruction] = []
    for position, instruction in enumerate(instructions):
        after += fillers.nops(needs.get(position, 0))
        after.append(instruction)
    return (*after, *fillers.nops(needs.get(len(instructions), 0)))


def _pair(kernel: Kernel, hazard: Hazard) -> Pair:
    producer, consumer = (kernel.block(label).instructions[index].uid for label, index in (hazard.producer, hazard.consumer))
    return producer, consumer, hazard.rule.name
