"""wait-merge: two waits in a row become one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult, option
from asmevo.passes.registry import register_pass
from asmevo.passes.wait_states import AllowedShortfalls, with_body


@register_pass
@dataclass(frozen=True, slots=True)
class WaitMerge:
    """Put waits that follow each other into one.

    Rewrite:  s_waitcnt vmcnt(0); s_waitcnt lgkmcnt(2) --> s_waitcnt vmcnt(0) lgkmcnt(2)
    Legality: nothing stands between the two, and the one waits for each counter as the stricter of the two did. A wait that
        also serves as a wait state stays.
    Preserves: registers, memory, control flow, order of all else.
    Targets: gfx90a, gfx942, gfx950.
    """

    name: ClassVar[str] = "wait-merge"
    most: int = option(64, help="most waits that are merged in a block", ge=0)

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Merges each wait with the one before it."""
        allowed = ctx.analysis(AllowedShortfalls)
        for block in kernel.blocks:
            if block.frozen:
                continue
            current = block.instructions
            for index in range(len(current) - 1, 0, -1):
                both = _merged(current[index - 1], current[index])
                if both is None or ctx.statistics.get("waits merged", 0) >= self.most:
                    continue
                trial = (*current[: index - 1], both, *current[index + 1 :])
                if allowed.exceeded_by(with_body(ctx.rewriter.kernel, block.label, trial), block.label):
                    ctx.remark(f"{block.label}: a wait is kept, since it serves as a wait state", both.span, missed=True)
                    continue
                current = trial
                ctx.stat("waits merged")
            if current != block.instructions:
                ctx.rewriter.replace_block_instructions(block.label, current)
        return ctx.finish()


def _merged(first: Instruction, second: Instruction) -> Instruction | None:
    """The one wait that does what both do; None when they are not two plain waits."""
    if first.mnemonic != "s_waitcnt" or second.mnemonic != "s_waitcnt":
        return None
    one, two = first.operands[0], second.operands[0]
    if not isinstance(one, WaitCounts) or not isinstance(two, WaitCounts):
        return None
    counts = WaitCounts(
        vmcnt=_stricter(one.vmcnt, two.vmcnt),
        expcnt=_stricter(one.expcnt, two.expcnt),
        lgkmcnt=_stricter(one.lgkmcnt, two.lgkmcnt),
    )
    return second.edited(operands=(counts,))


def _stricter(one: int | None, two: int | None) -> int | None:
    return min((count for count in (one, two) if count is not None), default=None)
