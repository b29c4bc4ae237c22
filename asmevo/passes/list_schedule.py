"""list-schedule: the order in which a region's instructions wait least, by a list scheduler over its dependence graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from asmevo.backend.timing.model import Estimate, estimate
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult, option
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.passes.registry import register_pass
from asmevo.passes.scheduling.cost import RegionCost
from asmevo.passes.scheduling.order import schedule_region

_BIASES = (0.0, 0.1, 0.25, 0.5, 2.0)
"""Weights of the critical path that are tried besides the option's. Measured: each is the best for some production loop."""


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
    variants: bool = option(True, help="try other weights too and keep the order that the cycle model likes best")
    min_gain: float = option(
        0.0, help="least modelled gain of the kernel for a region's new order to be kept", unit="%", ge=0, le=50
    )
    min_share: float = option(
        0.1, help="blocks with a smaller share of the kernel's modelled cycles are left alone", unit="%", ge=0, le=100
    )

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Schedules each region, keeping a new order only where the cycle model says that the kernel gains."""
        model = _Model(ctx)
        start = model.estimate(kernel)
        best = start.total_cycles
        current = kernel
        for block in kernel.blocks:
            cost = start.per_block.get(block.label)
            if cost is None or cost.cycles * cost.executions * 100 < self.min_share * best:
                continue
            # From the last region on: a region's place in its block is not moved by edits behind it.
            for region in reversed(regions_of(block)):
                # The original's analyses hold for what became of it: no edit leaves more outstanding, or hazards closer.
                graph = RegionGraph.build(current, region, ctx.analyses)
                if not graph.has_choice():
                    continue
                ctx.stat("regions")
                is_loop = ctx.analysis(Loops).depth.get(block.label, 0) > 0
                orders = self._best_orders(RegionCost.of(graph, waves=ctx.waves_per_simd, is_loop=is_loop))
                if not orders:
                    ctx.remark(f"{region}: no order is faster by the model's inner loop", missed=True)
                    continue
                candidates = [candidate for order in orders if (candidate := reordered(graph, order)) is not None]
                if not candidates:
                    ctx.remark(f"{region}: nops in this block cannot keep the wait states of another one", missed=True)
                    continue
                cycles, _, candidate = min((model.estimate(c).total_cycles, n, c) for n, c in enumerate(candidates))
                if cycles < best * (1 - self.min_gain / 100):
                    ctx.stat("regions scheduled")
                    ctx.remark(f"{region}: {best - cycles:,.0f} modelled cycles less")
                    current, best = candidate, cycles
                else:
                    ctx.remark(f"{region}: the scheduled order is not faster by the model", missed=True)
        ctx.rewriter.take_blocks(current)
        return ctx.finish()

    def _best_orders(self, costs: RegionCost) -> list[list[int]]:
        """The cheapest orders by the model's inner loop: in a loop's steady state, and in one run; none that is not cheaper."""
        start = costs.as_it_is()
        tried = [(costs.figure(order), order) for order in self._orders(costs.graph)]
        found: list[list[int]] = []
        for steady in (True, False):
            figure, order = min(tried, key=lambda item: item[0] if steady else item[0][::-1])
            is_better = figure < start if steady else figure[::-1] < start[::-1]
            if is_better and order not in found:
                found.append(order)
        return found

    def _orders(self, graph: RegionGraph) -> Iterator[list[int]]:
        for bias in dict.fromkeys((self.bias, *(_BIASES if self.variants else ()))):
            yield schedule_region(graph, bias=bias)[0]
        # Other waits alone may gain: the same order with the latest that do.
        yield list(range(len(graph.nodes)))


@dataclass(frozen=True, slots=True)
class _Model:
    ctx: PassContext

    def estimate(self, kernel: Kernel) -> Estimate:
        return estimate(kernel, dict(self.ctx.executions) or None, waves_per_simd=self.ctx.waves_per_simd)
