"""unpack-f32: packed F32 arithmetic as plain instructions where those run beside a matrix instruction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.passes.base import PassContext, PassResult
from asmevo.passes.commit import commit
from asmevo.passes.packing import best_of, has_matrix, unpacked
from asmevo.passes.registry import register_pass


@register_pass
@dataclass(frozen=True, slots=True)
class UnpackF32:
    """Split packed F32 instructions into two in blocks where that costs less.

    Rewrite:  v_pk_mul_f32 v[0:1], v[2:3], v[4:5] --> v_mul_f32_e32 v0, v2, v4; v_mul_f32_e32 v1, v3, v5
    Legality: each half is the same operation on the same registers; the one whose result the other still reads comes second.
        Constants, clamp and two scalar registers stay packed.
    Preserves: memory, control flow, every register, order of all else. Wait states are made anew.
    Targets: gfx90a, gfx942, gfx950.
    Source: packed F32 does not run under a matrix instruction, plain F32 does: measured in tingqli/pyhip on MI308X.
    """

    name: ClassVar[str] = "unpack-f32"

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Splits a quarter, half or all of a block's, or none, whatever is fastest once scheduled."""
        blocks = [b for b in kernel.blocks if not b.frozen and has_matrix(b) and any(map(unpacked, b.instructions))]
        if not blocks:
            return ctx.finish()
        next_uid = 1 + max(i.uid for i in kernel.instructions())
        trials = [{b.label: _split(b, share, next_uid) for b in blocks} for share in _SHARES]
        chosen = best_of(ctx, trials)
        left = commit(ctx, chosen)
        for block in blocks:
            if block.label in chosen and block.label not in left:
                ctx.stat("packed instructions split", len(chosen[block.label]) - len(block.instructions))
            else:
                ctx.remark(f"{block.label}: its packed instructions cost less as they are", missed=True)
        return ctx.finish()


_SHARES = (4, 2, 1)
"""Of so many packed instructions one is split."""


def _split(block: Block, share: int, next_uid: int) -> tuple[Instruction, ...]:
    """The block with one of `share` packed instructions split; new instructions get uids that no other block's have."""
    body: list[Instruction] = []
    seen = 0
    for i in block.instructions:
        halves = unpacked(i)
        if halves is None or (seen := seen + 1) % share:
            body.append(i)
        else:
            body += [halves[0], replace(halves[1], uid=next_uid + i.uid)]
    return tuple(body)
