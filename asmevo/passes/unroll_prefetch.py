"""unroll-prefetch: loops that wait for a load in each round have the loads of several rounds under way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from asmevo.backend.timing.model import Estimate, estimate
from asmevo.backend.timing.trace import block_executions, edge_executions
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import may_skip_vectors
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.rewriter import Rewriter
from asmevo.passes.base import PassContext, PassResult, option
from asmevo.passes.fillers import Fillers
from asmevo.passes.hoisting.naming import declare_named
from asmevo.passes.hoisting.placing import lacking, with_waits
from asmevo.passes.hoisting.rounds import Round, unrolled
from asmevo.passes.registry import register_pass
from asmevo.passes.wait_states import AllowedShortfalls, with_nops
from asmevo.passes.waitcnt_relax import WaitcntRelax

_ROUNDS = (2, 4, 8)
_MOST_INSTRUCTIONS = 1024
"""Longest unrolled block: what the instruction cache holds is not modelled, and a round that idles costs its issue."""


@dataclass(frozen=True, slots=True)
class _Version:
    """A kernel with how often its instructions run, and what it takes."""

    kernel: Kernel
    executions: Mapping[int, int]
    estimate: Estimate


@register_pass
@dataclass(frozen=True, slots=True)
class UnrollPrefetch:
    """Run several rounds of a loop as one, the loads of the later ones first.

    Rewrite:  L: load a; use a; next; exec &= more; branch L while exec
        --> L: load a; [next; exec &= more; load f]; use a; next; exec &= more; a = f; use a; next; exec &= more; branch L ...
    Legality: the loop is one block that goes on while a lane is active, and a round that begins with no active lane changes
        nothing; it has no store, barrier, fence or atomic but to LDS; each load runs for the lanes that ran it, at the address
        that they computed; the new names are of registers that are free and granted already.
    Preserves: memory, every register that is needed behind the loop.
    Targets: gfx90a, gfx942, gfx950.
    Source: loop unrolling; that lanes which have left a loop make its rounds idle is how LLVM lowers divergent loops
        (SILowerControlFlow.cpp).
    """

    name: ClassVar[str] = "unroll-prefetch"
    most: int = option(4, help="most rounds that become one", ge=2, le=8)
    min_share: float = option(
        2.0, help="loops with a smaller share of the modelled cycles are left alone", unit="%", ge=0, le=100
    )

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Unrolls each loop as often as the cycle model likes best."""
        if may_skip_vectors(kernel.instructions()):
            return ctx.finish()
        analyses = AnalysisManager(kernel)
        flow, loops = analyses.get(Flow), analyses.get(Loops)
        counts = block_executions(kernel, loops, dict(ctx.executions) or None)
        executions = dict(ctx.executions) or {i.uid: counts[b.label] for b in kernel.blocks for i in b.instructions}
        entries = _entries(flow, counts) if ctx.executions else dict.fromkeys(counts, 1.0)
        best = self._version(kernel, executions, ctx)
        for block in kernel.blocks:
            one = Round.of(block)
            cost = best.estimate.per_block.get(block.label)
            if one is None or cost is None or cost.cycles * cost.executions * 100 < self.min_share * best.estimate.total_cycles:
                continue
            tried = [
                self._version(made, _fewer(best.executions, made.block(block.label), counts, entries, rounds), ctx)
                for rounds, made in self._unrolled(best.kernel, one)
            ]
            if not tried:
                ctx.remark(f"{block.label}: no registers are free for more rounds", missed=True)
                continue
            found = min(tried, key=lambda version: version.estimate.total_cycles)
            gained = best.estimate.total_cycles - found.estimate.total_cycles
            if gained > 0:
                ctx.stat("loops unrolled")
                ctx.remark(f"{block.label}: {gained:,.0f} modelled cycles less")
                best = found
            else:
                ctx.remark(f"{block.label}: more rounds at once are not faster by the model", missed=True)
        ctx.rewriter.take_blocks(best.kernel)
        declare_named(ctx)
        result = ctx.finish()
        if result.changed:
            ctx.executions = best.executions
        return result

    def _version(self, kernel: Kernel, executions: Mapping[int, int], ctx: PassContext) -> _Version:
        return _Version(kernel, executions, estimate(kernel, dict(executions), waves_per_simd=ctx.waves_per_simd))

    def _unrolled(self, kernel: Kernel, one: Round) -> Iterator[tuple[int, Kernel]]:
        analyses = AnalysisManager(kernel)
        for rounds in _ROUNDS:
            if rounds > self.most or rounds * len(one.body) > _MOST_INSTRUCTIONS:
                return
            body = unrolled(analyses, kernel, one, rounds)
            if body is None:
                return
            rewriter = Rewriter(kernel)
            rewriter.replace_block_instructions(one.label, (*body, kernel.block(one.label).instructions[-1]))
            mended = _mended(rewriter.kernel, kernel, one.label, analyses)
            if mended is not None:
                yield rounds, mended


def _mended(kernel: Kernel, before: Kernel, label: str, analyses: AnalysisManager) -> Kernel | None:
    """The kernel with the waits and nops that its new block needs, and no stricter waits than that."""
    waiting = with_waits(kernel, lacking(analyses, before))
    if waiting is None:
        return None
    relaxed = WaitcntRelax().run(waiting, PassContext(WaitcntRelax.name, waiting)).kernel.block(label).instructions
    rewriter = Rewriter(waiting)
    rewriter.replace_block_instructions(label, relaxed)
    current = rewriter.kernel
    fillers = Fillers((), max(i.uid for i in current.instructions()) + 1)
    body = with_nops(current, analyses.get(AllowedShortfalls), label, relaxed, fillers)
    if body is None:
        return None
    rewriter.replace_block_instructions(label, body)
    return rewriter.kernel


def _entries(flow: Flow, counts: Mapping[str, float]) -> dict[str, float]:
    """How often each block is entered from another one."""
    edges = edge_executions(flow, counts)
    return {label: sum(edges[source, label] for source in flow.predecessors[label] if source != label) for label in flow.blocks}


def _fewer(
    executions: Mapping[int, int], block: Block, counts: Mapping[str, float], entries: Mapping[str, float], rounds: int
) -> dict[int, int]:
    """How often the instructions run when `rounds` rounds of the block are one: every entry runs whole ones."""
    entered = max(entries[block.label], 1.0)
    fewer = round(entered * -(-(counts[block.label] / entered) // rounds))
    return {**executions, **{i.uid: max(fewer, 1) for i in block.instructions}}
