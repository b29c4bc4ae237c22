"""What an order of a region costs by the cycle model's inner loop: the block around it, its waits made anew, over and over.

Owns only that quick figure, by which orders of one region are compared. Whether the kernel gains is `estimate`'s to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from asmevo.backend.timing.sequence import SequenceCost, sequence_cost
from asmevo.ir.analysis.cost.costs import Timed
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.isa import lookup
from asmevo.ir.isa.chips import chip_for
from asmevo.passes.regions import RegionGraph
from asmevo.passes.scheduling.clock import costs_for

_ROUNDS = 3
"""How often a loop's block is run; the last round counts."""


Figure = tuple[float, float]
"""Cycles of a block in a loop's steady state, and of one run of it.

Smaller is better: where a path of the compute unit bounds the loop, orders tie in the first and the second tells them apart.
"""


@dataclass(frozen=True, slots=True)
class RegionCost:
    """Costs of a region's orders. Nops are left out: how many an order needs is known only when it is put in place."""

    graph: RegionGraph
    waves: int
    repeats: int
    before: tuple[Timed, ...]
    inside: tuple[Timed, ...]
    after: tuple[Timed, ...]
    nodes: tuple[Timed, ...]

    @classmethod
    def of(cls, graph: RegionGraph, *, waves: int, is_loop: bool) -> RegionCost:
        """For a region of a block that `is_loop` says to run over and over, with so many waves on the SIMD."""
        timed = costs_for(graph.kernel.target)
        region, members = graph.region, graph.kernel.block(graph.region.label).instructions
        return cls(
            graph,
            waves,
            _ROUNDS if is_loop else 1,
            tuple(map(timed, members[: region.start])),
            tuple(map(timed, members[region.start : region.stop])),
            tuple(map(timed, members[region.stop :])),
            tuple(map(timed, graph.nodes)),
        )

    def as_it_is(self) -> Figure:
        """The block as it stands, with the waits and nops that it has."""
        return self._figure([*self.before, *self.inside, *self.after])

    def figure(self, order: Sequence[int]) -> Figure:
        """The block with the region in this order."""
        return self._figure(self._sequence(order)[0])

    def of_order(self, order: Sequence[int]) -> tuple[SequenceCost, list[int]]:
        """The cost of the block with the region in this order, and the position in the sequence of each place of the order."""
        sequence, positions = self._sequence(order)
        return self._run(sequence, self.repeats), positions

    def _sequence(self, order: Sequence[int]) -> tuple[list[Timed], list[int]]:
        sequence = list(self.before)
        positions: list[int] = []
        for item in self.graph.obligations.woven(order):
            if isinstance(item, WaitCounts):
                sequence.append(_wait(item, self.graph.kernel.target))
            else:
                positions.append(len(sequence))
                sequence.append(self.nodes[item])
        return [*sequence, *self.after], positions

    def _figure(self, sequence: Sequence[Timed]) -> Figure:
        once = self._run(sequence, 1).cycles
        return (once if self.repeats == 1 else self._run(sequence, self.repeats).cycles), once

    def _run(self, sequence: Sequence[Timed], repeats: int) -> SequenceCost:
        return sequence_cost(sequence, repeats=repeats, waves=self.waves, chip=chip_for(self.graph.kernel.target))


@lru_cache(maxsize=4096)
def _wait(counts: WaitCounts, target: str) -> Timed:
    return costs_for(target)(Instruction("s_waitcnt", (counts,), definition=lookup("s_waitcnt")))
