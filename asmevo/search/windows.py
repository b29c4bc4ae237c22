"""Where a kernel loses its cycles, as windows that can be worked on.

Owns the choice of places: regions of blocks that run, by modelled cycles and by stalls.
"""

from __future__ import annotations

from asmevo.backend.timing import Estimate
from asmevo.ir.kernel import Kernel
from asmevo.passes.regions import regions_of
from asmevo.search.proposal import HotWindow


def hot_windows(kernel: Kernel, estimated: Estimate, blocks: int) -> tuple[HotWindow, ...]:
    """The regions of the `blocks` blocks with the most cycles, those first in which most is lost."""
    costs = {label: cost.cycles * cost.executions for label, cost in estimated.per_block.items() if cost.executions}
    hottest = sorted(costs, key=lambda label: (-costs[label], label))[:blocks]
    found: list[HotWindow] = []
    for block in kernel.blocks:
        if block.label not in hottest:
            continue
        for region in regions_of(block):
            stalls: dict[str, float] = {}
            for instruction in block.instructions[region.start : region.stop]:
                for cause, cycles in estimated.stalls.get(instruction.uid, {}).items():
                    stalls[cause] = stalls.get(cause, 0.0) + cycles
            share = (region.stop - region.start) / len(block.instructions)
            found.append(HotWindow(block.label, region.start, region.stop, costs[block.label] * share, stalls))
    return tuple(sorted(found, key=lambda window: (-window.lost, -window.cycles, window.label, window.start)))
