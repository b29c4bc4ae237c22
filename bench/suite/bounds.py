"""What stops a kernel from gaining more: a bound that no order of its regions can beat, what waves wait for, the busiest unit.

All by the cycle model. The bound follows one wave along the representative path. A region takes at least its chains of
dependences, those that began in regions before it included, what its busiest unit is taken, and an issue slot an instruction;
no instruction issues before its region. Every step is the earliest possible, so a legal order of the same regions cannot be
faster. A wait counter counts down in order: who waits for one operation waits for those of its counter before it, as does a
barrier for what must be complete there. Waits and nops themselves count nothing: trimming them is in it too. Renaming, other
instructions and moves between blocks are not, nor are other waves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from asmevo.backend.timing.model import Estimate
from asmevo.backend.timing.trace import representative_path
from asmevo.backend.timing.whole import DispatchTiming
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.cost.costs import Port, Timed
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.isa.chips import chip_for
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import units
from asmevo.passes.fillers import is_filler
from asmevo.passes.regions import RegionGraph, regions_of
from asmevo.passes.scheduling.clock import Costs, costs_for, edge_cycles

_LONGEST = 24_000
"""Instructions of the path, as in the static model."""


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


def bound(kernel: Kernel, estimate: Estimate, timings: Sequence[DispatchTiming]) -> Bound:
    """The bound of `kernel` with executions as in `estimate`, of which `timings` models the launches."""
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
    ordered = dict(sorted(waits.items(), key=lambda item: -item[1]))
    return Bound(least_cycles(kernel, estimate), ordered, busiest, busy[busiest])


def least_cycles(kernel: Kernel, estimate: Estimate) -> float:
    """The bound alone: each block by its later visits on the path, as the static model weighs it, times its executions."""
    manager = AnalysisManager(kernel)
    counts = {block.label: 0 for block in kernel.blocks}
    counts |= {label: cost.executions for label, cost in estimate.per_block.items()}
    path = representative_path(manager.get(Flow), counts, _LONGEST)
    steps = {label: list(_steps(kernel, label, manager)) for label, count in counts.items() if count}
    wave = _Wave()
    visits: dict[str, list[int]] = {}
    for label in path:
        visits.setdefault(label, []).append(wave.run(steps[label]))
    for label in steps:
        if label not in visits:
            visits[label] = [_Wave().run(steps[label])]
    mean = {label: sum(found[1:]) / (len(found) - 1) if len(found) > 1 else found[0] for label, found in visits.items()}
    return float(sum(mean[label] * counts[label] for label in steps))


@dataclass(frozen=True, slots=True)
class _Region:
    """A region's nodes with their costs.

    `before` are the nodes that each must follow, and by how many cycles, None for the end of a memory operation. `entering` are
    the units whose values come from before the region, `outstanding` is what a barrier allows of (vmcnt, lgkmcnt), `taken` how
    long the busiest unit is.
    """

    slot: int
    timed: tuple[Timed, ...]
    before: tuple[tuple[tuple[int, int | None], ...], ...]
    entering: tuple[tuple[int, ...], ...]
    outstanding: tuple[tuple[int, int] | None, ...]
    taken: int


def _steps(kernel: Kernel, label: str, manager: AnalysisManager) -> Iterator[_Region]:
    """A block as regions; each instruction between them is one of its own."""
    block = kernel.block(label)
    slot, costs_of = chip_for(kernel.target).slot.value, costs_for(kernel.target)
    regions = {region.start: region for region in regions_of(block)}
    at = 0
    while at < len(block.instructions):
        if region := regions.get(at):
            graph = RegionGraph.build(kernel, region, manager)
            yield _region(graph, Costs.of(graph))
            at = region.stop
            continue
        if not is_filler(block.instructions[at]):
            cost = costs_of(block.instructions[at])
            yield _Region(slot, (cost,), ((),), (tuple(units(cost.reads | cost.accumulator)),), (None,), 0)
        at += 1


def _region(graph: RegionGraph, costs: Costs) -> _Region:
    timed = costs.timed
    before = tuple(
        tuple((p, _between(timed, p, node) if (p, node) in graph.data else 0) for p in graph.predecessors[node])
        for node in range(len(timed))
    )
    entering = tuple(
        tuple(units((cost.reads | cost.accumulator) & units_before))
        for cost, units_before in zip(timed, costs.entering, strict=True)
    )
    ports: dict[Port, list[int]] = {}
    for cost in timed:
        ports.setdefault(cost.port, []).append(cost.busy_cycles)
    # The last of a port need not end for the next region to begin.
    taken = max((sum(busy) - max(busy) for busy in ports.values()), default=0)
    return _Region(costs.slot, timed, before, entering, costs.outstanding, taken)


def _between(timed: Sequence[Timed], source: int, target: int) -> int | None:
    return None if timed[source].vmcnt or timed[source].lgkmcnt else edge_cycles(timed, source, target)


@dataclass(slots=True)
class _Wave:
    """A wave's earliest time, by unit its last writer with its issue and its end, and the ends of each counter's operations.

    An end of a counter is no earlier than the one before it.
    """

    now: int = 0
    writers: dict[int, tuple[Timed, int, int]] = field(default_factory=dict[int, tuple[Timed, int, int]])
    ends: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))

    def run(self, steps: Sequence[_Region]) -> int:
        """The cycles of one visit to a block."""
        started = self.now
        for region in steps:
            self.now += self._region(region)
        return self.now - started

    def _end(self, cost: Timed, issued: int) -> int:
        """When a memory operation is known to be complete: with those of its counters before it."""
        end = issued + cost.result_cycles
        for ends, counts in zip(self.ends, (cost.vmcnt, cost.lgkmcnt), strict=True):
            if counts:
                end = max([end, *ends[-1:]])
                ends.append(end)
        return end

    def _region(self, region: _Region) -> int:
        issued: list[int] = []
        ended: list[int] = []
        nodes = zip(region.timed, region.before, region.entering, region.outstanding, strict=True)
        for cost, before, entering, outstanding in nodes:
            at = max((ended[p] if cycles is None else issued[p] + cycles for p, cycles in before), default=self.now)
            for unit in entering:
                if unit in self.writers:
                    writer, when, end = self.writers[unit]
                    at = max(at, end if writer.vmcnt or writer.lgkmcnt else when + edge_cycles((writer, cost), 0, 1))
            for ends, allowed in zip(self.ends, outstanding or (), strict=False):
                if len(ends) > allowed:
                    at = max(at, ends[-1 - allowed])
            issued.append(max(at, self.now))
            ended.append(self._end(cost, issued[-1]))
        for cost, when, end in zip(region.timed, issued, ended, strict=True):
            for unit in units(cost.writes):
                self.writers[unit] = (cost, when, end)
        last = max(issued, default=self.now) - self.now
        return max(last + region.slot, region.taken + region.slot, region.slot * len(region.timed)) if region.timed else 0
