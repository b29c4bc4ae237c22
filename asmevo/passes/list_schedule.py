"""list-schedule: the order in which a region's instructions wait least, by a list scheduler over its dependence graph."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from asmevo.backend.timing.model import estimate
from asmevo.ir.analysis.costs import Port, Timed, decode
from asmevo.ir.isa.chips import chip_for
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult, option
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.passes.registry import register_pass


@register_pass
@dataclass(frozen=True, slots=True)
class ListSchedule:
    """Order instructions so that long latencies are covered by independent work.

    Rewrite:  load a; use a; work --> load a; work; wait; use a
    Legality: every dependence (registers, implicit registers, memory) and the order of memory operations of one wait counter
        are kept; waits and wait states are made anew for the new order, and at barriers and at the region's end no more is
        outstanding than before.
    Preserves: register assignment, control flow, memory order.
    Targets: gfx90a, gfx942, gfx950.
    Source: list scheduling by critical path; latencies from the cycle model's parameters (backend/timing).
    """

    name: ClassVar[str] = "list-schedule"
    bias: float = option(1.0, help="weight of the critical path against the original order", ge=0.0, le=16.0)
    min_gain: float = option(
        0.0, help="least modelled gain of the kernel for a region's new order to be kept", unit="%", ge=0, le=50
    )

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Schedules each region, keeping a new order only where the cycle model says that the kernel gains."""
        executions = dict(ctx.executions) or None
        best = estimate(kernel, executions, waves_per_simd=ctx.waves_per_simd).total_cycles
        current = kernel
        for block in kernel.blocks:
            if executions and not any(executions.get(i.uid) for i in block.instructions):
                continue
            # From the last region on: a region's place in its block is not moved by edits behind it.
            for region in reversed(regions_of(block)):
                graph = RegionGraph.build(current, region)
                if not graph.has_choice():
                    continue
                ctx.stat("regions")
                candidate = reordered(graph, schedule_region(graph, bias=self.bias))
                if candidate is None:
                    ctx.remark(f"{region}: nops in this block cannot keep the wait states of another one", missed=True)
                    continue
                cycles = estimate(candidate, executions, waves_per_simd=ctx.waves_per_simd).total_cycles
                if cycles < best * (1 - self.min_gain / 100):
                    ctx.stat("regions scheduled")
                    ctx.remark(f"{region}: {best - cycles:,.0f} modelled cycles less")
                    current, best = candidate, cycles
                else:
                    ctx.remark(f"{region}: the scheduled order is not faster by the model", missed=True)
        for before, after in zip(kernel.blocks, current.blocks, strict=True):
            if before.instructions != after.instructions:
                ctx.rewriter.replace_block_instructions(after.label, after.instructions)
        return ctx.finish()


def schedule_region(
    graph: RegionGraph, *, bias: float = 1.0, noise: float = 0.0, random_source: random.Random | None = None
) -> list[int]:
    """A legal order of the graph's nodes: of those that can issue soonest, the one with the longest path behind it.

    `bias` 0 keeps the original order among ready nodes; `noise` perturbs each priority by up to that fraction.
    Complexity: nodes times ready nodes, plus edges.
    """
    chip = chip_for(graph.kernel.target)
    costs = [decode(node, chip, chip.simds.value) for node in graph.nodes]
    height = _heights(graph, costs)
    longest = max(height, default=1) or 1
    count = len(costs)
    priority = [bias * height[i] / longest - i / count for i in range(count)]
    if random_source is not None and noise:
        priority = [p + noise * (random_source.random() * 2 - 1) for p in priority]
    waiting = [len(p) for p in graph.predecessors]
    ready_at = [0] * count
    ready = [i for i in range(count) if waiting[i] == 0]
    ports = _Ports()
    now = 0
    order: list[int] = []
    while ready:
        earliest = {i: max(ready_at[i], ports.free_at(costs[i])) for i in ready}
        now = max(now, min(earliest.values()))
        chosen = max((i for i in ready if earliest[i] <= now), key=lambda i: (priority[i], -i))
        ready.remove(chosen)
        order.append(chosen)
        ports.occupy(costs[chosen], now)
        for successor in graph.successors[chosen]:
            ready_at[successor] = max(ready_at[successor], now + _edge_cycles(graph, costs, chosen, successor))
            waiting[successor] -= 1
            if waiting[successor] == 0:
                ready.append(successor)
        now += costs[chosen].hold
    return order


@dataclass(slots=True)
class _Ports:
    """When each unit is free again, in cycles."""

    units: dict[Port, int] = field(default_factory=dict[Port, int])
    matrix: int = 0
    vector_shadow: int = 0
    packed_shadow: int = 0

    def free_at(self, cost: Timed) -> int:
        """The first cycle at which the units that an instruction needs are free."""
        free = self.units.get(cost.port, 0)
        if cost.matrix is not None:
            return max(free, self.matrix)
        if cost.port is Port.VALU:
            return max(free, self.packed_shadow if cost.packed else self.vector_shadow)
        return free

    def occupy(self, cost: Timed, now: int) -> None:
        """Takes the units from `now` on."""
        self.units[cost.port] = now + cost.busy
        if cost.matrix is not None:
            self.matrix = now + cost.matrix.busy
            self.vector_shadow = now + cost.matrix.valu_shadow
            self.packed_shadow = now + cost.matrix.packed_shadow


def _heights(graph: RegionGraph, costs: Sequence[Timed]) -> list[int]:
    """For each node the longest path of latencies to the region's end, in cycles."""
    height = [0] * len(costs)
    for node in range(len(costs) - 1, -1, -1):
        height[node] = max(
            (_edge_cycles(graph, costs, node, s) + height[s] for s in graph.successors[node]),
            default=costs[node].result_cycles,
        )
    return height


def _edge_cycles(graph: RegionGraph, costs: Sequence[Timed], source: int, target: int) -> int:
    """Cycles from the issue of `source` to that of `target`: the result's latency where a value flows, else a slot."""
    producer, consumer = costs[source], costs[target]
    if (source, target) not in graph.data:
        return producer.hold
    if producer.matrix is not None and consumer.matrix is not None and producer.writes & consumer.accumulator:
        same = producer.writes == consumer.accumulator
        return producer.matrix.same_accumulator if same else producer.matrix.accumulator
    return producer.result_cycles
