"""Taking instructions out of a block: the waits and wait states that the rest needs are made anew where they counted on them.

A wait names how many younger operations may be outstanding, so with a memory operation gone every wait behind it could mean
less than it did. At the block's end no more is outstanding than before, so that waits of later blocks still mean the same.
"""

from __future__ import annotations

from collections.abc import Set

from asmevo.ir.analysis.waits import WaitState
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.passes.fillers import Fillers, is_filler
from asmevo.passes.wait_obligations import WaitObligations
from asmevo.passes.wait_states import AllowedShortfalls, with_nops


def without(
    kernel: Kernel, label: str, positions: Set[int], waits: WaitState, allowed: AllowedShortfalls
) -> tuple[Instruction, ...] | None:
    """Return the block's instructions without those at `positions`, none of which is a wait, nop, branch or end.

    None when the rest cannot be mended: nops do not help, or a wait would be needed at the block's end where none stood.
    `waits` may be those of a kernel from which only erasures in other blocks led to this one, `allowed` those of the original.
    """
    block = kernel.block(label)
    end = len(block.instructions) - (1 if _ends(block) else 0)
    kept: list[Instruction] = [i for n, i in enumerate(block.instructions) if n not in positions]
    fillers = Fillers((), max(i.uid for i in kernel.instructions()) + 1)
    removed = [block.instructions[n] for n in positions]
    if any(i.definition is None or i.definition.counters for i in removed):
        inside = block.instructions[:end]
        obligations = WaitObligations.of(waits.before(label, 0), inside)
        nodes = [(n, i) for n, i in enumerate(inside) if not is_filler(i)]
        order = [place for place, (n, _) in enumerate(nodes) if n not in positions]
        *between, closing = obligations.waits(order)
        fillers = Fillers([i for i in inside if is_filler(i)], max(i.uid for i in kernel.instructions()) + 1)
        if closing is not None and not _has_wait_at_end(inside):
            return None
        kept.clear()
        for place, wait in zip(order, between, strict=True):
            kept += [] if wait is None else [fillers.wait(wait)]
            kept.append(nodes[place][1])
        kept += [] if closing is None else [fillers.wait(closing)]
        kept += block.instructions[end:]
    return with_nops(kernel, allowed, label, kept, fillers)


def _ends(block: Block) -> bool:
    last = block.instructions[-1].definition if block.instructions else None
    return last is not None and (last.is_branch or last.is_terminator)


def _has_wait_at_end(inside: tuple[Instruction, ...]) -> bool:
    return bool(inside) and inside[-1].mnemonic == "s_waitcnt"
