"""A kernel that makes something fail, made as small as it can be while it still does.

Owns taking instructions out; what failing means is the caller's question. Blocks, branches and ends stay, so that every
trial is a kernel of the same structure. Source: delta debugging, Zeller and Hildebrandt, "Simplifying and Isolating
Failure-Inducing Input", 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace

from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.verifier import verify_kernel


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest kernel found, the trials made, and whether none of its instructions can be taken out alone."""

    kernel: Kernel
    trials: int
    is_minimal: bool


def reduce_kernel(kernel: Kernel, fails: Callable[[Kernel], bool], *, most_trials: int = 1000) -> Reduced:
    """Take out ever smaller runs of instructions as long as `fails` says of the rest what it says of `kernel`.

    `fails(kernel)` must be true. It is asked about sound kernels only, `most_trials` times at most.
    """
    current, trials = kernel, 0
    size = max(len(_removable(kernel)) // 2, 1)
    while True:
        places = _removable(current)
        start, shrunk = 0, False
        while start < len(places):
            if trials >= most_trials:
                return Reduced(current, trials, is_minimal=False)
            candidate = _without(current, set(places[start : start + size]))
            trials += 1
            if not verify_kernel(candidate) and fails(candidate):
                current, shrunk = candidate, True
                del places[start : start + size]
            else:
                start += size
        if size > 1:
            size //= 2
        elif not shrunk:
            return Reduced(current, trials, is_minimal=True)


def _removable(kernel: Kernel) -> list[int]:
    """Uids of the instructions that may go."""
    return [i.uid for block in kernel.blocks if not block.frozen for i in block.instructions if not i.ends_block]


def _without(kernel: Kernel, uids: Set[int]) -> Kernel:
    return replace(kernel, blocks=tuple(_block_without(block, uids) for block in kernel.blocks))


def _block_without(block: Block, uids: Set[int]) -> Block:
    return replace(block, instructions=tuple(i for i in block.instructions if i.uid not in uids))
