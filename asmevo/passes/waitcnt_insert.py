"""waitcnt-insert: each wait as late and as weak as its first need, whatever waits stood there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.passes.registry import register_pass


@register_pass
@dataclass(frozen=True, slots=True)
class WaitcntInsert:
    """Take out the waits and nops of a region, and put in the latest and weakest that do.

    Rewrite:  s_waitcnt vmcnt(0); work; use a; use b --> work; s_waitcnt vmcnt(1); use a; s_waitcnt vmcnt(0); use b
    Legality: on every path, each register is complete before it is read or written; at barriers, at what other waves count on
        and at the region's end no more is outstanding than before; every hazard keeps the wait states it had or needs.
    Preserves: registers, memory, control flow, order of all else.
    Targets: gfx90a, gfx942, gfx950.
    Source: LLVM SIInsertWaitcnts.cpp (the bracket model); AMD CDNA3 ISA guide 4.4.
    """

    name: ClassVar[str] = "waitcnt-insert"

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Keeps every instruction in its order."""
        for block in kernel.blocks:
            # From the last region on: a region's place in its block is not moved by edits behind it.
            for region in reversed(regions_of(block)):
                current = ctx.rewriter.kernel
                graph = RegionGraph.build(current, region, AnalysisManager(current))
                candidate = reordered(graph, range(len(graph.nodes)))
                if candidate is None:
                    ctx.remark(f"{region}: nops in this block cannot keep the wait states of another one", missed=True)
                elif candidate.block(block.label) != current.block(block.label):
                    ctx.stat("regions")
                    ctx.rewriter.replace_block_instructions(block.label, candidate.block(block.label).instructions)
        return ctx.finish()
