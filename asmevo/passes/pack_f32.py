"""pack-f32: two plain F32 instructions on neighbouring registers as one packed one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import ClassVar

from asmevo.ir.analysis.written import Written
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.passes.base import PassContext, PassResult
from asmevo.passes.commit import commit
from asmevo.passes.packing import best_of, pairs_of
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
        """Joins all pairs of a block or none, whichever is faster once scheduled."""
        written = ctx.analysis(Written).entries
        # What a load may still write is not read, not even by an instruction that does not use it.
        loaded = reduce(or_, (effects(i).writes for i in kernel.instructions() if i.definition and i.definition.counters), 0)
        trials: dict[str, tuple[Instruction, ...]] = {}
        for block in kernel.blocks:
            if block.frozen or block.label not in written:
                continue
            body = _joined(block, written[block.label] & ~loaded)
            if body != block.instructions:
                trials[block.label] = body
        if not trials:
            return ctx.finish()
        chosen = best_of(ctx, [trials])
        left = commit(ctx, chosen)
        for label in trials:
            fewer = len(kernel.block(label).instructions) - len(trials[label])
            if label in chosen and label not in left:
                ctx.stat("pairs joined", fewer)
            else:
                ctx.remark(f"{label}: {fewer} pairs cost less as they are", missed=True)
        return ctx.finish()


def _joined(block: Block, readable: int) -> tuple[Instruction, ...]:
    body: list[Instruction | None] = list(block.instructions)
    taken: set[int] = set()
    for pair in pairs_of(block, readable):
        # Of pairs that overlap only the first is taken: what stands between was looked at as it was.
        if any(place in taken for place in range(pair.first, pair.second + 1)):
            continue
        taken |= set(range(pair.first, pair.second + 1))
        body[pair.first] = body[pair.second] = None
        body[pair.place] = pair.packed
    return tuple(i for i in body if i is not None)
