"""load-hoist: loads that are waited for in a branch of their own run before it, under the same lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from asmevo.backend.timing.model import Estimate, estimate
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.control.postdominance import PostDominance
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import EXEC_MASK, effects, may_skip_vectors
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.kernel import Block, Kernel
from asmevo.passes.base import PassContext, PassResult, option
from asmevo.passes.hoisting.naming import declare_named
from asmevo.passes.hoisting.placing import moved
from asmevo.passes.hoisting.slices import slice_of
from asmevo.passes.hoisting.stretch import Lanes, Stretch, is_plain_load
from asmevo.passes.registry import register_pass
from asmevo.passes.wait_states import AllowedShortfalls, end_of_body

_MOST_WAITS = 16
"""How many waits are tried, those that lose most cycles first: each costs several estimates of the kernel."""
_MOST_PLACES = 12
"""How many places of one block are tried, from its end up."""


@register_pass
@dataclass(frozen=True, slots=True)
class LoadHoist:
    """Run a load before the branch that leads to it and before what is waited for on the way, under its own lanes.

    Rewrite:  A; guard; branch J; load a; wait; use a; J: --> guard; load f; unguard; A; guard; branch J; wait; a = f; use a; J:
    Legality: the load runs for the same lanes, with the same addresses, exactly when it did; no store, atomic, barrier or fence
        lies between; the new names are of registers that the stretch leaves alone, granted already; waits and wait states are
        made anew.
    Preserves: memory, control flow, every register that is read.
    Targets: gfx90a, gfx942, gfx950.
    Source: hoisting of guarded loads (LLVM GVNHoist.cpp moves unguarded ones); latencies from the cycle model's parameters.
    """

    name: ClassVar[str] = "load-hoist"
    levels: int = option(12, help="how many dominating blocks up a load may move", ge=1, le=64)
    patience: float = option(
        0.0, help="how much slower a version may be while more loads move, before all do", unit="%", ge=0, le=50
    )
    min_share: float = option(
        0.5,
        help="waits that lose, or gain, a smaller share of the kernel's modelled cycles are left alone",
        unit="%",
        ge=0,
        le=100,
    )

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Moves the loads of one wait after another, keeping what the cycle model likes best."""
        if may_skip_vectors(kernel.instructions()):
            return ctx.finish()
        allowed = ctx.analysis(AllowedShortfalls)
        start = self._modelled(kernel, ctx)
        best, least = kernel, start.total_cycles
        current, found = best, start
        tried: set[int] = set()
        waiting: list[str] = []
        while len(tried) < _MOST_WAITS:
            place = _costliest(current, found, tried, self.min_share)
            if place is None:
                break
            tried.add(place.key)
            ranked = [(self._modelled(one, ctx), one) for one in _hoisted(current, place, self.levels, allowed)]
            if not ranked:
                ctx.remark(f"{place.block.label}: the loads depend on what cannot be run earlier", missed=True)
                continue
            better, candidate = min(ranked, key=lambda item: item[0].total_cycles)
            if better.total_cycles >= least * (1 + self.patience / 100):
                ctx.remark(f"{place.block.label}: loads further up are not faster by the model", missed=True)
                continue
            # One load ahead of another may gain nothing before both are: what comes last decides.
            current, found = candidate, better
            waiting.append(place.block.label)
            if least - better.total_cycles > self.min_share * start.total_cycles / 100:
                ctx.stat("waits", len(waiting))
                ctx.remark(f"{', '.join(waiting)}: loads moved up, {least - better.total_cycles:,.0f} modelled cycles less")
                best, least = candidate, better.total_cycles
                waiting = []
        ctx.rewriter.take_blocks(best)
        declare_named(ctx)
        return ctx.finish()

    def _modelled(self, kernel: Kernel, ctx: PassContext) -> Estimate:
        return estimate(kernel, dict(ctx.executions) or None, waves_per_simd=ctx.waves_per_simd)


@dataclass(frozen=True, slots=True)
class _Place:
    """Loads of a block that are waited for at `index` of it, or, with no `wait` (uid), behind its end; `lost` cycles are."""

    block: Block
    index: int
    wait: int | None
    key: int
    lost: float


def _costliest(kernel: Kernel, found: Estimate, tried: set[int], min_share: float) -> _Place | None:
    """The wait at which most cycles are lost, of those behind a load of their own block or of a branch that ends before it."""
    best: _Place | None = None
    flow = AnalysisManager(kernel).get(Flow)
    for block in kernel.blocks:
        if block.frozen:
            continue
        for index, member in enumerate(block.instructions):
            lost = found.stalls.get(member.uid, {}).get("vmcnt", 0.0)
            if lost * 100 <= min_share * found.total_cycles or member.uid in tried or not _waits_for_vectors(member):
                continue
            if best is not None and lost <= best.lost:
                continue
            if _loads_before(block, index):
                best = _Place(block, index, member.uid, member.uid, lost)
            elif (arm := _arm(flow, block, index)) is not None:
                best = _Place(arm, end_of_body(arm), None, member.uid, lost)
    return best


def _arm(flow: Flow, block: Block, index: int) -> Block | None:
    """The block that ends before this one with loads that are first waited for at `index`; None when there are several."""
    if any(map(_waits_for_vectors, block.instructions[:index])):
        return None
    arms = [flow.blocks[label] for label in flow.predecessors[block.label] if label != block.label]
    arms = [arm for arm in arms if len(flow.predecessors[arm.label]) == 1 and _loads_before(arm, end_of_body(arm))]
    return arms[0] if len(arms) == 1 and not arms[0].frozen else None


def _waits_for_vectors(instruction: Instruction) -> bool:
    operand = instruction.operands[0] if instruction.operands else None
    return instruction.mnemonic == "s_waitcnt" and isinstance(operand, WaitCounts) and operand.vmcnt is not None


def _loads_before(block: Block, index: int) -> list[int]:
    """The uids of the plain loads between the wait before this one (or the block's start) and this one."""
    found: list[int] = []
    for member in reversed(block.instructions[:index]):
        if _waits_for_vectors(member):
            break
        if is_plain_load(member):
            found.append(member.uid)
    return found


def _hoisted(kernel: Kernel, place: _Place, levels: int, allowed: AllowedShortfalls) -> Iterator[Kernel]:
    """The kernel with the loads in each of the blocks above where they can run."""
    analyses = AnalysisManager(kernel)
    block, index = place.block, place.index
    loads = set(_loads_before(block, index))
    first = min(n for n, member in enumerate(block.instructions) if member.uid in loads)
    if any(effects(member).writes & EXEC_MASK for member in block.instructions[first:index]):
        return
    flow, dominator, after = analyses.get(Flow), analyses.get(Loops).dominator, analyses.get(PostDominance)
    guarding = dominator.get(block.label)
    start = guarding
    for _ in range(levels):
        if start is None or guarding is None or not after.postdominates(guarding, start):
            return
        stretch = Stretch.between(analyses, start, block.label)
        if stretch is None:
            return
        lanes = Lanes.of(analyses, stretch)
        end = end_of_body(flow.blocks[start])
        for position in range(end, max(end - _MOST_PLACES, -1), -1):
            found = slice_of(analyses, stretch, lanes, loads, position)
            if found is None:
                continue
            candidate = moved(analyses, kernel, stretch, found, position, place.wait, allowed)
            if candidate is not None:
                yield candidate
                break
        start = dominator.get(start)
