"""waitcnt-hoist: a wait for loads moved up over branches, so that stores which only some paths issue are not waited for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from asmevo.backend.timing.model import Estimate, estimate
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.brackets import CAPACITY, REGISTERS, Brackets
from asmevo.ir.analysis.waits.needed import WaitState, weakest_wait
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.isa import lookup
from asmevo.ir.isa.model import Counter
from asmevo.ir.kernel import Kernel
from asmevo.ir.rewriter import Rewriter
from asmevo.passes.base import PassContext, PassResult, option
from asmevo.passes.registry import register_pass
from asmevo.passes.wait_states import AllowedShortfalls, end_of_body

_MOST_WAITS = 24
"""How many waits are tried, those that lose most cycles first: each costs an estimate of the kernel a level."""


@register_pass
@dataclass(frozen=True, slots=True)
class WaitcntHoist:
    """Wait for loads where the paths to a wait part, instead of behind stores that some of them issue.

    Rewrite:  branch A; store; A: s_waitcnt vmcnt(0); use a --> s_waitcnt vmcnt(0); branch A; store; A: use a
    Legality: on every path, each register is complete before it is read or written, and what sharing relies on is complete
        where it was: the old wait is weakened only as far as the new ones cover it.
    Preserves: registers, memory, control flow, wait states.
    Targets: gfx90a, gfx942, gfx950.
    Source: partial redundancy elimination (Morel and Renvoise, 1979) of waits; on these chips vmcnt counts stores too, so a
        wait on a path join must assume that none was issued and then waits for those that were.
    """

    name: ClassVar[str] = "waitcnt-hoist"
    levels: int = option(4, help="how many branches a wait may move over", ge=1, le=16)
    min_share: float = option(
        0.2, help="waits that lose a smaller share of the kernel's modelled cycles are left alone", unit="%", ge=0, le=100
    )

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Moves waits one by one, keeping what the cycle model likes best."""
        allowed = ctx.analysis(AllowedShortfalls)
        current, found = kernel, self._modelled(kernel, ctx)
        tried: set[int] = set()
        while len(tried) < _MOST_WAITS:
            uid = _costliest(current, found, tried, self.min_share)
            if uid is None:
                break
            tried.add(uid)
            label = next(b.label for b in current.blocks if any(i.uid == uid for i in b.instructions))
            candidates = list(_hoisted(current, label, uid, self.levels, allowed))
            if not candidates:
                continue
            ranked = [(self._modelled(candidate, ctx), candidate) for candidate in candidates]
            better, candidate = min(ranked, key=lambda item: item[0].total_cycles)
            gained = found.total_cycles - better.total_cycles
            if gained > 0:
                ctx.stat("waits hoisted")
                ctx.remark(f"{label}: the wait moved up, {gained:,.0f} modelled cycles less")
                current, found = candidate, better
            else:
                ctx.remark(f"{label}: a wait further up is not faster by the model", missed=True)
        ctx.rewriter.take_blocks(current)
        return ctx.finish()

    def _modelled(self, kernel: Kernel, ctx: PassContext) -> Estimate:
        return estimate(kernel, dict(ctx.executions) or None, waves_per_simd=ctx.waves_per_simd)


def _costliest(kernel: Kernel, found: Estimate, tried: set[int], min_share: float) -> int | None:
    """The uid of the wait for vector memory at which most cycles are lost, of those that have not been tried."""
    lost = {
        i.uid: found.stalls.get(i.uid, {}).get("vmcnt", 0.0)
        for block in kernel.blocks
        if not block.frozen
        for i in block.instructions
        if i.uid not in tried and _waits_for_vectors(i)
    }
    uid = max(lost, key=lost.__getitem__, default=None)
    return uid if uid is not None and lost[uid] > 0 and lost[uid] * 100 >= min_share * found.total_cycles else None


