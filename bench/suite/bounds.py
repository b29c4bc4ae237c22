"""What stops a kernel from gaining more: a bound that no order of its regions can beat, what waves wait for, the busiest unit.

All by the cycle model. The bound is for one wave on a SIMD: a region takes at least its longest chain of dependences, at least
what its busiest unit is taken, and an issue slot an instruction; values from before the region are taken to be there. Waits and
nops are left out, so trimming them is in it too. Renaming, other instructions and moves between blocks are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asmevo.backend.timing.model import Estimate
from asmevo.backend.timing.whole import DispatchTiming
from asmevo.ir.analysis.costs import Port
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.passes.regions import RegionGraph, regions_of
from asmevo.passes.scheduling.clock import Costs, edge_cycles

MEMORY = ("vmcnt", "lgkmcnt")
"""Waits for vector memory, and for LDS and scalar memory."""


@dataclass(frozen=True, slots=True)
class Bound:
    """`cycles` as above, and what the dispatches wait for.

    `waits`: by cause the share of a wave's time, largest first. `busiest`: the unit that is nearest to its peak, on the compute
    units that are used, and its share.
    """

    cycles: float
    waits: Mapping[str, float]
    busiest: str
    busiest_share: float

    def words(self) -> str:
        """The bound in a few words: a unit at more than half its peak, else the largest wait."""
        if self.busiest_share > 0.5:
            return f"{self.busiest} {self.busiest_share:.0%}"
        return ", ".join(f"{cause} {share:.0%}" for cause, share in list(self.waits.items())[:3])


def bound(kernel: Kernel, estimate: Estimate, timings: Sequence[DispatchTiming]) -> Bound:
    """The bound of `kernel` with executions as in `estimate`, of which `timings` models the launches."""
    manager = AnalysisManager(kernel)
    executed = {label: cost.executions for label, cost in estimate.per_block.items() if cost.executions}
    cycles = float(sum(executed[b.label] * _block(kernel, b.label, manager) for b in kernel.blocks if b.label in executed))
    whole = max(sum(sum(t.timing.block_cycles.values()) for t in timings), 1.0)
    waits: dict[str, float] = {}
    for timing in timings:
        for cause, lost in timing.timing.stalls_by_cause.items():
            waits[cause] = waits.get(cause, 0.0) + lost / whole
    busy = {
        "matrix unit": max(t.timing.utilisation.matrix for t in timings),
        "vector unit": max(t.timing.utilisation.valu for t in timings),
        "LDS": max(t.timing.utilisation.lds for t in timings),
        "vector cache": max(t.timing.utilisation.vector_cache for t in timings),
    }
    busiest = max(busy, key=lambda unit: busy[unit])
    return Bound(cycles, dict(sorted(waits.items(), key=lambda item: -item[1])), busiest, busy[busiest])


def _block(kernel: Kernel, label: str, manager: AnalysisManager) -> int:
    """A block's bound: what lies between its regions, branches and the like, takes a slot each."""
    block = kernel.block(label)
    regions = regions_of(block)
    inside = sum(region.stop - region.start for region in regions)
    graphs = [RegionGraph.build(kernel, region, manager) for region in regions]
    costs = [Costs.of(graph) for graph in graphs]
    slot = costs[0].slot if costs else 4
    return sum(map(_region, graphs, costs)) + slot * (len(block.instructions) - inside)


def _region(graph: RegionGraph, costs: Costs) -> int:
    timed = costs.timed
    behind = [0] * len(timed)
    ports = [0] * len(Port)
    for node in range(len(timed) - 1, -1, -1):
        ports[timed[node].port] += timed[node].busy_cycles
        paths = (
            (edge_cycles(timed, node, after) if (node, after) in graph.data else 0) + behind[after]
            for after in graph.successors[node]
        )
        behind[node] = max(paths, default=0)
    return max(max(behind, default=0) + costs.slot, max(ports), costs.slot * len(timed))
