"""list-schedule: the order in which a region's instructions wait least, by a list scheduler over its dependence graph."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from asmevo.backend.timing import MI300X, estimate, result_latency_cycles, unit_busy_cycles
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult, option
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.passes.registry import register_pass

SLOT_CYCLES = 4


@register_pass
@dataclass(frozen=True, slots=True)
class ListSchedule:
    """Order instructions so that long latencies are covered by independent work.

    Rewrite:  load a; use a; work --> load a; work; wait; use a
    Legality: every dependence (registers, implicit registers, memory) and the order of memory operations of one wait counter
        are kept; waits and wait states are made anew for the new order, and at the region's end no more is outstanding than before.
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
    """A legal order of the graph's nodes: of those ready soonest, the one with the longest path of latencies behind it.

    `bias` 0 keeps the original order among ready nodes; `noise` perturbs each priority by up to that fraction.
    Complexity: n log n in nodes, plus edges.
    """
    height = _heights(graph)
    longest = max(height, default=1) or 1
    count = len(graph.nodes)
    priority = [bias * height[i] / longest - i / count for i in range(count)]
    if random_source is not None and noise:
        priority = [p + noise * (random_source.random() * 2 - 1) for p in priority]
    waiting = [len(p) for p in graph.predecessors]
    ready_at = [0.0] * count
    future: list[tuple[float, int]] = [(0.0, i) for i in range(count) if waiting[i] == 0]
    heapq.heapify(future)
    ready: list[int] = []
    matrix_free = 0.0
    now = 0.0
    order: list[int] = []
    while len(order) < count:
        while future and future[0][0] <= now:
            ready.append(heapq.heappop(future)[1])
        issuable = [i for i in ready if not _is_matrix(graph, i) or matrix_free <= now]
        if not issuable:
            times = [future[0][0]] if future else []
            if ready:
                times.append(matrix_free)
            now = max(now + SLOT_CYCLES, min(times))
            continue
        chosen = max(issuable, key=lambda i: (priority[i], -i))
        ready.remove(chosen)
        order.append(chosen)
        if _is_matrix(graph, chosen):
            matrix_free = now + unit_busy_cycles(graph.nodes[chosen], MI300X)
        for successor in graph.successors[chosen]:
            ready_at[successor] = max(ready_at[successor], now + _edge_latency(graph, chosen, successor))
            waiting[successor] -= 1
            if waiting[successor] == 0:
                heapq.heappush(future, (ready_at[successor], successor))
        now += SLOT_CYCLES
    return order


def _heights(graph: RegionGraph) -> list[float]:
    """For each node the longest path of latencies to the region's end, in cycles."""
    height = [0.0] * len(graph.nodes)
    for node in range(len(graph.nodes) - 1, -1, -1):
        height[node] = max(
            (_edge_latency(graph, node, s) + height[s] for s in graph.successors[node]),
            default=result_latency_cycles(graph.nodes[node], MI300X),
        )
    return height


def _edge_latency(graph: RegionGraph, source: int, target: int) -> float:
    if (source, target) in graph.data:
        return result_latency_cycles(graph.nodes[source], MI300X)
    return SLOT_CYCLES


def _is_matrix(graph: RegionGraph, node: int) -> bool:
    definition = graph.nodes[node].definition
    return definition is not None and definition.issue is IssueClass.MATRIX


def is_identity(order: Sequence[int]) -> bool:
    """Whether an order changes nothing."""
    return all(a == b for a, b in enumerate(order))