def _waits_for_vectors(instruction: Instruction) -> bool:
    operand = instruction.operands[0] if instruction.operands else None
    return instruction.mnemonic == "s_waitcnt" and isinstance(operand, WaitCounts) and operand.vmcnt is not None


def _hoisted(kernel: Kernel, label: str, uid: int, levels: int, allowed: AllowedShortfalls) -> Iterator[Kernel]:
    """The kernel with the wait moved up by one level of predecessors, by two, and so on; none where that is not legal."""
    state = AnalysisManager(kernel).get(WaitState)
    members = kernel.block(label).instructions
    index = next(position for position, member in enumerate(members) if member.uid == uid)
    units = _completed(state.before(label, index), members[index])
    covered = _moved(kernel, label, uid, {}, allowed)
    if covered is not None:
        # What an earlier move left: no wait is needed here any more, or a weaker one.
        yield covered
    if not units or _issues(state, label, units, index):
        return
    places = frozenset({label})
    for level in range(levels):
        above = _above(state, places, units, may_stay=level > 0)
        if above is None or above == places:
            return
        places = above
        # A place where nothing is outstanding needs no wait: what was there has been waited for on the way.
        waits = {place: count for place in sorted(places) if (count := _needed_at_end(state, place, units)) is not None}
        candidate = _moved(kernel, label, uid, waits, allowed)
        if candidate is not None:
            yield candidate


def _completed(before: Brackets, wait: Instruction) -> int:
    """The registers of vector memory that may be outstanding before the wait and are not behind it."""
    operand = wait.operands[0]
    if not isinstance(operand, WaitCounts):
        return 0
    after = before.vmcnt.after_wait(operand.vmcnt, CAPACITY[Counter.VMCNT])
    return before.vmcnt.mask & ~after.mask & REGISTERS


def _issues(state: WaitState, label: str, units: int, end: int | None = None) -> bool:
    """Whether an instruction of the block, up to `end`, makes one of the registers outstanding."""
    return any(row.event.units & units for row in state.rows[label][:end])


def _above(state: WaitState, places: frozenset[str], units: int, *, may_stay: bool) -> frozenset[str] | None:
    """The blocks at whose ends a wait may stand instead of at the ends of `places`; None when it cannot stand there.

    With `may_stay` a place keeps its wait where it makes the registers outstanding itself, and where no path brings them.
    """
    above: set[str] = set()
    for place in places:
        brings_none = place in state.flow.roots or not state.entries[place].vmcnt.mask & units
        if may_stay and (brings_none or _issues(state, place, units)):
            above.add(place)
        elif place in state.flow.roots:
            return None
        else:
            above.update(state.flow.predecessors[place])
    return None if any(state.flow.blocks[label].frozen for label in above) else frozenset(above)


def _needed_at_end(state: WaitState, label: str, units: int) -> int | None:
    return state.before(label, end_of_body(state.flow.blocks[label])).vmcnt.needed(units)


def _moved(kernel: Kernel, label: str, uid: int, waits: dict[str, int], allowed: AllowedShortfalls) -> Kernel | None:
    """The kernel with these waits at the ends of blocks, and the old one as weak as they allow; None where it gains nothing."""
    rewriter = Rewriter(kernel)
    for place, count in waits.items():
        made = Instruction("s_waitcnt", (WaitCounts(vmcnt=count),), definition=lookup("s_waitcnt"))
        rewriter.insert(place, end_of_body(kernel.block(place)), (made,))
    trial = rewriter.kernel
    members = trial.block(label).instructions
    index = next(position for position, member in enumerate(members) if member.uid == uid)
    weakest = weakest_wait(trial, AnalysisManager(trial).get(WaitState), label, index)
    if weakest == members[index].operands[0]:
        return None
    rewriter.replace(uid, () if weakest == WaitCounts() else (members[index].edited(operands=(weakest,)),))
    moved = rewriter.kernel
    return None if allowed.exceeded_by(moved, label) else moved
