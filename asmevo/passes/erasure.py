"""Taking instructions out of a block: the waits and wait states that the rest needs are made anew where they counted on them.

A wait names how many younger operations may be outstanding, so with a memory operation gone every wait behind it could mean
less than it did. At the block's end no more is outstanding than before, so that waits of later blocks still mean the same.
"""

from __future__ import annotations

from collections.abc import Set

from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.kernel import Kernel
from asmevo.passes.fillers import Fillers, is_filler
from asmevo.passes.wait_obligations import WaitObligations
from asmevo.passes.wait_states import AllowedShortfalls, end_of_body, with_nops


def without(
    kernel: Kernel, label: str, positions: Set[int], waits: WaitState, allowed: AllowedShortfalls
) -> tuple[Instruction, ...] | None:
    """Return the block's instructions without those at `positions`, none of which is a wait, nop, branch or end.

    None when the rest cannot be mended: nops do not help, or a wait would be needed at the block's end where none stood.
    `waits` may be those of a kernel from which only erasures in other blocks led to this one, `allowed` those of the original.
    """
    block = kernel.block(label)
    inside = block.instructions[: end_of_body(block)]
    counted = any(i.definition is None or i.definition.counters for i in map(block.instructions.__getitem__, positions))
    fillers = Fillers([i for i in inside if counted and is_filler(i)], max(i.uid for i in kernel.instructions()) + 1)
    kept = [i for n, i in enumerate(block.instructions) if n not in positions]
    if counted:
        nodes = [(n, i) for n, i in enumerate(inside) if not is_filler(i)]
        order = [place for place, (n, _) in enumerate(nodes) if n not in positions]
        woven = list(WaitObligations.of(waits.before(label, 0), inside).woven(order))
        if woven and isinstance(woven[-1], WaitCounts) and inside[-1].mnemonic != "s_waitcnt":
            return None
        body = [fillers.wait(item) if isinstance(item, WaitCounts) else nodes[item][1] for item in woven]
        kept = [*body, *block.instructions[len(inside) :]]
    return with_nops(kernel, allowed, label, kept, fillers)
