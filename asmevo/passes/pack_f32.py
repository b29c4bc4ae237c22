"""pack-f32: two plain F32 instructions on neighbouring registers as one packed one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from asmevo.ir.analysis.dataflow.written import Written
from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.passes.base import PassContext, PassResult
from asmevo.passes.commit import commit
from asmevo.passes.packing import Pair, best_of, pairs_of
from asmevo.passes.registry import register_pass


@register_pass
@dataclass(frozen=True, slots=True)
class PackF32:
    """Join plain F32 instructions in blocks where that costs less.

    Rewrite:  v_mul_f32_e32 v0, v2, v4; v_mul_f32_e32 v1, v3, v5 --> v_pk_mul_f32 v[0:1], v[2:3], v[4:5]
    Legality: the same operation, destinations an even register and the next, the sources of each place in one aligned pair; no
        change of EXEC or MODE between, and at one of the two places everything that either reads is there and nobody has yet
        needed, or overwritten, what it writes. No constants, clamp or absolute values.
    Preserves: memory, control flow, every register, order of all else. Wait states are made anew.
    Targets: gfx90a, gfx942, gfx950.
    Source: AMD CDNA3 ISA guide 6.6; a packed instruction issues in one slot: measured in tingqli/pyhip on MI308X.
    """

    name: ClassVar[str] = "pack-f32"

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Joins all pairs of a block, every second one, or none, whatever is fastest once scheduled."""
        found = {block.label: list(pairs_of(block, _readable(block, ctx))) for block in kernel.blocks if not block.frozen}
        blocks = [block for block in kernel.blocks if found.get(block.label)]
        if not blocks:
            return ctx.finish()
        trials = [{block.label: _joined(block, found[block.label][::step]) for block in blocks} for step in (1, 2)]
        chosen = best_of(ctx, trials)
        left = commit(ctx, chosen)
        for block in blocks:
            if block.label in chosen and block.label not in left:
                ctx.stat("pairs joined", len(block.instructions) - len(chosen[block.label]))
            else:
                ctx.remark(f"{block.label}: {len(found[block.label])} pairs cost less as they are", missed=True)
        return ctx.finish()


def _readable(block: Block, ctx: PassContext) -> Callable[[int], int]:
    """What holds a value before each instruction: written on some path, and no load may still be on its way."""
    written, waits = ctx.analysis(Written).entries.get(block.label, 0), ctx.analysis(WaitState)

    def before(index: int) -> int:
        pending = waits.before(block.label, index)
        held = written
        for i in block.instructions[:index]:
            held |= effects(i).writes
        return held & ~(pending.vmcnt.mask | pending.lgkmcnt.mask)

    return before


def _joined(block: Block, pairs: Sequence[Pair]) -> tuple[Instruction, ...]:
    body: list[Instruction | None] = list(block.instructions)
    for pair in pairs:
        body[pair.first] = body[pair.second] = None
        body[pair.place] = pair.packed
    return tuple(i for i in body if i is not None)
