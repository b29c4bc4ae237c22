"""waitcnt-relax: waits no stricter than what some path needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from asmevo.ir.analysis.waits.needed import WaitNeeds
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult
from asmevo.passes.registry import register_pass
from asmevo.passes.wait_states import AllowedShortfalls, with_body


@register_pass
@dataclass(frozen=True, slots=True)
class WaitcntRelax:
    """Weaken or remove waits that wait for more than any later instruction needs.

    Rewrite:  s_waitcnt vmcnt(0) lgkmcnt(0) --> s_waitcnt vmcnt(3)
    Legality: on every path, each register is complete before it is read or written, and whatever was complete at a barrier,
        fence, scoped store or atomic is still complete there.
    Preserves: registers, memory, control flow, wait states (a wait that serves as one is kept).
    Targets: gfx90a, gfx942, gfx950.
    Source: LLVM SIInsertWaitcnts.cpp (the bracket model); AMD CDNA3 ISA guide 4.4.
    """

    name: ClassVar[str] = "waitcnt-relax"

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Applies the weakest waits that hold together."""
        needs = ctx.analysis(WaitNeeds).by_site
        allowed = ctx.analysis(AllowedShortfalls)
        for block in kernel.blocks:
            if block.frozen:
                continue
            after: list[Instruction] = []
            for index, instruction in enumerate(block.instructions):
                weakest = needs.get((block.label, index))
                current = instruction.operands[0] if instruction.operands else None
                if weakest is None or weakest == current:
                    after.append(instruction)
                elif weakest == WaitCounts():
                    trial = (*after, *block.instructions[index + 1 :])
                    if not allowed.exceeded_by(with_body(ctx.rewriter.kernel, block.label, trial), block.label):
                        ctx.stat("waits removed")
                    else:
                        ctx.remark(
                            f"{block.label}: a wait is kept, since it serves as a wait state", instruction.span, missed=True
                        )
                        after.append(instruction)
                else:
                    ctx.stat("waits weakened")
                    after.append(instruction.edited(operands=(weakest,)))
            if tuple(after) != block.instructions:
                ctx.rewriter.replace_block_instructions(block.label, tuple(after))
        return ctx.finish()
