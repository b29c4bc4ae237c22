"""Putting the edits of many blocks into a kernel at once, with the wait states that the result needs.

Owns doing that for a whole kernel in a few looks at its hazards, where `wait_states` looks at all of them once for each block.
Waits are the edits' own business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asmevo.ir.instruction import Instruction
from asmevo.passes.base import PassContext
from asmevo.passes.fillers import Fillers
from asmevo.passes.wait_states import AllowedShortfalls, with_bodies, with_nops, with_nops_in


def commit(ctx: PassContext, edits: Mapping[str, Sequence[Instruction]]) -> frozenset[str]:
    """Gives blocks new contents, with nops where they are needed; returns the labels that were left as they were.

    A block is left alone when no nops in it give the wait states that its edit needs.
    """
    kernel = ctx.rewriter.kernel
    wanted = {label: tuple(new) for label, new in edits.items() if tuple(new) != kernel.block(label).instructions}
    if not wanted:
        return frozenset()
    allowed = ctx.analysis(AllowedShortfalls)
    next_uid = 1 + max(i.uid for k in (kernel, with_bodies(kernel, wanted)) for i in k.instructions())
    settled = with_nops_in(kernel, allowed, wanted, Fillers((), next_uid))
    left: set[str] = set()
    if settled is None:
        settled = {}
        current = kernel
        for label, new in wanted.items():
            mended = with_nops(current, allowed, label, new, Fillers((), next_uid))
            if mended is None:
                left.add(label)
                ctx.remark(f"{label}: left as it was, since no wait states in it would mend the edit", missed=True)
                continue
            settled[label] = mended
            current = with_bodies(current, {label: mended})
            next_uid = max(next_uid, 1 + max((i.uid for i in mended), default=0))
    for label, new in settled.items():
        ctx.rewriter.replace_block_instructions(label, new)
    return frozenset(left)
