"""nop-trim: no more wait states than a hazard needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from asmevo.ir.analysis.hazards.needed import NopNeeds
from asmevo.ir.instruction import Immediate, Instruction
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult, option
from asmevo.passes.registry import register_pass


@register_pass
@dataclass(frozen=True, slots=True)
class NopTrim:
    """Remove wait states that no hazard needs.

    Rewrite:  s_nop 4 --> s_nop 1
    Legality: every producer-consumer pair keeps the wait states it needs on all paths, by the compiler's reading of the hazard
        table; with `physical`, by the documented need, counting the slots that a busy matrix unit surely takes.
    Preserves: registers, memory, control flow, waits.
    Targets: gfx90a, gfx942, gfx950.
    Source: AMD CDNA3 ISA guide 4.5 and table 37; LLVM GCNHazardRecognizer.cpp.
    """

    name: ClassVar[str] = "nop-trim"
    physical: bool = option(False, help="count the slots of a busy matrix unit, as production code does")

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Applies the least nops that hold together."""
        needs = ctx.analysis(NopNeeds)
        least = needs.physical if self.physical else needs.llvm
        for block in kernel.blocks:
            if block.frozen:
                continue
            after: list[Instruction] = []
            for index, instruction in enumerate(block.instructions):
                states = least.get((block.label, index))
                current = instruction.operands[0] if instruction.operands else None
                if states is None or not isinstance(current, Immediate) or states == current.value + 1:
                    after.append(instruction)
                    continue
                ctx.stat("wait states removed", current.value + 1 - states)
                if states:
                    after.append(instruction.edited(operands=(Immediate(states - 1, str(states - 1)),)))
            if tuple(after) != block.instructions:
                ctx.rewriter.replace_block_instructions(block.label, tuple(after))
        return ctx.finish()
