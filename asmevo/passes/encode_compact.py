"""encode-compact: every instruction in its shortest encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult
from asmevo.passes.operand_forms import shortened
from asmevo.passes.registry import register_pass


@register_pass
@dataclass(frozen=True, slots=True)
class EncodeCompact:
    """Write instructions in four bytes where they have such a form.

    Rewrite:  v_add_f32_e64 v1, v2, v3 --> v_add_f32_e32 v1, v2, v3
              v_add_u32_e64 v1, v2, s3 --> v_add_u32_e32 v1, s3, v2
              s_mov_b32 s2, 0x1234 --> s_movk_i32 s2, 0x1234
    Legality: the short form is the same operation on the same operands: no modifiers, the carry or condition in vcc, the second
        source a vector register. Sources change places for integers only: which of two NaNs is passed on may depend on order.
    Preserves: all that instructions do, their order, waits and wait states.
    Targets: gfx90a, gfx942, gfx950.
    Source: AMD CDNA3 ISA guide, chapter 13; LLVM SIShrinkInstructions.cpp.
    """

    name: ClassVar[str] = "encode-compact"

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Shortens what has a short form."""
        table = ctx.analysis(EffectsTable)
        for block in kernel.blocks:
            # Where register numbers may be relative nothing is proved, so nothing is touched.
            if block.frozen or table.by_block[block.label] != table.printed[block.label]:
                continue
            after = tuple(_shortest(ctx, i) for i in block.instructions)
            if after != block.instructions:
                ctx.rewriter.replace_block_instructions(block.label, after)
        return ctx.finish()


def _shortest(ctx: PassContext, i: Instruction) -> Instruction:
    short = shortened(i)
    if short is None:
        return i
    ctx.stat("instructions shortened")
    return short
