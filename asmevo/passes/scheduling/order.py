"""List scheduling of a region: of the nodes that can issue soonest, the one with the highest priority."""

from __future__ import annotations

import random

from asmevo.passes.regions import RegionGraph
from asmevo.passes.scheduling.clock import Carried, Clock, Costs, edge_cycles


def schedule_region(
    graph: RegionGraph,
    *,
    bias: float = 1.0,
    noise: float = 0.0,
    random_source: random.Random | None = None,
    carried: Carried | None = None,
    costs: Costs | None = None,
) -> tuple[list[int], Carried]:
    """A legal order of the graph's nodes, and what it leaves for a next round of the loop.

    `bias` weighs the longest path of latencies behind a node against the original order (0: that order among ready nodes);
    `noise` perturbs each priority by up to that fraction; `carried` is what an earlier round left.
    Complexity: nodes times ready nodes, plus edges.
    """
    costs = costs or Costs.of(graph)
    height = heights(graph, costs)
    longest = max(height, default=1) or 1
    count = len(height)
    priority = [bias * height[i] / longest - i / max(count, 1) for i in range(count)]
    if random_source is not None and noise:
        priority = [p + noise * (random_source.random() * 2 - 1) for p in priority]
    clock = Clock(graph, costs, carried or Carried())
    waiting = [len(p) for p in graph.predecessors]
    ready = {i: clock.operands_ready(i) for i in range(count) if waiting[i] == 0}
    order: list[int] = []
    while ready:
        earliest = {i: max(at, clock.port_free(i), clock.now) for i, at in ready.items()}
        soonest = min(earliest.values())
        chosen = max((i for i, at in earliest.items() if at <= soonest), key=lambda i: (priority[i], -i))
        del ready[chosen]
        order.append(chosen)
        clock.issue(chosen, soonest)
        for successor in graph.successors[chosen]:
            waiting[successor] -= 1
            if waiting[successor] == 0:
                ready[successor] = clock.operands_ready(successor)
    return order, clock.carry()


def heights(graph: RegionGraph, costs: Costs) -> list[int]:
    """For each node the longest path of latencies to the region's end, in cycles."""
    timed = costs.timed
    height = [0] * len(timed)
    for node in range(len(timed) - 1, -1, -1):
        height[node] = max(
            (
                (edge_cycles(timed, node, s) if (node, s) in graph.data else timed[node].hold) + height[s]
                for s in graph.successors[node]
            ),
            default=timed[node].result_cycles,
        )
    return height
